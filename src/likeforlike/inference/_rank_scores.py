"""Scores of each row in its level: three numbers whose sums over a group are tested.

With the n rows of a level together, a row of score x and centered mid-rank r (ties share their mean
rank) has

    gap     x - mean                                              its sum is n_0 n_1 / n times the
                                                                  gap of the means,
    ranks   r / (n + 1)                                           van Elteren's statistic,
    spread  (mean of r² over the tie - (n² - 1) / 12) / (n + 1)²  Mood's, level by level.

Each sums to 0 over a level, so its permutation mean is 0, and its permutation variance is

    n_0 n_1 / (n (n - 1)) Σ number²,

with clusters in the place of rows, and their sums in the place of numbers, where the rows of a
cluster take their group together. Scores are scaled to unit reach first, so that squares neither
vanish nor overflow.

References: van Elteren (1960), *On the combination of independent two-sample tests of Wilcoxon*;
Mood (1954), *On the asymptotic efficiency of certain nonparametric two-sample tests*; Mielke
(1967), *Note on some squared rank tests with existing ties*.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray, plain
from likeforlike.disparity import Contrast
from likeforlike.errors import InputError
from likeforlike.inference._tails import invert_two_tail_evidence
from likeforlike.transport import compiled, sort_rows


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


# Columns of the facts about a level: permutation variances of the three sums, 1 / their standard
# errors (0 if they do not vary), the largest |z| that counts, the logarithm of the number of
# permutations of the labels, and the mean score.
VARIANCE, PRECISION, MAX_Z, LOG_PERMUTATIONS, MEAN = 0, 3, 6, 7, 8
_FACTS = 9
# Weights of rows that differ by less than this, relatively, are equal.
_SAME_WEIGHT = 1e-9
# Spread scores below this are rounding: (n/2)² - n²/4 with n² beyond the whole numbers of a float.
_ROUNDING = 1e-13
_NONE = np.empty(0, np.int64)
# Rows per block when sums over all rows are taken, and kurtosis beyond that of normal scores.
_BLOCK_ROWS = 1 << 16
_EXCESS_KURTOSIS = 2.0
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
    """

    values: FloatArray
    offsets: IntArray
    cluster: IntArray
    groups: IntArray

    @classmethod
    def from_contrast(cls, contrast: Contrast, cluster: IntArray) -> Clusters:
        """Take the groups of a contrast in the levels where they meet.

        Parameters
        ----------
        contrast : groups in cells whose atoms are single rows without weights.
        cluster : (m,) integers, the cluster of each atom of the cells.
        """
        atoms = contrast.cells.atoms
        place, level, group = atoms_of_contrast(contrast)
        check_equal_weights(atoms.mass[place] / atoms.counts[place])
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
    """List the atoms of the groups compared, level after level: place, level and group of each.

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


@dataclass(frozen=True)
class RankScores:
    """Both groups of each level together, in order of score, with what is summed over a group.

    Attributes
    ----------
    scores : (3, m) floats: gap, ranks and spread of one row of each atom.
    rows : (m,) integers, rows of an atom.
    second : (m,) integers, those of the second group, as observed.
    offsets : (k + 1,) integers, where the atoms of each level begin.
    sizes : (k, 2) integers, rows of either group.
    exchangeable : (k, 2) integers, rows or clusters of either group: the units that are permuted.
    cluster : (m,) integers, the cluster of each atom; empty where every row is by itself.
    cluster_offsets : (k + 1,) integers, where the clusters of each level begin.
    facts : (k, 9) floats; for the columns see the head of this file.
    reach : the largest difference of two scores, before scaling.
    binary : whether there are only two different scores, like decisions.
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
    binary: bool

    @property
    def variances(self) -> FloatArray:
        """Permutation variances of the three sums over all levels. Shape (3,)."""
        variances: FloatArray = self.facts[:, VARIANCE : VARIANCE + 3].sum(axis=0)
        return variances

    @property
    def log_permutations(self) -> float:
        """Logarithm of the number of permutations of the labels."""
        return float(self.facts[:, LOG_PERMUTATIONS].sum())

    def mean_power(self, power: int, unit: float = 1.0) -> float:
        """Average (gap² / unit)^(power / 2) over all rows, for powers of 2 and 4.

        Sums by block and not products: threads of BLAS would compete for them.
        """
        total = 0.0
        for begin in range(0, self.rows.size, _BLOCK_ROWS):
            part = slice(begin, begin + _BLOCK_ROWS)
            square = self.scores[0, part] ** 2
            figure = square if power == 2 else (square / unit) ** 2
            total += float((self.rows[part] * figure).sum())
        return total / float(self.rows.sum())

    @property
    def has_long_tails(self) -> bool:
        """Whether scores around the means of levels have far more kurtosis than normal ones."""
        second = 0.0 if self.binary else self.mean_power(2)
        return second > 0.0 and self.mean_power(4, second) > 3.0 + _EXCESS_KURTOSIS


