"""Files: how a table is opened, and how a broken one is reported."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from likeforlike._lazy import extra
from likeforlike._settings import ENGINES, Engine, is_one_of
from likeforlike._text import are_values_hidden
from likeforlike.errors import InputError, MissingDependencyError
from likeforlike.files._columns import tell_apart
from likeforlike.files._csv import (
    SAY_ENCODING,
    CsvOptions,
    TextTable,
    as_utf8,
    number_column,
    read_layout,
    text_column,
)
from likeforlike.files._engines import CSV_OPENERS, PARQUET_OPENERS

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
