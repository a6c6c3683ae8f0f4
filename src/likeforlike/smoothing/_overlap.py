"""Whether groups overlap along a number, and how they are compared where they hardly do.

A number may be that of a place or of a person whose rows are all of one group. A curve that follows
the means of such numbers takes the gap along, so that nothing is left of it to be found. Therefore
the groups are looked at first, and never the gap. Rows are put in the order of the number, equal
numbers in random order, and neighbors that differ in group are counted in every window w:

    d_w = Σ_p (c_p - 1) δ_p + Σ_(p, p + 1) (1 - Σ_k s_pk s_(p+1)k),      e_w = (m_w - 1) δ_w,

with p the different numbers, c_p how many rows each has, s_pk their shares of the groups, and δ the
chance that two rows of a number, or of a window, differ. e_w is what random order gives, and

    φ = Σ d_w / Σ e_w

is the *mixing*. Groups are apart beyond doubt if φ < .9 and Σ (e_w - d_w) > 4 (Σ v_w)^½, where
v_w = e_w (e_w - 1) / (m_w - 1) is the variance of the runs test. They are compared by

    rows      if rows (or, with clusters, the rows of a cluster at a number) mix;
    numbers   if most of the variation of the group lies inside numbers: each number is a level;
    units     if not: rows with the same number are one cluster, and numbers nearby are compared;
    apart     not at all, if none of these can be.

Where numbers hardly repeat, a share of a group that is steep inside windows must not be taken for
that, so what a straight line in rank explains of the groups is taken off δ_w first.

A smoother S takes S A of the group A along and leaves the share

    φ(S) = Σ_i |A_i - (S A)_i|² / Σ_w n_w (1 - Σ_k s_wk²).

Where rows are apart, a smoother must leave at least .8 of it.

References: Wald and Wolfowitz (1940), *On a test whether two samples are from the same population*;
Speckman (1988), *Kernel smoothing in partial linear models*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.smoothing._grid import FineCells, combine, sums, window_counts, windows_of_cells
from likeforlike.smoothing._local_linear import WIDTHS, Choice, choose, smoothed, wide_enough

Unit = Literal["rows", "numbers", "units", "apart"]
"""What is compared along a number; nothing where groups lie apart."""

# Groups mix if neighbors differ at least so often, compared with random order, or if it may be
# chance that they do not; in standard errors.
_MIXED, _SURE = 0.9, 4.0
# Where numbers hardly repeat (this share of the rows), less mixing than that is none.
_TIED, _LEAST_MIXED = 0.1, 0.8
# Share of the variation of the group that lies inside numbers, where these are compared one by one:
# in any case, or if scores are rough; and the share of rows whose number two groups have twice.
_MOSTLY_INSIDE, _INSIDE, _TWICE = 0.6, 0.25, 0.5
# Numbers that each of two groups needs, if rows with one number count as one.
_FEWEST_UNITS = 10.0
# What a smoother must leave of the group where rows do not mix, and what it must leave anywhere.
_LEFT, _LEAST_LEFT = 0.8, 0.25
# Windows with less mixing than this say nothing, where as many neighbors should differ.
_APART, _EXPECTED = 0.2, 4.0
_NOTHING = 1e-12
# Fewer columns than these numpy adds up from the left, one after the other.
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
    """How groups lie along the number, in every segment.

    Attributes
    ----------
    unit : (S,) what is compared: "rows", "numbers", "units"; or "apart".
    mixing : (S,) floats, φ of what is compared.
    held : (S,) whether rows do not mix, so that only some smoothers are allowed.
    shared : (S,) floats, share of the rows whose very number another group has, too.
    reason : (S,) why groups are apart, a key of `REASONS`; "" where they are not.
    """

    unit: npt.NDArray[np.str_]
    mixing: FloatArray
    held: BoolArray
    shared: FloatArray
    reason: npt.NDArray[np.str_]

    def of(self, origin: IntArray) -> Overlap:
        """The same for parts of the segments."""
        return Overlap(
            self.unit[origin],
            self.mixing[origin],
            self.held[origin],
            self.shared[origin],
            self.reason[origin],
        )

    def without(self, lost: BoolArray, reason: str) -> Overlap:
        """The same, with some segments (S,) apart that were not yet."""
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
    """Neighbors that differ in every window, what random order gives, and its variance, (K,) each.

    Parameters
    ----------
    count : (P,) floats, the elements (rows or units) of every number, in order.
    total : (P, G) floats, sums of their shares of the groups.
    own : (P,) floats, Σ_k s_k² of the elements, summed up; their number, if each is of one group.
    window : (P,) integers, the window of every number.
    at : (P,) floats, the rank of every number, if the share of a group may change along a window.
    """
    size = int(window.max()) + 1
    found = np.zeros(size)
    if (count > 1.0).any():
        found = sums(window, (count - 1.0) * _differ(count, total, own), size)
    mean = total / count[:, None]
    between = 1.0 - row_sums(mean[1:] * mean[:-1])
    same = np.flatnonzero(np.diff(window) == 0)
    found += sums(window[same], between[same], size)
    many = sums(window, count, size)
    differ = _differ(many, _by_code(window, total, size), sums(window, own, size))
    if at is not None:
        away = at - (sums(window, count * at, size) / many)[window]
        spread = sums(window, count * away**2, size) / many
        slope = _by_code(window, away[:, None] * total, size) / many[:, None]
        line = (slope**2).sum(axis=1) / np.where(spread > 0.0, spread, 1.0)
        differ = np.maximum(differ - line, 0.0)
    chance = (many - 1.0) * differ
    variance = chance * np.maximum(chance - 1.0, 0.0) / np.maximum(many - 1.0, 1.0)
    return found, chance, variance


def _differ(count: FloatArray, total: FloatArray, own: FloatArray) -> FloatArray:
    """The chance that two elements differ; 0 of one."""
    pairs = count * (count - 1.0)
    alike = (row_sums(total**2) - own) / np.where(pairs > 0.0, pairs, 1.0)
    differ: FloatArray = np.where(pairs > 0.0, 1.0 - alike, 0.0)
    return differ


def row_sums(table: FloatArray) -> FloatArray:
    """Σ along every row of (P, G), as numpy adds up, but column by column where there are few."""
    if not 0 < table.shape[1] < _FEW_COLUMNS:
        total: FloatArray = table.sum(axis=1)
        return total
    total = table[:, 0].copy()
    for column in table.T[1:]:
        total += column
    return total


def _by_code(code: IntArray, table: FloatArray, size: int) -> FloatArray:
    return np.stack([sums(code, column, size) for column in table.T], axis=1)


class _Numbers:
    """The different numbers of all segments, in order, and how many rows of each group they have.

    Attributes
    ----------
    of_line : (n,) integers.
    rows : (P, G) floats.
    segment, cell : (P,) integers.
    rank : (P,) floats.
    """

    def __init__(self, cells: FineCells, group: IntArray) -> None:
        self.of_line = cells.number
        size, n_groups = int(self.of_line.max()) + 1, int(group.max()) + 1
        counted = sums(self.of_line * n_groups + group, cells.rows, size * n_groups)
        self.rows = counted.reshape(size, n_groups)
        self.segment, self.cell = np.zeros(size, np.int64), np.zeros(size, np.int64)
        self.segment[self.of_line], self.cell[self.of_line] = cells.segment, cells.cell
        self.rank = np.zeros(size)
        self.rank[self.of_line] = cells.position

    def elements_of_rows(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """What `mixing` takes, if elements are rows."""
        count = row_sums(self.rows)
        return count, self.rows, count

    def elements_of_numbers(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The same if elements are all rows with a number."""
        share = self.rows / row_sums(self.rows)[:, None]
        return np.ones(share.shape[0]), share, row_sums(share**2)

    def elements_of_clusters(
        self, cells: FineCells, group: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The same if elements are the rows of a cluster with a number; rows without clusters."""
        if cells.cluster is None:
            return self.elements_of_rows()
        size, n_groups = self.rows.shape
        element = combine(self.of_line, cells.cluster)
        many = int(element.max()) + 1
        share = sums(element * n_groups + group, cells.rows, many * n_groups).reshape(many, -1)
        share /= row_sums(share)[:, None]
        number = np.zeros(many, np.int64)
        number[element] = self.of_line
        own = sums(number, row_sums(share**2), size)
        return sums(number, np.ones(many), size), _by_code(number, share, size), own

    def few(self, size: int) -> BoolArray:
        """Segments (S,) without two groups that are the larger one at enough numbers each."""
        n_groups = self.rows.shape[1]
        largest = self.segment * n_groups + self.rows.argmax(axis=1)
        counted = np.bincount(largest, minlength=size * n_groups).reshape(size, -1)
        few: BoolArray = np.sort(counted, axis=1)[:, -2] < _FEWEST_UNITS
        return few

    def twice(self) -> BoolArray:
        """Numbers that two groups have at least two rows of, (P,)."""
        enough: BoolArray = (self.rows >= 2.0).sum(axis=1) > 1
        return enough


def _variation(rows: FloatArray) -> FloatArray:
    """n (1 - Σ_k s_k²) of rows (P, G)."""
    whole = row_sums(rows)
    varied: FloatArray = whole - row_sums(rows**2) / np.maximum(whole, _NOTHING)
    return varied


def find_overlap(
    cells: FineCells, group: IntArray, scores: FloatArray | None = None, *, exact: bool = True
) -> Overlap:
    """Say how the groups (n,) of every segment are compared along the number.

    Parameters
    ----------
    scores : (n,) floats, which are only looked at where numbers hold a part of the groups each and
        rows are apart, to see whether they jump from number to number; `None` if unknown.
    exact : whether lines of several rows have the same number, and not only numbers nearby.
    """
    numbers, size = _Numbers(cells, group), cells.offsets.size - 1
    of_cell = windows_of_cells(cells, window_counts(replace(cells, cluster=None)))
    window, segment, count = of_cell[numbers.cell], numbers.segment, row_sums(numbers.rows)
    of_window = np.zeros(int(of_cell.max()) + 1, np.int64)
    of_window[of_cell] = cells.of_segment

    def pooled(
        elements: tuple[FloatArray, FloatArray, FloatArray], rank: FloatArray | None = None
    ) -> tuple[FloatArray, BoolArray]:
        """φ of every segment, and whether groups are apart beyond doubt."""
        counted = mixing(*elements, window, rank)
        found, chance, variance = (sums(of_window, part, size) for part in counted)
        phi = np.where(chance > 0.0, found / np.maximum(chance, _NOTHING), 1.0)
        lacking = chance - found > _SURE * np.sqrt(variance)
        return phi, (phi < _MIXED) & lacking & (chance > 1.0)

    def share_of_rows(there: BoolArray) -> FloatArray:
        """Share of the rows of every segment that have one of these numbers (P,)."""
        return sums(segment, count * there, size) / sums(segment, count, size)

    phi, held = pooled(numbers.elements_of_rows())
    shared = share_of_rows((numbers.rows > 0.0).sum(axis=1) > 1)
    rows, nothing = np.full(size, "rows", "<U8"), np.full(size, "", "<U8")
    found, far = Overlap(rows, phi, held, shared, nothing), held
    if cells.cluster is not None and held.any():
        phi, alone = pooled(numbers.elements_of_clusters(cells, group))
        found, far = replace(found, mixing=np.where(held, phi, found.mixing)), held & alone
    if not far.any():
        return found
    loose = far & (share_of_rows(count > 1.0) < _TIED)
    if loose.any():
        phi, alone = pooled(numbers.elements_of_clusters(cells, group), numbers.rank)
        lost = loose & alone & (phi < _LEAST_MIXED)
        found = found.without(lost, "rows")
        found = replace(found, mixing=np.where(loose, phi, found.mixing))
        if cells.cluster is None:
            found = replace(found, held=held & ~(loose & ~lost))
    within = sums(segment, _variation(numbers.rows), size) / np.maximum(
        sums(of_window, _variation(_by_code(window, numbers.rows, of_window.size)), size), _NOTHING
    )
    inside = far & ~loose & (share_of_rows(numbers.twice()) >= _TWICE) & (within >= _INSIDE)
    if (doubtful := inside & (within < _MOSTLY_INSIDE)).any():
        rough = doubtful if scores is None else _rough(cells, numbers, group, scores, of_cell)
        inside &= ~doubtful | rough
    rest = far & ~loose & ~inside
    unit = np.where(inside, "numbers", np.where(rest, "units", found.unit))
    units, alone = pooled(numbers.elements_of_numbers())
    found = replace(found, unit=unit, mixing=np.where(rest, units, found.mixing))
    if not exact:
        found = found.without(rest, "counts")
    if cells.cluster is not None:
        found = found.without(rest & _crossing(cells, numbers.of_line), "crossing")
    return found.without(rest & numbers.few(size), "few").without(rest & alone, "units")


def _crossing(cells: FineCells, number: IntArray) -> BoolArray:
    """Segments with clusters that have several numbers, (S,)."""
    assert cells.cluster is not None
    one = np.zeros(int(cells.cluster.max()) + 1, np.int64)
    one[cells.cluster] = number
    several = np.zeros(one.size, bool)
    several[cells.cluster[one[cells.cluster] != number]] = True
    size = cells.offsets.size - 1
    return sums(cells.segment, several[cells.cluster].astype(np.float64), size) > 0.0


def _rough(
    cells: FineCells, numbers: _Numbers, group: IntArray, scores: FloatArray, of_cell: IntArray
) -> BoolArray:
    """Segments where scores without the gap inside numbers change from number to number, (S,).

    C_p with the variance of rows smooths nothing then, or so little that the group goes along.
    """
    n_groups, mass = numbers.rows.shape[1], cells.mass
    total = sums(numbers.of_line, mass)

    def inside(values: FloatArray) -> FloatArray:
        means = sums(numbers.of_line, mass * values) / total
        rest: FloatArray = values - means[numbers.of_line]
        return rest

    rough = np.zeros(cells.offsets.size - 1, bool)
    adjusted = scores.copy()
    members = np.stack([(group == g).astype(np.float64) for g in range(1, n_groups)])
    rests = np.stack([inside(member) for member in members])
    for s in range(rough.size):
        there = np.flatnonzero(cells.segment == s)
        rest = rests[:, there] * mass[there]
        gram = rest @ rests[:, there].T
        gram[np.diag_indices_from(gram)] += _NOTHING * float(mass[there].sum())
        adjusted[there] -= np.linalg.solve(gram, rest @ scores[there]) @ members[:, there]
    rows = replace(cells, cluster=None)
    choice = choose(rows, rows.mean(adjusted), rows.variance(adjusted))
    left = left_of_group(rows, of_cell[rows.cell], group, choice)
    none: BoolArray = choice.coordinate == 0
    return none | (left < _LEFT)


def left_of_group(
    cells: FineCells, window: IntArray, group: IntArray, choice: Choice
) -> FloatArray:
    """φ(S), what a smoother leaves of the variation of the group inside windows, (S,).

    Parameters
    ----------
    window : (n,) integers, the window of every line.
    """
    n_groups, segment, size = int(group.max()) + 1, cells.segment, cells.offsets.size - 1
    left, inside = np.zeros(size), np.zeros(size)
    for g in range(1 if n_groups == 2 else 0, n_groups):
        member = (group == g).astype(np.float64)
        curve = cells.own_places.read(smoothed(cells, cells.mean(member), choice))
        left += sums(segment, cells.mass * (member - curve) ** 2, size)
        mean = sums(window, cells.mass * member) / sums(window, cells.mass)
        inside += sums(segment, cells.mass * (member - mean[window]) ** 2, size)
    share: FloatArray = np.where(inside > 0.0, left / np.maximum(inside, _NOTHING), 1.0)
    return share


def arrange_cells(cells: FineCells, overlap: Overlap) -> FineCells:
    """Cells as the groups are compared: rows with one number a cluster, or every number a cell."""
    own, together = overlap.unit == "numbers", overlap.unit == "units"
    if not (own | together).any():
        return cells
    number = cells.number
    if together.any():
        there, size = together[cells.segment], int(number.max()) + 1
        other = np.arange(number.size) if cells.cluster is None else cells.cluster
        cells = replace(cells, cluster=combine(np.where(there, number, size + other)))
    return _cells_of_numbers(cells, number, own) if own.any() else cells


def _cells_of_numbers(cells: FineCells, number: IntArray, own: BoolArray) -> FineCells:
    """Every number a cell in some segments (S,), which are not smoothed."""
    there = own[cells.segment]
    cell = combine(cells.segment, np.where(there, number, cells.cell))
    rows, total = sums(cell, cells.rows), sums(cell, cells.mass)
    before = np.zeros(rows.size, np.int64)
    before[cell] = cells.cell
    segment = cells.of_segment[before]
    allowed = np.ones((own.size, 3, len(WIDTHS)), bool)
    allowed[own, 1:] = False
    mean = sums(cell, cells.rows * cells.position) / rows
    return replace(
        cells,
        cell=cell,
        center=np.where(own[segment], mean, cells.center[before]),
        raw=cells.raw[before],
        total=total,
        effective=total**2 / sums(cell, cells.mass**2 / cells.rows),
        offsets=np.r_[0, np.cumsum(np.bincount(segment, minlength=own.size))],
        allowed=allowed,
    )


def restrict_smoothers(
    cells: FineCells, window: IntArray, group: IntArray, overlap: Overlap
) -> tuple[FineCells, Overlap]:
    """Allow only smoothers that leave enough of the group where rows do not mix.

    Parameters
    ----------
    window : (n,) integers, the window of every line.
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
            tried = Choice(np.full(size, coordinate), np.where(may, width, 0.0))
            if may.any():
                left = left_of_group(cells, window, group, tried)
                allowed[may, coordinate, k] = left[may] >= _LEFT
    overlap = overlap.without(held & ~allowed.any(axis=(1, 2)), "curve")
    return replace(cells, allowed=allowed, held=held), overlap


def speaking_windows(
    cells: FineCells, window: IntArray, group: IntArray, overlap: Overlap, choice: Choice
) -> tuple[BoolArray, Overlap]:
    """Windows (K,) in which groups are close to each other along the number.

    Parameters
    ----------
    window : (n,) integers, the window of every line.
    choice : how scores were smoothed. If that takes nearly all of the group along, a segment says
        nothing, whatever was known before.
    """
    left = left_of_group(cells, window, group, choice)
    overlap = overlap.without((left < _LEAST_LEFT) & (overlap.unit != "numbers"), "curve")
    numbers = _Numbers(cells, group)
    of_number = np.zeros(numbers.segment.size, np.int64)
    of_number[numbers.of_line] = window
    found, chance, _ = mixing(*numbers.elements_of_clusters(cells, group), of_number)
    speaks = (chance < _EXPECTED) | (found >= _APART * chance)
    segment = np.zeros(speaks.size, np.int64)
    segment[window] = cells.segment
    twice = np.zeros(speaks.size, bool)
    twice[of_number[numbers.twice()]] = True
    speaks = np.where((overlap.unit == "numbers")[segment], twice, speaks)
    return speaks & (overlap.unit != "apart")[segment], overlap
