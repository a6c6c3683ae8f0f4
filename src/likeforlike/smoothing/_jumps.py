"""Jumps: places where a curve over the cells breaks, which no smoother follows.

Lines are fitted to the left and to the right of every boundary between two cells. At a jump they
miss each other by as much in a narrow neighborhood as in a wide one; where a curve only bends,
they miss each other by a quarter when the neighborhood is half as wide.

Cuts: curves end where scores clearly jump, and begin anew behind.

The more rows, the less a curve may be wrong, and no curve follows a jump. A jump that many rows
show beyond doubt is therefore looked for among the numbers of the cells around it: it lies where a
step takes most off the squares that a straight line leaves,

    (Σ_{x > t} ỹ)² / Σ r_t²,

with ỹ and r_t the scores and the step 1{x > t} without their lines in rank. Groups are not looked
at, so labels stay as exchangeable as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.smoothing._grid import FineCells, sums
from likeforlike.transport import compiled

_WIDE, _NARROW = 0.10, 0.05
# In standard errors; as a part of what it is in the wide neighborhood; in steps of the lines.
_CLEAR, _KEPT, _STEPS = 4.5, 0.7, 3.0
_FEW = 4
_LEAST_ERROR = 1e-12


def jumps(cells: FineCells, values: FloatArray, clear: float = _CLEAR) -> IntArray:
    """Cells behind which the mean of values (n,) given the number jumps, one for every jump.

    Parameters
    ----------
    clear : how many standard errors a jump has at least.
    """
    # Where numbers are compared one by one, nothing is smoothed, so nothing can miss a jump.
    there = np.flatnonzero(~cells.still[cells.of_segment])
    if not there.size:
        return there
    means, error = cells.mean(values), cells.variance(values) / cells.effective
    # Values without any noise inside a cell still have some: cells are not infinitely fine.
    error = np.maximum(error, _LEAST_ERROR * (float(np.ptp(values)) or 1.0) ** 2)
    segment, center = cells.of_segment[there], cells.center[there]
    wide, narrow = (
        _breaks(segment, center, means[there], error[there], width) for width in (_WIDE, _NARROW)
    )
    size, clarity, step = narrow.T
    found = (clarity > clear) & (np.abs(size) > _STEPS * step)
    found &= (np.abs(size) > _KEPT * np.abs(wide[:, 0])) & (size * wide[:, 0] > 0.0)
    # Neighbors of a jump look like one as well; it lies where it is clearest.
    shown = np.where(found, clarity, 0.0)
    at: BoolArray = found & (shown >= _largest_near(segment, center, shown))
    return there[at]


def _largest_near(segment: IntArray, center: FloatArray, shown: FloatArray) -> FloatArray:
    """The largest value among all cells of the segment that are nearer than the wide width."""
    key = 2.0 * segment + center
    first = np.searchsorted(key, key - _WIDE)
    last = np.searchsorted(key, key + _WIDE)
    # At most 200 cells a segment: a table of neighbors is small.
    reach = int((last - first).max())
    near = np.minimum(first[:, None] + np.arange(reach), last[:, None] - 1)
    largest: FloatArray = shown[near].max(axis=1)
    return largest


def _breaks(
    segment: IntArray, center: FloatArray, means: FloatArray, error: FloatArray, width: float
) -> FloatArray:
    """Behind every cell: by how much lines miss each other, in standard errors, and their step."""
    missed = np.zeros((means.size, 3))
    offsets = np.r_[0, np.cumsum(np.bincount(segment))]
    _miss(center, means, error, offsets, width, missed)
    return missed


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
    """The line through cells nearer than a width: value, slope, variance; < 0 if too few."""
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
def _miss(
    center: FloatArray,
    means: FloatArray,
    error: FloatArray,
    offsets: IntArray,
    width: float,
    missed: FloatArray,
) -> None:
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1] - 1
        for i in range(first, last):
            at = (center[i] + center[i + 1]) / 2.0
            left, up_left, of_left = _side(center, means, error, first, i, at, width)
            right, up_right, of_right = _side(center, means, error, i + 1, last, at, width)
            if of_left >= 0.0 and of_right >= 0.0:
                missed[i, 0] = right - left
                missed[i, 1] = abs(right - left) / (of_left + of_right) ** 0.5
                missed[i, 2] = max(abs(up_left), abs(up_right)) * (center[i + 1] - center[i])


# In standard errors; a warning is given long before.
_BEYOND_DOUBT = 8.0
# Cells on both sides among whose numbers a jump is looked for.
_AROUND = 2
_NOTHING = 1e-12


class Cuts(NamedTuple):
    """Segments that are cut where scores jump.

    Attributes
    ----------
    segment : (n,) integers, the part of every line, rising with the number inside a segment.
    origin : (S,) integers, the segment that every part is of.
    numbers : (c,) floats, the last number before each cut.
    """

    segment: IntArray
    origin: IntArray
    numbers: FloatArray

    def shared(self, wanted: int | None, rows: FloatArray) -> IntArray | None:
        """How many of the windows that each segment is to have are for each part, at least one."""
        if wanted is None:
            return None
        held = sums(self.segment, rows)
        share = held / sums(self.origin, held)[self.origin]
        return np.maximum(1, np.round(wanted * share)).astype(np.int64)


def uncut(segment: IntArray) -> Cuts:
    """Segments as they are."""
    return Cuts(segment, np.arange(int(segment.max()) + 1), np.zeros(0))


def cut_at_jumps(cells: FineCells, numbers: FloatArray, values: FloatArray) -> Cuts:
    """Cut the segments of the cells where values (n,) jump along the numbers (n,) beyond doubt."""
    behind = jumps(cells, values, _BEYOND_DOUBT)
    whole = cells.offsets.size - 1
    if not behind.size:
        return uncut(cells.segment)
    of_cut = cells.of_segment[behind]
    edges = np.array([_edge(cells, numbers, values, int(cell)) for cell in behind])
    part = cells.segment + np.searchsorted(of_cut, cells.segment)
    for segment, edge in zip(of_cut, edges, strict=True):
        part += (cells.segment == segment) & (numbers > edge)
    origin = np.repeat(np.arange(whole), 1 + np.bincount(of_cut, minlength=whole))
    return Cuts(part, origin, edges)


def _edge(cells: FineCells, numbers: FloatArray, values: FloatArray, behind: int) -> float:
    """The last number before the jump that lies about the end of a cell."""
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
