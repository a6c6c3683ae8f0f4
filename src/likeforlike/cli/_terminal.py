"""What commands say on a terminal besides an audit: errors, and the runs of a sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rich import box
from rich.table import Table

from likeforlike._text import visible
from likeforlike.report._terminal import Terminal

if TYPE_CHECKING:
    from likeforlike.experiments import Sweep


def say_error(words: str) -> None:
    """Say in one line, on standard error, what is wrong."""
    line = visible(" ".join(f"likeforlike: {words}".split()))
    Terminal(stderr=True).print(line, style="red", soft_wrap=True)


def sweep_table(sweep: Sweep) -> Table:
    """What a sweep found, one line for each method and strength."""
    means = sweep.means()
    performance = "AUC" if sweep.task == "classification" else "squared error"
    table = Table(
        title="Means over the splits, on test rows",
        box=box.SIMPLE,
        pad_edge=False,
        collapse_padding=True,
        show_edge=False,
    )
    for heading in ("method", "strength", performance, "among equals", "estimate", "overall", ""):
        side: Literal["left", "right"] = "left" if heading == "method" else "right"
        least = 17 if heading == "method" else None
        table.add_column(heading, justify=side, no_wrap=heading != "method", min_width=least)
    best = {(run["method"], run["strength"]) for run in sweep.frontier().best}
    poor = set(sweep.underfitted().select("method", "strength").rows())
    for run in means.to_dicts():
        key = run["method"], run["strength"]
        table.add_row(
            run["method"],
            f"{run['strength']:.4g}",
            _spread(run["performance"], run["performance_sd"]),
            _spread(run["cdd_marginal"], run["cdd_marginal_sd"]),
            _short(max(0.0, run["squared"]) ** 0.5),
            _short(run["dd"]),
            ("*" if key in best else "") + ("!" if key in poor else ""),
        )
    return table


def _spread(mean: float, sd: float | None) -> str:
    return _short(mean) if sd is None else f"{_short(mean)} ± {_short(sd, 2)}"


def _short(value: float, figures: int = 3) -> str:
    """Three decimals of what lies below 1, and three figures of the rest."""
    if abs(value) < 1.0:
        return f"{value:.3f}"
    return f"{value:.{figures}g}".replace("e+0", "e").replace("e+", "e")


def sweep_notes(sweep: Sweep) -> str:
    """What the columns of the table are, and how many rows they rest on."""
    runs = sweep.runs
    words = (
        "± standard deviation over splits. among equals: W1 inside levels, weighted by P(L); "
        "estimate: the same without small-sample bias; overall: W1 whatever the level. "
        "* no other setting is better in both."
    )
    parts = [words]
    if "coverage" in runs.columns:
        low, rows = float(runs["coverage"].to_numpy().min()), int(runs["rows"][0])
        levels = sorted(
            {int(runs["levels"].to_numpy().min()), int(runs["levels"].to_numpy().max())}
        )
        count = " to ".join(map(str, levels))
        parts.append(
            f"{rows:,} test rows per split; at least {low:.0%} of every group was compared, in "
            f"{count} level{'' if levels == [1] else 's'}."
        )
    if sweep.underfitted().height:
        constant = float(runs["baseline"].to_numpy().mean())
        parts.append(f"! worse than a constant, which has {_short(constant)}.")
    return " ".join(parts)
