"""The benchmarks run, and their peers find our values. Times are no business of a test."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.enforcing import main as enforcing
from benchmarks.enforcing import page
from benchmarks.suite import FAMILIES, run
from tests.needs import cases


@pytest.mark.simulation
@pytest.mark.parametrize("family", cases(FAMILIES, on_law_school="training"))
def test_peers_find_our_values(family: str) -> None:
    comparisons = run(quick=True, only=family)
    assert comparisons
    assert not any(comparison.disagrees for comparison in comparisons)
    assert all(comparison.ratio > 0.0 for comparison in comparisons)


@pytest.mark.simulation
def test_results_are_written_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.json"
    assert main(["--quick", "--only", "growth", "--json", str(path)]) == 0
    results = json.loads(path.read_text())
    assert results["machine"]["cores"] >= 1
    assert {"name", "ratio", "required", "met"} <= set(results["comparisons"][0])
    assert "cdd_lp" in capsys.readouterr().out


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(ValueError, match="only must be one of"):
        run(quick=True, only="nothing")


def test_the_page_of_frontiers_says_what_was_measured() -> None:
    root = Path(__file__).parents[1]
    entries = json.loads((root / "benchmarks" / "enforcing.json").read_text())
    assert (root / "docs" / "frontiers.md").read_text() == page(entries)


@pytest.mark.simulation
def test_trade_offs_fall_with_the_strength_on_the_loan_data(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    assert enforcing(["--quick", "--json", str(path)]) == 0
    for entry in json.loads(path.read_text()):
        disparities = [point["disparity"] for point in entry["points"]]
        assert disparities[-1] < 0.3 * disparities[0]
