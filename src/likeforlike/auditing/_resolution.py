"""Scores rounded to bins of a given width, by the engine that holds them or in memory.

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
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Codes
from likeforlike.disparity._rounding import HALF_BITS
from likeforlike.errors import InputError
from likeforlike.files._columns import keyed
from likeforlike.transport._compiled import compiled

# Up to here all whole numbers are floating-point numbers too, so no two bins are one.
_MOST_BINS = 2.0**53
_HALF = 2.0**HALF_BITS
# As a share of a bin.
_HAIR = 1e-9
_INSIDE, _HIGH, _LOW = "likeforlike inside", "likeforlike high", "likeforlike low"
_SUMS = ("likeforlike sum", "likeforlike squares", "likeforlike products")


def _per_unit(resolution: float) -> float:
    """How many bins there are in one unit of the score."""
    per_unit = 1.0 / resolution
    if math.isinf(per_unit):
        raise InputError(
            f"resolution={resolution:g} is too small for any score; use a larger one, or leave it "
            "out to keep scores exact."
        )
    return per_unit


def score_bins(score: str, resolution: float) -> nw.Expr:
    """The bin of every score, an expression for any engine."""
    # Multiplying, not dividing: engines disagree on the last bit of a quotient. A score that lies
    # below an edge by noise of a computation belongs to it, whatever its group.
    return (keyed(score).cast(nw.Float64) * _per_unit(resolution) + _HAIR).floor()


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


@compiled
def _add_up(
    places: FloatArray, segments: IntArray, first: float, n_bins: int, sums: IntArray
) -> None:
    """Add rows and what `with_parts` lets an engine add up to sums (segments * n_bins, 4).

    Places (n,) are scores in widths of a bin. Bins begin at `first`; all above the last are in it.
    """
    for i in range(places.size):
        which = np.floor(places[i] + _HAIR)
        inside = (places[i] - which) * _HALF
        if not 0.0 <= inside < _HALF:
            inside = 0.0
        high = int(inside)
        low = int((inside - high) * _HALF)
        line = segments[i] * n_bins + min(int(which - first), n_bins - 1)
        sums[line, 0] += 1
        sums[line, 1] += (high << HALF_BITS) + low
        sums[line, 2] += high * high
        sums[line, 3] += high * low


def round_rows(level: Codes, group: Codes, scores: FloatArray, resolution: float) -> Cells:
    """Cells of rows in memory whose scores are rounded to bins, in one pass over the rows."""
    with np.errstate(over="ignore"):
        places = scores * _per_unit(resolution)
    ends = np.floor(np.array([places.min(), places.max()]) + _HAIR)
    bin_middles(ends, resolution)
    n_groups, n_bins = len(group.labels), int(ends[1] - ends[0]) + 1
    n_segments = len(level.labels) * n_groups
    if n_segments * n_bins > 4 * scores.size + 1024:
        # So many bins are mostly empty: every row is a line.
        bins, sums = np.floor(places + _HAIR), np.zeros((scores.size, 4), np.int64)
        _add_up(places, np.arange(scores.size), float(ends[0]), 1, sums)
    else:
        sums = np.zeros((n_segments * n_bins, 4), np.int64)
        segments = level.codes.astype(np.int64) * n_groups + group.codes
        _add_up(places, segments, float(ends[0]), n_bins, sums)
        filled = np.flatnonzero(sums[:, 0])
        sums, bins = sums[filled], filled % n_bins + ends[0]
        of_level, of_group = np.divmod(filled // n_bins, n_groups)
        level, group = Codes(of_level, level.labels), Codes(of_group, group.labels)
    middles = bin_middles(bins, resolution)
    return Cells.from_codes(
        level, group, middles, counts=sums[:, 0], resolution=resolution, sums=sums[:, 1:]
    )
