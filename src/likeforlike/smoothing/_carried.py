"""Lines carried to the centers of their windows, as a test needs them.

Groups are not looked at: the carry is one of all lines together, and labels stay as exchangeable
inside a window as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._carry import (
    ScaleCarry,
    ValueCarry,
    fit_carry,
)
from likeforlike.smoothing._fine_cells import FineCells, Place
from likeforlike.smoothing._windows import Windows


class Carried(NamedTuple):
    """Values at the centers of their windows.

    Attributes
    ----------
    values : (n',) floats.
    line : (n',) integers, the line that each comes from; a line of several rows with few different
        values may be split.
    rows : (n',) positive integers, how many rows each stands for.
    """

    values: FloatArray
    line: IntArray
    rows: IntArray


def carry(
    cells: FineCells, windows: Windows, values: FloatArray, uniform: FloatArray
) -> tuple[ScaleCarry | ValueCarry, Carried]:
    """Carry every line to the center of its window, whatever its group.

    Parameters
    ----------
    values : (n,) floats.
    uniform : (n,) floats in [0, 1), used where there are few different values (`uniforms`).
    """
    fitted = fit_carry(cells, values)
    start, end = cells.own_places, centers(cells, windows)
    if isinstance(fitted, ScaleCarry):
        return fitted, whole(cells, kept_still(cells, values, fitted.move(values, start, end)))
    if are_rows(cells):
        moved = fitted.move(values, start, end, uniform)
        return fitted, whole(cells, kept_still(cells, values, moved))
    return fitted, _split(cells, fitted.values, fitted.chances(values, start, end), uniform)


def uniforms(cells: FineCells, values: FloatArray, group: IntArray, seed: int) -> FloatArray:
    """A uniform number for every line, the same whatever order lines come in."""
    keys = [cells.mass, group, values, cells.position, cells.segment]
    if cells.cluster is not None:
        keys.insert(0, cells.cluster)
    drawn = np.empty(values.size)
    drawn[np.lexsort(keys)] = np.random.default_rng(seed).random(values.size)
    return drawn


def centers(cells: FineCells, windows: Windows) -> Place:
    """The place of every line's window, where the line is carried to."""
    of_window = cells.place(windows.segment, windows.center)
    return of_window.of(windows.of_line)


def kept_still(cells: FineCells, values: FloatArray, moved: FloatArray) -> FloatArray:
    """Values moved, and those of segments that are not smoothed as they were, to the last bit."""
    still = cells.still
    return np.where(still[cells.segment], values, moved) if still.any() else moved


def are_rows(cells: FineCells) -> bool:
    """Whether every line is a row."""
    return bool((cells.rows == 1.0).all())


def whole(cells: FineCells, values: FloatArray) -> Carried:
    """Lines that were not split."""
    return Carried(values, np.arange(values.size), cells.rows.astype(np.int64))


def _split(
    cells: FineCells, distinct: FloatArray, chances: FloatArray, uniform: FloatArray
) -> Carried:
    """Rows of every line assigned to the values, by chances (n, k) and a seeded draw."""
    # The draws must not depend on the order of the lines; their uniform numbers do not.
    order = np.argsort(uniform)
    rng = np.random.default_rng(int(uniform.min() * 2**53))
    counts = np.empty(chances.shape, np.int64)
    counts[order] = rng.multinomial(cells.rows[order].astype(np.int64), chances[order])
    line, value = np.nonzero(counts)
    return Carried(distinct[value], line, counts[line, value])
