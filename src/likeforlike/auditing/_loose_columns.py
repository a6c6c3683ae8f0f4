"""Columns of a table whose type says little: text, and objects of Python.

Numbers that are kept as text, decimal numbers and truth values next to nothing, as pandas has them,
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
    frame = _in_memory(found.frame, column, kind)
    values = frame[column_key(column)].to_list()
    texts = Counter(value for value in values if isinstance(value, str))
    nulls = {text: n for text, n in texts.items() if text.strip() in ("", *USUAL_NULLS)}
    present = {text: n for text, n in texts.items() if text not in nulls}
    read = read_texts(present, column, decimal, dates=dates)
    as_dates = dates and _are_dates(values)
    numbers = [
        read.values.get(value)
        if isinstance(value, str)
        else _number(value, column, as_date=as_dates)
        for value in values
    ]
    series = nw.new_series(column_key(column), numbers, nw.Float64, backend=frame.implementation)
    found.frame = frame.with_columns(_aligned(series, frame))
    words = Counter({text.strip(): n for text, n in nulls.items() if text.strip()})
    found.nulls |= {column: dict(words.most_common())} if words else {}
    found.dates += [column] if read.dates or as_dates else []
    found.notes += [] if read.note is None else [f"{column} {read.note}."]
    found.units |= {} if read.unit is None else {column: read.unit}


def _in_memory(
    frame: nw.DataFrame[Any] | nw.LazyFrame[Any], column: str, kind: nw.dtypes.DType
) -> nw.DataFrame[Any]:
    """The rows of a table that polars can fetch; what another engine holds stays where it is."""
    if isinstance(frame, nw.DataFrame):
        return frame
    if frame.implementation.is_polars():
        return frame.collect()
    raise InputError(
        f"column {column!r} must hold numbers, but its type is {kind}: cast it where it is, or "
        "hand over its rows as a pandas or polars table."
    )


def _number(value: object, column: str, *, as_date: bool) -> float | None:
    """The number that an object of Python is; `None` if it stands for nothing."""
    if is_nothing(value):
        return None
    if as_date and isinstance(value, date):
        return _days(value)
    if not isinstance(value, Real | DecimalNumber):
        raise InputError(
            f"column {column!r} must hold numbers, but it holds a value of type "
            f"{type(value).__name__}; convert it first."
        )
    try:
        return float(value)
    except (OverflowError, ValueError) as error:
        raise InputError(f"column {column!r} must hold numbers that fit in a float.") from error


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
