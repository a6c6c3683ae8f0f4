"""What columns are probably for."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from likeforlike.app._columns import describe_file
from likeforlike.app._words import WORDS
from likeforlike.datasets import make_loans
from likeforlike.errors import InputError


def roles(found: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["role"] for each in found["columns"] if each["role"]}


@pytest.fixture
def loans(tmp_path: Path) -> Path:
    make_loans(300).frame.write_csv(tmp_path / "loans.csv")
    return tmp_path / "loans.csv"


def test_loans_need_no_correction(loans: Path) -> None:
    found = describe_file(loans, {})
    assert found["rows"] == 300
    guessed = {"approved": "score", "sex": "sensitive", "income": "legitimate"}
    assert roles(found) == guessed
    kinds = {each["name"]: each["kind"] for each in found["columns"]}
    assert kinds["approved"] == "decision"
    assert kinds["debt"] == "number"
    assert all(f"why_{each['why']}" in WORDS for each in found["columns"])


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            {"EmployeeID": range(40), "Gender": ["f", "m"] * 20, "JobTitle": ["a", "b"] * 20}
            | {"BasePay": [f"{k}.500,00 EUR" for k in range(1, 41)]},
            {"Gender": "sensitive", "JobTitle": "legitimate", "BasePay": "score"},
        ),
        (
            {"decile_score": [k % 10 for k in range(40)], "race": ["a", "b", "c", "d"] * 10},
            {"decile_score": "score", "race": "sensitive"},
        ),
        (  # names that say nothing: values do
            {"x": ["yes", "no"] * 20, "y": [f"g{k % 2}" for k in range(40)]},
            {"x": "score", "y": "sensitive"},
        ),
        (
            {"sex": ["f", "m"] * 20, "sample_weight": [1.5, 2.5] * 20, "prob": [0.1, 0.2] * 20},
            {"sex": "sensitive", "sample_weight": "weight", "prob": "score"},
        ),
        ({"sex": ["f"] * 40, "age": range(40), "empty": [None] * 40}, {}),
        ({"note": [f"person {k}" for k in range(40)]}, {}),
    ],
)
def test_names_and_values_say_the_role(
    tmp_path: Path, columns: dict[str, Any], expected: dict[str, str]
) -> None:
    path = tmp_path / "table.csv"
    pl.DataFrame({name: pl.Series(list(values)) for name, values in columns.items()}).write_csv(
        path
    )
    assert roles(describe_file(path, {})) == expected


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".xlsx"])
def test_every_kind_of_file_is_described_alike(tmp_path: Path, loans: Path, ending: str) -> None:
    frame, path = pl.read_csv(loans), tmp_path / f"table{ending}"
    if ending == ".csv.gz":
        path.write_bytes(gzip.compress(loans.read_bytes()))
    elif ending == ".xlsx":
        frame.write_excel(path)
    else:
        (frame.write_csv if ending == ".csv" else frame.write_parquet)(path)
    found, plain = describe_file(path, {}), describe_file(loans, {})
    assert found["rows"] == plain["rows"]
    assert roles(found) == roles(plain)
    seen = [(each["name"], each["kind"], each["distinct"]) for each in found["columns"]]
    assert seen == [(each["name"], each["kind"], each["distinct"]) for each in plain["columns"]]


def test_rows_of_a_sorted_file_are_seen_from_all_over_it(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    pl.DataFrame({"sex": ["f"] * 20_000 + ["m"] * 5_000, "score": [1] * 25_000}).write_csv(path)
    found = describe_file(path, {})
    assert found["rows"] == 25_000
    assert roles(found) == {"sex": "sensitive"}
    assert found["columns"][0]["distinct"] == 2


def test_sheets_are_asked_for_where_there_are_several(tmp_path: Path) -> None:
    import xlsxwriter

    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name in ("one", "two"):
            book.add_worksheet(name).write_column(0, 0, ["sex", "f", "m"])
    assert describe_file(path, {}) == {"sheets": ["one", "two"]}
    assert roles(describe_file(path, {"sheet": "two"})) == {"sex": "sensitive"}


def test_wide_files_say_what_is_not_shown(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{k}" for k in range(350)) + "\n" + ",".join(["1"] * 350) + "\n")
    found = describe_file(path, {})
    assert len(found["columns"]) == 300
    assert found["further"] == 50


def test_equal_names_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("sex,sex,score\nf,a,1\nm,b,0\n")
    assert [each["name"] for each in describe_file(path, {})["columns"]] == [
        *("sex", "sex (2)", "score")
    ]


def test_bad_files_get_the_sentence_of_the_library(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes("größe,sex\n1,f\n".encode("latin-1"))
    with pytest.raises(InputError, match="--encoding latin-1"):
        describe_file(path, {})
    assert describe_file(path, {"encoding": "latin-1"})["columns"][0]["name"] == "größe"
