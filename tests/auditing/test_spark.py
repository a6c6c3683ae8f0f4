"""What Spark holds is audited as if it were in memory. In one file, one Java machine will do.

A command in a process of its own, with a machine of its own, is in `test_finders.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from tests.auditing.test_column_names import HOSTILE
from tests.auditing.test_column_names import ROLES as HOSTILE_ROLES
from tests.auditing.test_column_names import audited as hostile_audited
from tests.auditing.test_column_names import people as hostile_people
from tests.auditing.test_summaries import as_parquet, summarized_alike
from tests.auditing.test_tables import ROLES, Engines, people, same_everywhere, whole_numbers
from tests.cli.test_cli import read_by
from tests.files.test_files import ROWS, audited, refused, text
from tests.support.needs import cases
from tests.support.real import TABLES


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """A real Spark session on this machine."""
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture
def in_spark(spark: Any, tmp_path: Path) -> Engines:
    """How Spark takes a table."""

    def read(frame: pl.DataFrame) -> Any:
        frame.write_parquet(tmp_path / "spark.parquet")
        return spark.read.parquet(str(tmp_path / "spark.parquet"))

    return {"spark": read}


@pytest.mark.parametrize("name", cases(TABLES))
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("resolution", [None, 0.05])
def test_spark_gives_the_same_audit_to_the_last_bit(
    name: str, resolution: float | None, in_spark: Engines
) -> None:
    table = TABLES[name]()
    arguments = {**table.arguments, "permutations": 49, "resolution": resolution}
    same_everywhere(table.frame, in_spark, **arguments)


def test_spark_carries_along_a_number_as_others_do(in_spark: Engines) -> None:
    rng = np.random.default_rng(5)
    income = rng.lognormal(10.0, 0.5, 1500)
    sex = np.where(rng.random(1500) < income / (income + 22_000.0), "m", "f")
    score = (np.log(income) / 20.0 + 0.02 * rng.normal(size=1500)).round(6)
    frame = pl.DataFrame({"score": score, "sex": sex, "income": income.round(2)})
    roles = {"score": "score", "sensitive": "sex", "legitimate": "income"}
    same_everywhere(frame, in_spark, **roles, smooth="income", resolution=0.005, permutations=9)


def test_several_sensitive_columns_are_the_same_in_spark(in_spark: Engines) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "score": rng.random(300).round(2),
            "sex": rng.choice(np.array(["f", "m", None]), 300, p=[0.5, 0.45, 0.05]).tolist(),
            "race": rng.choice(["a", "b"], 300),
        }
    )
    same_everywhere(frame, in_spark, score="score", sensitive=["sex", "race"], permutations=9)


def test_spark_gives_the_same_audit_of_clusters(in_spark: Engines) -> None:
    same_everywhere(people(across=True), in_spark, **ROLES, weight="weight")


@pytest.mark.parametrize("kind", [pl.UInt64, pl.UInt8, pl.Int64])
def test_unsigned_levels_and_groups_are_the_same_in_spark(
    kind: type[pl.DataType], in_spark: Engines
) -> None:
    frame, arguments = whole_numbers(kind)
    same_everywhere(frame, in_spark, **arguments)


def test_every_engine_reads_the_same_from_a_csv_file(tmp_path: Path, spark: Any) -> None:
    """Names that look like patterns, text, words for missing values, quotes, odd numbers."""
    rows = [
        *((s, f'"{g}, ""x"""', level) for s, g, level in ROWS),
        *((" 0.5", '"f, ""x"""', "1"), ("NA", '"m, ""x"""', "1"), (0.5, " ? ", "01")),
        *((0.5, "", "1"), ("", "", ""), (1, '"m, ""x"""', "001")),
    ]
    path = tmp_path / "scores [1] {a}*.csv"
    path.write_text(text(rows) + "\n")
    found = {engine: audited(path, engine=engine) for engine in ("polars", "duckdb", "spark")}
    assert found["polars"]["contrasts"][0]["groups"] == ['f, "x"', 'm, "x"']
    assert (found["polars"]["data"]["rows"], found["polars"]["data"]["used"]) == (35, 32)
    for document in found.values():
        del document["data"]["engine"], document["provenance"]["created"]
    assert found["duckdb"] == found["polars"]
    assert found["spark"] == found["polars"]
    # Spark has its own idea of numbers and of letters that it cannot read.
    path.write_text(text([*ROWS, ("1d", "f", "1"), ("1_0", "m", "1")]))
    for engine in found:
        assert "must hold numbers, but 2 of its values are none" in refused(path, engine=engine)
    path.write_bytes(text([*ROWS * 4_000, (0.5, "ä", 1)]).encode("latin-1"))
    assert "--encoding latin-1" in refused(path, engine="spark")
    path.write_text("sex,score,level\nf,2,1\nm,3,1\nm,2,320,1\n")
    assert "cannot be read" in refused(path, engine="spark")


