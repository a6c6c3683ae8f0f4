"""Scores rounded to bins of a given width, by the engine that holds them.

A bin is floor(score / width). It stays a floating-point number on its way here: engines differ in
what they do with one that is too large for a whole number, and some of them say nothing. Where in
its bin a score lies is two whole numbers, whose sums are the same in any order and on any engine
(`disparity._rounding`).
"""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._text import quoted
from likeforlike.disparity._rounding import HALF_BITS
from likeforlike.errors import InputError
from likeforlike.files._columns import keyed

# Up to here all whole numbers are floating-point numbers too, so no two bins are one.
_MOST_BINS = 2.0**53
_HALF = 2.0**HALF_BITS
# As a share of a bin.
_HAIR = 1e-9
_INSIDE, _HIGH, _LOW = "likeforlike inside", "likeforlike high", "likeforlike low"
_SUMS = ("likeforlike sum", "likeforlike squares", "likeforlike products")


def score_bins(score: str, resolution: float) -> nw.Expr:
    """The bin of every score, an expression for any engine."""
    per_unit = 1.0 / resolution
    if math.isinf(per_unit):
        raise InputError(
            f"resolution={resolution:g} is too small for any score; use a larger one, or leave it "
            "out to keep scores exact."
        )
    # Multiplying, not dividing: engines disagree on the last bit of a quotient. A score that lies
    # below an edge by noise of a computation belongs to it, whatever its group.
    return (keyed(score).cast(nw.Float64) * per_unit + _HAIR).floor()


def with_parts(
    frame: nw.LazyFrame[Any], score: str, column: str, resolution: float
) -> nw.LazyFrame[Any]:
    """The bin of every score in a column of this name, and what is to be added up inside bins."""
    frame = frame.with_columns(score_bins(score, resolution).alias(column))
    inside = keyed(score).cast(nw.Float64) * (1.0 / resolution) - nw.col(column)
    # A score that belongs to an edge lies there. An infinite one is refused with the bins.
    held = nw.when((inside >= 0.0) & (inside < 1.0)).then(inside * _HALF).otherwise(nw.lit(0.0))
    frame = frame.with_columns(held.alias(_INSIDE))
    frame = frame.with_columns(nw.col(_INSIDE).floor().alias(_HIGH))
    low = ((nw.col(_INSIDE) - nw.col(_HIGH)) * _HALF).floor()
    frame = frame.with_columns(low.alias(_LOW))
    parts = (
        nw.col(_HIGH) * _HALF + nw.col(_LOW),
        nw.col(_HIGH) * nw.col(_HIGH),
        nw.col(_HIGH) * nw.col(_LOW),
    )
    return frame.with_columns(
        *(part.cast(nw.Int64).alias(name) for part, name in zip(parts, _SUMS, strict=True))
    )


def added_parts() -> list[nw.Expr]:
    """The sums inside bins, for a `group by`."""
    return [nw.col(name).sum() for name in _SUMS]


def read_sums(counted: nw.DataFrame[Any]) -> IntArray:
    """The sums inside bins that an engine gave back, shape (m, 3)."""
    columns = [counted[name].cast(nw.Int64).to_numpy() for name in _SUMS]
    sums: IntArray = np.stack(columns, axis=1).astype(np.int64)
    return sums


def bin_middles(bins: npt.NDArray[Any], resolution: float) -> FloatArray:
    """The middle of every bin, checked: scores that the bins cannot tell apart are refused."""
    which = bins.astype(np.float64)
    largest = float(np.abs(which).max())
    with np.errstate(over="ignore"):
        middles: FloatArray = (which + 0.5) * resolution
    if largest >= _MOST_BINS:
        raise InputError(
            f"resolution={resolution:g} is too small: scores are infinite, or lie in bins with "
            f"numbers of up to {quoted(largest)}, and whole numbers end at {_MOST_BINS:g}. Use a "
            "larger one, or leave it out to keep scores exact."
        )
    if not np.isfinite(middles).all():
        raise InputError(f"resolution={resolution:g} is too large; use a smaller one.")
    return middles
