"""Windows: unions of neighbouring fine cells in which lines are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._fine_cells import FineCells, sums
from likeforlike.transport._compiled import compiled

_FEWEST, _ROWS_OF_WINDOW = 4, 20


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of all segments, one segment after the other, rising in rank.

    Attributes
    ----------
    of_line, of_cell : (n,) and (m,) integers, the window of every line and fine cell.
    segment : (K,) integers.
    centre : (K,) floats, mean rank of the rows of each window: where they are carried to.
    low, high : (K,) floats, the lowest and highest number in each window.
    middle : (K,) floats, the number at the centre.
    """

    of_line: IntArray
    of_cell: IntArray
    segment: IntArray
    centre: FloatArray
    low: FloatArray
    high: FloatArray
    middle: FloatArray


def window_counts(cells: FineCells, wanted: int | IntArray | None = None) -> IntArray:
    """How many windows each segment gets: max(4, n^(1/3)), with 20 rows in each, or as asked."""
    held = np.bincount(cells.segment, cells.rows)
    if wanted is not None:
        return np.minimum(wanted, np.diff(cells.offsets))
    usual = np.maximum(_FEWEST, np.round(held ** (1.0 / 3.0)))
    most = np.maximum(1.0, held // _ROWS_OF_WINDOW)
    return np.minimum(np.minimum(usual, most).astype(np.int64), np.diff(cells.offsets))


def windows(cells: FineCells, numbers: FloatArray, wanted: int | IntArray | None = None) -> Windows:
    """Gather the fine cells of every segment into windows of about equal number.

    Parameters
    ----------
    numbers : (n,) floats, as the cells were made of.
    wanted : how many windows each segment has at most, or (S,) those of every segment; `None` means
        max(4, n^(1/3)).
    """
    of_segment = cells.of_segment
    of_cell = np.empty(of_segment.size, np.int64)
    rows = sums(cells.cell, cells.rows)
    _gather(rows, cells.offsets, window_counts(cells, wanted), of_cell)
    of_line = of_cell[cells.cell]
    held = np.bincount(of_line, cells.rows)
    segment = of_segment[np.searchsorted(of_cell, np.arange(held.size))]
    centre = np.bincount(of_line, cells.rows * cells.position) / held
    low, high = np.full(held.size, np.inf), np.full(held.size, -np.inf)
    np.minimum.at(low, of_line, numbers)
    np.maximum.at(high, of_line, numbers)
    return Windows(of_line, of_cell, segment, centre, low, high, number_at(cells, segment, centre))


def number_at(cells: FineCells, segment: IntArray, position: FloatArray) -> FloatArray:
    """The number that has this rank in its segment, on straight lines between those there are."""
    ranking = cells.ranking
    of_number = np.repeat(np.arange(ranking.offsets.size - 1), np.diff(ranking.offsets))
    keys = 2.0 * of_number + ranking.ranks
    at: FloatArray = np.interp(2.0 * segment + position, keys, ranking.numbers)
    return at


@compiled
def _gather(rows: FloatArray, offsets: IntArray, counts: IntArray, of_cell: IntArray) -> None:
    """Number the window of every cell: one ends where it is closest to an equal share.

    An atom may be a window, but nothing small is left over beside it.
    """
    window = 0
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1] - 1
        share = 0.0
        for i in range(first, last + 1):
            share += rows[i] / counts[s]
        to_come, held, start = counts[s], 0.0, first
        for i in range(first, last + 1):
            of_cell[i] = window
            held += rows[i]
            if i == last:
                if start > first and held < share / 2.0:
                    for j in range(start, last + 1):
                        of_cell[j] = window - 1
                else:
                    window += 1
            elif to_come > 1 and held >= share / 2.0 and held + rows[i + 1] / 2.0 > share:
                window += 1
                to_come -= 1
                held, start = 0.0, i + 1
