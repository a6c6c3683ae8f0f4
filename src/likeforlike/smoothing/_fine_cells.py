"""Fine cells: neighbours in rank, of about equal number, that everything is smoothed over.

Equal numbers are never cut apart, so an atom is a cell. Windows are unions of fine cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._ranking import Ranking, rank

_MOST_CELLS, _FEW_CELLS, _ROWS_OF_CELL = 200, 20, 5
# How many rows of the pooled variance the variance of a cell is mixed with.
_POOLED_ROWS = 10.0


class Place(NamedTuple):
    """Where positions lie among the centres of the cells of their segment.

    Attributes
    ----------
    below, above : (n,) integers, the cells on both sides.
    share : (n,) floats, how much of the way to `above` is gone.
    """

    below: IntArray
    above: IntArray
    share: FloatArray

    def read(self, values: FloatArray) -> FloatArray:
        """What a curve over the cells is there, on straight lines between their centres."""
        at: FloatArray = values[self.below] * (1.0 - self.share) + values[self.above] * self.share
        return at

    def of(self, lines: IntArray) -> Place:
        """The places of some lines."""
        return Place(self.below[lines], self.above[lines], self.share[lines])


def sums(code: IntArray, amount: FloatArray, size: int = 0) -> FloatArray:
    """What the amounts with each code add up to."""
    added: FloatArray = np.bincount(code, amount, minlength=size).astype(np.float64, copy=False)
    return added


@dataclass(frozen=True)
class FineCells:
    """Cells of all segments, one segment after the other, rising in rank.

    Attributes
    ----------
    ranking : where the ranks come from.
    segment, position, cell : (n,) of every line: its segment, its rank and its cell.
    mass : (n,) positive floats, the weight of every line.
    rows : (n,) positive floats, how many rows it stands for.
    cluster : (n,) integers, to whom it belongs; `None` if lines are independent.
    centre, raw : (m,) mean rank of the cells, and mean number on a scale without its tails.
    total : (m,) weight.
    effective : (m,) rows with equal weights that would be as good, (Σ w)² / Σ w².
    offsets : (S + 1,) integers; segment s holds the cells offsets[s] to offsets[s + 1].
    """

    ranking: Ranking
    segment: IntArray
    position: FloatArray
    cell: IntArray
    mass: FloatArray
    rows: FloatArray
    cluster: IntArray | None
    centre: FloatArray
    raw: FloatArray
    total: FloatArray
    effective: FloatArray
    offsets: IntArray

    @cached_property
    def of_segment(self) -> IntArray:
        """Segment of every cell, (m,)."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def mean(self, values: FloatArray) -> FloatArray:
        """Weighted mean of every cell, (m,)."""
        summed = np.bincount(self.cell, self.mass * values, minlength=self.total.size)
        mean: FloatArray = summed / self.total
        return mean

    def means_of_steps(self, step: IntArray, n_steps: int) -> FloatArray:
        """Share of every cell at or below each step, (m, n_steps); `step` says where lines are."""
        size = self.total.size * n_steps
        counted = np.bincount(self.cell * n_steps + step, self.mass, minlength=size)
        shares: FloatArray = np.cumsum(counted.reshape(-1, n_steps), axis=1)
        return shares / self.total[:, None]

    def place(self, segment: IntArray, position: FloatArray) -> Place:
        """Where positions of these segments lie among the centres of the cells."""
        first, last = self.offsets[segment], self.offsets[segment + 1] - 1
        # Ranks lie between 0 and 1, so that segments two apart are told apart by one search.
        found = np.searchsorted(2.0 * self.of_segment + self.centre, 2.0 * segment + position) - 1
        below = np.clip(found, first, last)
        above = np.minimum(below + 1, last)
        width = self.centre[above] - self.centre[below]
        share = (position - self.centre[below]) / np.where(width > 0.0, width, 1.0)
        return Place(below, above, np.clip(share, 0.0, 1.0))

    @cached_property
    def own_places(self) -> Place:
        """Where the lines themselves lie."""
        return self.place(self.segment, self.position)

    def variance(self, values: FloatArray) -> FloatArray:
        """Variance of a row inside its cell, (m,), drawn to the mean variance of its segment.

        Rows of one cluster vary together; what their cell mean varies by is what counts.
        """
        rest = self.mass * (values - self.mean(values)[self.cell])
        squares = self._squares(rest) * (self.effective / self.total) ** 2
        inner = np.maximum(self.effective - 1.0, 0.0)
        segment, n_segments = self.of_segment, self.offsets.size - 1
        summed = np.bincount(segment, squares, minlength=n_segments)
        freedom = np.bincount(segment, inner, minlength=n_segments)
        pooled = (summed / np.maximum(freedom, 1.0))[segment]
        mixed: FloatArray = (squares + _POOLED_ROWS * pooled) / (inner + _POOLED_ROWS)
        return mixed

    def _squares(self, rest: FloatArray) -> FloatArray:
        """Sum of squared deviations of independent units, by cell."""
        cells = self.total.size
        if self.cluster is None:
            # Of rows, not of lines: a line of r rows has r deviations of a share 1 / r each.
            return sums(self.cell, rest * rest / self.rows, cells)
        key = self.cell * (int(self.cluster.max()) + 1) + self.cluster
        unit, inverse = np.unique(key, return_inverse=True)
        together = sums(inverse, rest)
        of_cell = unit // (int(self.cluster.max()) + 1)
        return sums(of_cell, together * together, cells)


def fine_cells(
    numbers: FloatArray,
    segment: IntArray | None = None,
    *,
    mass: FloatArray | None = None,
    rows: FloatArray | None = None,
    cluster: IntArray | None = None,
) -> FineCells:
    """Cut every segment into clip(n / 5, 20, 200) fine cells by rank.

    Parameters
    ----------
    numbers : (n,) finite floats.
    segment : (n,) integers from 0 without holes; `None` means one segment.
    mass : (n,) positive floats, weights; `None` means the rows.
    rows : (n,) positive floats, how many rows each line stands for; `None` means one.
    cluster : (n,) integers, what lines have in common.
    """
    segment = np.zeros(numbers.size, np.int64) if segment is None else segment
    many = np.ones(numbers.size) if rows is None else rows.astype(np.float64)
    weight = many if mass is None else mass
    n_segments = int(segment.max()) + 1
    ranking, position = rank(numbers, segment, n_segments, None if rows is None else many)
    held = np.bincount(segment, many, minlength=n_segments)
    wanted = np.clip(held // _ROWS_OF_CELL, np.minimum(_FEW_CELLS, held), _MOST_CELLS)
    first = np.r_[0, np.cumsum(wanted)].astype(np.int64)
    within = np.minimum(np.floor(position * wanted[segment]), wanted[segment] - 1)
    code = first[segment] + within.astype(np.int64)
    there = np.bincount(code, minlength=int(first[-1])) > 0
    cell = (np.cumsum(there) - 1)[code]
    offsets = np.r_[0, np.cumsum(there)][first]
    total = sums(cell, weight)
    held_by_cell = np.bincount(cell, many)
    raw = np.bincount(cell, many * ranking.raw(numbers, segment)) / held_by_cell
    return FineCells(
        ranking=ranking,
        segment=segment,
        position=position,
        cell=cell,
        mass=weight,
        rows=many,
        cluster=cluster,
        centre=np.bincount(cell, many * position) / held_by_cell,
        raw=raw,
        total=total,
        effective=total**2 / np.bincount(cell, weight * weight / many),
        offsets=offsets,
    )
