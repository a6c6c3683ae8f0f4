"""Names of columns are names: on no engine a pattern, an expression or another column."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import duckdb
import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.auditing import Summary, summarize
from tests.support.command import call

pytestmark = pytest.mark.filterwarnings("ignore::likeforlike.errors.BinnedLevelWarning")

HOSTILE = [
    *("^score$", "^.*$", "^s", "s$", "*", "**", "^(score|sex)$", "^(?i)SCORE$", "[a]", "a*b", "?"),
    *(
        '"',
        '""',
        'sc"ore',
        '"score"',
        "'",
        "''",
        "`",
        "``",
        "`score`",
        "sc`ore",
        "\\",
        "\\N",
        "\\'",
    ),
    *(
        "a.b",
        ".",
        "..",
        "score.sex",
        "a,b",
        "a;b",
        "a|b",
        "a\tb",
        "a\nb",
        "a\r\nb",
        "#",
        "--",
        "/*",
    ),
    *(" ", "  ", " score", "score ", "\u00a0", "\u200b", "\u202e", "ß", "SCORE", "Score", "ſcore"),
    *(
        "ж",
        "名前",
        "é",
        "e\u0301",
        "😀",
        "0",
        "1",
        "-1",
        "1.5",
        "true",
        "null",
        "None",
        "NaN",
        "NA",
    ),
    *("select", "SELECT * FROM t", "'; DROP TABLE t; --", "score AS sex", "COLUMNS(*)", "count(*)"),
    *("p0", "p1", "text0", "number0", "text1", "c0", "t", "likeforlike_table", "likeforlike count"),
    *("likeforlike bin", "likeforlike rows", "likeforlike lost", "likeforlike low", "literal"),
    *("{}", "{0}", "{score}", "%s", "%(a)s", "$1", "${x}", "<b>", "&amp;", "=1+1", "@x", "!", "~"),
    *(
        "x" * 3000,
        "a b c",
        "column_1",
        "index",
        "level_0",
        "__index_level_0__",
        "score_duplicated_0",
    ),
]
ROLES = ("score", "sex", "level", "weight")


def people() -> pl.DataFrame:
    random = np.random.default_rng(0)
    sex = random.choice(["f", "m"], 120)
    score = random.random(120).round(2) + 0.1 * (sex == "m")
    return pl.DataFrame(
        {
            "score": score.round(3),
            "sex": sex,
            "level": random.integers(0, 3, 120),
            "weight": random.integers(1, 4, 120),
            # What a pattern would find.
            "decoy": random.random(120) + 10.0 * (sex == "m"),
        }
    )


def renamed(names: tuple[str, ...]) -> pl.DataFrame:
    """The columns by these names, beside others that a pattern or another case would find."""
    frame = people()
    frame.columns = [*names, "decoy"]
    taken = {*names, "decoy"}
    extra = [frame["decoy"].alias(each) for each in ("score", "s", "b") if each not in taken]
    return frame.with_columns(extra)


def as_csv(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_csv(folder / "table.csv", quote_style="always")
    return folder / "table.csv"


def as_parquet(frame: pl.DataFrame, folder: Path) -> Path:
    frame.write_parquet(folder / "table.parquet")
    return folder / "table.parquet"


def as_duckdb(frame: pl.DataFrame, folder: Path) -> Any:
    return duckdb.connect().read_parquet(str(as_parquet(frame, folder)))


Engine = Literal["polars", "duckdb"]
TABLES: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "polars": lambda frame, _: frame,
    "lazy": lambda frame, _: frame.lazy(),
    "pandas": lambda frame, _: frame.to_pandas(),
    "arrow": lambda frame, _: frame.to_arrow(),
    "duckdb": as_duckdb,
    "csv": as_csv,
    "parquet": as_parquet,
}


def audited(table: Any, names: tuple[str, ...], **options: Any) -> tuple[float, float]:
    score, sex, level, weight = names
    found = lfl.audit(
        table,
        score=score,
        sensitive=sex,
        legitimate=level,
        weight=weight,
        permutations=0,
        **options,
    )
    return found.gap, found.unconditional.value


@pytest.mark.parametrize("kind", TABLES)
def test_hostile_names_give_the_audit_of_plain_names(kind: str, tmp_path: Path) -> None:
    """A hundred names, four at a time, each in every role."""
    wanted = audited(people(), ROLES)
    assert len(HOSTILE) == len(set(HOSTILE)) > 100
    for first in range(0, len(HOSTILE), 3):
        names = tuple(HOSTILE[(first + k) % len(HOSTILE)] for k in range(4))
        table = TABLES[kind](renamed(names), tmp_path)
        if kind == "duckdb" and set(names) & {"SCORE", "Score"}:
            # It calls a column of a file by another name if another differs by its case only.
            with suppress(lfl.errors.InputError):
                assert audited(table, names) == wanted, names
            continue
        assert audited(table, names) == wanted, names


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_hostile_names_are_names_for_engines_that_count(
    kind: str, engine: str, tmp_path: Path
) -> None:
    roles: dict[str, Any] = {"resolution": 0.01, "permutations": 0, "engine": engine}
    frame = people()
    wanted = lfl.audit(
        frame, score="score", sensitive="sex", legitimate="level", permutations=0
    ).gap
    for name in ("^score$", "*", "a.b", 'sc"ore', "SCORE", "`x`", "a\nb", "COLUMNS(*)"):
        # A decoy that the pattern ^score$ finds, or that another case does.
        table = frame.rename({"score": name}).with_columns(frame["decoy"].alias("score"))
        path = (as_csv if kind == "csv" else as_parquet)(table, tmp_path)
        if name == "SCORE" and engine == "duckdb" and kind == "parquet":
            continue  # DuckDB itself renames a column of a file that differs by its case only
        found = lfl.audit(path, score=name, sensitive="sex", legitimate="level", **roles)
        assert found.gap == pytest.approx(wanted, abs=1e-9), name


def test_pattern_that_is_no_column_is_refused(tmp_path: Path) -> None:
    for table in TABLES.values():
        with pytest.raises(lfl.errors.InputError, match="there is no column"):
            lfl.audit(table(people(), tmp_path), score="^scor.$", sensitive="sex")


def test_numbers_with_hostile_names_are_cut_and_smoothed(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    frame = people().with_columns(pl.Series("decoy", random.random(120) * 10.0))
    plain: dict[str, Any] = {
        "score": "score",
        "sensitive": "sex",
        "legitimate": "decoy",
        "permutations": 0,
    }
    odd = plain | {"legitimate": "^d.*$"}
    table = frame.rename({"decoy": "^d.*$"}).with_columns(frame["score"].alias("d2"))
    for data in (table, table.lazy(), table.to_pandas(), as_csv(table, tmp_path)):
        assert (
            lfl.audit(data, **odd, bins={"^d.*$": 3}).gap
            == lfl.audit(frame, **plain, bins={"decoy": 3}).gap
        )
        assert (
            lfl.audit(data, **odd, smooth="^d.*$").gap
            == lfl.audit(frame, **plain, smooth="decoy").gap
        )
    counted: dict[str, Any] = {"bins": {"^d.*$": [5.0]}, "resolution": 0.1}
    summary = summarize(
        as_parquet(table, tmp_path), score="score", sensitive="sex", legitimate="^d.*$", **counted
    )
    summary.write(tmp_path / "s.cells")
    assert (
        Summary.read(tmp_path / "s.cells").audit(permutations=0).levels[0].name.startswith("^d.*$")
    )


def test_quotes_in_a_header_are_found_by_every_engine(tmp_path: Path) -> None:
    engines: tuple[Engine, ...] = ("polars", "duckdb")
    frame = people()
    path = tmp_path / "table.csv"
    text = as_csv(frame, tmp_path).read_text()
    for header in ('sc"ore', '"sc""ore"'):
        path.write_text(text.replace('"score"', header, 1))
        for engine in engines:
            found = lfl.audit(path, score='sc"ore', sensitive="sex", permutations=0, engine=engine)
            assert found.table.used == 120, engine


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_second_column_of_a_name_has_a_number(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    rows = "".join(f"0.{k},{'fm'[k % 2]},a,{'xy'[k // 2 % 2]}\n" for k in range(10, 50))
    path.write_text(f"score,sex,job,job\n{rows}")
    found = lfl.audit(
        path, score="score", sensitive="sex", legitimate="job (2)", permutations=0, engine=engine
    )
    assert found.table.cells.levels == ("x", "y")


def repeated(*, differ: bool) -> pl.DataFrame:
    frame = people()
    other = frame["score"].to_list()
    if differ:
        other[6] += 1.0
    return frame.with_columns(pl.Series("again", other))


def with_two(frame: pl.DataFrame, folder: Path) -> dict[str, Any]:
    """Tables in which two columns are called score."""
    names = [*frame.columns[:-1], "score"]
    path = folder / "twice.csv"
    path.write_text(",".join(names) + "\n" + frame.write_csv(include_header=False))
    pandas = frame.to_pandas()
    pandas.columns = names
    return {"csv": path, "pandas": pandas, "arrow": frame.to_arrow().rename_columns(names)}


def test_columns_with_one_name_and_the_same_values_are_one(tmp_path: Path) -> None:
    wanted = audited(people(), ROLES)
    for kind, table in with_two(repeated(differ=False), tmp_path).items():
        assert audited(table, ROLES) == wanted, kind
        found = lfl.audit(table, score="score", sensitive="sex", permutations=0)
        said = "2 columns are called score and hold the same values; one of them was used."
        assert said in found.finding.cautions, kind
        assert found.to_dict()["data"]["notes"] == [said]
    done = call("audit", tmp_path / "twice.csv", "--score", "score", "--sensitive", "sex")
    assert "2 columns are called score" in " ".join(done.stdout.split())


def test_columns_with_one_name_that_differ_are_refused(tmp_path: Path) -> None:
    for table in with_two(repeated(differ=True), tmp_path).values():
        with pytest.raises(
            lfl.errors.InputError,
            match="called 'score', which differ in 1 rows, the first in row 7;",
        ):
            audited(table, ROLES)


def test_a_name_that_was_probably_meant_is_told(tmp_path: Path) -> None:
    frame = people().rename({"sex": "Gender", "score": "total score"})
    for table in (frame, frame.lazy(), frame.to_pandas(), as_csv(frame, tmp_path)):
        for given, meant in (("gender", "Gender"), ("gendr", "Gender"), ("GENDER", "Gender")):
            with pytest.raises(
                lfl.errors.InputError, match=f"no column '{given}'; did you mean '{meant}'"
            ):
                lfl.audit(table, score="total score", sensitive=given)
        with pytest.raises(lfl.errors.InputError, match="did you mean 'total score'"):
            summarize(table, score="Total_Score", sensitive="Gender")
    path = as_csv(frame, tmp_path)
    for command in (
        ("audit", path, "--score", "total score", "--sensitive", "gender"),
        ("sweep", path, "--target", "total score", "--sensitive", "gender"),
        ("summarize", path, "--score", "total score", "--sensitive", "gender", "--out", "x.cells"),
    ):
        done = call(*command, cwd=tmp_path)
        assert done.returncode == 2
        assert "did you mean 'Gender'?" in done.stderr


def test_sweep_takes_names_for_names(tmp_path: Path) -> None:
    from likeforlike.datasets import dataset_of_table, read_table

    frame = people().select("score", "sex", "level", "decoy")
    names = ["^.*$", "*", 'a"b', "decoy"]
    odd = frame.rename(dict(zip(frame.columns, names, strict=True)))
    read, _, _ = read_table(as_csv(odd, tmp_path), named=names[:3], groups=names[1:3])
    for table in (odd, read):
        data, _ = dataset_of_table(table, target="^.*$", sensitive="*", legitimate=['a"b'])
        assert data.targets.tolist() == frame["score"].to_list()
        assert data.groups.tolist() == frame["sex"].to_list()
        assert data.features == ('a"b', "decoy")


def test_names_that_are_no_text_are_no_matter() -> None:
    table = people().to_pandas().rename(columns={"decoy": 7})
    assert audited(table, ROLES) == audited(people(), ROLES)
    with pytest.raises(lfl.errors.InputError, match="data must be a table"):
        audited(np.zeros((3, 3)), ROLES)
