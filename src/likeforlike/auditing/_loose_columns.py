"""Columns of a table whose type says little: text, and objects of Python.

Numbers that are kept as text, decimal numbers and truth values beside nothing, as pandas has them,
are read one by one. Only tables in memory are: an engine that counts by itself casts its columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal as DecimalNumber
from numbers import Real
from typing import Any

import narwhals as nw

from likeforlike.disparity._columns import is_nothing
from likeforlike.errors import InputError
from likeforlike.files._columns import column_key
from likeforlike.files._csv import USUAL_NULLS
from likeforlike.files._number_texts import Decimal, read_texts

_TEXT = (nw.String, nw.Categorical, nw.Enum)
_LOOSE = (*_TEXT, nw.Object, nw.Unknown)


@dataclass(slots=True)
class LooseColumns:
    """A table whose columns of numbers hold numbers, and how they were read.

    Attributes
    ----------
    frame : the table.
    nulls : {column: {word: how often}} for words that were taken for a missing value.
    dates : columns of text that are dates, now days since 1970.
    notes : how columns were read where that is not plain, one sentence each.
    units : {column: unit} of columns that have one.
    """

    frame: nw.DataFrame[Any] | nw.LazyFrame[Any]
    nulls: dict[str, dict[str, int]] = field(default_factory=dict)
    dates: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)


def read_loose_columns(
    frame: nw.DataFrame[Any] | nw.LazyFrame[Any],
    named: Sequence[str],
    numbers: Sequence[str],
    along: Sequence[str],
    decimal: Decimal | None,
) -> LooseColumns:
    """Turn columns that must hold numbers into numbers, and objects that are dates into dates."""
    found = LooseColumns(frame)
    schema = frame.collect_schema()
    for column in named:
        kind = schema[column_key(column)]
        if column in numbers and not _is_number(kind, column, along):
            if kind not in _LOOSE:
                raise InputError(f"column {column!r} must hold numbers, but its type is {kind}.")
            _read_numbers(found, column, kind, decimal, dates=column in along)
        elif column not in numbers and kind == nw.Object and isinstance(frame, nw.DataFrame):
            _read_dates(found, column)
    return found


def _is_number(kind: nw.dtypes.DType, column: str, along: Sequence[str]) -> bool:
    """Whether a column has a type of numbers, or one of dates along which people are compared."""
    date_along = column in along and kind in (nw.Date, nw.Datetime)
    return kind.is_numeric() or kind == nw.Boolean or date_along


def _read_numbers(
    found: LooseColumns, column: str, kind: nw.dtypes.DType, decimal: Decimal | None, *, dates: bool
) -> None:
    frame = found.frame
    if isinstance(frame, nw.LazyFrame):
        if not frame.implementation.is_polars():
            raise InputError(
                f"column {column!r} must hold numbers, but its type is {kind}: cast it where it "
                "is, or hand over its rows as a pandas or polars table."
            )
        frame = frame.collect()
    values = frame[column_key(column)].to_list()
    texts: Counter[str] = Counter(value for value in values if isinstance(value, str))
    nulls = {text: n for text, n in texts.items() if text.strip() in ("", *USUAL_NULLS)}
    read = read_texts(
        {t: n for t, n in texts.items() if t not in nulls}, column, decimal, dates=dates
    )
    as_dates = dates and _are_dates(values)

    def number(value: object) -> float | None:
        if isinstance(value, str):
            return read.values.get(value)
        if is_nothing(value):
            return None
        if as_dates and isinstance(value, date):
            return _days(value)
        if isinstance(value, Real | DecimalNumber):
            return float(value)
        raise InputError(
            f"column {column!r} must hold numbers, but it holds a value of type "
            f"{type(value).__name__}; convert it first."
        )

    try:
        numbers = [number(value) for value in values]
    except (OverflowError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"column {column!r} must hold numbers that fit in a float.") from error
    series = nw.new_series(column_key(column), numbers, nw.Float64, backend=frame.implementation)
    found.frame = frame.with_columns(_aligned(series, frame))
    words = Counter({text.strip(): n for text, n in nulls.items() if text.strip()})
    if words:
        found.nulls[column] = dict(words.most_common())
    if read.dates or as_dates:
        found.dates.append(column)
    if read.note is not None:
        found.notes.append(f"{column} {read.note}.")
    if read.unit is not None:
        found.units[column] = read.unit


def _aligned(series: nw.Series[Any], frame: nw.DataFrame[Any]) -> nw.Series[Any]:
    """The series with the row labels of its table, which pandas goes by."""
    native, table = series.to_native(), frame.to_native()
    if not hasattr(native, "set_axis"):
        return series
    return nw.from_native(native.set_axis(table.index), series_only=True)


def _read_dates(found: LooseColumns, column: str) -> None:
    """Let objects that are all dates be dates, which the calendar can cut."""
    frame = found.frame
    if not isinstance(frame, nw.DataFrame):
        return
    values = frame[column_key(column)].to_list()
    if not _are_dates(values):
        return
    times = [_time(value) if isinstance(value, date) else None for value in values]
    series = nw.new_series(
        column_key(column), times, nw.Datetime("us"), backend=frame.implementation
    )
    found.frame = frame.with_columns(_aligned(series, frame))


def _are_dates(values: Sequence[object]) -> bool:
    known = [value for value in values if not is_nothing(value)]
    return bool(known) and all(isinstance(value, date) for value in known)


def _time(day: date) -> datetime:
    return day if isinstance(day, datetime) else datetime(day.year, day.month, day.day)


def _days(day: date) -> float:
    return (_time(day).replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() / 86400.0
