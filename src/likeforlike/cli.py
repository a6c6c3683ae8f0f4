"""The command line: arguments in, calls out, no logic."""

from __future__ import annotations

import typer
from rich.console import Console
from rich.table import Table

from likeforlike.datasets import load_loans
from likeforlike.disparity import Disparity, cdd_lp, dd
from likeforlike.nested_disparity import NestedDisparity, cdd_wass

__all__ = ["app", "main"]

app = typer.Typer(
    help="Audit conditional fairness: do groups get the same scores among equals?",
    no_args_is_help=True,
    add_completion=False,
)


@app.callback()
def _root() -> None:
    """Keep `demo` a subcommand although it is the only one."""


@app.command()
def demo() -> None:
    """Measure the embedded loan data: parity overall, none among equals."""
    loans = load_loans().frame
    columns = loans["approved"], loans["sex"], loans["income"]
    console = Console()
    console.print(_demo_table(dd(*columns[:2]), cdd_lp(*columns)))
    console.print(_demo_split(cdd_wass(*columns)))


def _demo_table(overall: Disparity, among_equals: Disparity) -> Table:
    table = Table(title="Approvals of the embedded loan data (Wasserstein distance of order 1)")
    first, second = among_equals.groups
    for heading in ("compared", f"{first}, rows", f"{second}, rows", "distance", "gap of means"):
        table.add_column(heading, justify="left" if heading == "compared" else "right")
    for row in among_equals.by_level:
        table.add_row(
            f"income {row['level']}",
            str(row[f"rows {first}"]),
            str(row[f"rows {second}"]),
            f"{row['distance']:.3f}",
            f"{row['gap']:+.3f}",
        )
    table.add_section()
    for name, found in (("among equals", among_equals), ("everybody", overall)):
        rows = [str(count) for count in found.by_level.counts.sum(axis=0)]
        table.add_row(name, *rows, f"{found.value:.3f}", f"{found.gap:+.3f}")
    return table


def _demo_split(found: NestedDisparity) -> str:
    return (
        f"Bi-causal distance {found.value:.3f} = {found.diagonal:.3f} among equals + "
        f"{found.off_diagonal:.3f} across levels + {found.level_transport:.3f} for changing level "
        f"(level cost {found.level_cost:.3g}; {found.diagonal_mass:.0%} of the mass stays in its "
        "level)."
    )


def main() -> None:
    """Run the command line."""
    app()
