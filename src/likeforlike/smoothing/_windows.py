"""Windows: unions of neighboring fine cells in which lines are compared."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._fine_cells import FineCells, sums
from likeforlike.transport._compiled import compiled

_FEWEST, _ROWS_OF_WINDOW, _UNITS_OF_WINDOW = 4, 20, 10
# Rows of the smaller group for each window, so that most windows have at least 20 of them, wherever
# along the number they are.
_ROWS_OF_GROUP = 30


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of all segments, one segment after the other, rising in rank.

    Attributes
    ----------
    of_line, of_cell : (n,) and (m,) integers, the window of every line and fine cell.
    segment : (K,) integers.
    center : (K,) floats, mean rank of the rows of each window: where they are carried to.
    low, high : (K,) floats, the lowest and highest number in each window.
    middle : (K,) floats, the number at the center.
    """

    of_line: IntArray
    of_cell: IntArray
    segment: IntArray
    center: FloatArray
    low: FloatArray
    high: FloatArray
    middle: FloatArray


def window_counts(
    cells: FineCells, wanted: int | IntArray | None = None, group: IntArray | None = None
) -> IntArray:
    """How many windows each segment gets, (S,); 0 says that every cell is one.

    As asked, or max(4, n^(1/3)) with 20 rows in each and with clusters 10 units. With groups (n,)
    they have 30 rows of the second largest on average, if that leaves four; only sizes of groups
    count, which permutations do not change.
    """
    held, most = sums(cells.segment, cells.rows), np.diff(cells.offsets)
    if wanted is None:
        usual = np.maximum(_FEWEST, np.round(held ** (1.0 / 3.0)))
        counts = np.minimum(usual, np.maximum(1.0, held // _ROWS_OF_WINDOW))
        if cells.cluster is not None:
            counts = np.minimum(counts, np.maximum(1.0, cells.units // _UNITS_OF_WINDOW))
        if group is not None:
            enough = _second_largest(cells, group) // _ROWS_OF_GROUP
            counts = np.minimum(counts, np.maximum(_FEWEST, enough))
    else:
        counts = np.broadcast_to(np.asarray(wanted, np.float64), held.shape)
    return np.where(cells.still, 0, np.minimum(counts.astype(np.int64), most))


def _second_largest(cells: FineCells, group: IntArray) -> FloatArray:
    """Rows of the second largest group of every segment, (S,)."""
    n_groups = max(2, int(group.max()) + 1)
    rows = sums(cells.segment * n_groups + group, cells.rows, (cells.offsets.size - 1) * n_groups)
    second: FloatArray = np.sort(rows.reshape(-1, n_groups), axis=1)[:, -2]
    return second


def windows(
    cells: FineCells,
    numbers: FloatArray,
    wanted: int | IntArray | None = None,
    group: IntArray | None = None,
) -> Windows:
    """Gather the fine cells of every segment into windows of about equal number.

    Parameters
    ----------
    numbers : (n,) floats, as the cells were made of.
    wanted : how many windows each segment has at most, or (S,) those of every segment; `None` means
        `window_counts`.
    group : (n,) integers, groups that are to be compared in the windows.
    """
    of_segment = cells.of_segment
    of_cell = windows_of_cells(cells, window_counts(cells, wanted, group))
    of_line = of_cell[cells.cell]
    held = sums(of_line, cells.rows)
    segment = of_segment[np.searchsorted(of_cell, np.arange(held.size))]
    center = sums(of_line, cells.rows * cells.position) / held
    low, high = np.full(held.size, np.inf), np.full(held.size, -np.inf)
    np.minimum.at(low, of_line, numbers)
    np.maximum.at(high, of_line, numbers)
    return Windows(of_line, of_cell, segment, center, low, high, number_at(cells, segment, center))


def windows_of_cells(cells: FineCells, counts: IntArray) -> IntArray:
    """The window of every cell, (m,), with `window_counts` windows in each segment."""
    of_cell = np.empty(cells.total.size, np.int64)
    _gather(sums(cells.cell, cells.rows), cells.offsets, counts, of_cell)
    return of_cell


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

    An atom may be a window, but nothing small is left over next to it.
    """
    window = 0
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1] - 1
        if counts[s] == 0:
            for i in range(first, last + 1):
                of_cell[i] = window
                window += 1
            continue
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
