"""Simpson's paradox by signed gaps: its covariance, and how often it is claimed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks.calibration_estimates import paradoxes
from benchmarks.estimate_settings import SIMPSON
from benchmarks.made_rows import Rows
from likeforlike.errors import InputError
from likeforlike.inference import compare_gaps, signed_gap, take_sample
from likeforlike.inference._gap import _covariance
from tests.inference.rows import contrast_of, marginal


def confounded(seed: int, gap: float, size: int = 600) -> Rows:
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, size)
    levels = rng.binomial(4, 0.4 + 0.2 * groups)
    scores = levels / 4 + 0.2 * rng.normal(size=size) + gap * groups
    return Rows(scores, groups, levels)


def both_gaps(scores: Any, groups: Any, levels: Any) -> tuple[float, float]:
    overall = scores[groups == 1].mean() - scores[groups == 0].mean()
    among = 0.0
    for k in np.unique(levels):
        here = levels == k
        first, second = (scores[here & (groups == g)].mean() for g in (0, 1))
        among += here.mean() * (second - first)
    return overall, among


def test_the_covariance_is_that_of_leaving_rows_out() -> None:
    rows = confounded(1, -0.1, 300)
    contrast = contrast_of(*rows[:3])
    sample = take_sample(contrast)
    left = np.array([both_gaps(*(np.delete(column, i) for column in rows[:3])) for i in range(300)])
    expected = np.cov(left.T) * 299**2 / 300
    found = _covariance(sample, marginal(contrast)) * sample.scale**2
    np.testing.assert_allclose(found, expected, rtol=0.05)


def test_clusters_and_counts_have_their_covariance() -> None:
    rows = confounded(2, -0.1)
    rounded = np.round(rows.scores, 1)
    plain = take_sample(contrast_of(rounded, *rows[1:3]))
    named = take_sample(contrast_of(rounded, *rows[1:3], cluster=np.arange(600)))
    measure = marginal(contrast_of(rounded, *rows[1:3]))
    np.testing.assert_allclose(_covariance(plain, measure), _covariance(named, measure), rtol=1e-10)
    twice = take_sample(
        contrast_of(
            *(np.repeat(column, 2) for column in (rounded, *rows[1:3])),
            cluster=np.repeat(np.arange(600), 2),
        )
    )
    np.testing.assert_allclose(_covariance(twice, measure), _covariance(plain, measure), rtol=1e-10)


def test_both_gaps_are_shown() -> None:
    rows = confounded(3, -0.2)
    contrast = contrast_of(*rows[:3])
    found = compare_gaps(contrast, marginal(contrast))
    expected = both_gaps(*rows[:3])
    np.testing.assert_allclose((found.overall.value, found.conditional.value), expected)
    assert found.conditional == signed_gap(contrast, marginal(contrast))


@pytest.mark.parametrize(("gap", "kind"), [(-0.05, "reversed"), (-0.2, "masked"), (-0.6, "none")])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("factor", [1e-150, 1.0, 1e150])
def test_kinds_are_told_apart(gap: float, kind: str, swapped: bool, factor: float) -> None:
    rows = confounded(4, gap, 4000)
    groups = 1 - rows.groups if swapped else rows.groups
    contrast = contrast_of(rows.scores * factor, groups, rows.levels)
    assert compare_gaps(contrast, marginal(contrast)).kind == kind


def test_people_outside_the_common_levels_do_not_count() -> None:
    rows = confounded(5, -0.2)
    scores = np.concatenate([rows.scores, np.full(300, 99.0)])
    groups = np.concatenate([rows.groups, np.zeros(300, np.int64)])
    levels = np.concatenate([rows.levels, np.full(300, 9)])
    contrast, inside = contrast_of(scores, groups, levels), contrast_of(*rows[:3])
    found = compare_gaps(contrast, marginal(contrast))
    np.testing.assert_allclose(
        found.overall.value, compare_gaps(inside, marginal(inside)).overall.value
    )


def test_pairs_and_single_levels_are_no_paradox() -> None:
    rng = np.random.default_rng(6)
    groups, levels = np.tile([0, 1], 200), np.repeat(np.arange(200), 2)
    scores = rng.normal(size=200)[levels] + 0.3 * rng.normal(size=400) + 0.5 * groups
    contrast = contrast_of(scores, groups, levels)
    assert compare_gaps(contrast, marginal(contrast)).kind == "none"
    one = contrast_of(scores, groups)
    assert compare_gaps(one, np.ones(1)).kind == "none"
    unknown = contrast_of(scores[:4], groups[:4], levels[:4])
    assert compare_gaps(unknown, np.full(2, 0.5)).kind == "none"


def test_confidence_must_be_a_probability() -> None:
    contrast = contrast_of(*confounded(7, 0.0)[:3])
    with pytest.raises(InputError, match="confidence must lie between 0 and 1"):
        compare_gaps(contrast, marginal(contrast), confidence=0.0)


@pytest.mark.simulation
@pytest.mark.parametrize(
    "name",
    [
        # Two that were called reversed or masked in 28% and 93%.
        "levels unrelated to groups, gap .005",
        "levels unrelated to groups, gap .4 in one of ten",
        "parity among equals, .2 among everybody",
        "-.2 among equals, 0 among everybody",
    ],
)
def test_it_is_claimed_where_it_is_and_seldom_elsewhere(name: str) -> None:
    right = SIMPSON[name][1]
    counts = paradoxes(name, 300)
    if right == "none":
        assert 300 - counts["none"] <= stats.binom(300, 0.05).ppf(0.999)
    else:
        assert counts[right] >= 290
