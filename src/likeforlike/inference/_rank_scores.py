"""Levels ready for permuted labels: every row as three numbers that add up.

Three of the test's statistics are sums over the rows of the second group. With the n rows of a
level together, a row of score x and centered mid-rank r (ties share their mean rank) has

    gap     x - mean                                              its sum is n_0 n_1 / n times the
                                                                  gap of the means,
    ranks   r / (n + 1)                                           van Elteren's statistic,
    spread  (mean of r² over the tie - (n² - 1) / 12) / (n + 1)²  Mood's, level by level.

Each sums to 0 over a level, so its permutation mean is 0, and its permutation variance is known:

    n_0 n_1 / (n (n - 1)) Σ number²,

with clusters in the place of rows, and their sums in the place of numbers, where the rows of a
cluster take their group together. Scores are scaled to unit reach first: no unit of measurement
makes a square vanish or overflow.

References: van Elteren (1960), *On the combination of independent two-sample tests of Wilcoxon*;
Mood (1954), *On the asymptotic efficiency of certain nonparametric two-sample tests*; Mielke
(1967), *Note on some squared rank tests with existing ties*.

Pools: the scores of both groups of every level together, ready for new labels.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray, plain
from likeforlike.disparity import Contrast
from likeforlike.errors import InputError
from likeforlike.inference._tails import two_sided_bound
from likeforlike.transport import Atoms, compiled, sort_rows


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


# Columns of the facts about a level: permutation variances of the three sums, 1 / their standard
# errors (0 if they do not vary), the largest |z| that counts, the logarithm of how many ways there
# are to deal the labels, and the mean score.
VARIANCE, PRECISION, BOUND, ARRANGEMENTS, MEAN = 0, 3, 6, 7, 8
_FACTS = 9
# Weights of rows that differ by less than this, relatively, are equal.
_SAME_WEIGHT = 1e-9
# Spread scores below this are rounding: (n/2)² - n²/4 with n² beyond the whole numbers of a float.
_ROUNDING = 1e-13
_NONE = np.empty(0, np.int64)
_APART = "no level holds two of the groups {}; use coarser legitimate_features (--legitimate)."


class Clusters(NamedTuple):
    """Rows of which some belong together, like those of a person, and take their group together.

    Attributes
    ----------
    values : (n,) floats, the scores, level after level and in any order inside one.
    offsets : (k + 1,) integers, where the rows of each level begin.
    cluster : (n,) integers, the cluster of each row; all its rows are in one level.
    groups : (c,) integers from 0, the group of each cluster. For the headline test there are two,
        0 and 1, and every level holds both.

    Examples
    --------
    Two people of each group, with two rows each:

    >>> import numpy as np
    >>> from likeforlike.inference._rank_scores import Clusters
    >>> people = Clusters(
    ...     values=np.array([0.1, 0.2, 0.5, 0.7, 0.3, 0.3, 0.4, 0.9]),
    ...     offsets=np.array([0, 8]),
    ...     cluster=np.repeat(np.arange(4), 2),
    ...     groups=np.array([0, 1, 0, 1]),
    ... )
    >>> people.groups[people.cluster]
    array([0, 0, 1, 1, 0, 0, 1, 1])
    """

    values: FloatArray
    offsets: IntArray
    cluster: IntArray
    groups: IntArray

    @classmethod
    def of(cls, contrast: Contrast, cluster: IntArray) -> Clusters:
        """The groups of a contrast in the levels where they meet.

        Parameters
        ----------
        contrast : groups in cells whose atoms are single rows without weights.
        cluster : (m,) integers, the cluster of every atom of the cells.

        Examples
        --------
        >>> import numpy as np
        >>> from likeforlike import Cells
        >>> from likeforlike.disparity import contrasts
        >>> from likeforlike.inference._rank_scores import Clusters
        >>> cells = Cells.from_rows([0.1, 0.2, 0.5, 0.7, 0.9], list("ffmmm"))
        >>> Clusters.of(contrasts(cells, "pairwise")[0], np.array([3, 3, 8, 8, 5])).groups
        array([0, 1, 1])
        """
        atoms = contrast.cells.atoms
        place, level, group = atoms_of_contrast(contrast)
        refuse_weights(atoms.mass[place] / atoms.counts[place])
        if (atoms.counts[place] > 1).any():
            raise InputError("clusters need rows, but some scores are counts of several rows.")
        names, number = np.unique(cluster[place], return_inverse=True)
        groups = np.empty(names.size, np.int64)
        groups[number] = group
        if (groups[number] != group).any():
            astray = names[number[np.argmax(groups[number] != group)]]
            raise InputError(
                f"clusters: cluster {int(astray)} has rows of several groups, so it has no label "
                "to permute; use a test that is made for such clusters."
            )
        offsets = np.searchsorted(level, np.arange(int(level[-1]) + 2))
        return cls(atoms.values[place], offsets, number.astype(np.int64), groups)


def atoms_of_contrast(contrast: Contrast) -> tuple[IntArray, IntArray, IntArray]:
    """Atoms of the groups compared, level after level: which they are, their level and group.

    Levels are those where at least two of the groups occur.
    """
    segments = contrast.segments()
    if segments.size == 0:
        raise InputError(_APART.format(list(contrast.groups)))
    n_levels, n_groups = segments.shape
    begins = contrast.cells.atoms.offsets[segments.ravel()]
    lengths = contrast.cells.atoms.offsets[segments.ravel() + 1] - begins
    ends = np.cumsum(lengths)
    place = np.arange(ends[-1]) + np.repeat(begins - ends + lengths, lengths)
    level = np.repeat(np.repeat(np.arange(n_levels), n_groups), lengths)
    return place, level, np.repeat(np.tile(np.arange(n_groups), n_levels), lengths)


class ScoredLevels(NamedTuple):
    """Both groups of every level together, in order of score, with what is summed over a group.

    Attributes
    ----------
    scores : (3, m) floats: gap, ranks and spread of one row of each atom.
    rows : (m,) integers, rows of an atom.
    second : (m,) integers, how many of them are of the second group, as observed.
    offsets : (k + 1,) integers, where the atoms of each level begin.
    sizes : (k, 2) integers, rows of either group.
    exchangeable : (k, 2) integers, rows or clusters of either group: what is permuted.
    cluster : (m,) integers, the cluster of each atom; empty where every row is by itself.
    cluster_offsets : (k + 1,) integers, where the clusters of each level begin.
    facts : (k, 9) floats; for the columns see the head of this file.
    reach : the largest difference of two scores, before scaling.
    two_valued : whether there are only two different scores, like decisions.
    """

    scores: FloatArray
    rows: IntArray
    second: IntArray
    offsets: IntArray
    sizes: IntArray
    exchangeable: IntArray
    cluster: IntArray
    cluster_offsets: IntArray
    facts: FloatArray
    reach: float
    two_valued: bool


def unit_reach(values: FloatArray, out: FloatArray | None = None) -> tuple[FloatArray, float]:
    """Scores moved and scaled to [0, 1], and their reach; all 0 if they are equal.

    They are written to `out`, which may be the values themselves.
    """
    low, high = float(values.min()), float(values.max())
    scaled = np.empty(values.size) if out is None else out
    if low == high:
        scaled.fill(0.0)
        return scaled, 0.0
    half = 1.0 if math.isfinite(high - low) else 0.5
    # The halves of the largest floats can be subtracted; the reach is as large as a float can be.
    np.multiply(values, half, out=scaled)
    scaled -= half * low
    scaled /= half * high - half * low
    return scaled, high - low if half == 1.0 else sys.float_info.max


def _two_valued(values: FloatArray) -> bool:
    """Whether scores of unit reach are 0 and 1 only."""
    return bool(((values == 0.0) | (values == 1.0)).all())


@compiled
def _score_level(rows: IntArray, begin: int, end: int, scores: FloatArray) -> float:
    """Gap, ranks and spread of the atoms begin, ..., end - 1, one level in order; its mean.

    The gap takes the place of the values.
    """
    values = scores[0]
    low = values[begin]
    size, moment = 0.0, 0.0
    for i in range(begin, end):
        size += rows[i]
        moment += rows[i] * (values[i] - low)
    # Distances from the lowest score: where all are equal the mean is theirs exactly.
    mean = moment / size
    before = 0.0
    i = begin
    while i < end:
        tied = 0.0
        after = i
        while after < end and values[after] == values[i]:
            tied += rows[after]
            after += 1
        rank = before + 0.5 * (tied - size)
        square = rank * rank + (tied * tied - size * size) / 12.0
        if abs(square) <= _ROUNDING * size * size:
            square = 0.0
        for j in range(i, after):
            scores[0, j] = values[j] - low - mean
            scores[1, j] = rank / (size + 1.0)
            scores[2, j] = square / ((size + 1.0) * (size + 1.0))
        before += tied
        i = after
    return float(low + mean)


@compiled
def _sum_of_squares(
    score: FloatArray, rows: IntArray, cluster: IntArray, begin: int, end: int, sums: FloatArray
) -> float:
    """Σ score² over rows, or over clusters of their sums; `sums` are 0 before and after."""
    total = 0.0
    if cluster.size == 0:
        for i in range(begin, end):
            total += rows[i] * score[i] * score[i]
        return total
    for i in range(begin, end):
        sums[cluster[i]] += score[i]
    for i in range(begin, end):
        total += sums[cluster[i]] * sums[cluster[i]]
        sums[cluster[i]] = 0.0
    return total


@compiled
def _score_levels(
    rows: IntArray,
    offsets: IntArray,
    exchangeable: IntArray,
    cluster: IntArray,
    sums: FloatArray,
    scores: FloatArray,
    facts: FloatArray,
) -> None:
    for k in range(offsets.size - 1):
        begin, end = offsets[k], offsets[k + 1]
        facts[k, MEAN] = _score_level(rows, begin, end, scores)
        first, second = float(exchangeable[k, 0]), float(exchangeable[k, 1])
        both = first + second
        for c in range(3):
            squares = _sum_of_squares(scores[c], rows, cluster, begin, end, sums)
            variance = first / both * second / (both - 1.0) * squares
            facts[k, VARIANCE + c] = variance
            facts[k, PRECISION + c] = 1.0 / math.sqrt(variance) if variance > 0.0 else 0.0
        ways = math.lgamma(both + 1.0) - math.lgamma(first + 1.0) - math.lgamma(second + 1.0)
        facts[k, BOUND] = two_sided_bound(ways)
        facts[k, ARRANGEMENTS] = ways


def score_levels(
    values: FloatArray,
    rows: IntArray,
    offsets: IntArray,
    exchangeable: IntArray,
    cluster: IntArray = _NONE,
) -> tuple[FloatArray, FloatArray]:
    """Scores (3, m) and facts (k, 9) of levels whose atoms are in order of value."""
    scores = np.empty((3, values.size))
    scores[0] = values
    return scores, _fill_scores(scores, rows, offsets, exchangeable, cluster)


def _fill_scores(
    scores: FloatArray,
    rows: IntArray,
    offsets: IntArray,
    exchangeable: IntArray,
    cluster: IntArray = _NONE,
) -> FloatArray:
    """Turn values, the first line of (3, m), into scores; the facts (k, 9)."""
    facts = np.empty((offsets.size - 1, _FACTS))
    sums = np.zeros(int(cluster.max()) + 1 if cluster.size else 0)
    _score_levels(rows, offsets, exchangeable, cluster, sums, scores, facts)
    return facts


def refuse_weights(weight: FloatArray) -> None:
    """Raise unless all rows weigh the same."""
    if np.ptp(weight) > _SAME_WEIGHT * weight.max():
        raise InputError(
            "weighted rows are not exchangeable, so their labels cannot be permuted; "
            "leave the weights out or use a test that is made for them."
        )


def refuse_clusters(contrast: Contrast) -> None:
    """Raise unless every row is by itself."""
    if contrast.cells.cluster is not None:
        raise InputError(
            "contrast has clusters, whose rows are not exchangeable one by one: give `Clusters` or "
            "let `audit(..., cluster=...)` choose the test."
        )


def score_contrast(contrast: Contrast) -> ScoredLevels:
    """The two groups of a contrast in the levels where both occur; every row is by itself."""
    if len(contrast.positions) != 2:
        raise InputError(f"contrast compares {len(contrast.positions)} groups; the test needs two.")
    if not contrast.support.any():
        raise InputError(_APART.format(list(contrast.groups)))
    refuse_clusters(contrast)
    pool = pool_levels(contrast.cells.rounded, contrast.segments())
    refuse_weights(pool.weights)
    values, reach = unit_reach(pool.scores[0], out=pool.scores[0])
    two_valued = _two_valued(values)
    both, second = (np.add.reduceat(rows, pool.offsets[:-1]) for rows in (pool.rows, pool.second))
    sizes = np.stack([both - second, second], axis=1)
    facts = _fill_scores(pool.scores, pool.rows, pool.offsets, sizes)
    return ScoredLevels(
        scores=pool.scores,
        rows=pool.rows,
        second=pool.second,
        offsets=pool.offsets,
        sizes=sizes,
        exchangeable=sizes,
        cluster=_NONE,
        cluster_offsets=np.zeros(pool.offsets.size, np.int64),
        facts=facts,
        reach=reach,
        two_valued=two_valued,
    )


class ClusteredRows(NamedTuple):
    """Rows in order of (level, score), and their clusters in order of the level.

    Attributes
    ----------
    values : (n,) floats, scores of unit reach.
    reach : their reach before.
    offsets : (k + 1,) integers, where the rows of each level begin.
    cluster : (n,) integers, the cluster of each row.
    groups, levels : (c,) integers, group and level of each cluster.
    """

    values: FloatArray
    reach: float
    offsets: IntArray
    cluster: IntArray
    groups: IntArray
    levels: IntArray


def order_clusters(clusters: Clusters) -> ClusteredRows:
    """Sort the rows of every level, and number clusters level after level."""
    n_levels = clusters.offsets.size - 1
    level = np.repeat(np.arange(n_levels), np.diff(clusters.offsets))
    level_of = np.full(clusters.groups.size, -1)
    level_of[clusters.cluster] = level
    if (level_of < 0).any():
        raise InputError(f"clusters: cluster {int(np.argmin(level_of))} has no rows.")
    astray = level_of[clusters.cluster] != level
    if astray.any():
        raise InputError(
            f"clusters: cluster {int(clusters.cluster[np.argmax(astray)])} has rows in several "
            "levels, so its label cannot be permuted inside one; use a test that is made for "
            "clusters across levels."
        )
    order = np.argsort(level_of, kind="stable")
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    values, reach = unit_reach(clusters.values)
    ordered = sort_rows(values, level, n_levels)
    return ClusteredRows(
        values=ordered.values,
        reach=reach,
        offsets=ordered.offsets,
        cluster=number[clusters.cluster[ordered.rows]],
        groups=clusters.groups[order].astype(np.int64),
        levels=level_of[order],
    )


def count_by(levels: IntArray, groups: IntArray, n_levels: int, n_groups: int) -> IntArray:
    """How many things there are of each level and group, shape (k, g)."""
    cells = np.bincount(n_groups * levels + groups, minlength=n_levels * n_groups)
    return cells.astype(np.int64).reshape(n_levels, n_groups)


def score_clusters(clusters: Clusters) -> ScoredLevels:
    """Rows that take their group in clusters; every row stays an atom of its own."""
    if not np.isin(clusters.groups, (0, 1)).all():
        raise InputError("clusters: groups must be 0 or 1.")
    ordered = order_clusters(clusters)
    n_levels = ordered.offsets.size - 1
    second = ordered.groups[ordered.cluster]
    exchangeable = count_by(ordered.levels, ordered.groups, n_levels, 2)
    if not exchangeable.all():
        lacking = int(np.argmin(exchangeable.all(axis=1)))
        raise InputError(f"clusters: level {lacking} lacks a group; leave it out.")
    rows = np.ones(second.size, np.int64)
    scores, facts = score_levels(
        ordered.values, rows, ordered.offsets, exchangeable, ordered.cluster
    )
    return ScoredLevels(
        scores=scores,
        rows=rows,
        second=second,
        offsets=ordered.offsets,
        sizes=count_by(ordered.levels[ordered.cluster], second, n_levels, 2),
        exchangeable=exchangeable,
        cluster=ordered.cluster,
        cluster_offsets=np.searchsorted(ordered.levels, np.arange(n_levels + 1)),
        facts=facts,
        reach=ordered.reach,
        two_valued=_two_valued(ordered.values),
    )
