"""The χ² distribution, for whole degrees of freedom: closed forms, without SciPy's import.

With y = x / 2 and ν degrees of freedom

    P(χ² > x) = e^{-y} Σ_{k < ν/2} y^k / k!                           for even ν,
    P(χ² > x) = erfc(√y) + e^{-y} Σ_{k ≤ (ν-1)/2} y^{k-½} / Γ(k + ½)  for odd ν, k = 1, 2, ...

All terms are positive, so nothing cancels.
"""

from __future__ import annotations

import math

from likeforlike._arrays import FloatArray


def chi_square_tail(x: float, degrees: int) -> float:
    """P(χ² > x) with a whole number of degrees of freedom, at least 1."""
    if x <= 0.0:
        return 1.0
    y, odd = 0.5 * x, degrees % 2
    powers = (k + (0.5 if odd else 0.0) for k in range(degrees // 2))
    terms = [math.exp(power * math.log(y) - y - math.lgamma(power + 1.0)) for power in powers]
    return math.fsum([*terms, math.erfc(math.sqrt(y)) if odd else 0.0])


def homogeneity(counts: FloatArray) -> tuple[float, int, float]:
    """Pearson's χ² of a table of counts, its degrees of freedom and p-value.

    Rows and columns without anybody are left out; a table with one of either has nothing to
    compare, and a p-value of 1.
    """
    there = counts[counts.sum(axis=1) > 0.0][:, counts.sum(axis=0) > 0.0]
    degrees = (there.shape[0] - 1) * (there.shape[1] - 1)
    if degrees < 1:
        return 0.0, 0, 1.0
    expected = there.sum(axis=1, keepdims=True) * there.sum(axis=0) / there.sum()
    statistic = float(((there - expected) ** 2 / expected).sum())
    return statistic, degrees, chi_square_tail(statistic, degrees)