def unit_reach(values: FloatArray, out: FloatArray | None = None) -> tuple[FloatArray, float]:
    """Move and scale scores to [0, 1], 0 if equal; return them and their reach.

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


def _is_binary(values: FloatArray) -> bool:
    """Return whether scores of unit reach are 0 and 1 only."""
    return bool(((values == 0.0) | (values == 1.0)).all())


@compiled
def _score_level(rows: IntArray, begin: int, end: int, scores: FloatArray) -> float:
    """Turn values of one level into gap, ranks and spread; return its mean."""
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
    """Sum score² over rows, or over clusters of their sums; `sums` are 0 before and after."""
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
    """Turn values of all levels into scores, and fill in the facts."""
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
        facts[k, MAX_Z] = invert_two_tail_evidence(ways)
        facts[k, LOG_PERMUTATIONS] = ways


def score_levels(
    values: FloatArray,
    rows: IntArray,
    offsets: IntArray,
    exchangeable: IntArray,
    cluster: IntArray = _NONE,
    *,
    scores: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Compute scores (3, m) and facts (k, 9) of levels whose atoms are in order of value.

    `scores` may be given with the values in its first line, which are replaced.
    """
    if scores is None:
        scores = np.empty((3, values.size))
        scores[0] = values
    facts = np.empty((offsets.size - 1, _FACTS))
    sums = np.zeros(int(cluster.max()) + 1 if cluster.size else 0)
    _score_levels(rows, offsets, exchangeable, cluster, sums, scores, facts)
    return scores, facts


def check_equal_weights(weight: FloatArray) -> None:
    """Raise unless all rows weigh the same."""
    if np.ptp(weight) > _SAME_WEIGHT * weight.max():
        raise InputError(
            "weighted rows are not exchangeable, so their labels cannot be permuted; "
            "leave the weights out or use a test that is made for them."
        )


def check_no_clusters(contrast: Contrast) -> None:
    """Raise unless every row is by itself."""
    if contrast.cells.cluster is not None:
        raise InputError(
            "contrast has clusters, whose rows are not exchangeable one by one: give `Clusters` or "
            "let `audit(..., cluster=...)` choose the test."
        )


def score_contrast(contrast: Contrast) -> RankScores:
    """Score two groups in the levels where both occur; every row is a unit."""
    if len(contrast.positions) != 2:
        raise InputError(f"contrast compares {len(contrast.positions)} groups; the test needs two.")
    if not contrast.support.any():
        raise InputError(_APART.format(list(contrast.groups)))
    check_no_clusters(contrast)
    atoms, pairs = contrast.cells.rounded, contrast.segments()
    size = int(np.diff(atoms.offsets)[pairs].sum())
    scores, rows, second = np.empty((3, size)), np.zeros(size, np.int64), np.zeros(size, np.int64)
    weights, offsets = np.array([np.inf, -np.inf]), np.zeros(len(pairs) + 1, np.int64)
    counts, mass = plain(atoms.counts), plain(atoms.mass)
    _pool_levels(
        atoms.values, counts, mass, atoms.offsets, pairs, scores[0], rows, second, weights, offsets
    )
    del counts, mass
    kept = int(offsets[-1])
    if kept < size:
        values, scores = scores[0, :kept], np.empty((3, kept))
        scores[0] = values
    check_equal_weights(weights)
    rows, second = rows[:kept], second[:kept]
    values, reach = unit_reach(scores[0], out=scores[0])
    binary = _is_binary(values)
    both, seconds = (np.add.reduceat(each, offsets[:-1]) for each in (rows, second))
    sizes = np.stack([both - seconds, seconds], axis=1)
    scores, facts = score_levels(values, rows, offsets, sizes, scores=scores)
    return RankScores(
        scores=scores,
        rows=rows,
        second=second,
        offsets=offsets,
        sizes=sizes,
        exchangeable=sizes,
        cluster=_NONE,
        cluster_offsets=np.zeros(offsets.size, np.int64),
        facts=facts,
        reach=reach,
        binary=binary,
    )


