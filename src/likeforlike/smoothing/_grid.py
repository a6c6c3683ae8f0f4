"""Ranks, fine cells and windows along a number.

A *segment* is a set of lines with a scale of their own, such as the rows of one category; a line is
a row, or stands for several rows with the same values. Inside each segment, numbers have mid-ranks
between 0 and 1. *Fine cells* are neighbors in rank, of about equal number, that everything is
smoothed over. Equal numbers are never separated, so an atom is a cell. *Windows*, in which lines
are compared, are unions of fine cells.

Where lines belong to clusters, the rows of a cluster in a cell are a *unit*. They vary together, so
the noise of a cell mean is that of its units. It is estimated from neighbors: a unit mean
y_u = m(x_u) + noise of variance v_u = τ² + σ² / n_u differs from the line through its neighbors by

    q_u = y_u - λ y_(u-1) - (1 - λ) y_(u+1),      λ = (x_(u+1) - x_u) / (x_(u+1) - x_(u-1)),

which varies by v_u + λ² v_(u-1) + (1 - λ)² v_(u+1). A cell of one unit has a variance then, too.

Reference: Gasser, Sroka and Jennen-Steinmetz (1986), *Residual variance and residual pattern in
nonlinear regression*.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.transport import compiled

# Numbers beyond these ranks are winsorized: a long tail must not stretch the scale.
_TAIL = 0.005


@dataclass(frozen=True, slots=True)
class Ranking:
    """Distinct numbers of each segment with their mid-ranks, (rows below + half of the ties) / n.

    Attributes
    ----------
    numbers, ranks : (v,) floats, increasing inside each segment.
    offsets : (S + 1,) integers; segment s is numbers[offsets[s] : offsets[s + 1]].
    low, high : (S,) floats, the numbers at the ranks .005 and .995.
    """

    numbers: FloatArray
    ranks: FloatArray
    offsets: IntArray
    low: FloatArray
    high: FloatArray

    def between(
        self, numbers: FloatArray, segment: IntArray
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the known numbers below and above any numbers, and the share of the way."""
        first, last = self.offsets[segment], self.offsets[segment + 1] - 1
        below = _search(self.numbers, numbers, first, last)
        above = np.minimum(below + 1, last)
        width = self.numbers[above] - self.numbers[below]
        share = (numbers - self.numbers[below]) / np.where(width > 0.0, width, 1.0)
        return below, above, np.clip(share, 0.0, 1.0)

    def of(self, numbers: FloatArray, segment: IntArray) -> FloatArray:
        """Interpolate the ranks of any numbers, constant beyond the known ones."""
        below, above, share = self.between(numbers, segment)
        ranks: FloatArray = (1.0 - share) * self.ranks[below] + share * self.ranks[above]
        return ranks

    def raw(self, numbers: FloatArray, segment: IntArray) -> FloatArray:
        """Winsorize numbers and scale them to [0, 1]."""
        low, high = self.low[segment], self.high[segment]
        width = high - low
        inside = np.clip(numbers, low, high) - low
        raw: FloatArray = inside / np.where(width > 0.0, width, 1.0)
        return raw


def _search(
    sorted_numbers: FloatArray, wanted: FloatArray, first: IntArray, last: IntArray
) -> IntArray:
    """Bisect for the last position in [first, last] whose number is not above the one wanted."""
    low, high = first.copy(), last.copy()
    while (open_ := low < high).any():
        middle = (low + high + 1) // 2
        fits: BoolArray = sorted_numbers[middle] <= wanted
        low = np.where(open_ & fits, middle, low)
        high = np.where(open_ & ~fits, middle - 1, high)
    return low


