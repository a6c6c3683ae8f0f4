"""Labels are plain text: nothing in them is obeyed, and no two of them are mistaken for another."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.report import page, summary
from tests.support.command import call

GROUPS = ["\x1b[31mred\x1b[0m", "b[/b] :skull:"]
LEVELS = [
    "title\x1b]0;x\x07",
    "[bold]x",
    "\u202eevil",
    "שלום (א)",
    "c1\x9b31m",
    "a\nThreshold: pass",
]
ROLES = ("--score", "score", "--sensitive", "sex", "--legitimate", "level", "--permutations", "9")
HIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def frame() -> pl.DataFrame:
    rows = range(240)
    return pl.DataFrame(
        {
            "score": [k % 7 / 7 for k in rows],
            "sex": [GROUPS[k % 2] for k in rows],
            "level": [LEVELS[k // 2 % 6] for k in rows],
        }
    )


@pytest.fixture
def table(tmp_path: Path) -> Path:
    frame().write_parquet(tmp_path / "x.parquet")
    return tmp_path / "x.parquet"


def test_nothing_in_a_label_steers_the_terminal(table: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    done = call("audit", table, *ROLES)
    assert done.returncode == 0, done.stderr
    assert not HIDDEN.search(done.stdout)
    assert r"\x1b[31mred\x1b[0m and “b[/b] :skull:”" in done.stdout
    for shown in (r"level title\x1b]0;x\x07", "[bold]x", r"\u202eevil", r"c1\x9b31m"):
        assert shown in done.stdout
    assert r"a\nThreshold: pass" in done.stdout
    assert "\nThreshold" not in done.stdout


def test_nothing_in_a_path_or_an_error_is_obeyed(tmp_path: Path) -> None:
    table = tmp_path / "x [b] :skull:.csv"
    frame().write_csv(table)
    report, data = tmp_path / "o[b]x :skull:.html", tmp_path / "[red]\x1b[31m.json"
    done = call("audit", table, *ROLES, "--report", report, "--json", data)
    assert done.returncode == 0, done.stderr
    said = done.stdout.replace("\n", "")
    assert f"Written: {report}" in said
    assert r"[red]\x1b[31m.json" in said
    done = call("audit", tmp_path / "no [/b] :skull: \x1b[31m.csv", *ROLES)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert r"no [/b] :skull: \x1b[31m.csv does not exist" in done.stderr


@pytest.mark.training
def test_the_folder_of_a_sweep_may_be_called_like_markup(tmp_path: Path) -> None:
    from likeforlike.datasets import make_loans

    make_loans(400).frame.write_csv(tmp_path / "loans.csv")
    roles = ("--target", "approved", "--sensitive", "sex", "--legitimate", "income")
    options = ("--method", "none", "--strength", 1, "--seeds", 1, "--epochs", 1)
    done = call("sweep", "loans.csv", *roles, *options, "--out", "o[/b]x:skull:", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("Written: o[/b]x:skull:\n")


def test_json_holds_the_labels_and_nothing_that_steers_a_terminal(table: Path) -> None:
    done = call("audit", table, *ROLES, "--json", "-")
    assert not HIDDEN.search(done.stdout)
    contrast = json.loads(done.stdout)["contrasts"][0]
    assert contrast["groups"] == GROUPS
    assert {level["level"] for level in contrast["levels"]} == set(LEVELS)


def test_the_page_shows_escapes_and_keeps_directions_apart() -> None:
    roles: dict[str, Any] = {"score": "score", "sensitive": "sex", "legitimate": "level"}
    document = lfl.audit(frame(), **roles, permutations=9).to_dict()
    for text in (page(document), summary(document)):
        assert not HIDDEN.search(text)
        assert r"\x1b[31mred\x1b[0m" in text
    text = page(document)
    assert "<bdi>שלום (א)</bdi>" in text
    assert "b[/b] :skull:" in text
    assert r"\u202eevil</bdi>" in text


def test_right_to_left_names_are_kept_apart_in_sentences() -> None:
    names = frame().with_columns(
        pl.col("sex").replace_strict(dict(zip(GROUPS, ("נקבה", "זכר א"), strict=True)))
    )
    document = lfl.audit(names, score="score", sensitive="sex", permutations=0).to_dict()
    assert "<bdi>זכר א</bdi> and <bdi>נקבה</bdi> are" in page(document)


SCORES, LEVEL = [0.1, 0.2, 0.3, 0.4], [1, 1, 2, 2]


@pytest.mark.parametrize(
    "groups",
    [
        [1, "1", 1, "1"],
        np.array([1, "1", 1, "1"], dtype=object),
        pd.Series([1, "1", 1, "1"], dtype=object),
        pd.Series(pd.Categorical([1, "1", 1, "1"])),
    ],
    ids=["list", "objects", "pandas", "category"],
)
def test_groups_that_read_the_same_are_refused(groups: Any) -> None:
    with pytest.raises(
        lfl.errors.InputError, match=r"groups holds .*1.* and .*1.*, which read the same"
    ):
        lfl.cdd_lp(SCORES, groups, LEVEL)
    table = pd.DataFrame({"s": SCORES, "g": groups, "l": LEVEL})
    with pytest.raises(lfl.errors.InputError, match=r"column 'g' holds .* which read the same"):
        lfl.audit(table, score="s", sensitive="g", legitimate="l", permutations=0)


@pytest.mark.parametrize(
    "kind", [list, pl.Series, pd.Series, lambda items: np.array(items, dtype=object)]
)
def test_a_zero_at_the_end_of_a_label_is_part_of_it(kind: Any) -> None:
    found = lfl.cdd_lp(SCORES, kind(["a\0", "a", "a\0", "a"]), LEVEL)
    assert found.groups == ("a", "a\0")
    assert found.value == pytest.approx(0.1)


def test_a_table_with_two_columns_of_one_name_is_refused() -> None:
    twice = pd.DataFrame([[0.1, "f", "x"], [0.2, "m", "x"]], columns=["s", "g", "g"])
    with pytest.raises(lfl.errors.InputError, match=r"2 columns called 'g'.*rename all but one"):
        lfl.audit(twice, score="s", sensitive="g")


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([0, 1], ("male 0", "male 1")),
        (["0", "1"], ("male 0", "male 1")),
        ([False, True], ("male False", "male True")),
        (["f", "m"], ("f", "m")),
    ],
)
def test_groups_that_are_no_words_are_called_by_their_column(
    labels: list[Any], names: tuple[str, str], tmp_path: Path
) -> None:
    rows = pl.DataFrame({"pay": np.arange(80) / 80, "male": labels * 40, "band": [1, 1, 2, 2] * 20})
    rows.write_parquet(tmp_path / "pay.parquet")
    options = ("--score", "pay", "--sensitive", "male", "--legitimate", "band")
    report = tmp_path / "page.html"
    done = call(
        *("audit", tmp_path / "pay.parquet", *options, "--permutations", 9, "--report", report)
    )
    said = " ".join(done.stdout.split())
    quoted = [name if " " in name else f"“{name}”" for name in names]
    assert f"between {quoted[0]} and {quoted[1]}" in said
    assert f"a positive gap means that {names[1]} score higher" in said
    text = report.read_text()
    assert f"{names[1]} minus {names[0]}" in text
    found = lfl.audit(rows, score="pay", sensitive="male", permutations=0)
    assert found.contrasts[0].groups == tuple(map(str, labels))


def pay(rows: int = 1000) -> pl.DataFrame:
    """Pay in euros, with a gap of 2,320 between two groups of every grade."""
    k = np.arange(rows)
    return pl.DataFrame(
        {
            "pay": 30_000.0 + 2_320.0 * (k % 2) + k // 2 % 50,
            "sex": ["f", "m"] * (rows // 2),
            "income": 20_003.17 + 117.0 * (k // 2 % 997),
        }
    )


def test_numbers_are_written_as_people_write_them() -> None:
    roles: dict[str, Any] = {"score": "pay", "sensitive": "sex"}
    finding = lfl.audit(pay(), **roles, permutations=99, resolution=1e-5).to_dict()["finding"]
    said = " ".join([finding["headline"], *finding["sentences"], *finding["cautions"]])
    assert "is 2,320 lower for women than for men (95% interval 2,3" in said
    assert "bins of width 0.00001;" in said
    assert not re.search(r"\de[+-]\d", said)


@pytest.mark.filterwarnings("ignore::likeforlike.errors.BinnedLevelWarning")
def test_bins_have_short_names_that_are_true() -> None:
    roles: dict[str, Any] = {"score": "pay", "sensitive": "sex", "legitimate": "income"}
    found = lfl.audit(pay(), **roles, bins={"income": 3}, permutations=0)
    (low, high), income = found.table.edges["income"], pay()["income"].to_numpy()
    names = {level.name for level in found.levels}
    assert names == {
        f"income up to {low:,.0f}",
        f"income above {low:,.0f} up to {high:,.0f}",
        f"income above {high:,.0f}",
    }
    exact = np.quantile(income, [1 / 3, 2 / 3])
    np.testing.assert_array_equal(
        np.searchsorted([low, high], income), np.searchsorted(exact, income)
    )
    assert low % 100 == high % 100 == 0.0


@pytest.mark.filterwarnings("ignore::likeforlike.errors.BinnedLevelWarning")
@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([32.0, 32.1, 32.1, 32.2], ["up to 32", "above 32 up to 32.1", "above 32.1"]),
        ([1e-7, 2e-7, 3e-7, 4e-7], ["up to 0.0000001", "above 0.0000003"]),
        ([5e9, 1e10, 2e10, 4e10], ["up to 9,000,000,000", "above 20,000,000,000"]),
    ],
)
def test_edges_are_told_apart_without_powers_of_ten(values: list[float], names: list[str]) -> None:
    rows = pl.DataFrame({"s": np.arange(40) / 40, "g": ["f", "m"] * 20, "x": np.repeat(values, 10)})
    found = lfl.audit(rows, score="s", sensitive="g", legitimate="x", bins={"x": 4}, permutations=0)
    said = {level.name.removeprefix("x ") for level in found.levels}
    assert set(names) <= said


def test_levels_fit_on_a_terminal_of_80_columns(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    bands = ["income medium-high", "income low", "another band"]
    rows = pl.DataFrame(
        {
            "score": 30_000 + np.arange(300) % 7,
            "sex": ["male", "female"] * 150,
            "band": [bands[k // 2 % 3] for k in range(300)],
        }
    )
    rows.write_parquet(tmp_path / "x.parquet")
    options = ("--score", "score", "--sensitive", "sex", "--legitimate", "band")
    done = call("audit", tmp_path / "x.parquet", *options, "--permutations", 9)
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for band in bands:
        (line,) = (line for line in lines if f"│ {band}" in line)
        assert len(re.findall("│", line)) == 8
