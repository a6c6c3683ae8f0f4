"""The omnibus test: its statistics by definition, its permutations by enumeration, its errors."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from likeforlike import Cells
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Contrast, contrasts
from likeforlike.errors import InputError
from likeforlike.inference import OmnibusTest, omnibus_test
from likeforlike.inference._omnibus import (
    GroupScores,
)
from likeforlike.inference._rank_scores import VARIANCE, Clusters, score_contrast

PAIRS = np.array(list(combinations(range(3), 2)))


def all_groups(*columns: Any) -> Contrast:
    return contrasts(Cells.from_rows(*columns), "barycenter")[0]


def three_groups(seed: int, decimals: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Scores from 0 to 1, so that scaling leaves them alone; a level has two groups only."""
    rng = np.random.default_rng(seed)
    groups, levels = rng.integers(0, 3, 90), rng.integers(0, 4, 90)
    groups[levels == 2] = np.minimum(groups[levels == 2], 1)
    scores = rng.random(90).round(decimals)
    return (scores - scores.min()) / (scores.max() - scores.min()), groups, levels


def slow_gaps(scores: FloatArray, groups: IntArray, levels: IntArray) -> FloatArray:
    """Σ n_a n_b / (n_a + n_b) (mean_b - mean_a) of scores, ranks and spread of all groups."""
    gaps = np.zeros((3, 3))
    for level in np.unique(levels):
        inside = levels == level
        n, rank = inside.sum(), stats.rankdata(scores[inside])
        order = (np.arange(1, n + 1) - (n + 1) / 2) ** 2
        by_score = {s: order[np.sort(scores[inside]) == s].mean() for s in scores[inside]}
        spread = np.array([by_score[s] for s in scores[inside]])
        for p, (a, b) in enumerate(PAIRS):
            first, second = groups[inside] == a, groups[inside] == b
            if not (first.any() and second.any()):
                continue
            weight = first.sum() * second.sum() / (first.sum() + second.sum())
            for c, values in enumerate((scores[inside], rank / (n + 1), spread / (n + 1) ** 2)):
                gaps[p, c] += weight * (values[second].mean() - values[first].mean())
    return gaps


@pytest.mark.parametrize("decimals", [12, 1, 0])
def test_statistics_are_those_of_their_definitions(decimals: int) -> None:
    columns = three_groups(1, decimals)
    observed = GroupScores.from_contrast(all_groups(*columns)).pair_statistics(PAIRS, 0, 0, 1)[0]
    np.testing.assert_allclose(observed, slow_gaps(*columns), atol=1e-12)


def test_two_groups_have_the_sums_and_errors_of_the_headline_test() -> None:
    rng = np.random.default_rng(2)
    columns = rng.random(80).round(1), rng.integers(0, 2, 80), rng.integers(0, 3, 80)
    scored, pair = GroupScores.from_contrast(all_groups(*columns)), np.array([[0, 1]])
    levels = score_contrast(contrasts(Cells.from_rows(*columns), "pairwise")[0])
    variances = levels.facts[:, VARIANCE : VARIANCE + 3].sum(axis=0)
    np.testing.assert_allclose(scored.pair_precision(pair)[0], 1 / np.sqrt(variances))
    sums = levels.scores @ levels.second
    np.testing.assert_allclose(scored.pair_statistics(pair, 0, 0, 1)[0, 0], sums, atol=1e-12)


