"""What is kept about strong penalties in trees: the page says it, and nothing is left unfitted."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from benchmarks.boosting import (
    KEPT,
    PAGE,
    STRENGTHS,
    TABLES,
    WAYS,
    by_leaves,
    by_objective,
    census,
    level_alone,
    measured,
    page,
)


def kept() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(KEPT.read_text("utf-8"))
    return found


def test_the_page_says_what_was_measured() -> None:
    assert PAGE.read_text("utf-8") == page(kept())
    runs = [(each["table"], each.get("strength"), each["way"]) for each in kept()["found"]]
    assert len(runs) == len(TABLES) * (1 + len(STRENGTHS) * len(WAYS))


@pytest.mark.parametrize("table", TABLES)
def test_strong_penalties_are_fitted(table: str) -> None:
    """As many trees beat the level alone with leaves of ours, and do not with the objective."""
    here = [each for each in kept()["found"] if each["table"] == table]
    alone = next(each for each in here if each["way"] == "level alone")
    objective, leaves, estimator = (
        next(each for each in here if each["way"] == way and each["strength"] == max(STRENGTHS))
        for way in WAYS
    )
    assert objective["loss"] > alone["loss"] + 0.03
    assert leaves["loss"] < alone["loss"] - 0.03
    assert estimator["loss"] < alone["loss"] - 0.03


@pytest.mark.training
def test_leaves_and_objective_agree_without_a_penalty() -> None:
    rows = census(900, 0)
    seen, unseen = rows.take(slice(600)), rows.take(slice(600, None))
    ours, theirs = (fit(seen, unseen, 0.0).scores for fit in (by_leaves, by_objective))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4)
    assert measured(level_alone(seen, unseen), unseen)["disparity"] == pytest.approx(0.0, abs=1e-9)
