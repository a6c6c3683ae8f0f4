"""Jumps: positions where a curve over the cells breaks, which no smoother follows.

Lines are fitted to the left and to the right of each boundary between two cells. At a jump their
difference is as large in a narrow neighborhood as in a wide one; where a curve only bends, it falls
to a quarter when the neighborhood is half as wide.

The more rows, the more precise a curve must be. Segments are therefore split at jumps that are
beyond doubt, and curves begin anew behind them. The position is searched among the numbers of the
cells around the jump: where a step reduces the squares that a straight line leaves most, by

    (Σ_{x > t} ỹ)² / Σ r_t²,

with ỹ and r_t the residuals of the scores and of the step 1{x > t} from their lines in rank. Groups
are not looked at, so labels stay as exchangeable as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.smoothing._grid import Grid, group_sums
from likeforlike.transport import compiled

_WIDE, _NARROW = 0.10, 0.05
# In standard errors; as a share of the difference in the wide neighborhood; in steps of the lines.
_CLEAR, _KEPT, _STEPS = 4.5, 0.7, 3.0
_FEW = 4
_LEAST_ERROR = 1e-12


def detect_jumps(cells: Grid, values: FloatArray, clear: float = _CLEAR) -> IntArray:
    """Detect the cells behind which the mean of values (n,) given the number jumps.

    Parameters
    ----------
    clear : least size of a jump in standard errors.
    """
    # Segments that are not smoothed cannot miss a jump.
    there = np.flatnonzero(~cells.still[cells.of_segment])
    if not there.size:
        return there
    means, error = cells.mean(values), cells.variance(values) / cells.effective
    # Cells are not infinitely fine: values always have some noise inside them.
    error = np.maximum(error, _LEAST_ERROR * (float(np.ptp(values)) or 1.0) ** 2)
    segment, center = cells.of_segment[there], cells.center[there]
    offsets = np.r_[0, np.cumsum(np.bincount(segment))]
    wide, narrow = np.zeros((there.size, 3)), np.zeros((there.size, 3))
    _measure_breaks(center, means[there], error[there], offsets, _WIDE, wide)
    _measure_breaks(center, means[there], error[there], offsets, _NARROW, narrow)
    size, clarity, step = narrow.T
    found = (clarity > clear) & (np.abs(size) > _STEPS * step)
    found &= (np.abs(size) > _KEPT * np.abs(wide[:, 0])) & (size * wide[:, 0] > 0.0)
    # Neighbors of a jump look like one as well; it lies where it is clearest within the wide width.
    shown = np.where(found, clarity, 0.0)
    key = 2.0 * segment + center
    first, last = np.searchsorted(key, key - _WIDE), np.searchsorted(key, key + _WIDE)
    # With at most 200 cells per segment a table of neighbors is small.
    reach = int((last - first).max())
    near = np.minimum(first[:, None] + np.arange(reach), last[:, None] - 1)
    largest: BoolArray = found & (shown >= shown[near].max(axis=1))
    return there[largest]


@compiled
def _side(
    center: FloatArray,
    means: FloatArray,
    error: FloatArray,
    first: int,
    last: int,
    at: float,
    width: float,
) -> tuple[float, float, float]:
    """Fit a line to cells nearer than a width: value, slope, variance (< 0 if too few)."""
    s0, s1, s2, many = 0.0, 0.0, 0.0, 0
    for j in range(first, last + 1):
        d = center[j] - at
        if abs(d) < width:
            k = (1.0 - (d / width) ** 2) / error[j]
            s0 += k
            s1 += k * d
            s2 += k * d * d
            many += 1
    whole = s0 * s2 - s1 * s1
    if many < _FEW or whole <= 1e-9 * s0 * s2:
        return 0.0, 0.0, -1.0
    value, slope, variance = 0.0, 0.0, 0.0
    for j in range(first, last + 1):
        d = center[j] - at
        if abs(d) < width:
            k = (1.0 - (d / width) ** 2) / error[j]
            part = k * (s2 - d * s1) / whole
            value += part * means[j]
            slope += k * (s0 * d - s1) / whole * means[j]
            variance += part * part * error[j]
    return value, slope, variance


@compiled
def _measure_breaks(
    center: FloatArray,
    means: FloatArray,
    error: FloatArray,
    offsets: IntArray,
    width: float,
    breaks: FloatArray,
) -> None:
    """Write the difference of the lines behind each cell, in standard errors, and their step."""
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1] - 1
        for i in range(first, last):
            at = (center[i] + center[i + 1]) / 2.0
            left, up_left, of_left = _side(center, means, error, first, i, at, width)
            right, up_right, of_right = _side(center, means, error, i + 1, last, at, width)
            if of_left >= 0.0 and of_right >= 0.0:
                breaks[i, 0] = right - left
                breaks[i, 1] = abs(right - left) / (of_left + of_right) ** 0.5
                breaks[i, 2] = max(abs(up_left), abs(up_right)) * (center[i + 1] - center[i])


# In standard errors; a warning comes long before.
_BEYOND_DOUBT = 8.0
# Cells on both sides among whose numbers a jump is searched.
_AROUND = 2
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True)
class Cuts:
    """Segments that are split where scores jump.

    Attributes
    ----------
    segment : (n,) integers, the part of each line, increasing with the number inside a segment.
    origin : (S,) integers, the segment of each part.
    numbers : (c,) floats, the last number before each cut.
    """

    segment: IntArray
    origin: IntArray
    numbers: FloatArray

    @classmethod
    def without_cuts(cls, segment: IntArray) -> Self:
        """Leave segments as they are."""
        return cls(segment, np.arange(int(segment.max()) + 1), np.zeros(0))

    @classmethod
    def at_jumps(cls, cells: Grid, numbers: FloatArray, values: FloatArray) -> Self:
        """Split segments where values (n,) jump along the numbers (n,) beyond doubt."""
        behind = detect_jumps(cells, values, _BEYOND_DOUBT)
        if not behind.size:
            return cls.without_cuts(cells.segment)
        cut_segments = cells.of_segment[behind]
        edges = np.array([_edge(cells, numbers, values, int(cell)) for cell in behind])
        part = cells.segment + np.searchsorted(cut_segments, cells.segment)
        for segment, edge in zip(cut_segments, edges, strict=True):
            part += (cells.segment == segment) & (numbers > edge)
        size = cells.offsets.size - 1
        origin = np.repeat(np.arange(size), 1 + np.bincount(cut_segments, minlength=size))
        return cls(part, origin, edges)

    def share_windows(self, wanted: int | None, rows: FloatArray) -> IntArray | None:
        """Divide the windows that each segment is to have among its parts, at least one each."""
        if wanted is None:
            return None
        held = group_sums(self.segment, rows)
        share = held / group_sums(self.origin, held)[self.origin]
        return np.maximum(1, np.round(wanted * share)).astype(np.int64)


def _edge(cells: Grid, numbers: FloatArray, values: FloatArray, behind: int) -> float:
    """Find the last number before the jump that lies near the end of a cell."""
    segment = cells.of_segment[behind]
    first = max(behind + 1 - _AROUND, int(cells.offsets[segment]))
    last = min(behind + _AROUND, int(cells.offsets[segment + 1]) - 1)
    near = np.flatnonzero((cells.cell >= first) & (cells.cell <= last))
    near = near[np.argsort(numbers[near], kind="stable")]
    mass, x = cells.mass[near] / cells.mass[near].sum(), numbers[near]
    away = cells.position[near] - mass @ cells.position[near]
    spread = float(mass @ away**2)
    rest = values[near] - mass @ values[near]
    rest -= away * float(mass @ (away * rest)) / spread
    right = np.cumsum(mass[::-1])[::-1]
    moment = np.cumsum((mass * away)[::-1])[::-1]
    explained = np.cumsum((mass * rest)[::-1])[::-1]
    room = right - right**2 - moment**2 / spread
    new = np.r_[False, np.diff(x) > 0.0] & (room > _NOTHING)
    gain = np.where(new, explained**2 / np.where(new, room, 1.0), -1.0)
    return float(x[int(np.argmax(gain)) - 1])
