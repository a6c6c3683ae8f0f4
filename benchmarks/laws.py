"""Laws of made-up scores, as quantile functions.

Rows are drawn from a law by uniform numbers; gap and distance W_1 between two laws are integrals
over (0, 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from scipy import stats

from likeforlike._arrays import FloatArray

__all__ = [
    "Law",
    "apart",
    "beta",
    "decisions",
    "exponential",
    "lognormal",
    "mixture",
    "moved",
    "normal",
    "pay",
    "poisson",
    "ratings",
    "stripes",
    "student3",
    "table",
    "uniform",
    "with_atoms",
    "with_zeros",
]

Law = Callable[[FloatArray], FloatArray]
"""From (n,) numbers in (0, 1) to the quantiles of a law there."""


def table(quantiles: FloatArray) -> Law:
    """A law from its quantiles at the middles of equal parts."""
    return lambda u: quantiles[(u * quantiles.size).astype(int)]


_PARTS = (np.arange(20_000) + 0.5) / 20_000
beta = table(stats.beta.ppf(_PARTS, 3, 3))
normal: Law = stats.norm.ppf
student3 = table(stats.t.ppf(_PARTS, 3))


def exponential(u: FloatArray) -> FloatArray:
    """Waiting times."""
    return -np.log1p(-u)


def uniform(u: FloatArray) -> FloatArray:
    """All of [0, 1] alike."""
    return u


def pay(u: FloatArray) -> FloatArray:
    """Log-normal pay with a spread of .8."""
    return 30_000.0 * np.exp(0.8 * normal(u))


def lognormal(u: FloatArray) -> FloatArray:
    """The exponential of a normal score."""
    return np.exp(normal(u))


def moved(law: Law, shift: float = 0.0, stretch: float = 1.0) -> Law:
    """A law shifted and stretched."""
    return lambda u: shift + stretch * law(u)


def decisions(rate: float) -> Law:
    """1 with probability `rate`, else 0."""
    return lambda u: (u > 1.0 - rate).astype(float)


def ratings(shares: Sequence[float], values: Sequence[float] | None = None) -> Law:
    """Values with the given shares; 1, 2, ... by default."""
    steps = np.cumsum(shares)[:-1]
    scale = np.arange(1.0, len(shares) + 1.0) if values is None else np.array(values, float)
    return lambda u: scale[np.searchsorted(steps, u, side="right")]


def with_atoms(low: float, high: float, begin: float, end: float) -> Law:
    """0 with probability `low`, 1 with probability `high`, else uniform from begin to end."""
    inner = 1.0 - low - high

    def law(u: FloatArray) -> FloatArray:
        middle = begin + (end - begin) * np.clip((u - low) / inner, 0.0, 1.0)
        return np.where(u < low, 0.0, np.where(u >= 1.0 - high, 1.0, middle))

    return law


def mixture(law: Law, other: Law, share: float) -> Law:
    """`other` with probability `share`, else `law`."""
    some = round(_PARTS.size * share)
    parts = ((law, _PARTS.size - some), (other, some))
    drawn = [one((np.arange(n) + 0.5) / n) for one, n in parts]
    return table(np.sort(np.concatenate(drawn)))


def with_zeros(share: float, law: Law) -> Law:
    """0 for a share of the rows, and a law of numbers above 0 for the others."""
    return lambda u: np.where(u < share, 0.0, law(np.clip((u - share) / (1.0 - share), 1e-9, 1.0)))


def poisson(mean: float) -> Law:
    """How many of something happen."""
    return table(stats.poisson.ppf(_PARTS, mean))


def stripes(change: float, bins: int = 5) -> Law:
    """Density 1 ± change on alternating bins of [0, 1]: many crossings with the uniform law."""
    density = 1.0 + change * (1.0 - 2.0 * (np.arange(bins) % 2))
    reached = np.concatenate([[0.0], np.cumsum(density / density.sum())])
    return lambda u: np.interp(u, reached, np.arange(bins + 1) / bins)


@cache
def apart(first: Law, second: Law) -> tuple[float, float]:
    """Gap and W_1 from the first law to the second."""
    grid = (np.arange(200_000) + 0.5) / 200_000
    difference = second(grid) - first(grid)
    return float(difference.mean()), float(np.abs(difference).mean())
