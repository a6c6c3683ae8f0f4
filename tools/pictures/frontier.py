"""A frontier: performance against disparity, from the trade-offs that `benchmarks.enforcing`
measured.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, NamedTuple

from markupsafe import Markup

from likeforlike.experiments import Frontier
from likeforlike.report import AxisScale, ticks
from likeforlike.report import _svg as svg
from tools.pictures.drawing import Axes, key, picture

__all__ = ["Run", "frontier", "runs"]

_MEASURED = Path(__file__).parents[2] / "benchmarks" / "enforcing.json"
_DATA = "adult"
_HEIGHT = 520.0


class Run(NamedTuple):
    """Means over splits, on test rows.

    Attributes
    ----------
    method, strength : which run.
    performance, performance_error : AUC and the standard error of its mean.
    squares : the unbiased squared disparity of every split.
    """

    method: str
    strength: float
    performance: float
    performance_error: float
    squares: tuple[float, ...]

    def disparity(self, errors: float = 0.0) -> float:
        """Root of the mean square, moved by so many standard errors of that mean."""
        error = stdev(self.squares) / math.sqrt(len(self.squares))
        return math.sqrt(max(0.0, fmean(self.squares) + errors * error))


def runs() -> list[Run]:
    """FairLeap and FairBiT on Adult at every strength, without sex among the inputs."""
    entries: list[dict[str, Any]] = json.loads(_MEASURED.read_text())
    return [
        Run(
            entry["method"],
            point["strength"],
            point["performance"],
            point["performance_error"],
            tuple(point["squares"]),
        )
        for entry in entries
        if entry["data"] == _DATA and not entry["with_sensitive"] and entry["method"] != "repair"
        for point in entry["points"]
    ]


def frontier() -> str:
    """Every run, and the steps of those that no other beats in both."""
    found = runs()
    best = Frontier.of(
        [1.0 - run.performance for run in found], [run.disparity() for run in found], found
    )
    axes = _axes(found)
    names = (
        "disparity on test rows, small-sample bias removed; less is better",
        "AUC on test rows; more is better",
    )
    marks = ticks(axes.across.low, axes.across.high, 6), ticks(axes.up.low, axes.up.high, 5)
    return picture(
        "Power against disparity on Adult, with the frontier",
        _told(found, best.best),
        _HEIGHT,
        svg.text(
            24.0, 34.0, "What less disparity costs: Adult, without sex as input", class_="head"
        ),
        _legend(),
        axes.drawn(names, marks, lambda value: f"{value:.2f}"),
        svg.path(_steps(best.best, axes), class_="e outline"),
        *(_point(run, axes) for run in found),
        *_strengths(found, axes),
    )


def _legend() -> Markup:
    return svg.group(
        key(24.0, 66.0, lambda x, y: _mark("FairLeap", x, y), "FairLeap, with its strength"),
        key(308.0, 66.0, lambda x, y: _mark("FairBiT", x, y), "FairBiT"),
        key(
            424.0,
            66.0,
            lambda x, y: svg.line(x - 10.0, y, x + 10.0, y, class_="e outline"),
            "frontier",
        ),
        svg.text(896.0, 66.0, "bars: ± standard error over the splits", class_="small end"),
    )


def _axes(found: list[Run]) -> Axes:
    widest = max(run.disparity(1.0) for run in found)
    low = min(run.performance - run.performance_error for run in found)
    high = max(run.performance + run.performance_error for run in found)
    room = 0.12 * (high - low)
    return Axes(
        AxisScale(0.0, 1.06 * widest, 80.0, 890.0), AxisScale(low - room, high + room, 450.0, 120.0)
    )


def _steps(best: list[Run], axes: Axes) -> list[tuple[float, float]]:
    """From the least disparity: along at the performance reached, up where a run reaches more."""
    points: list[tuple[float, float]] = []
    for run in reversed(best):
        x, y = axes(run.disparity(), run.performance)
        if points:
            points.append((x, points[-1][1]))
        points.append((x, y))
    return [*points, (axes.across.end, points[-1][1])]


def _point(run: Run, axes: Axes) -> Markup:
    x, y = axes(run.disparity(), run.performance)
    color = "a" if run.method == "FairLeap" else "b"
    low, high = (axes.up(run.performance + side * run.performance_error) for side in (-1.0, 1.0))
    left, right = (axes.across(run.disparity(side)) for side in (-1.0, 1.0))
    return svg.group(
        svg.line(x, low, x, high, class_=f"{color} span"),
        svg.line(left, y, right, y, class_=f"{color} span"),
        _mark(run.method, x, y),
    )


def _mark(method: str, x: float, y: float) -> Markup:
    if method == "FairLeap":
        return svg.circle(x, y, 6.5, class_="a full")
    return svg.diamond(x, y, 8.5, class_="b hollow")


def _strengths(found: list[Run], axes: Axes) -> list[Markup]:
    """Strengths of FairLeap, to the upper left of their points."""
    return [
        svg.text(
            axes.across(run.disparity()) - 12.0,
            axes.up(run.performance) - 10.0,
            f"{run.strength:g}",
            class_="small end",
        )
        for run in found
        if run.method == "FairLeap"
    ]


def _told(found: list[Run], best: list[Run]) -> str:
    told = "; ".join(
        f"{run.method}, strength {run.strength:g}: "
        f"AUC {run.performance:.4f} ± {run.performance_error:.4f}, "
        f"disparity {run.disparity():.4f} ({run.disparity(-1.0):.4f} to {run.disparity(1.0):.4f})"
        for run in found
    )
    kept = "; ".join(f"{run.method} {run.strength:g}" for run in best)
    return f"{told}. On the frontier: {kept}."
