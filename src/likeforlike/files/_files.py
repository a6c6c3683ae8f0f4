"""Files: how polars, DuckDB and Spark open a table, and how a broken one is reported.

A name is a name: no engine may take it for a pattern. Every column of a CSV file is text.
"""

from __future__ import annotations

import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from likeforlike._forks import refuse_polars_after_fork
from likeforlike._lazy import extra
from likeforlike._settings import ENGINES, Engine, is_one_of
from likeforlike._text import are_values_hidden
from likeforlike.errors import InputError, MissingDependencyError
from likeforlike.files._columns import tell_apart
from likeforlike.files._csv import (
    NUMBER,
    SAY_ENCODING,
    CsvLayout,
    CsvOptions,
    TextTable,
    as_utf8,
    is_even,
    number_column,
    read_layout,
    text_column,
)


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


_CSV, _PARQUET, _EXCEL = (".csv", ".tsv", ".csv.gz", ".tsv.gz"), (".parquet",), (".xlsx", ".xlsm")
# What other programs write, and what to do with it.
_OTHERS = {
    ".xls": "save it as .xlsx or as CSV",
    ".xlsb": "save it as .xlsx or as CSV",
    ".ods": "save it as .xlsx or as CSV",
    ".numbers": "export it as .xlsx or as CSV",
    ".txt": "if its lines are rows, rename it to .csv",
    ".zip": "unpack it first",
    ".csv.zip": "unpack it first",
    ".json": "turn it into CSV or Parquet",
    ".sav": "save it as CSV",
    ".dta": "save it as CSV",
}


@contextmanager
def open_file(
    path: str | Path,
    engine: Engine = "auto",
    options: CsvOptions | None = None,
    *,
    named: Sequence[str] = (),
    numbers: Sequence[str] = (),
) -> Iterator[Any]:
    """Open a file as a lazy table of an engine; a CSV or Excel file becomes a `TextTable`.

    The table can be read inside the block only: a compressed file has a copy that goes with it.
    """
    if not is_one_of(engine, ENGINES):
        raise InputError(f"engine must be one of {ENGINES}, not {engine!r}.")
    file, given = Path(path), options or CsvOptions()
    kind = _kind(file)
    if not file.exists():
        raise InputError(f"{file} does not exist.")
    with ExitStack() as stack:
        with readable(file):
            if kind in _PARQUET:
                given.refuse(f"{file} is none")
                table = PARQUET_OPENERS[engine](file)
            elif kind in _EXCEL:
                given.refuse(f"{file} is an Excel file", text=True)
                if engine not in ("auto", "polars"):
                    raise InputError(
                        f"engine {engine!r} does not read Excel files; leave out engine, or save "
                        f"{file} as CSV."
                    )
                table = _read_excel(file, given, numbers)
            else:
                given.refuse_sheet(f"{file} is none")
                layout = read_layout(file, given, named, tab=kind.startswith(".tsv"))
                # Others read what is compressed by themselves.
                plain = engine in ("auto", "polars")
                source = stack.enter_context(as_utf8(file, layout)) if plain else file
                opened = CSV_OPENERS[engine](source, layout, _places(numbers, layout.columns))
                table = TextTable(opened, layout.columns, given)
        yield table


def _kind(file: Path) -> str:
    """How the name of a file ends, of those that are read."""
    name = file.name.lower()
    kind = next((end for end in _CSV + _PARQUET + _EXCEL if name.endswith(end)), None)
    if kind is not None:
        return kind
    advice = next((words for end, words in _OTHERS.items() if name.endswith(end)), None)
    raise InputError(
        f"{file} must end in .csv or .tsv (or these and .gz), in .parquet or in .xlsx"
        f"{f'; {advice}' if advice else ''}."
    )


def _places(names: Sequence[str], columns: Sequence[str]) -> list[int]:
    apart = tell_apart(columns)
    return [apart.index(name) for name in names if name in apart]


def _read_excel(file: Path, options: CsvOptions, numbers: Sequence[str]) -> TextTable:
    """Read a sheet of an Excel file as a table of text, whose first row names columns."""
    import polars as pl

    try:
        with extra("excel"):
            import fastexcel
    except MissingDependencyError as missing:
        missing.args = (f"{missing} Or save {file} as CSV.",)
        raise
    book = fastexcel.read_excel(file)
    sheet = _sheet(book.sheet_names, options.sheet, file)
    # By place: names of columns may be equal, or empty.
    texts = pl.DataFrame(book.load_sheet(sheet, header_row=None, dtypes="string"))
    if not texts.height:
        raise InputError(f"{file} cannot be read: sheet {sheet!r} is empty.")
    columns = tuple("" if name is None else str(name) for name in texts.row(0))
    kinds = pl.DataFrame(book.load_sheet(sheet, header_row=None, skip_rows=1)).dtypes
    frame = texts.slice(1)
    frame.columns = [text_column(place) for place in range(frame.width)]
    parsed = frame.with_columns(
        pl.col(text_column(place)).cast(pl.Float64, strict=False).alias(number_column(place))
        for place in _places(numbers, columns)
    )
    typed = frozenset(place for place, kind in enumerate(kinds) if kind.is_numeric())
    return TextTable(parsed.lazy(), columns, options, typed)


def _sheet(names: Sequence[str], wanted: str | None, file: Path) -> str:
    """Return the sheet that is read: the one named, or the only one."""
    if wanted in names:
        return str(wanted)
    listed = f"it has {list(names)}"
    if wanted is not None:
        near = get_close_matches(wanted, names, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise InputError(f"{file} has no sheet {wanted!r}; {hint}{listed.capitalize()}.")
    if len(names) != 1:
        raise InputError(
            f"{file} has {len(names)} sheets; name one, csv={{'sheet': ...}} (--sheet): {listed}."
        )
    return names[0]


@contextmanager
def readable(data: object) -> Iterator[None]:
    """Turn an engine's complaint about its data into an `InputError` of one line."""
    name = str(data) if isinstance(data, str | Path) else "the table"
    try:
        yield
    except InputError:
        raise
    except _engine_errors() as error:
        if are_values_hidden():  # an engine may quote the rows it stumbles over
            raise InputError(
                f"{name} cannot be read ({type(error).__name__}); leave out suppress_below to see "
                "what the engine says, which may quote rows."
            ) from None
        reason = _reason(error)
        foreign = any(word in reason.lower() for word in ("utf-8", "unicode"))
        what_to_do = f"; {SAY_ENCODING}" if foreign else ""
        raise InputError(f"{name} cannot be read: {reason}{what_to_do}") from error


def _reason(error: BaseException) -> str:
    """Say in one line what an engine complains about."""
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


def _engine_errors() -> tuple[type[BaseException], ...]:
    """List what engines raise; only those that have been imported can have raised anything."""
    errors: list[type[BaseException]] = [OSError, EOFError, UnicodeError, zlib.error]
    for module, name in (
        ("narwhals.exceptions", "NarwhalsError"),
        ("polars.exceptions", "PolarsError"),
        # What goes wrong inside polars is no Exception.
        ("polars.exceptions", "PanicException"),
        ("pyarrow", "ArrowException"),
        ("duckdb", "Error"),
        ("fastexcel", "FastExcelError"),
        ("pyspark.errors", "PySparkException"),
        ("py4j.protocol", "Py4JError"),
    ):
        if module in sys.modules:
            errors.append(getattr(sys.modules[module], name))
    return tuple(errors)
