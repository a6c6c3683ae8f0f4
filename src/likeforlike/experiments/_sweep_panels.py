"""Panels of sweeps: what methods trade, with the frontier of every panel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import polars as pl

from likeforlike.errors import InputError
from likeforlike.experiments._frontier import Frontier
from likeforlike.plots._looks import Look
from likeforlike.plots._tradeoff import Panel, Point, Series, tradeoff_svg

_WORDS = {
    "cdd_wass": "nested disparity, CDD-wass, excess over levels",
    "diagonal": "disparity among equals, part of CDD-wass",
    "off_diagonal": "disparity across levels, part of CDD-wass",
    "cdd_uniform": "disparity among equals, CDD-lp, measure uniform",
    "cdd_average": "disparity among equals, CDD-lp, measure average",
    "cdd_marginal": "disparity among equals, CDD-lp, measure P(L)",
    "w2sq_uniform": "disparity among equals, squared, W_2² uniform",
    "w2sq_average": "disparity among equals, squared, W_2² average",
    "w2sq_marginal": "disparity among equals, squared, W_2² P(L)",
    "dd": "disparity between groups whatever the level, DD",
    "squared": "disparity among equals, unbiased squares, measure P(L)",
}


class Swept(Protocol):
    """What is drawn of a sweep."""

    @property
    def runs(self) -> pl.DataFrame: ...
    @property
    def task(self) -> str: ...
    @property
    def measured(self) -> tuple[str, ...]: ...
    def means(self) -> pl.DataFrame: ...
    def frontier(self, disparity: str) -> Frontier: ...


def sweep_svg(
    sweep: Swept,
    disparity: str = "cdd_marginal",
    *,
    title: str = "Disparity against predictive performance",
) -> str:
    """All methods of a sweep in one panel, as an SVG of its own."""
    return tradeoff_svg([sweep_panel(sweep, disparity)], title=title)


def sweep_panel(
    sweep: Swept,
    disparity: str,
    *,
    title: str = "",
    looks: Mapping[str, Look] | None = None,
    down_to: str | None = None,
) -> Panel:
    """Means of a sweep with their frontier, for one disparity.

    The axis of performance goes down to the method `down_to`, if there is one. Otherwise an axis
    ends where points are far out, which are those above the upper quartile by more than 1.5 times
    the distance of the quartiles, in loss of performance or in disparity.
    """
    if disparity not in sweep.measured[1:]:
        raise InputError(f"disparity must be one of {sweep.measured[1:]}, not {disparity!r}.")
    best = {(run["method"], run["strength"]) for run in sweep.frontier(disparity).best}
    by_method: dict[str, list[Point]] = {}
    for row in sweep.means().to_dicts():
        point = _point(row, disparity, best=(row["method"], row["strength"]) in best)
        by_method.setdefault(row["method"], []).append(point)
    points = [point for series in by_method.values() for point in series]
    regression = sweep.task == "regression"
    given = {} if looks is None else looks
    return Panel(
        title,
        _sample(sweep),
        "mean squared error" if regression else "AUC",
        "less" if regression else "more",
        _WORDS.get(disparity, disparity),
        tuple(
            Series(name, tuple(points_of), given.get(name)) for name, points_of in by_method.items()
        ),
        _worst_power(points, by_method.get(down_to or "", []), -1.0 if regression else 1.0),
        _fence([point.disparity for point in points]),
    )


def _worst_power(points: Sequence[Point], reached: Sequence[Point], sign: float) -> float:
    """The performance down to which points are shown."""
    losses = [-sign * point.performance for point in points]
    ends = [-sign * point.performance + (point.performance_error or 0.0) for point in reached]
    loss = max(ends) + 0.05 * (max(ends) - min(losses)) if ends else _fence(losses)
    return -sign * loss


def _point(row: dict[str, Any], disparity: str, *, best: bool) -> Point:
    """Means, and the standard errors of the means if there is more than one run."""
    errors: list[float | None] = [
        None if row["seeds"] < 2 else row[f"{name}_sd"] / math.sqrt(row["seeds"])
        for name in (disparity, "performance")
    ]
    return Point(row["strength"], row[disparity], row["performance"], errors[0], errors[1], best)


def _fence(values: Sequence[float]) -> float:
    """Beyond it a value is far out; if half of the values are alike none is."""
    low, high = np.quantile(values, [0.25, 0.75])
    return float(high + 1.5 * (high - low)) if high > low else max(values)


def _sample(sweep: Swept) -> str:
    """How many runs on how many rows."""
    seeds, rows = sweep.means()["seeds"].to_list(), sweep.runs["rows"].to_list()
    fewest = f"{min(seeds)} to " if min(seeds) < max(seeds) else ""
    runs = f"{max(seeds):,} run{'' if max(seeds) == 1 else 's'}"
    return f"{fewest}{runs} of {max(rows):,} test rows"
