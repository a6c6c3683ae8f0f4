"""Groups on their way to windows along a number: the one carry that everything is made of.

Audits, limits and repairs take the same steps: see how groups overlap (`_overlap`), cut curves at
jumps (`_cuts`), gather cells into windows, allow the smoothers that leave enough of the group, and
carry scores to the centers of the windows.

Lines carried to the centers of their windows, as an estimate needs them.

The mean that all lines have together contains P(A | L) times the gap, so a gap shrinks where
P(A | L) is steep, and is gone where the curve follows numbers that are of one group each. Gaps are
therefore taken out first, the rest is carried, and they are added again, in two rounds. The first
takes the common gap, with the number taken out of score and group,

    Δ_0 = Σ w r (s - S s) / Σ w r²,      r = A - S A,

with S the smoother of the test's carry; the second takes the gaps of the windows, `steadied`: the
noise of a gap between few rows must not bend the curve of all. Where there are clusters, gaps are
known as well as their units say.

Where groups do not mix along the number (`_overlap`), the curve takes a part of the group and of
the degrees of freedom, so that residuals are too small. The variance of Δ_0 is σ² / Σ r²; they are
multiplied by the root of (U - 1) / (U - tr S) / φ(S), with U units.

Reference: Speckman (1988), *Kernel smoothing in partial linear models*.

Gaps of windows without most of their noise: drawn to their mean as far as chance explains.

A gap d_j between few rows is mostly noise. Taken out of many rows next to them it would bend the
curve of all, and the bend would come back as more gap. So every gap is drawn to the mean of all,

    d_j' = d̄ + τ² / (τ² + v_j) (d_j - d̄),      d̄ = Σ p_j d_j / Σ p_j,      p_j = 1 / v_j,

with v_j the variance of d_j, and τ² how much more than that the gaps differ. Where they are all
alike, hardly anything of the noise is left; where they change along the number, they stay.

References: DerSimonian and Laird (1986), *Meta-analysis in clinical trials* (τ²); Morris (1983),
*Parametric empirical Bayes inference*.

Dealing: give every line one of few values, so that every block has as much of each as is due.

A line stays a row, or rows, with one of the values each. Drawn for every line, the share of
a value in a block would vary by more than the data do. So the rows of a block are cut, one after
the other, where the mass is reached that is due at or below each value: systematic sampling, with
one lot a block that says where the rounding begins. The sum is off by less than a row, however many
rows and values there are, and right on average over lots. In a block of few rows, where one row is
much, it is the nearest row.

Reference: Madow and Madow (1944), *On the theory of systematic sampling*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.smoothing._carry import (
    Carried,
    ScaleCarry,
    ValueCarry,
    carry,
    centers,
    few_values,
    kept_still,
    rising_to_one,
    scale_carry,
    uniforms,
    whole,
)
from likeforlike.smoothing._grid import FineCells, Windows, combine, fine_cells, sums, windows
from likeforlike.smoothing._jumps import Cuts, cut_at_jumps, uncut
from likeforlike.smoothing._local_linear import Choice, choose, fit, smoothed
from likeforlike.smoothing._overlap import (
    REASONS,
    Overlap,
    arrange_cells,
    find_overlap,
    left_of_group,
    restrict_smoothers,
    speaking_windows,
)

# No gap is known so much better than the others that these do not count.
_BEST_KNOWN = 1e-3


def steadied(gaps: FloatArray, noise: FloatArray) -> FloatArray:
    """Draw the gaps of K windows to their mean, each of q columns by itself; (K, q).

    Parameters
    ----------
    gaps : (K, q) floats, d_j.
    noise : (K, q) floats, v_j; infinite where no gap is known, which then is the mean.
    """
    known = np.isfinite(noise)
    number = known.sum(axis=0)
    usual = np.where(known, noise, 0.0).sum(axis=0) / np.maximum(number, 1)
    least = np.where(usual > 0.0, _BEST_KNOWN * usual, 1.0)
    noise = np.maximum(noise, least)
    precision = 1.0 / noise
    whole = np.maximum(precision.sum(axis=0), np.finfo(float).tiny)
    mean = (precision * gaps).sum(axis=0) / whole
    apart = np.where(known, gaps - mean, 0.0)
    room = whole - (precision**2).sum(axis=0) / whole
    excess = (precision * apart**2).sum(axis=0) - (number - 1)
    more = np.where(number > 1, np.maximum(excess, 0.0) / np.where(number > 1, room, 1.0), 0.0)
    kept: FloatArray = mean + more / (more + noise) * apart
    return np.where(usual > 0.0, kept, np.where(known, gaps, mean))


# Sums of masses are off by rounding; a row must not be lost to it.
_ROUNDING = 1e-9
# Below this many rows the noise of a draw is worse than the little that rounding takes back.
_FEW = 20.0
# Tables are made for this many lines at a time.
_AT_A_TIME = 65_536


class Assignment(NamedTuple):
    """Which lines have got which values, (m,) integers each, in the order of the lines.

    Attributes
    ----------
    line, value, rows : how many rows of this line have got this value; at least one.
    """

    line: IntArray
    value: IntArray
    rows: IntArray


class Deck(NamedTuple):
    """Lines to be assigned.

    Attributes
    ----------
    block : (n,) integers, within which the mass at each value is to be what is due.
    order : (n,) integers, the lines as they are cut: block after block, by rising value.
    mass, rows : (n,) positive floats, weight and number of rows of every line.
    lot : (n,) floats in [0, 1); that of a block is what remains of their sum.
    """

    block: IntArray
    order: IntArray
    mass: FloatArray
    rows: FloatArray
    lot: FloatArray


def deal(deck: Deck, due: FloatArray) -> Assignment:
    """Deal the rows of all lines to k values.

    Parameters
    ----------
    due : (B, k) floats, mass at or below each value that every block should have.
    """
    before, lot = _before(deck)
    of_row = deck.mass / deck.rows
    assigned = []
    for first in range(0, before.size, _AT_A_TIME):
        some = np.arange(first, min(first + _AT_A_TIME, before.size))
        rows = deck.rows[some, None]
        room = (due[deck.block[some]] - before[some, None]) / of_row[some, None]
        reached = np.clip(np.ceil(room - lot[some, None] - _ROUNDING * rows), 0.0, rows)
        reached[:, -1] = rows[:, 0]
        counted = np.diff(reached, axis=1, prepend=0.0).astype(np.int64)
        line, value = np.nonzero(counted)
        assigned.append(Assignment(some[line], value, counted[line, value]))
    return Assignment(*(np.concatenate(column) for column in zip(*assigned, strict=True)))


def _before(deck: Deck) -> tuple[FloatArray, FloatArray]:
    """Mass of the lines before each one in its block, and the lot of the block, (n,) each."""
    block, mass = deck.block[deck.order], deck.mass[deck.order]
    first = np.flatnonzero(np.r_[True, np.diff(block) > 0])
    of_line = np.repeat(first, np.diff(np.r_[first, block.size]))
    reached = np.cumsum(mass) - mass
    before = np.empty(mass.size)
    before[deck.order] = reached - reached[of_line]
    lot: FloatArray = np.remainder(np.bincount(deck.block, deck.lot), 1.0)
    lot = np.where(np.bincount(deck.block, deck.rows) < _FEW, 0.5, lot)
    return before, lot[deck.block]


# A smoother that takes all of the group along says nothing of a gap; as a part of the mass.
_LEAST = 1e-6
# A curve that leaves less of the group than this is not believed to.
_LEAST_LEFT = 0.1
_TINY = 1e-300


def refine(
    cells: FineCells,
    windows: Windows,
    values: FloatArray,
    group: IntArray,
    fitted: ScaleCarry | ValueCarry,
    uniform: FloatArray,
) -> Carried:
    """Carry with gaps taken out before and added after, in two rounds.

    Parameters
    ----------
    group : (n,) integers from 0; gaps are those to the group with most rows.
    fitted : as `carry` gave it.
    """
    of_group = _by_rows(cells, group)[group]
    if isinstance(fitted, ScaleCarry):
        return _refine_scale(cells, windows, values, of_group, fitted)
    return _refine_values(cells, windows, values, of_group, fitted, uniform)


def _refine_scale(
    cells: FineCells,
    windows: Windows,
    values: FloatArray,
    of_group: IntArray,
    fitted: ScaleCarry,
) -> Carried:
    start, end = cells.own_places, centers(cells, windows)
    table = _GapTable.of(cells, windows, of_group)

    def moved_without(gap: FloatArray) -> FloatArray:
        moved = scale_carry(cells, values - gap).move(values - gap, start, end) + gap
        return kept_still(cells, values, moved)

    moved = moved_without(common_gaps(cells, values, of_group, fitted.choice)[of_group])
    means = table.mean(moved)
    rest = table.by_unit(moved - means[windows.of_line, of_group])
    spread = table.pooled(table.mean(rest * rest)[:, :, None])
    gaps = table.steady_gaps(means[:, :, None], spread)
    moved = moved_without(gaps[windows.of_line, of_group, 0])
    if (held := cells.held) is not None and held.any():
        mean = table.mean(moved)[windows.of_line, of_group]
        wider = np.where(held, _widening(cells, windows, of_group, fitted.choice), 1.0)
        wider = wider[cells.segment]
        moved = np.where(wider > 1.0, mean + wider * (moved - mean), moved)
    return whole(cells, moved)


def _widening(cells: FineCells, windows: Windows, of_group: IntArray, choice: Choice) -> FloatArray:
    """By how much residuals are too small, (S,)."""
    left = np.clip(left_of_group(cells, windows.of_line, of_group, choice), _LEAST_LEFT, 1.0)
    leverage = fit(cells, cells.center, choice)[1]
    used, units = np.add.reduceat(leverage, cells.offsets[:-1]), cells.units
    factor = np.maximum(units - 1.0, 1.0) / np.maximum(units - used, 1.0) / left
    wider: FloatArray = np.sqrt(np.maximum(factor, 1.0))
    return wider


def _refine_values(
    cells: FineCells,
    windows: Windows,
    values: FloatArray,
    of_group: IntArray,
    fitted: ValueCarry,
    uniform: FloatArray,
) -> Carried:
    """The same for the distribution function F at every value v.

    At or below v a group gets Σ (1{s <= v} - F(v | L) + F(v | window)) rows of a window: what its
    rows have beyond the curve stays with them. As many are assigned in the end (`_dealing`): a draw
    for every row would add noise that no estimate takes off again.
    """
    code, k = np.searchsorted(fitted.values, values), fitted.values.size
    table = _GapTable.of(cells, windows, of_group)
    own = cells.means_of_steps(code, k)
    share = np.stack([cells.mean(of_group == g) for g in range(table.rows.shape[1])], axis=1)
    common = _common_steps(cells, code, own, of_group, fitted.choice)
    choice = _group_adjusted(cells, values, fitted, common, of_group)
    cdf = smoothed(cells, own - share @ common, choice)
    rest = values - table.mean(values).ravel()[table.code]
    # How much of the variance of rows the rows of a unit have in common.
    alike = float(cells.mass @ table.by_unit(rest) ** 2) / max(float(cells.mass @ rest**2), _TINY)
    means = _cdfs_in_windows(cells, table, code, cdf)
    pooled = table.pooled(means)
    gaps = table.steady_gaps(means, pooled * (1.0 - pooled) * alike)
    # What is left of 1{s <= v} in a cell without the gaps of its groups.
    left = own - np.einsum("mg,mgk->mk", share, gaps[windows.of_cell])
    means = _cdfs_in_windows(cells, table, code, smoothed(cells, left, choice))
    due = rising_to_one(means.reshape(-1, k)) * table.total.reshape(-1, 1)
    order = np.lexsort((uniform, code, table.code))
    assigned = deal(Deck(table.code, order, cells.mass, cells.rows, uniform), due)
    return Carried(fitted.values[assigned.value], assigned.line, assigned.rows)


def common_gaps(
    cells: FineCells, values: FloatArray, of_group: IntArray, choice: Choice
) -> FloatArray:
    """Δ_0 of values (n,) between every group and group 0, (g,); that of group 0 is 0."""
    rests, gram = _rests_of_groups(cells, of_group, choice)
    curve = cells.own_places.read(smoothed(cells, cells.mean(values), choice))
    gaps: FloatArray = np.r_[0.0, np.linalg.solve(gram, rests @ (values - curve))]
    return gaps


def _common_steps(
    cells: FineCells, code: IntArray, own: FloatArray, of_group: IntArray, choice: Choice
) -> FloatArray:
    """Δ_0 of 1{s <= v} for every value v, (g, k)."""
    rests, gram = _rests_of_groups(cells, of_group, choice)
    k, place = own.shape[1], cells.own_places
    below = np.stack([np.cumsum(sums(code, rest, k)) for rest in rests])
    # Σ r (S F)(L) over lines is one over cells.
    pulled = np.stack(
        [
            sums(place.below, rest * (1.0 - place.share), own.shape[0])
            + sums(place.above, rest * place.share, own.shape[0])
            for rest in rests
        ]
    )
    gaps = np.linalg.solve(gram, below - pulled @ smoothed(cells, own, choice))
    return np.concatenate([np.zeros((1, k)), gaps])


def _rests_of_groups(
    cells: FineCells, of_group: IntArray, choice: Choice
) -> tuple[FloatArray, FloatArray]:
    """w r of every group but group 0, (g - 1, n), and Σ w r r', (g - 1, g - 1)."""
    place, n_groups = cells.own_places, int(of_group.max()) + 1
    members = [(of_group == g).astype(np.float64) for g in range(1, n_groups)]
    rests = np.empty((n_groups - 1, of_group.size))
    for rest, member in zip(rests, members, strict=True):
        rest[:] = member - place.read(smoothed(cells, cells.mean(member), choice))
    weighted = rests * cells.mass
    gram = weighted @ rests.T
    gram[np.diag_indices_from(gram)] += _LEAST * float(cells.mass.sum())
    return weighted, gram


