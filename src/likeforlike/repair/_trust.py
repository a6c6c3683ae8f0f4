"""How much of a repair to trust: as much as makes rows better that it was not fitted on.

Maps learned from few rows carry their noise into the scores, and may do more harm than good. What
is left is estimated on rows held out, without small-sample bias. If a full repair leaves no more
than half of the disparity, all of it is done; or else the part that leaves least, which may be
none. Where no disparity is clear of its noise to begin with, there is nothing to repair.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity._columns import Codes

# Parts of a repair that are tried where the whole of it leaves too much.
_PARTS = (0.75, 0.5, 0.25)


def trusted_part(left: Callable[[float], float], before: float, asked: float) -> float:
    """The part of a repair to do, in [0, 1].

    Parameters
    ----------
    left : squared disparity of rows held out, if a part is done.
    before : if none is.
    asked : what part of the disparity was to go.
    """
    whole = left(1.0)
    if asked == 0.0 or whole <= (1.0 - 0.5 * asked) ** 2 * before:
        return 1.0
    tried = {1.0: whole, 0.0: before, **{part: left(part) for part in _PARTS}}
    return min(sorted(tried, reverse=True), key=tried.__getitem__)


def deal(group: IntArray, level: IntArray, folds: int, seed: int | None) -> IntArray:
    """A fold for every row, so that every fold has its share of every group of every level."""
    lot = np.random.default_rng(seed).permutation(group.size)
    order = lot[np.lexsort((level[lot], group[lot]))]
    fold = np.empty(group.size, np.int64)
    fold[order] = np.arange(group.size) % folds
    return fold


def by_fold(level: Codes, fold: IntArray) -> Codes:
    """Levels of every fold by itself.

    What the maps of other folds miss cancels over all folds of a level: each learned from the rows
    that the others are measured on. Inside a fold it does not.
    """
    folds = int(fold.max()) + 1
    labels = tuple((label, k) for label in level.labels for k in range(folds))
    return Codes(level.codes * folds + fold, labels)


def held_out(fold: IntArray, repaired: Callable[[IntArray, IntArray], FloatArray]) -> FloatArray:
    """What becomes of every row (n,) by what rows of other folds teach.

    Parameters
    ----------
    fold : (n,) integers.
    repaired : what becomes of some rows, the second, by a repair fitted on others, the first.
    """
    moved = np.empty(fold.size)
    for one in range(int(fold.max()) + 1):
        inside = np.flatnonzero(fold == one)
        moved[inside] = repaired(np.flatnonzero(fold != one), inside)
    return moved
