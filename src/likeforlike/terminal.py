"""The audit on a terminal: the finding as text and the levels as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

__all__ = ["level_table", "summary_text", "sweep_table"]

_SHOWN_LEVELS = 12


def summary_text(
    document: Mapping[str, Any], verdict: str | None = None, threshold: float | None = None
) -> str:
    """The finding, its cautions and the verdict of a gate, in rich's markup.

    Parameters
    ----------
    document : as made by `Audit.to_dict`.
    verdict, threshold : of `Audit.gate`, if there was one.

    Examples
    --------
    >>> from likeforlike.terminal import summary_text
    >>> finding = {"headline": "A.", "sentences": ["B."], "cautions": ["C."]}
    >>> print(summary_text({"finding": finding}))
    [bold]A.[/]
    B.
    [yellow]! C.[/]
    """
    finding = document["finding"]
    lines = [f"[bold]{escape(finding['headline'])}[/]"]
    lines += [escape(sentence) for sentence in finding["sentences"]]
    lines += [f"[yellow]! {escape(caution)}[/]" for caution in finding["cautions"]]
    if verdict is not None:
        said = {
            "pass": "the interval lies at or below it",
            "fail": "the interval lies above it",
            "investigate": "the interval lies across it: the evidence does not settle it",
        }
        lines.append(f"[bold]Threshold {threshold:g}: {verdict}[/] ({said[verdict]}).")
    return "\n".join(lines)


def level_table(document: Mapping[str, Any]) -> Table:
    """The levels that contribute most, with their sizes.

    Parameters
    ----------
    document : as made by `Audit.to_dict`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.terminal import level_table
    >>> table = {"f": [0, 1, 0, 1], "sex": ["f", "m", "m", "f"]}
    >>> import polars as pl
    >>> found = lfl.audit(pl.DataFrame(table), score="f", sensitive="sex", permutations=9)
    >>> level_table(found.to_dict()).row_count
    1
    """
    contrast = document["contrasts"][0]
    first, second = (escape(group) for group in contrast["groups"])
    levels = contrast["levels"]
    hidden = len(levels) - _SHOWN_LEVELS
    table = Table(
        title=f"Levels by contribution; a positive gap means that {second} scores higher",
        caption=f"and {hidden:,} more levels" if hidden > 0 else None,
        title_justify="left",
    )
    table.add_column("level")
    for heading in (f"{first}, rows", f"{second}, rows", "distance", "by chance", "gap", "p, adj."):
        table.add_column(heading, justify="right")
    for level in levels[:_SHOWN_LEVELS]:
        table.add_row(
            escape(level["name"]) + (" (thin)" if level["thin"] else ""),
            *(f"{rows:,}" for rows in level["rows"].values()),
            f"{level['distance']:.3g}",
            _number(level["null_distance"]),
            f"{level['gap']:+.3g}",
            _number(level["p_adjusted"]),
        )
    return table


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def sweep_table(
    means: Sequence[Mapping[str, Any]], frontier: Sequence[Mapping[str, Any]], task: str
) -> Table:
    """What a sweep found, one line for each method and strength.

    Parameters
    ----------
    means : of what was measured, from `Sweep.means`.
    frontier : those of them that no other beats.
    task : `"classification"` or `"regression"`.

    Examples
    --------
    >>> from likeforlike.terminal import sweep_table
    >>> run = {"method": "FairLeap", "strength": 1.0, "seeds": 5, "power": 0.8, "power_sd": 0.01}
    >>> run |= {"cdd_marginal": 0.02, "cdd_marginal_sd": 0.005, "squared": 0.0003, "dd": 0.1}
    >>> sweep_table([run], [run], "classification").row_count
    1
    """
    power = "AUC" if task == "classification" else "squared error"
    table = Table(title="Means over the splits, on test rows; * no other run beats")
    for heading in ("method", "strength", power, "conditional W1", "estimate", "overall W1", ""):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    best = {(run["method"], run["strength"]) for run in frontier}
    for run in means:
        table.add_row(
            run["method"],
            f"{run['strength']:g}",
            f"{run['power']:.4f} ± {run['power_sd'] or 0.0:.4f}",
            f"{run['cdd_marginal']:.4f} ± {run['cdd_marginal_sd'] or 0.0:.4f}",
            f"{max(0.0, run['squared']) ** 0.5:.4f}",
            f"{run['dd']:.4f}",
            "*" if (run["method"], run["strength"]) in best else "",
        )
    return table
