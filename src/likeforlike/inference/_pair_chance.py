"""How many pairs of people would be as far apart if groups were permuted inside a level.

The monotone plan sets people of two groups against each other. Under permuted labels it does so
too, and some pairs are far apart by chance alone. A permutation is a hypergeometric draw over the
atoms of the level, as in the test, and the plan is a sweep over them.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.inference._streams import hypergeometric, start
from likeforlike.transport._compiled import compiled


def pairs_by_chance(
    values: FloatArray,
    counts: IntArray,
    first: int,
    differences: FloatArray,
    *,
    permutations: int,
    seed: int,
) -> tuple[FloatArray, FloatArray]:
    """Expected shares of the plan with at least these differences, under permuted labels.

    Parameters
    ----------
    values, counts : (m,) the atoms of both groups together, rising, and their rows.
    first : rows of the first group.
    differences : (k,) positive floats, rising.
    permutations, seed : of the draws.

    Returns
    -------
    lower, higher : (k,) shares of mass where the first group has the lower score, and where it
        has the higher one, by at least each difference.
    """
    sums = _draw(values, counts, differences, first, permutations, seed) / permutations
    at_least = sums[:, ::-1].cumsum(axis=1)[:, ::-1]
    return at_least[0], at_least[1]


@compiled
def _draw(
    values: FloatArray,
    counts: IntArray,
    differences: FloatArray,
    first: int,
    permutations: int,
    seed: int,
) -> FloatArray:
    """Σ over permutations of the mass between each difference and the next, for both signs."""
    total = 0
    for i in range(counts.size):
        total += counts[i]
    second = total - first
    sums = np.zeros((2, differences.size))
    mine = np.empty(counts.size, np.int64)
    for replicate in range(permutations):
        state = start(seed, replicate)
        wanted, left = first, total
        for i in range(counts.size):
            mine[i] = hypergeometric(state, wanted, left - wanted, counts[i])
            wanted -= mine[i]
            left -= counts[i]
        _sweep(values, counts, mine, first, second, differences, sums)
    return sums


@compiled
def _sweep(
    values: FloatArray,
    counts: IntArray,
    mine: IntArray,
    first: int,
    second: int,
    differences: FloatArray,
    sums: FloatArray,
) -> None:
    """Add the monotone plan between `mine` and the rest; masses are shares of each group."""
    i, j = -1, -1
    here, there = 0.0, 0.0
    while True:
        # Scaled by the other group's rows, whole numbers stay whole.
        while here == 0.0:
            i += 1
            if i == counts.size:
                return
            here = mine[i] * float(second)
        while there == 0.0:
            j += 1
            if j == counts.size:
                return
            there = (counts[j] - mine[j]) * float(first)
        mass = min(here, there)
        here -= mass
        there -= mass
        if i == j:
            continue
        distance = abs(values[j] - values[i])
        low, high = 0, differences.size
        while low < high:
            middle = (low + high) // 2
            if differences[middle] <= distance:
                low = middle + 1
            else:
                high = middle
        if low:
            sums[0 if i < j else 1, low - 1] += mass / (float(first) * float(second))