def _group_adjusted(
    cells: FineCells,
    values: FloatArray,
    fitted: ValueCarry,
    gaps: FloatArray,
    of_group: IntArray,
) -> Choice:
    """The smoother for values without their common gap, where groups do not mix."""
    if cells.held is None or not cells.held.any():
        return fitted.choice
    steps = np.diff(gaps, axis=1, prepend=0.0)
    rest = values - (steps @ fitted.values)[of_group]
    return choose(cells, cells.mean(rest), cells.variance(rest))


def _cdfs_in_windows(
    cells: FineCells, table: _GapTable, code: IntArray, cdf: FloatArray
) -> FloatArray:
    """Mean of 1{s <= v} - F(v | L) + F(v | window) in every window and group, (K, g, k).

    F(v | window) is the mean of F(v | L) in the groups, and that of the group with fewest rows
    counts most: few rows should move least, since they can only move by a whole row.
    """
    place = cells.own_places
    few = np.where(table.rows > 0.0, 1.0 / np.maximum(table.worth, 1.0), 0.0)
    few /= few.sum(axis=1, keepdims=True)

    def moved(v: int) -> FloatArray:
        curve = table.mean(place.read(cdf[:, v]))
        beyond = table.mean((code <= v).astype(np.float64)) - curve
        brought: FloatArray = beyond + (few * curve).sum(axis=1, keepdims=True)
        return brought

    return np.stack([moved(v) for v in range(cdf.shape[1])], axis=2)


