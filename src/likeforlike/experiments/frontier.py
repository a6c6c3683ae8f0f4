"""The frontier: runs that no other run beats in power and disparity at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from likeforlike.errors import InputError
from likeforlike.transport.atoms import FloatArray, IntArray

__all__ = ["Frontier"]


@dataclass(frozen=True)
class Frontier:
    """Runs with their loss of power and their disparity; less is better in both.

    Attributes
    ----------
    cost : (n,) floats, what is lost: 1 - AUC or a mean squared error.
    disparity : (n,) floats >= 0.
    runs : n descriptions, whatever they are.

    Examples
    --------
    >>> from likeforlike.experiments.frontier import Frontier
    >>> frontier = Frontier.of([0.1, 0.2, 0.3, 0.3], [0.5, 0.2, 0.1, 0.4], list("abcd"))
    >>> frontier.best
    ['a', 'b', 'c']
    >>> frontier.choose(max_disparity=0.25)
    'b'
    >>> round(frontier.hypervolume(cost=1.0, disparity=1.0), 3)
    0.76
    """

    cost: FloatArray
    disparity: FloatArray
    runs: tuple[Any, ...]

    @classmethod
    def of(cls, cost: npt.ArrayLike, disparity: npt.ArrayLike, runs: Sequence[Any]) -> Frontier:
        """Frontier of n runs, with the cost (n,) and the disparity (n,) of each."""
        losses, gaps = (np.asarray(column, dtype=np.float64) for column in (cost, disparity))
        if not losses.size == gaps.size == len(runs) > 0:
            raise InputError(
                f"a frontier needs runs with a cost and a disparity each, not {losses.size} costs, "
                f"{gaps.size} disparities and {len(runs)} runs."
            )
        if not (np.isfinite(losses).all() and np.isfinite(gaps).all()):
            raise InputError("costs and disparities must be finite numbers.")
        return cls(losses, gaps, tuple(runs))

    @property
    def order(self) -> IntArray:
        """Positions (k,) of the k runs on the frontier, in order of cost."""
        by_cost = np.lexsort((self.disparity, self.cost))
        least = np.minimum.accumulate(self.disparity[by_cost])
        new = np.r_[True, least[1:] < least[:-1]]
        kept: IntArray = by_cost[new]
        return kept

    @property
    def best(self) -> list[Any]:
        """The runs on the frontier, in order of cost."""
        return [self.runs[k] for k in self.order]

    def hypervolume(self, *, cost: float, disparity: float) -> float:
        """Area that the frontier dominates, up to a reference point; more is better.

        Parameters
        ----------
        cost, disparity : of the reference point; runs beyond it count for nothing.
        """
        order = self.order
        inside = (self.cost[order] < cost) & (self.disparity[order] < disparity)
        costs, gaps = self.cost[order][inside], self.disparity[order][inside]
        widths = np.diff(np.r_[costs, cost])
        return float((widths * (disparity - gaps)).sum())

    def choose(self, *, max_disparity: float) -> Any:  # noqa: ANN401
        """The run of least cost among those with a disparity of at most `max_disparity`."""
        within = np.flatnonzero(self.disparity <= max_disparity)
        if not within.size:
            raise InputError(
                f"no run has a disparity of at most {max_disparity:g}; the least is "
                f"{self.disparity.min():.4g}."
            )
        return self.runs[within[np.argmin(self.cost[within])]]
