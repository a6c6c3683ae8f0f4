"""Intervals of rates and of their difference, and of several figures at once.

A rate p with the variance V is worth n = 1 + p (1 - p) / V independent decisions: numerator and
denominator are unbiased, and n rows of a simple sample are worth n. Wilson's interval for a rate,
Newcombe's for a difference of two (his method 10, also called MOVER), with the covariance of the
two where they share clusters. How well V is known is counted as Korn and Graubard do, by fewer
rows.

References: Wilson (1927), *Probable inference*; Newcombe (1998), *Interval estimation for the
difference between independent proportions*; Korn and Graubard (1998), *Confidence intervals for
proportions with small expected number of positive counts estimated from survey data*; Zou and
Donner (2008), *Construction of confidence limits about effect measures*.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray
from likeforlike.errors import InputError

MOST_WORTH = 4.0
"""A rate is worth at most this many times the decisions it was made of."""


def check_confidence(confidence: float) -> None:
    """Raise unless it is a probability strictly between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie between 0 and 1, not {confidence}.")


def simultaneous_confidence(confidence: float, figures: int) -> float:
    """The confidence each of several intervals needs for all of them to hold together.

    1 - (1 - confidence) / figures: whichever is singled out afterwards, its interval still holds.
    """
    check_confidence(confidence)
    return 1.0 - (1.0 - confidence) / max(figures, 1)


def wilson_limits(
    rates: FloatArray, rows: FloatArray, z: float, *, continuity: BoolArray | bool = False
) -> tuple[FloatArray, FloatArray]:
    """Wilson's limits of rates, in the shape of the rates.

    The two p at which |p̂ - p| - κ / n = z √(p (1 - p) / n), with κ = ½ to be correct for the steps
    of a few decisions, else 0.
    """
    step = np.where(continuity, 0.5 / rows, 0.0)
    ends = [
        _wilson_end(np.clip(rates + side * step, 0.0, 1.0), rows, side * z) for side in (-1.0, 1.0)
    ]
    return np.clip(ends[0], 0.0, rates), np.clip(ends[1], rates, 1.0)


def _wilson_end(rates: FloatArray, rows: FloatArray, z: float) -> FloatArray:
    """The root p of (p̂ - p)² = z² p (1 - p) / n on the side of the sign of z."""
    reach = z * np.sqrt(rates * (1.0 - rates) / rows + z * z / (4.0 * rows**2))
    end: FloatArray = (rates + z * z / (2.0 * rows) + reach) / (1.0 + z * z / rows)
    return end


def sum_limits(
    rates: FloatArray, low: FloatArray, high: FloatArray, correlation: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Limits of second rate minus first from the limits of both, shape (k,) each."""
    below, above = rates - low, high - rates
    gap = rates[:, 1] - rates[:, 0]
    down = _joined(below[:, 1], above[:, 0], correlation)
    up = _joined(above[:, 1], below[:, 0], correlation)
    return np.maximum(gap - down, -1.0), np.minimum(gap + up, 1.0)


def _joined(first: FloatArray, second: FloatArray, correlation: FloatArray) -> FloatArray:
    squared = first**2 + second**2 - 2.0 * correlation * first * second
    joined: FloatArray = np.sqrt(np.maximum(squared, 0.0))
    return joined
