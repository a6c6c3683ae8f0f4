"""Local lines: at every cell a straight line through its neighbors, nearer ones counting more.

    fitted_i = Σ_j S_ij y_j,   S_ij ~ K(d_ij / h) w_j (s_2 - d_ij s_1),   d_ij = x_j - x_i,

with K(t) = max(0, 1 - t²) (Epanechnikov), w_j the weight of a cell and s_k = Σ_j K w_j d_ij^k. A
line through two cells and the one itself is the narrowest there is, however small h.

Reference: Fan and Gijbels (1996), *Local Polynomial Modeling and Its Applications*.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport._compiled import compiled

# Beyond the second neighbor, so that it has a part in the line.
_BEYOND = 1.01
# Keeps a line defined where all its cells lie at one place, and is lost elsewhere.
_RIDGE = 1e-9


@compiled
def _reach(coordinate: FloatArray, i: int, first: int, last: int) -> float:
    """How far the second nearest of the other cells is, or the nearest of one."""
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
    """Fit local lines in every segment: writes `fitted` (m, q) and `leverage`, the S_ii (m,).

    Parameters
    ----------
    coordinate, weight : (m,) of the cells; the coordinate does not fall inside a segment.
    offsets : (S + 1,) integers.
    width : (S,) floats, h of every segment; 0 or less leaves its cells as they are.
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
