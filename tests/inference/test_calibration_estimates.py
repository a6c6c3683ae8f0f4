"""Whether intervals hold the truth as often as they say, on many made-up data sets.

`python -m benchmarks.calibration_estimates` tries many more settings with more repetitions; what it
counted is kept, and held to the same bounds here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from benchmarks.calibration_estimates import BY_LEVEL, intervals, main, tables
from benchmarks.estimate_settings import PARITY_TESTS, SETTINGS, SIMPSON

KEPT = Path(__file__).parents[2] / "benchmarks" / "calibration_estimates.json"

# What an interval must hold, and what it must hold with inverse probability weights.
GAP, DISTANCE, WITH_INVERSE_WEIGHTS = 0.93, 0.945, 0.90
FALSE_PASS = 0.05


def at_least(share: float, count: int, of: int) -> bool:
    """Whether a rate of at least `share` leads to so few in all but 1 run of 1,000."""
    return bool(count >= stats.binom(of, share).ppf(0.001))


def at_most(share: float, count: int, of: int) -> bool:
    """Whether a rate of at most `share` leads to so many in all but 1 run of 1,000."""
    return bool(count <= stats.binom(of, share).ppf(0.999))


@pytest.mark.simulation
@pytest.mark.parametrize(
    "name",
    [
        "beta, shift 0.15, 60 x (6 + 6)",
        "decisions 0.4 v 0.5, 10 x (100 + 100)",
        "decisions 0.5 v 0.35, 1 x (100 + 100)",
        "normal, shift 1, 300 pairs",
        "weights: gamma, shift .3",
        "clusters: households of both groups, shift .3",
    ],
)
def test_intervals_hold_the_truth(name: str) -> None:
    found = intervals(name, 300)
    assert at_least(GAP, found.gap_covered, 300)
    assert at_least(DISTANCE, found.covered, 300)
    assert at_most(FALSE_PASS, found.passed, 300)


class TestKept:
    """What the command counted."""

    RESULTS: dict[str, Any] = json.loads(KEPT.read_text("utf-8"))

    def test_every_setting_is_there(self) -> None:
        names = {
            table: [one["setting"] for one in self.RESULTS[table]]
            for table in ("intervals", "rejections", "simpson", "by_level")
        }
        assert names == {
            "intervals": list(SETTINGS),
            "rejections": list(PARITY_TESTS),
            "simpson": list(SIMPSON),
            "by_level": list(BY_LEVEL),
        }

    def test_intervals_hold_the_truth(self) -> None:
        for one in self.RESULTS["intervals"]:
            of, inverse = one["repetitions"], one["inverse_weights"]
            name = one["setting"]
            assert one["gap_covered"] >= (WITH_INVERSE_WEIGHTS if inverse else GAP) * of, name
            assert one["covered"] >= (WITH_INVERSE_WEIGHTS if inverse else DISTANCE) * of, name

    def test_gates_are_not_passed_at_the_truth(self) -> None:
        for one in self.RESULTS["intervals"]:
            assert one["passed_95"] <= one["passed"] <= FALSE_PASS * one["repetitions"], one
            assert one["above"] <= FALSE_PASS * one["repetitions"], one

    def test_parity_is_not_rejected(self) -> None:
        for one in self.RESULTS["rejections"]:
            allowed = 0.10 if one["inverse_weights"] else 0.06
            assert one["of"] >= 1000
            assert one["count"] <= allowed * one["of"], one

    def test_a_paradox_is_said_where_there_is_one(self) -> None:
        for one in self.RESULTS["simpson"]:
            for kind in ("masked", "reversed"):
                if one["right"] == kind:
                    assert one[kind] >= 0.95 * one["of"], one
                else:
                    assert one[kind] <= 0.05 * one["of"], one

    def test_levels_and_the_largest_of_ten_hold_the_truth(self) -> None:
        for one in [*self.RESULTS["by_level"], *self.RESULTS["ten"]]:
            assert one["count"] >= 0.94 * one["of"], one

    def test_every_setting_is_in_the_tables(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--read", str(KEPT)]) == 0
        printed = capsys.readouterr().out
        assert printed == tables(self.RESULTS)
        for names in (SETTINGS, PARITY_TESTS, SIMPSON):
            assert all(f"| {name} |" in printed for name in names)


def test_a_setting_in_doubt_is_drawn_again_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text(KEPT.read_text("utf-8"), "utf-8")
    name = "decisions 0.3 v 0.3, 1 x (50 + 50)"
    assert main(["--json", str(path), "--again", "7", name]) == 0
    before = {one["setting"]: one for one in TestKept.RESULTS["intervals"]}
    after = {one["setting"]: one for one in json.loads(path.read_text("utf-8"))["intervals"]}
    assert list(after) == list(before)
    assert after.pop(name)["repetitions"] == 7
    assert all(before[other] == one for other, one in after.items())
    with pytest.raises(ValueError, match="there is no setting 'nothing'"):
        main(["--json", str(path), "--again", "7", "nothing"])
