"""How much to smooth: a width and a coordinate for every segment, by Mallows' C_p.

    C_p = Σ_g n_g (ȳ_g - ŷ_g)² + 2 Σ_g σ_g² S_gg

estimates how far the fitted means ŷ = S ȳ of the cells are from the true ones, up to a constant.
Lines are fitted in the rank of the number and in the number itself without its tails, in eleven
widths each, or not at all. The variance σ_g² comes from inside the cells, so atoms, jumps and
values that are nearly functions of the number are safe; leaving cells out is not, where the number
has atoms. Cells may forbid some of the smoothers (`FineCells.allowed`).

Reference: Mallows (1973), *Some comments on C_p*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.smoothing._fine_cells import FineCells
from likeforlike.smoothing._local_lines import smooth_cells

Coordinate = Literal["none", "rank", "number"]
"""Along what a curve is smooth: nothing (the means of the cells), the rank, or the number."""

WIDTHS = (0.01, 0.015, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 1.0)
"""Half-widths of the kernel that are tried, as parts of the whole scale."""

_NAMES: tuple[Coordinate, ...] = ("none", "rank", "number")
_NONE, _RANK, _NUMBER = range(3)
# How many cells a kernel reaches over to one side, at least.
_LEAST_CELLS = 2.0
# A wider choice must be better by more than rounding.
_CLEARLY = 1.0 - 1e-9


@dataclass(frozen=True, slots=True)
class Choice:
    """A coordinate and a width for every segment.

    Attributes
    ----------
    coordinate : (S,) integers: 0 none, 1 the rank, 2 the number.
    width : (S,) floats, half-widths of the kernel; 0 without smoothing.
    """

    coordinate: IntArray
    width: FloatArray

    def name(self, segment: int = 0) -> Coordinate:
        """The coordinate of one segment as a word."""
        return _NAMES[int(self.coordinate[segment])]

    def at_least(self, width: float, *, still: BoolArray | bool = False) -> Choice:
        """The same coordinates, each at least as wide; the rank where there was no smoothing.

        Segments that are `still` (S,) stay without.
        """
        return Choice(
            np.where((self.coordinate == _NONE) & np.logical_not(still), _RANK, self.coordinate),
            np.where(still, 0.0, np.maximum(self.width, width)),
        )


def smoothed(cells: FineCells, values: FloatArray, choice: Choice) -> FloatArray:
    """Curves over the cells, (m,) or (m, q), smoothed as chosen."""
    return fit(cells, values, choice)[0]


def fit(cells: FineCells, values: FloatArray, choice: Choice) -> tuple[FloatArray, FloatArray]:
    """Curves over the cells, smoothed as chosen, and the leverage S_gg of every cell, (m,)."""
    along = np.repeat(choice.coordinate, np.diff(cells.offsets))
    coordinate = np.where(along == _NUMBER, cells.raw, cells.center)
    columns = np.ascontiguousarray(values.reshape(cells.total.size, -1))
    fitted, leverage = np.empty_like(columns), np.empty(cells.total.size)
    smooth_cells(coordinate, cells.total, cells.offsets, choice.width, columns, fitted, leverage)
    return fitted.reshape(values.shape), leverage


def choose(cells: FineCells, means: FloatArray, variance: FloatArray) -> Choice:
    """Choose a coordinate and a width for every segment by C_p.

    Parameters
    ----------
    means : (m,) floats, ȳ of every cell.
    variance : (m,) floats, σ² of a row in every cell.
    """
    n_segments = cells.offsets.size - 1
    best = Choice(np.full(n_segments, _NONE), np.zeros(n_segments))
    least = 2.0 * np.add.reduceat(variance, cells.offsets[:-1])
    if cells.allowed is not None:
        least = np.where(cells.allowed[:, _NONE, 0], least, np.inf)
    for coordinate in (_RANK, _NUMBER):
        for k, width in enumerate(WIDTHS):
            may = wide_enough(cells, width)
            if cells.allowed is not None:
                may &= cells.allowed[:, coordinate, k]
            if not may.any():
                continue
            tried = Choice(np.full(n_segments, coordinate), np.where(may, width, 0.0))
            fitted, leverage = fit(cells, means, tried)
            paid = cells.effective * (means - fitted) ** 2 + 2.0 * variance * leverage
            criterion = np.add.reduceat(paid, cells.offsets[:-1])
            better = (criterion < least * _CLEARLY) & may
            least = np.where(better, criterion, least)
            best = Choice(
                np.where(better, coordinate, best.coordinate),
                np.where(better, width, best.width),
            )
    return best


def wide_enough(cells: FineCells, width: float) -> BoolArray:
    """Whether a width reaches beyond a cell, in every segment, (S,)."""
    enough: BoolArray = width * np.diff(cells.offsets) >= _LEAST_CELLS
    return enough