def _by_rows(cells: FineCells, group: IntArray) -> IntArray:
    """New numbers of the groups: 0 for the one with most rows."""
    rows = np.bincount(group, cells.rows)
    rank = np.empty(rows.size, np.int64)
    rank[np.argsort(-rows, kind="stable")] = np.arange(rows.size)
    return rank


class _GapTable(NamedTuple):
    """Windows by groups.

    Attributes
    ----------
    code : (n,) integers, window and group of every line.
    mass : (n,) positive floats, its weight.
    total, rows, worth : (K, g) floats, weight and rows there, and how many rows of equal weight
        would be as good; units instead of rows, where there are clusters.
    unit : (n,) integers, the rows of a cluster in a window and group; `None` without clusters.
    """

    code: IntArray
    mass: FloatArray
    total: FloatArray
    rows: FloatArray
    worth: FloatArray
    unit: IntArray | None = None

    @classmethod
    def of(cls, cells: FineCells, windows: Windows, of_group: IntArray) -> Self:
        """Lines in their windows and groups."""
        shape = windows.center.size, int(of_group.max()) + 1
        code, mass, size = windows.of_line * shape[1] + of_group, cells.mass, shape[0] * shape[1]
        total, unit = sums(code, mass, size), None
        if cells.cluster is None:
            rows, squares = sums(code, cells.rows, size), sums(code, mass * mass / cells.rows, size)
        else:
            unit = combine(code, cells.cluster)
            of_unit = np.zeros(int(unit.max()) + 1, np.int64)
            of_unit[unit] = code
            rows = sums(of_unit, np.ones(of_unit.size), size)
            squares = sums(of_unit, sums(unit, mass) ** 2, size)
        worth = total**2 / np.where(squares > 0.0, squares, 1.0)
        return cls(
            code, mass, total.reshape(shape), rows.reshape(shape), worth.reshape(shape), unit
        )

    def by_unit(self, rest: FloatArray) -> FloatArray:
        """What the rows of a unit have in common of (n,) values, for every row."""
        if self.unit is None:
            return rest
        shared: FloatArray = sums(self.unit, self.mass * rest) / sums(self.unit, self.mass)
        return shared[self.unit]

    def mean(self, values: FloatArray) -> FloatArray:
        """Means (K, g) of values (n,); 0 without rows."""
        added = sums(self.code, self.mass * values, self.total.size).reshape(self.total.shape)
        mean: FloatArray = added / np.where(self.total > 0.0, self.total, 1.0)
        return mean

    def pooled(self, means: FloatArray) -> FloatArray:
        """Means (K, q) of all groups together, from theirs (K, g, q)."""
        share = self.total / self.total.sum(axis=1, keepdims=True)
        pooled: FloatArray = np.einsum("Kg,Kgq->Kq", share, means)
        return pooled

    def steady_gaps(self, means: FloatArray, spread: FloatArray) -> FloatArray:
        """Gaps (K, g, q) of means (K, g, q) to group 0, `steadied`.

        Of a single row, or unit, no gap is known.

        Parameters
        ----------
        spread : (K, q) floats, the variance of a row in each window.
        """
        gaps = np.zeros(means.shape)
        of_mean, single = 1.0 / np.maximum(self.worth, 1.0), self.rows < 2.0
        for g in range(1, means.shape[1]):
            noise = spread * (of_mean[:, g] + of_mean[:, 0])[:, None]
            noise[single[:, g] | single[:, 0]] = np.inf
            gaps[:, g] = steadied(means[:, g] - means[:, 0], noise)
        return gaps


