"""The five statistics of a replicate, against their definitions and other people's code."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import StratifiedTable

from likeforlike import Cells
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Contrast, contrasts
from likeforlike.errors import InputError
from likeforlike.inference import _permutation
from likeforlike.inference._permutation import (
    COST,
    GAP,
    LARGEST,
    MEAN_GAP,
    RANKS,
    SPREAD,
    permutation_replicates,
    replicate_statistics,
)
from likeforlike.inference._rank_scores import (
    LOG_PERMUTATIONS,
    MEAN,
    VARIANCE,
    Clusters,
    RankScores,
    score_clusters,
    score_contrast,
)
from tests.support.oracles import transport_cost

KINDS = ("continuous", "ratings", "decisions", "zeros", "unequal", "pairs", "singles")


def contrast_of(*columns: Any, **settings: Any) -> Contrast:
    return contrasts(Cells.from_rows(*columns, **settings), "pairwise")[0]


def drawn(kind: str, seed: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Scores in [0, 1], the lowest 0 and the highest 1, so that scaling leaves them alone."""
    rng = np.random.default_rng(seed)
    n = 60
    groups, levels = rng.integers(0, 2, n), rng.integers(0, 4, n)
    if kind == "pairs":
        groups, levels = np.arange(n) % 2, np.arange(n) // 2
    elif kind == "singles":
        groups, levels = (np.arange(n) % 12 == 0).astype(int), np.arange(n) // 12
    elif kind == "unequal":
        groups = (rng.random(n) < 0.2).astype(int)
    scores = rng.random(n)
    if kind == "ratings":
        scores = np.round(scores * 4) / 4
    elif kind == "decisions":
        scores = (scores > 0.6).astype(float)
    elif kind == "zeros":
        scores = np.where(scores < 0.4, 0.0, scores)
    scores = (scores - scores.min()) / (scores.max() - scores.min())
    met = [k for k in np.unique(levels) if np.unique(groups[levels == k]).size == 2]
    kept = np.isin(levels, met)
    return scores[kept], groups[kept], levels[kept]


def slow_statistics(
    scores: FloatArray, groups: IntArray, levels: IntArray, measure: FloatArray
) -> FloatArray:
    """Sums of gap, ranks and spread, Σ Q W_2², Σ Q W_1, Σ Q gap: level by level, by definition."""
    total = np.zeros(6)
    for k, level in enumerate(np.unique(levels)):
        x, y = (scores[(levels == level) & (groups == g)] for g in (0, 1))
        n = x.size + y.size
        gap = y.mean() - x.mean()
        rank = stats.rankdata(np.concatenate([x, y]))[x.size :]
        # Mood's scores of an order without ties, averaged over the places that a tie takes.
        both = np.sort(np.concatenate([x, y]))
        mood = (np.arange(1, n + 1) - (n + 1) / 2) ** 2
        of_score = {score: mood[both == score].mean() for score in both}
        equal = np.ones(x.size), np.ones(y.size)
        total += [
            x.size * y.size / n * gap,
            (rank.sum() - y.size * (n + 1) / 2) / (n + 1),
            (sum(of_score[s] for s in y) - y.size * (n**2 - 1) / 12) / (n + 1) ** 2,
            measure[k] * transport_cost(x, equal[0], y, equal[1], 2.0),
            measure[k] * transport_cost(x, equal[0], y, equal[1], 1.0),
            measure[k] * gap,
        ]
    return total


def some_measure(n_levels: int) -> FloatArray:
    uneven = 1.0 + np.arange(n_levels) % 3
    measure: FloatArray = uneven / uneven.sum()
    return measure


class Replicates(NamedTuple):
    """What `permutation_replicates` returns, with names."""

    totals: FloatArray
    level_statistic: FloatArray
    exceedances: IntArray
    stepdown_exceedances: IntArray
    null_distance: FloatArray


def permuted(levels: RankScores, permutations: int = 1, seed: int = 0) -> Replicates:
    measure = some_measure(levels.sizes.shape[0])
    return Replicates(
        *permutation_replicates(levels, measure, permutations=permutations, seed=seed)
    )


def rows_as_clusters(scores: FloatArray, groups: IntArray, levels: IntArray) -> Clusters:
    """Every row a cluster: the same data on the path of single rows, ties or no ties."""
    order = np.argsort(levels, kind="stable")
    sizes = np.unique(levels, return_counts=True)[1]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return Clusters(scores[order], offsets, np.arange(scores.size), groups[order])


