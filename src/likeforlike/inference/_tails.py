"""Tails and quantiles of the normal, Student's t and χ² distributions, without SciPy's import.

Evidence is minus the logarithm of a p-value: with e = -log P(Z > z) of a standard normal Z nothing
underflows; a gap of a hundred standard errors has evidence 5,006.

With x = √ν sinh u the density of Student's t becomes cosh(u)^{-ν}, so that

    P(T > t) = ½ I(asinh(t / √ν)) / I(0),    I(u) = ∫_0^∞ cosh(u + s)^{-ν} ds,

one smooth integral for each ν, the normal one included (ν = ∞), summed by the double exponential
rule to about 1e-14. With y = x / 2 and ν degrees of freedom

    P(χ² > x) = e^{-y} Σ_{k < ν/2} y^k / k!                           for even ν,
    P(χ² > x) = erfc(√y) + e^{-y} Σ_{k ≤ (ν-1)/2} y^{k-½} / Γ(k + ½)  for odd ν, k = 1, 2, ...

All terms are positive, so nothing cancels.

Reference: Takahasi and Mori (1974), *Double exponential formulas for numerical integration*.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.transport import compiled

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
# From here on the asymptotic series is exact to the last digits.
_FAR = 30.0
_STEPS = 50


@compiled
def log_tail(z: float) -> float:
    """Return log P(Z > z)."""
    if z < _FAR:
        return math.log(0.5 * math.erfc(z * _ROOT_HALF))
    s = 1.0 / (z * z)
    series = -s * (1.0 - s * (3.0 - s * (15.0 - s * 105.0)))
    return -0.5 * z * z - math.log(z * _ROOT_TWO_PI) + math.log1p(series)


@compiled
def invert_two_tail_evidence(evidence: float) -> float:
    """Solve -log P(|Z| > z) = evidence for z, for an evidence of 0 or more."""
    z = math.sqrt(2.0 * evidence)
    # The function is convex and the start lies above the root: Newton's steps all go down to it.
    for _ in range(_STEPS):
        tail = log_tail(z)
        hazard = math.exp(-0.5 * z * z - tail) / _ROOT_TWO_PI
        step = (-math.log(2.0) - tail - evidence) / hazard
        z = max(z - step, 0.0)
        if abs(step) <= 1e-13 * (1.0 + z):
            break
    return z


@compiled
def _fill_evidence(z: FloatArray, sides: float, evidence: FloatArray) -> None:
    """Fill in -log(sides P(Z > z)) of each z."""
    for i in range(z.size):
        evidence[i] = -math.log(sides) - log_tail(z[i])


def two_tail_evidence(z: FloatArray) -> FloatArray:
    """Compute -log P(|Z| > |z|) of each z, shape (n,)."""
    evidence = np.empty(z.size)
    _fill_evidence(np.abs(z), 2.0, evidence)
    return evidence


def one_tail_evidence(z: FloatArray) -> FloatArray:
    """Compute -log P(Z > z) of each z, shape (n,)."""
    evidence = np.empty(z.size)
    _fill_evidence(z, 1.0, evidence)
    return evidence


# Nodes of s = exp(½π sinh τ), and the weights ds/dτ times the step.
_STEP = 0.0625
_TAU = np.arange(-3.9375, 2.0, _STEP)
_NODES = np.exp(0.5 * math.pi * np.sinh(_TAU))
_WEIGHTS = _STEP * 0.5 * math.pi * np.cosh(_TAU) * _NODES
# Beyond this t and the normal distribution agree to the last digit.
_NORMAL = 1e16
_NEWTON_STEPS = 40
# How many integrals at once.
_PART = 4096


def _log_cosh(u: FloatArray) -> FloatArray:
    """Compute log cosh without cancellation near 0 and without overflow."""
    capped = np.minimum(u, 20.0)
    near: FloatArray = 0.5 * np.log1p(np.sinh(capped) ** 2)
    return near + (u - capped)


def _log_integral(u: FloatArray, df: FloatArray) -> FloatArray:
    """Compute log I(u), I(u) = ∫_0^∞ cosh(u + s)^{-df} ds, elementwise."""
    peak = _log_cosh(u)
    rate = np.sqrt(df) + df * np.tanh(u)
    further = u[..., None] + _NODES / rate[..., None]
    fallen = -df[..., None] * (_log_cosh(further) - peak[..., None])
    total = (np.exp(np.maximum(fallen, -745.0)) * _WEIGHTS).sum(axis=-1)
    result: FloatArray = np.log(total / rate) - df * peak
    return result


def _log_tail(t: FloatArray, df: FloatArray) -> FloatArray:
    """Compute log P(T > t) for t >= 0."""
    u = np.arcsinh(t / np.sqrt(df))
    return math.log(0.5) + _log_integral(u, df) - _log_integral(np.zeros_like(u), df)


def _pair(first: FloatArray | float, df: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Broadcast both to one shape, infinite degrees of freedom as very many."""
    left, right = np.broadcast_arrays(np.asarray(first, np.float64), np.asarray(df, np.float64))
    return left, np.minimum(right, _NORMAL)