@dataclass(frozen=True, slots=True)
class Comparison:
    """Lines of several groups, carried along a number.

    Attributes
    ----------
    cells, windows : fine cells and their windows.
    cuts : where segments are cut, since scores jump there; their parts are the segments of cells.
    overlap : how groups lie along the number, in every part.
    speaks : (K,) whether each window says something of the groups.
    scores, group : (n,) of every line.
    fitted, carried : the carry, and where it brings each line.
    uniform : (n,) uniform numbers of the lines; empty if there are many different scores.
    """

    cells: FineCells
    windows: Windows
    cuts: Cuts
    overlap: Overlap
    speaks: BoolArray
    scores: FloatArray
    group: IntArray
    fitted: ScaleCarry | ValueCarry
    carried: Carried
    uniform: FloatArray

    def refined(self) -> Carried:
        """The lines with gaps taken out before the carry and added after."""
        return refine(self.cells, self.windows, self.scores, self.group, self.fitted, self.uniform)

    def levels(self) -> tuple[IntArray, list[tuple[int, int]]]:
        """Windows as levels: (n,) codes, and window and group of those codes that are no window.

        Windows that say nothing become a level for each group, so that nothing is compared there.
        """
        silent = ~self.speaks[self.windows.of_line]
        if not silent.any():
            return self.windows.of_line, []
        n_groups = int(self.group.max()) + 1
        alone = self.windows.of_line * n_groups + self.group
        there, code = np.unique(alone[silent], return_inverse=True)
        level = self.windows.of_line.copy()
        level[silent] = self.speaks.size + code
        return level, [divmod(key, n_groups) for key in there.tolist()]

    def reason(self) -> str:
        """Why nothing can be compared, as the end of a sentence."""
        rows = np.bincount(self.cells.segment, self.cells.rows)
        apart = self.overlap.unit == "apart"
        largest = int(np.argmax(np.where(apart, rows, -1.0)))
        return REASONS[str(self.overlap.reason[largest]) if apart[largest] else "windows"]


