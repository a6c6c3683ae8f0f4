"""What is kept about several sensitive columns: the page says it, errors keep their bound."""

from __future__ import annotations

import json

import pytest

from benchmarks.several_columns import (
    KEPT,
    MOST_FALSE,
    PAGE,
    SETTINGS,
    cost,
    false_alarms,
    page,
)


def test_the_page_says_what_was_measured() -> None:
    kept = json.loads(KEPT.read_text("utf-8"))
    assert PAGE.read_text("utf-8") == page(kept)
    assert [each["setting"] for each in kept["false_alarms"]] == [each.name for each in SETTINGS]


def test_the_family_kept_its_error() -> None:
    kept = json.loads(KEPT.read_text("utf-8"))
    for each in kept["false_alarms"]:
        assert each["audits"] >= 200
        assert each["contrasts"] <= MOST_FALSE
        assert each["headline"] <= MOST_FALSE


@pytest.mark.simulation
def test_the_simulation_runs() -> None:
    found = false_alarms(SETTINGS[0], 2, permutations=19)
    assert 0.0 <= found["contrasts"] <= 1.0
    assert cost(2_000, 9, 1)["ratio"] > 0.0
