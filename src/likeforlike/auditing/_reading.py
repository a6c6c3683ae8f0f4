"""The columns an audit uses: what is missing, and which rows are left. The engine does the work.

`read_columns` reads tables with types. Columns whose type says little, text and objects of Python,
are read one by one: numbers that are kept as text, decimal numbers and truth values next to
missing ones, as pandas has them. Only tables in memory are: an engine that counts by itself casts
its columns.

`read_text_columns` reads tables of text, as CSV files are. Where nothing is odd a table is passed
over twice. The first pass counts combinations of values, which are few, and sees whether every
number is one; the second fetches rows. Only words for missing values, lines without anything in
them and texts that are no plain numbers need another look.

Bins cut a column of numbers or dates at quantiles, at edges, or by the calendar. A value that
equals an edge lies below it. Dates are numbers along time: days since 1970.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal as DecimalNumber
from functools import reduce
from itertools import pairwise
from numbers import Real
from operator import and_, index
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._forks import refuse_polars_after_fork
from likeforlike._text import date_words, figure, quote
from likeforlike.auditing._comparisons import count_missing, unknown_as_null
from likeforlike.disparity import is_nothing, numbers
from likeforlike.document import LostRows
from likeforlike.errors import BinnedLevelWarning, InputError
from likeforlike.files import (
    NUMBER,
    SAY_DECIMAL,
    SAY_ENCODING,
    USUAL_NULLS,
    Decimal,
    ReadTexts,
    TextTable,
    column_key,
    column_names_of,
    decision_note,
    decision_words,
    drop_duplicate_columns,
    is_ambiguous,
    is_polars,
    number_column,
    pick_column,
    places_of,
    read_texts,
    refuse_texts,
    take_columns,
    text_column,
)

_TEXT = (nw.String, nw.Categorical, nw.Enum)
_LOOSE = (*_TEXT, nw.Object, nw.Unknown)


Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]
Counted = tuple[int, int, dict[str, int]]
"""Rows, rows that lack nothing, and missing values by column."""


def read_loose_columns(
    frame: Frame,
    named: Sequence[str],
    numbers: Sequence[str],
    along: Sequence[str],
    decimal: Decimal | None,
) -> tuple[Frame, dict[str, dict[str, int]], list[str], list[str], dict[str, str]]:
    """Turn columns that must hold numbers into numbers, and objects that are dates into dates.

    Returns the table, {column: {word: how often}} for words that were taken for a missing value,
    columns of dates that are now days since 1970, notes on how columns were read where that is not
    plain, and {column: unit} of columns that have one.
    """
    nulls: dict[str, dict[str, int]] = {}
    dates: list[str] = []
    notes: list[str] = []
    units: dict[str, str] = {}
    schema = frame.collect_schema()
    for column in named:
        kind = schema[column_key(column)]
        if column in numbers and not _is_number(kind, column, along):
            if kind not in _LOOSE:
                raise InputError(f"column {column!r} must hold numbers, but its type is {kind}.")
            rows = _collect(frame, column, kind)
            values, read, words = _read_numbers(rows, column, decimal, dates=column in along)
            frame = _replace_column(rows, column, values, nw.Float64())
            nulls |= {column: words} if words else {}
            dates += [column] if read.dates else []
            notes += [] if read.note is None else [f"{column} {read.note}."]
            units |= {} if read.unit is None else {column: read.unit}
        elif column not in numbers and kind == nw.Object and isinstance(frame, nw.DataFrame):
            # Objects that are all dates become dates, which the calendar can cut.
            objects = frame[column_key(column)].to_list()
            if _are_dates(objects):
                times = [_to_time(each) if isinstance(each, date) else None for each in objects]
                frame = _replace_column(frame, column, times, nw.Datetime("us"))
    return frame, nulls, dates, notes, units


def _is_number(kind: nw.dtypes.DType, column: str, along: Sequence[str]) -> bool:
    """Whether a column has a type of numbers, or one of dates along which people are compared."""
    date_along = column in along and kind in (nw.Date, nw.Datetime)
    return kind.is_numeric() or kind == nw.Boolean or date_along


def _read_numbers(
    frame: nw.DataFrame[Any], column: str, decimal: Decimal | None, *, dates: bool
) -> tuple[list[float | None], ReadTexts, dict[str, int]]:
    """Read the numbers of a column, how they were written, and words for missing ones."""
    values = frame[column_key(column)].to_list()
    texts = Counter(value for value in values if isinstance(value, str))
    nulls = {text: n for text, n in texts.items() if text.strip() in ("", *USUAL_NULLS)}
    present = {text: n for text, n in texts.items() if text not in nulls}
    read = read_texts(present, column, decimal, dates=dates)
    as_dates = dates and _are_dates(values)
    numbers = [
        read.values.get(value)
        if isinstance(value, str)
        else _to_number(value, column, as_date=as_dates)
        for value in values
    ]
    words = Counter({text.strip(): n for text, n in nulls.items() if text.strip()})
    return numbers, read._replace(dates=read.dates or as_dates), dict(words.most_common())


def _collect(frame: Frame, column: str, kind: nw.dtypes.DType) -> nw.DataFrame[Any]:
    """Fetch the rows of a table that polars can; what another engine holds stays where it is."""
    if isinstance(frame, nw.DataFrame):
        return frame
    if frame.implementation.is_polars():
        return frame.collect()
    raise InputError(
        f"column {column!r} must hold numbers, but its type is {kind}: cast it where it is, or "
        "hand over its rows as a pandas or polars table."
    )


def _to_number(value: object, column: str, *, as_date: bool) -> float | None:
    """Convert an object of Python to a number; `None` if it stands for nothing."""
    if is_nothing(value):
        return None
    if as_date and isinstance(value, date):
        since = _to_time(value).replace(tzinfo=None) - datetime(1970, 1, 1)
        return since.total_seconds() / 86400.0
    if not isinstance(value, Real | DecimalNumber):
        raise InputError(
            f"column {column!r} must hold numbers, but it holds a value of type "
            f"{type(value).__name__}; convert it first."
        )
    try:
        return float(value)
    except (OverflowError, ValueError) as error:
        raise InputError(f"column {column!r} must hold numbers that fit in a float.") from error


def _replace_column(
    frame: nw.DataFrame[Any], column: str, values: Sequence[object], kind: nw.dtypes.DType
) -> nw.DataFrame[Any]:
    """Replace a column, with the row labels of its table, which pandas goes by."""
    series = nw.new_series(column_key(column), values, kind, backend=frame.implementation)
    native, table = series.to_native(), frame.to_native()
    if hasattr(native, "set_axis"):
        series = nw.from_native(native.set_axis(table.index), series_only=True)
    return frame.with_columns(series)


def _are_dates(values: Sequence[object]) -> bool:
    known = [value for value in values if not is_nothing(value)]
    return bool(known) and all(isinstance(value, date) for value in known)


def _to_time(day: date) -> datetime:
    return day if isinstance(day, datetime) else datetime(day.year, day.month, day.day)


Calendar = Literal["month", "quarter", "year"]
"""Parts of a calendar that dates are cut into."""

Cut = int | Sequence[float] | Calendar
"""Into how many parts a column is cut at its quantiles, the edges between them, or a calendar."""

Bins = Mapping[str, Cut]
"""How each column is cut."""

COUNT = "likeforlike count"
"""What a column is called that says how many rows a line stands for."""

# How many parts a year has.
_PARTS = {"month": 12, "quarter": 4, "year": 1}


def check_bins(
    bins: Bins, legitimate: Sequence[str]
) -> dict[str, int | tuple[float, ...] | Calendar]:
    """Check that bins make sense, with edges in order."""
    if not isinstance(bins, Mapping):
        raise InputError(
            f"bins must say which column to cut, as {{'income': 10}} or "
            f"{{'income': [20_000, 40_000]}}, not {bins!r}."
        )
    for column in bins:
        if column not in legitimate:
            raise InputError(f"bins names {column!r}, which is not a legitimate column.")
    return {column: _check_cut(column, cut) for column, cut in bins.items()}


def _check_cut(column: str, cut: Cut) -> int | tuple[float, ...] | Calendar:
    """Check how one column is to be cut."""
    for part in get_args(Calendar):
        if isinstance(cut, str) and cut == part:
            named: Calendar = part
            return named
    if isinstance(cut, Sequence | np.ndarray) and not isinstance(cut, str | bytes):
        edges = tuple(numbers(cut, f"bins of {column!r}").tolist())
        if list(edges) != sorted(set(edges)):
            raise InputError(f"bins of {column!r} must rise from edge to edge, not {list(edges)}.")
        return edges
    try:
        how_many = index(cut)  # type: ignore[arg-type]  # whatever it is, it is checked here
    except TypeError as error:
        raise InputError(
            f"bins must cut {column!r} into a whole number of parts, at a list of edges, or, if it "
            f"holds dates, by 'month', 'quarter' or 'year', not {cut!r}."
        ) from error
    if how_many < 2:
        raise InputError(f"bins must cut {column!r} into at least 2 parts, not {cut!r}.")
    return how_many


def inner_edges(
    frame: nw.LazyFrame[Any], column: str, cut: int | tuple[float, ...]
) -> tuple[float, ...]:
    """Find the edges between the bins of a column, in order."""
    edges = cut if isinstance(cut, tuple) else ()
    if not isinstance(cut, tuple):
        key = column_key(column)
        counted = frame.group_by(key).agg(nw.len().alias(COUNT)).collect()
        values = numbers(counted[key].to_numpy(), f"column {column!r}")
        edges = quantile_edges(values, counted[COUNT].to_numpy().astype(np.int64), cut)
    _warn(column, f"{len(edges) + 1 if isinstance(cut, tuple) else cut} bins")
    return edges


def _warn(column: str, parts: str) -> None:
    """Warn that people in one bin are not equal."""
    warnings.warn(
        f"{column!r} was cut into {parts}. People in one bin are not equal, so a test "
        "within bins can find a disparity that comes only from the width of the bins; with "
        "more bins it shrinks.",
        BinnedLevelWarning,
        stacklevel=6,
    )


def quantile_edges(values: FloatArray, counts: IntArray, how_many: int) -> tuple[float, ...]:
    """Find edges that cut different values (v,), with their rows, into parts of equal number.

    Between two neighboring values any number divides the rows alike, so the shortest
    decimal is taken.
    """
    order = np.argsort(values)
    values, cumulative = values[order], np.cumsum(counts[order])
    place = np.arange(1, how_many) / how_many * (cumulative[-1] - 1)
    below = np.searchsorted(cumulative, np.floor(place), side="right")
    above = np.searchsorted(cumulative, np.ceil(place), side="right")
    wanted = values[below] + (values[above] - values[below]) * (place - np.floor(place))
    # Nothing lies above the highest value, so it divides nothing.
    edges = {
        shortest_decimal(float(values[k]), float(values[k + 1]), float(edge))
        for k, edge in zip(below, wanted, strict=True)
        if k + 1 < values.size
    }
    return tuple(sorted(edges))


def shortest_decimal(low: float, high: float, wanted: float) -> float:
    """Find the number with the fewest digits in [low, high) that `wanted` may be rounded to."""
    first = -math.ceil(math.log10(max(abs(low), abs(high))))
    for places in range(first, first + 18):
        near = round(wanted, places)
        for each in (near, *(round(near + step * 10.0**-places, places) for step in (-1, 1))):
            if low <= each < high:
                return each
    return low


def bin_numbers(column: str, edges: tuple[float, ...]) -> nw.Expr:
    """Count how many edges lie below the value: the number of its bin."""
    if not edges:
        return (pick_column(column) != pick_column(column)).cast(nw.Int64).alias(column_key(column))
    above = ((pick_column(column) > edge).cast(nw.Int64) for edge in edges)
    return nw.sum_horizontal(*above).alias(column_key(column))


def cut_by_calendar(frame: nw.LazyFrame[Any], column: str, part: Calendar) -> nw.LazyFrame[Any]:
    """Replace every date by the number of its month, quarter or year.

    Text is read as ISO 8601 has it: 2024-03-31, whatever follows.
    """
    kind = frame.collect_schema()[column_key(column)]
    if kind in (nw.Date, nw.Datetime):
        year, month = pick_column(column).dt.year(), pick_column(column).dt.month()
    elif kind == nw.String:
        text = pick_column(column).str.strip_chars()
        fits = text.str.contains(r"^[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]")
        odd = frame.filter(~fits).select(column_key(column)).head(1).collect()
        if len(odd):
            value = odd[column_key(column)].to_list()[0]
            raise InputError(
                f"column {column!r} holds {quote(value)}, which is no date as in "
                f"2024-03-31; bins={{{column!r}: {part!r}}} needs dates, or text in this form."
            )
        year, month = text.str.slice(0, 4).cast(nw.Int64), text.str.slice(5, 2).cast(nw.Int64)
    else:
        raise InputError(
            f"bins={{{column!r}: {part!r}}} needs dates, but the type of column {column!r} is "
            f"{kind}; turn it into dates, or cut it into a number of bins."
        )
    parts = _PARTS[part]
    number = year.cast(nw.Int64) * parts + ((month.cast(nw.Int64) - 1) * parts) // 12
    _warn(column, f"{part}s")
    return frame.with_columns(number.alias(column_key(column)))


def calendar_name(number: object, part: str) -> str | int:
    """Name the month, quarter or year of this number: 2024-03, 2024-Q1, 2024."""
    year, rest = divmod(int(str(number)), _PARTS[part])
    if part == "year":
        return year
    return f"{year:04d}-{rest + 1:02d}" if part == "month" else f"{year:04d}-Q{rest + 1}"


def days(column: str, kind: nw.dtypes.DType) -> nw.Expr:
    """Count days from 1970-01-01 to every date; an expression for any engine.

    By the calendar: engines differ in how they count time, and agree on years, months and days.
    """
    date = pick_column(column).dt
    year, month = date.year().cast(nw.Float64), date.month().cast(nw.Float64)
    # Years begin in March, so that the day that may be missing is their last.
    year = year - (month <= 2.0).cast(nw.Float64)
    month = (month + 9.0) - 12.0 * (month > 2.0).cast(nw.Float64)
    leap = (year / 4.0).floor() - (year / 100.0).floor() + (year / 400.0).floor()
    passed = ((153.0 * month + 2.0) / 5.0).floor() + date.day().cast(nw.Float64)
    number = 365.0 * year + leap + passed - 719469.0
    if kind == nw.Datetime:
        seconds = date.hour().cast(nw.Float64) * 3600.0 + date.minute().cast(nw.Float64) * 60.0
        number = number + (seconds + date.second().cast(nw.Float64)) / 86400.0
    return number.alias(column_key(column))


def bin_names(edges: tuple[float, ...], *, dates: bool = False) -> list[str]:
    """Name each bin, with as many digits as it takes to distinguish its edges."""
    if not edges:
        return ["(any)"]
    written = date_words(edges) if dates else number_names(edges)
    inner = (f"above {low} up to {high}" for low, high in pairwise(written))
    return [f"up to {written[0]}", *inner, f"above {written[-1]}"]


def number_names(values: tuple[float, ...]) -> list[str]:
    """Write different numbers with as many digits as it takes to distinguish them."""
    for digits in range(6, 18):
        names = [figure(value, digits) for value in values]
        if len(set(names)) == len(values):
            return names
    return [repr(value) for value in values]


@dataclass(frozen=True, slots=True)
class ReadColumns:
    """Rows that have a value in every column asked for, and what was left out.

    Attributes
    ----------
    frame : those rows; a table in memory, or one that is not read yet.
    rows, used, missing, engine, nulls, text, lost, notes : as of `TableCells`.
    dates : columns of dates that became numbers, days since 1970.
    units : {column: unit} for columns whose numbers were written with one.
    in_memory : whether the rows are.
    """

    frame: nw.LazyFrame[Any]
    rows: int
    used: int
    missing: dict[str, int]
    engine: str
    nulls: dict[str, dict[str, int]] = field(default_factory=dict)
    text: bool = False
    lost: tuple[LostRows, ...] = ()
    dates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    units: dict[str, str] = field(default_factory=dict)
    in_memory: bool = False


def read_columns(
    source: Any,  # noqa: ANN401
    named: Sequence[str],
    numbers: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    along: Sequence[str] = (),
    decimal: Decimal | None = None,
    optional: Sequence[str] = (),
) -> ReadColumns:
    """Read columns of a table with types, of which some must hold numbers, or dates (`along`).

    Columns are called by their keys in the frame. Rows that are left out are counted by the values
    of the sensitive columns. With several of these a row may lack some of them: it has a group in
    the others. What `optional` columns lack is null.
    """
    optional = (*optional, *(sensitive if len(sensitive) > 1 else ()))
    opened, notes = _open_source(source, named)
    engine = str(opened.implementation)
    opened, nulls, text_dates, more, units = read_loose_columns(
        opened, named, numbers, along, decimal
    )
    schema = opened.collect_schema()
    # Dates are numbers along time; a score or a weight is none.
    dates = tuple(c for c in along if schema[column_key(c)] in (nw.Date, nw.Datetime))
    if dates:
        opened = opened.with_columns(*(days(c, schema[column_key(c)]) for c in dates))
        schema = opened.collect_schema()
    lost: tuple[LostRows, ...] = ()
    frame, in_memory = opened.lazy(), isinstance(opened, nw.DataFrame)
    if isinstance(opened, nw.DataFrame) and len(opened) and _is_complete(opened, named):
        counted = (len(opened), len(opened), dict.fromkeys(named, 0))
    else:
        lacking = {column: _is_missing(schema, column) for column in named}
        counted = count_rows(frame, lacking, optional=optional)
        frame, lost = drop_incomplete(frame, lacking, counted, sensitive, optional)
        if optional:
            frame = frame.with_columns(*unknown_as_null(lacking, optional))
    return ReadColumns(
        frame,
        *counted,
        engine=engine,
        nulls=nulls,
        lost=lost,
        dates=(*dates, *text_dates),
        notes=(*notes, *more),
        units=units,
        in_memory=in_memory,
    )


def _open_source(
    source: Any,  # noqa: ANN401
    named: Sequence[str],
) -> tuple[Frame, list[str]]:
    """Take the columns named, called by their keys, with notes about them."""
    if is_polars(nw.to_native(source, pass_through=True)):
        refuse_polars_after_fork()
    try:
        names = column_names_of(source)
        places, again = places_of(named, names)
        frame = take_columns(source, {**places, **again})
    except (AttributeError, TypeError) as error:
        raise InputError(
            f"data must be a table (pandas, polars, pyarrow, DuckDB, PySpark) or a path, not "
            f"{type(source).__name__}."
        ) from error
    return drop_duplicate_columns(frame, named, again)


def _is_missing(schema: nw.Schema, column: str) -> nw.Expr:
    """Whether a value of a column is missing."""
    missing = pick_column(column).is_null()
    return (
        missing | pick_column(column).is_nan() if schema[column_key(column)].is_float() else missing
    )


def _is_complete(frame: nw.DataFrame[Any], named: Sequence[str]) -> bool:
    """Whether a table in memory lacks nothing, which is quickly seen."""
    return not any(
        column.null_count() or (column.dtype.is_float() and column.is_nan().any())
        for column in (frame[column_key(name)] for name in named)
    )


def count_rows(
    frame: nw.LazyFrame[Any],
    lacking: Mapping[str, nw.Expr],
    times: nw.Expr | None = None,
    *,
    optional: Sequence[str] = (),
) -> Counted:
    """Count what is missing; with `times` a line stands for as many rows."""
    asked = [*lacking.values(), _lacks_nothing(lacking, optional)]
    rows = nw.lit(1) if times is None else times
    sums = [(each.cast(nw.Int64) * rows).sum() for each in asked]
    sums.append(nw.len() if times is None else times.sum())
    counted = frame.select(*(each.alias(f"{COUNT} {k}") for k, each in enumerate(sums))).collect()
    *lacked, used, whole = (int(number or 0) for number in counted.rows()[0])
    missing = dict(zip(lacking, lacked, strict=True))
    if used == 0:
        raise InputError(f"no row has a value in every column; of {whole} rows missing: {missing}.")
    return whole, used, missing


def drop_incomplete(
    frame: nw.LazyFrame[Any],
    lacking: Mapping[str, nw.Expr],
    counted: Counted,
    sensitive: Sequence[str],
    optional: Sequence[str],
) -> tuple[nw.LazyFrame[Any], tuple[LostRows, ...]]:
    """Keep the rows that lack nothing, and count those left out by group."""
    rows, used, missing = counted
    lost: tuple[LostRows, ...] = ()
    if sensitive and any(missing.values()):
        lost = count_missing(frame, sensitive, lacking)
    return frame if used == rows else frame.filter(_lacks_nothing(lacking, optional)), lost


def _lacks_nothing(lacking: Mapping[str, nw.Expr], optional: Sequence[str]) -> nw.Expr:
    """Whether a row lacks nothing that it needs."""
    return all_of(~lacks for name, lacks in lacking.items() if name not in optional)


def all_of(expressions: Iterable[nw.Expr]) -> nw.Expr:
    """Whether all expressions hold."""
    return reduce(and_, expressions)


_UNREADABLE = "\ufffd"
# Rows that are looked at before all are, for one that settles how numbers are written.
_FIRST = 100


def read_text_columns(
    source: TextTable,
    named: Sequence[str],
    numbers: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    along: Sequence[str] = (),
    optional: Sequence[str] = (),
) -> ReadColumns:
    """Read columns of text, of which some must hold numbers, or dates (`along`)."""
    options = source.options
    optional = (*optional, *(sensitive if len(sensitive) > 1 else ()))
    table: nw.LazyFrame[Any] = nw.from_native(source.table).lazy()
    texts = [text_column(place) for place in range(len(source.columns))]
    places, again = places_of(named, source.columns)
    chosen = [nw.col(text_column(place)).alias(key) for key, place in (places | again).items()]
    chosen += [
        nw.col(number_column(places[column_key(column)])).alias(_number_key(column))
        for column in numbers
    ]
    frame = _collect_columns(table, chosen)
    lines = _combinations(frame, named, numbers)
    if lines.filter(all_of(_lacks(column, numbers) for column in named)).shape[0]:
        # A line without anything in it is no row. To know them takes all columns.
        table = table.filter(~all_of(nw.col(name).is_null() for name in texts))
        frame = _collect_columns(table, chosen)
        lines = _combinations(frame, named, numbers)
    single, notes = drop_duplicate_columns(frame, named, again)
    frame = plain = single.lazy()
    nulls: dict[str, dict[str | None, int]] = {}
    dates: list[str] = []
    units: dict[str, str] = {}
    for column in numbers:
        is_typed = places[column_key(column)] in source.typed
        frame, nulls[column], read = _read_number_texts(
            frame,
            column,
            source,
            odd=lines[_no_number(column)].any(),
            is_typed=is_typed,
            dates=column in along,
        )
        notes += [] if read.note is None else [f"{column} {read.note}."]
        units |= {} if read.unit is None else {column: read.unit}
        dates += [column] if read.dates else []
    if frame is not plain:
        lines = _combinations(frame, named, numbers)
    for column in named:
        if column not in numbers:
            nulls[column] = _null_texts(lines, column, options.nulls)
            if table.implementation.is_pyspark():
                _refuse_foreign(lines, column)
    counted = count_rows(
        lines.lazy(),
        {c: _lacks(c, numbers, nulls.get(c)) for c in named},
        nw.col(COUNT),
        optional=optional,
    )
    lacking = {
        column: nw.col(_number_key(column)).is_null()
        if column in numbers
        else _lacks(column, (), nulls[column])
        for column in named
    }
    complete, lost = drop_incomplete(frame, lacking, counted, sensitive, optional)
    read_as = {
        column: nw.col(_number_key(column)).alias(column_key(column))
        if column in numbers
        else pick_column(column)
        for column in named
    }
    texts_only = [column for column in optional if column not in numbers]
    read_as |= zip(texts_only, unknown_as_null(lacking, texts_only), strict=True)
    return ReadColumns(
        complete.select(*read_as.values()),
        *counted,
        str(table.implementation),
        {column: words for column in named if (words := _words(nulls.get(column, {})))},
        text=True,
        lost=lost,
        dates=tuple(dates),
        notes=tuple(notes),
        units=units,
    )


def _collect_columns(table: nw.LazyFrame[Any], chosen: Sequence[nw.Expr]) -> nw.LazyFrame[Any]:
    """Select columns; polars works in memory, so it reads them once and for all."""
    taken = table.select(*chosen)
    return taken.collect().lazy() if table.implementation.is_polars() else taken


def _number_key(column: str) -> str:
    return f"{column_key(column)}_number"


def _no_number(column: str) -> str:
    return f"{column_key(column)}_null"


def _combinations(
    frame: nw.LazyFrame[Any], named: Sequence[str], numbers: Collection[str]
) -> nw.DataFrame[Any]:
    """Count how often texts occur together, and with which numbers that are none."""
    keys = [
        nw.col(_number_key(c)).is_null().alias(_no_number(c)) if c in numbers else pick_column(c)
        for c in named
    ]
    names = [_no_number(c) if c in numbers else column_key(c) for c in named]
    return frame.select(*keys).group_by(*names).agg(nw.len().alias(COUNT)).collect()


def _lacks(
    column: str, numbers: Collection[str], nulls: Iterable[str | None] | None = None
) -> nw.Expr:
    """Whether a combination lacks a value in a column."""
    if column in numbers:
        return nw.col(_no_number(column))
    words = [word for word in nulls or () if word is not None]
    missing = pick_column(column).is_null()
    return missing | pick_column(column).is_in(words) if words else missing


def _read_number_texts(
    frame: nw.LazyFrame[Any],
    column: str,
    source: TextTable,
    *,
    odd: bool,
    is_typed: bool,
    dates: bool,
) -> tuple[nw.LazyFrame[Any], dict[str | None, int], ReadTexts]:
    """Read the numbers of a column; return the table, texts of missing ones, and how it went.

    Plain numbers, with spaces around them or not, are read by any engine, and so are decisions.
    Numbers as people write them are read in memory, from all texts of the column together.
    """
    decimal, nulls = source.options.decimal, source.options.nulls
    plain, in_memory = ReadTexts({}), frame.implementation.is_polars()
    if decimal == "," and not in_memory and not is_typed:
        raise InputError(
            "csv={'decimal': ','} is read by engine 'polars', not by "
            f"{frame.implementation}; leave out engine, or write decimals with a point."
        )
    if decimal != "," or is_typed:
        value = nw.col(_number_key(column))
        texts = _texts(frame.filter(value.is_null()), column) if odd else {}
        unread = {str(t): n for t, n in texts.items() if not _is_null(t, nulls)}
        if unread and (pair := decision_words(unread)) and _others_are_decisions(frame, column):
            frame = frame.with_columns(_decisions(column, pair).alias(_number_key(column)))
            return frame, _nulls_among(frame, column, nulls), ReadTexts({}, decision_note(pair))
        if unread:  # plain numbers may have spaces around them
            text = pick_column(column).str.strip_chars()
            number = nw.when(text.str.contains(NUMBER)).then(text).cast(nw.Float64)
            frame = frame.with_columns(number.alias(_number_key(column)))
            texts = _texts(frame.filter(value.is_null()), column)
            unread = {str(t): n for t, n in texts.items() if not _is_null(t, nulls)}
        if not unread:
            if decimal is None and not is_typed:
                _refuse_ambiguous(frame, column)
            return frame, texts, plain
    every = _texts(frame, column)
    absent = {text: n for text, n in every.items() if _is_null(text, nulls)}
    present = {str(t): n for t, n in every.items() if t not in absent}
    read = read_texts(present, column, decimal, dates=dates)
    if not in_memory:
        raise InputError(
            f"column {column!r} holds numbers as people write them, such as "
            f"{quote(min(unread))}, which {frame.implementation} does not read: leave out engine, "
            "or write plain numbers."
        )
    numbers = [read.values.get(text) for text in frame.collect()[column_key(column)].to_list()]
    series = nw.new_series(_number_key(column), numbers, nw.Float64, backend=frame.implementation)
    return frame.collect().with_columns(series).lazy(), absent, read


def _others_are_decisions(frame: nw.LazyFrame[Any], column: str) -> bool:
    """Whether all numbers of a column are 0 or 1, so that words among them can be decisions."""
    number = nw.col(_number_key(column))
    return not len(frame.filter((number != 0.0) & (number != 1.0)).head(1).collect())


def _decisions(column: str, pair: tuple[str, str]) -> nw.Expr:
    """Read decisions in text as 1 and 0."""
    text = pick_column(column).str.strip_chars().str.to_lowercase()
    yes, no = (text == word for word in pair)
    other = nw.when(text.is_in(["1", "0"])).then(text).cast(nw.Float64)
    below = nw.when(no).then(nw.lit(0.0)).otherwise(other)
    return nw.when(yes).then(nw.lit(1.0)).otherwise(below)


def _nulls_among(
    frame: nw.LazyFrame[Any], column: str, nulls: Collection[str]
) -> dict[str | None, int]:
    """Count texts that are no numbers, all of which must stand for missing values."""
    texts = _texts(frame.filter(nw.col(_number_key(column)).is_null()), column)
    unread = {str(t): n for t, n in texts.items() if not _is_null(t, nulls)}
    if unread:
        refuse_texts(column, unread, ())
    return texts


def _refuse_ambiguous(frame: nw.LazyFrame[Any], column: str) -> None:
    """Refuse numbers of which each is one with a decimal point, and another without it."""
    number = nw.col(_number_key(column))
    known = frame.filter(~number.is_null()).select(column_key(column))
    first = known.head(_FIRST).collect()[column_key(column)].to_list()
    if not first or not all(map(is_ambiguous, first)):
        return
    if all(is_ambiguous(text or "") for text in _texts(known, column)):
        raise InputError(
            f"column {column!r} can be read in two ways: {quote(first[0])} is one number with a "
            f"decimal point and another if the point separates thousands, and no other value "
            f"settles it; {SAY_DECIMAL}"
        )


def _texts(frame: nw.LazyFrame[Any], column: str) -> dict[str | None, int]:
    """Count how often a column has each of its texts."""
    key = column_key(column)
    counted = frame.group_by(key).agg(nw.len().alias(COUNT)).collect()
    return {text: int(times) for text, times in counted.select(key, COUNT).rows()}


def _null_texts(
    lines: nw.DataFrame[Any], column: str, nulls: Collection[str]
) -> dict[str | None, int]:
    """Count texts of a column that stand for a missing value."""
    key = column_key(column)
    found = [text for text in lines[key].unique().to_list() if _is_null(text, nulls)]
    if not found:
        return {}
    those = lines.filter(_lacks(column, (), found)).group_by(key).agg(nw.col(COUNT).sum())
    return {text: int(times) for text, times in those.select(key, COUNT).rows()}


def _refuse_foreign(lines: nw.DataFrame[Any], column: str) -> None:
    """Raise on what Spark puts in the place of letters that are not UTF-8; others complain."""
    for text in lines[column_key(column)].unique().to_list():
        if text is not None and _UNREADABLE in text:
            raise InputError(f"column {column!r} is not utf-8, as in {quote(text)}; {SAY_ENCODING}")


def _is_null(text: str | None, nulls: Collection[str]) -> bool:
    return text is None or not text.strip() or text.strip() in nulls


def _words(texts: Mapping[str | None, int]) -> dict[str, int]:
    """Count words for missing values without spaces around them, the most frequent first."""
    found: Counter[str] = Counter()
    for text, times in texts.items():
        if text is not None and text.strip():
            found[text.strip()] += times
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))
