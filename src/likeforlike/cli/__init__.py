"""The command line: arguments in, calls out, no logic."""

import typer

from likeforlike.cli.audit import audit_command
from likeforlike.cli.demo import datasets_command, demo_command
from likeforlike.cli.experiments import reproduce_command, sweep_command

__all__ = ["app", "main"]

app = typer.Typer(
    help="Audit conditional fairness: do groups get the same scores among equals?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("audit")(audit_command)
app.command("sweep")(sweep_command)
app.command("reproduce")(reproduce_command)
app.command("demo")(demo_command)
app.command("datasets")(datasets_command)


def main() -> None:
    """Run the command line."""
    app()
