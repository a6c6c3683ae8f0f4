"""Whether audits along numbers hold their level, their coverage and their power.

`python -m benchmarks.calibration_smooth` tries more settings and sizes; what it counted is kept,
and held to the same bounds here.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from scipy import stats

from benchmarks.calibration_smooth import KEPT, PAGE, main, one_estimate, one_size, page
from benchmarks.smooth_settings import JUMP, PARITY

PEOPLE = {setting.name: setting for setting in PARITY}
RESULTS: dict[str, list[dict[str, Any]]] = json.loads(KEPT.read_text("utf-8"))


def most(rate: float, repetitions: int) -> float:
    """The largest share that a rate leads to in all but one run of a thousand."""
    return float(stats.binom(repetitions, rate).ppf(0.999)) / repetitions


def least(rate: float, repetitions: int) -> float:
    """The smallest."""
    return float(stats.binom(repetitions, rate).ppf(0.001)) / repetitions


@pytest.mark.simulation
@pytest.mark.parametrize(
    "name",
    ["30 marks (atoms)", "ratings 1 to 5", "score nearly a function of the number"],
)
def test_people_who_are_treated_alike_are_rarely_called_different(name: str) -> None:
    found = one_size(PEOPLE[name], 600, 50)
    assert found["headline"] <= most(0.08, 50)
    assert found["companion"] <= most(0.08, 50)


@pytest.mark.simulation
def test_intervals_hold_the_truth() -> None:
    found = one_estimate(PEOPLE["a steep curve"], "shift", 25)
    assert found["distance_covered"] >= least(0.9, 25)
    assert found["gap_covered"] >= least(0.9, 25)
    assert found["gap"] == pytest.approx(0.05, rel=0.05)
    assert found["distance"] == pytest.approx(0.05, rel=0.05)


@pytest.mark.simulation
def test_changes_of_sign_are_found() -> None:
    found = one_size(PEOPLE["a steep curve"], 2000, 12, "flip")
    assert found["headline"] >= 0.5
    assert found["gap"] <= most(0.1, 12)


def test_the_page_is_that_of_the_results_that_are_kept() -> None:
    assert PAGE.read_text("utf-8") == page(RESULTS), (
        "run python -m benchmarks.calibration_smooth --read"
    )


@pytest.mark.parametrize("entry", RESULTS["parity"], ids=lambda e: f"{e['people']}, {e['rows']}")
def test_kept_tests_hold_their_level(entry: dict[str, Any]) -> None:
    limit = 0.20 if entry["people"] == JUMP.name else 0.08
    assert entry["repetitions"] >= 300
    assert entry["headline"] <= limit
    assert entry["companion"] <= most(0.08, entry["beside"])
    if entry["rows"] >= 2000:
        assert entry["gap"] <= limit


def test_sizes_from_500_to_200000_were_tried_in_six_settings_or_more() -> None:
    tried = [entry["rows"] for entry in RESULTS["parity"] if entry["people"] in PEOPLE]
    assert all(tried.count(rows) >= 6 for rows in (500, 2_000, 20_000, 200_000))


def test_a_jump_is_warned_of() -> None:
    jumps = {e["rows"]: e["warned"] for e in RESULTS["parity"] if e["people"] == JUMP.name}
    assert jumps[2000] > 0.8
    assert jumps[20_000] > 0.99


def test_ten_bins_do_not() -> None:
    binned = [entry["binned"] for entry in RESULTS["parity"] if entry["rows"] >= 2000]
    assert max(binned) > 0.5


@pytest.mark.parametrize(
    "entry", RESULTS["estimates"], ids=lambda e: f"{e['people']}, {e['true']:g}"
)
def test_kept_intervals_cover(entry: dict[str, Any]) -> None:
    assert entry["distance_covered"] >= least(0.9, entry["repetitions"])
    assert entry["gap_covered"] >= least(0.9, entry["repetitions"])
    if entry["true"] > 0.0:
        assert entry["distance"] == pytest.approx(entry["true"], rel=0.05)
        assert entry["gap"] == pytest.approx(entry["true"], rel=0.05)


def test_changes_of_sign_were_found() -> None:
    hard = ("decisions", "two numbers and three categories")
    for entry in RESULTS["power"]:
        if entry["people"] not in hard:
            assert entry["headline"] >= 0.5


def test_a_command_simulates_and_reads(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text(json.dumps(RESULTS))
    assert main(["--read", "--json", str(kept)]) == 0
    assert json.loads(kept.read_text()) == RESULTS
    assert capsys.readouterr().err == ""
