"""The omnibus test: whether any two of several groups differ among equals.

The labels of all groups are permuted within levels. For groups a and b with n_a and n_b rows in a
level, and sums S of gap, ranks or spread over their rows (`_rank_scores`),

    Σ_l (n_a S_b - n_b S_a) / (n_a + n_b)

is their gap, weighted as in the headline test, or the same of ranks and spread. With m rows (or
clusters) in a level, m_a and m_b of them in the two groups, its permutation variance is

    Σ_l σ² / (m - 1) [α² m_a (m - m_a) + β² m_b (m - m_b) + 2 α β m_a m_b],
    α = n_b / (n_a + n_b), β = n_a / (n_a + n_b), σ² the mean square of what is summed.

The largest |z| over all contrasts is one component for each of the three, combined as in the
headline test. Permuting all rows is right here, and only here: the hypothesis is that no group
differs from any other.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Contrast
from likeforlike.errors import InputError
from likeforlike.inference._headline import combine_evidence, permutation_p_value
from likeforlike.inference._random import (
    Progress,
    State,
    block_size,
    hypergeometric,
    start_stream,
    uniform,
)
from likeforlike.inference._rank_scores import (
    VARIANCE,
    Clusters,
    atoms_of_contrast,
    check_equal_weights,
    check_no_clusters,
    count_cells,
    score_levels,
    sort_clusters,
    unit_reach,
)
from likeforlike.inference._tails import two_tail_evidence
from likeforlike.transport import compiled, iterate_blocks, sort_rows

OmnibusComponent = Literal["gap", "ranks", "spread"]

_WEIGHTS: dict[OmnibusComponent, float] = {"gap": 1.0, "ranks": 1.0, "spread": 0.05}


@dataclass(frozen=True, slots=True)
class OmnibusTest:
    """Test of conditional parity between all groups at once.

    Attributes
    ----------
    p_value : exact; with B permutations a multiple of 1 / (B + 1).
    leading_component : "gap", "ranks" or "spread", whichever had the strongest evidence, or the gap
        where it alone gives the same p-value; `None` if permutations change nothing.
    groups : the two groups in which it was strongest.
    permutations : B.
    """

    p_value: float
    leading_component: OmnibusComponent | None
    groups: tuple[Hashable, Hashable] | None
    permutations: int


@dataclass(frozen=True)
class GroupScores:
    """Scores of all groups in each level: of atoms of rows, or of clusters.

    Attributes
    ----------
    scores : (3, m) floats: gap, ranks and spread of one row, or sums over a cluster.
    rows : (m,) integers, the number of such rows; 1 for a cluster.
    group : (m,) integers, the group as observed.
    offsets : (k + 1,) integers, where each level begins.
    sizes : (k, g) integers, rows of each group.
    exchangeable : (k, g) integers, rows or clusters of each group.
    squares : (k, 3) floats, mean squares of what is summed.
    """

    scores: FloatArray
    rows: IntArray
    group: IntArray
    offsets: IntArray
    sizes: IntArray
    exchangeable: IntArray
    squares: FloatArray

    @classmethod
    def from_contrast(cls, contrast: Contrast) -> GroupScores:
        """Score all groups of a contrast in the levels where at least two occur."""
        atoms = contrast.cells.rounded
        check_no_clusters(contrast)
        place, level, group = atoms_of_contrast(contrast)
        check_equal_weights(atoms.mass[place] / atoms.counts[place])
        values, _ = unit_reach(atoms.values[place])
        ordered = sort_rows(values, level, int(level[-1]) + 1)
        rows, group = atoms.counts[place][ordered.rows], group[ordered.rows]
        sizes = contrast.counts[contrast.support]
        scores, facts = score_levels(ordered.values, rows, ordered.offsets, _single_out(sizes))
        squares = facts[:, VARIANCE : VARIANCE + 3].copy()
        return cls(scores, rows, group, ordered.offsets, sizes, sizes, squares)

    @classmethod
    def from_clusters(cls, clusters: Clusters) -> GroupScores:
        """Score clusters by the sums over their rows."""
        values, _, offsets, cluster, groups, levels = sort_clusters(clusters)
        n_levels, n_groups = offsets.size - 1, int(groups.max()) + 1
        exchangeable = count_cells(levels, groups, n_levels, n_groups)
        met = (exchangeable > 0).sum(axis=1) >= 2
        if not met.all():
            raise InputError(
                f"clusters: level {int(np.argmin(met))} holds a single group; leave it out."
            )
        ones = np.ones(cluster.size, np.int64)
        scores, facts = score_levels(values, ones, offsets, _single_out(exchangeable), cluster)
        return cls(
            scores=np.stack([np.bincount(cluster, score) for score in scores]),
            rows=np.ones(groups.size, np.int64),
            group=groups,
            offsets=np.searchsorted(levels, np.arange(n_levels + 1)),
            sizes=count_cells(levels[cluster], groups[cluster], n_levels, n_groups),
            exchangeable=exchangeable,
            squares=facts[:, VARIANCE : VARIANCE + 3].copy(),
        )

    def pair_precision(self, pairs: IntArray) -> FloatArray:
        """Compute 1 / standard error of the statistics of each pair, 0 if constant; (p, 3)."""
        precision = np.zeros((len(pairs), 3))
        sizes, exchangeable = self.sizes.astype(np.float64), self.exchangeable.astype(np.float64)
        together = exchangeable.sum(axis=1)
        for p, (a, b) in enumerate(pairs.tolist()):
            met = np.flatnonzero((self.sizes[:, [a, b]] > 0).all(axis=1))
            m, m_a, m_b = together[met], exchangeable[met, a], exchangeable[met, b]
            beta = sizes[met, a] / (sizes[met, a] + sizes[met, b])
            alpha = 1.0 - beta
            spread = (
                alpha**2 * m_a * (m - m_a)
                + beta**2 * m_b * (m - m_b)
                + 2 * alpha * beta * m_a * m_b
            )
            variance = (spread / (m - 1.0)) @ self.squares[met]
            precision[p, variance > 0.0] = 1.0 / np.sqrt(variance[variance > 0.0])
        return precision

    def pair_statistics(self, pairs: IntArray, seed: int, first: int, last: int) -> FloatArray:
        """Compute the three statistics of pairs in replicates first, ..., last - 1; (b, p, 3)."""
        gaps = np.zeros((last - first, len(pairs), 3))
        labels = np.empty(int(np.diff(self.offsets).max()), np.int64)
        _fill_pair_statistics(
            self.scores,
            self.rows,
            self.group,
            self.offsets,
            self.sizes,
            self.exchangeable,
            pairs,
            seed,
            first,
            labels,
            gaps,
        )
        return gaps


def _single_out(exchangeable: IntArray) -> IntArray:
    """Return sizes of groups of which the second is a single row: its variance is σ²."""
    both = exchangeable.sum(axis=1)
    return np.stack([both - 1, np.ones_like(both)], axis=1)


@compiled
def _shuffle(state: State, counts: IntArray, labels: IntArray) -> None:
    """Fill in labels of groups with `counts` rows each, in random order."""
    size = 0
    for g in range(counts.size):
        for _ in range(counts[g]):
            labels[size] = g
            size += 1
    for i in range(size - 1):
        j = i + int(uniform(state) * (size - i))
        labels[i], labels[j] = labels[j], labels[i]


@compiled
def _add(sums: FloatArray, g: int, scores: FloatArray, i: int, rows: float) -> None:
    """Add the scores of some rows of an atom to the sums of a group."""
    for c in range(3):
        sums[g, c] += rows * scores[c, i]


@compiled
def _draw_multivariate_hypergeometric(
    state: State, rows: int, left: IntArray, scores: FloatArray, i: int, sums: FloatArray
) -> None:
    """Assign the rows of one atom to groups that still take rows."""
    rest = 0
    for g in range(left.size):
        rest += left[g]
    for g in range(left.size):
        if rows > 0 and left[g] > 0:
            drawn = hypergeometric(state, left[g], rest - left[g], rows)
            rest -= left[g]
            left[g] -= drawn
            rows -= drawn
            _add(sums, g, scores, i, float(drawn))


@compiled
def _sum_groups(
    state: State,
    observed: bool,
    scores: FloatArray,
    rows: IntArray,
    group: IntArray,
    begin: int,
    end: int,
    counts: IntArray,
    labels: IntArray,
    sums: FloatArray,
) -> None:
    """Sum the scores of each group in a level, of labels as observed or permuted."""
    size = 0
    for g in range(counts.size):
        size += counts[g]
        for c in range(3):
            sums[g, c] = 0.0
    if observed:
        for i in range(begin, end):
            _add(sums, group[i], scores, i, float(rows[i]))
    elif size == end - begin:
        _shuffle(state, counts, labels)
        for i in range(begin, end):
            _add(sums, labels[i - begin], scores, i, 1.0)
    else:
        left = counts.copy()
        for i in range(begin, end):
            _draw_multivariate_hypergeometric(state, rows[i], left, scores, i, sums)


@compiled
def _fill_pair_statistics(
    scores: FloatArray,
    rows: IntArray,
    group: IntArray,
    offsets: IntArray,
    sizes: IntArray,
    exchangeable: IntArray,
    pairs: IntArray,
    seed: int,
    first: int,
    labels: IntArray,
    gaps: FloatArray,
) -> None:
    """Add statistics (b, p, 3) of pairs in replicates from `first` on; 0 is the observed."""
    sums = np.empty((sizes.shape[1], 3))
    for replicate in range(gaps.shape[0]):
        state = start_stream(seed, first + replicate)
        for k in range(offsets.size - 1):
            _sum_groups(
                state,
                first + replicate == 0,
                scores,
                rows,
                group,
                offsets[k],
                offsets[k + 1],
                exchangeable[k],
                labels,
                sums,
            )
            for p in range(pairs.shape[0]):
                a, b = pairs[p, 0], pairs[p, 1]
                n_a, n_b = float(sizes[k, a]), float(sizes[k, b])
                if n_a > 0.0 and n_b > 0.0:
                    for c in range(3):
                        gap = (n_a * sums[b, c] - n_b * sums[a, c]) / (n_a + n_b)
                        gaps[replicate, p, c] += gap


def omnibus_test(
    compared: Contrast | Clusters,
    *,
    permutations: int = 999,
    random_state: int = 0,
    progress: Progress | None = None,
) -> OmnibusTest:
    """Test whether any two of several groups differ, by permuting all labels within levels.

    Parameters
    ----------
    compared : all groups, as `contrasts(cells, "barycenter")` has them, of rows or counts without
        weights; or clusters of rows.
    permutations : B.
    random_state : the same seed gives the same result on any number of threads.
    progress : called with the number of permutations done.

    References
    ----------
    Pesarin and Salmaso (2010), *Permutation Tests for Complex Data*, chapter 4.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import omnibus_test
    >>> cells = Cells.from_rows(np.tile(np.arange(50.0), 3), np.repeat(["a", "b", "c"], 50))
    >>> omnibus_test(contrasts(cells, "barycenter")[0]).p_value
    1.0
    """
    if permutations < 1:
        raise InputError(f"permutations must be at least 1, not {permutations}.")
    if isinstance(compared, Contrast):
        scored, names = GroupScores.from_contrast(compared), compared.groups
    else:
        scored = GroupScores.from_clusters(compared)
        names = tuple(range(scored.sizes.shape[1]))
    pairs = np.array(list(combinations(range(len(names)), 2)))
    precision = scored.pair_precision(pairs)

    def standardize(first: int, last: int) -> FloatArray:
        return np.abs(scored.pair_statistics(pairs, random_state, first, last)) * precision

    observed = standardize(0, 1)
    blocks = iterate_blocks(
        lambda first, last: standardize(first + 1, last + 1).max(axis=1),
        permutations,
        block_size(scored.rows.size),
        progress,
    )
    largest = np.concatenate([observed.max(axis=1), *blocks]).T
    evidence = {name: two_tail_evidence(z) for name, z in zip(_WEIGHTS, largest, strict=True)}
    combined, _, leading_component, _ = combine_evidence(evidence, _WEIGHTS)
    groups = None
    if leading_component is not None:
        component = list(_WEIGHTS).index(leading_component)
        a, b = pairs[int(np.argmax(observed[0, :, component]))].tolist()
        groups = (names[a], names[b])
    return OmnibusTest(permutation_p_value(combined), leading_component, groups, permutations)
