"""Gaps between the pay of women and of men in percent of men's pay, with intervals.

    gap = 100 (M - W) / M,

with W and M the means of women's and of men's pay, or their medians. Intervals are those of
log(W / M), so that they are the same in every currency.

*Means*: the variance of log W is s² / (n W²). Nothing is known of people who are paid a multiple of
the others and whom the smaller group happens to lack, so that s² / W² is at least its average over
both groups; Satterthwaite's degrees of freedom, and the end on the side of the longer tail is moved
outwards by the first term of the Edgeworth expansion, as for the gaps of audits.

*Medians*: Price and Bonett read the error of a log median off the order statistics on either side
of it. Both sides are kept apart and combined by MOVER: pay is skewed, and a side may reach 0 where
many receive nothing.

References: Satterthwaite (1946); Hall (1992), *On the removal of skewness by transformation*; Price
and Bonett (2002), *Distribution-free confidence intervals for difference and ratio of medians*; Zou
and Donner (2008). `python -m benchmarks.paying` measures how often these intervals hold the truth.
"""

from __future__ import annotations

import math

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.inference import edgeworth_shift, normal_quantile, t_quantile

FEWEST = 8
"""Fewest women, and fewest men, for which intervals were measured."""

Ends = tuple[float, float]
# Medians have no interval where more receive nothing: those with one would hold too rarely.
_MOST_NOTHING = 0.3


def mean_gap(
    women: FloatArray, men: FloatArray, confidence: float = 0.95
) -> tuple[float | None, Ends | None, str | None]:
    """Compute the gap of the means in percent, its interval, and why one of them is missing."""
    found, reason = _percent(women, men, np.mean)
    if reason is not None or found is None:
        return found, None, reason
    sizes, relative = (women.size, men.size), (women / women.mean(), men / men.mean())
    own = [float(part.var(ddof=1)) for part in relative]
    both = np.average(own, weights=[size - 1 for size in sizes])
    errors = [max(each, both) / size for each, size in zip(own, sizes, strict=True)]
    variance = sum(errors)
    if variance <= 0.0:
        return found, None, "same"
    df = variance**2 / sum(each**2 / (n - 1) for each, n in zip(errors, sizes, strict=True))
    pooled = np.concatenate(relative) - 1.0
    skewness = float((pooled**3).mean() / (pooled**2).mean() ** 1.5)
    # A logarithm bends: 3 standard errors of the mean are taken from its skewness.
    cubes = [
        v**1.5 * (skewness / math.sqrt(n) - 3.0 * v**0.5)
        for v, n in zip(errors, sizes, strict=True)
    ]
    ratio_skewness = (cubes[0] - cubes[1]) / variance**1.5
    shift = float(edgeworth_shift(np.array([ratio_skewness]), confidence)[0])
    half, error = float(t_quantile(0.5 + confidence / 2.0, df)), math.sqrt(variance)
    middle = math.log(women.mean() / men.mean())
    low, high = half + max(-shift, 0.0), half + max(shift, 0.0)
    return found, (_to_percent(middle + high * error), _to_percent(middle - low * error)), None


def median_gap(
    women: FloatArray, men: FloatArray, confidence: float = 0.95
) -> tuple[float | None, Ends | None, str | None]:
    """Compute the gap of the medians in percent, its interval, and why one of them is missing."""
    found, reason = _percent(women, men, np.median)
    if reason is not None or found is None:
        return found, None, reason
    if max(float((part <= 0.0).mean()) for part in (women, men)) > _MOST_NOTHING:
        return found, None, "nothing"
    below, above = zip(*map(_order_errors, (women, men)), strict=True)
    z = normal_quantile(0.5 + confidence / 2.0)
    middle = math.log(float(np.median(women)) / float(np.median(men)))
    ends = (
        _to_percent(middle + z * math.hypot(above[0], below[1])),
        _to_percent(middle - z * math.hypot(below[0], above[1])),
    )
    if ends[0] == ends[1]:
        return found, None, "same"
    return (found, ends, None) if math.isfinite(ends[0]) else (found, None, "nothing")


def _percent(
    women: FloatArray, men: FloatArray, average: object
) -> tuple[float | None, str | None]:
    """Compute a gap in percent, and why it has no interval."""
    if not (women.size and men.size):
        return None, "one sex"
    theirs, mens = (float(average(part)) for part in (women, men))  # type: ignore[operator]
    if mens <= 0.0:
        return None, "no pay"
    reason = "few" if min(women.size, men.size) < FEWEST else "nothing" if theirs <= 0.0 else None
    return 100.0 * (mens - theirs) / mens, reason


def _to_percent(log_ratio: float) -> float:
    return -100.0 * math.expm1(min(log_ratio, 700.0)) if log_ratio < math.inf else -math.inf


def _order_errors(values: FloatArray) -> tuple[float, float]:
    """Compute the error of a log median below and above it (Price and Bonett)."""
    n = values.size
    place = max(round((n + 1) / 2.0 - math.sqrt(n)), 1)
    # P(X < place) of a binomial X with n trials of 1/2; logarithms, or 2^-n is 0.
    logs = [
        math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2.0)
        for k in range(place)
    ]
    z = normal_quantile(1.0 - math.fsum(map(math.exp, logs)))
    ordered, middle = np.sort(values), float(np.median(values))
    low, high = float(ordered[place - 1]), float(ordered[n - place])
    return (math.log(middle / low) / z if low > 0.0 else math.inf), math.log(high / middle) / z
