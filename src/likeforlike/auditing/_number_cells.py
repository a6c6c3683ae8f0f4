"""Fine cells of a column of numbers, cut by the engine that holds it.

A histogram of 4,096 bins says how many rows lie where. Bins that hold too much are cut again, until
every one holds little or a single value: a few passes over the column, whatever its tails, and no
more memory than the bins. Neighboring bins are then put together to cells of about equal number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._text import quoted
from likeforlike.errors import InputError
from likeforlike.files._columns import keyed

NUMBER_CELLS = 256
"""Into how many cells a column is cut at most."""

_BINS = 4096
_PASSES = 8
_BIN, _LOW, _HIGH, _ROWS = (f"likeforlike {name}" for name in ("bin", "low", "high", "rows"))


class NumberCells(NamedTuple):
    """Cells of a column; a value equal to an edge lies below it.

    Attributes
    ----------
    edges : inner edges, rising.
    low, high : (m,) the lowest and the highest number in each cell.
    """

    edges: tuple[float, ...]
    low: FloatArray
    high: FloatArray

    @property
    def middle(self) -> FloatArray:
        """Where the rows of each cell are taken to be."""
        middle: FloatArray = self.low / 2.0 + self.high / 2.0
        return middle


class _Bins(NamedTuple):
    """Bins of a histogram: rows, lowest and highest number of each, in order."""

    rows: IntArray
    low: FloatArray
    high: FloatArray

    def of(self, kept: IntArray) -> _Bins:
        """Some of the bins, in this order."""
        return _Bins(self.rows[kept], self.low[kept], self.high[kept])

    def append(self, others: _Bins) -> _Bins:
        """These bins and others, in order."""
        both = _Bins(*(np.concatenate(pair) for pair in zip(self, others, strict=True)))
        return both.of(np.argsort(both.low))


def number_cells(frame: nw.LazyFrame[Any], column: str) -> NumberCells:
    """Cut a column into at most 256 cells of about equal number; ties stay together."""
    bins = _ends(frame, column)
    whole = int(bins.rows.sum())
    for _ in range(_PASSES):
        heavy = (bins.rows > whole / (4 * NUMBER_CELLS)) & (bins.low < bins.high)
        if not heavy.any():
            break
        parts = _cut(frame, column, bins.of(np.flatnonzero(heavy)))
        bins = bins.of(np.flatnonzero(~heavy)).append(parts)
    below = np.cumsum(bins.rows) - bins.rows / 2
    cell = np.floor(below / whole * NUMBER_CELLS).astype(np.int64)
    first = np.flatnonzero(np.r_[True, np.diff(cell) > 0])
    high = np.maximum.reduceat(bins.high, first)
    return NumberCells(tuple(high[:-1].tolist()), bins.low[first], high)


def cell_number(column: str, edges: Sequence[float]) -> nw.Expr:
    """The cell of every value: how many edges lie below it, by bisection."""
    return _tree(column, edges, list(range(len(edges) + 1)))


def _tree(column: str, edges: Sequence[float], leaves: Sequence[float]) -> nw.Expr:
    """One of the leaves for every value, by comparing it with as few edges as can be."""
    if not edges:
        return nw.lit(leaves[0])
    middle = len(edges) // 2
    return (
        nw.when(keyed(column) <= edges[middle])
        .then(_tree(column, edges[:middle], leaves[: middle + 1]))
        .otherwise(_tree(column, edges[middle + 1 :], leaves[middle + 1 :]))
    )


def _ends(frame: nw.LazyFrame[Any], column: str) -> _Bins:
    number = keyed(column).cast(nw.Float64)
    asked = frame.select(
        number.min().alias(_LOW), number.max().alias(_HIGH), nw.len().alias(_ROWS)
    ).collect()
    low, high, rows = asked.rows()[0]
    if not math.isfinite(high - low):
        raise InputError(
            f"column {column!r} reaches from {quoted(low)} to {quoted(high)}, too far to be "
            "smoothed along; "
            "leave out what is no value, or divide it by 10."
        )
    return _Bins(np.array([rows]), np.array([float(low)]), np.array([float(high)]))


def _cut(frame: nw.LazyFrame[Any], column: str, heavy: _Bins) -> _Bins:
    """Cut some bins into up to 4,096 parts in all."""
    parts = max(2, _BINS // heavy.rows.size)
    inner, low = heavy.high[:-1].tolist(), heavy.low.tolist()
    # Two numbers may be so close that their difference times anything is not a number of parts.
    scale = np.minimum(parts / (heavy.high - heavy.low), np.finfo(np.float64).max).tolist()
    number = keyed(column).cast(nw.Float64)
    part = ((number - _tree(column, inner, low)) * _tree(column, inner, scale)).floor()
    # The highest value of a bin would make a part of its own.
    number_of = nw.when(part >= parts).then(nw.lit(float(parts - 1))).otherwise(part)
    base = _tree(column, inner, [float(parts * k) for k in range(heavy.rows.size)])
    inside = _tree(
        column,
        np.stack([np.nextafter(heavy.low, -np.inf), heavy.high], axis=1).ravel().tolist(),
        [float(k % 2) for k in range(2 * heavy.rows.size + 1)],
    )
    counted = (
        frame.filter(inside > 0.5)
        .with_columns((base + number_of).alias(_BIN), number.alias(_LOW))
        .group_by(_BIN)
        .agg(nw.len().alias(_ROWS), nw.col(_LOW).min().alias(_HIGH), nw.col(_LOW).max())
        .collect()
    )
    rows = counted[_ROWS].to_numpy().astype(np.int64)
    lowest, highest = (counted[name].to_numpy().astype(np.float64) for name in (_HIGH, _LOW))
    return _Bins(rows, lowest, highest).of(np.argsort(lowest))