def midranks(
    numbers: FloatArray, segment: IntArray, n_segments: int, rows: FloatArray | None = None
) -> tuple[Ranking, FloatArray]:
    """Compute mid-ranks of numbers inside their segments.

    Parameters
    ----------
    numbers : (n,) finite floats.
    segment : (n,) integers below `n_segments`; no segment is empty.
    rows : (n,) positive floats, rows per line; `None` means one.

    Returns
    -------
    the ranking, and the rank of every line, (n,) floats between 0 and 1.
    """
    order = np.argsort(numbers, kind="stable")
    if n_segments > 1:
        order = order[np.argsort(segment[order], kind="stable")]
    inside, ordered = segment[order], numbers[order]
    new = np.r_[True, (np.diff(ordered) > 0.0) | (np.diff(inside) > 0)]
    value = np.cumsum(new) - 1
    many = np.bincount(value, None if rows is None else rows[order])
    owner = inside[new]
    total = np.bincount(owner, many, minlength=n_segments)
    before = np.r_[0.0, np.cumsum(total)][owner]
    ranks = (np.cumsum(many) - before - many / 2) / total[owner]
    offsets = np.r_[0, np.cumsum(np.bincount(owner, minlength=n_segments))]
    distinct = ordered[new]
    # Each segment has a rank of at least a half and one of at most a half.
    low = np.minimum.reduceat(np.where(ranks >= _TAIL, distinct, np.inf), offsets[:-1])
    high = np.maximum.reduceat(np.where(ranks <= 1.0 - _TAIL, distinct, -np.inf), offsets[:-1])
    line_ranks = np.empty(numbers.size)
    line_ranks[order] = ranks[value]
    return Ranking(distinct, ranks, offsets, low, high), line_ranks


_MOST_CELLS, _FEW_CELLS, _ROWS_OF_CELL = 200, 20, 5
# The variance of a cell is mixed with this many rows of the pooled variance.
_POOLED_ROWS = 10.0
_NOTHING, _TINY = 1e-12, 1e-300
# Up to this number of rows nothing has to be compiled.
_FEW_ROWS = 20_000


class GridPosition(NamedTuple):
    """Positions among the centers of the cells of their segment, for linear interpolation.

    Attributes
    ----------
    below, above : (n,) integers, the cells on both sides.
    share : (n,) floats, the share of the way from `below` to `above`.
    """

    below: IntArray
    above: IntArray
    share: FloatArray

    def read(self, values: FloatArray) -> FloatArray:
        """Interpolate a curve (m,) over the cells."""
        at: FloatArray = values[self.below] * (1.0 - self.share) + values[self.above] * self.share
        return at

    def of(self, lines: IntArray | slice) -> GridPosition:
        """Select some lines."""
        return GridPosition(self.below[lines], self.above[lines], self.share[lines])


def group_sums(code: IntArray, amount: FloatArray, size: int = 0) -> FloatArray:
    """Add up the amounts of each code, from the first to the last."""
    if code.size > _FEW_ROWS and (code[1:] >= code[:-1]).all():
        added = np.zeros(max(size, int(code[-1]) + 1))
        _add_runs(code, amount, added)
        return added
    return np.bincount(code, amount, minlength=size).astype(np.float64, copy=False)


@compiled
def _add_runs(code: IntArray, amount: FloatArray, added: FloatArray) -> None:
    """Add up amounts of sorted codes, each sum in a register until it is complete."""
    held = 0.0
    for i in range(code.size):
        held += amount[i]
        if i + 1 == code.size or code[i + 1] != code[i]:
            added[code[i]] = held
            held = 0.0


def joint_codes(*columns: IntArray) -> IntArray:
    """Encode the distinct combinations of columns as 0, 1, ..., in sorted order."""
    code = np.unique(columns[0], return_inverse=True)[1]
    for column in columns[1:]:
        code = np.unique(code * (int(column.max()) + 1) + column, return_inverse=True)[1]
    return code


