"""Bins: a column of numbers or dates cut into parts, at quantiles, at edges, or by the calendar.

A value that equals an edge lies below it. Dates are numbers along time: days since 1970.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import index
from typing import Any, Literal, get_args

import narwhals as nw
import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._text import date_words, figure, quoted
from likeforlike.disparity._columns import numbers
from likeforlike.errors import BinnedLevelWarning, InputError
from likeforlike.files._columns import column_key, keyed

Calendar = Literal["month", "quarter", "year"]
"""Parts of a calendar that dates are cut into."""

Cut = int | Sequence[float] | Calendar
"""Into how many parts a column is cut at its quantiles, the edges between them, or a calendar."""

Bins = Mapping[str, Cut]
"""How each column is cut."""

_COUNT = "likeforlike count"
# How many parts a year has.
_PARTS = {"month": 12, "quarter": 4, "year": 1}


def check_bins(
    bins: Bins, legitimate: Sequence[str]
) -> dict[str, int | tuple[float, ...] | Calendar]:
    """Bins that make sense, with edges in order."""
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
    """Edges between the bins of a column, in order."""
    edges = cut if isinstance(cut, tuple) else _quantiles(frame, column, cut)
    _warn(column, f"{len(edges) + 1 if isinstance(cut, tuple) else cut} bins")
    return edges


def _warn(column: str, parts: str) -> None:
    warnings.warn(
        f"{column!r} was cut into {parts}. People in one bin are not equal, so a test "
        "within bins can find a disparity that comes only from the width of the bins; with "
        "more bins it shrinks.",
        BinnedLevelWarning,
        stacklevel=6,
    )


def _quantiles(frame: nw.LazyFrame[Any], column: str, how_many: int) -> tuple[float, ...]:
    """Quantiles of a column, from its value counts."""
    key = column_key(column)
    counted = frame.group_by(key).agg(nw.len().alias(_COUNT)).collect()
    values = numbers(counted[key].to_numpy(), f"column {column!r}")
    return quantile_edges(values, counted[_COUNT].to_numpy().astype(np.int64), how_many)


def quantile_edges(values: FloatArray, counts: IntArray, how_many: int) -> tuple[float, ...]:
    """Edges that cut different values (v,), with their rows, into parts of equal number.

    Between two neighboring values any number divides the rows alike, so the roundest is taken.
    """
    order = np.argsort(values)
    values, cumulative = values[order], np.cumsum(counts[order])
    place = np.arange(1, how_many) / how_many * (cumulative[-1] - 1)
    below = np.searchsorted(cumulative, np.floor(place), side="right")
    above = np.searchsorted(cumulative, np.ceil(place), side="right")
    wanted = values[below] + (values[above] - values[below]) * (place - np.floor(place))
    # Nothing lies above the highest value, so it divides nothing.
    edges = {
        roundest(float(values[k]), float(values[k + 1]), float(edge))
        for k, edge in zip(below, wanted, strict=True)
        if k + 1 < values.size
    }
    return tuple(sorted(edges))


def roundest(low: float, high: float, wanted: float) -> float:
    """The number with the fewest digits in [low, high) that `wanted` may be rounded to."""
    first = -math.ceil(math.log10(max(abs(low), abs(high))))
    for places in range(first, first + 18):
        near = round(wanted, places)
        for each in (near, *(round(near + step * 10.0**-places, places) for step in (-1, 1))):
            if low <= each < high:
                return each
    return low


def bin_numbers(column: str, edges: tuple[float, ...]) -> nw.Expr:
    """Number of the bin: how many edges lie below the value."""
    if not edges:
        return (keyed(column) != keyed(column)).cast(nw.Int64).alias(column_key(column))
    above = ((keyed(column) > edge).cast(nw.Int64) for edge in edges)
    return nw.sum_horizontal(*above).alias(column_key(column))


def by_calendar(frame: nw.LazyFrame[Any], column: str, part: Calendar) -> nw.LazyFrame[Any]:
    """The frame with the number of its month, quarter or year in the place of every date.

    Text is read as ISO 8601 has it: 2024-03-31, whatever follows.
    """
    kind = frame.collect_schema()[column_key(column)]
    if kind in (nw.Date, nw.Datetime):
        year, month = keyed(column).dt.year(), keyed(column).dt.month()
    elif kind == nw.String:
        text = keyed(column).str.strip_chars()
        fits = text.str.contains(r"^[0-9]{4}-(0[1-9]|1[0-2])-[0-3][0-9]")
        odd = frame.filter(~fits).select(column_key(column)).head(1).collect()
        if len(odd):
            value = odd[column_key(column)].to_list()[0]
            raise InputError(
                f"column {column!r} holds {quoted(value)}, which is no date as in "
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
    """What to call the month, quarter or year of this number: 2024-03, 2024-Q1, 2024."""
    year, rest = divmod(int(str(number)), _PARTS[part])
    if part == "year":
        return year
    return f"{year:04d}-{rest + 1:02d}" if part == "month" else f"{year:04d}-Q{rest + 1}"


def days(column: str, kind: nw.dtypes.DType) -> nw.Expr:
    """Days from 1970-01-01 to every date, as a floating-point number; an expression for any engine.

    By the calendar: engines differ in how they count time, and agree on years, months and days.
    """
    date = keyed(column).dt
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
    """What to call each bin, with as many digits as it takes to tell its edges apart."""
    if not edges:
        return ["(any)"]
    written = date_words(edges) if dates else number_names(edges)
    inner = (f"above {low} up to {high}" for low, high in pairwise(written))
    return [f"up to {written[0]}", *inner, f"above {written[-1]}"]


def number_names(values: tuple[float, ...]) -> list[str]:
    """Different numbers with as many digits as it takes to tell them apart."""
    return next(
        (
            names
            for digits in range(6, 18)
            if len(set(names := _written(values, digits))) == len(values)
        ),
        [repr(value) for value in values],
    )


def _written(edges: tuple[float, ...], digits: int) -> list[str]:
    return [figure(edge, digits) for edge in edges]
