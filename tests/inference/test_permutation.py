from itertools import combinations
from typing import Any

import numpy as np
import pytest

from likeforlike import Cells, InputError
from likeforlike.contrasts import Contrast, contrasts
from likeforlike.inference import permutation_test
from likeforlike.inference.permutation import permute
from likeforlike.inference.pooling import pool_levels
from likeforlike.transport import line


def contrast_of(*columns: Any, **settings: Any) -> Contrast:
    return contrasts(Cells.from_rows(*columns, **settings), "pairwise")[0]


def test_pooling_keeps_every_row() -> None:
    rng = np.random.default_rng(0)
    scores, groups, levels = (
        rng.integers(0, 5, 100),
        rng.integers(0, 2, 100),
        rng.integers(0, 3, 100),
    )
    pool = pool_levels(contrast_of(scores, groups, levels))
    for k in range(3):
        at = slice(pool.offsets[k], pool.offsets[k + 1])
        for group, counts in enumerate((pool.first, pool.second)):
            values, expected = np.unique(
                scores[(levels == k) & (groups == group)], return_counts=True
            )
            found = counts[at] > 0
            np.testing.assert_array_equal(pool.values[at][found], values)
            np.testing.assert_array_equal(counts[at][found], expected)


@pytest.mark.parametrize("scores", [[0.1, 0.5, 0.6, 0.9, 1.5], [0, 0, 1, 1, 1]])
def test_permutations_follow_the_exact_null_distribution(scores: list[float]) -> None:
    """Five rows, two of one group: all ten assignments are equally likely."""
    values = np.array(scores, dtype=float)
    exact = sorted(
        line.cost(values[list(chosen)], np.delete(values, chosen), order=2)
        for chosen in combinations(range(5), 2)
    )
    contrast = contrast_of(values, [0, 0, 1, 1, 1])
    null = permute(contrast, np.ones(1), np.zeros(1), replicates=20_000, seed=1)
    found, counts = np.unique(np.round(null.totals[:, 0], 12), return_counts=True)
    expected, ways = np.unique(np.round(exact, 12), return_counts=True)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(counts / 20_000, ways / 10, atol=0.015)


def test_counts_and_rows_have_the_same_null_distribution() -> None:
    rng = np.random.default_rng(3)
    scores, groups, levels = (
        rng.integers(0, 4, 400),
        rng.integers(0, 2, 400),
        rng.integers(0, 3, 400),
    )
    rows = contrast_of(scores, groups, levels)
    # Tiny differences keep the rows apart, so that each is dealt alone.
    apart = contrast_of(scores + 1e-9 * np.arange(400), groups, levels)
    measure = np.full(3, 1 / 3)
    totals = [
        permute(contrast, measure, np.zeros(3), replicates=4000, seed=seed).totals
        for seed, contrast in enumerate((rows, apart))
    ]
    for statistic in range(3):
        for quantile in (0.1, 0.5, 0.9):
            first, second = (np.quantile(t[:, statistic], quantile) for t in totals)
            assert abs(first - second) < 0.12 * totals[0][:, statistic].std()


def test_statistics_of_a_replicate_are_those_of_its_samples() -> None:
    rng = np.random.default_rng(5)
    scores, groups = rng.random(60), np.arange(60) % 2
    contrast = contrast_of(scores, groups)
    null = permute(contrast, np.ones(1), np.zeros(1), replicates=500, seed=0)
    cost, distance, gap = null.totals.T
    assert (cost >= gap**2 - 1e-12).all()
    assert (distance >= np.abs(gap) - 1e-12).all()
    assert (cost >= distance**2 - 1e-12).all()
    assert abs(gap.mean()) < 0.02
    np.testing.assert_allclose(null.means[0], [cost.mean(), distance.mean()])


@pytest.mark.parametrize("threads", ["1", "2", "5"])
def test_the_same_seed_gives_the_same_test_on_any_number_of_threads(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(6)
    contrast = contrast_of(rng.random(300), rng.integers(0, 2, 300), rng.integers(0, 4, 300))
    monkeypatch.setenv("LIKEFORLIKE_THREADS", "1")
    alone = permutation_test(contrast, np.full(4, 0.25), permutations=200, seed=4)
    monkeypatch.setenv("LIKEFORLIKE_THREADS", threads)
    again = permutation_test(contrast, np.full(4, 0.25), permutations=200, seed=4)
    assert alone.p_value == again.p_value
    assert alone.null_distance == again.null_distance
    assert alone.detectable == again.detectable
    np.testing.assert_array_equal(alone.level_null_distance, again.level_null_distance)
    other = permutation_test(contrast, np.full(4, 0.25), permutations=200, seed=5)
    assert other.null_distance != alone.null_distance


def test_a_constant_score_has_p_value_one() -> None:
    test = permutation_test(contrast_of(np.full(40, 0.3), np.arange(40) % 2), np.ones(1))
    assert test.p_value == test.p_value_gap == 1.0
    assert test.level_p_values.tolist() == [1.0]


def test_equal_weights_change_nothing_but_the_stream() -> None:
    rng = np.random.default_rng(8)
    scores, groups = rng.random(80), np.arange(80) % 2
    plain = permutation_test(contrast_of(scores, groups), np.ones(1), permutations=3000)
    weighted = permutation_test(
        contrast_of(scores, groups, sample_weight=np.full(80, 2.5)), np.ones(1), permutations=3000
    )
    assert abs(plain.p_value - weighted.p_value) < 0.05
    np.testing.assert_allclose(plain.null_distance, weighted.null_distance, rtol=0.05)


def test_weighted_ties_are_shuffled_row_by_row() -> None:
    """Two scores, unequal weights: the null of the gap has the variance of shuffled weights."""
    scores, groups = np.tile([0.0, 1.0], 30), np.repeat([0, 1], 30)
    weight = np.where(np.arange(60) < 3, 20.0, 1.0)
    contrast = contrast_of(scores, groups, sample_weight=weight)
    null = permute(contrast, np.ones(1), np.zeros(1), replicates=4000, seed=2)
    rng = np.random.default_rng(0)
    expected = []
    for _ in range(4000):
        shuffled = rng.permutation(scores)
        means = [np.average(shuffled[groups == g], weights=weight[groups == g]) for g in (0, 1)]
        expected.append(means[1] - means[0])
    np.testing.assert_allclose(null.totals[:, 2].std(), np.std(expected), rtol=0.06)


def test_weighted_counts_cannot_be_permuted() -> None:
    cells = Cells.from_counts(None, ["f", "m"], [0.1, 0.4], [5, 5], mass=[2.0, 9.0])
    with pytest.raises(InputError, match="weighted counts do not say which row"):
        permutation_test(contrasts(cells, "pairwise")[0], np.ones(1))


def test_progress_is_reported_and_an_interrupt_passes() -> None:
    contrast = contrast_of(np.random.default_rng(0).random(50), np.arange(50) % 2)
    done: list[int] = []
    permutation_test(contrast, np.ones(1), permutations=100, progress=done.append)
    assert sum(done) == 100

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        permutation_test(contrast, np.ones(1), permutations=100_000, progress=interrupt)


def test_no_permutations_is_no_test() -> None:
    with pytest.raises(InputError, match="permutations must be at least 1"):
        permutation_test(contrast_of([0.1, 0.2], [0, 1]), np.ones(1), permutations=0)
