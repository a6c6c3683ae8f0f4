"""What commands say on a terminal beside an audit: errors, and the runs of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from likeforlike._text import visible
from likeforlike.report._terminal import Terminal

if TYPE_CHECKING:
    from likeforlike.experiments._sweep import Sweep


def say_error(words: str) -> None:
    """Say in one line, on standard error, what is wrong."""
    line = visible(" ".join(f"likeforlike: {words}".split()))
    Terminal(stderr=True).print(line, style="red", soft_wrap=True)


def sweep_table(sweep: Sweep) -> Table:
    """What a sweep found, one line for each method and strength."""
    performance = "AUC" if sweep.task == "classification" else "squared error"
    table = Table(title="Means over the splits, on test rows; * no other run beats")
    for heading in (
        "method",
        "strength",
        performance,
        "conditional W1",
        "estimate",
        "overall W1",
        "",
    ):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    best = {(run["method"], run["strength"]) for run in sweep.frontier().best}
    for run in sweep.means().to_dicts():
        table.add_row(
            run["method"],
            f"{run['strength']:g}",
            f"{run['performance']:.4f} ± {run['performance_sd'] or 0.0:.4f}",
            f"{run['cdd_marginal']:.4f} ± {run['cdd_marginal_sd'] or 0.0:.4f}",
            f"{max(0.0, run['squared']) ** 0.5:.4f}",
            f"{run['dd']:.4f}",
            "*" if (run["method"], run["strength"]) in best else "",
        )
    return table
