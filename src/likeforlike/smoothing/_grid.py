"""Fine cells: neighbors in rank, of about equal number, that everything is smoothed over.

Equal numbers are never cut apart, so an atom is a cell. Windows are unions of fine cells.

Where lines belong to clusters, the rows of a cluster in a cell are a *unit*. They vary together, so
the noise of a cell mean is that of its units. It is taken from neighbors: a unit mean
y_u = m(x_u) + noise of variance v_u = τ² + σ² / n_u differs from the line through its neighbors by

    q_u = y_u - λ y_(u-1) - (1 - λ) y_(u+1),      λ = (x_(u+1) - x_u) / (x_(u+1) - x_(u-1)),

which varies by v_u + λ² v_(u-1) + (1 - λ)² v_(u+1). A cell of one unit has a variance then, too.

Reference: Gasser, Sroka and Jennen-Steinmetz (1986), *Residual variance and residual pattern in
nonlinear regression*.

Positions of numbers among their like: mid-ranks between 0 and 1, inside each segment.

A *segment* is a set of lines with a scale of their own, such as the rows of one category. A line
is a row, or stands for several rows with the same values.

Windows: unions of neighboring fine cells in which lines are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.transport import compiled

# Beyond these ranks a number is taken for the one there: a long tail must not stretch its scale.
_TAIL = 0.005


@dataclass(frozen=True, slots=True)
class Ranking:
    """Distinct numbers of every segment with their mid-ranks, (rows below + half of the ties) / n.

    Attributes
    ----------
    numbers, ranks : (v,) floats, rising inside each segment.
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
        """The known numbers on both sides of any numbers, and how much of the way is gone."""
        first, last = self.offsets[segment], self.offsets[segment + 1] - 1
        below = _search(self.numbers, numbers, first, last)
        above = np.minimum(below + 1, last)
        width = self.numbers[above] - self.numbers[below]
        share = (numbers - self.numbers[below]) / np.where(width > 0.0, width, 1.0)
        return below, above, np.clip(share, 0.0, 1.0)

    def of(self, numbers: FloatArray, segment: IntArray) -> FloatArray:
        """Ranks of any numbers: straight lines between those that are known, flat beyond."""
        below, above, share = self.between(numbers, segment)
        ranks: FloatArray = (1.0 - share) * self.ranks[below] + share * self.ranks[above]
        return ranks

    def raw(self, numbers: FloatArray, segment: IntArray) -> FloatArray:
        """Numbers without their tails on a scale from 0 to 1."""
        low, high = self.low[segment], self.high[segment]
        width = high - low
        inside = np.clip(numbers, low, high) - low
        raw: FloatArray = inside / np.where(width > 0.0, width, 1.0)
        return raw


def _search(
    sorted_numbers: FloatArray, wanted: FloatArray, first: IntArray, last: IntArray
) -> IntArray:
    """The last place in [first, last] whose number is not above the one wanted, by bisection."""
    low, high = first.copy(), last.copy()
    while (open_ := low < high).any():
        middle = (low + high + 1) // 2
        fits: BoolArray = sorted_numbers[middle] <= wanted
        low = np.where(open_ & fits, middle, low)
        high = np.where(open_ & ~fits, middle - 1, high)
    return low


def rank(
    numbers: FloatArray, segment: IntArray, n_segments: int, rows: FloatArray | None = None
) -> tuple[Ranking, FloatArray]:
    """Rank numbers inside their segments.

    Parameters
    ----------
    numbers : (n,) finite floats.
    segment : (n,) integers below `n_segments`; every segment holds a line.
    rows : (n,) positive floats, how many rows each line stands for; `None` means one.

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
    of_segment = inside[new]
    total = np.bincount(of_segment, many, minlength=n_segments)
    before = np.r_[0.0, np.cumsum(total)][of_segment]
    ranks = (np.cumsum(many) - before - many / 2) / total[of_segment]
    offsets = np.r_[0, np.cumsum(np.bincount(of_segment, minlength=n_segments))]
    distinct = ordered[new]
    low, high = _tails(distinct, ranks, offsets)
    of_line = np.empty(numbers.size)
    of_line[order] = ranks[value]
    return Ranking(distinct, ranks, offsets, low, high), of_line


def _tails(
    numbers: FloatArray, ranks: FloatArray, offsets: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The numbers of every segment where its tails begin."""
    # Each segment has a rank of at least a half and one of at most a half.
    low = np.where(ranks >= _TAIL, numbers, np.inf)
    high = np.where(ranks <= 1.0 - _TAIL, numbers, -np.inf)
    starts = offsets[:-1]
    return np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)


