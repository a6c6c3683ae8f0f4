"""The published figures of two teams: the page says what was measured, and that holds."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from benchmarks.two_teams import RESULTS
from benchmarks.two_teams_page import PAGE, page, trained

KNOWN: dict[str, list[dict[str, Any]]] = json.loads(RESULTS.read_text("utf-8"))


def test_the_page_says_what_was_measured() -> None:
    assert PAGE.read_text("utf-8") == page(KNOWN)


def test_intervals_cover_and_the_test_keeps_its_level() -> None:
    for entry in KNOWN["audits"]:
        many = entry["replicates"]
        chance = 2.0 * np.sqrt(0.93 * 0.07 / many)
        assert entry["gap_covered"] / many >= 0.93 - chance, entry
        assert entry["distance_covered"] / many >= 0.93 - chance, entry
        if entry["disparity"] == "parity":
            assert entry["rejected"] / many <= 0.07 + chance, entry
    # All of them together leave less to chance.
    many = sum(entry["replicates"] for entry in KNOWN["audits"])
    for name in ("gap_covered", "distance_covered"):
        assert sum(entry[name] for entry in KNOWN["audits"]) >= 0.93 * many


def test_a_release_at_one_costs_little_on_adult() -> None:
    error = {entry["epsilon"]: entry["error"] for entry in KNOWN["adult"]}
    assert error[1.0] <= 0.002
    assert error[4.0] < error[2.0] < error[1.0] < error[0.5]


@pytest.mark.parametrize(("model", "most"), [("network", 1.25), ("boosting", 1.5)])
def test_soft_groups_do_what_the_true_ones_do_on_adult(model: str, most: float) -> None:
    found = trained(KNOWN["training"])
    _, true_auc, true_left = found["adult", model, "true A"]
    splits, auc, left = found["adult", model, "soft, epsilon 1"]
    assert splits >= 5
    assert auc >= true_auc - 0.005
    assert left <= most * true_left
    plain, shuffled = (found["adult", model, way][2] for way in ("no penalty", "soft, shuffled A"))
    assert shuffled > 0.7 * plain
