"""The multiplier bootstrap compared with a loop over all signs; its parts, its threads."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from likeforlike import Cells
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import contrasts
from likeforlike.inference import take_sample
from likeforlike.inference._bootstrap import merge_levels, multiplier_bootstrap, rademacher_sum
from likeforlike.inference._random import start_stream
from tests.inference.rows import contrast_of, some_rows


def exact_noise(
    scores: FloatArray, groups: IntArray, weight: FloatArray, cluster: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Squared noise and variance of its mean potential for every choice of signs, by definition."""
    grid = np.unique(scores)
    steps = np.diff(grid)
    share = weight / np.array([weight[groups == g].sum() for g in groups])
    factor = np.empty(2)
    for g in (0, 1):
        of_cluster = [share[(groups == g) & (cluster == c)].sum() for c in np.unique(cluster)]
        factor[g] = 1.0 / (1.0 - float(np.sum(np.square(of_cluster))))
    squares, varied = [], []
    for signs in product((-1.0, 1.0), repeat=int(cluster.max()) + 1):
        heights = np.zeros(grid.size - 1)
        for g, side in ((0, 1.0), (1, -1.0)):
            for row in np.flatnonzero(groups == g):
                below = (scores[groups == g, None] <= grid[:-1]).astype(float)
                reached = share[groups == g] @ below
                here = (scores[row] <= grid[:-1]).astype(float)
                pushed = signs[cluster[row]] * share[row] * (here - reached)
                heights += side * np.sqrt(factor[g]) * pushed
        squares.append(float(np.abs(heights) @ steps) ** 2)
        varied.append(_varied(heights, steps, grid, scores, groups))
    return np.array(squares), np.array(varied)


def _varied(
    heights: FloatArray, steps: FloatArray, grid: FloatArray, scores: FloatArray, groups: IntArray
) -> float:
    slopes, last = [], 1.0
    for height in heights:
        last = last if abs(height) < 1e-12 else float(np.sign(height))
        slopes.append(last)
    potential = np.concatenate([[0.0], np.cumsum(np.array(slopes) * steps)])
    at = potential[np.searchsorted(grid, scores)]
    return float(sum(at[groups == g].var(ddof=1) / (groups == g).sum() for g in (0, 1)))


def near(found: FloatArray, exact: FloatArray) -> None:
    """A mean of draws is within five of its standard errors."""
    error = exact.std() / np.sqrt(found.size)
    assert abs(found.mean() - exact.mean()) <= 5.0 * error + 1e-12


SCORES = np.array([0.0, 0.1, 0.1, 0.4, 0.7, 0.9, 0.3, 0.4, 0.8, 1.0, 1.0])
GROUPS = np.array([0] * 6 + [1] * 5)


def test_noise_of_rows_is_that_of_all_signs() -> None:
    squares, varied = exact_noise(SCORES, GROUPS, np.ones(11), np.arange(11))
    merged = merge_levels(take_sample(contrast_of(SCORES, GROUPS)))
    levels, totals, potential = multiplier_bootstrap(
        merged, np.ones((1, 1)), draws=20_000, random_state=1
    )
    near(totals[:, 0], squares)
    np.testing.assert_allclose(totals[:, 0].var(), squares.var(), rtol=0.05)
    np.testing.assert_allclose(levels[0], totals[:, 0].mean(), rtol=1e-12)
    np.testing.assert_allclose(potential, varied.mean(), rtol=0.02)


def test_noise_of_weighted_rows_and_clusters_is_that_of_all_signs() -> None:
    weight = np.array([1.0, 0.2, 0.7, 1.0, 0.5, 0.1, 0.9, 0.9, 0.3, 0.4, 1.0])
    cluster = np.array([0, 0, 1, 2, 3, 4, 5, 5, 6, 0, 3])
    for names in (np.arange(11), cluster):
        squares, _ = exact_noise(SCORES, GROUPS, weight, names)
        contrast = contrast_of(SCORES, GROUPS, sample_weight=weight, cluster=names)
        merged = merge_levels(take_sample(contrast))
        _, totals, _ = multiplier_bootstrap(merged, np.ones((1, 1)), draws=20_000, random_state=2)
        near(totals[:, 0], squares)


