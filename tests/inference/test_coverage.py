"""Whether intervals contain the truth, on many made-up data sets; larger ones in a command.

Larger cells take minutes: `python -m benchmarks.calibration` tries them beside the smaller ones,
with more repetitions, and what it found is kept and held to the same bound.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks.calibration import CELLS, KINDS, SHIFTS, balanced, coverage, main, page
from likeforlike import Cells
from likeforlike.contrasts import contrasts
from likeforlike.inference import estimate
from likeforlike.measures import level_weights

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "benchmarks" / "calibration.json"


def enough(repetitions: int) -> float:
    """The count that a true coverage of 93% stays below in one run of a thousand."""
    return float(stats.binom(repetitions, 0.93).ppf(0.001))


@pytest.mark.simulation
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("cell", "shift", "repetitions"),
    [*((20, shift, 500) for shift in SHIFTS), (100, 0.15, 300)],
)
def test_the_interval_covers_the_truth(
    kind: str, shift: float, cell: int, repetitions: int
) -> None:
    found = coverage(kind, shift, cell, repetitions)
    assert found.covered >= enough(repetitions)
    if shift == 0.15 and cell > 20:
        np.testing.assert_allclose(found.value, found.truth, rtol=0.03)


@pytest.mark.simulation
@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_tiny_cells_at_parity_make_no_disparity(kind: str) -> None:
    """600 levels with two to eight rows in a cell: the interval contains 0."""
    covered = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        scores, groups, _ = balanced(seed, kind, 3000, 0.0, 1)
        levels = rng.integers(0, 600, scores.size)
        contrast = contrasts(Cells.from_rows(scores, groups, levels), "pairwise")[0]
        found = estimate(contrast, level_weights(contrast, "marginal"), seed=seed)
        covered += found.interval[0] == 0.0
    assert covered >= enough(80)


class TestKept:
    """What the command found, and the page made of it."""

    RESULTS: dict[str, Any] = json.loads(KEPT.read_text("utf-8"))

    def test_every_setting_is_there_and_covers(self) -> None:
        found = {(one["kind"], one["shift"], one["cell"]): one for one in self.RESULTS["settings"]}
        assert set(found) == {(k, s, c) for k in KINDS for s in SHIFTS for c in CELLS}
        for (_, shift, cell), one in found.items():
            assert one["repetitions"] == CELLS[cell]
            assert one["covered"] + one["above"] + one["below"] == one["repetitions"]
            assert one["covered"] >= enough(one["repetitions"]), one
            if shift == 0.15 and cell > 20:
                np.testing.assert_allclose(one["value"], one["truth"], rtol=0.03)

    def test_the_page_is_made_of_it(self, tmp_path: Path) -> None:
        written = tmp_path / "calibration.md"
        assert main(["--read", str(KEPT), "--page", str(written)]) == 0
        kept = (ROOT / "docs" / "calibration.md").read_text("utf-8")
        assert kept == written.read_text("utf-8") == page(self.RESULTS)
