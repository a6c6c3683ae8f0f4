"""Distances: their parts, what they say of data that used to mislead, numbers of any size."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from likeforlike import Cells
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import contrasts
from likeforlike.errors import InputError
from likeforlike.inference import (
    SquaredDistance,
    debias_distance,
    estimate_distance,
    largest_distance,
    signed_gap,
    take_sample,
)
from likeforlike.inference._bootstrap import multiplier_bootstrap
from likeforlike.inference._distance import measure_levels
from likeforlike.inference._gap import ALL_EQUAL, HEAVY_WEIGHTS
from tests.inference.rows import contrast_of, marginal, some_rows

ONE = np.ones(1)


def level_rows(
    seed: int, levels: int, first: int, second: int
) -> tuple[np.random.Generator, IntArray, IntArray]:
    groups = np.tile(np.repeat([0, 1], [first, second]), levels)
    return np.random.default_rng(seed), groups, np.repeat(np.arange(levels), first + second)


# What it is made of ------------------------------------------------------------------------------


def test_the_square_is_the_plug_in_minus_the_noise() -> None:
    scores, groups, levels = some_rows(0, 120, digits=6)
    measure = np.array([0.5, 0.3, 0.2])
    contrast = contrast_of(scores, groups, levels)
    found = estimate_distance(contrast, measure, random_state=3)
    plug_in = sum(
        q
        * stats.wasserstein_distance(
            scores[(levels == k) & (groups == 0)], scores[(levels == k) & (groups == 1)]
        )
        ** 2
        for k, q in enumerate(measure)
    )
    sample = take_sample(contrast)
    merged = measure_levels(sample, measure, draws=100, seed=3).merged
    _, totals, _ = multiplier_bootstrap(merged, measure[None], draws=100, random_state=3)
    expected = plug_in - float(totals.mean()) * sample.scale**2
    np.testing.assert_allclose(found.squared, expected, rtol=1e-10)
    assert (found.distance, found.replicated, found.reason) == ("W1", 1.0, None)


def test_the_square_averages_to_zero_at_parity() -> None:
    rng, groups, levels = level_rows(1, 8, 12, 9)
    squares = []
    for seed in range(150):
        contrast = contrast_of(rng.random(groups.size), groups, levels)
        squares.append(estimate_distance(contrast, np.full(8, 1 / 8), random_state=seed).squared)
    assert abs(np.mean(squares)) < 4.0 * np.std(squares) / math.sqrt(150)
    assert 40 < sum(square < 0.0 for square in squares) < 110


def test_a_shift_is_its_distance() -> None:
    rng, groups, levels = level_rows(2, 5, 400, 400)
    scores = rng.random(groups.size) + 0.2 * groups
    found = estimate_distance(contrast_of(scores, groups, levels), np.full(5, 0.2))
    assert found.value == pytest.approx(0.2, abs=0.02)
    assert 0.15 < found.interval[0] < 0.2 < found.interval[1] < 0.25


def test_decisions_of_one_level_have_the_interval_of_their_gap() -> None:
    scores = np.repeat([0.0, 1.0, 0.0, 1.0], [50, 50, 65, 35])
    contrast = contrast_of(scores, np.repeat([0, 1], 100))
    found, gap = estimate_distance(contrast, ONE), signed_gap(contrast, ONE)
    assert found.value == pytest.approx(0.15)
    assert found.interval == (-gap.interval[1], -gap.interval[0])
    assert found.squared == pytest.approx(0.15**2 - gap.error**2)
    across = estimate_distance(contrast_of([0.0, 1.0] * 50, np.repeat([0, 1], 50)), ONE)
    assert across.interval[0] == 0.0 < across.interval[1]


def test_groups_that_differ_in_spread_only_are_apart() -> None:
    rng, groups, levels = level_rows(3, 10, 60, 60)
    scores = rng.normal(size=groups.size) * (1.0 + 0.8 * groups)
    found = estimate_distance(contrast_of(scores, groups, levels), np.full(10, 0.1))
    truth = 0.8 * math.sqrt(2.0 / math.pi)
    assert 0.3 < found.interval[0] < truth < found.interval[1]
    assert found.value == pytest.approx(truth, rel=0.15)


def test_gaps_of_opposite_sign_do_not_cancel() -> None:
    rng, groups, levels = level_rows(4, 10, 60, 60)
    scores = rng.random(groups.size) + 0.2 * groups * (1 - 2 * (levels % 2))
    contrast = contrast_of(scores, groups, levels)
    found = estimate_distance(contrast, np.full(10, 0.1))
    assert abs(signed_gap(contrast, np.full(10, 0.1)).value) < 0.05
    assert 0.1 < found.interval[0] < 0.2 < found.interval[1]


def test_ends_are_in_order_whatever_the_draws() -> None:
    for seed in range(40):
        scores, groups, levels = some_rows(seed, 60, digits=seed % 3)
        contrast, measure = contrast_of(scores, groups, levels), np.full(3, 1 / 3)
        lows = [
            estimate_distance(
                contrast, measure, confidence=confidence, draws=20, random_state=seed
            ).interval[0]
            for confidence in (0.99, 0.9, 0.5)
        ]
        assert all(one <= other for one, other in pairwise(lows))
        found = estimate_distance(contrast, measure, random_state=seed)
        assert found.value is not None
        assert 0.0 <= found.interval[0] <= found.value * (1 + 1e-9) + 1e-9
        assert found.value <= found.interval[1] * (1 + 1e-9)


# Its bias ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("crossings", [0, 1, 2, 4])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
def test_the_bias_of_bridges_is_at_least_the_formula_and_near_it(
    crossings: int, ratio: float
) -> None:
    """(∫|D + B|)² of Brownian bridges B, with r̂ and r_0 as they come out on average."""
    rng = np.random.default_rng(7)
    t = (np.arange(40) + 0.5) / 40
    steps = rng.normal(size=(4000, 40)) / math.sqrt(40)
    bridges = np.cumsum(steps, axis=1) - t * steps.sum(axis=1, keepdims=True)
    bridges = np.concatenate([bridges, -bridges])
    covariance = np.minimum.outer(t, t) - np.outer(t, t)
    noise = float((np.abs(bridges).mean(axis=1) ** 2).mean())
    shape = np.sqrt(t * (1.0 - t)) * np.sign(np.cos(math.pi * crossings * t))
    distance = ratio * math.sqrt(noise)
    apart = distance * shape / np.abs(shape).mean()

    def share(heights: FloatArray) -> float:
        signs = np.sign(heights[:800])
        return float(np.einsum("ri,ij,rj->r", signs, covariance, signs).mean()) / 1600 / noise

    known = SquaredDistance(0.0, noise, share(bridges + apart), share(bridges), 0.0, 0.0)
    formula = (float(known.mean(np.array(distance))) - distance**2) / noise
    bias = (float((np.abs(bridges + apart).mean(axis=1) ** 2).mean()) - distance**2) / noise
    assert -0.08 <= formula - bias <= 0.03


def test_the_upper_end_grows_with_what_was_seen_and_with_its_error() -> None:
    known = SquaredDistance(0.02, 0.01, 0.6, 0.4, 1e-4, 1e-5)
    base = largest_distance(known, 1.96)
    assert largest_distance(replace(known, total=0.03), 1.96) > base
    assert largest_distance(replace(known, slope=1e-3), 1.96) > base
    assert largest_distance(replace(known, spread=1e-4), 1.96) > base
    assert largest_distance(known, 2.58) > base > debias_distance(known)
    # What would be the truth has the total as its mean.
    value = debias_distance(known)
    np.testing.assert_allclose(known.mean(np.array(value)), 0.02, rtol=1e-6)


def test_less_than_noise_is_a_distance_of_zero() -> None:
    known = SquaredDistance(0.005, 0.01, 0.6, 0.4, 1e-4, 1e-6)
    assert debias_distance(known) == 0.0
    assert largest_distance(known, 1.96) > 0.0
    nothing = SquaredDistance(0.0, 0.0, 1.0, 1.0, 0.0, 0.0)
    assert largest_distance(nothing, 1.96) <= 1e-9


# Data that used to mislead -----------------------------------------------------------------------


def test_pairs_are_never_passed() -> None:
    """One against one in 500 levels, apart by a standard deviation."""
    rng, groups, levels = level_rows(5, 500, 1, 1)
    scores = rng.normal(size=1000) + groups
    found = estimate_distance(contrast_of(scores, groups, levels), np.full(500, 1 / 500))
    assert found.value is None
    assert found.replicated == 0.0
    assert found.interval[0] < 1.0 < found.interval[1]
    assert str(found.reason).startswith("100% of the measure sits in levels with a single row")


def test_single_rows_count_against_passing() -> None:
    """300 levels of one against twenty shifted by .4, 100 of five against twenty at parity."""
    rng = np.random.default_rng(6)
    levels = np.concatenate([np.repeat(np.arange(300), 21), np.repeat(np.arange(300, 400), 25)])
    groups = np.concatenate([np.tile([1] + [0] * 20, 300), np.tile([1] * 5 + [0] * 20, 100)])
    scores = rng.beta(3, 3, levels.size) + 0.4 * groups * (levels < 300)
    contrast = contrast_of(scores, groups, levels)
    measure = marginal(contrast)
    found = estimate_distance(contrast, measure)
    truth = 0.4 * math.sqrt(measure[:300].sum())
    assert found.interval[0] < truth < found.interval[1]
    assert found.replicated == pytest.approx(measure[300:].sum())
    assert "72% of the measure" in str(found.reason)


def test_zeros_and_a_continuous_part_are_no_trap() -> None:
    rng, groups, levels = level_rows(7, 60, 20, 20)
    zero = rng.random(groups.size) < np.where(groups == 1, 0.45, 0.3)
    scores = np.where(zero, 0.0, rng.uniform(0.4, 0.8, groups.size))
    found = estimate_distance(contrast_of(scores, groups, levels), np.full(60, 1 / 60))
    assert found.interval[0] < 0.09 < found.interval[1]
    assert found.value == pytest.approx(0.09, abs=0.03)


def test_ten_rows_that_agree_are_few() -> None:
    found = estimate_distance(contrast_of([0.0] * 10, [0, 1] * 5), ONE)
    assert found.interval[0] == 0.0
    assert 0.3 < found.interval[1] < 1.0
    several = estimate_distance(
        contrast_of([0.0] * 40, [0, 1] * 20, np.arange(40) // 10), ONE / 4 * np.ones(4)
    )
    assert several.value == several.interval[0] == 0.0
    assert 0.05 < several.interval[1] < 0.6


def test_equal_scores_set_no_limit() -> None:
    found = estimate_distance(contrast_of([0.7] * 10, [0, 1] * 5), ONE)
    assert found.value == found.squared == 0.0
    assert found.interval == (0.0, math.inf)
    assert found.reason == ALL_EQUAL


def test_groups_that_are_identical_are_not_known_to_be_equal() -> None:
    scores = np.tile(np.random.default_rng(0).random(40), 2)
    columns = np.repeat([0, 1], 40), np.tile(np.arange(40) // 4, 2)
    found = estimate_distance(contrast_of(scores, *columns), np.full(10, 0.1))
    assert found.value == found.interval[0] == 0.0
    assert found.squared < 0.0
    assert found.interval[1] > 0.05


def test_scores_that_vary_in_no_cell_set_no_limit() -> None:
    columns = [0.7, 0.9, 0.8, 0.1] * 3, [0, 1] * 6, [0, 0, 1, 1] * 3
    found = estimate_distance(contrast_of(*columns), np.array([0.5, 0.5]))
    assert found.value == pytest.approx(math.sqrt(0.5 * 0.2**2 + 0.5 * 0.7**2))
    assert found.interval == (0.0, math.inf)
    assert "do not vary inside any cell" in str(found.reason)


def test_where_spread_is_unknown_there_is_no_upper_end() -> None:
    found = estimate_distance(
        contrast_of([0.1, 0.5, 0.2, 0.9], [0, 1, 0, 1], [0, 0, 1, 1]), ONE / 2 * np.ones(2)
    )
    assert found.value is None
    assert found.interval[1] == math.inf


def test_weights_and_clusters_are_seen() -> None:
    rng = np.random.default_rng(8)
    groups, levels = np.arange(240) % 2, np.arange(240) // 2 % 4
    scores = rng.normal(size=240)
    measure = np.full(4, 0.25)
    plain = estimate_distance(contrast_of(scores, groups, levels), measure)
    weight = 0.01 + scores**2
    heavy = estimate_distance(contrast_of(scores, groups, levels, sample_weight=weight), measure)
    assert heavy.reason == HEAVY_WEIGHTS
    assert heavy.interval[1] > plain.interval[1]
    person = np.repeat(np.arange(240), 5)
    copied = [column[person] for column in (scores, groups, levels)]
    known = estimate_distance(contrast_of(*copied, cluster=person), measure)
    believed = estimate_distance(contrast_of(*copied), measure)
    np.testing.assert_allclose(known.interval[1], plain.interval[1], rtol=0.1)
    assert believed.interval[1] < 0.9 * known.interval[1]


# Numbers of any size, any order, any threads -----------------------------------------------------


@pytest.mark.parametrize("factor", [1e-200, 1e-60, 1e60, 1e200])
@pytest.mark.parametrize("kind", ["scores", "decisions", "weights"])
def test_distances_follow_the_scale_of_scores_and_weights(factor: float, kind: str) -> None:
    scores, groups, levels = some_rows(9, 150, digits=0 if kind == "decisions" else 6)
    if kind == "decisions":
        scores = (scores > 1.0).astype(float)
    weight = np.random.default_rng(0).gamma(2.0, size=150) if kind == "weights" else None
    more = None if weight is None else weight * factor
    plain = contrast_of(scores, groups, levels, sample_weight=weight)
    scaled = contrast_of(scores * factor, groups, levels, sample_weight=more)
    measure = np.array([0.2, 0.3, 0.5])
    one, other = estimate_distance(plain, measure), estimate_distance(scaled, measure)
    np.testing.assert_allclose(np.array(other.interval) / factor, one.interval, rtol=1e-9)
    assert one.value is not None
    assert other.value is not None
    np.testing.assert_allclose(other.value / factor, one.value, rtol=1e-9)
    assert not math.isnan(other.squared)


def test_distances_do_not_move_with_all_scores() -> None:
    scores, groups, levels = some_rows(10, 150, digits=2)
    one, other = (
        estimate_distance(contrast_of(scores + move, groups, levels), np.full(3, 1 / 3))
        for move in (0.0, 1e9)
    )
    np.testing.assert_allclose(other.interval, one.interval, rtol=1e-4, atol=1e-5)


def test_an_outlier_far_away_leaves_numbers() -> None:
    scores, groups, levels = some_rows(11, 90)
    scores[0] = 1e150
    found = estimate_distance(contrast_of(scores, groups, levels), np.full(3, 1 / 3))
    assert found.value is not None
    assert np.isfinite([found.value, *found.interval]).all()


def test_the_order_of_rows_does_not_matter() -> None:
    scores, groups, levels = some_rows(12, 150)
    weight, cluster = np.arange(150) % 3 + 1.0, np.arange(150) // 4
    shuffled = np.random.default_rng(0).permutation(150)
    columns = scores, groups, levels, weight, cluster
    one, other = (
        estimate_distance(
            contrast_of(s, g, lv, sample_weight=w, cluster=c), np.full(3, 1 / 3), random_state=5
        )
        for s, g, lv, w, c in (columns, tuple(column[shuffled] for column in columns))
    )
    np.testing.assert_allclose(one.interval, other.interval, rtol=1e-9)


def test_the_same_seed_gives_the_same_estimate_on_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contrast = contrast_of(*some_rows(13, 200))
    found = []
    for threads in ("1", "4"):
        monkeypatch.setenv("LIKEFORLIKE_THREADS", threads)
        found.append(estimate_distance(contrast, np.full(3, 1 / 3), random_state=9))
    assert found[0] == found[1]
    assert found[0] != estimate_distance(contrast, np.full(3, 1 / 3), random_state=10)


def test_ten_billion_rows_in_bins_are_known_well() -> None:
    values = np.tile((np.arange(100) + 0.5) / 100, 2)
    counts = np.concatenate([np.full(100, 5 * 10**7), np.linspace(4e7, 6e7, 100).astype(np.int64)])
    cells = Cells.from_counts(None, np.repeat([0, 1], 100), values, counts, resolution=0.01)
    assert counts.sum() == pytest.approx(1e10, rel=0.01)
    found = estimate_distance(contrasts(cells, "pairwise")[0], ONE)
    exact = stats.wasserstein_distance(values[:100], values[100:], counts[:100], counts[100:])
    assert found.value == pytest.approx(exact, rel=1e-4)
    # Without sums inside bins, every distance may be off by one.
    assert np.ptp(found.interval) < 2.0 * found.rounding + 1e-4


def test_confidence_must_be_a_probability() -> None:
    with pytest.raises(InputError, match="confidence must lie between 0 and 1"):
        estimate_distance(contrast_of([0.1, 0.2], [0, 1]), ONE, confidence=1.0)


@pytest.mark.parametrize("quantile", [0.0, 1.0, 1.96, 4.0])
@pytest.mark.parametrize("total", [0.0, 0.003, 0.02, 0.5])
def test_largest_distance_is_found_by_halving(total: float, quantile: float) -> None:
    known = SquaredDistance(
        total, 0.01, 0.3, 0.6, 1e-3, 2e-5, np.array([[0.01, 0.4], [1e-4, 2e-3]])
    )
    found = largest_distance(known, quantile)
    least = float(known.lower_quantile(np.zeros(()), 0.5 * quantile))

    def allowed(distance: float) -> bool:
        return bool(known.lower_quantile(np.array(distance), quantile) <= max(total, least))

    if found > 0.0:
        low, high = 0.999 * found, 1.001 * found + 1e-9
        for _ in range(60):
            middle = (low + high) / 2.0
            low, high = (middle, high) if allowed(middle) else (low, middle)
        assert found == pytest.approx(high, rel=1e-9, abs=1e-9)