_MOST_CELLS, _FEW_CELLS, _ROWS_OF_CELL = 200, 20, 5
# How many rows of the pooled variance the variance of a cell is mixed with.
_POOLED_ROWS = 10.0
_NOTHING, _TINY = 1e-12, 1e-300
# Up to so many rows nothing has to be compiled.
_FEW_ROWS = 20_000


class Place(NamedTuple):
    """Where positions lie among the centers of the cells of their segment.

    Attributes
    ----------
    below, above : (n,) integers, the cells on both sides.
    share : (n,) floats, how much of the way to `above` is gone.
    """

    below: IntArray
    above: IntArray
    share: FloatArray

    def read(self, values: FloatArray) -> FloatArray:
        """What a curve over the cells is there, on straight lines between their centers."""
        at: FloatArray = values[self.below] * (1.0 - self.share) + values[self.above] * self.share
        return at

    def of(self, lines: IntArray | slice) -> Place:
        """The places of some lines."""
        return Place(self.below[lines], self.above[lines], self.share[lines])


def sums(code: IntArray, amount: FloatArray, size: int = 0) -> FloatArray:
    """What the amounts with each code add up to, from the first to the last."""
    if code.size > _FEW_ROWS and (code[1:] >= code[:-1]).all():
        added = np.zeros(max(size, int(code[-1]) + 1))
        _add_runs(code, amount, added)
        return added
    return np.bincount(code, amount, minlength=size).astype(np.float64, copy=False)


@compiled
def _add_runs(code: IntArray, amount: FloatArray, added: FloatArray) -> None:
    """The same for codes in order: a sum waits for no memory until it is done."""
    held = 0.0
    for i in range(code.size):
        held += amount[i]
        if i + 1 == code.size or code[i + 1] != code[i]:
            added[code[i]] = held
            held = 0.0


