"""Engines: how polars, DuckDB and Spark open a file.

A name is a name: none of them may take it for a pattern. Every column of a CSV file is text.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from likeforlike._forks import refuse_polars_after_fork
from likeforlike._lazy import extra
from likeforlike._settings import Engine
from likeforlike.errors import InputError
from likeforlike.files._csv import NUMBER, CsvLayout, is_even, number_column, text_column


def _polars_csv(file: Path, layout: CsvLayout, numbers: Sequence[int]) -> Any:  # noqa: ANN401
    refuse_polars_after_fork()
    import polars as pl

    names = [text_column(place) for place in range(len(layout.columns))]
    table = pl.scan_csv(
        file,
        separator=layout.separator,
        # Its own idea of a header differs from that of others where quotes stand inside a name.
        has_header=False,
        skip_lines=layout.header_lines,
        schema=dict.fromkeys(names, pl.String),
        glob=False,
        raise_if_empty=False,
    )
    if not is_even(file, layout):
        # polars minds a line with too many values only if it reads all of them.
        table.select(pl.all().null_count()).collect()
    # What is no number is null, and reported later.
    return table.with_columns(
        pl.col(text_column(place)).cast(pl.Float64, strict=False).alias(number_column(place))
        for place in numbers
    )


def _polars_parquet(file: Path) -> Any:  # noqa: ANN401
    refuse_polars_after_fork()
    import polars as pl

    return pl.scan_parquet(file, glob=False)


def _duckdb() -> Any:  # noqa: ANN401
    with extra("duckdb"):
        import duckdb

    connection = duckdb.connect()
    # Its bar goes to standard output, where the JSON of an audit may be going too.
    connection.execute("SET enable_progress_bar = false")
    return connection


def _duckdb_csv(file: Path, layout: CsvLayout, numbers: Sequence[int]) -> Any:  # noqa: ANN401
    connection = _duckdb()
    layout.demand_utf8("duckdb")
    names = [text_column(place) for place in range(len(layout.columns))]
    table = connection.read_csv(
        _duckdb_name(file),
        header=True,
        auto_detect=False,
        columns=dict.fromkeys(names, "VARCHAR"),
        delimiter=layout.separator,
        quotechar='"',
        escapechar='"',
    )
    return table.project(", ".join(["*", *map(_duckdb_number, numbers)]))


def _duckdb_number(place: int) -> str:
    """Write the SQL that reads the numbers in a column of text."""
    column, number = text_column(place), number_column(place)
    # DuckDB reads 1_000 as a number, and no other engine does.
    return (
        f"CASE WHEN contains({column}, '_') THEN NULL ELSE TRY_CAST({column} AS DOUBLE) END "
        f"AS {number}"
    )


def _duckdb_parquet(file: Path) -> Any:  # noqa: ANN401
    return _duckdb().read_parquet(_duckdb_name(file))


def _duckdb_name(file: Path) -> str:
    """Escape a file name so that DuckDB does not take it for a pattern."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(file))


def _spark() -> Any:  # noqa: ANN401
    with extra("spark"):
        from pyspark.sql import SparkSession

    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise InputError(
            "engine='spark' needs a Java runtime, and there is none on this machine: install Java "
            "17, or say in JAVA_HOME where it is."
        )
    return SparkSession.builder.appName("likeforlike").getOrCreate()


def _spark_csv(file: Path, layout: CsvLayout, numbers: Sequence[int]) -> Any:  # noqa: ANN401
    session = _spark()
    with extra("spark"):
        from pyspark.sql import functions, types

    layout.demand_utf8("spark")
    fields = [
        types.StructField(text_column(place), types.StringType())
        for place in range(len(layout.columns))
    ]
    reader = session.read.schema(types.StructType(fields)).options(
        header=True,
        sep=layout.separator,
        quote='"',
        escape='"',
        # Where no line goes on in the next, parts of a file can be read side by side.
        multiLine=layout.broken_lines,
        # Lines of another length are an error, whichever columns are asked for.
        mode="FAILFAST",
        columnPruning=False,
    )
    table = reader.csv(_spark_name(file))
    for place in numbers:
        column = functions.col(text_column(place))
        # Java takes 1d and 1f for numbers, too.
        number = functions.when(column.rlike(NUMBER), column.cast("double"))
        table = table.withColumn(number_column(place), number)
    return table


def _spark_parquet(file: Path) -> Any:  # noqa: ANN401
    return _spark().read.parquet(_spark_name(file))


def _spark_name(file: Path) -> str:
    """Escape a file name so that Spark takes it for no pattern and looks for it on this machine."""
    whole = file.absolute().as_posix()
    return "file://" + "".join(f"\\{each}" if each in "*?[]{}\\" else each for each in whole)


CSV_OPENERS: dict[Engine, Callable[[Path, CsvLayout, Sequence[int]], Any]] = {
    "auto": _polars_csv,
    "polars": _polars_csv,
    "duckdb": _duckdb_csv,
    "spark": _spark_csv,
}
"""Who opens a CSV file, with the places of columns that hold numbers, as a table of text."""

PARQUET_OPENERS: dict[Engine, Callable[[Path], Any]] = {
    "auto": _polars_parquet,
    "polars": _polars_parquet,
    "duckdb": _duckdb_parquet,
    "spark": _spark_parquet,
}
"""Who opens a Parquet file."""
