"""Bins: a column of numbers cut into parts, at quantiles or where somebody says.

A value that equals an edge lies below it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import index
from typing import Any

import narwhals as nw
import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._text import figure
from likeforlike.disparity._columns import numbers
from likeforlike.errors import BinnedLevelWarning, InputError

Cut = int | Sequence[float]
"""Into how many parts a column is cut at its quantiles, or the edges between them."""

Bins = Mapping[str, Cut]
"""How each column is cut."""

_COUNT = "likeforlike count"


def check_bins(bins: Bins, legitimate: Sequence[str]) -> dict[str, int | tuple[float, ...]]:
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


def _check_cut(column: str, cut: Cut) -> int | tuple[float, ...]:
    if isinstance(cut, Sequence | np.ndarray) and not isinstance(cut, str | bytes):
        edges = tuple(numbers(cut, f"bins of {column!r}").tolist())
        if list(edges) != sorted(set(edges)):
            raise InputError(f"bins of {column!r} must rise from edge to edge, not {list(edges)}.")
        return edges
    try:
        how_many = index(cut)  # type: ignore[arg-type]  # whatever it is, it is checked here
    except TypeError as error:
        raise InputError(
            f"bins must cut {column!r} into a whole number of parts, or at a list of edges, not "
            f"{cut!r}."
        ) from error
    if how_many < 2:
        raise InputError(f"bins must cut {column!r} into at least 2 parts, not {cut!r}.")
    return how_many


def inner_edges(
    frame: nw.LazyFrame[Any], column: str, cut: int | tuple[float, ...]
) -> tuple[float, ...]:
    """Edges between the bins of a column, in order."""
    edges = cut if isinstance(cut, tuple) else _quantiles(frame, column, cut)
    parts = len(edges) + 1 if isinstance(cut, tuple) else cut
    warnings.warn(
        f"{column!r} was cut into {parts} bins. People in one bin are not equal, so a test "
        "within bins can find a disparity that comes only from the width of the bins; with "
        "more bins it shrinks.",
        BinnedLevelWarning,
        stacklevel=5,
    )
    return edges


def _quantiles(frame: nw.LazyFrame[Any], column: str, how_many: int) -> tuple[float, ...]:
    """Quantiles of a column, from its value counts."""
    counted = frame.group_by(column).agg(nw.len().alias(_COUNT)).collect()
    values = numbers(counted[column].to_numpy(), column)
    return quantile_edges(values, counted[_COUNT].to_numpy().astype(np.int64), how_many)


def quantile_edges(values: FloatArray, counts: IntArray, how_many: int) -> tuple[float, ...]:
    """Edges that cut different values (v,), with so many rows each, into parts of equal number.

    Between two neighbouring values any number divides the rows alike, so the roundest is taken.
    """
    order = np.argsort(values)
    values, cumulative = values[order], np.cumsum(counts[order])
    place = np.arange(1, how_many) / how_many * (cumulative[-1] - 1)
    below = np.searchsorted(cumulative, np.floor(place), side="right")
    above = np.searchsorted(cumulative, np.ceil(place), side="right")
    wanted = values[below] + (values[above] - values[below]) * (place - np.floor(place))
    # Nothing lies above the highest value, so it divides nobody from anybody.
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
        return (nw.col(column) != nw.col(column)).cast(nw.Int64).alias(column)
    above = ((nw.col(column) > edge).cast(nw.Int64) for edge in edges)
    return nw.sum_horizontal(*above).alias(column)


def bin_names(edges: tuple[float, ...]) -> list[str]:
    """What to call each bin, with as many digits as it takes to tell its edges apart."""
    if not edges:
        return ["(any)"]
    written = number_names(edges)
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
