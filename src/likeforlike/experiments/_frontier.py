"""The frontier: runs that no other run beats in performance and disparity at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.errors import InputError
from likeforlike.plots._axes import axes_or_new
from likeforlike.plots._tradeoff import Panel, Point, Series, draw_panel

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
        """Frontier of n runs, with the loss (n,) and the disparity (n,) of each."""
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
        """Area that the frontier dominates, up to a reference point; more is better.

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
            Point(0.0, float(gap), float(loss), best=k in best)
            for k, (loss, gap) in enumerate(zip(self.loss, self.disparity, strict=True))
        )
        series = (Series("runs", points),)
        draw_panel(axes, Panel("", _counted(len(points)), "loss", "less", "disparity", series))
        return axes

    def choose(self, *, max_disparity: float) -> Any:  # noqa: ANN401
        """The run of least loss among those with a disparity of at most `max_disparity`."""
        within = np.flatnonzero(self.disparity <= max_disparity)
        if not within.size:
            raise InputError(
                f"no run has a disparity of at most {max_disparity:g}; the least is "
                f"{self.disparity.min():.4g}."
            )
        return self.runs[within[np.argmin(self.loss[within])]]


def _counted(runs: int) -> str:
    return f"{runs:,} run{'' if runs == 1 else 's'}"
