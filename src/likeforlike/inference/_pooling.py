"""Pools: the scores of both groups of every level together, ready for new labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport._atoms import Atoms
from likeforlike.transport._compiled import compiled


class Pool(NamedTuple):
    """Scores of both groups of each level together, sorted.

    Attributes
    ----------
    values : (m,) floats, not decreasing inside a level.
    first, second : (m,) integers, rows of either group at this score.
    weight : (m,) floats, weight of one such row.
    offsets : (k + 1,) integers, where each level begins.
    """

    values: FloatArray
    first: IntArray
    second: IntArray
    weight: FloatArray
    offsets: IntArray


@compiled
def _pool_levels(
    values: FloatArray, counts: IntArray, mass: FloatArray, offsets: IntArray, pairs: IntArray
) -> tuple[FloatArray, IntArray, IntArray, FloatArray, IntArray]:
    """Merge the two sorted cells of every level; equal scores of equal weight become one atom."""
    size = 0
    for k in range(pairs.shape[0]):
        for side in range(2):
            size += offsets[pairs[k, side] + 1] - offsets[pairs[k, side]]
    pooled = np.empty(size)
    first, second = np.zeros(size, np.int64), np.zeros(size, np.int64)
    weight = np.empty(size)
    begins = np.zeros(pairs.shape[0] + 1, np.int64)
    last = -1
    for k in range(pairs.shape[0]):
        i, end_i = offsets[pairs[k, 0]], offsets[pairs[k, 0] + 1]
        j, end_j = offsets[pairs[k, 1]], offsets[pairs[k, 1] + 1]
        while i < end_i or j < end_j:
            take_first = j >= end_j or (i < end_i and values[i] <= values[j])
            at = i if take_first else j
            own = mass[at] / counts[at]
            fresh = last < begins[k] or values[at] != pooled[last] or own != weight[last]
            if fresh:
                last += 1
                pooled[last], weight[last] = values[at], own
            if take_first:
                first[last] += counts[at]
                i += 1
            else:
                second[last] += counts[at]
                j += 1
        begins[k + 1] = last + 1
    kept = last + 1
    return pooled[:kept], first[:kept], second[:kept], weight[:kept], begins


def pool_levels(atoms: Atoms, pairs: IntArray) -> Pool:
    """Scores of two groups of every level together; `pairs` are the segments of both, (k, 2)."""
    return Pool(*_pool_levels(atoms.values, atoms.counts, atoms.mass, atoms.offsets, pairs))
