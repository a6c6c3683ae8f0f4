"""The benchmarks run, and their peers find our values. Times are no business of a test."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.enforcing import main as enforcing
from benchmarks.enforcing import page
from benchmarks.suite import FAMILIES, run
from benchmarks.timing import Case, Measured
from likeforlike.errors import InputError
from tests.support.needs import cases


@pytest.mark.simulation
@pytest.mark.parametrize("family", cases(FAMILIES, on_law_school="training"))
def test_peers_find_our_values(family: str) -> None:
    results = run(quick=True, only=family)
    assert results.comparisons
    assert not results.left_out
    assert not any(comparison.disagrees for comparison in results.comparisons)
    assert all(comparison.ratio > 0.0 for comparison in results.comparisons)


@pytest.mark.simulation
def test_results_are_written_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "results.json"
    assert main(["--quick", "--only", "growth", "--json", str(path)]) == 0
    results = json.loads(path.read_text())
    assert results["machine"]["cores"] >= 1
    assert {"name", "ratio", "required", "met"} <= set(results["comparisons"][0])
    assert "cdd_lp" in capsys.readouterr().out


def small(name: str, measured: Measured | BaseException) -> Case:
    """A comparison that is over at once."""

    def measure() -> Measured:
        if isinstance(measured, BaseException):
            raise measured
        return measured

    return Case(name, measure)


@pytest.fixture
def families(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite of three families, of which the middle one lacks its data half-way."""
    lacking = InputError("law_school could not be fetched.")
    made = {
        "one": [small("a", Measured(1.0, 2.0))],
        "two": [small("b", Measured(1.0, 2.0)), small("c", lacking)],
        "three": [small("d", Measured(1.0, 3.0)), small("e", KeyboardInterrupt())],
    }
    monkeypatch.setattr(
        "benchmarks.suite.FAMILIES",
        {name: lambda _, cases=cases: cases for name, cases in made.items()},
    )


@pytest.mark.usefixtures("families")
def test_what_was_measured_is_kept_as_it_comes(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    with pytest.raises(KeyboardInterrupt):
        main(["--quick", "--json", str(path)])
    kept = json.loads(path.read_text())
    assert [entry["name"] for entry in kept["comparisons"]] == ["a", "d"]
    assert kept["left_out"] == {"two": "law_school could not be fetched."}


@pytest.mark.usefixtures("families")
def test_a_family_that_lacks_its_data_is_left_out_by_name() -> None:
    assert run(quick=True, only="two").left_out == {"two": "law_school could not be fetched."}
    assert not run(quick=True, only="one").left_out


def test_an_unknown_family_is_refused() -> None:
    with pytest.raises(ValueError, match="only must be one of"):
        run(quick=True, only="nothing")


def test_the_page_of_frontiers_says_what_was_measured() -> None:
    root = Path(__file__).parents[2]
    entries = json.loads((root / "benchmarks" / "enforcing.json").read_text())
    assert (root / "docs" / "frontiers.md").read_text() == page(entries)


@pytest.mark.simulation
def test_trade_offs_fall_with_the_strength_on_the_loan_data(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    assert enforcing(["--quick", "--json", str(path)]) == 0
    for entry in json.loads(path.read_text()):
        disparities = [point["disparity"] for point in entry["points"]]
        assert disparities[-1] < 0.3 * disparities[0]
