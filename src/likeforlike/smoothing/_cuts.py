"""Cuts: curves end where scores clearly jump, and begin anew behind.

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

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._fine_cells import FineCells, sums
from likeforlike.smoothing._jumps import jumps

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
