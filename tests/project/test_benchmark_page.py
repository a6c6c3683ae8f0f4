"""The page of the benchmarks and the README's table say what was measured, and nothing else."""

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from benchmarks.families import HEADLINES, NOTES
from benchmarks.page import SECTION, main, page, readme_part
from benchmarks.report import amount, with_family
from benchmarks.sections import with_section
from benchmarks.suite import FAMILIES
from benchmarks.timing import Case

START, END = f"<!-- {SECTION} -->", f"<!-- /{SECTION} -->"
ROOT = Path(__file__).parents[2]
KEPT = ROOT / "benchmarks" / "results.json"


def suite(*, quick: bool) -> list[Case]:
    return [case for cases in FAMILIES.values() for case in cases(quick)]


def made_up(*, quick: bool) -> dict[str, Any]:
    """Results of the whole suite in which every ratio is 50."""
    comparisons = [
        {
            "name": case.name,
            "ours": 0.002 if case.ratio_of == "peer / ours" else 0.1,
            "peer": 0.1 if case.ratio_of == "peer / ours" else 0.002,
            "unit": "s",
            "ratio_of": case.ratio_of,
            "required": case.required,
            "difference": None,
            "note": "",
            "date": "2026-01-02T03:04:05+00:00",
            "source": "0123456789abcdef",
        }
        for case in suite(quick=quick)
    ]
    machine = {"cpu": "Abacus", "cores": 3, "python": "3.11.0", "versions": {"numpy": "2.0"}}
    return {
        "quick": quick,
        "machine": machine,
        "comparisons": comparisons,
        "left_out": {},
    }


@pytest.fixture
def results() -> dict[str, Any]:
    return made_up(quick=False)


def test_the_page_says_what_was_measured() -> None:
    kept = json.loads(KEPT.read_text("utf-8"))
    assert (ROOT / "docs" / "benchmarks.md").read_text("utf-8") == page(kept)


def test_the_readme_says_what_was_measured() -> None:
    kept = json.loads(KEPT.read_text("utf-8"))
    readme = (ROOT / "README.md").read_text("utf-8")
    assert with_section(readme, SECTION, readme_part(kept)) == readme


def test_every_family_has_its_words_and_every_headline_its_comparison() -> None:
    assert list(NOTES) == list(FAMILIES)
    names = {case.name for case in suite(quick=False)}
    assert {headline.comparison for headline in HEADLINES} <= names


def test_what_is_met_and_what_falls_short_is_counted(results: dict[str, Any]) -> None:
    asked = [entry for entry in results["comparisons"] if entry["required"] is not None]
    short = [
        entry["name"]
        for entry in asked
        if (entry["required"] > 50.0) == (entry["ratio_of"] == "peer / ours")
    ]
    assert short
    written = page(results)
    met = len(asked) - len(short)
    assert f"Of {len(asked)} with a required ratio, {met} meet it; short of it:" in written
    assert written.count("| **no** |") == len(short)
    assert written.count("| yes |") == met
    assert "Measured on Abacus with 3 cores" in written
    assert written.count("Measured on 2026-01-02, source `0123456789abcdef`.") == len(FAMILIES)


def test_one_family_can_be_measured_anew(results: dict[str, Any]) -> None:
    growth = {case.name for case in FAMILIES["growth"](results["quick"])}
    fresh = deepcopy(results)
    fresh["comparisons"] = [
        {**entry, "ours": 7.0, "date": "2026-02-03T00:00:00+00:00"}
        for entry in results["comparisons"]
        if entry["name"] in growth
    ]
    merged = with_family(results, fresh, "growth")
    assert [e["name"] for e in merged["comparisons"]] == [e["name"] for e in results["comparisons"]]
    assert {e["name"] for e in merged["comparisons"] if e["ours"] == 7.0} == growth
    assert page(merged).count("Measured on 2026-02-03") == 1
    with pytest.raises(ValueError, match="another kind or machine"):
        with_family({**results, "machine": {}}, fresh, "growth")


def test_a_row_shows_both_sides_the_ratio_and_the_notes(results: dict[str, Any]) -> None:
    entry = results["comparisons"][0]
    entry.update(ours=3e-5, peer=7200.0, note="a note", difference=2e-16, required=10.0)
    row = next(line for line in page(results).splitlines() if line.startswith(f"| {entry['name']}"))
    assert row == (
        f"| {entry['name']}<br>*a note; values differ by 2e-16* | 30 µs | 2 h "
        "| 240,000,000<br>*peer / ours* | at least 10 | yes |"
    )


def test_results_of_another_suite_are_refused(results: dict[str, Any]) -> None:
    other = deepcopy(results)
    other["comparisons"][0]["name"] = "something else"
    with pytest.raises(ValueError, match="something else"):
        page(other)
    with pytest.raises(ValueError, match="whole suite"):
        page({**results, "comparisons": results["comparisons"][1:]})


def test_families_that_were_left_out_are_named(results: dict[str, Any]) -> None:
    training = {case.name for case in FAMILIES["training"](results["quick"])}
    results["comparisons"] = [
        entry for entry in results["comparisons"] if entry["name"] not in training
    ]
    with pytest.raises(ValueError, match="whole suite"):
        page(results)
    results["left_out"] = {"training": "no data."}
    assert "## Training\n\nLeft out of this run: no data.\n" in page(results)
    with pytest.raises(ValueError, match=r"left out \['training'\]"):
        readme_part(results)


def test_quick_results_are_called_that_and_kept_out_of_the_readme() -> None:
    quick = made_up(quick=True)
    assert "The ratios mean nothing." in page(quick)
    with pytest.raises(ValueError, match="--quick"):
        readme_part(quick)


def test_only_what_is_between_the_marks_is_replaced() -> None:
    text = f"before\n{START}\nold\n{END}\nafter {END}\n"
    assert with_section(text, SECTION, "new\n") == text.replace("old", "new")
    with pytest.raises(ValueError, match=START):
        with_section("nothing here", SECTION, "new")


def test_files_are_written_or_all_left_alone(
    results: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read, written, readme = (tmp_path / name for name in ("results.json", "page.md", "README.md"))
    read.write_text(json.dumps(results))
    readme.write_text("no marks\n")
    arguments = ["--read", str(read), "--page", str(written), "--readme", str(readme)]
    assert main(arguments) == 2
    assert START in capsys.readouterr().err
    assert not written.exists()
    readme.write_text(f"# Title\n{START}\n{END}\n")
    assert main(arguments) == 0
    assert written.read_text("utf-8") == page(results)
    assert readme.read_text("utf-8") == f"# Title\n{START}\n{readme_part(results)}\n{END}\n"
    assert main(["--read", str(tmp_path / "missing.json")]) == 2


@pytest.mark.parametrize(
    ("measured", "words"),
    [(7200.0, "2 h"), (90.0, "1.5 min"), (1.0, "1 s"), (0.25, "250 ms"), (2e-6, "2 µs")],
)
def test_times_are_in_a_unit_that_suits_them(measured: float, words: str) -> None:
    assert amount(measured, "s") == words
