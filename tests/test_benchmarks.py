"""The benchmarks run, and their peers find our values. Times are no business of a test."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.suite import FAMILIES, run


@pytest.mark.parametrize("family", list(FAMILIES))
def test_peers_find_our_values(family: str) -> None:
    comparisons = run(quick=True, only=family)
    assert comparisons
    assert not any(comparison.disagrees for comparison in comparisons)
    assert all(comparison.ratio > 0.0 for comparison in comparisons)


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
