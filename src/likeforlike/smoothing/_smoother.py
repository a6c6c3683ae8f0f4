"""How much to smooth: a width and a coordinate for every segment, by Mallows' C_p.

    C_p = Σ_g n_g (ȳ_g - ŷ_g)² + 2 Σ_g σ_g² S_gg

estimates how far the fitted means ŷ = S ȳ of the cells are from the true ones, up to a constant.
Lines are fitted in the rank of the number and in the number itself without its tails, in eleven
widths each, or not at all. The variance σ_g² comes from inside the cells, so atoms, jumps and
values that are nearly functions of the number are safe; leaving cells out is not, where the number
has atoms.

Reference: Mallows (1973), *Some comments on C_p*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._fine_cells import FineCells
from likeforlike.smoothing._local_lines import smooth_cells

Coordinate = Literal["none", "rank", "number"]
"""Along what a curve is smooth: nothing (the means of the cells), the rank, or the number."""

WIDTHS = (0.01, 0.015, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 1.0)
"""Half-widths of the kernel that are tried, as parts of the whole scale."""

_NAMES: tuple[Coordinate, ...] = ("none", "rank", "number")
_NONE, _RANK, _NUMBER = range(3)
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

    def at_least(self, width: float) -> Choice:
        """The same coordinates, each at least as wide; the rank where there was no smoothing."""
        return Choice(
            np.where(self.coordinate == _NONE, _RANK, self.coordinate),
            np.maximum(self.width, width),
        )


def smoothed(cells: FineCells, values: FloatArray, choice: Choice) -> FloatArray:
    """Curves over the cells, (m,) or (m, q), smoothed as chosen."""
    return _fit(cells, values, choice)[0]


def _fit(cells: FineCells, values: FloatArray, choice: Choice) -> tuple[FloatArray, FloatArray]:
    along = np.repeat(choice.coordinate, np.diff(cells.offsets))
    coordinate = np.where(along == _NUMBER, cells.raw, cells.centre)
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
    sizes = np.diff(cells.offsets)
    n_segments = sizes.size
    best = Choice(np.full(n_segments, _NONE), np.zeros(n_segments))
    least = 2.0 * np.add.reduceat(variance, cells.offsets[:-1])
    for coordinate in (_RANK, _NUMBER):
        for width in WIDTHS:
            tried = Choice(np.full(n_segments, coordinate), np.full(n_segments, width))
            fitted, leverage = _fit(cells, means, tried)
            paid = cells.effective * (means - fitted) ** 2 + 2.0 * variance * leverage
            criterion = np.add.reduceat(paid, cells.offsets[:-1])
            better = (criterion < least * _CLEARLY) & (width * sizes >= 2.0)
            least = np.where(better, criterion, least)
            best = Choice(
                np.where(better, coordinate, best.coordinate),
                np.where(better, width, best.width),
            )
    return best
