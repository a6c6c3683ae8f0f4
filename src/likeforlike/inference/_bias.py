"""The bias of a squared distance, and how large a distance the data still allow.

T = Σ_l Q(l) Ŵ_1(l)² lies above its target d² by what noise adds. At parity that is c, the mean of
the squared noise (`noise`). Far from parity the signs of F_0 - F_1 are known, W_1 is a difference
of means, of the potential, and what is left is its variance, r c. In between some of the signs are
noise:

    μ(d) = d² + c ψ(d / √c),    ψ = ψ_0 + (r̂ - ψ_0 r_0),

where r̂ is the r seen, r_0 what it would be if all signs were noise, and ψ_0, which falls from 1 to
0, says how much of the signs still is noise; ψ is kept between ψ_0 and 1. ψ_0 is an envelope, not a
theorem: it was read off Brownian bridges under many shapes of F_0 - F_1, as the least of all. The
formula is below the bias of these by at most .04 c; of scales with three values and a rare middle
one, on which groups differ in opposite directions, it may be above by .08 c. Levels that differ
have more bias, since ψ is convex in d².

T varies by s²(d) = 4 max(κ d², G(d²)) + ν. κ is for the ways in which d seems to be shared out
between the levels, G for the worst that their own intervals allow: with x_l = Q(l) W_1(l)²,

    G(d²) = max Σ_l Q(l) v_l x_l    over    Σ_l x_l = d²,    low_l <= x_l <= high_l,

a knapsack that is filled in the order of Q(l) v_l, so that G is concave and made of straight lines.
A small cell next to large ones needs it: where chance makes its gap look small, so does it the
variance. The upper end is the largest d at which a T as small as the one seen is not yet too rare,
on the scale of the root, with s taken at d and not at the estimate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray

_AT = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0])
_LEFT = np.array([1.0, 0.97, 0.887, 0.763, 0.619, 0.35, 0.165, 0.02, 0.0])

_GRID = 200
_BISECTIONS, _AHEAD = 40, 5


class SquaredDistance(NamedTuple):
    """What is known of T = Σ_l Q(l) Ŵ_1(l)².

    Attributes
    ----------
    total : T.
    noise : c, its mean at parity.
    floor : r, variance of the mean potential as a share of the noise, in [0, 1].
    chance : what r would be at parity, in [0, 1].
    slope : κ, a quarter of what the variance gains with each d².
    spread : ν, the variance at parity.
    worst : (2, j) floats, the corners of G: d², rising, and G there.
    """

    total: float
    noise: float
    floor: float
    chance: float
    slope: float
    spread: float
    worst: FloatArray = np.zeros((2, 1))

    def gain(self, square: FloatArray) -> FloatArray:
        """The larger of κ d² and G(d²), in their shape; beyond its corners G is proportional."""
        at, most = self.worst
        inner = np.interp(square, at, most)
        steepness = np.where(square < at[0], _ratio(most[0], at[0]), _ratio(most[-1], at[-1]))
        outer = (square < at[0]) | (square > at[-1])
        gained: FloatArray = np.maximum(
            self.slope * square, np.where(outer, steepness * square, inner)
        )
        return gained

    @property
    def steepest(self) -> float:
        """The largest G(d²) / d²."""
        at, most = self.worst
        there = at > 0.0
        return float((most[there] / at[there]).max()) if there.any() else 0.0

    def mean(self, distance: FloatArray) -> FloatArray:
        """μ(d), in the shape of d."""
        if self.noise <= 0.0:
            return distance**2
        left = np.interp(distance / math.sqrt(self.noise), _AT, _LEFT)
        known = np.clip(self.floor - left * self.chance, 0.0, 1.0 - left)
        mean: FloatArray = distance**2 + self.noise * (left + known)
        return mean

    def least(self, distance: FloatArray, quantile: float) -> FloatArray:
        """What T would hardly be below at d, in the shape of d: a quantile on the scale of √T."""
        mean = np.maximum(self.mean(distance), 1e-300)
        variance = 4.0 * self.gain(distance**2) + self.spread
        middle = np.sqrt(np.maximum(mean - variance / (4.0 * mean), 0.0))
        low = middle - quantile * np.sqrt(variance) / (2.0 * np.sqrt(mean))
        least: FloatArray = np.maximum(low, 0.0) ** 2
        return least


def _ratio(most: float, at: float) -> float:
    return most / at if at > 0.0 else 0.0


def fill_levels(value: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The corners (2, k + 1) of G: the largest Σ_l value_l x_l with low <= x <= high, by Σ_l x_l.

    Parameters
    ----------
    value, low, high : (k,) floats of at least 0.
    """
    order = np.argsort(-value, kind="stable")
    room = (high - low)[order]
    added = np.stack([room, room * value[order]])
    start = np.array([[float(low.sum())], [float(low @ value)]])
    corners: FloatArray = start + np.concatenate([np.zeros((2, 1)), added.cumsum(axis=1)], axis=1)
    return corners


def filled(value: FloatArray, low: FloatArray, high: FloatArray, square: float) -> FloatArray:
    """The x (k,) at which G(d²) is reached."""
    whole = float(low.sum())
    if square <= whole:
        return low * _ratio(square, whole)
    order = np.argsort(-value, kind="stable")
    room = (high - low)[order]
    before = np.cumsum(room) - room
    x = low.copy()
    x[order] += np.clip(square - whole - before, 0.0, room)
    reached: FloatArray = x * _ratio(square, float(x.sum()))
    return reached


def largest_distance(squared: SquaredDistance, quantile: float) -> float:
    """The largest d at which T is not below what it would hardly be below.

    A T that would be small even at parity says that noise is less than it seems (people were
    matched, say), not that there is no distance: it counts as one that parity gives more often.
    """
    above = (
        math.sqrt(max(squared.total, 0.0) + squared.noise)
        + 3.0 * quantile * math.sqrt(max(squared.slope, squared.steepest))
        + 2.0 * math.sqrt(quantile * math.sqrt(squared.spread))
        + 1e-12
    )
    grid = np.linspace(above, 0.0, _GRID)
    total = max(squared.total, float(squared.least(np.zeros(()), 0.5 * quantile)))
    allowed = squared.least(grid, quantile) <= total
    if not allowed.any():
        return 0.0
    first = int(np.argmax(allowed))
    if first == 0:
        return above
    ends = grid[[first, first - 1]]
    for _ in range(_BISECTIONS // _AHEAD):
        for _ in range(_AHEAD):  # all the middles that the next halvings may come to, at once
            halved = np.empty(2 * ends.size - 1)
            halved[::2], halved[1::2] = ends, 0.5 * (ends[:-1] + ends[1:])
            ends = halved
        below = squared.least(ends, quantile) <= total
        low, high = 0, ends.size - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if below[middle] else (low, middle)
        ends = ends[[low, high]]
    return float(ends[1])


def unbiased_distance(squared: SquaredDistance) -> float:
    """The d at which T is what it would be on average; 0 if that is less than noise."""
    if squared.total <= squared.noise:
        return 0.0
    known = squared._replace(slope=0.0, spread=0.0, worst=np.zeros((2, 1)))
    return largest_distance(known, 0.0)
