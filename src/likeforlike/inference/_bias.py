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

T varies by s²(d) = 4 κ d² + ν. The upper end is the largest d at which a T as small as the one seen
is not yet too rare, on the scale of the root, with s taken at d and not at the estimate.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray

_AT = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0])
_LEFT = np.array([1.0, 0.97, 0.887, 0.763, 0.619, 0.35, 0.165, 0.02, 0.0])

_GRID = 200
_BISECTIONS = 40


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
    """

    total: float
    noise: float
    floor: float
    chance: float
    slope: float
    spread: float

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
        variance = 4.0 * self.slope * distance**2 + self.spread
        middle = np.sqrt(np.maximum(mean - variance / (4.0 * mean), 0.0))
        low = middle - quantile * np.sqrt(variance) / (2.0 * np.sqrt(mean))
        least: FloatArray = np.maximum(low, 0.0) ** 2
        return least


def largest_distance(squared: SquaredDistance, quantile: float) -> float:
    """The largest d at which T is not below what it would hardly be below.

    A T that would be small even at parity says that noise is less than it seems (people were
    matched, say), not that there is no distance: it counts as one that parity gives more often.
    """
    above = (
        math.sqrt(max(squared.total, 0.0) + squared.noise)
        + 3.0 * quantile * math.sqrt(squared.slope)
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
    low, high = float(grid[first]), float(grid[first - 1])
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if squared.least(np.array(middle), quantile) <= total:
            low = middle
        else:
            high = middle
    return high


def unbiased_distance(squared: SquaredDistance) -> float:
    """The d at which T is what it would be on average; 0 if that is less than noise."""
    if squared.total <= squared.noise:
        return 0.0
    return largest_distance(squared._replace(slope=0.0, spread=0.0), 0.0)