def combine(*columns: IntArray) -> IntArray:
    """Integers from 0 without holes for the different combinations of columns, in their order."""
    code = np.unique(columns[0], return_inverse=True)[1]
    for column in columns[1:]:
        code = np.unique(code * (int(column.max()) + 1) + column, return_inverse=True)[1]
    return code


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
    center, raw : (m,) mean rank of the cells, and mean number on a scale without its tails.
    total : (m,) weight.
    effective : (m,) rows with equal weights that would be as good, (Σ w)² / Σ w².
    offsets : (S + 1,) integers; segment s holds the cells offsets[s] to offsets[s + 1].
    allowed : (S, 3, widths) booleans, the smoothers that each segment may use, by coordinate and
        width (`_smoother`); `None` allows all.
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
        """Segments that may not be smoothed at all, (S,): every cell of theirs stands alone."""
        if self.allowed is None:
            return np.zeros(self.offsets.size - 1, bool)
        still: BoolArray = self.allowed[:, 0, 0] & ~self.allowed[:, 1:].any(axis=(1, 2))
        return still

    @cached_property
    def unit(self) -> IntArray:
        """The unit of every line, (n,): the rows of a cluster in a cell; by cell."""
        assert self.cluster is not None
        return combine(self.cell, self.cluster)

    @cached_property
    def number(self) -> IntArray:
        """The number of every line as an integer, (n,), rising along each segment, one by one.

        Different numbers of a segment have different ranks.
        """
        order = np.lexsort((self.position, self.segment))
        segment, position = self.segment[order], self.position[order]
        number = np.empty(order.size, np.int64)
        number[order] = np.cumsum(np.r_[False, (np.diff(position) > 0.0) | (np.diff(segment) > 0)])
        return number

    @property
    def units(self) -> FloatArray:
        """How many units each segment has, (S,); rows without clusters."""
        size = self.offsets.size - 1
        if self.cluster is None:
            return sums(self.segment, self.rows, size)
        of_unit = np.zeros(int(self.unit.max()) + 1, np.int64)
        of_unit[self.unit] = self.segment
        return sums(of_unit, np.ones(of_unit.size), size)

    @cached_property
    def of_segment(self) -> IntArray:
        """Segment of every cell, (m,)."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    def mean(self, values: FloatArray) -> FloatArray:
        """Weighted mean of every cell, (m,)."""
        return sums(self.cell, self.mass * values, self.total.size) / self.total

    def means_of_steps(self, step: IntArray, n_steps: int) -> FloatArray:
        """Share of every cell at or below each step, (m, n_steps); `step` says where lines are."""
        size = self.total.size * n_steps
        counted = np.bincount(self.cell * n_steps + step, self.mass, minlength=size)
        shares: FloatArray = np.cumsum(counted.reshape(-1, n_steps), axis=1)
        return shares / self.total[:, None]

    def place(self, segment: IntArray, position: FloatArray) -> Place:
        """Where positions of these segments lie among the centers of the cells."""
        first, last = self.offsets[segment], self.offsets[segment + 1] - 1
        # Ranks lie between 0 and 1, so that segments two apart are separated by one search.
        found = np.searchsorted(2.0 * self.of_segment + self.center, 2.0 * segment + position) - 1
        below = np.clip(found, first, last)
        above = np.minimum(below + 1, last)
        width = self.center[above] - self.center[below]
        share = (position - self.center[below]) / np.where(width > 0.0, width, 1.0)
        return Place(below, above, np.clip(share, 0.0, 1.0))

    @cached_property
    def own_places(self) -> Place:
        """Where the lines themselves lie."""
        return self.place(self.segment, self.position)

    def variance(self, values: FloatArray) -> FloatArray:
        """Variance of a row inside its cell, (m,), drawn to the mean variance of its segment.

        With clusters it is the variance of a row that makes the mean of its cell vary as much as
        its units do.
        """
        if self.cluster is not None:
            return self._variance_by_unit(values)
        rest = self.mass * (values - self.mean(values)[self.cell])
        # Of rows, not of lines: a line of r rows has r deviations of a share 1 / r each.
        squares = sums(self.cell, rest * rest / self.rows, self.total.size)
        squares = squares * (self.effective / self.total) ** 2
        inner = np.maximum(self.effective - 1.0, 0.0)
        segment, n_segments = self.of_segment, self.offsets.size - 1
        summed = np.bincount(segment, squares, minlength=n_segments)
        freedom = np.bincount(segment, inner, minlength=n_segments)
        pooled = (summed / np.maximum(freedom, 1.0))[segment]
        mixed: FloatArray = (squares + _POOLED_ROWS * pooled) / (inner + _POOLED_ROWS)
        return mixed

    def _variance_by_unit(self, values: FloatArray) -> FloatArray:
        """σ_g² = n_g Σ_u (n_u / n_g)² v_u, and how much more units differ there than elsewhere."""
        unit, n_segments = self.unit, self.offsets.size - 1
        mass = sums(unit, self.mass)
        rows = mass**2 / sums(unit, self.mass**2 / self.rows)
        mean = sums(unit, self.mass * values) / mass
        at = sums(unit, self.mass * self.position) / mass
        of_cell = np.zeros(mass.size, np.int64)
        of_cell[unit] = self.cell
        segment = self.of_segment[of_cell]
        squares = sums(unit, self.mass * (values - mean[unit]) ** 2) / mass * rows
        freedom = sums(segment, np.maximum(rows - 1.0, 0.0), n_segments)
        inside = sums(segment, squares, n_segments) / np.maximum(freedom, 1.0)
        before, own, after, part = _neighbors(at, segment)
        squared = (mean[own] - part * mean[before] - (1.0 - part) * mean[after]) ** 2
        by_rows = 1.0 / rows[own] + part**2 / rows[before] + (1.0 - part) ** 2 / rows[after]
        known = sums(segment[own], 1.0 + part**2 + (1.0 - part) ** 2, n_segments)
        more = sums(segment[own], squared - inside[segment[own]] * by_rows, n_segments)
        between = np.maximum(more, 0.0) / np.maximum(known, _NOTHING)
        noise = between[segment] + inside[segment] / rows
        expected = noise[own] + part**2 * noise[before] + (1.0 - part) ** 2 * noise[after]
        ratio = squared / np.maximum(expected, _TINY)
        size = self.total.size
        local = (sums(of_cell[own], ratio, size) + _POOLED_ROWS) / (
            sums(of_cell[own], np.ones(own.size), size) + _POOLED_ROWS
        )
        of_mean = sums(of_cell, mass**2 * noise, size) / self.total**2
        variance: FloatArray = of_mean * self.effective * local
        return variance


def _neighbors(
    at: FloatArray, segment: IntArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Units with both neighbors: these, in the order of their positions, and λ of the first."""
    order = np.lexsort((at, segment))
    before, own, after = order[:-2], order[1:-1], order[2:]
    whole = (segment[before] == segment[own]) & (segment[own] == segment[after])
    before, own, after = before[whole], own[whole], after[whole]
    width = at[after] - at[before]
    part = np.where(width > 0.0, (at[after] - at[own]) / np.where(width > 0.0, width, 1.0), 0.5)
    return before, own, after, part


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
    held_by_cell = sums(cell, many)
    return FineCells(
        ranking=ranking,
        segment=segment,
        position=position,
        cell=cell,
        mass=weight,
        rows=many,
        cluster=cluster,
        center=sums(cell, many * position) / held_by_cell,
        raw=sums(cell, many * ranking.raw(numbers, segment)) / held_by_cell,
        total=total,
        effective=total**2 / sums(cell, weight * weight / many),
        offsets=offsets,
    )


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
