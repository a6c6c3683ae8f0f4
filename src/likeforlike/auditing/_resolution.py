"""Scores rounded to bins of a given width, by the engine that holds them.

A bin is floor(score / width). It stays a floating-point number on its way here: engines differ in
what they do with one that is too large for a whole number, and some of them say nothing.
"""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray
from likeforlike.errors import InputError

# Up to here all whole numbers are floating-point numbers too, so no two bins are one.
_MOST_BINS = 2.0**53


def score_bins(score: str, resolution: float) -> nw.Expr:
    """The bin of every score, an expression for any engine."""
    per_unit = 1.0 / resolution
    if math.isinf(per_unit):
        raise InputError(
            f"resolution={resolution:g} is too small for any score; use a larger one, or leave it "
            "out to keep scores exact."
        )
    # Multiplying, not dividing: engines disagree on the last bit of a quotient.
    return (nw.col(score).cast(nw.Float64) * per_unit).floor()


def bin_middles(bins: npt.NDArray[Any], resolution: float) -> FloatArray:
    """The middle of every bin, checked: scores that the bins cannot tell apart are refused."""
    which = bins.astype(np.float64)
    largest = float(np.abs(which).max())
    with np.errstate(over="ignore"):
        middles: FloatArray = (which + 0.5) * resolution
    if largest >= _MOST_BINS:
        raise InputError(
            f"resolution={resolution:g} is too small: scores are infinite, or lie in bins with "
            f"numbers of up to {largest:g}, and whole numbers end at {_MOST_BINS:g}. Use a "
            "larger one, or leave it out to keep scores exact."
        )
    if not np.isfinite(middles).all():
        raise InputError(f"resolution={resolution:g} is too large; use a smaller one.")
    return middles
