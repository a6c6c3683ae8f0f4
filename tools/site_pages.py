"""Pages of the site whose text lives outside `docs/`, and links that lead out of it.

A hook of MkDocs. `CONTRIBUTING.md`, `CHANGELOG.md` and the scripts in `examples/` stay where people
look for them in a repository, and are pages of the site as well. Links to them are written as the
repository needs them and led to those pages here. A link to any other file outside `docs/` becomes
plain text: the file is not part of the site. The JSON schemas of documents are files of the site.
"""

from __future__ import annotations

import ast
import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from likeforlike.document import audit_schema
from likeforlike.document._results import SCHEMA_FILE
from likeforlike.teams import release_schema, request_schema
from likeforlike.teams._releases import RELEASE_FILE, REQUEST_FILE

__all__ = ["examples_page", "led", "on_files", "on_page_markdown"]

_PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
_TARGETS = {**_PAGES, "README.md": "index.md", "examples": "examples.md"}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<path>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
_EXAMPLES = """# Scripts to copy

Each script runs alone, as `python examples/NAME.py`, on data that comes with the library.
"""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add the pages that are made of files outside `docs/`."""
    root = _root(config)
    for source, uri in _PAGES.items():
        files.append(File.generated(config, uri, content=(root / source).read_text("utf-8")))
    examples = examples_page(sorted((root / "examples").glob("*.py")))
    files.append(File.generated(config, "examples.md", content=examples))
    # Where its own `$id` says it is.
    schemas = {
        SCHEMA_FILE: audit_schema(),
        REQUEST_FILE: request_schema(),
        RELEASE_FILE: release_schema(),
    }
    for name, schema in schemas.items():
        files.append(File.generated(config, name, content=schema))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Lead links of a page to where their targets are on the site, and mark prompts as prompts.

    A session of Python has its prompts and results in elements of their own, which the button that
    copies leaves out (`docs/stylesheets/extra.css`).
    """
    sessions = markdown.replace("```python\n>>> ", "```pycon\n>>> ")
    return led(sessions, page.file.src_uri, _root(config))


def examples_page(scripts: list[Path]) -> str:
    """The scripts one after the other, each under what its docstring says.

    Parameters
    ----------
    scripts : Python files, each with a docstring.
    """
    parts = [_EXAMPLES]
    for script in scripts:
        code = script.read_text("utf-8")
        said = ast.get_docstring(ast.parse(code)) or ""
        title = f"## {script.name} {{ #{script.stem} }}"
        parts.append(f"{title}\n\n{said.partition(chr(10) * 2)[0]}\n\n````python\n{code}````\n")
    return "\n".join(parts)


def led(markdown: str, uri: str, root: Path) -> str:
    """Text of a page with its links changed where they leave `docs/`.

    Parameters
    ----------
    markdown : text of the page.
    uri : of the page, from `docs/`.
    root : folder of the repository.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tools.site_pages import led
    >>> led("[How to help](../../CONTRIBUTING.md)", "tutorials/lender.md", Path())
    '[How to help](../contributing.md)'
    >>> led("[the limits](../pyproject.toml)", "scale.md", Path())
    'the limits'
    """
    origins = {page: source for source, page in _PAGES.items()}
    folder = posixpath.dirname(origins.get(uri, f"docs/{uri}"))

    def replaced(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found["path"]))
        place = _on_site(target)
        if place is None:
            return found["text"] if (root / target).exists() else found[0]
        to = posixpath.relpath(place, posixpath.dirname(uri) or ".")
        return f"[{found['text']}]({to}{found['anchor'] or ''})"

    return _LINK.sub(replaced, markdown)


def _on_site(target: str) -> str | None:
    """Where a file of the repository is on the site."""
    folder, _, name = target.partition("/")
    if folder == "docs":
        return name
    if folder == "examples" and name.endswith(".py"):
        return f"examples.md#{name.removesuffix('.py')}"
    return _TARGETS.get(target)


def _root(config: MkDocsConfig) -> Path:
    return Path(config.config_file_path).parent
