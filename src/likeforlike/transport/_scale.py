"""Scores and weights of any size, brought to one that arithmetic can carry: the one place for it.

Powers of scores and products of weights leave the range of floating-point numbers long before the
scores and weights themselves do, and means of scores far from 0 lose the digits in which people
differ. Statistics are therefore taken of

    (score - origin) / size,

with `size` the power of two next to the reach of the scores and `origin` the lowest of them where
all are far from 0, and of weights divided by a power of two. Both steps are exact in floating
point: dividing by a power of two is, and so is the difference of two numbers that are at most a
factor of two apart (Sterbenz, 1974, *Floating-Point Computation*). Scores and weights of a moderate
size are left as they are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.errors import InputError
from likeforlike.transport._compiled import compiled

# Costs of order p are held between 2 to the power of -400 and of 400, and so is the largest weight:
# products of two of them, and sums of as many as there are rows, are then safe.
_MODERATE = 400.0
# Scores this many times their reach away from 0 are moved: ten binary digits are gone by then.
_FAR = 1024.0
HIGHEST_ORDER = 32.0
"""Of costs W_p^p: groups that are 1e-9 of the reach apart still have a cost that can be held."""


class Scale(NamedTuple):
    """How scores were scaled: score = origin + size * scaled score.

    Attributes
    ----------
    origin : what was taken off.
    size : what the rest was divided by, a power of two.
    """

    origin: float = 0.0
    size: float = 1.0

    def inward(self, scores: FloatArray) -> FloatArray:
        """Scores on this scale; those that lie too far away for it become infinite."""
        if self == Scale():
            return scores
        with np.errstate(over="ignore"):
            scaled: FloatArray = (scores - self.origin) / self.size
        return scaled

    def outward(self, scaled: FloatArray) -> FloatArray:
        """The scores that scaled scores stand for."""
        if self == Scale():
            return scaled
        scores: FloatArray = self.origin + self.size * scaled
        return scores

    def powered(self, cost: float, order: float) -> float:
        """cost * size^order, the cost of scores from that of scaled ones; it may round to inf."""
        return cost if self.size == 1.0 else float(powered(np.array(cost), self.size, order))


def powered(costs: FloatArray, size: float, order: float) -> FloatArray:
    """costs * size^order, in two steps because the power may not be held; 0 and inf stay."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        half = np.float64(size) ** (order / 2.0)
        same = (costs == 0.0) | np.isinf(costs)
        grown: FloatArray = np.where(same, costs, costs * half * half)
    return grown


def is_moderate(reach: float, order: float) -> bool:
    """Whether costs of this order can be computed of scores of this reach as they are."""
    return reach == 0.0 or abs(math.log2(reach)) * order <= _MODERATE


def scale_of(lowest: float, highest: float, order: float) -> Scale:
    """The scale for scores between these ends; `Scale()` if they may stay as they are."""
    reach = highest - lowest
    if math.isinf(reach):
        raise InputError(
            f"scores reach from {lowest:g} to {highest:g}, and floating-point numbers cannot say "
            "how far that is; divide the scores by 10."
        )
    apart = min(abs(lowest), abs(highest)) if (lowest > 0.0) == (highest > 0.0) else 0.0
    if apart / _FAR > reach:
        return Scale(lowest, size_of(reach))
    if is_moderate(reach, order):
        return Scale()
    return Scale(0.0, size_of(max(abs(lowest), abs(highest))))


def size_of(extent: float) -> float:
    """The power of two next to a positive number, from below; ½ for 0."""
    return math.ldexp(1.0, math.frexp(extent)[1] - 1)


def weight_factor(largest: float) -> float:
    """The power of two that brings weights, or their sums, to a moderate size; 1 if they are."""
    limit = 2.0**_MODERATE
    if largest == 0.0 or 1.0 / limit <= largest <= limit:
        return 1.0
    # A sum may have been too large to be held although its parts could.
    exponent = 1024 if math.isinf(largest) else math.frexp(largest)[1]
    return math.ldexp(1.0, min(int(_MODERATE) - exponent, 1023))


def moderate(weights: FloatArray) -> FloatArray:
    """Weights of a moderate size in the same proportions: multiplied by a power of two, or not."""
    factor = weight_factor(float(weights.max(initial=0.0)))
    if factor == 1.0:
        return weights
    scaled: FloatArray = weights * factor
    lost = weights[(weights > 0.0) & (scaled == 0.0)]
    if lost.size:
        raise InputError(
            f"weights reach from {lost.min():g} to {weights.max():g}, too far apart to be "
            "compared; leave the smallest out, or make the largest smaller."
        )
    return scaled


def unit_weights(weights: FloatArray) -> FloatArray:
    """Weights divided by the power of two next to the largest: between 0 and 2 in any precision."""
    scaled: FloatArray = weights / size_of(float(weights.max()))
    return scaled


def means_and_spreads(values: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted means and standard deviations of columns of any size; shares sum to one.

    A column that is constant up to rounding has the spread 0.
    """
    sizes = np.ldexp(1.0, np.frexp(np.abs(values).max(axis=0))[1] - 1)
    scaled = values / sizes
    means = share @ scaled
    spreads = np.sqrt(share @ (scaled - means) ** 2)
    spreads = np.where(spreads <= 1e-12 * np.abs(means), 0.0, spreads)
    return means * sizes, spreads * sizes


@compiled
def balanced(total_u: float, total_v: float) -> tuple[float, float]:
    """Totals of two sides, both multiplied so that either times a mass of the other can be held.

    A kernel. Sides of moderate size stay as they are; else the product of what comes out with a
    mass of the other side is at most 4.
    """
    whole = total_u * total_v
    if 1e-200 < whole < 1e200:
        return total_u, total_v
    # Two to the power of more than a thousand cannot be held, and so little mass does not matter.
    exponent_u = min(max(math.frexp(total_u)[1], -1000), 1000)
    exponent_v = min(max(math.frexp(total_v)[1], -1000), 1000)
    # First the side's own exponent, then that of the other: their sum may be out of range.
    return (
        math.ldexp(math.ldexp(total_u, -exponent_u), -exponent_v),
        math.ldexp(math.ldexp(total_v, -exponent_v), -exponent_u),
    )
