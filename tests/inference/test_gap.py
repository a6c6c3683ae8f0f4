"""Signed gaps beside known intervals, single rows by their formula, scores of any size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from likeforlike import Cells
from likeforlike._arrays import FloatArray
from likeforlike.disparity import contrasts
from likeforlike.errors import InputError
from likeforlike.inference import bonferroni_confidence, level_gaps, signed_gap
from likeforlike.inference._gap import ALL_EQUAL, HEAVY_WEIGHTS, newcombe_limits, wilson_limits
from tests.inference.rows import contrast_of, marginal, some_rows

ONE = np.ones(1)


@pytest.mark.parametrize("sizes", [(30, 50), (12, 7), (200, 6)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.995])
def test_one_level_gives_the_interval_of_welch(sizes: tuple[int, int], confidence: float) -> None:
    rng = np.random.default_rng(sizes[0])
    x, y = rng.normal(size=sizes[0]), 2.0 * rng.normal(size=sizes[1]) + 0.4
    # Scores that are symmetric around their mean have no skewness that would widen an end.
    x, y = np.concatenate([x, -x]), np.concatenate([y, 0.8 - y])
    contrast = contrast_of(np.concatenate([x, y]), np.repeat([0, 1], [x.size, y.size]))
    found = signed_gap(contrast, ONE, confidence=confidence)
    test = stats.ttest_ind(y, x, equal_var=False)
    expected = test.confidence_interval(confidence)
    np.testing.assert_allclose(found.interval, [expected.low, expected.high], rtol=1e-10)
    np.testing.assert_allclose(found.df, test.df, rtol=1e-10)
    assert (found.method, found.reason) == ("t", None)
    levels = level_gaps(contrast, confidence=confidence)
    np.testing.assert_allclose([levels.low[0], levels.high[0]], found.interval, rtol=1e-12)


def test_ordinary_scores_have_too_little_skewness_to_matter() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random(40), rng.beta(2, 3, 60)
    contrast = contrast_of(np.concatenate([x, y]), np.repeat([0, 1], [40, 60]))
    expected = stats.ttest_ind(y, x, equal_var=False).confidence_interval()
    found = signed_gap(contrast, ONE)
    np.testing.assert_allclose(found.interval, [expected.low, expected.high], rtol=1e-10)


def test_a_few_rows_of_pay_widen_the_end_of_the_longer_tail() -> None:
    pay = np.exp(np.random.default_rng(2).normal(size=108))
    groups = np.repeat([0, 1], [100, 8])
    found = signed_gap(contrast_of(pay, groups), ONE)
    plain = stats.ttest_ind(pay[groups == 1], pay[groups == 0], equal_var=False)
    plain_low, plain_high = plain.confidence_interval()
    np.testing.assert_allclose(found.interval[0], plain_low, rtol=1e-10)
    assert found.interval[1] > plain_high + 0.2 * found.error


@pytest.mark.parametrize(
    ("first", "second"),
    [((50, 100), (35, 100)), ((0, 50), (2, 50)), ((9, 9), (0, 6)), ((3, 7), (1, 20))],
)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_decisions_of_one_level_have_the_interval_of_newcombe(
    first: tuple[int, int], second: tuple[int, int], confidence: float
) -> None:
    scores = np.concatenate([np.arange(n) < hits for hits, n in (first, second)]).astype(float)
    contrast = contrast_of(scores, np.repeat([0, 1], [first[1], second[1]]))
    found = signed_gap(contrast, ONE, confidence=confidence)
    expected = confint_proportions_2indep(*second, *first, method="newcomb", alpha=1.0 - confidence)
    np.testing.assert_allclose(found.interval, expected, rtol=1e-10, atol=1e-12)
    assert found.method == "rates"
    levels = level_gaps(contrast, confidence=confidence)
    np.testing.assert_allclose([levels.low[0], levels.high[0]], expected, rtol=1e-10, atol=1e-12)


def test_limits_of_few_decisions_are_corrected_for_their_steps() -> None:
    """Newcombe (1998), table II: 56 of 70 and 48 of 80 by method 11."""
    rates, rows = np.array([[48 / 80, 56 / 70]]), np.array([[80.0, 70.0]])
    z = float(stats.norm.ppf(0.975))
    low, high = wilson_limits(rates, rows, z, continuity=True)
    found = np.concatenate(newcombe_limits(rates, low, high, np.zeros(1)))
    np.testing.assert_allclose(found, [0.0428, 0.3422], atol=5e-5)
    # Two against two that disagree are no evidence, nor is one against three.
    for sizes in ((2, 2), (1, 3)):
        contrast = contrast_of(np.repeat([1.0, 0.0], sizes), np.repeat([0, 1], sizes))
        assert signed_gap(contrast, ONE).interval[1] > 0.0
        assert level_gaps(contrast).high[0] == pytest.approx(signed_gap(contrast, ONE).interval[1])


@pytest.mark.parametrize("hits", [0, 1, 7, 20])
def test_limits_of_a_rate_are_those_of_wilson(hits: int) -> None:
    z = float(stats.norm.ppf(0.95))
    low, high = wilson_limits(np.array([hits / 20]), np.array([20.0]), z)
    expected = proportion_confint(hits, 20, alpha=0.1, method="wilson")
    np.testing.assert_allclose([low[0], high[0]], expected, rtol=1e-10, atol=1e-12)


def test_correlated_rates_are_closer() -> None:
    rates, low, high = (np.array([pair]) for pair in ((0.3, 0.5), (0.2, 0.4), (0.4, 0.6)))
    widths = [
        float(np.ptp(newcombe_limits(rates, low, high, np.array([correlation]))))
        for correlation in (-0.5, 0.0, 0.5)
    ]
    np.testing.assert_allclose(np.square(widths), np.square(0.2) * np.array([3.0, 2.0, 1.0]))


def test_decisions_of_several_levels_have_the_interval_of_their_worth() -> None:
    """Wilson with n = 1 + p (1 - p) / V, held to Newcombe's formula by statsmodels' limits."""
    rng = np.random.default_rng(3)
    groups, levels = np.arange(4000) % 2, np.arange(4000) // 2 % 4
    scores = (rng.random(4000) < 0.2 + 0.15 * levels + 0.1 * groups).astype(float)
    measure = np.array([0.1, 0.2, 0.3, 0.4])
    found = signed_gap(contrast_of(scores, groups, levels), measure)
    rates, ends = np.empty(2), []
    for g in (0, 1):
        p = np.array([scores[(levels == k) & (groups == g)].mean() for k in range(4)])
        rates[g] = measure @ p
        variance = float(measure**2 @ (p * (1 - p) / 499))
        rows = 1.0 + rates[g] * (1 - rates[g]) / variance
        ends.append(proportion_confint(rates[g] * rows, rows, method="wilson"))
    low = found.value - math.hypot(rates[1] - ends[1][0], ends[0][1] - rates[0])
    high = found.value + math.hypot(ends[1][1] - rates[1], rates[0] - ends[0][0])
    # The variance is known by a few rows less than there are.
    np.testing.assert_allclose(found.interval, [low, high], rtol=1e-3)
    np.testing.assert_allclose(found.value, rates[1] - rates[0], rtol=1e-12)


def test_several_levels_have_the_error_of_a_stratified_difference() -> None:
    scores, groups, levels = some_rows(4, 200, levels=4, digits=6)
    measure = np.array([0.4, 0.3, 0.2, 0.1])
    found = signed_gap(contrast_of(scores, groups, levels), measure)
    gap = variance = 0.0
    for k, q in enumerate(measure):
        x, y = (scores[(levels == k) & (groups == g)] for g in (0, 1))
        gap += q * (y.mean() - x.mean())
        variance += q**2 * (x.var(ddof=1) / x.size + y.var(ddof=1) / y.size)
    np.testing.assert_allclose(found.value, gap, rtol=1e-10)
    np.testing.assert_allclose(found.error, math.sqrt(variance), rtol=1e-10)
    assert 100 < found.df < 200


# Single rows -------------------------------------------------------------------------------------


def pairs(levels: int, seed: int = 0, shift: float = 1.0) -> tuple[FloatArray, ...]:
    rng = np.random.default_rng(seed)
    groups = np.tile([0, 1], levels)
    return rng.normal(size=2 * levels) + shift * groups, groups, np.repeat(np.arange(levels), 2)


def test_pairs_have_the_variance_of_pashley_and_miratrix() -> None:
    scores, groups, levels = pairs(20)
    measure = np.arange(1.0, 21.0) / 210.0
    found = signed_gap(contrast_of(scores, groups, levels), measure)
    gaps = scores[1::2] - scores[::2]
    part = measure**2 / (1.0 - 2.0 * measure)
    variance = float(part @ (gaps - measure @ gaps) ** 2) / (1.0 + part.sum())
    np.testing.assert_allclose(found.value, measure @ gaps, rtol=1e-10)
    np.testing.assert_allclose(found.error**2, variance, rtol=1e-10)
    assert (found.method, found.reason) == ("t", None)


def test_equal_pairs_have_the_paired_t_interval_but_for_its_freedom() -> None:
    scores, groups, levels = pairs(30)
    found = signed_gap(contrast_of(scores, groups, levels), np.full(30, 1 / 30))
    paired = stats.ttest_rel(scores[1::2], scores[::2])
    np.testing.assert_allclose(found.value / found.error, paired.statistic, rtol=1e-10)


def test_five_hundred_pairs_show_the_gap_they_have() -> None:
    """One against one in 500 levels, apart by a standard deviation."""
    scores, groups, levels = pairs(500, seed=1)
    found = signed_gap(contrast_of(scores, groups, levels), np.full(500, 1 / 500))
    low, high = found.interval
    assert 0.75 < low < 1.0 < high < 1.25


def test_a_few_single_rows_borrow_the_spread_of_the_others() -> None:
    rng = np.random.default_rng(5)
    levels = np.concatenate([np.zeros(40, int), [1, 1]])
    groups = np.concatenate([np.arange(40) % 2, [0, 1]])
    contrast = contrast_of(rng.normal(size=42), groups, levels)
    found = signed_gap(contrast, np.array([0.9, 0.1]))
    assert found.reason is not None
    assert "taken from the other cells" in found.reason
    without = signed_gap(contrast, np.array([1.0, 0.0]))
    assert found.error > 0.9 * without.error
    assert without.reason is None


def test_single_rows_alone_have_no_interval() -> None:
    found = signed_gap(contrast_of([0.1, 0.4, 0.2], [0, 1, 1]), ONE)
    assert found.interval == (-math.inf, math.inf)
    assert (found.method, found.df, found.error) == ("none", 0.0, math.inf)
    assert "nothing shows how much people differ" in str(found.reason)
    levels = level_gaps(contrast_of([0.1, 0.4, 0.2], [0, 1, 1]))
    assert (levels.low[0], levels.high[0], levels.df[0]) == (-math.inf, math.inf, 0.0)


def test_a_single_decision_still_has_an_interval() -> None:
    found = signed_gap(contrast_of([1.0, 0.0, 0.0, 0.0], [0, 1, 1, 1]), ONE)
    low, high = found.interval
    assert low == -1.0
    assert 0.0 < high < 0.5


# Nothing varies ----------------------------------------------------------------------------------


def test_ten_decisions_that_agree_are_few() -> None:
    found = signed_gap(contrast_of([0.0] * 10, [0, 1] * 5), ONE)
    low, high = found.interval
    assert low == pytest.approx(-high)
    assert 0.4 < high < 0.6
    twelve = signed_gap(contrast_of([0.0] * 12, [0, 1] * 6), ONE)
    expected = confint_proportions_2indep(0, 6, 0, 6, method="newcomb")
    np.testing.assert_allclose(twelve.interval, expected, rtol=1e-10)


def test_equal_scores_set_no_limit() -> None:
    found = signed_gap(contrast_of([0.7] * 10, [0, 1] * 5), ONE)
    assert (found.value, found.method, found.reason) == (0.0, "none", ALL_EQUAL)
    apart = signed_gap(contrast_of([0.7, 0.9] * 5, [0, 1] * 5, np.repeat([0], 10)), ONE)
    assert apart.method == "rates"
    columns = [0.7, 0.9, 0.8, 0.1] * 3, [0, 1] * 6, [0, 0, 1, 1] * 3
    constant = signed_gap(contrast_of(*columns), np.array([0.5, 0.5]))
    assert constant.method == "none"
    assert "do not vary inside any cell" in str(constant.reason)


# Weights, clusters -------------------------------------------------------------------------------


def test_equal_weights_change_nothing_but_the_correction_of_freedom() -> None:
    columns = some_rows(6, 200)
    plain = signed_gap(contrast_of(*columns), np.full(3, 1 / 3))
    weighted = signed_gap(contrast_of(*columns, sample_weight=np.full(200, 3.0)), np.full(3, 1 / 3))
    np.testing.assert_allclose(weighted.interval, plain.interval, rtol=1e-10)


def test_the_interval_of_weighted_means_holds_the_corrected_gap_too() -> None:
    rng = np.random.default_rng(7)
    scores, groups = rng.normal(size=60), np.arange(60) % 2
    weight = np.exp(1.5 * scores)
    found = signed_gap(contrast_of(scores, groups, sample_weight=weight), ONE)
    low, high = found.interval
    assert abs((high - found.value) - (found.value - low)) > 0.01
    assert found.reason == HEAVY_WEIGHTS


def test_rows_of_one_person_are_one_person() -> None:
    """Five copies of every row are no more evidence than one."""
    scores, groups, levels = some_rows(8, 90, digits=6)
    once = signed_gap(contrast_of(scores, groups, levels), np.full(3, 1 / 3))
    person = np.repeat(np.arange(90), 5)
    copied = contrast_of(scores[person], groups[person], levels[person], cluster=person)
    found = signed_gap(copied, np.full(3, 1 / 3))
    np.testing.assert_allclose(found.error, once.error, rtol=1e-10)
    np.testing.assert_allclose(found.interval, once.interval, rtol=0.02)
    believed = signed_gap(
        contrast_of(scores[person], groups[person], levels[person]), np.full(3, 1 / 3)
    )
    assert believed.error < 0.5 * found.error


def test_what_groups_share_by_clusters_cancels() -> None:
    rng = np.random.default_rng(9)
    house = np.repeat(np.arange(60), 2)
    groups = np.tile([0, 1], 60)
    scores = 5.0 * rng.normal(size=60)[house] + 0.1 * rng.normal(size=120)
    contrast = contrast_of(scores, groups, cluster=house)
    found, apart = signed_gap(contrast, ONE), signed_gap(contrast_of(scores, groups), ONE)
    paired = stats.ttest_rel(scores[1::2], scores[::2])
    assert found.error < 0.1 * apart.error
    np.testing.assert_allclose(found.value / found.error, paired.statistic, rtol=1e-8)
    levels = level_gaps(contrast)
    np.testing.assert_allclose(levels.error[0], found.error, rtol=1e-10)
    decided = contrast_of((scores > 0).astype(float), groups, cluster=house)
    assert np.ptp(signed_gap(decided, ONE).interval) < 0.2
    np.testing.assert_allclose(
        [level_gaps(decided).low[0], level_gaps(decided).high[0]],
        signed_gap(decided, ONE).interval,
        rtol=0.05,
    )


def test_people_in_several_pairs_are_seen() -> None:
    rng = np.random.default_rng(10)
    levels, groups = np.repeat(np.arange(200), 2), np.tile([0, 1], 200)
    person = rng.integers(0, 10, 400) + 10 * groups
    scores = rng.normal(size=20)[person] + 0.1 * rng.normal(size=400)
    measure = np.full(200, 1 / 200)
    known = signed_gap(contrast_of(scores, groups, levels, cluster=person), measure)
    assert known.error > 2.0 * signed_gap(contrast_of(scores, groups, levels), measure).error


# Levels ------------------------------------------------------------------------------------------


def test_gaps_of_levels_are_those_of_each_level_alone() -> None:
    scores, groups, levels = some_rows(11, 160, levels=4, digits=6)
    found = level_gaps(contrast_of(scores, groups, levels))
    for k in range(4):
        x, y = (scores[(levels == k) & (groups == g)] for g in (0, 1))
        expected = stats.ttest_ind(y, x, equal_var=False)
        ends = expected.confidence_interval()
        np.testing.assert_allclose(found.value[k], y.mean() - x.mean(), rtol=1e-10)
        np.testing.assert_allclose([found.low[k], found.high[k]], [ends.low, ends.high], rtol=1e-10)


def test_tiny_cells_get_the_cautious_freedom() -> None:
    rng = np.random.default_rng(12)
    contrast = contrast_of(rng.normal(size=44), np.repeat([0, 1], [4, 40]))
    assert signed_gap(contrast, ONE).df == level_gaps(contrast).df[0] == 3.0


# Numbers of any size -----------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [1e-200, 1e-50, 1e50, 1e200])
@pytest.mark.parametrize("weighted", [False, True])
def test_gaps_follow_the_scale_of_scores_and_weights(factor: float, weighted: bool) -> None:
    scores, groups, levels = some_rows(13, 150, digits=6)
    weight = np.random.default_rng(0).gamma(2.0, size=150) if weighted else None
    more = None if weight is None else weight * factor
    plain = contrast_of(scores, groups, levels, sample_weight=weight)
    scaled = contrast_of(scores * factor, groups, levels, sample_weight=more)
    one, other = (signed_gap(c, marginal(c)) for c in (plain, scaled))
    np.testing.assert_allclose(np.array(other.interval) / factor, one.interval, rtol=1e-9)
    np.testing.assert_allclose(other.error / factor, one.error, rtol=1e-9)
    np.testing.assert_allclose(level_gaps(scaled).high / factor, level_gaps(plain).high, rtol=1e-9)


def test_gaps_do_not_move_with_all_scores() -> None:
    scores, groups, levels = some_rows(14, 150, digits=2)
    one, other = (
        signed_gap(contrast_of(scores + move, groups, levels), np.full(3, 1 / 3))
        for move in (0.0, 1e9)
    )
    np.testing.assert_allclose(other.interval, one.interval, rtol=1e-5)


def test_an_outlier_far_away_leaves_numbers() -> None:
    scores, groups, levels = some_rows(15, 90)
    scores[0] = 1e150
    found = signed_gap(contrast_of(scores, groups, levels), np.full(3, 1 / 3))
    assert np.isfinite([found.value, found.error, found.df, *found.interval]).all()
    levels_too = level_gaps(contrast_of(scores, groups, levels))
    assert np.isfinite([levels_too.low, levels_too.high]).all()


def test_counts_are_rows() -> None:
    values, groups = np.tile([0.1, 0.4, 0.9], 2), np.repeat([0, 1], 3)
    counts = np.array([30, 20, 10, 15, 25, 40])
    counted = contrasts(Cells.from_counts(None, groups, values, counts), "pairwise")[0]
    rows = contrast_of(np.repeat(values, counts), np.repeat(groups, counts))
    assert signed_gap(counted, ONE) == signed_gap(rows, ONE)
    many = contrasts(Cells.from_counts(None, groups, values, counts * 10**8), "pairwise")[0]
    np.testing.assert_allclose(
        signed_gap(many, ONE).error * 1e4, signed_gap(counted, ONE).error, rtol=0.02
    )


def test_several_intervals_hold_together() -> None:
    assert bonferroni_confidence(0.9, 1) == pytest.approx(0.9)
    assert bonferroni_confidence(0.95, 45) == pytest.approx(1 - 0.05 / 45)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, math.nan])
def test_confidence_must_be_a_probability(confidence: float) -> None:
    contrast = contrast_of([0.1, 0.2, 0.4, 0.3], [0, 1, 0, 1])
    with pytest.raises(InputError, match="confidence must lie between 0 and 1"):
        signed_gap(contrast, ONE, confidence=confidence)
    with pytest.raises(InputError, match="confidence must lie between 0 and 1"):
        level_gaps(contrast, confidence=confidence)
