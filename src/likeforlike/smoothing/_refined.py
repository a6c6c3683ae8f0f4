"""Lines carried to the centres of their windows, as an estimate needs them.

The mean that all lines have together contains P(A | L) times the gap, so a gap shrinks a little
where P(A | L) is steep. The gaps of the windows are therefore taken out first, the rest is carried,
and they are added again, in two rounds. What is taken out is `steadied`: the noise of a gap between
few rows must not bend the curve of all.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._carried import Carried, centres, whole
from likeforlike.smoothing._carry import ScaleCarry, ValueCarry, rising_to_one, scale_carry
from likeforlike.smoothing._dealing import Deck, deal
from likeforlike.smoothing._fine_cells import FineCells, sums
from likeforlike.smoothing._smoother import smoothed
from likeforlike.smoothing._steadied import steadied
from likeforlike.smoothing._windows import Windows

_ROUNDS = 2


def refine(
    cells: FineCells,
    windows: Windows,
    values: FloatArray,
    group: IntArray,
    fitted: ScaleCarry | ValueCarry,
    uniform: FloatArray,
) -> Carried:
    """Carry with the gaps of the windows taken out before and added after, in two rounds.

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
    start, end = cells.own_places, centres(cells, windows)
    moved = fitted.move(values, start, end)
    table = _Table.of(cells, windows, of_group)
    for _ in range(_ROUNDS):
        means = table.mean(moved)
        rest = moved - means[windows.of_line, of_group]
        spread = table.pooled(table.mean(rest * rest)[:, :, None])
        gap = table.steady_gaps(means[:, :, None], spread)[windows.of_line, of_group, 0]
        moved = scale_carry(cells, values - gap).move(values - gap, start, end) + gap
    return whole(cells, moved)


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
    rows have beyond the curve stays with them. So many are dealt in the end (`_dealing`): a lot for
    every row would add noise that no estimate takes off again.
    """
    code = np.searchsorted(fitted.values, values)
    table = _Table.of(cells, windows, of_group)
    own = cells.means_of_steps(code, fitted.values.size)
    share = np.stack([cells.mean(of_group == g) for g in range(table.rows.shape[1])], axis=1)
    law = fitted.law
    for _ in range(_ROUNDS):
        means = _laws_in_windows(cells, table, code, law)
        pooled = table.pooled(means)
        gaps = table.steady_gaps(means, pooled * (1.0 - pooled))
        # What is left of 1{s <= v} in a cell without the gaps of its groups.
        left = own - np.einsum("mg,mgk->mk", share, gaps[windows.of_cell])
        law = smoothed(cells, left, fitted.choice)
    means = _laws_in_windows(cells, table, code, law)
    due = rising_to_one(means.reshape(-1, law.shape[1])) * table.total.reshape(-1, 1)
    order = np.lexsort((uniform, code, table.code))
    dealt = deal(Deck(table.code, order, cells.mass, cells.rows, uniform), due)
    return Carried(fitted.values[dealt.value], dealt.line, dealt.rows)


def _laws_in_windows(
    cells: FineCells, table: _Table, code: IntArray, law: FloatArray
) -> FloatArray:
    """Mean of 1{s <= v} - F(v | L) + F(v | window) in every window and group, (K, g, k).

    F(v | window) is the mean of F(v | L) in the groups, and that of the group with fewest rows
    counts most: few rows should move least, since they can only move by a whole row.
    """
    place = cells.own_places
    few = np.where(table.rows > 0.0, 1.0 / np.maximum(table.worth, 1.0), 0.0)
    few /= few.sum(axis=1, keepdims=True)

    def moved(v: int) -> FloatArray:
        curve = table.mean(place.read(law[:, v]))
        beyond = table.mean((code <= v).astype(np.float64)) - curve
        brought: FloatArray = beyond + (few * curve).sum(axis=1, keepdims=True)
        return brought

    return np.stack([moved(v) for v in range(law.shape[1])], axis=2)


def _by_rows(cells: FineCells, group: IntArray) -> IntArray:
    """New numbers of the groups: 0 for the one with most rows."""
    rows = np.bincount(group, cells.rows)
    rank = np.empty(rows.size, np.int64)
    rank[np.argsort(-rows, kind="stable")] = np.arange(rows.size)
    return rank


class _Table(NamedTuple):
    """Windows by groups.

    Attributes
    ----------
    code : (n,) integers, window and group of every line.
    mass : (n,) positive floats, its weight.
    total, rows, worth : (K, g) floats, weight and rows there, and how many rows of equal weight
        would be as good.
    """

    code: IntArray
    mass: FloatArray
    total: FloatArray
    rows: FloatArray
    worth: FloatArray

    @classmethod
    def of(cls, cells: FineCells, windows: Windows, of_group: IntArray) -> Self:
        """Lines in their windows and groups."""
        shape = windows.centre.size, int(of_group.max()) + 1
        code, mass, size = windows.of_line * shape[1] + of_group, cells.mass, shape[0] * shape[1]
        total, rows = sums(code, mass, size), sums(code, cells.rows, size)
        squares = sums(code, mass * mass / cells.rows, size)
        worth = total**2 / np.where(squares > 0.0, squares, 1.0)
        return cls(code, mass, total.reshape(shape), rows.reshape(shape), worth.reshape(shape))

    def mean(self, values: FloatArray) -> FloatArray:
        """Means (K, g) of values (n,); 0 of nobody."""
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

        Of a single row no gap is known.

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
