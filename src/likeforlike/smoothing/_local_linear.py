"""Local linear smoothing, with a width and a coordinate for each segment by Mallows' C_p.

At every cell a straight line is fitted through its neighbors, with weights that fall with distance:

    fitted_i = Σ_j S_ij y_j,   S_ij ~ K(d_ij / h) w_j (s_2 - d_ij s_1),   d_ij = x_j - x_i,

with K(t) = max(0, 1 - t²) (Epanechnikov), w_j the weight of a cell and s_k = Σ_j K w_j d_ij^k. The
narrowest line goes through the cell and two others, however small h.

    C_p = Σ_g n_g (ȳ_g - ŷ_g)² + 2 Σ_g σ_g² S_gg

estimates how far the fitted means ŷ = S ȳ of the cells are from the true ones, up to a constant.
Lines are fitted in the rank of the number and in the winsorized number itself, in eleven widths
each, or not at all. The variance σ_g² comes from inside the cells, so atoms, jumps and values that
are nearly functions of the number are safe; cross-validation over cells is not, where the number
has atoms. Cells may forbid some of the smoothers (`FineCells.allowed`).

References: Fan and Gijbels (1996), *Local Polynomial Modeling and Its Applications*; Mallows
(1973), *Some comments on C_p*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.smoothing._grid import Grid
from likeforlike.transport import compiled

# A little beyond the second neighbor, which then gets some weight.
_BEYOND = 1.01
# Defines a line whose cells all lie at one point; underflows elsewhere.
_RIDGE = 1e-9


@compiled
def _reach(coordinate: FloatArray, i: int, first: int, last: int) -> float:
    """Return the distance to the second nearest of the other cells, or to the only one."""
    low, high, reach = i, i, 0.0
    for _ in range(2):
        if low == first and high == last:
            break
        to_low, to_high = np.inf, np.inf
        if low > first:
            to_low = coordinate[i] - coordinate[low - 1]
        if high < last:
            to_high = coordinate[high + 1] - coordinate[i]
        if to_low <= to_high:
            low -= 1
            reach = to_low
        else:
            high += 1
            reach = to_high
    return reach


@compiled
def smooth_cells(
    coordinate: FloatArray,
    weight: FloatArray,
    offsets: IntArray,
    width: FloatArray,
    values: FloatArray,
    fitted: FloatArray,
    leverage: FloatArray,
) -> None:
    """Fit local lines in each segment: writes `fitted` (m, q) and `leverage`, the S_ii (m,).

    Parameters
    ----------
    coordinate, weight : (m,) of the cells; the coordinate does not decrease inside a segment.
    offsets : (S + 1,) integers.
    width : (S,) floats, h of each segment; 0 or less leaves its cells as they are.
    values : (m, q) floats, q curves.
    """
    for s in range(offsets.size - 1):
        first, last = offsets[s], offsets[s + 1] - 1
        for i in range(first, last + 1):
            for q in range(values.shape[1]):
                fitted[i, q] = values[i, q] if width[s] <= 0.0 else 0.0
            leverage[i] = 1.0
            if width[s] <= 0.0:
                continue
            h = max(width[s], _BEYOND * _reach(coordinate, i, first, last))
            low, high = i, i
            while low > first and coordinate[i] - coordinate[low - 1] < h:
                low -= 1
            while high < last and coordinate[high + 1] - coordinate[i] < h:
                high += 1
            s0, s1, s2 = 0.0, 0.0, 0.0
            for j in range(low, high + 1):
                d = coordinate[j] - coordinate[i]
                k = (1.0 - (d / h) * (d / h)) * weight[j]
                s0 += k
                s1 += k * d
                s2 += k * d * d
            s2 += _RIDGE * s0 * h * h
            whole = s0 * s2 - s1 * s1
            for j in range(low, high + 1):
                d = coordinate[j] - coordinate[i]
                part = (1.0 - (d / h) * (d / h)) * weight[j] * (s2 - d * s1) / whole
                for q in range(values.shape[1]):
                    fitted[i, q] += part * values[j, q]
            leverage[i] = weight[i] * s2 / whole


Coordinate = Literal["none", "rank", "number"]
"""Coordinate of a smoother: none (the means of the cells), the rank, or the number."""

WIDTHS = (0.01, 0.015, 0.02, 0.03, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5, 1.0)
"""Half-widths of the kernel that are tried, as shares of the scale."""

_NAMES: tuple[Coordinate, ...] = ("none", "rank", "number")
_NONE, _RANK, _NUMBER = range(3)
# Fewest cells in a half-width of the kernel.
_LEAST_CELLS = 2.0
# A wider bandwidth must be better by more than rounding.
_CLEARLY = 1.0 - 1e-9


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """A smoother: a coordinate and a width for each segment.

    Attributes
    ----------
    coordinate : (S,) integers: 0 none, 1 the rank, 2 the number.
    width : (S,) floats, half-widths of the kernel; 0 without smoothing.
    """

    coordinate: IntArray
    width: FloatArray

    def name(self, segment: int = 0) -> Coordinate:
        """Return the name of the coordinate of one segment."""
        return _NAMES[int(self.coordinate[segment])]

    def at_least(self, width: float, *, still: BoolArray | bool = False) -> Bandwidth:
        """Widen to a least width, in the rank where there was no smoothing.

        Segments that are `still` (S,) stay without smoothing.
        """
        return Bandwidth(
            np.where((self.coordinate == _NONE) & np.logical_not(still), _RANK, self.coordinate),
            np.where(still, 0.0, np.maximum(self.width, width)),
        )

    def smooth(self, cells: Grid, values: FloatArray) -> FloatArray:
        """Smooth curves (m,) or (m, q) over the cells."""
        return self.fit(cells, values)[0]

    def fit(self, cells: Grid, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smooth curves (m,) or (m, q) over the cells, and return the leverages S_gg (m,), too."""
        along = np.repeat(self.coordinate, np.diff(cells.offsets))
        coordinate = np.where(along == _NUMBER, cells.raw, cells.center)
        columns = np.ascontiguousarray(values.reshape(cells.total.size, -1))
        fitted, leverage = np.empty_like(columns), np.empty(cells.total.size)
        smooth_cells(coordinate, cells.total, cells.offsets, self.width, columns, fitted, leverage)
        return fitted.reshape(values.shape), leverage


def select_bandwidth(cells: Grid, means: FloatArray, variance: FloatArray) -> Bandwidth:
    """Select a coordinate and a width for each segment by C_p.

    Parameters
    ----------
    means : (m,) floats, ȳ of each cell.
    variance : (m,) floats, σ² of a row in each cell.
    """
    n_segments = cells.offsets.size - 1
    best = Bandwidth(np.full(n_segments, _NONE), np.zeros(n_segments))
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
            tried = Bandwidth(np.full(n_segments, coordinate), np.where(may, width, 0.0))
            fitted, leverage = tried.fit(cells, means)
            paid = cells.effective * (means - fitted) ** 2 + 2.0 * variance * leverage
            criterion = np.add.reduceat(paid, cells.offsets[:-1])
            better = (criterion < least * _CLEARLY) & may
            least = np.where(better, criterion, least)
            best = Bandwidth(
                np.where(better, coordinate, best.coordinate),
                np.where(better, width, best.width),
            )
    return best


def wide_enough(cells: Grid, width: float) -> BoolArray:
    """Return whether a width reaches beyond a cell in each segment, (S,)."""
    enough: BoolArray = width * np.diff(cells.offsets) >= _LEAST_CELLS
    return enough