@pytest.mark.usefixtures("spark")
def test_spark_summarizes_as_others_do(tmp_path: Path) -> None:
    summarized_alike("spark", as_parquet, tmp_path)


@pytest.mark.usefixtures("spark")
def test_spark_reads_a_file_for_the_command_line(tmp_path: Path) -> None:
    read_by("spark", tmp_path)


def test_hostile_names_are_names_in_spark(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql import types

    table = hostile_people()
    wanted = hostile_audited(table, HOSTILE_ROLES)
    rows = table.rows()
    for first in range(0, len(HOSTILE), 8):
        names = tuple(HOSTILE[(first + k) % len(HOSTILE)] for k in range(4))
        kinds = [types.DoubleType, types.StringType, types.LongType, types.LongType]
        fields = [types.StructField(n, kind()) for n, kind in zip(names, kinds, strict=True)]
        fields.append(types.StructField("score", types.DoubleType()))
        frame = spark.createDataFrame(rows, types.StructType(fields))
        if "score" not in names:
            assert hostile_audited(frame, names) == wanted, names
    text = hostile_people().rename({"score": "a.b", "sex": "`"})
    text.write_csv(tmp_path / "odd.csv")
    found = lfl.audit(
        tmp_path / "odd.csv", score="a.b", sensitive="`", engine="spark", permutations=0
    )
    own = lfl.audit(table, score="score", sensitive="sex", permutations=0)
    assert found.gap == own.gap


def test_spark_cuts_dates_and_refuses_text_with_a_remedy(spark: Any) -> None:
    days = [date(2024, 1 + k // 2 % 12, 3) for k in range(200)]
    rows = [(k % 7 / 7, "fm"[k % 2], day, "1,5") for k, day in enumerate(days)]
    frame = spark.createDataFrame(rows, ["s", "a", "day", "text"])
    roles: dict[str, Any] = {"sensitive": "a", "legitimate": "day", "permutations": 0}
    with warnings.catch_warnings(action="ignore", category=lfl.errors.BinnedLevelWarning):
        found = lfl.audit(frame, score="s", **roles, bins={"day": "month"})
        assert found.table.cells.levels[0] == "2024-01"
        assert len(found.table.cells.levels) == 12
        assert lfl.audit(frame, score="s", **roles, bins={"day": 4}).table.calendar == {
            "day": "day"
        }
    with pytest.raises(lfl.errors.InputError, match="its type is String: cast it where it is"):
        lfl.audit(frame, score="text", sensitive="a")


def test_words_are_decisions_in_spark(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    path.write_text(text([(("yes", "No")[k // 2 % 3 == 0], "fm"[k % 2], "a") for k in range(40)]))
    found = {engine: audited(path, engine=engine) for engine in ("polars", "duckdb", "spark")}
    for document in found.values():
        assert document["data"]["notes"] == [
            "score was read as decisions: 'yes' is 1 and 'no' is 0."
        ]
        assert document["contrasts"] == found["polars"]["contrasts"]
