"""Merged levels: distances compared with SciPy's, potentials by duality, ranks and medians."""

import numpy as np
import pytest
from scipy import stats

from likeforlike import Cells
from likeforlike.disparity import contrasts
from likeforlike.inference import take_sample
from likeforlike.inference._bootstrap import merge_levels
from tests.inference.rows import contrast_of, some_rows


@pytest.mark.parametrize("digits", [0, 1, 6])
@pytest.mark.parametrize("weighted", [False, True])
def test_distances_are_those_of_scipy(digits: int, weighted: bool) -> None:
    scores, groups, levels = some_rows(digits, 150, levels=4, digits=digits)
    weight = np.random.default_rng(3).gamma(2.0, size=150) if weighted else None
    sample = take_sample(contrast_of(scores, groups, levels, sample_weight=weight))
    merged = merge_levels(sample)
    for k in range(4):
        first, second = ((levels == k) & (groups == g) for g in (0, 1))
        weights = (None, None) if weight is None else (weight[first], weight[second])
        expected = stats.wasserstein_distance(scores[first], scores[second], *weights)
        np.testing.assert_allclose(sample.to_units(merged.distances[k]), expected, rtol=1e-10)


@pytest.mark.parametrize("digits", [0, 6])
def test_means_of_the_potential_differ_by_the_distance(digits: int) -> None:
    scores, groups, levels = some_rows(5, 200, digits=digits)
    weight = np.random.default_rng(4).gamma(2.0, size=200)
    sample = take_sample(contrast_of(scores, groups, levels, sample_weight=weight))
    merged = merge_levels(sample)
    np.testing.assert_allclose(
        sample.jackknife(merged.potential).gaps, merged.distances, rtol=1e-10
    )
    # It rises or falls by at most one for one, inside every level.
    places = merged.order
    same_level = np.diff(sample.cell[places] // 2) == 0
    rise = np.abs(np.diff(merged.potential[places]))[same_level]
    assert (rise <= np.diff(sample.values[places])[same_level] + 1e-12).all()


@pytest.mark.parametrize("digits", [0, 6])
def test_ranks_and_medians_are_those_of_the_rows_of_a_level(digits: int) -> None:
    scores, groups, levels = some_rows(6, 120, levels=2, digits=digits)
    sample = take_sample(contrast_of(scores, groups, levels))
    merged = merge_levels(sample)
    for k in range(2):
        rows = np.sort(scores[levels == k])
        inside = sample.cell // 2 == k
        found = dict(zip(sample.to_units(sample.values[inside]), merged.ranks[inside], strict=True))
        ranks = stats.rankdata(rows) / (rows.size + 1)
        for value, rank in zip(rows - scores.min(), ranks, strict=True):
            nearest = min(found, key=lambda key: abs(key - value))
            np.testing.assert_allclose(found[nearest], rank)
        median = rows[(rows.size - 1) // 2]
        np.testing.assert_allclose(
            sample.to_units(merged.deviations_from_median[inside]),
            np.abs(sample.to_units(sample.values[inside]) + scores.min() - median),
            atol=1e-12,
        )


def test_counts_have_the_ranks_of_their_rows() -> None:
    values, counts = np.array([1.0, 2.0, 3.0]), np.array([3, 1, 2])
    cells = Cells.from_counts(None, [0, 0, 1], values[[0, 2, 1]], counts[[0, 2, 1]])
    merged = merge_levels(take_sample(contrasts(cells, "pairwise")[0]))
    np.testing.assert_allclose(merged.ranks * 7, [2.0, 5.5, 4.0])
    np.testing.assert_allclose(merged.deviations_from_median, [0.0, 1.0, 0.5])
