"""The command line on the site, read off the command line itself.

A hook of MkDocs: the mark `<!-- commands -->` in a page gives way to a section for every command of
`likeforlike`, with its arguments, options and defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

__all__ = ["MARK", "commands", "on_page_markdown"]

MARK = "<!-- commands -->"


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Put the commands where the mark is."""
    return markdown.replace(MARK, commands()) if MARK in markdown else markdown


def commands() -> str:
    """Markdown of all commands.

    Examples
    --------
    >>> from tools.site_commands import commands
    >>> print(commands().splitlines()[0])
    ## likeforlike audit
    """
    from typer.main import get_command

    from likeforlike.cli import app

    return "\n\n".join(_command(name, command) for name, command in _known(get_command(app)))


def _known(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """All commands of a group by their whole names, those of groups inside it too."""
    for name, command in vars(group)["commands"].items():
        if "commands" in vars(command):
            yield from _known(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _command(name: str, command: Any) -> str:  # noqa: ANN401
    shown = [param for param in command.params if param.name != "help"]
    arguments = [param for param in shown if param.param_type_name == "argument"]
    options = ["[OPTIONS]"] if len(shown) > len(arguments) else []
    usage = " ".join(["likeforlike", name, *map(_written, arguments), *options])
    parts = [f"## likeforlike {name}", command.help, f"    {usage}"]
    if shown:
        rows = "\n".join(_row(param) for param in shown)
        parts.append(f"| argument | meaning | default |\n|---|---|---|\n{rows}")
    return "\n\n".join(parts)


def _row(param: Any) -> str:  # noqa: ANN401
    default = "required" if param.required else _default(param)
    return f"| `{_written(param)}` | {param.help or ''} | {default} |"


def _written(param: Any) -> str:  # noqa: ANN401
    """An option as it is typed; an argument by its name in capitals."""
    return str(param.name).upper() if param.param_type_name == "argument" else " ".join(param.opts)


def _default(param: Any) -> str:  # noqa: ANN401
    if param.default is None or param.default is False:
        return ""
    return f"`{param.default}`"
