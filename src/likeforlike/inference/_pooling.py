"""Pools: the scores of both groups of every level together, ready for new labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray, plain
from likeforlike.transport._atoms import Atoms
from likeforlike.transport._compiled import compiled


class Pool(NamedTuple):
    """Scores of both groups of each level together, sorted.

    Attributes
    ----------
    scores : (3, m) floats; the first line is not decreasing inside a level, the others are free.
    rows : (m,) integers, rows at this score.
    second : (m,) integers, how many of them are of the second group.
    weights : (2,) floats, the least and the largest weight of a row.
    offsets : (k + 1,) integers, where each level begins.
    """

    scores: FloatArray
    rows: IntArray
    second: IntArray
    weights: FloatArray
    offsets: IntArray


@compiled
def _pool_levels(
    values: FloatArray,
    counts: IntArray,
    mass: FloatArray,
    offsets: IntArray,
    pairs: IntArray,
    pooled: FloatArray,
    rows: IntArray,
    second: IntArray,
    weights: FloatArray,
    begins: IntArray,
) -> None:
    """Merge the two sorted cells of every level; equal scores of equal weight become one atom."""
    last, weight = -1, 0.0
    for k in range(pairs.shape[0]):
        i, end_i = offsets[pairs[k, 0]], offsets[pairs[k, 0] + 1]
        j, end_j = offsets[pairs[k, 1]], offsets[pairs[k, 1] + 1]
        while i < end_i or j < end_j:
            take_first = j >= end_j or (i < end_i and values[i] <= values[j])
            at = i if take_first else j
            own = mass[at] / counts[at]
            if last < begins[k] or values[at] != pooled[last] or own != weight:
                last += 1
                pooled[last], weight = values[at], own
                weights[0], weights[1] = min(weights[0], own), max(weights[1], own)
            rows[last] += counts[at]
            if take_first:
                i += 1
            else:
                second[last] += counts[at]
                j += 1
        begins[k + 1] = last + 1


def pool_levels(atoms: Atoms, pairs: IntArray) -> Pool:
    """Scores of two groups of every level together; `pairs` are the segments of both, (k, 2)."""
    size = int(np.diff(atoms.offsets)[pairs].sum())
    scores, rows, second = np.empty((3, size)), np.zeros(size, np.int64), np.zeros(size, np.int64)
    weights, begins = np.array([np.inf, -np.inf]), np.zeros(len(pairs) + 1, np.int64)
    _pool_levels(
        atoms.values,
        plain(atoms.counts),
        plain(atoms.mass),
        atoms.offsets,
        pairs,
        scores[0],
        rows,
        second,
        weights,
        begins,
    )
    kept = int(begins[-1])
    if kept < size:
        pooled, scores = scores[0, :kept], np.empty((3, kept))
        scores[0] = pooled
    return Pool(scores, rows[:kept], second[:kept], weights, begins)
