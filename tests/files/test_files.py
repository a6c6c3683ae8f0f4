"""Files that people have: what is in them is what is audited, on every engine."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import likeforlike as lfl
from tests.support.command import call

# Thirty rows of three levels that only text tells apart.
ROWS = [(k / 30, "fm"[k % 2], ("01", "1", "001")[k // 2 % 3]) for k in range(30)]
ROLES = ("--score", "score", "--sensitive", "sex", "--legitimate", "level", "--permutations", "9")


def text(rows: list[tuple[Any, ...]] | None = None, separator: str = ",") -> str:
    lines = [("score", "sex", "level"), *(ROWS if rows is None else rows)]
    return "".join(separator.join(map(str, line)) + "\n" for line in lines)


def audited(path: Path, *options: object, engine: str = "polars") -> dict[str, Any]:
    """The document of an audit by the command line."""
    done = call("audit", path, *ROLES, "--json", "-", "--engine", engine, *options)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def refused(path: Path, *options: object, engine: str = "polars") -> str:
    """What the command line says of a file that it does not take."""
    done = call("audit", path, *ROLES, "--json", "-", "--engine", engine, *options)
    assert done.returncode == 2, done.stdout
    assert done.stderr.count("\n") == 1
    return done.stderr


def levels(document: dict[str, Any]) -> set[str]:
    return {str(level["level"]) for level in document["contrasts"][0]["levels"]}


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("name", "other"), [("s[1]", "s1"), ("a*b", "axb"), ("q?", "qx"), ("b{1,2}", "b1")]
)
def test_a_name_is_a_name_and_no_pattern(
    name: str, other: str, kind: str, engine: str, tmp_path: Path
) -> None:
    """Beside the file lies another one, which a pattern would find."""
    frame = pl.DataFrame(ROWS, schema=["score", "sex", "level"], orient="row")
    wrong = pl.concat([frame, frame])
    for stem, table in ((name, frame), (other, wrong)):
        path = tmp_path / f"{stem}.{kind}"
        table.write_csv(path) if kind == "csv" else table.write_parquet(path)
    assert audited(tmp_path / f"{name}.{kind}", engine=engine)["data"]["rows"] == 30


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_groups_and_levels_of_a_csv_file_are_what_is_written(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text())
    assert levels(audited(path, engine=engine)) == {"01", "1", "001"}


def test_numbers_that_are_written_as_numbers_come_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text([(s, g, {"01": 9, "1": 10, "001": 100}[level]) for s, g, level in ROWS]))
    found = lfl.audit(path, score="score", sensitive="sex", legitimate="level", permutations=0)
    assert found.table.cells.levels == (9, 10, 100)


WORDS = ["NA", "N/A", "?", "", "null", "None", "NaN", " NA", "? "]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_usual_words_for_missing_values_are_missing_and_told(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    odd: list[tuple[Any, ...]] = [(0.5, word, "1") for word in WORDS]
    path.write_text(text([*ROWS, *odd, ("NA", "f", "1"), ("", "m", "1"), (0.25, "m", "?")]))
    document = audited(path, engine=engine)
    assert document["contrasts"][0]["groups"] == ["f", "m"]
    assert document["data"]["used"] == 30
    assert document["data"]["missing"] == {"score": 2, "sex": len(WORDS), "level": 1}
    assert document["data"]["nulls"]["sex"] == {
        "?": 2,
        "NA": 2,
        **dict.fromkeys(["N/A", "NaN", "None", "null"], 1),
    }
    assert document["data"]["nulls"]["score"] == {"NA": 1}
    said = " ".join(document["finding"]["cautions"])
    assert "sex '?' (2), 'NA' (2), 'N/A' (1)" in said
    assert "12 of 42 rows were left out" in said


def test_other_words_for_missing_values_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text([*ROWS, (".", "f", "1"), (0.5, "unknown", "1")]))
    assert "must hold numbers, but 1 of its values are none: '.'" in refused(path)
    document = audited(path, "--null-value", ".", "--null-value", "unknown")
    assert document["data"]["missing"] == {"score": 1, "sex": 1, "level": 0}
    assert document["contrasts"][0]["groups"] == ["f", "m"]


def test_usual_words_may_be_values(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text([(s, {"f": "None", "m": "some"}[g], level) for s, g, level in ROWS]))
    assert "has the single value 'some'" in refused(path)
    groups = audited(path, "--no-usual-nulls")["contrasts"][0]["groups"]
    assert groups == ["None", "some"]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("semicolons.csv", text(separator=";").encode()),
        ("bars.csv", text(separator="|").encode()),
        ("tabs.tsv", text(separator="\t").encode()),
        ("tabs.csv", text(separator="\t").encode()),
        ("packed.csv.gz", gzip.compress(text().encode())),
        ("packed.TSV.GZ", gzip.compress(text(separator="\t").encode())),
        ("mark.csv", text().encode("utf-8-sig")),
        ("quoted mark.csv", text().replace("score", '"score"').encode("utf-8-sig")),
        ("windows.csv", text().replace("\n", "\r\n").encode()),
        ("old.csv", text().replace("\n", "\r").encode()),
        ("blank lines.csv", (text() + "\n\n").encode()),
    ],
)
def test_files_are_read_as_they_are_written(
    name: str, content: bytes, engine: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    document = audited(path, engine=engine)
    assert document["data"]["rows"] == document["data"]["used"] == 30
    assert levels(document) == {"01", "1", "001"}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_mark_at_the_beginning_says_the_encoding(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(text(separator="\t").replace("f", "ж").encode(encoding))
    assert audited(path)["contrasts"][0]["groups"] == ["m", "ж"]


def test_a_separator_can_be_said(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text(separator="^"))
    assert "there is no column 'score'; the table has ['score^sex^level']" in refused(path)
    assert audited(path, "--separator", "^")["data"]["used"] == 30
    path.write_text(text(separator="\t"))
    assert audited(path, "--separator", "\\t")["data"]["used"] == 30


def test_an_encoding_can_be_said_and_is_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_bytes(text().replace("sex", "geschlecht").replace("f", "ä").encode("latin-1"))
    options = ("--sensitive", "geschlecht")
    roles = [*ROLES[:2], *options, *ROLES[4:], "--json", "-"]
    for engine in ("polars", "duckdb"):
        said = call("audit", path, *roles, "--engine", engine)
        assert said.returncode == 2
        assert "scores.csv is not utf-8 (byte 28 is 0xe4); say what it is" in said.stderr
        assert "--encoding latin-1" in said.stderr
    done = call("audit", path, *roles, "--encoding", "latin-1")
    assert json.loads(done.stdout)["contrasts"][0]["groups"] == ["m", "ä"]
    done = call("audit", path, *roles, "--encoding", "latin-1", "--engine", "duckdb")
    assert "engine 'duckdb' reads UTF-8 only" in done.stderr


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_letters_of_another_encoding_far_down_are_not_guessed(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    many: list[tuple[Any, ...]] = [(0.5, "fm"[k % 2], 1) for k in range(150_000)]
    path.write_bytes(text([*many, (0.5, "ä", 1)]).encode("latin-1"))
    assert path.stat().st_size > 1 << 20
    assert "--encoding latin-1" in refused(path, engine=engine)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_whole_numbers_may_be_followed_by_others(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    whole: list[tuple[Any, ...]] = [(k // 2 % 2, "fm"[k % 2], "a") for k in range(25_000)]
    path.write_text(text([*whole, (0.25, "f", "a"), (" 0.5", "m", "a"), ("1e-3", "m", "a")]))
    assert audited(path, engine=engine)["data"]["used"] == 25_003


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("words", [("true", "false"), ("True", "False"), ("TRUE", " FALSE")])
def test_decisions_may_be_truth_values(words: tuple[str, str], engine: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    rows: list[tuple[Any, ...]] = [(words[k // 2 % 2], "fm"[k % 2], "a") for k in range(40)]
    path.write_text(text([*rows, ("NA", "f", "a")]))
    document = audited(path, engine=engine)
    assert document["contrasts"][0]["conditional"]["value"] == 0.0
    assert document["data"]["used"] == 40


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    ("odd", "message"),
    [
        (["0,5", "1,25"], "mixes decimal marks: '0,5' has a decimal comma, and '0."),
        (["1_000"], "must hold numbers, but 1 of its values are none: '1_000'. Write one number"),
        (["x", "y", "z"], "must hold numbers, but 3 of its values are none: 'x', 'y', 'z'. If"),
        (["x", "y", "z", "x", "w"], "must hold numbers, but 5 of its values are none: 'w', 'x', "),
    ],
)
def test_what_is_no_number_is_shown(
    odd: list[str], message: str, engine: str, tmp_path: Path
) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text([*ROWS, *((value, "f", "1") for value in odd)], separator=";"))
    assert f"column 'score' {message}" in refused(path, engine=engine)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_two_columns_of_one_name_are_refused(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("score,sex,level,sex\n0.1,f,1,x\n0.2,m,1,y\n")
    first = ", the first in row 1" if engine == "polars" else ""
    said = f"has 2 columns called 'sex', which differ in 2 rows{first}; rename all but one"
    assert said in refused(path, engine=engine)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("name", ["plain", 'with "quotes"'])
def test_lines_with_too_many_values_are_refused(engine: str, name: str, tmp_path: Path) -> None:
    """As thousands with an unquoted comma make: 2,320 would be read as 2."""
    path = tmp_path / "scores.csv"
    quoted = '"' + name.replace('"', '""') + '"' if '"' in name else name
    path.write_text(f"sex,score,level,name\nf,2,1,{quoted}\nm,3,1,{quoted}\nm,2,320,1,{quoted}\n")
    assert "cannot be read" in refused(path, engine=engine)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"csv": {"separator": ";;"}}, "separator must be a single character"),
        ({"csv": {"separator": '"'}}, "separator must be a single character"),
        ({"csv": {"encoding": "klingon"}}, "encoding must be one that Python knows"),
        ({"csv": {"null_values": [9]}}, "null_values must be texts"),
        ({"csv": {"seperator": ";"}}, "did you mean 'separator'"),
        ({"csv": "latin-1"}, "csv must be a dictionary such as"),
        ({"csv": {"separator": 3}}, "separator of csv cannot be 3"),
        ({"csv": {"null_values": 5}}, "null_values of csv cannot be 5"),
        ({"csv": {"usual_nulls": "no"}}, "usual_nulls of csv cannot be 'no'"),
        ({"engine": "pandas"}, "engine must be one of"),
    ],
)
def test_bad_options_of_reading(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(text())
    with pytest.raises(lfl.errors.InputError, match=message):
        lfl.audit(path, score="score", sensitive="sex", **options)


@pytest.mark.parametrize(
    "options",
    [{"separator": ";"}, {"encoding": "latin-1"}, {"null_values": "x"}, {"usual_nulls": False}],
)
def test_options_of_a_csv_file_are_refused_elsewhere(
    options: dict[str, Any], tmp_path: Path
) -> None:
    frame = pl.DataFrame(ROWS, schema=["score", "sex", "level"], orient="row")
    path = tmp_path / "scores.parquet"
    frame.write_parquet(path)
    for data in (frame, path):
        with pytest.raises(lfl.errors.InputError, match="say how a CSV file is read"):
            lfl.audit(data, score="score", sensitive="sex", csv=options)
    with pytest.raises(lfl.errors.InputError, match="engine says who opens a file"):
        lfl.audit(frame, score="score", sensitive="sex", engine="duckdb")


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["1", "2", "NA", "4"], pl.Int64),
        (["1", "2.5", "", "4"], pl.Float64),
        (["01", "02", "03", "04"], pl.Int64),
        (["true", "false", "?", "True"], pl.Boolean),
        (["a", "2", "3", "4"], pl.String),
        (["NA", "?", "", "null"], pl.String),
    ],
)
def test_models_are_given_types_and_groups_stay_apart(
    column: list[str], kind: type[pl.DataType], tmp_path: Path
) -> None:
    from likeforlike.datasets import read_table

    path = tmp_path / "table.csv"
    path.write_text("x;y\n" + "".join(f"{value};1\n" for value in column) + "\n")
    found, _, _ = read_table(path, named=["x"])
    assert found.dtypes == [kind, pl.Int64]
    assert found.height == 4
    assert found["x"].null_count() == sum(v in ("NA", "?", "", "null") for v in column)
    as_groups, _, _ = read_table(path, named=["x"], groups=["x"])
    assert as_groups.dtypes[0] == (pl.String if column[0] == "01" else kind)