@dataclass(frozen=True)
class Grid:
    """Cells of all segments, one segment after the other, increasing in rank.

    Attributes
    ----------
    ranking : the mid-ranks of the numbers.
    segment, position, cell : (n,) segment, rank and cell of each line.
    mass, rows : (n,) positive floats, weight and number of rows of each line.
    cluster : (n,) integers, its cluster; `None` if lines are independent.
    center, raw : (m,) mean rank of the cells, and mean number, winsorized and scaled.
    total, effective : (m,) weight, and effective rows (Kish), (Σ w)² / Σ w².
    offsets : (S + 1,) integers; segment s has the cells offsets[s] to offsets[s + 1].
    allowed : (S, 3, widths) booleans, the smoothers that each segment may use, by coordinate and
        width (`_local_linear`); `None` allows all.
    held : (S,) booleans, where groups do not mix along the number (`_overlap`); `None` is nowhere.
    """

    ranking: Ranking
    segment: IntArray
    position: FloatArray
    cell: IntArray
    mass: FloatArray
    rows: FloatArray
    cluster: IntArray | None
    center: FloatArray
    raw: FloatArray
    total: FloatArray
    effective: FloatArray
    offsets: IntArray
    allowed: BoolArray | None = None
    held: BoolArray | None = None

    @property
    def still(self) -> BoolArray:
        """Segments (S,) that may not be smoothed: each of their cells is compared by itself."""
        if self.allowed is None:
            return np.zeros(self.offsets.size - 1, bool)
        still: BoolArray = self.allowed[:, 0, 0] & ~self.allowed[:, 1:].any(axis=(1, 2))
        return still

    @cached_property
    def unit(self) -> IntArray:
        """The unit of each line, (n,), sorted by cell: the rows of a cluster in a cell."""
        assert self.cluster is not None
        return joint_codes(self.cell, self.cluster)

    @cached_property
    def number(self) -> IntArray:
        """The number of each line as an integer code, (n,), increasing along each segment."""
        # Different numbers of a segment have different ranks.
        order = np.lexsort((self.position, self.segment))
        segment, position = self.segment[order], self.position[order]
        number = np.empty(order.size, np.int64)
        number[order] = np.cumsum(np.r_[False, (np.diff(position) > 0.0) | (np.diff(segment) > 0)])
        return number

    @property
    def units(self) -> FloatArray:
        """Number of units of each segment, (S,); of rows if there are no clusters."""
        size = self.offsets.size - 1
        if self.cluster is None:
            return group_sums(self.segment, self.rows, size)
        segment = np.zeros(int(self.unit.max()) + 1, np.int64)
        segment[self.unit] = self.segment
        return group_sums(segment, np.ones(segment.size), size)

    @cached_property
    def of_segment(self) -> IntArray:
        """Segment of each cell, (m,)."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def mean(self, values: FloatArray) -> FloatArray:
        """Compute the weighted mean of each cell, (m,)."""
        return group_sums(self.cell, self.mass * values, self.total.size) / self.total

    def means_of_steps(self, step: IntArray, n_steps: int) -> FloatArray:
        """Sum the share of each cell at or below each step, (m, n_steps), from those of lines."""
        size = self.total.size * n_steps
        counted = np.bincount(self.cell * n_steps + step, self.mass, minlength=size)
        shares: FloatArray = np.cumsum(counted.reshape(-1, n_steps), axis=1)
        return shares / self.total[:, None]

    def place(self, segment: IntArray, position: FloatArray) -> GridPosition:
        """Locate positions of these segments among the centers of the cells."""
        first, last = self.offsets[segment], self.offsets[segment + 1] - 1
        # Ranks lie between 0 and 1, so that segments two apart are separated by one search.
        found = np.searchsorted(2.0 * self.of_segment + self.center, 2.0 * segment + position) - 1
        below = np.clip(found, first, last)
        above = np.minimum(below + 1, last)
        width = self.center[above] - self.center[below]
        share = (position - self.center[below]) / np.where(width > 0.0, width, 1.0)
        return GridPosition(below, above, np.clip(share, 0.0, 1.0))

    @cached_property
    def own_places(self) -> GridPosition:
        """Positions of the lines themselves."""
        return self.place(self.segment, self.position)

    def variance(self, values: FloatArray) -> FloatArray:
        """Estimate the variance of a row in each cell, (m,), shrunk to the mean of its segment.

        With clusters it is the variance of independent rows whose cell mean varies as much as that
        of the units.
        """
        if self.cluster is not None:
            return self._variance_by_unit(values)
        rest = self.mass * (values - self.mean(values)[self.cell])
        # Of rows, not of lines: a line of r rows has r deviations of a share 1 / r each.
        squares = group_sums(self.cell, rest * rest / self.rows, self.total.size)
        squares = squares * (self.effective / self.total) ** 2
        inner = np.maximum(self.effective - 1.0, 0.0)
        segment, n_segments = self.of_segment, self.offsets.size - 1
        summed = np.bincount(segment, squares, minlength=n_segments)
        freedom = np.bincount(segment, inner, minlength=n_segments)
        pooled = (summed / np.maximum(freedom, 1.0))[segment]
        mixed: FloatArray = (squares + _POOLED_ROWS * pooled) / (inner + _POOLED_ROWS)
        return mixed

    def _variance_by_unit(self, values: FloatArray) -> FloatArray:
        """Compute σ_g² = n_g Σ_u (n_u / n_g)² v_u, times how much more units differ there."""
        unit, n_segments = self.unit, self.offsets.size - 1
        mass = group_sums(unit, self.mass)
        rows = mass**2 / group_sums(unit, self.mass**2 / self.rows)
        mean = group_sums(unit, self.mass * values) / mass
        at = group_sums(unit, self.mass * self.position) / mass
        cell = np.zeros(mass.size, np.int64)
        cell[unit] = self.cell
        segment = self.of_segment[cell]
        squares = group_sums(unit, self.mass * (values - mean[unit]) ** 2) / mass * rows
        freedom = group_sums(segment, np.maximum(rows - 1.0, 0.0), n_segments)
        inside = group_sums(segment, squares, n_segments) / np.maximum(freedom, 1.0)
        before, own, after, part = _neighbors(at, segment)
        squared = (mean[own] - part * mean[before] - (1.0 - part) * mean[after]) ** 2
        by_rows = 1.0 / rows[own] + part**2 / rows[before] + (1.0 - part) ** 2 / rows[after]
        known = group_sums(segment[own], 1.0 + part**2 + (1.0 - part) ** 2, n_segments)
        more = group_sums(segment[own], squared - inside[segment[own]] * by_rows, n_segments)
        between = np.maximum(more, 0.0) / np.maximum(known, _NOTHING)
        noise = between[segment] + inside[segment] / rows
        expected = noise[own] + part**2 * noise[before] + (1.0 - part) ** 2 * noise[after]
        ratio = squared / np.maximum(expected, _TINY)
        size = self.total.size
        local = (group_sums(cell[own], ratio, size) + _POOLED_ROWS) / (
            group_sums(cell[own], np.ones(own.size), size) + _POOLED_ROWS
        )
        mean_noise = group_sums(cell, mass**2 * noise, size) / self.total**2
        variance: FloatArray = mean_noise * self.effective * local
        return variance


def _neighbors(
    at: FloatArray, segment: IntArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Return units with their neighbors on both sides (before, unit, after), and λ."""
    order = np.lexsort((at, segment))
    before, own, after = order[:-2], order[1:-1], order[2:]
    whole = (segment[before] == segment[own]) & (segment[own] == segment[after])
    before, own, after = before[whole], own[whole], after[whole]
    width = at[after] - at[before]
    part = np.where(width > 0.0, (at[after] - at[own]) / np.where(width > 0.0, width, 1.0), 0.5)
    return before, own, after, part


