"""Ranges of pay gaps: closed forms, what has none, and how often they hold the truth."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.paying import PAGE, SETTINGS, coverage, page
from likeforlike._arrays import FloatArray
from likeforlike.payroll._categories import compare_categories
from likeforlike.payroll._gaps import FEWEST, mean_gap, median_gap

KEPT = Path(__file__).parents[2] / "benchmarks" / "paying.json"


def pays(seed: int, women: int, men: int, spread: float = 0.3) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    return 0.9 * rng.lognormal(0.0, spread, women), rng.lognormal(0.0, spread, men)


@pytest.mark.parametrize("seed", range(10))
def test_the_range_of_an_average_is_no_narrower_than_that_of_log_ratios(seed: int) -> None:
    """By the textbook (delta method, Satterthwaite), which knows nothing of the other sex."""
    women, men = pays(seed, 12, 60)
    gap, ends, reason = mean_gap(women, men)
    errors = [part.var(ddof=1) / part.size / part.mean() ** 2 for part in (women, men)]
    df = sum(errors) ** 2 / (errors[0] ** 2 / 11 + errors[1] ** 2 / 59)
    half = stats.t.ppf(0.975, min(df, 70.0)) * math.sqrt(sum(errors))
    middle = math.log(women.mean() / men.mean())
    assert reason is None
    assert gap is not None
    assert ends is not None
    assert ends[0] < gap < ends[1]
    assert ends[1] - ends[0] >= 0.98 * 100.0 * (math.exp(middle + half) - math.exp(middle - half))


def test_with_equal_spread_it_is_welchs_range_of_logs() -> None:
    """Symmetric pay in groups of one size: no part is moved, and the closed form is met."""
    around = np.linspace(-1.0, 1.0, 25)
    women, men = 90.0 + 9.0 * around, 100.0 + 10.0 * around
    _, ends, _ = mean_gap(women, men)
    error = math.sqrt(2.0 * np.var(0.1 * around, ddof=1) / 25)
    half = stats.t.ppf(0.975, 48) * error
    expected = [100.0 * (1.0 - 0.9 * math.exp(sign * half)) for sign in (1, -1)]
    assert ends == pytest.approx(expected, rel=1e-9)


def test_medians_are_those_of_price_and_bonett_where_pay_is_symmetric_in_logs() -> None:
    women, men = 0.9 * np.exp(np.linspace(-1, 1, 21)), np.exp(np.linspace(-0.5, 0.5, 31))
    gap, ends, _ = median_gap(women, men)
    assert gap == pytest.approx(10.0)
    errors = []
    for part in (women, men):
        n = part.size
        place = max(round((n + 1) / 2 - math.sqrt(n)), 1)
        z = stats.norm.ppf(1.0 - stats.binom.cdf(place - 1, n, 0.5))
        ordered = np.sort(np.log(part))
        errors.append((ordered[n - place] - ordered[place - 1]) / (2.0 * z))
    half = stats.norm.ppf(0.975) * math.hypot(*errors)
    assert ends == pytest.approx([100.0 * (1.0 - 0.9 * math.exp(s * half)) for s in (1, -1)])


@pytest.mark.parametrize("find", [mean_gap, median_gap])
def test_what_has_no_range_says_why(find: object) -> None:
    assert callable(find)
    many, few, nothing = np.full(20, 5.0) + np.arange(20), np.arange(1.0, FEWEST), np.zeros(20)
    assert find(few, many)[1:] == (None, "few")
    assert find(many, few)[1:] == (None, "few")
    assert find(many, nothing) == (None, None, "no pay")
    assert find(nothing, many) == (100.0, None, "nothing")
    assert find(np.ones(0), many) == (None, None, "one sex")
    assert find(np.full(9, 3.0), np.full(12, 4.0)) == (25.0, None, "same")


def test_ranges_grow_with_the_confidence_and_shrink_with_people() -> None:
    for find in (mean_gap, median_gap):
        widths = []
        for size, confidence in ((20, 0.99), (20, 0.95), (2000, 0.95)):
            _, ends, _ = find(*pays(1, size, size), confidence)
            assert ends is not None
            widths.append(ends[1] - ends[0])
        assert widths == sorted(widths, reverse=True)


@pytest.mark.simulation
@pytest.mark.parametrize("place", [1, 7, 12, 21])
def test_ranges_hold_the_truth(place: int) -> None:
    one = coverage(*SETTINGS[place], repetitions=150, seed=1)
    # Of 150 draws at .93, fewer than 131 happen once in 100 times.
    assert one.mean_held >= one.mean_given * 131 / 150
    assert one.median_held >= one.median_given * 131 / 150 or one.median_given < 30


def test_categories_of_equal_people_are_not_called_different() -> None:
    rng = np.random.default_rng(0)
    pairs = [(rng.lognormal(0.0, 0.3, 10), rng.lognormal(0.0, 0.3, 12)) for _ in range(30)]
    p_values, adjusted = compare_categories(pairs, 499, 0)
    assert (adjusted >= p_values).all()
    assert adjusted.min() > 0.05
    pairs[4] = (pairs[4][0] * 0.4, pairs[4][1])
    assert compare_categories(pairs, 499, 0)[1].argmin() == 4
    assert compare_categories(pairs, 499, 0)[1].min() < 0.05


def test_the_page_shows_the_results_that_are_kept() -> None:
    kept, text = json.loads(KEPT.read_text("utf-8")), PAGE.read_text("utf-8")
    assert not kept["quick"]
    assert page(kept, text) == text, "run python -m benchmarks.paying --read benchmarks/paying.json"


def test_the_results_that_are_kept_hold_what_is_promised() -> None:
    kept = json.loads(KEPT.read_text("utf-8"))
    assert len(kept["coverage"]) == len(SETTINGS) >= 20
    for one in kept["coverage"]:
        assert one["mean_held"] >= 0.93 * one["mean_given"]
        assert one["mean_given"] > 0.9 * one["repetitions"]
        assert one["median_held"] >= 0.93 * one["median_given"]
    for one in kept["families"]:
        assert one["false_alarm"] <= 0.05
    assert all(one["held"] >= 0.93 for one in kept["fifths"])
