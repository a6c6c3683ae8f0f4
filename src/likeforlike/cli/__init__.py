"""The command line: arguments in, calls out, no logic.

A command imports what it works with when it is called, so that `--help` answers at once.
"""

import gc
from typing import Annotated

import typer

from likeforlike import __version__
from likeforlike.cli.audit import audit_command
from likeforlike.cli.demo import datasets_command, demo_command
from likeforlike.cli.experiments import reproduce_command, sweep_command

__all__ = ["app", "main"]

# How many new objects make Python look for garbage; usually some hundreds do.
_OBJECTS = 100_000

app = typer.Typer(
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@app.callback()
def version_option(
    version: Annotated[  # noqa: FBT002
        bool, typer.Option("--version", help="Say which version this is.", is_eager=True)
    ] = False,
) -> None:
    """Audit conditional fairness: whether groups get the same scores among equals."""
    if version:
        typer.echo(f"likeforlike {__version__}")
        raise typer.Exit


app.command("audit")(audit_command)
app.command("sweep")(sweep_command)
app.command("reproduce")(reproduce_command)
app.command("demo")(demo_command)
app.command("datasets")(datasets_command)


def main() -> None:
    """Run the command line."""
    # Imports make a million objects that live until the end: look for garbage among them rarely,
    # and not at all when all of it goes away. Together that is a fifth of a small audit.
    gc.set_threshold(_OBJECTS)
    try:
        app()
    finally:
        gc.freeze()
