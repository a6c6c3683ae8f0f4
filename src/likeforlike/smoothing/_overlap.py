"""Whether groups overlap along a number, and how they are compared where they hardly do.

A number may belong to a place or a person whose rows are all of one group. A curve through the
means of such numbers absorbs the gap. Therefore the mixing of groups is measured first, never the
gap: with rows sorted by number, equal numbers at random, φ is the number of neighbors that differ
in group, compared with that of a random order (`mixing`). Groups are compared by

    rows      if rows (or, with clusters, the rows of a cluster at a number) mix;
    numbers   if most of the variation of the group lies inside numbers: each number is a level;
    units     if not: rows with the same number are one cluster, and numbers nearby are compared;
    apart     not at all, if none of these can be.

A smoother S of the scores absorbs S A of the group A and leaves the share

    φ(S) = Σ_i |A_i - (S A)_i|² / Σ_w n_w (1 - Σ_k s_wk²),

with n_w rows and shares s_wk of the groups in window w. Where rows are apart, a smoother must leave
at least .8 of it.

References: Wald and Wolfowitz (1940), *On a test whether two samples are from the same population*;
Speckman (1988), *Kernel smoothing in partial linear models*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.smoothing._grid import (
    Grid,
    assign_windows,
    group_sums,
    joint_codes,
    window_counts,
)
from likeforlike.smoothing._local_linear import WIDTHS, Bandwidth, select_bandwidth, wide_enough

Unit = Literal["rows", "numbers", "units", "apart"]
"""Unit of a comparison along a number; none where groups are apart."""

# Groups mix if φ is at least this, or if fewer standard errors below what random order gives.
_MIXED, _SURE = 0.9, 4.0
# Where numbers hardly repeat (this share of the rows), φ must be at least that.
_TIED, _LEAST_MIXED = 0.1, 0.8
# Least share of the variation of the group inside numbers, to compare these one by one: in any
# case, or if scores are rough; and of the rows whose number two groups have twice.
_MOSTLY_INSIDE, _INSIDE, _TWICE = 0.6, 0.25, 0.5
# Numbers that each of two groups needs, if the rows with a number are one unit.
_FEWEST_UNITS = 10.0
# Shares that a smoother must leave of the group where rows do not mix, and anywhere.
_LEFT, _LEAST_LEFT = 0.8, 0.25
# Windows with less mixing than this are not compared, if as many neighbors should differ.
_APART, _EXPECTED = 0.2, 4.0
_NOTHING = 1e-12
# NumPy adds up fewer columns than these from the left, one after the other.
_FEW_COLUMNS = 8

_CLOSE = "rows with nearly the same number are of one group"
REASONS: Final = {
    "rows": f"{_CLOSE}, and no two rows have the same number.",
    "counts": f"{_CLOSE}, and counts by an engine do not say which rows belong together.",
    "crossing": f"{_CLOSE}, and clusters have several numbers.",
    "units": "different numbers that are close to each other are of one group.",
    "few": f"{_CLOSE}, and a group has fewer than {_FEWEST_UNITS:.0f} different numbers.",
    "curve": "a curve along the number and a gap between the groups cannot be separated.",
    "windows": "in no window along the number do rows of both groups lie close to each other.",
}
"""Why nothing can be compared, as the end of a sentence."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """How groups overlap along the number, in each segment.

    Attributes
    ----------
    unit : (S,) the unit of the comparison: "rows", "numbers", "units"; or "apart".
    mixing : (S,) floats, φ of these units.
    held : (S,) whether rows do not mix, so that only some smoothers are allowed.
    shared : (S,) floats, share of the rows whose exact number occurs in another group.
    reason : (S,) why groups are apart, a key of `REASONS`; "" where they are not.
    """

    unit: npt.NDArray[np.str_]
    mixing: FloatArray
    held: BoolArray
    shared: FloatArray
    reason: npt.NDArray[np.str_]

    def split(self, origin: IntArray) -> Overlap:
        """Repeat the entries of segments for their parts."""
        return Overlap(
            self.unit[origin],
            self.mixing[origin],
            self.held[origin],
            self.shared[origin],
            self.reason[origin],
        )

    def without(self, lost: BoolArray, reason: str) -> Overlap:
        """Set the groups of some more segments (S,) apart."""
        lost = lost & (self.unit != "apart")
        return replace(
            self,
            unit=np.where(lost, "apart", self.unit),
            reason=np.where(lost, reason, self.reason),
        )


def mixing(
    count: FloatArray,
    total: FloatArray,
    own: FloatArray,
    window: IntArray,
    at: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Count neighbors d_w that differ in each window, their mean e_w in random order, and variance.

        d_w = Σ_p (c_p - 1) δ_p + Σ_(p, p + 1) (1 - Σ_k s_pk s_(p+1)k),      e_w = (m_w - 1) δ_w,

    with p the different numbers, c_p rows each, s_pk their shares of the groups, and δ the
    probability that two rows of a number, or of a window, differ. Their ratio is the mixing
    φ = Σ d_w / Σ e_w. The variance is that of the runs test, v_w = e_w (e_w - 1) / (m_w - 1).

    Parameters
    ----------
    count : (P,) floats, the elements (rows or units) of each number, in order.
    total : (P, G) floats, sums of their shares of the groups.
    own : (P,) floats, sums of Σ_k s_k² of the elements; their number, if each is of one group.
    window : (P,) integers, the window of each number.
    at : (P,) floats, the rank of each number, if the share of a group may change along a window.
        The part of the groups that a straight line in rank explains is then subtracted from δ_w.
    """
    size = int(window.max()) + 1
    found = np.zeros(size)
    if (count > 1.0).any():
        found = group_sums(window, (count - 1.0) * _differ(count, total, own), size)
    mean = total / count[:, None]
    between = 1.0 - row_sums(mean[1:] * mean[:-1])
    same = np.flatnonzero(np.diff(window) == 0)
    found += group_sums(window[same], between[same], size)
    many = group_sums(window, count, size)
    differ = _differ(many, _column_sums(window, total, size), group_sums(window, own, size))
    if at is not None:
        away = at - (group_sums(window, count * at, size) / many)[window]
        spread = group_sums(window, count * away**2, size) / many
        slope = _column_sums(window, away[:, None] * total, size) / many[:, None]
        line = (slope**2).sum(axis=1) / np.where(spread > 0.0, spread, 1.0)
        differ = np.maximum(differ - line, 0.0)
    chance = (many - 1.0) * differ
    variance = chance * np.maximum(chance - 1.0, 0.0) / np.maximum(many - 1.0, 1.0)
    return found, chance, variance


