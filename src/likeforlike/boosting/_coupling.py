"""How leaves of a tree pull at each other: the second derivative of a penalty in leaf values.

A tree adds v_a to the raw scores of the rows in leaf a. With the plan held fixed, and f' the slopes
of the scores, a penalty of order 2 is bent in that direction by

    Σ_ij κ_ij (f'_i v_{a(i)} - f'_j v_{a(j)})²,        κ_ij = 2 * mass moved from i to j,

which is v·K v with K = diag(D) - W: D_a = Σ_{i in a} κ_i f'_i² and W_ab sums κ_ij f'_i f'_j between
the leaves. Leaves that hold rows of both groups move without any resistance, which the diagonal
bound 2 D, all that row-wise second derivatives can say, does not see.

Which rows move to which is known inside a level from the order of their scores. How much passes
between two groups g and h is taken from what each has to move, r: r_g r_h / max(R - r_g, R - r_h),
R = Σ r, which is exact for two groups and for groups of equal size, and never more than any of
them has. K is therefore never negative. For other orders κ is the bound of `Penalty.steepness`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport._compiled import compiled
from likeforlike.transport._sorting import deal, sort_small


class Pulled(NamedTuple):
    """Rows at their places, (n,) each, as kernels take them; K levels and G groups.

    Attributes
    ----------
    scores : as they are compared.
    segments : level * G + group.
    weight : κ of the place, >= 0.
    slopes : f'.
    leaves : of the row, from 0 on.
    n_levels, n_groups : K and G.
    """

    scores: FloatArray
    segments: IntArray
    weight: FloatArray
    slopes: FloatArray
    leaves: IntArray
    n_levels: int
    n_groups: int


@compiled
def _in_order(rows: Pulled, offsets: IntArray) -> IntArray:
    """Places in order of (segment, score); fills in where each segment begins."""
    n_segments = rows.n_levels * rows.n_groups
    for segment in rows.segments:
        offsets[segment + 1] += 1
    for s in range(n_segments):
        offsets[s + 1] += offsets[s]
    dealt, order = np.empty(rows.scores.size), np.empty(rows.scores.size, np.int64)
    deal(rows.scores, rows.segments, offsets, dealt, order)
    sort_small(dealt.view(np.uint64), order, offsets, order.size + 1, 0, n_segments)
    return order


@compiled
def _add_pair(
    rows: Pulled, left: IntArray, right: IntArray, mass: FloatArray, share: float, pulls: FloatArray
) -> None:
    """Take off what passes between two segments, from the lowest scores to the highest."""
    i, j = 0, 0
    of_left, of_right = rows.weight[left[0]] / mass[0], rows.weight[right[0]] / mass[1]
    while True:
        piece, a, b = min(of_left, of_right), left[i], right[j]
        pull = share * piece * rows.slopes[a] * rows.slopes[b]
        pulls[rows.leaves[a], rows.leaves[b]] -= pull
        pulls[rows.leaves[b], rows.leaves[a]] -= pull
        of_left, of_right = of_left - piece, of_right - piece
        if of_left <= of_right:
            i += 1
            if i == left.size:
                return
            of_left = rows.weight[left[i]] / mass[0]
        else:
            j += 1
            if j == right.size:
                return
            of_right = rows.weight[right[j]] / mass[1]


@compiled
def _add_pulls(rows: Pulled, pulls: FloatArray) -> None:
    offsets = np.zeros(rows.n_levels * rows.n_groups + 1, np.int64)
    order = _in_order(rows, offsets)
    mass, both = np.empty(rows.n_groups), np.empty(2)
    for i in range(rows.leaves.size):
        pulls[rows.leaves[i], rows.leaves[i]] += rows.weight[i] * rows.slopes[i] ** 2
    for level in range(rows.n_levels):
        begin, whole = level * rows.n_groups, 0.0
        for g in range(rows.n_groups):
            mass[g] = 0.0
            for i in range(offsets[begin + g], offsets[begin + g + 1]):
                mass[g] += rows.weight[order[i]]
            whole += mass[g]
        for g in range(rows.n_groups):
            for h in range(g + 1, rows.n_groups):
                if mass[g] > 0.0 and mass[h] > 0.0:
                    both[0], both[1] = mass[g], mass[h]
                    share = mass[g] * mass[h] / max(whole - mass[g], whole - mass[h])
                    left = order[offsets[begin + g] : offsets[begin + g + 1]]
                    right = order[offsets[begin + h] : offsets[begin + h + 1]]
                    _add_pair(rows, left, right, both, share, pulls)


def leaf_coupling(rows: Pulled, n_leaves: int) -> FloatArray:
    """K (k, k) of the leaves: symmetric, and v·K v >= 0 for all v."""
    pulls = np.zeros((n_leaves, n_leaves))
    _add_pulls(rows, pulls)
    return pulls