def test_noise_of_decisions_averages_to_the_variance_of_their_gap() -> None:
    scores = np.repeat([0.0, 1.0, 0.0, 1.0], [7, 5, 11, 6])
    sample = take_sample(contrast_of(scores, np.repeat([0, 1], [12, 17])))
    found, _, _ = multiplier_bootstrap(merge_levels(sample), np.ones((1, 1)), draws=20_000)
    np.testing.assert_allclose(found[0], sample.scores.variances.sum(), rtol=0.04)


@pytest.mark.parametrize("count", [1, 2, 7, 63, 64, 65, 200, 256, 257, 5_000, 10**12])
def test_sums_of_signs_are_binomial(count: int) -> None:
    state = start_stream(3, count)
    drawn = np.array([rademacher_sum(state, count) for _ in range(4000)]) / np.sqrt(count)
    assert abs(drawn.mean()) < 4.5 / np.sqrt(4000)
    assert abs((drawn**2).mean() - 1.0) < 4.5 * np.sqrt(2 / 4000)
    if count <= 256:
        ups = (drawn * np.sqrt(count) + count) / 2.0
        np.testing.assert_allclose(ups, np.round(ups), atol=1e-9)
        assert (ups.min(), ups.max()) >= (-1e-9, 0.0)
        observed = np.bincount(np.round(ups).astype(int), minlength=count + 1)
        expected = 4000 * stats.binom.pmf(np.arange(count + 1), count, 0.5)
        common = expected > 10
        chi = ((observed - expected)[common] ** 2 / expected[common]).sum()
        assert stats.chi2.sf(chi, common.sum()) > 1e-5
    else:
        assert stats.kstest(drawn, "norm").pvalue > 1e-5


def test_levels_and_measures_are_kept_apart() -> None:
    scores, groups, levels = some_rows(3, 90)
    merged = merge_levels(take_sample(contrast_of(scores, groups, levels)))
    measures = np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])
    found, totals, _ = multiplier_bootstrap(merged, measures, draws=30, random_state=4)
    np.testing.assert_allclose(totals[:, 0].mean(), found[0])
    np.testing.assert_allclose(totals[:, 1].mean(), measures[1] @ found)


def test_a_single_row_has_no_noise_of_its_own() -> None:
    both = merge_levels(take_sample(contrast_of([0.1, 0.5, 0.9], [0, 1, 1])))
    alone = multiplier_bootstrap(both, np.ones((1, 1)), draws=50)
    assert alone[0][0] > 0.0
    pair = merge_levels(take_sample(contrast_of([0.1, 0.5], [0, 1])))
    assert not multiplier_bootstrap(pair, np.ones((1, 1)), draws=50)[1].any()


@pytest.mark.parametrize("kind", ["rows", "ties", "clusters"])
def test_noise_does_not_depend_on_threads(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scores, groups, levels = some_rows(5, 300, levels=4, digits=1 if kind == "ties" else 9)
    cluster = np.arange(300) // 4 if kind == "clusters" else None
    merged = merge_levels(take_sample(contrast_of(scores, groups, levels, cluster=cluster)))
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("LIKEFORLIKE_THREADS", threads)
        found.append(multiplier_bootstrap(merged, np.ones((1, 4)), draws=37, random_state=6))
    np.testing.assert_array_equal(found[0][1], found[1][1])
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][2] == found[1][2]


def test_every_draw_is_reported() -> None:
    merged = merge_levels(take_sample(contrast_of(SCORES, GROUPS)))
    done: list[int] = []
    multiplier_bootstrap(merged, np.ones((1, 1)), draws=25, progress=done.append)
    assert sum(done) == 25


def test_ten_billion_rows_cost_what_their_bins_cost() -> None:
    """The noise of n times as many rows is a n-th; its square has the same distribution."""
    values, groups = np.tile([0.1, 0.3, 0.6, 0.9], 2), np.repeat([0, 1], 4)
    counts = np.array([3, 5, 4, 2, 2, 6, 3, 4])
    means = []
    for times in (100, 10**9):
        cells = Cells.from_counts(None, groups, values, counts * times)
        merged = merge_levels(take_sample(contrasts(cells, "pairwise")[0]))
        drawn, _, _ = multiplier_bootstrap(
            merged, np.ones((1, 1)), draws=20_000, random_state=times
        )
        means.append(drawn[0] * times)
    np.testing.assert_allclose(means[0], means[1], rtol=0.06)