def sort_clusters(
    clusters: Clusters,
) -> tuple[FloatArray, float, IntArray, IntArray, IntArray, IntArray]:
    """Sort rows by (level, score), and number clusters level after level.

    Returns
    -------
    values, reach : (n,) floats, scores of unit reach, and their reach before.
    offsets : (k + 1,) integers, where the rows of each level begin.
    cluster : (n,) integers, the cluster of each row.
    groups, levels : (c,) integers, group and level of each cluster.
    """
    n_levels = clusters.offsets.size - 1
    level = np.repeat(np.arange(n_levels), np.diff(clusters.offsets))
    cluster_level = np.full(clusters.groups.size, -1)
    cluster_level[clusters.cluster] = level
    if (cluster_level < 0).any():
        raise InputError(f"clusters: cluster {int(np.argmin(cluster_level))} has no rows.")
    astray = cluster_level[clusters.cluster] != level
    if astray.any():
        raise InputError(
            f"clusters: cluster {int(clusters.cluster[np.argmax(astray)])} has rows in several "
            "levels, so its label cannot be permuted inside one; use a test that is made for "
            "clusters across levels."
        )
    order = np.argsort(cluster_level, kind="stable")
    number = np.empty(order.size, np.int64)
    number[order] = np.arange(order.size)
    values, reach = unit_reach(clusters.values)
    ordered = sort_rows(values, level, n_levels)
    cluster = number[clusters.cluster[ordered.rows]]
    groups = clusters.groups[order].astype(np.int64)
    return ordered.values, reach, ordered.offsets, cluster, groups, cluster_level[order]


def count_cells(levels: IntArray, groups: IntArray, n_levels: int, n_groups: int) -> IntArray:
    """Count the units of each level and group, shape (k, g)."""
    cells = np.bincount(n_groups * levels + groups, minlength=n_levels * n_groups)
    return cells.astype(np.int64).reshape(n_levels, n_groups)


def score_clusters(clusters: Clusters) -> RankScores:
    """Score rows that take their group in clusters; every row stays an atom of its own."""
    if not np.isin(clusters.groups, (0, 1)).all():
        raise InputError("clusters: groups must be 0 or 1.")
    values, reach, offsets, cluster, groups, levels = sort_clusters(clusters)
    n_levels, second = offsets.size - 1, groups[cluster]
    exchangeable = count_cells(levels, groups, n_levels, 2)
    if not exchangeable.all():
        lacking = int(np.argmin(exchangeable.all(axis=1)))
        raise InputError(f"clusters: level {lacking} lacks a group; leave it out.")
    rows = np.ones(second.size, np.int64)
    scores, facts = score_levels(values, rows, offsets, exchangeable, cluster)
    return RankScores(
        scores=scores,
        rows=rows,
        second=second,
        offsets=offsets,
        sizes=count_cells(levels[cluster], second, n_levels, 2),
        exchangeable=exchangeable,
        cluster=cluster,
        cluster_offsets=np.searchsorted(levels, np.arange(n_levels + 1)),
        facts=facts,
        reach=reach,
        binary=_is_binary(values),
    )
