"""Evidence: minus the logarithm of a p-value, for p-values of any smallness.

With evidence e = -log P(Z > z) of a standard normal Z nothing underflows: a gap of a hundred
standard errors has evidence 5,006, where its p-value is 0 to a computer.
"""

from __future__ import annotations

import math

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.transport._compiled import compiled

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_PI = math.sqrt(2.0 * math.pi)
# From here on the asymptotic series is exact to the last digits.
_FAR = 30.0
_STEPS = 50


@compiled
def log_tail(z: float) -> float:
    """log P(Z > z)."""
    if z < _FAR:
        return math.log(0.5 * math.erfc(z * _ROOT_HALF))
    s = 1.0 / (z * z)
    series = -s * (1.0 - s * (3.0 - s * (15.0 - s * 105.0)))
    return -0.5 * z * z - math.log(z * _ROOT_TWO_PI) + math.log1p(series)


@compiled
def two_sided_bound(evidence: float) -> float:
    """The z with -log P(|Z| > z) = evidence, for an evidence of 0 or more."""
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
    for i in range(z.size):
        evidence[i] = -math.log(sides) - log_tail(z[i])


def two_sided_evidence(z: FloatArray) -> FloatArray:
    """-log P(|Z| > |z|) of every z, shape (n,)."""
    evidence = np.empty(z.size)
    _fill_evidence(np.abs(z), 2.0, evidence)
    return evidence


def one_sided_evidence(z: FloatArray) -> FloatArray:
    """-log P(Z > z) of every z, shape (n,)."""
    evidence = np.empty(z.size)
    _fill_evidence(z, 1.0, evidence)
    return evidence
