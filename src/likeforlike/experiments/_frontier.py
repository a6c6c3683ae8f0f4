"""The frontier of runs that no other run beats in performance and disparity, and its picture."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._plots import (
    Look,
    Panel,
    PlottedPoint,
    Series,
    axes_or_new,
    draw_panel,
    tradeoff_svg,
)
from likeforlike.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Frontier:
    """Runs with their loss of performance and their disparity; less is better in both.

    Attributes
    ----------
    loss : (n,) floats, what is lost: 1 - AUC or a mean squared error.
    disparity : (n,) floats >= 0.
    runs : n descriptions, whatever they are.

    Examples
    --------
    >>> from likeforlike.experiments import Frontier
    >>> frontier = Frontier.of([0.1, 0.2, 0.3, 0.3], [0.5, 0.2, 0.1, 0.4], list("abcd"))
    >>> frontier.best
    ['a', 'b', 'c']
    >>> frontier.choose(max_disparity=0.25)
    'b'
    >>> round(frontier.hypervolume(loss=1.0, disparity=1.0), 3)
    0.76
    """

    loss: FloatArray
    disparity: FloatArray
    runs: tuple[Any, ...]

    @classmethod
    def of(cls, loss: npt.ArrayLike, disparity: npt.ArrayLike, runs: Sequence[Any]) -> Frontier:
        """Make the frontier of n runs, with the loss (n,) and the disparity (n,) of each."""
        losses, gaps = (np.asarray(column, dtype=np.float64) for column in (loss, disparity))
        if not losses.size == gaps.size == len(runs) > 0:
            raise InputError(
                "a frontier needs runs with a loss and a disparity each, not "
                f"{losses.size} losses, {gaps.size} disparities and {len(runs)} runs."
            )
        if not (np.isfinite(losses).all() and np.isfinite(gaps).all()):
            raise InputError("losses and disparities must be finite numbers.")
        return cls(losses, gaps, tuple(runs))

    @property
    def order(self) -> IntArray:
        """Positions (k,) of the k runs on the frontier, in order of loss."""
        by_loss = np.lexsort((self.disparity, self.loss))
        least = np.minimum.accumulate(self.disparity[by_loss])
        new = np.r_[True, least[1:] < least[:-1]]
        kept: IntArray = by_loss[new]
        return kept

    @property
    def best(self) -> list[Any]:
        """The runs on the frontier, in order of loss."""
        return [self.runs[k] for k in self.order]

    def hypervolume(self, *, loss: float, disparity: float) -> float:
        """Compute the area that the frontier dominates, up to a reference point; more is better.

        Parameters
        ----------
        loss, disparity : of the reference point; runs beyond it count for nothing.
        """
        order = self.order
        inside = (self.loss[order] < loss) & (self.disparity[order] < disparity)
        losses, gaps = self.loss[order][inside], self.disparity[order][inside]
        widths = np.diff(np.r_[losses, loss])
        return float((widths * (disparity - gaps)).sum())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw all runs and the frontier as steps; better is up and to the left.

        Needs the extra `plot`. `ax` is what to draw on; without it a figure is opened. The axes are
        returned. `Sweep.plot` names methods and strengths as well.
        """
        axes = axes_or_new(ax)
        best = set(self.order.tolist())
        points = tuple(
            PlottedPoint(0.0, float(gap), float(loss), best=k in best)
            for k, (loss, gap) in enumerate(zip(self.loss, self.disparity, strict=True))
        )
        runs = f"{len(points):,} run{'' if len(points) == 1 else 's'}"
        series = (Series("runs", points),)
        draw_panel(axes, Panel("", runs, "loss", "less", "disparity", series))
        return axes

    def choose(self, *, max_disparity: float) -> Any:  # noqa: ANN401
        """Return the run of least loss among those with a disparity of at most `max_disparity`."""
        within = np.flatnonzero(self.disparity <= max_disparity)
        if not within.size:
            raise InputError(
                f"no run has a disparity of at most {max_disparity:g}; the least is "
                f"{self.disparity.min():.4g}."
            )
        return self.runs[within[np.argmin(self.loss[within])]]


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
    """Return all methods of a sweep in one panel, as an SVG of its own."""
    return tradeoff_svg([sweep_panel(sweep, disparity)], title=title)


def sweep_panel(
    sweep: Swept,
    disparity: str,
    *,
    title: str = "",
    looks: Mapping[str, Look] | None = None,
    down_to: str | None = None,
) -> Panel:
    """Compute means of a sweep with their frontier, for one disparity.

    The axis of performance goes down to the method `down_to`, if there is one. Otherwise an axis
    ends where points are far out, which are those above the upper quartile by more than 1.5 times
    the distance of the quartiles, in loss of performance or in disparity.
    """
    if disparity not in sweep.measured[1:]:
        raise InputError(f"disparity must be one of {sweep.measured[1:]}, not {disparity!r}.")
    best = {(run["method"], run["strength"]) for run in sweep.frontier(disparity).best}
    by_method: dict[str, list[PlottedPoint]] = {}
    for row in sweep.means().to_dicts():
        point = _point(row, disparity, best=(row["method"], row["strength"]) in best)
        by_method.setdefault(row["method"], []).append(point)
    points = [point for series in by_method.values() for point in series]
    regression = sweep.task == "regression"
    seeds, rows = sweep.means()["seeds"].to_list(), sweep.runs["rows"].to_list()
    fewest = f"{min(seeds)} to " if min(seeds) < max(seeds) else ""
    runs = f"{max(seeds):,} run{'' if max(seeds) == 1 else 's'}"
    given = {} if looks is None else looks
    return Panel(
        title,
        f"{fewest}{runs} of {max(rows):,} test rows",
        "mean squared error" if regression else "AUC",
        "less" if regression else "more",
        _WORDS.get(disparity, disparity),
        tuple(
            Series(name, tuple(points_of), given.get(name)) for name, points_of in by_method.items()
        ),
        _worst_power(points, by_method.get(down_to or "", []), -1.0 if regression else 1.0),
        _fence([point.disparity for point in points]),
    )


def _worst_power(
    points: Sequence[PlottedPoint], reached: Sequence[PlottedPoint], sign: float
) -> float:
    """Return the performance down to which points are shown."""
    losses = [-sign * point.performance for point in points]
    ends = [-sign * point.performance + (point.performance_error or 0.0) for point in reached]
    loss = max(ends) + 0.05 * (max(ends) - min(losses)) if ends else _fence(losses)
    return -sign * loss


def _point(row: dict[str, Any], disparity: str, *, best: bool) -> PlottedPoint:
    """Compute means, and the standard errors of the means if there is more than one run."""
    errors: list[float | None] = [
        None if row["seeds"] < 2 else row[f"{name}_sd"] / math.sqrt(row["seeds"])
        for name in (disparity, "performance")
    ]
    return PlottedPoint(
        row["strength"], row[disparity], row["performance"], errors[0], errors[1], best
    )


def _fence(values: Sequence[float]) -> float:
    """Beyond it a value is far out; if half of the values are alike none is."""
    low, high = np.quantile(values, [0.25, 0.75])
    return float(high + 1.5 * (high - low)) if high > low else max(values)