def make_grid(
    numbers: FloatArray,
    segment: IntArray | None = None,
    *,
    mass: FloatArray | None = None,
    rows: FloatArray | None = None,
    cluster: IntArray | None = None,
) -> Grid:
    """Cut every segment into clip(n / 5, 20, 200) fine cells by rank.

    Parameters
    ----------
    numbers : (n,) finite floats.
    segment : (n,) integers from 0 without holes; `None` means one segment.
    mass : (n,) positive floats, weights; `None` means the rows.
    rows : (n,) positive floats, rows per line; `None` means one.
    cluster : (n,) integers, the cluster of each line.
    """
    segment = np.zeros(numbers.size, np.int64) if segment is None else segment
    many = np.ones(numbers.size) if rows is None else rows.astype(np.float64)
    weight = many if mass is None else mass
    n_segments = int(segment.max()) + 1
    ranking, position = midranks(numbers, segment, n_segments, None if rows is None else many)
    held = np.bincount(segment, many, minlength=n_segments)
    wanted = np.clip(held // _ROWS_OF_CELL, np.minimum(_FEW_CELLS, held), _MOST_CELLS)
    first = np.r_[0, np.cumsum(wanted)].astype(np.int64)
    within = np.minimum(np.floor(position * wanted[segment]), wanted[segment] - 1)
    code = first[segment] + within.astype(np.int64)
    there = np.bincount(code, minlength=int(first[-1])) > 0
    cell = (np.cumsum(there) - 1)[code]
    offsets = np.r_[0, np.cumsum(there)][first]
    total = group_sums(cell, weight)
    held_by_cell = group_sums(cell, many)
    return Grid(
        ranking=ranking,
        segment=segment,
        position=position,
        cell=cell,
        mass=weight,
        rows=many,
        cluster=cluster,
        center=group_sums(cell, many * position) / held_by_cell,
        raw=group_sums(cell, many * ranking.raw(numbers, segment)) / held_by_cell,
        total=total,
        effective=total**2 / group_sums(cell, weight * weight / many),
        offsets=offsets,
    )


_FEWEST, _ROWS_OF_WINDOW, _UNITS_OF_WINDOW = 4, 20, 10
# Mean number of rows of the smaller group per window, so that most windows have at least 20.
_ROWS_OF_GROUP = 30


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of all segments, one segment after the other, increasing in rank.

    Attributes
    ----------
    of_line, of_cell : (n,) and (m,) integers, the window of each line and fine cell.
    segment : (K,) integers.
    center : (K,) floats, mean rank of the rows of each window, to which they are mapped.
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
    cells: Grid, wanted: int | IntArray | None = None, group: IntArray | None = None
) -> IntArray:
    """Choose the number of windows of each segment, (S,); 0 makes each cell a window.

    As wanted, or max(4, n^(1/3)) with at least 20 rows each, and with clusters 10 units. With
    groups (n,) they have 30 rows of the second largest group on average, if that leaves four; only
    group sizes are used, which permutations do not change.
    """
    held, most = group_sums(cells.segment, cells.rows), np.diff(cells.offsets)
    if wanted is None:
        usual = np.maximum(_FEWEST, np.round(held ** (1.0 / 3.0)))
        counts = np.minimum(usual, np.maximum(1.0, held // _ROWS_OF_WINDOW))
        if cells.cluster is not None:
            counts = np.minimum(counts, np.maximum(1.0, cells.units // _UNITS_OF_WINDOW))
        if group is not None:
            n_groups = max(2, int(group.max()) + 1)
            codes = cells.segment * n_groups + group
            rows = group_sums(codes, cells.rows, held.size * n_groups).reshape(-1, n_groups)
            enough = np.sort(rows, axis=1)[:, -2] // _ROWS_OF_GROUP  # the second largest group
            counts = np.minimum(counts, np.maximum(_FEWEST, enough))
    else:
        counts = np.broadcast_to(np.asarray(wanted, np.float64), held.shape)
    return np.where(cells.still, 0, np.minimum(counts.astype(np.int64), most))


def windows(
    cells: Grid,
    numbers: FloatArray,
    wanted: int | IntArray | None = None,
    group: IntArray | None = None,
) -> Windows:
    """Merge the fine cells of each segment into windows of about equal number.

    Parameters
    ----------
    numbers : (n,) floats, as the cells were made of.
    wanted : most windows of a segment, or (S,) of each segment; `None` means `window_counts`.
    group : (n,) integers, groups that are to be compared in the windows.
    """
    of_cell = assign_windows(cells, window_counts(cells, wanted, group))
    of_line = of_cell[cells.cell]
    held = group_sums(of_line, cells.rows)
    segment = cells.of_segment[np.searchsorted(of_cell, np.arange(held.size))]
    center = group_sums(of_line, cells.rows * cells.position) / held
    low, high = np.full(held.size, np.inf), np.full(held.size, -np.inf)
    np.minimum.at(low, of_line, numbers)
    np.maximum.at(high, of_line, numbers)
    return Windows(of_line, of_cell, segment, center, low, high, quantile(cells, segment, center))


def assign_windows(cells: Grid, counts: IntArray) -> IntArray:
    """Assign each cell to a window, (m,), with `window_counts` windows in each segment."""
    of_cell = np.empty(cells.total.size, np.int64)
    _gather(group_sums(cells.cell, cells.rows), cells.offsets, counts, of_cell)
    return of_cell


def quantile(cells: Grid, segment: IntArray, position: FloatArray) -> FloatArray:
    """Interpolate the numbers that have these ranks in their segments."""
    ranking = cells.ranking
    owner = np.repeat(np.arange(ranking.offsets.size - 1), np.diff(ranking.offsets))
    keys = 2.0 * owner + ranking.ranks
    quantiles: FloatArray = np.interp(2.0 * segment + position, keys, ranking.numbers)
    return quantiles


@compiled
def _gather(rows: FloatArray, offsets: IntArray, counts: IntArray, of_cell: IntArray) -> None:
    """Assign each cell to a window: one ends where it is closest to an equal share.

    An atom may be a window, but no small window is left next to it.
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
