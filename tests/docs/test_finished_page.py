"""The published figures of finished scores: the page says what was measured, and that holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.finished import SECTION, section
from benchmarks.sections import with_section

ROOT = Path(__file__).parents[2]
FOUND: dict[str, Any] = json.loads((ROOT / "benchmarks" / "finished.json").read_text("utf-8"))


def means(part: str, data: str, method: str) -> tuple[float, float]:
    """Change of performance, and the part of the disparity that went."""
    plain, figures = (np.array(FOUND[part][data][name]) for name in ("none", method))
    left, before = (np.sqrt(max(one[:, 1].mean(), 0.0)) for one in (figures, plain))
    return float((figures - plain)[:, 0].mean()), float(1.0 - left / before)


def test_the_page_says_what_was_measured() -> None:
    page = (ROOT / "docs" / "rivals.md").read_text("utf-8")
    assert with_section(page, SECTION, section(FOUND)) == page


@pytest.mark.parametrize(
    ("data", "method", "most", "least"),
    [
        ("Adult", "UnawareRepair, t = 1", -0.043, 0.92),
        ("Adult", "UnawareRepair, t = .8", -0.027, 0.77),
        ("Law School, race", "UnawareRepair, t = 1", 0.026, 0.80),
    ],
)
def test_scores_are_repaired_without_the_group(
    data: str, method: str, most: float, least: float
) -> None:
    assert len(FOUND["scores"][data][method]) >= 5
    change, cut = means("scores", data, method)
    # An AUC may fall by so much, a squared error rise.
    assert change >= most if most < 0.0 else change <= most
    assert cut >= least


def test_decisions_stand_beside_those_that_know_the_group() -> None:
    accuracy, squares = np.array(FOUND["decisions"]["Adult"]["FairDecisions, repair_level = 1"]).T
    assert accuracy.mean() >= 0.836
    assert squares.mean() <= 0.03**2
    assert len(FOUND["decisions"]) >= 4
    for methods in FOUND["decisions"].values():
        assert "ThresholdOptimizer in each level (needs A)" in methods
        assert len(methods["FairDecisions, repair_level = 1"]) >= 5


def test_no_repair_of_few_rows_does_harm() -> None:
    assert "COMPAS" in FOUND["few"]
    assert sum(len(methods) for methods in FOUND["few"].values()) >= 20
    for data, methods in FOUND["few"].items():
        for method, figures in methods.items():
            before, after, rose, _ = np.array(figures).T
            more = after - before
            assert len(more) == 20
            error = more.std(ddof=1) / np.sqrt(more.size)
            assert more.mean() <= 2.0 * error, (data, method)
            assert rose.sum() <= 2, (data, method)