# Statistics as observed ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_statistics_are_those_of_their_definitions(kind: str, seed: int) -> None:
    columns = drawn(kind, seed)
    measure = some_measure(np.unique(columns[2]).size)
    expected = slow_statistics(*columns, measure)
    for levels in (
        score_contrast(contrast_of(*columns)),
        score_clusters(rows_as_clusters(*columns)),
    ):
        observed = permuted(levels).totals[0]
        kept = [GAP, RANKS, SPREAD, COST, MEAN_GAP]
        np.testing.assert_allclose(observed[kept], expected[[0, 1, 2, 3, 5]], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.simulation
def test_the_null_distance_is_the_mean_of_w1(kind: str) -> None:
    """Shuffled labels put in by hand, a few hundred times, on each path."""
    scores, groups, levels = drawn(kind, 5)
    measure = some_measure(np.unique(levels).size)
    rng = np.random.default_rng(0)
    shuffled = np.zeros(300)
    for b in range(300):
        order = np.lexsort((rng.random(levels.size), levels))
        anew = np.empty_like(groups)
        anew[np.argsort(levels, kind="stable")] = groups[order]
        shuffled[b] = slow_statistics(scores, anew, levels, measure)[4]
    for scored in (
        score_contrast(contrast_of(scores, groups, levels)),
        score_clusters(rows_as_clusters(scores, groups, levels)),
    ):
        null = measure @ permuted(scored, 2000).null_distance
        # In pairs W_1 is the same in every permutation.
        assert abs(null - shuffled.mean()) <= 5 * shuffled.std() / np.sqrt(300) + 1e-12


@pytest.mark.parametrize("kind", ["continuous", "ratings", "zeros", "unequal"])
def test_in_one_level_ranks_are_those_of_mann_and_whitney(kind: str) -> None:
    scores, groups, _ = drawn(kind, 1)
    levels = score_contrast(contrast_of(scores, groups))
    z = permuted(levels).totals[0, RANKS] / np.sqrt(levels.facts[0, VARIANCE + RANKS])
    expected = stats.mannwhitneyu(
        scores[groups == 1], scores[groups == 0], use_continuity=False, method="asymptotic"
    )
    np.testing.assert_allclose(2 * stats.norm.sf(abs(z)), expected.pvalue, rtol=1e-10)


@pytest.mark.parametrize("kind", ["continuous", "ratings", "zeros", "unequal", "decisions"])
def test_in_one_level_spread_is_moods(kind: str) -> None:
    scores, groups, _ = drawn(kind, 2)
    levels = score_contrast(contrast_of(scores, groups))
    z = permuted(levels).totals[0, SPREAD] / np.sqrt(levels.facts[0, VARIANCE + SPREAD])
    expected = stats.mood(scores[groups == 1], scores[groups == 0])
    np.testing.assert_allclose(z, expected.statistic, rtol=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_of_decisions_the_gap_is_that_of_cochran_mantel_and_haenszel(seed: int) -> None:
    scores, groups, levels = drawn("decisions", seed)
    scored = score_contrast(contrast_of(scores, groups, levels))
    z = permuted(scored).totals[0, GAP] / np.sqrt(scored.facts[:, VARIANCE + GAP].sum())
    tables = [
        [[((groups == g) & (scores == s) & (levels == k)).sum() for s in (1, 0)] for g in (1, 0)]
        for k in np.unique(levels)
    ]
    stratified = StratifiedTable([np.array(table, dtype=float) for table in tables])
    expected = stratified.test_null_odds(correction=False).statistic
    np.testing.assert_allclose(z**2, expected, rtol=1e-10)


def test_the_level_statistic_is_the_largest_of_three_but_bounded() -> None:
    scores, groups, levels = drawn("continuous", 3)
    scored = score_contrast(contrast_of(scores, groups, levels))
    replicates = permuted(scored)
    for k, level in enumerate(np.unique(levels)):
        alone = score_contrast(contrast_of(scores[levels == level], groups[levels == level]))
        z = np.abs(permuted(alone).totals[0, :3]) / np.sqrt(alone.facts[0, VARIANCE : VARIANCE + 3])
        np.testing.assert_allclose(replicates.level_statistic[k], z.max(), rtol=1e-9)
    assert replicates.totals[0, LARGEST] == replicates.level_statistic.max()
    # One row against twenty, the highest of all: one arrangement in 21 looks like that.
    outlier = np.concatenate([np.arange(20.0), [1e6]])
    alone = score_contrast(contrast_of(outlier, [0] * 20 + [1]))
    np.testing.assert_allclose(
        2 * stats.norm.sf(permuted(alone).level_statistic), [1 / 21], rtol=1e-9
    )


# Permutations -------------------------------------------------------------------------------------


def arrangements(groups: IntArray, levels: IntArray) -> list[IntArray]:
    """Every way to deal the labels of each level among its rows."""
    by_level = []
    for level in np.unique(levels):
        rows = np.flatnonzero(levels == level)
        by_level.append(list(combinations(rows.tolist(), int(groups[rows].sum()))))
    assigned = []
    for chosen in product(*by_level):
        labels = np.zeros_like(groups)
        labels[[row for rows in chosen for row in rows]] = 1
        assigned.append(labels)
    return assigned


TINY = (
    (np.array([0.0, 0.1, 0.35, 0.6, 1.0, 0.2, 0.5, 0.5, 0.9]), [0, 0, 1, 1, 1, 0, 1, 1, 0]),
    (np.array([0.0, 0.0, 1.0, 0.5, 1.0, 0.0, 0.5, 0.5, 1.0]), [0, 1, 1, 0, 1, 0, 1, 1, 0]),
)
TINY_LEVELS = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])