def test_replicates_are_uniform_over_all_arrangements() -> None:
    """Six rows in groups of one, two and three: sixty arrangements, on each path."""
    scores, groups = np.array([0.0, 0.2, 0.2, 0.5, 0.9, 1.0]), np.array([0, 1, 1, 2, 2, 2])
    arrangements = sorted(set(permutations(groups.tolist())))
    every = np.array([slow_gaps(scores, np.array(g), np.zeros(6, np.int64)) for g in arrangements])
    rows = Clusters(scores, np.array([0, 6]), np.arange(6), groups)
    for scored in (
        GroupScores.from_contrast(all_groups(scores, groups)),
        GroupScores.from_clusters(rows),
    ):
        precision = scored.pair_precision(PAIRS)
        np.testing.assert_allclose(every.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(every.std(axis=0), 1 / precision, atol=1e-12)
        drawn = scored.pair_statistics(PAIRS, 3, 1, 20_001)
        for p in range(3):
            values, ways = np.unique(every[:, p, 0].round(9), return_counts=True)
            seen, times = np.unique(drawn[:, p, 0].round(9), return_counts=True)
            np.testing.assert_allclose(seen, values, atol=2e-9)
            assert stats.chisquare(times, 20_000 * ways / 60).pvalue > 1e-4


def test_clusters_are_dealt_whole() -> None:
    values = np.array([0.0, 0.1, 0.4, 0.45, 0.5, 0.6, 0.8, 0.9, 1.0])
    person, groups = np.array([0, 0, 1, 2, 2, 2, 3, 4, 4]), np.array([0, 1, 2, 1, 0])

    def scored(labels: IntArray) -> Any:
        return GroupScores.from_clusters(Clusters(values, np.array([0, 9]), person, labels))

    observed = scored(groups).pair_statistics(PAIRS, 0, 0, 1)[0]
    np.testing.assert_allclose(
        observed, slow_gaps(values, groups[person], np.zeros(9, np.int64)), atol=1e-12
    )
    # Weights of groups are those observed, whoever is dealt to them.
    sizes = np.bincount(groups[person])
    centered = values - values.mean()
    of_person = np.bincount(person, centered)
    every = []
    for labels in sorted(set(permutations(groups.tolist()))):
        sums = np.bincount(np.array(labels), of_person, minlength=3)
        every.append(
            [(sizes[a] * sums[b] - sizes[b] * sums[a]) / (sizes[a] + sizes[b]) for a, b in PAIRS]
        )
    np.testing.assert_allclose(
        np.std(every, axis=0), 1 / scored(groups).pair_precision(PAIRS)[:, 0], atol=1e-12
    )
    drawn = scored(groups).pair_statistics(PAIRS, 0, 1, 5001)[:, :, 0]
    np.testing.assert_allclose(drawn.std(axis=0), np.std(every, axis=0), rtol=0.05)


def test_counts_and_rows_have_the_same_law() -> None:
    scores, groups, levels = three_groups(4, 1)
    # Tiny differences keep rows apart, so that each is dealt alone.
    apart = scores + 1e-9 * np.random.default_rng(0).random(90)
    drawn = [
        GroupScores.from_contrast(all_groups(values, groups, levels)).pair_statistics(
            PAIRS, seed, 1, 4001
        )
        for seed, values in enumerate((scores, apart))
    ]
    for p in range(3):
        assert stats.ks_2samp(drawn[0][:, p, 0], drawn[1][:, p, 0]).pvalue > 1e-4


def test_ten_billion_rows() -> None:
    lines = np.stack([a.ravel() for a in np.meshgrid(range(2), range(3), range(20), indexing="ij")])
    counts = np.random.default_rng(0).poisson(1e8, lines.shape[1])
    for shift, differs in ((0.0, False), (2e-5, True)):
        tilted = np.round(counts * (1 + shift * (lines[2] - 9.5) * (lines[1] == 1)))
        cells = Cells.from_counts(lines[0], lines[1], lines[2] / 19, tilted)
        assert cells.counts.sum() > 1e10
        test = omnibus_test(contrasts(cells, "barycenter")[0], permutations=499)
        assert (test.p_value == 0.002) == differs


def test_it_says_who_differs_and_in_what() -> None:
    rng = np.random.default_rng(5)
    groups, levels = np.array(list("abcd"))[rng.integers(0, 4, 800)], rng.integers(0, 5, 800)
    scores = rng.normal(size=800)
    test = omnibus_test(all_groups(scores + 1.0 * (groups == "c"), groups, levels))
    assert test.p_value == 0.001
    assert test.leading_component == "gap"
    assert test.groups is not None
    assert "c" in test.groups
    test = omnibus_test(all_groups(scores * np.where(groups == "b", 2.0, 1.0), groups, levels))
    assert test.p_value == 0.001
    assert test.leading_component == "spread"
    assert test.groups is not None
    assert "b" in test.groups


def test_equal_scores_say_nothing() -> None:
    silent = OmnibusTest(1.0, None, None, 99)
    assert omnibus_test(all_groups(np.ones(30), np.arange(30) % 3), permutations=99) == silent


def test_the_same_seed_gives_the_same_test(monkeypatch: pytest.MonkeyPatch) -> None:
    data = all_groups(*three_groups(6, 12))
    monkeypatch.setenv("LIKEFORLIKE_THREADS", "1")
    alone = omnibus_test(data, permutations=200, random_state=1)
    monkeypatch.setenv("LIKEFORLIKE_THREADS", "3")
    assert omnibus_test(data, permutations=200, random_state=1) == alone
    done: list[int] = []
    omnibus_test(data, permutations=200, progress=done.append)
    assert sum(done) == 200


def test_what_cannot_be_tested_is_refused() -> None:
    with pytest.raises(InputError, match="permutations must be at least 1"):
        omnibus_test(all_groups(*three_groups(0, 3)), permutations=0)
    with pytest.raises(InputError, match="no level holds two of the groups"):
        omnibus_test(all_groups([0.1, 0.2, 0.3], [0, 1, 2], [0, 1, 2]))
    weighted = Cells.from_rows([0.1, 0.2, 0.3], [0, 1, 2], sample_weight=[1, 2, 1])
    with pytest.raises(InputError, match="weighted rows are not exchangeable"):
        omnibus_test(contrasts(weighted, "barycenter")[0])
    alone = Clusters(np.arange(4.0), np.array([0, 2, 4]), np.arange(4), np.array([0, 1, 2, 2]))
    with pytest.raises(InputError, match="level 1 holds a single group"):
        omnibus_test(alone)
