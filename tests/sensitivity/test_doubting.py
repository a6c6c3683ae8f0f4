"""The kept simulations keep what is promised, and the page shows them."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from benchmarks.doubting import KEPT, PAGE, parity, planted_odds, section
from benchmarks.sections import with_section

KEPT_RESULTS: dict[str, Any] = json.loads(KEPT.read_text("utf-8"))


def error(rate: float, of: int) -> float:
    return 3.0 * math.sqrt(rate * (1.0 - rate) / of)


def test_the_page_shows_the_results_that_are_kept() -> None:
    text = PAGE.read_text("utf-8")
    assert not KEPT_RESULTS["quick"]
    assert with_section(text, "doubting", section(KEPT_RESULTS)) == text


def test_planted_odds_are_rejected_seldom_and_none_often() -> None:
    assert len(KEPT_RESULTS["odds"]) == 12
    for each in KEPT_RESULTS["odds"]:
        of = each["repetitions"]
        assert each["at_true"] / of <= 0.05 + error(0.05, of)
        assert each["at_one"] / of >= 0.1
        assert each["at_one"] > 3 * each["at_true"]


def test_intervals_for_the_true_strength_hold_the_truth() -> None:
    for each in KEPT_RESULTS["strength"]:
        assert each["covered"] / each["repetitions"] >= 0.95
        assert each["covered_without"] / each["repetitions"] < 0.05
    like = KEPT_RESULTS["benchmark"]
    assert like["bounded"] == like["repetitions"]
    assert like["outcome"] == pytest.approx(like["true_outcome"], rel=0.1)
    assert like["group"] == pytest.approx(like["true_group"], abs=0.015)


def test_gaps_of_inputs_are_covered_and_chance_names_none() -> None:
    for each in KEPT_RESULTS["coverage"]:
        assert each["covered"] / each["of"] >= 0.93 - error(0.93, each["of"])
    for each in KEPT_RESULTS["parity"]:
        assert each["named"] / each["repetitions"] <= 0.05 + error(0.05, each["repetitions"])


@pytest.mark.simulation
def test_a_few_settings_again() -> None:
    found = planted_odds("decisions", "8", 60)
    assert found["at_true"] <= 9
    assert parity("nothing", 20)["named"] <= 4
