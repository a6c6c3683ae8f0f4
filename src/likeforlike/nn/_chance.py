"""What a penalty of so few rows would be if groups differed by chance alone.

A penalty compares samples, and samples of equal laws are never equal: V is too large by about the
variance of the scores over the rows of a cell. A network that gives everybody the same score
escapes that, so stopping by loss + strength * V stops strong penalties after a few epochs. The
mean of V with groups dealt anew inside their levels, a few times and always the same, is what
chance alone makes of these scores; it is taken off.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.nn._batch_gradient import penalize
from likeforlike.penalties import Layout, Penalty

_DEALS = 4
_SEED = 0


class Chance:
    """Mean penalty of scores whose groups were dealt anew; 0 where they cannot be."""

    def __init__(self, penalty: Penalty, layout: Layout) -> None:
        rng = np.random.default_rng(_SEED)
        dealt = [penalty.at_parity(layout, rng) for _ in range(_DEALS)]
        self._penalty = penalty
        self._layouts = [each for each in dealt if each is not None]

    def __call__(self, scores: FloatArray, splits: IntArray) -> FloatArray:
        """Values (m,) of the scores (m, n) or (m, n, c) of members that see these splits."""
        if not self._layouts:
            return np.zeros(len(scores))
        found = [
            penalize(self._penalty, scores, layout.for_members(splits))[0]
            for layout in self._layouts
        ]
        mean: FloatArray = np.mean(found, axis=0)
        return mean