def compare_along(
    cells: FineCells,
    numbers: FloatArray,
    scores: FloatArray,
    group: IntArray,
    *,
    overlap: Overlap | None = None,
    wanted: int | None = None,
    cut: bool = True,
    exact: bool = True,
    seed: int = 0,
) -> Comparison:
    """Carry scores (n,) of groups (n,) to the centers of windows along numbers (n,).

    Parameters
    ----------
    cells : fine cells of the lines along the numbers.
    overlap : how groups lie along the number, if that was found before.
    wanted : how many windows each segment has; `None` leaves it to their number of rows.
    cut : whether curves are cut where scores jump.
    exact : whether lines of several rows have the same number, and not only numbers nearby.
    seed : of the uniform numbers that few different scores need.
    """
    overlap = overlap or find_overlap(cells, group, scores, exact=exact)
    cells, cuts = arrange_cells(cells, overlap), uncut(cells.segment)
    if cut:
        cuts = cut_at_jumps(cells, numbers, scores)
    if cuts.numbers.size:
        overlap = overlap.of(cuts.origin)
        parts = fine_cells(
            numbers, cuts.segment, mass=cells.mass, rows=cells.rows, cluster=cells.cluster
        )
        cells = arrange_cells(parts, overlap)
    found = windows(cells, numbers, cuts.shared(wanted, cells.rows), group)
    cells, overlap = restrict_smoothers(cells, found.of_line, group, overlap)
    uniform = np.zeros(0)
    if few_values(scores) is not None:
        uniform = uniforms(cells, scores, group, seed)
    fitted, carried = carry(cells, found, scores, uniform)
    speaks, overlap = speaking_windows(cells, found.of_line, group, overlap, fitted.choice)
    return Comparison(cells, found, cuts, overlap, speaks, scores, group, fitted, carried, uniform)
