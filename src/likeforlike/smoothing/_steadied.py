"""Gaps of windows without most of their noise: drawn to their mean as far as chance explains.

A gap d_j between few rows is mostly noise. Taken out of many rows next to them it would bend the
curve of all, and the bend would come back as more gap. So every gap is drawn to the mean of all,

    d_j' = d̄ + τ² / (τ² + v_j) (d_j - d̄),      d̄ = Σ p_j d_j / Σ p_j,      p_j = 1 / v_j,

with v_j the variance of d_j, and τ² how much more than that the gaps differ. Where they are all
alike, hardly anything of the noise is left; where they change along the number, they stay.

References: DerSimonian and Laird (1986), *Meta-analysis in clinical trials* (τ²); Morris (1983),
*Parametric empirical Bayes inference*.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import FloatArray

# No gap is known so much better than the others that these do not count.
_BEST_KNOWN = 1e-3


def steadied(gaps: FloatArray, noise: FloatArray) -> FloatArray:
    """Draw the gaps of K windows to their mean, each of q columns by itself; (K, q).

    Parameters
    ----------
    gaps : (K, q) floats, d_j.
    noise : (K, q) floats, v_j; infinite where no gap is known, which then is the mean.
    """
    known = np.isfinite(noise)
    number = known.sum(axis=0)
    usual = np.where(known, noise, 0.0).sum(axis=0) / np.maximum(number, 1)
    least = np.where(usual > 0.0, _BEST_KNOWN * usual, 1.0)
    noise = np.maximum(noise, least)
    precision = 1.0 / noise
    whole = np.maximum(precision.sum(axis=0), np.finfo(float).tiny)
    mean = (precision * gaps).sum(axis=0) / whole
    apart = np.where(known, gaps - mean, 0.0)
    room = whole - (precision**2).sum(axis=0) / whole
    excess = (precision * apart**2).sum(axis=0) - (number - 1)
    more = np.where(number > 1, np.maximum(excess, 0.0) / np.where(number > 1, room, 1.0), 0.0)
    kept: FloatArray = mean + more / (more + noise) * apart
    return np.where(usual > 0.0, kept, np.where(known, gaps, mean))
