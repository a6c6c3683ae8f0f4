"""Lines carried to the centres of their windows, as an estimate needs them.

The mean that all lines have together contains P(A | L) times the gap, so a gap shrinks a little
where P(A | L) is steep. The gaps of the windows are therefore taken out first, the rest is carried,
and they are added again, in two rounds.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._carried import Carried, centres, whole
from likeforlike.smoothing._carry import (
    ScaleCarry,
    ValueCarry,
    law_at,
    rising_to_one,
    scale_carry,
    step_chances,
)
from likeforlike.smoothing._dealing import Deck, deal
from likeforlike.smoothing._fine_cells import FineCells, sums
from likeforlike.smoothing._smoother import smoothed
from likeforlike.smoothing._windows import Windows

_ROUNDS = 2
# Tables of laws are made for this many lines at a time.
_AT_A_TIME = 65_536


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
    for _ in range(_ROUNDS):
        means = window_means(cells, windows, of_group, moved[:, None])[:, :, 0]
        gap = (means - means[:, :1])[windows.of_line, of_group]
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
    """The same for the distribution function at every value.

    Gaps are of the chances, not of what is drawn by them, and in the end values are dealt as the
    chances say (`_dealing`): lots would add noise that no estimate takes off again.
    """
    code = np.searchsorted(fitted.values, values)
    start, end = cells.own_places, centres(cells, windows)
    law, gaps = fitted.law, np.zeros((windows.centre.size, int(of_group.max()) + 1, 1))
    share = np.stack([cells.mean(of_group == g) for g in range(gaps.shape[1])], axis=1)

    def chances(some: IntArray) -> FloatArray:
        gap = gaps[windows.of_line[some], of_group[some]]
        at_start = rising_to_one(law_at(law, start.of(some)) + gap)
        at_end = rising_to_one(law_at(law, end.of(some)) + gap)
        return step_chances(code[some], at_start, at_end)

    blocks = np.split(np.arange(code.size), np.arange(_AT_A_TIME, code.size, _AT_A_TIME))
    own = cells.means_of_steps(code, fitted.values.size)
    for _ in range(_ROUNDS):
        means = _law_means(cells, windows, of_group, [chances(some) for some in blocks])
        gaps = means - means[:, :1]
        # What is left of 1{s <= v} in a cell without the gaps of its groups.
        left = own - np.einsum("mg,mgk->mk", share, gaps[windows.of_cell])
        law = smoothed(cells, left, fitted.choice)
    block = windows.of_line * gaps.shape[1] + of_group
    order = np.lexsort((uniform, code, block))
    dealt = deal(Deck(block, order, cells.mass, cells.rows, uniform), blocks, chances)
    return Carried(fitted.values[dealt.value], dealt.line, dealt.rows)


def _law_means(
    cells: FineCells, windows: Windows, of_group: IntArray, chances: list[FloatArray]
) -> FloatArray:
    """Mean distribution functions (K, g, k) of every window and group, from chances in blocks."""
    columns = [
        np.concatenate([np.cumsum(part, axis=1)[:, k] for part in chances])
        for k in range(chances[0].shape[1])
    ]
    return window_means(cells, windows, of_group, np.stack(columns, axis=1))


def _by_rows(cells: FineCells, group: IntArray) -> IntArray:
    """New numbers of the groups: 0 for the one with most rows."""
    rows = np.bincount(group, cells.rows)
    rank = np.empty(rows.size, np.int64)
    rank[np.argsort(-rows, kind="stable")] = np.arange(rows.size)
    return rank


def window_means(
    cells: FineCells, windows: Windows, of_group: IntArray, values: FloatArray
) -> FloatArray:
    """Means (K, g, q) of q columns (n, q) in every window and group.

    Of nobody, or of a single row, no gap to group 0 is known: theirs is the mean of group 0.
    """
    n_groups, n_windows = int(of_group.max()) + 1, windows.centre.size
    code, size = windows.of_line * n_groups + of_group, n_windows * n_groups
    total, rows = sums(code, cells.mass, size), sums(code, cells.rows, size)
    columns = [sums(code, cells.mass * column, size) for column in values.T]
    means = np.stack(columns, axis=1) / np.where(total > 0.0, total, 1.0)[:, None]
    means = means.reshape(n_windows, n_groups, -1)
    known = (rows >= 2.0).reshape(n_windows, n_groups, 1)
    return np.where(known & known[:, :1], means, np.where(known[:, :1], means[:, :1], 0.0))
