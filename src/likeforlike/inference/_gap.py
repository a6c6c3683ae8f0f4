"""The signed gap: who is scored higher among equals, by how much, and how sure that is.

    Δ = Σ_l Q(l) (m_1l - m_0l),

the difference of mean scores (of rates, where scores are decisions), second group minus first, with
a t interval by the jackknife (`gap_moments`). One level gives Welch's interval, wider on the side
of the longer tail where the estimate is skewed (a few rows of pay, say). Decisions get Newcombe's
interval for the two standardized rates (`intervals`). Means of weighted rows are ratios and may be
biased; the interval then holds the figure with the jackknife's correction and the one without.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._contrasts import Contrast
from likeforlike.inference._gap_moments import (
    FEW_UNITS,
    GapMethod,
    GapMoments,
    gap_moments,
    spread_of_sum,
    tilt,
)
from likeforlike.inference._intervals import (
    MOST_WORTH,
    check_confidence,
    sum_limits,
    wilson_limits,
)
from likeforlike.inference._student import normal_quantile, t_quantile
from likeforlike.inference._units import Jackknife, Sample, take_sample

ALL_EQUAL = "All scores are equal; the data set no upper limit."
"""Why there is no interval where nothing varies."""

HEAVY_WEIGHTS = "A few rows carry most of the weight; intervals may be too short."
"""What is said where weights differ very much."""

_POOLED = (
    "Some levels hold a single row of a group; how much people differ there is taken from the "
    "other cells."
)
_UNKNOWN = (
    "Levels hold a single row of a group, and nothing shows how much people differ, so there is no "
    "interval."
)
_NO_SPREAD = "Scores do not vary inside any cell, so there is no interval."


@dataclass(frozen=True, slots=True)
class Gap:
    """Signed difference between two groups among equals, in units of the score.

    Attributes
    ----------
    value : Σ_l Q(l) (m_1l - m_0l), second group minus first.
    interval : confidence interval for it; infinite if the data do not give one.
    error : standard error of the value; infinite with method "none".
    df : degrees of freedom of the error; 0 with method "none".
    method : "t" from means, "rates" for decisions, "none" without an interval.
    confidence : nominal coverage of the interval.
    reason : what a reader of the interval should know, or `None`.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import signed_gap
    >>> cells = Cells.from_rows([1, 2, 3, 4, 5, 6], list("ffmmmf"), [1, 1, 1, 1, 1, 1])
    >>> gap = signed_gap(contrasts(cells, "pairwise")[0], np.ones(1))
    >>> gap.value, gap.method
    (1.0, 't')
    """

    value: float
    interval: tuple[float, float]
    error: float
    df: float
    method: GapMethod
    confidence: float
    reason: str | None = None


def signed_gap(contrast: Contrast, measure: FloatArray, *, confidence: float = 0.95) -> Gap:
    """Signed gap between two groups among equals, with its interval.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l).
    confidence : nominal coverage of the interval, in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import signed_gap
    >>> scores = np.r_[np.arange(100), np.arange(100) + 20] / 100
    >>> contrast = contrasts(Cells.from_rows(scores, ["f"] * 100 + ["m"] * 100), "pairwise")[0]
    >>> gap = signed_gap(contrast, np.ones(1))
    >>> round(gap.value, 3), gap.interval[0] < 0.2 < gap.interval[1]
    (0.2, True)
    """
    check_confidence(confidence)
    sample = take_sample(contrast)
    return gap_of_sample(sample, sample.scores, measure, confidence, rates=sample.rates)


def gap_of_sample(
    sample: Sample, means: Jackknife, measure: FloatArray, confidence: float, *, rates: bool
) -> Gap:
    """Gap of the means of any function of the score, in units of the score."""
    moments = gap_moments(sample, means, measure)
    whole, shift = moments.spread, moments.shift
    if rates:
        low, high = _rates_interval(sample, means, measure, moments, confidence)
        low, high = low + min(shift, 0.0) - sample.blur, high + max(shift, 0.0) + sample.blur
        low, high = max(low, -1.0), min(high, 1.0)
        method: GapMethod = "rates"
    elif moments.known:
        error = math.sqrt(whole.variance * whole.factor)
        reach = float(t_quantile(0.5 + confidence / 2.0, whole.df)) * error
        skewness = whole.skewness + np.array([-whole.doubt, whole.doubt])
        below, above = (tilt(skewness, confidence) * error).tolist()
        low = moments.value + min(shift, 0.0) - reach + min(below, 0.0) - sample.blur
        high = moments.value + max(shift, 0.0) + reach + max(above, 0.0) + sample.blur
        method = "t"
    else:
        low, high, method = -math.inf, math.inf, "none"
    none = method == "none"
    return Gap(
        value=sample.unscaled(moments.value),
        interval=(sample.unscaled(low), sample.unscaled(high)),
        error=math.inf if none else sample.unscaled(math.sqrt(whole.variance)),
        df=0.0 if none else whole.df,
        method=method,
        confidence=confidence,
        reason=_reason(sample, moments, none=none),
    )


def _reason(sample: Sample, moments: GapMoments, *, none: bool) -> str | None:
    if sample.constant:
        return ALL_EQUAL
    if not moments.singles.known:
        return _UNKNOWN
    if none:
        return _NO_SPREAD
    if moments.singles.pooled.any():
        return _POOLED
    return HEAVY_WEIGHTS if sample.heavy else None


def _rates_interval(
    sample: Sample, means: Jackknife, measure: FloatArray, moments: GapMoments, confidence: float
) -> tuple[float, float]:
    """Newcombe's interval for the difference of two standardized rates."""
    coefficients = np.repeat(measure, 2)
    rates, worth, variances = np.empty(2), np.empty(2), np.empty(2)
    for side in range(2):
        of_side = coefficients.copy()
        of_side[1 - side :: 2] = 0.0
        spread = spread_of_sum(sample, means, of_side, moments.singles)
        rates[side] = min(max(float(of_side @ means.means), 0.0), 1.0)
        variances[side] = spread.variance * spread.factor if moments.singles.known else 0.0
        there = of_side > 0.0
        counted = 1.0 / float((of_side[there] ** 2 / means.units.effective[there]).sum())
        loss = _loss(float(sample.rows[there].sum()), spread.df, confidence)
        worth[side] = _worth(rates[side], variances[side], counted, loss)
    z = normal_quantile(0.5 + confidence / 2.0)
    low, high = wilson_limits(rates, worth, z, continuity=bool(worth.min() < FEW_UNITS))
    correlation = _correlation(variances, moments.spread.variance * moments.spread.factor)
    limits = sum_limits(rates[None], low[None], high[None], correlation)
    return float(limits[0][0]), float(limits[1][0])


def _worth(rate: float, variance: float, counted: float, loss: float) -> float:
    """How many independent decisions a rate is worth."""
    if variance <= 0.0 or not 0.0 < rate < 1.0:
        return max(counted, 0.5)
    return max(min(1.0 + rate * (1.0 - rate) / variance, MOST_WORTH * counted) * loss, 0.5)


def _loss(rows: float, df: float, confidence: float) -> float:
    """Korn and Graubard's factor for a variance known by fewer degrees of freedom than rows."""
    if df >= rows - 1.0:
        return 1.0
    quantiles = t_quantile(0.5 + confidence / 2.0, np.array([max(rows - 1.0, 1.0), df]))
    return float((quantiles[0] / quantiles[1]) ** 2)


def _correlation(variances: FloatArray, whole: float) -> FloatArray:
    """Of two estimates, from their variances and that of their difference. Shape (1,)."""
    if not variances.min() > 0.0:
        return np.zeros(1)
    together = 0.5 * (float(variances.sum()) - whole) / float(np.sqrt(variances).prod())
    # Rounding is no correlation.
    return np.array([min(max(together, -0.99), 0.99) if abs(together) > 1e-9 else 0.0])