def _differ(count: FloatArray, total: FloatArray, own: FloatArray) -> FloatArray:
    """Compute the probability that two elements differ; 0 for a single one."""
    pairs = count * (count - 1.0)
    alike = (row_sums(total**2) - own) / np.where(pairs > 0.0, pairs, 1.0)
    differ: FloatArray = np.where(pairs > 0.0, 1.0 - alike, 0.0)
    return differ


def row_sums(table: FloatArray) -> FloatArray:
    """Sum each row of (P, G) to the bits of NumPy, but column by column if there are few."""
    if not 0 < table.shape[1] < _FEW_COLUMNS:
        total: FloatArray = table.sum(axis=1)
        return total
    total = table[:, 0].copy()
    for column in table.T[1:]:
        total += column
    return total


def _column_sums(code: IntArray, table: FloatArray, size: int) -> FloatArray:
    """Add up the columns of a table for each code."""
    return np.stack([group_sums(code, column, size) for column in table.T], axis=1)


class _Numbers:
    """The different numbers of all segments, in order, and their rows of each group.

    Attributes
    ----------
    of_line : (n,) integers.
    rows : (P, G) floats.
    segment, cell : (P,) integers.
    rank : (P,) floats.
    """

    def __init__(self, cells: Grid, group: IntArray) -> None:
        self.of_line = cells.number
        size, n_groups = int(self.of_line.max()) + 1, int(group.max()) + 1
        counted = group_sums(self.of_line * n_groups + group, cells.rows, size * n_groups)
        self.rows = counted.reshape(size, n_groups)
        self.segment, self.cell = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.segment[self.of_line], self.cell[self.of_line] = cells.segment, cells.cell
        self.rank = np.zeros(size)
        self.rank[self.of_line] = cells.position

    def row_elements(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return count, total and own of `mixing` for rows as elements."""
        count = row_sums(self.rows)
        return count, self.rows, count

    def number_elements(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return them for all rows with a number as one element."""
        share = self.rows / row_sums(self.rows)[:, None]
        return np.ones(share.shape[0]), share, row_sums(share**2)

    def cluster_elements(
        self, cells: Grid, group: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return them for the rows of a cluster at a number as an element, or for rows."""
        if cells.cluster is None:
            return self.row_elements()
        size, n_groups = self.rows.shape
        element = joint_codes(self.of_line, cells.cluster)
        many = int(element.max()) + 1
        share = group_sums(element * n_groups + group, cells.rows, many * n_groups).reshape(
            many, -1
        )
        share /= row_sums(share)[:, None]
        number = np.zeros(many, np.int64)
        number[element] = self.of_line
        own = group_sums(number, row_sums(share**2), size)
        return group_sums(number, np.ones(many), size), _column_sums(number, share, size), own

    def twice(self) -> BoolArray:
        """Return which numbers have at least two rows of two groups, (P,)."""
        enough: BoolArray = (self.rows >= 2.0).sum(axis=1) > 1
        return enough


def _variation(rows: FloatArray) -> FloatArray:
    """Compute n (1 - Σ_k s_k²) of rows (P, G)."""
    whole = row_sums(rows)
    varied: FloatArray = whole - row_sums(rows**2) / np.maximum(whole, _NOTHING)
    return varied


def find_overlap(
    cells: Grid, group: IntArray, scores: FloatArray | None = None, *, exact: bool = True
) -> Overlap:
    """Decide how the groups (n,) of each segment are compared along the number.

    Groups are apart beyond doubt if φ < .9 and Σ (e_w - d_w) > 4 (Σ v_w)^½ (see `mixing`). Where
    numbers hardly repeat, a share of a group that is steep inside windows must not count as that.

    Parameters
    ----------
    scores : (n,) floats, used only where rows are apart and numbers contain a part of the variation
        of the groups, to see whether they jump from number to number; `None` if unknown.
    exact : whether the rows of a line have the same number, and not only similar ones.
    """
    numbers, size = _Numbers(cells, group), cells.offsets.size - 1
    of_cell = assign_windows(cells, window_counts(replace(cells, cluster=None)))
    window, segment, count = of_cell[numbers.cell], numbers.segment, row_sums(numbers.rows)
    of_window = np.zeros(int(of_cell.max()) + 1, np.int64)
    of_window[of_cell] = cells.of_segment

    def pool_windows(
        elements: tuple[FloatArray, FloatArray, FloatArray], rank: FloatArray | None = None
    ) -> tuple[FloatArray, BoolArray]:
        """Compute φ of each segment, and whether groups are apart beyond doubt."""
        counted = mixing(*elements, window, rank)
        found, chance, variance = (group_sums(of_window, part, size) for part in counted)
        phi = np.where(chance > 0.0, found / np.maximum(chance, _NOTHING), 1.0)
        lacking = chance - found > _SURE * np.sqrt(variance)
        return phi, (phi < _MIXED) & lacking & (chance > 1.0)

    def share_of_rows(there: BoolArray) -> FloatArray:
        """Compute the share of the rows of each segment that have one of these numbers (P,)."""
        return group_sums(segment, count * there, size) / group_sums(segment, count, size)

    phi, held = pool_windows(numbers.row_elements())
    shared = share_of_rows((numbers.rows > 0.0).sum(axis=1) > 1)
    rows, nothing = np.full(size, "rows", "<U8"), np.full(size, "", "<U8")
    found, far = Overlap(rows, phi, held, shared, nothing), held
    if cells.cluster is not None and held.any():
        phi, alone = pool_windows(numbers.cluster_elements(cells, group))
        found, far = replace(found, mixing=np.where(held, phi, found.mixing)), held & alone
    if not far.any():
        return found
    loose = far & (share_of_rows(count > 1.0) < _TIED)
    if loose.any():
        phi, alone = pool_windows(numbers.cluster_elements(cells, group), numbers.rank)
        lost = loose & alone & (phi < _LEAST_MIXED)
        found = found.without(lost, "rows")
        found = replace(found, mixing=np.where(loose, phi, found.mixing))
        if cells.cluster is None:
            found = replace(found, held=held & ~(loose & ~lost))
    within = group_sums(segment, _variation(numbers.rows), size) / np.maximum(
        group_sums(of_window, _variation(_column_sums(window, numbers.rows, of_window.size)), size),
        _NOTHING,
    )
    inside = far & ~loose & (share_of_rows(numbers.twice()) >= _TWICE) & (within >= _INSIDE)
    if (doubtful := inside & (within < _MOSTLY_INSIDE)).any():
        rough = doubtful if scores is None else _rough(cells, numbers, group, scores, of_cell)
        inside &= ~doubtful | rough
    rest = far & ~loose & ~inside
    unit = np.where(inside, "numbers", np.where(rest, "units", found.unit))
    units, alone = pool_windows(numbers.number_elements())
    found = replace(found, unit=unit, mixing=np.where(rest, units, found.mixing))
    if not exact:
        found = found.without(rest, "counts")
    if cells.cluster is not None:
        found = found.without(rest & _crossing(cells, numbers.of_line), "crossing")
    # Numbers where a group is the largest one, of the second of the groups.
    largest = segment * numbers.rows.shape[1] + numbers.rows.argmax(axis=1)
    counted = np.bincount(largest, minlength=size * numbers.rows.shape[1]).reshape(size, -1)
    few = np.sort(counted, axis=1)[:, -2] < _FEWEST_UNITS
    return found.without(rest & few, "few").without(rest & alone, "units")


def _crossing(cells: Grid, number: IntArray) -> BoolArray:
    """Return which segments have clusters with several numbers, (S,)."""
    assert cells.cluster is not None
    one = np.zeros(int(cells.cluster.max()) + 1, np.int64)
    one[cells.cluster] = number
    several = np.zeros(one.size, bool)
    several[cells.cluster[one[cells.cluster] != number]] = True
    size = cells.offsets.size - 1
    return group_sums(cells.segment, several[cells.cluster].astype(np.float64), size) > 0.0


def _rough(
    cells: Grid, numbers: _Numbers, group: IntArray, scores: FloatArray, of_cell: IntArray
) -> BoolArray:
    """Return the segments where scores without the gap inside numbers jump between numbers, (S,).

    C_p with the variance of rows smooths nothing then, or so little that it absorbs the group.
    """
    n_groups, mass = numbers.rows.shape[1], cells.mass
    total = group_sums(numbers.of_line, mass)
    rough = np.zeros(cells.offsets.size - 1, bool)
    adjusted = scores.copy()
    members = np.stack([(group == g).astype(np.float64) for g in range(1, n_groups)])
    means = np.stack([group_sums(numbers.of_line, mass * member) / total for member in members])
    rests = members - means[:, numbers.of_line]
    for s in range(rough.size):
        there = np.flatnonzero(cells.segment == s)
        rest = rests[:, there] * mass[there]
        gram = rest @ rests[:, there].T
        gram[np.diag_indices_from(gram)] += _NOTHING * float(mass[there].sum())
        adjusted[there] -= np.linalg.solve(gram, rest @ scores[there]) @ members[:, there]
    rows = replace(cells, cluster=None)
    choice = select_bandwidth(rows, rows.mean(adjusted), rows.variance(adjusted))
    left = remaining_share(rows, of_cell[rows.cell], group, choice)
    none: BoolArray = choice.coordinate == 0
    return none | (left < _LEFT)


def remaining_share(
    cells: Grid, window: IntArray, group: IntArray, choice: Bandwidth
) -> FloatArray:
    """Compute φ(S), the share of the variation of the group inside windows that a smoother leaves.

    Parameters
    ----------
    window : (n,) integers, the window of each line.
    """
    n_groups, segment, size = int(group.max()) + 1, cells.segment, cells.offsets.size - 1
    left, inside = np.zeros(size), np.zeros(size)
    for g in range(1 if n_groups == 2 else 0, n_groups):
        member = (group == g).astype(np.float64)
        curve = cells.own_places.read(choice.smooth(cells, cells.mean(member)))
        left += group_sums(segment, cells.mass * (member - curve) ** 2, size)
        mean = group_sums(window, cells.mass * member) / group_sums(window, cells.mass)
        inside += group_sums(segment, cells.mass * (member - mean[window]) ** 2, size)
    share: FloatArray = np.where(inside > 0.0, left / np.maximum(inside, _NOTHING), 1.0)
    return share


def arrange_cells(cells: Grid, overlap: Overlap) -> Grid:
    """Arrange cells as groups are compared: rows of a number a cluster, or each number a cell."""
    own, together = overlap.unit == "numbers", overlap.unit == "units"
    if not (own | together).any():
        return cells
    number = cells.number
    if together.any():
        there, size = together[cells.segment], int(number.max()) + 1
        other = np.arange(number.size) if cells.cluster is None else cells.cluster
        cells = replace(cells, cluster=joint_codes(np.where(there, number, size + other)))
    return _separate_numbers(cells, number, own) if own.any() else cells


def _separate_numbers(cells: Grid, number: IntArray, own: BoolArray) -> Grid:
    """Make each number a cell in some segments (S,), which are not smoothed."""
    there = own[cells.segment]
    cell = joint_codes(cells.segment, np.where(there, number, cells.cell))
    rows, total = group_sums(cell, cells.rows), group_sums(cell, cells.mass)
    before = np.zeros(rows.size, np.int64)
    before[cell] = cells.cell
    segment = cells.of_segment[before]
    allowed = np.ones((own.size, 3, len(WIDTHS)), bool)
    allowed[own, 1:] = False
    mean = group_sums(cell, cells.rows * cells.position) / rows
    return replace(
        cells,
        cell=cell,
        center=np.where(own[segment], mean, cells.center[before]),
        raw=cells.raw[before],
        total=total,
        effective=total**2 / group_sums(cell, cells.mass**2 / cells.rows),
        offsets=np.r_[0, np.cumsum(np.bincount(segment, minlength=own.size))],
        allowed=allowed,
    )


def restrict_smoothers(
    cells: Grid, window: IntArray, group: IntArray, overlap: Overlap
) -> tuple[Grid, Overlap]:
    """Allow only smoothers that leave enough of the group where rows do not mix.

    Parameters
    ----------
    window : (n,) integers, the window of each line.
    """
    held = overlap.held & (overlap.unit != "numbers")
    if not held.any():
        return cells, overlap
    size = held.size
    allowed = cells.allowed
    allowed = np.ones((size, 3, len(WIDTHS)), bool) if allowed is None else allowed.copy()
    allowed[held] = False
    for coordinate in (1, 2):
        for k, width in enumerate(WIDTHS):
            may = held & wide_enough(cells, width)
            tried = Bandwidth(np.full(size, coordinate), np.where(may, width, 0.0))
            if may.any():
                left = remaining_share(cells, window, group, tried)
                allowed[may, coordinate, k] = left[may] >= _LEFT
    overlap = overlap.without(held & ~allowed.any(axis=(1, 2)), "curve")
    return replace(cells, allowed=allowed, held=held), overlap


def comparable_windows(
    cells: Grid, window: IntArray, group: IntArray, overlap: Overlap, choice: Bandwidth
) -> tuple[BoolArray, Overlap]:
    """Return the windows (K,) in which groups are close to each other along the number.

    Parameters
    ----------
    window : (n,) integers, the window of each line.
    choice : the smoother of the scores. If it absorbs nearly all of the group, the groups of a
        segment are apart.
    """
    left = remaining_share(cells, window, group, choice)
    overlap = overlap.without((left < _LEAST_LEFT) & (overlap.unit != "numbers"), "curve")
    numbers = _Numbers(cells, group)
    of_number = np.zeros(numbers.segment.size, np.int64)
    of_number[numbers.of_line] = window
    found, chance, _ = mixing(*numbers.cluster_elements(cells, group), of_number)
    speaks = (chance < _EXPECTED) | (found >= _APART * chance)
    segment = np.zeros(speaks.size, np.int64)
    segment[window] = cells.segment
    twice = np.zeros(speaks.size, bool)
    twice[of_number[numbers.twice()]] = True
    speaks = np.where((overlap.unit == "numbers")[segment], twice, speaks)
    return speaks & (overlap.unit != "apart")[segment], overlap
