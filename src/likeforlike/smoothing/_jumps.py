"""Jumps: places where a curve over the cells breaks, which no smoother follows.

Lines are fitted to the left and to the right of every boundary between two cells. At a jump they
miss each other by as much in a narrow neighbourhood as in a wide one; where a curve only bends,
they miss each other by a quarter when the neighbourhood is half as wide.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.smoothing._fine_cells import FineCells
from likeforlike.transport._compiled import compiled

_WIDE, _NARROW = 0.10, 0.05
_CLEAR = 4.5
_KEPT = 0.7
_FEW = 4
_LEAST_ERROR = 1e-12


def jumps(cells: FineCells, values: FloatArray) -> FloatArray:
    """Ranks at which the mean of values (n,) given the number jumps, in any segment."""
    means, error = cells.mean(values), cells.variance(values) / cells.effective
    # Values without any noise inside a cell still have some: cells are not infinitely fine.
    error = np.maximum(error, _LEAST_ERROR * (float(np.ptp(values)) or 1.0) ** 2)
    wide, _ = _breaks(cells, means, error, _WIDE)
    narrow, clarity = _breaks(cells, means, error, _NARROW)
    found = (clarity > _CLEAR) & (np.abs(narrow) > _KEPT * np.abs(wide)) & (narrow * wide > 0.0)
    # Neighbours of a jump look like one as well; it lies where it is clearest.
    higher = np.r_[clarity[1:], 0.0]
    lower = np.r_[0.0, clarity[:-1]]
    at: BoolArray = found & (clarity >= higher) & (clarity >= lower)
    left = np.flatnonzero(at)
    ranks: FloatArray = (cells.centre[left] + cells.centre[left + 1]) / 2.0
    return ranks


def _breaks(
    cells: FineCells, means: FloatArray, error: FloatArray, width: float
) -> tuple[FloatArray, FloatArray]:
    """By how much lines miss each other behind every cell, and in standard errors."""
    size, clarity = np.zeros(means.size), np.zeros(means.size)
    _miss(cells.centre, means, error, cells.offsets, width, size, clarity)
    return size, clarity


@compiled
def _side(
    centre: FloatArray,
    means: FloatArray,
    error: FloatArray,
    first: int,
    last: int,
    at: float,
    width: float,
) -> tuple[float, float, int]:
    """The line through cells nearer than a width: its value, its variance, their number."""
    s0, s1, s2, many = 0.0, 0.0, 0.0, 0
    for j in range(first, last + 1):
        d = centre[j] - at
        if abs(d) < width:
            k = (1.0 - (d / width) ** 2) / error[j]
            s0 += k
            s1 += k * d
            s2 += k * d * d
            many += 1
    whole = s0 * s2 - s1 * s1
    if many < _FEW or whole <= 1e-9 * s0 * s2:
        return 0.0, 1.0, 0
    value, variance = 0.0, 0.0
    for j in range(first, last + 1):
        d = centre[j] - at
        if abs(d) < width:
            part = (1.0 - (d / width) ** 2) / error[j] * (s2 - d * s1) / whole
            value += part * means[j]
            variance += part * part * error[j]
    return value, variance, many


@compiled
def _miss(
    centre: FloatArray,
    means: FloatArray,
    error: FloatArray,
    offsets: IntArray,
    width: float,
    size: FloatArray,
    clarity: FloatArray,
) -> None:
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1] - 1
        for i in range(first, last):
            at = (centre[i] + centre[i + 1]) / 2.0
            left, of_left, many_left = _side(centre, means, error, first, i, at, width)
            right, of_right, many_right = _side(centre, means, error, i + 1, last, at, width)
            if many_left > 0 and many_right > 0:
                size[i] = right - left
                clarity[i] = abs(right - left) / (of_left + of_right) ** 0.5
