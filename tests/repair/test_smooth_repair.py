"""Repair along a number: parity stays parity, a shift goes, and the number keeps its due."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.penalties import Layout
from likeforlike.repair import ConditionalBarycenter
from likeforlike.training import estimate_smooth_disparity
from likeforlike.training._limits import distance_or_inf


class LossTerms(NamedTuple):
    scores: FloatArray
    groups: IntArray
    numbers: FloatArray


def scored(seed: int, size: int, gap: float, spread: float = 0.05) -> LossTerms:
    """Scores that follow a skewed number, with an even gap between groups."""
    rng = np.random.default_rng(seed)
    number = rng.gamma(2.0, 1.0, size)
    group = (rng.random(size) < 1.0 / (1.0 + np.exp(2.0 - number))).astype(int)
    scores = 0.7 * np.tanh(0.5 * number) + gap * group
    return LossTerms(scores + spread * rng.standard_normal(size), group, number)


def repaired(fit: LossTerms, new: LossTerms, t: float = 1.0) -> FloatArray:
    repair = ConditionalBarycenter(t, smooth=True).fit(
        fit.scores, sensitive_features=fit.groups, legitimate_features=fit.numbers
    )
    return repair.transform(
        new.scores, sensitive_features=new.groups, legitimate_features=new.numbers
    )


def disparity(scores: FloatArray, data: LossTerms) -> float:
    return distance_or_inf(
        estimate_smooth_disparity(scores, Layout.from_columns(data.groups, data.numbers))
    )


@pytest.mark.parametrize("size", [2000, 20_000])
def test_parity_stays_parity_where_bins_create_disparity(size: int) -> None:
    fit, new = scored(1, size, 0.0), scored(2, size, 0.0)
    before, after = disparity(new.scores, new), disparity(repaired(fit, new), new)
    assert after <= before + 0.005
    edges = np.quantile(fit.numbers, np.arange(1, 5) / 5)
    bins = [np.searchsorted(edges, data.numbers) for data in (fit, new)]
    binned = ConditionalBarycenter(shrink=False).fit(
        fit.scores, sensitive_features=fit.groups, legitimate_features=bins[0]
    )
    made = binned.transform(new.scores, sensitive_features=new.groups, legitimate_features=bins[1])
    assert disparity(made, new) > 1.5 * after


@pytest.mark.parametrize("size", [2000, 20_000])
def test_a_quarter_of_a_shift_is_left_at_most(size: int) -> None:
    fit, new = scored(3, size, 0.05), scored(4, size, 0.05)
    scores = repaired(fit, new)
    assert disparity(new.scores, new) == pytest.approx(0.05, abs=0.01)
    assert disparity(scores, new) <= 0.25 * disparity(new.scores, new)
    # Nobody moves by more than the gap and some noise, whatever the number.
    assert np.abs(scores - new.scores).max() < 0.1
    assert np.mean((scores - new.scores) ** 2) < 0.05**2 / 3


def test_half_the_way_leaves_half() -> None:
    fit, new = scored(5, 20_000, 0.1), scored(6, 20_000, 0.1)
    assert disparity(repaired(fit, new, t=0.5), new) == pytest.approx(0.05, abs=0.006)
    np.testing.assert_array_equal(repaired(fit, new, t=0.0), new.scores)


def test_a_gap_that_changes_along_the_number_is_followed() -> None:
    def turning(seed: int) -> LossTerms:
        data = scored(seed, 20_000, 0.0)
        sign = np.where(data.numbers < 1.5, 1.0, -1.0)
        return data._replace(scores=data.scores + 0.08 * sign * data.groups)

    fit, new = turning(7), turning(8)
    assert disparity(repaired(fit, new), new) <= 0.35 * disparity(new.scores, new)


def test_decisions_stay_decisions() -> None:
    def decided(seed: int) -> LossTerms:
        data = scored(seed, 20_000, 0.08, spread=0.2)
        return data._replace(scores=(data.scores > 0.45).astype(float))

    fit, new = decided(9), decided(10)
    found = repaired(fit, new)
    assert set(np.unique(found)) == {0.0, 1.0}
    assert disparity(found, new) <= 0.3 * disparity(new.scores, new)
    assert found.mean() == pytest.approx(new.scores.mean(), abs=0.02)
    np.testing.assert_array_equal(found, repaired(fit, new))


def test_ratings_that_fit_has_not_seen_count_as_the_nearest() -> None:
    data = scored(11, 4000, 0.05)
    fit = data._replace(scores=np.round(data.scores, 1))
    new = fit._replace(scores=np.where(np.arange(4000) % 7 == 0, 5.0, fit.scores))
    assert repaired(fit, new).max() == fit.scores.max()


def test_the_predicted_risk_is_the_change_of_the_rows() -> None:
    data = scored(12, 5000, 0.1)
    weight = np.random.default_rng(13).random(5000)
    weight[:50] = 0.0
    who = {"sensitive_features": data.groups, "legitimate_features": data.numbers}
    repair = ConditionalBarycenter(smooth=True, repair_level=0.8).fit(
        data.scores, **who, sample_weight=weight
    )
    found = repair.transform(data.scores, **who, sample_weight=weight)
    change = np.average((found - data.scores) ** 2, weights=weight)
    assert repair.predicted_risk_ == pytest.approx(change, rel=1e-9)
    assert repair.coverage_ == {0: 1.0, 1: 1.0}
    assert (np.diff(np.array(repair.levels_, dtype=float)) > 0.0).all()


def test_categories_are_carried_each_along_its_own_number() -> None:
    fit, new = scored(14, 20_000, 0.05), scored(15, 20_000, 0.05)

    def levels(data: LossTerms) -> np.ndarray:
        made = np.empty(data.numbers.size, dtype=object)
        made[:] = list(zip(np.where(np.arange(made.size) % 2, "a", "b"), data.numbers, strict=True))
        return made

    def lifted(data: LossTerms) -> FloatArray:
        return data.scores + 0.3 * (np.arange(data.scores.size) % 2)

    repair = ConditionalBarycenter(smooth=True).fit(
        lifted(fit), sensitive_features=fit.groups, legitimate_features=levels(fit)
    )
    found = repair.transform(
        lifted(new), sensitive_features=new.groups, legitimate_features=levels(new)
    )
    layout = Layout.from_columns(new.groups, levels(new))
    assert distance_or_inf(estimate_smooth_disparity(found, layout)) < 0.0125
    assert np.abs(found - lifted(new)).max() < 0.1
    unknown = levels(new)
    unknown[0] = ("c", 1.0)
    with pytest.raises(lfl.errors.InputError, match="which fit has not seen"):
        repair.transform(lifted(new), sensitive_features=new.groups, legitimate_features=unknown)


def test_three_groups() -> None:
    rng = np.random.default_rng(16)
    data = scored(17, 15_000, 0.0)
    groups = np.where(rng.random(15_000) < 0.2, 2, data.groups)
    three = LossTerms(
        data.scores + 0.05 * (groups == 2) - 0.05 * (groups == 1), groups, data.numbers
    )
    found = repaired(three, three)
    assert disparity(found, three) <= 0.25 * disparity(three.scores, three)


def test_bad_input() -> None:
    data = scored(18, 200, 0.0)
    with pytest.raises(lfl.errors.InputError, match="smooth=True needs legitimate_features"):
        ConditionalBarycenter(smooth=True).fit(data.scores, sensitive_features=data.groups)
    with pytest.raises(lfl.errors.InputError, match="smooth=True compares along a number, but"):
        ConditionalBarycenter(smooth=True).fit(
            data.scores,
            sensitive_features=data.groups,
            legitimate_features=np.where(data.numbers > 1, "high", "low"),
        )
    with pytest.raises(lfl.errors.InputError, match="smooth must be True or False, not 'yes'"):
        ConditionalBarycenter(smooth="yes").fit(  # type: ignore[arg-type]
            data.scores, sensitive_features=data.groups
        )


@pytest.mark.simulation
def test_few_rows_along_a_number_do_no_harm() -> None:
    new = scored(40, 3000, 0.0)
    ways: list[dict[str, Any]] = [{"shrink": False}, {}, {"cv": 5}]
    after = np.empty((8, 3))
    for seed in range(8):
        fit = scored(50 + seed, 300, 0.0)
        for k, settings in enumerate(ways):
            repair = ConditionalBarycenter(smooth=True, **settings).fit(
                fit.scores, sensitive_features=fit.groups, legitimate_features=fit.numbers
            )
            moved = repair.transform(
                new.scores, sensitive_features=new.groups, legitimate_features=new.numbers
            )
            after[seed, k] = disparity(moved, new) ** 2
    whole, shrunk, checked = after.mean(axis=0) - disparity(new.scores, new) ** 2
    # It can fail: all of the repair does harm.
    assert whole > 3.0 * after[:, 0].std(ddof=1) / np.sqrt(8)
    assert max(shrunk, checked) < 0.3 * whole
