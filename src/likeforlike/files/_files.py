"""Files: how a table is opened, and how a broken one is reported."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from likeforlike._arrays import is_one_of
from likeforlike.errors import InputError
from likeforlike.files._csv import SAY_ENCODING, CsvOptions, TextTable, read_layout
from likeforlike.files._engines import CSV_OPENERS, ENGINES, PARQUET_OPENERS, Engine

_CSV, _PARQUET = (".csv", ".tsv", ".csv.gz", ".tsv.gz"), (".parquet",)


def open_file(
    path: str | Path,
    engine: Engine = "auto",
    options: CsvOptions | None = None,
    *,
    named: Sequence[str] = (),
    numbers: Sequence[str] = (),
) -> Any:  # noqa: ANN401
    """Open a file as a lazy table of an engine; a CSV file becomes a `TextTable`."""
    if not is_one_of(engine, ENGINES):
        raise InputError(f"engine must be one of {ENGINES}, not {engine!r}.")
    file, given = Path(path), options or CsvOptions()
    kind = next((end for end in _CSV + _PARQUET if file.name.lower().endswith(end)), None)
    if kind is None:
        raise InputError(f"{file} must end in .csv or .tsv (or these and .gz), or in .parquet.")
    if not file.exists():
        raise InputError(f"{file} does not exist.")
    with readable(file):
        if kind in _PARQUET:
            given.refuse(f"{file} is none")
            return PARQUET_OPENERS[engine](file)
        layout = read_layout(file, given, named, tab=kind.startswith(".tsv"))
        parsed = [name for name in numbers if name in layout.columns]
        return TextTable(CSV_OPENERS[engine](file, layout, parsed), given.nulls)


@contextmanager
def readable(data: object) -> Iterator[None]:
    """Turn an engine's complaint about its data into an `InputError` of one line."""
    name = str(data) if isinstance(data, str | Path) else "the table"
    try:
        yield
    except _engine_errors() as error:
        reason = _reason(error)
        foreign = any(word in reason.lower() for word in ("utf-8", "unicode"))
        what_to_do = f"; {SAY_ENCODING}" if foreign else ""
        raise InputError(f"{name} cannot be read: {reason}{what_to_do}") from error


def _reason(error: Exception) -> str:
    """What an engine complains about, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Java says last what came first.
    causes = [line.partition(": ")[2] for line in lines if line.startswith("Caused by: ")]
    if causes:
        return causes[-1].partition(": ")[2] or causes[-1]
    # DuckDB says which line, shows it, and then says what is wrong with it.
    if len(lines) > 2 and "CSV Error on Line" in lines[0]:
        return f"{lines[0]}: {lines[2]}"
    if lines and "more fields than defined" in lines[0]:
        return "a line has more values than the first line has columns"
    return lines[0] if lines else type(error).__name__


def _engine_errors() -> tuple[type[Exception], ...]:
    """What engines raise; only those that have been imported can have raised anything."""
    errors: list[type[Exception]] = [OSError, EOFError]
    if "narwhals" in sys.modules:
        errors.append(sys.modules["narwhals"].exceptions.NarwhalsError)
    if "polars" in sys.modules:
        errors.append(sys.modules["polars"].exceptions.PolarsError)
    if "duckdb" in sys.modules:
        errors.append(sys.modules["duckdb"].Error)
    if "pyspark.errors" in sys.modules:
        errors.append(sys.modules["pyspark.errors"].PySparkException)
    if "py4j.protocol" in sys.modules:
        errors.append(sys.modules["py4j.protocol"].Py4JError)
    return tuple(errors)