@pytest.mark.parametrize("case", range(2))
@pytest.mark.parametrize("path", ["atoms", "rows"])
def test_replicates_are_uniform_over_all_arrangements(case: int, path: str) -> None:
    scores, labels = TINY[case]
    groups = np.array(labels)

    def make(assigned: IntArray) -> RankScores:
        if path == "atoms":
            return score_contrast(contrast_of(scores, assigned, TINY_LEVELS))
        return score_clusters(rows_as_clusters(scores, assigned, TINY_LEVELS))

    every = np.array([permuted(make(g)).totals[0] for g in arrangements(groups, TINY_LEVELS)])
    scored = make(groups)
    # Mean and variance are those of the closed forms.
    np.testing.assert_allclose(every[:, :3].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(
        every[:, :3].var(axis=0), scored.facts[:, VARIANCE : VARIANCE + 3].sum(axis=0), atol=1e-12
    )
    np.testing.assert_allclose(np.exp(scored.facts[:, LOG_PERMUTATIONS].sum()), len(every))
    replicates = permuted(scored, 20_000, seed=1).totals[1:]
    for column in range(every.shape[1]):
        values, ways = np.unique(np.round(every[:, column], 9), return_counts=True)
        seen, times = np.unique(np.round(replicates[:, column], 9), return_counts=True)
        np.testing.assert_allclose(seen, values, atol=2e-9)
        assert stats.chisquare(times, 20_000 * ways / len(every)).pvalue > 1e-4


@pytest.mark.parametrize("kind", ["continuous", "unequal", "pairs", "singles"])
@pytest.mark.parametrize("permutations", [1, 4, 7, 66])
def test_replicates_side_by_side_equal_those_one_by_one(kind: str, permutations: int) -> None:
    """Rows that are clusters of one take the same labels, and the path of one replicate."""
    scores, groups, levels = drawn(kind, 4)
    order = np.lexsort((scores, levels))
    together = permuted(score_contrast(contrast_of(scores, groups, levels)), permutations)
    alone = permuted(
        score_clusters(rows_as_clusters(scores[order], groups[order], levels[order])), permutations
    )
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_blocks_of_replicates_change_no_bit(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Many rows make small blocks, which are put together to fill the lanes."""
    levels = score_contrast(contrast_of(*drawn("continuous", 6)))
    monkeypatch.setattr(_permutation, "_ATOMS_A_BLOCK", size * levels.rows.size)
    found = permuted(levels, 11, seed=3)
    measure = some_measure(levels.sizes.shape[0])
    observed = found.level_statistic
    order = np.argsort(observed, kind="stable")
    single = [
        replicate_statistics(levels, measure, observed, order, 3, b, b + 1) for b in range(1, 12)
    ]
    np.testing.assert_array_equal(found.totals[1:, GAP], [one[0][0, GAP] for one in single])
    blocks = [sum(one[1][0] for one in single[b : b + size]) for b in range(0, 11, size)]
    np.testing.assert_array_equal(found.null_distance, sum(blocks) / 11)


def test_clusters_are_dealt_whole() -> None:
    """Five people with one to three rows: ten ways to choose two of them."""
    values = np.array([0.0, 0.1, 0.4, 0.45, 0.5, 0.6, 0.8, 0.9, 1.0])
    person = np.array([0, 0, 1, 2, 2, 2, 3, 4, 4])
    groups = np.array([0, 1, 0, 1, 0])

    def scored(labels: IntArray) -> RankScores:
        return score_clusters(Clusters(values, np.array([0, 9]), person, labels))

    def rows(labels: IntArray) -> RankScores:
        return score_contrast(contrast_of(values, labels[person]))

    every = []
    for chosen in combinations(range(5), 2):
        labels = np.isin(np.arange(5), chosen).astype(int)
        every.append(permuted(scored(labels)).totals[0])
        # The statistics themselves do not know about clusters, but for the largest.
        of_rows = permuted(rows(labels)).totals[0]
        kept = [GAP, RANKS, SPREAD, COST, MEAN_GAP]
        np.testing.assert_allclose(every[-1][kept], of_rows[kept], atol=1e-12)
    levels = scored(groups)
    np.testing.assert_allclose(
        np.var(every, axis=0)[:3], levels.facts[0, VARIANCE : VARIANCE + 3], atol=1e-12
    )
    np.testing.assert_allclose(np.exp(levels.facts[0, LOG_PERMUTATIONS]), 10)
    replicates = permuted(levels, 5000).totals[1:, COST]
    expected, ways = np.unique(np.round([one[COST] for one in every], 9), return_counts=True)
    seen, times = np.unique(np.round(replicates, 9), return_counts=True)
    np.testing.assert_allclose(seen, expected, atol=2e-9)
    assert stats.chisquare(times, 5000 * ways / 10).pvalue > 1e-4


def test_clusters_may_come_in_any_order() -> None:
    rng = np.random.default_rng(0)
    level_of, group_of = np.repeat([0, 1, 2], 8), np.tile([0, 1], 12)
    person = np.repeat(np.arange(24), rng.integers(1, 4, 24))
    values = rng.random(person.size)
    sizes = np.bincount(level_of[person])
    plain = Clusters(values, np.concatenate([[0], np.cumsum(sizes)]), person, group_of)
    names, places = rng.permutation(24), np.arange(person.size)
    for k in range(3):
        rng.shuffle(places[plain.offsets[k] : plain.offsets[k + 1]])
    renamed = np.empty(24, np.int64)
    renamed[names] = group_of
    shuffled = Clusters(values[places], plain.offsets, names[person[places]], renamed)
    np.testing.assert_allclose(
        permuted(score_clusters(plain)).totals[0],
        permuted(score_clusters(shuffled)).totals[0],
        atol=1e-12,
    )
    np.testing.assert_allclose(score_clusters(plain).facts, score_clusters(shuffled).facts)


def test_clusters_of_a_contrast_are_those_of_its_rows() -> None:
    """Three groups, a level that lacks one of the two compared, people with several rows."""
    rng = np.random.default_rng(1)
    level_of, group_of = np.arange(30) % 3, np.arange(30) // 3 % 3
    level_of[(level_of == 2) & (group_of == 0)] = 1
    person = np.repeat(np.arange(30), rng.integers(1, 4, 30))
    values = rng.permutation(person.size) / person.size
    cells = Cells.from_rows(values, group_of[person], level_of[person])
    by_value = dict(zip(values.tolist(), person.tolist(), strict=True))
    codes = np.array([100 + by_value[value] for value in cells.atoms.values.tolist()])
    clusters = Clusters.from_contrast(Contrast(cells, (0, 2)), codes)
    kept = np.isin(group_of, (0, 2)) & (level_of < 2)
    assert clusters.offsets.tolist() == [0, *np.cumsum(np.bincount(level_of[person][kept[person]]))]
    for value, cluster in zip(clusters.values.tolist(), clusters.cluster.tolist(), strict=True):
        assert kept[by_value[value]]
        assert clusters.groups[cluster] == (group_of[by_value[value]] == 2)
    assert clusters.groups.size == kept.sum()
    score_clusters(clusters)


def test_clusters_that_have_no_label() -> None:
    contrast = contrast_of([0.1, 0.2, 0.3, 0.4], [0, 0, 1, 1])
    with pytest.raises(InputError, match="cluster 7 has rows of several groups"):
        Clusters.from_contrast(contrast, np.array([5, 7, 7, 6]))
    with pytest.raises(InputError, match="counts of several rows"):
        Clusters.from_contrast(contrast_of([0.1, 0.1, 0.3, 0.4], [0, 0, 1, 1]), np.arange(3))
    with pytest.raises(InputError, match="no level holds two of the groups"):
        Clusters.from_contrast(contrast_of([0.1, 0.2], [0, 1], [0, 1]), np.arange(2))


def test_counts_are_the_same_to_the_last_bit_as_the_rows_they_stand_for() -> None:
    scores, groups, levels = drawn("ratings", 7)
    lines, counts = np.unique(np.stack([levels, groups, scores]), axis=1, return_counts=True)
    cells = Cells.from_counts(lines[0].astype(int), lines[1].astype(int), lines[2], counts)
    of_counts = permuted(score_contrast(contrasts(cells, "pairwise")[0]), 50)
    of_rows = permuted(score_contrast(contrast_of(scores, groups, levels)), 50)
    for one, other in zip(of_counts, of_rows, strict=True):
        np.testing.assert_array_equal(one, other)


def test_counts_and_single_rows_have_the_same_law() -> None:
    columns = drawn("zeros", 8)
    totals = [
        permuted(score_contrast(contrast_of(*columns)), 4000).totals[1:],
        permuted(score_clusters(rows_as_clusters(*columns)), 4000, seed=1).totals[1:],
    ]
    for column in range(6):
        assert stats.ks_2samp(totals[0][:, column], totals[1][:, column]).pvalue > 1e-4


def test_ten_billion_rows_cost_what_their_bins_cost() -> None:
    """Counts times ten million: the same law, narrower by the root of it."""
    rng = np.random.default_rng(0)
    lines = np.array(list(product(range(3), range(2), range(8))))
    counts = rng.integers(20, 40, len(lines))
    totals = []
    for factor in (1, 10_000_000):
        cells = Cells.from_counts(lines[:, 0], lines[:, 1], lines[:, 2] / 7, counts * factor)
        scored = score_contrast(contrasts(cells, "pairwise")[0])
        sums = scored.facts[:, VARIANCE : VARIANCE + 3].sum(axis=0)
        replicates = permuted(scored, 3000, seed=factor % 7).totals
        totals.append((replicates[:, :3] / np.sqrt(sums), replicates[:, LARGEST]))
        assert np.isfinite(replicates).all()
    assert cells.counts.sum() > 1e10
    # What is observed is as many standard errors away as rows are more, by the root.
    np.testing.assert_allclose(totals[1][0][0], totals[0][0][0] * np.sqrt(1e7), rtol=2e-2)
    for column in range(3):
        small, large = totals[0][0][1:, column], totals[1][0][1:, column]
        assert stats.ks_2samp(small, large).pvalue > 1e-3
        assert stats.kstest(large, "norm").pvalue > 1e-3


def test_atoms_of_any_size_are_dealt_by_the_hypergeometric_law() -> None:
    """Below and above the size up to which rows are drawn one by one."""
    for first, second in ((30, 20), (300, 200)):
        cells = Cells.from_counts(
            None, [0, 0, 1, 1], [0.0, 1.0, 0.0, 1.0], [first, second, second, first]
        )
        scored = score_contrast(contrasts(cells, "pairwise")[0])
        total = first + second
        # The sum of the gap is the number of ones in the second group, less its mean.
        ones = permuted(scored, 8000).totals[1:, GAP] + total / 2
        law = stats.hypergeom(2 * total, total, total)
        expected = law.rvs(8000, random_state=np.random.default_rng(0))
        assert stats.ks_2samp(np.round(ones), expected).pvalue > 1e-3


# Units, threads, errors ---------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e200, 1e300])
def test_units_do_not_matter(factor: float) -> None:
    scores, groups, levels = drawn("continuous", 9)
    plain = score_contrast(contrast_of(scores, groups, levels))
    other = score_contrast(contrast_of(scores * factor, groups, levels))
    np.testing.assert_allclose(other.reach, plain.reach * factor)
    one, two = permuted(plain, 200), permuted(other, 200)
    np.testing.assert_allclose(one.totals, two.totals, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(one.stepdown_exceedances, two.stepdown_exceedances)


def test_moved_scores_are_the_same_scores() -> None:
    scores, groups, levels = drawn("continuous", 9)
    grid = np.round(scores * 2**20) / 2**20
    plain = permuted(score_contrast(contrast_of(grid, groups, levels)), 100)
    moved = permuted(score_contrast(contrast_of(grid + 2.0**30, groups, levels)), 100)
    np.testing.assert_array_equal(plain.totals, moved.totals)


@pytest.mark.parametrize(
    "scores",
    [
        np.tile([-1.7e308, 1.7e308, 1e308], 8),
        np.tile([0.0, 5e-324, 1e-323], 8),
        np.concatenate([np.linspace(0, 1, 23), [1e300]]),
        np.repeat([0.1, 1 / 3, 0.7], 8),
    ],
    ids=["largest", "smallest", "outlier", "levels"],
)
def test_nothing_overflows_and_nothing_is_made_of_rounding(scores: FloatArray) -> None:
    levels = score_contrast(contrast_of(scores, np.arange(24) % 2, np.arange(24) // 8))
    replicates = permuted(levels, 100)
    assert np.isfinite(replicates.totals).all()
    assert np.isfinite(replicates.null_distance * levels.reach).all()
    if scores[0] == 0.1:
        # Equal inside every level: whatever the labels, the groups do not differ at all.
        assert not replicates.totals.any()
        assert not levels.facts[:, VARIANCE : VARIANCE + 3].any()


def test_halves_of_any_size_have_no_spread() -> None:
    """Half zeros and half ones: all are equally far from the middle, beyond whole numbers too."""
    for count in (3, 10**9 + 1):
        cells = Cells.from_counts(None, [0, 0, 1, 1], [0, 1, 0, 1], [count] * 4)
        levels = score_contrast(contrasts(cells, "pairwise")[0])
        assert levels.facts[0, VARIANCE + SPREAD] == 0.0
        assert levels.binary
        np.testing.assert_allclose(levels.facts[0, MEAN], 0.5)


def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    for decimals in (12, 1):
        columns = rng.random(900).round(decimals), rng.integers(0, 2, 900), rng.integers(0, 9, 900)
        levels = score_contrast(contrast_of(*columns))
        monkeypatch.setenv("LIKEFORLIKE_THREADS", "1")
        alone = permuted(levels, 300)
        monkeypatch.setenv("LIKEFORLIKE_THREADS", "3")
        for one, other in zip(alone, permuted(levels, 300), strict=True):
            np.testing.assert_array_equal(one, other)
        assert (permuted(levels, 300, seed=1).totals[1:] != alone.totals[1:]).any()


def test_equal_weights_are_no_weights() -> None:
    columns = drawn("continuous", 4)
    weighted = contrast_of(*columns, sample_weight=np.full(columns[0].size, 2.5))
    plain = permuted(score_contrast(contrast_of(*columns)), 20)
    np.testing.assert_array_equal(permuted(score_contrast(weighted), 20).totals, plain.totals)


def test_weights_are_refused() -> None:
    columns = drawn("continuous", 4)
    weight = np.where(columns[1] == 1, 1.0, 2.0)
    with pytest.raises(InputError, match="weighted rows are not exchangeable"):
        score_contrast(contrast_of(*columns, sample_weight=weight))
    cells = Cells.from_counts(None, ["f", "m"], [0.1, 0.4], [5, 5], mass=[2.0, 9.0])
    with pytest.raises(InputError, match="weighted rows are not exchangeable"):
        score_contrast(contrasts(cells, "pairwise")[0])


@pytest.mark.parametrize(
    ("offsets", "cluster", "groups", "message"),
    [
        ([0, 4], [0, 0, 1, 2], [0, 1, 2], "groups must be 0 or 1"),
        ([0, 4], [0, 0, 1, 1], [0, 1, 1], "cluster 2 has no rows"),
        ([0, 2, 4], [0, 1, 1, 2], [0, 1, 0], "cluster 1 has rows in several levels"),
        ([0, 2, 4], [0, 1, 2, 3], [0, 1, 1, 1], "level 1 lacks a group"),
    ],
)
def test_clusters_that_cannot_be_permuted(
    offsets: list[int], cluster: list[int], groups: list[int], message: str
) -> None:
    clusters = Clusters(
        np.array([0.1, 0.2, 0.3, 0.4]), np.array(offsets), np.array(cluster), np.array(groups)
    )
    with pytest.raises(InputError, match=message):
        score_clusters(clusters)