def t_tail(t: FloatArray | float, df: FloatArray | float) -> FloatArray:
    """Compute P(T > t) for Student's T with `df` degrees of freedom, in the broadcast shape."""
    places, freedom = _pair(t, df)
    parts = 1 + places.size // _PART
    pieces = np.array_split(np.abs(places).ravel(), parts), np.array_split(freedom.ravel(), parts)
    above = np.exp(np.concatenate(list(map(_log_tail, *pieces))))
    above = above.reshape(places.shape)
    tail: FloatArray = np.where(places < 0.0, 1.0 - above, above)
    return tail


def t_quantile(probability: FloatArray | float, df: FloatArray | float) -> FloatArray:
    """Compute the value that Student's T exceeds with a probability of 1 - `probability`.

    Newton's steps on log I(u), which is concave: after the first step they come from one side and
    cannot overshoot.
    """
    if np.ndim(probability) == 0 and np.size(df) > _PART:
        # Thousands of small cells share a few degrees of freedom.
        values, where = np.unique(df, return_inverse=True)
        if values.size < np.size(df):
            return t_quantile(probability, values)[where.reshape(np.shape(df))]
    chance, freedom = _pair(probability, df)
    parts = 1 + chance.size // _PART
    pieces = np.array_split(chance.ravel(), parts), np.array_split(freedom.ravel(), parts)
    return np.concatenate(list(map(_quantiles, *pieces))).reshape(chance.shape)


def _quantiles(chance: FloatArray, freedom: FloatArray) -> FloatArray:
    """Compute quantiles by Newton's steps, shape (n,)."""
    below = chance < 0.5
    wanted = np.log(np.where(below, chance, 1.0 - chance)) - math.log(0.5)
    whole = _log_integral(np.zeros(chance.shape), freedom)
    u = _near_quantile(wanted, freedom)
    for _ in range(_NEWTON_STEPS):
        held = _log_integral(u, freedom)
        step = (held - whole - wanted) * np.exp(held + freedom * _log_cosh(u))
        u = np.maximum(u + step, 0.0)
        if (np.abs(step) <= 1e-13 * (u + 1.0 / np.sqrt(freedom))).all():
            break
    quantile: FloatArray = np.where(below, -1.0, 1.0) * np.sqrt(freedom) * np.sinh(u)
    return quantile


def _near_quantile(wanted: FloatArray, freedom: FloatArray) -> FloatArray:
    """Approximate the quantile, in u, by Fisher's expansion around a rough normal quantile."""
    # P(Z > z) ≤ ½ exp(-z² / 2), and not much less.
    z = np.sqrt(np.maximum(-2.0 * wanted, 0.0))
    z = z * (1.0 - 0.2 / (1.0 + 0.5 * z))
    t = z + (z**3 + z) / (4.0 * freedom)
    near: FloatArray = np.arcsinh(t / np.sqrt(freedom))
    return near


def normal_quantile(probability: float) -> float:
    """Return the value that a standard normal exceeds with a probability of 1 - `probability`."""
    return NormalDist().inv_cdf(probability)


def chi_square_tail(x: float, degrees: int) -> float:
    """Compute P(χ² > x) with a whole number of degrees of freedom, at least 1."""
    if x <= 0.0:
        return 1.0
    y, odd = 0.5 * x, degrees % 2
    powers = (k + (0.5 if odd else 0.0) for k in range(degrees // 2))
    terms = [math.exp(power * math.log(y) - y - math.lgamma(power + 1.0)) for power in powers]
    return math.fsum([*terms, math.erfc(math.sqrt(y)) if odd else 0.0])


def homogeneity(counts: FloatArray) -> tuple[float, int, float]:
    """Compute Pearson's χ² of a table of counts, its degrees of freedom and p-value.

    Empty rows and columns are left out; a table with one of either has nothing to compare, and a
    p-value of 1.
    """
    there = counts[counts.sum(axis=1) > 0.0][:, counts.sum(axis=0) > 0.0]
    degrees = (there.shape[0] - 1) * (there.shape[1] - 1)
    if degrees < 1:
        return 0.0, 0, 1.0
    expected = there.sum(axis=1, keepdims=True) * there.sum(axis=0) / there.sum()
    statistic = float(((there - expected) ** 2 / expected).sum())
    return statistic, degrees, chi_square_tail(statistic, degrees)
