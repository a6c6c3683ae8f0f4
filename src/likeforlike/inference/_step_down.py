"""Which levels differ: p-values of many levels at once, from the same permutations.

Levels in descending order of what was observed, z_(1) >= ... >= z_(k). The p-value of the j-th is
the share of replicates whose largest statistic among the levels j, ..., k reaches z_(j), and no
smaller than that of the level before it. The chance of any false alarm stays below 5% if levels
with a p-value of at most 5% are called different, whichever of them are: labels are permuted in
every level by itself, so a difference in one level does not touch the statistics of another.

Reference: Westfall and Young (1993), *Resampling-Based Multiple Testing*, algorithm 2.8.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import FloatArray, IntArray


def step_down(statistic: FloatArray, stepped: IntArray, replicates: int) -> FloatArray:
    """Adjusted p-values of k levels, shape (k,).

    `stepped` counts, of all replicates, those whose largest statistic in a level or one less
    remarkable reaches the observed `statistic` of that level.
    """
    order = np.argsort(statistic, kind="stable")[::-1]
    adjusted = np.empty(statistic.size)
    adjusted[order] = np.maximum.accumulate(stepped[order] / replicates)
    return adjusted
