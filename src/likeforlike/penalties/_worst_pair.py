"""The pair of groups that differs most, for limits that hold for every pair.

    V(f) = max_{a<b} V_ab(f),

with V_ab the penalty of the rows of groups a and b alone. A mean over pairs hardly sees a small
group; a limit does. The slope is that of the pair which differs most at the moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.penalties._layout import Layout
from likeforlike.penalties._penalty import Penalty


def worst_pair(penalty: Penalty, layout: Layout) -> Penalty:
    """The penalty of the worst pair of a layout's groups; itself for two groups.

    Where groups are compared along a number all of them share their anchors, and the penalty stays
    as it is.
    """
    if len(layout.groups) < 3 or penalty.prepared(layout).away.size:
        return penalty
    return WorstPair(penalty)


@dataclass(frozen=True)
class WorstPair(Penalty):
    """The largest penalty of any two groups.

    Parameters
    ----------
    penalty : what is evaluated for every two groups.
    """

    penalty: Penalty
    order: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", self.penalty.order)

    def stacked(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Values (m,) and gradients (m, n) of the scores (m, n) of m models on rows of a layout."""
        largest, slopes = np.full(len(scores), -np.inf), np.zeros(scores.shape)
        for pair in _pairs(layout):
            values, gradients = self.penalty.stacked(scores, pair)
            larger = values > largest
            largest[larger], slopes[larger] = values[larger], gradients[larger]
        return largest, slopes

    def moved(self, layout: Layout) -> FloatArray:
        """Mass (n,) that the plans of all pairs move to or from each row, whichever is worst."""
        moved: FloatArray = np.sum([self.penalty.moved(pair) for pair in _pairs(layout)], axis=0)
        return moved

    def prepared(self, layout: Layout) -> Layout:
        """The layout as the penalty inside takes it."""
        return self.penalty.prepared(layout)

    def compared(self, layout: Layout) -> Layout:
        """The layout in whose levels the penalty inside compares rows.

        Parameters
        ----------
        layout : prepared.
        """
        return self.penalty.compared(layout)

    def at_parity(self, layout: Layout, rng: np.random.Generator) -> Layout | None:
        """Rows whose groups differ by chance alone, as the penalty inside deals them.

        Parameters
        ----------
        layout : prepared.
        rng : deals the groups.
        """
        return self.penalty.at_parity(layout, rng)

    def check(self, layout: Layout) -> None:
        """Raise unless the penalty inside finds something to compare."""
        self.penalty.check(layout)


def _pairs(layout: Layout) -> Iterator[Layout]:
    """The rows with weight for two groups at a time."""
    group = layout.segments % len(layout.groups)
    for pair in combinations(range(len(layout.groups)), 2):
        inside = np.isin(group, pair).astype(np.float64)
        yield replace(layout, mass=layout.mass * inside if layout.mass.size else inside)
