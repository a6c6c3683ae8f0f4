"""The page about training and repair along a number says what the command found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.smooth_frontier import at_cut
from benchmarks.smooth_training import main, page

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "benchmarks" / "smooth_training.json"


def test_the_page_says_what_was_found() -> None:
    found = json.loads(KEPT.read_text("utf-8"))
    assert (ROOT / "docs" / "smooth_training.md").read_text("utf-8") == page(found)


def test_nothing_but_chance_is_left_of_the_penalty_at_parity() -> None:
    found = json.loads(KEPT.read_text("utf-8"))
    assert len(found["chance"]) >= 4
    for entry in found["chance"]:
        assert entry["roots"]["smooth, stays"] <= 0.0005
        # Where bins add to it, half of theirs is more than all of ours, chance included.
        if entry["roots"]["20 bins, stays"] > 0.001:
            assert entry["roots"]["smooth, all"] <= 0.5 * entry["roots"]["20 bins, all"]


def test_a_page_can_be_made_of_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "page.md"
    assert main(["--read", str(KEPT), "--page", str(written)]) == 0
    assert written.read_text("utf-8") in capsys.readouterr().out


def test_the_error_at_a_cut_lies_between_strengths() -> None:
    errors, squares = np.array([1.0, 1.2, 2.0]), np.array([0.16, 0.04, 0.01])
    assert at_cut(errors, squares, 0.25, 0.4) == pytest.approx(1.1)
    assert at_cut(errors, squares, 0.5, 0.4) == pytest.approx(1.2)
    assert at_cut(errors, squares, 0.75, 0.4) == pytest.approx(2.0)
    # Nothing reaches the cut, and everything does.
    assert at_cut(errors, squares, 0.9, 0.4) == np.inf
    assert at_cut(errors, squares, 0.0, 0.9) == 1.0
