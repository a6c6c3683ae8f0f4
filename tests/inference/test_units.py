"""The jackknife beside plain loops, and what becomes of scores and weights of any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likeforlike import Cells
from likeforlike._arrays import BoolArray
from likeforlike.disparity import Contrast, contrasts
from likeforlike.errors import InputError
from likeforlike.inference import take_sample
from likeforlike.inference._gap import contrast_coefficients
from likeforlike.transport import sum_parts
from tests.inference.rows import contrast_of, marginal, some_rows, standardized_gap


def looped_means(
    scores: np.ndarray, weight: np.ndarray, unit: np.ndarray
) -> tuple[float, float, float]:
    """Mean, jackknife variance and bias correction of one cell, leaving one unit out at a time."""
    mean = float(np.average(scores, weights=weight))
    names = np.unique(unit)
    left = np.array([np.average(scores[unit != u], weights=weight[unit != u]) for u in names])
    factor = (names.size - 1) / names.size
    return mean, factor * float(((left - mean) ** 2).sum()), factor * float((mean - left).sum())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_jackknife_is_that_of_a_loop(weighted: bool, clustered: bool) -> None:
    scores, groups, levels = some_rows(1, 90)
    rng = np.random.default_rng(2)
    weight = rng.gamma(2.0, size=90) if weighted else np.ones(90)
    unit = rng.integers(0, 4, 90) + 10 * groups + 100 * levels if clustered else np.arange(90)
    contrast = contrast_of(
        scores,
        groups,
        levels,
        sample_weight=weight if weighted else None,
        cluster=unit if clustered else None,
    )
    sample = take_sample(contrast)
    found = sample.scores
    means, variances, biases = sample.to_units(found.means), [], []
    for c in range(6):
        here = (levels == c // 2) & (groups == c % 2)
        mean, variance, bias = looped_means(scores[here], weight[here], unit[here])
        np.testing.assert_allclose(means[c] + scores.min(), mean, rtol=1e-10)
        variances.append(variance)
        biases.append(bias)
    np.testing.assert_allclose(sample.scale**2 * found.variances, variances, rtol=1e-10)
    np.testing.assert_allclose(sample.to_units(found.bias), biases, rtol=1e-10, atol=1e-12)


def test_without_weights_it_is_the_usual_error_of_a_mean() -> None:
    scores, groups, levels = some_rows(3)
    sample = take_sample(contrast_of(scores, groups, levels))
    for c in range(6):
        here = scores[(levels == c // 2) & (groups == c % 2)]
        np.testing.assert_allclose(
            sample.scale**2 * sample.scores.variances[c], here.var(ddof=1) / here.size, rtol=1e-10
        )
    assert not sample.scores.bias.any()


@pytest.mark.parametrize("weighted", [False, True])
def test_clusters_across_cells_are_deleted_as_a_whole(weighted: bool) -> None:
    """Σ over clusters of what deleting one moves, cell by cell times √((n - 1) / n)."""
    scores, groups, levels = some_rows(4, 120)
    rng = np.random.default_rng(5)
    cluster = rng.integers(0, 15, 120)
    weight = rng.gamma(2.0, size=120) if weighted else np.ones(120)
    measure = np.array([0.2, 0.3, 0.5])
    contrast = contrast_of(scores, groups, levels, sample_weight=weight, cluster=cluster)
    sample = take_sample(contrast)
    assert sample.units.crossing

    expected = 0.0
    for name in np.unique(cluster):
        moved = 0.0
        for k, q in enumerate(measure):
            for g in (0, 1):
                here = (levels == k) & (groups == g)
                rest = here & (cluster != name)
                n = np.unique(cluster[here]).size
                whole = np.average(scores[here], weights=weight[here])
                less = np.average(scores[rest], weights=weight[rest])
                moved += q * (2 * g - 1) * np.sqrt((n - 1) / n) * (whole - less)
        expected += moved**2
    found = sample.scores.variance(contrast_coefficients(measure)) * sample.scale**2
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_cluster_for_every_row_is_no_cluster() -> None:
    columns = some_rows(6)
    plain = take_sample(contrast_of(*columns))
    named = take_sample(contrast_of(*columns, cluster=np.arange(60)))
    np.testing.assert_allclose(plain.scores.variances, named.scores.variances, rtol=1e-12)
    assert not named.units.crossing


def test_counts_are_rows_that_are_alike() -> None:
    scores, groups, levels = some_rows(7, 200)
    rows = take_sample(contrast_of(scores, groups, levels))
    lines = np.unique(np.stack([levels, groups, scores]), axis=1, return_counts=True)
    cells = Cells.from_counts(
        lines[0][0].astype(int), lines[0][1].astype(int), lines[0][2], lines[1]
    )
    counted = take_sample(contrasts(cells, "pairwise")[0])
    for name in ("means", "variances", "residuals", "bias"):
        np.testing.assert_array_equal(
            getattr(rows.scores, name), getattr(counted.scores, name), err_msg=name
        )
    np.testing.assert_allclose(rows.scores.skewness, counted.scores.skewness)


def test_skewness_is_that_of_standardized_rows() -> None:
    scores, groups, _ = some_rows(8, 80, levels=1, digits=6)
    scores = np.exp(scores)
    found = take_sample(contrast_of(scores, groups)).scores.skewness[0]
    parts = [scores[groups == g] for g in (0, 1)]
    sizes = np.array([part.size for part in parts])
    third = [
        n / ((n - 1) * (n - 2)) * ((part - part.mean()) ** 3).sum()
        for n, part in zip(sizes, parts, strict=True)
    ]
    second = [part.var(ddof=1) for part in parts]
    expected = np.average(third, weights=sizes) / np.average(second, weights=sizes) ** 1.5
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert take_sample(
        contrast_of(scores, groups, sample_weight=np.arange(1, 81))
    ).scores.skewness == (0.0, 0.0)


@pytest.mark.parametrize("factor", [1e-200, 1e-9, 1.0, 1e200])
def test_scores_and_weights_of_any_size_become_numbers_of_unit_size(factor: float) -> None:
    scores, groups, levels = some_rows(9)
    weight = np.random.default_rng(0).gamma(2.0, size=60)
    sample = take_sample(
        contrast_of(scores * factor, groups, levels, sample_weight=weight * factor)
    )
    assert (sample.values.min(), sample.values.max(), sample.mass.max()) == (0.0, 1.0, 1.0)
    np.testing.assert_allclose(sample.to_units(1.0), np.ptp(scores) * factor)
    np.testing.assert_allclose(sample.scale_down(sample.to_units(0.3)), 0.3)


def test_scores_from_one_end_of_the_numbers_to_the_other() -> None:
    sample = take_sample(contrast_of([-1.7e308, 0.0, 1.0, 1.7e308], [0, 1, 0, 1]))
    np.testing.assert_allclose(sample.values, [0.0, 0.5, 0.5, 1.0])
    assert sample.to_units(0.25) == pytest.approx(0.85e308)


@pytest.mark.parametrize(
    ("scores", "rates"),
    [
        ([0, 1, 0, 1], True),
        ([0, 0, 0, 0], True),
        ([1, 1, 1, 1], True),
        ([0.5, 0.5, 0.5, 0.5], False),
        # Two values of two rows may be two of a million.
        ([0.31, 0.78, 0.31, 0.31], False),
        ([1, 2] * 5, True),
        ([0, 0.4] * 4 + [0, 0], False),
        ([0, 1, 0.5, 1], False),
    ],
)
def test_decisions_are_recognized(scores: list[float], rates: bool) -> None:
    sample = take_sample(contrast_of(scores, np.arange(len(scores)) % 2))
    assert sample.rates == rates
    if rates:
        assert set(sample.values.tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_pooled_rows_are_those_of_one_level(weighted: bool, clustered: bool) -> None:
    scores, groups, levels = some_rows(10)
    known: dict[str, Any] = {
        "sample_weight": np.random.default_rng(11).gamma(2.0, size=60) if weighted else None,
        "cluster": np.arange(60) // 3 if clustered else None,
    }
    pooled = take_sample(contrast_of(scores, groups, levels, **known)).pool_levels()
    flat = take_sample(contrast_of(scores, groups, **known))
    np.testing.assert_allclose(pooled.totals, flat.totals)
    np.testing.assert_array_equal(pooled.rows, flat.rows)
    for name in ("means", "variances", "bias", "skewness"):
        found, expected = getattr(pooled.scores, name), getattr(flat.scores, name)
        np.testing.assert_allclose(found, expected, atol=1e-14, err_msg=name)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_cells_are_those_of_their_rows(weighted: bool) -> None:
    """What passes over the cells find, and what is kept for every row where it is needed."""
    scores, groups, levels = some_rows(13, 300)
    weight = np.random.default_rng(14).gamma(2.0, size=300) if weighted else None
    found = take_sample(contrast_of(scores, groups, levels, sample_weight=weight)).scores
    units = found.units
    squares = sum_parts(units.cell, units.counts * found.residuals**2, 6)
    np.testing.assert_allclose(found.variances, squares, rtol=1e-12)
    pull = sum_parts(units.cell, units.counts * found.residuals, 6) * units.root
    np.testing.assert_allclose(found.bias, pull, rtol=0.0, atol=1e-15)
    worth = 1.0 / sum_parts(units.cell, units.counts * units.share**2, 6)
    np.testing.assert_allclose(units.effective, worth, rtol=1e-12)


def test_only_levels_where_both_groups_occur_count() -> None:
    sample = take_sample(contrast_of([1, 2, 3, 99], [0, 1, 1, 0], [1, 1, 1, 2]))
    np.testing.assert_allclose(sample.to_units(sample.values), [0.0, 1.0, 2.0])


def test_groups_that_never_meet_are_refused() -> None:
    with pytest.raises(InputError, match="two groups that meet"):
        take_sample(contrast_of([1, 2], [0, 1], [1, 2]))
    three = Cells.from_rows([1, 2, 3], [0, 1, 2])
    with pytest.raises(InputError, match="two groups that meet"):
        take_sample(Contrast(three, (0, 1, 2)))


def test_weighted_counts_are_refused() -> None:
    cells = Cells.from_counts(None, [0, 1], [0.1, 0.2], [2, 2], mass=[3.0, 5.0])
    with pytest.raises(InputError, match="which row has which weight"):
        take_sample(contrasts(cells, "pairwise")[0])


def test_a_row_that_outweighs_its_cell_is_seen() -> None:
    scores, groups, levels = some_rows(11, 200, levels=2)
    weight = np.ones(200)
    assert not take_sample(contrast_of(scores, groups, levels, sample_weight=weight)).heavy
    weight[np.flatnonzero((levels == 1) & (groups == 0))[0]] = 1e4
    sample = take_sample(contrast_of(scores, groups, levels, sample_weight=weight))
    assert sample.heavy
    expected: BoolArray = np.array([False, True])
    np.testing.assert_array_equal(sample.dominant_row_levels, expected)


def test_the_gap_is_the_one_of_the_definition() -> None:
    scores, groups, levels = some_rows(12, 150)
    weight = np.random.default_rng(1).gamma(2.0, size=150)
    contrast = contrast_of(scores, groups, levels, sample_weight=weight)
    sample, measure = take_sample(contrast), marginal(contrast)
    np.testing.assert_allclose(
        sample.to_units(float(measure @ sample.scores.gaps)),
        standardized_gap(scores, groups, levels, weight, measure),
    )
