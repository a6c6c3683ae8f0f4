"""The signed gap in every level by itself, each with an interval.

Welch's interval, or Newcombe's for decisions, as for one level in `gap`, for all levels at once.
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
    level_freedom,
    level_shares,
    level_variances,
    tilt,
)
from likeforlike.inference._intervals import (
    MOST_WORTH,
    check_confidence,
    sum_limits,
    wilson_limits,
)
from likeforlike.inference._single_rows import single_levels
from likeforlike.inference._student import normal_quantile, t_quantile
from likeforlike.inference._units import Sample, take_sample


@dataclass(frozen=True, slots=True)
class LevelGaps:
    """Signed differences in each of the k levels where two groups meet, in units of the score.

    Attributes
    ----------
    value : (k,) floats, second group minus first.
    low, high : (k,) floats, ends of the intervals; infinite where there is none.
    error : (k,) floats, standard errors; infinite where they cannot be known.
    df : (k,) floats, their degrees of freedom; 0 where there is no interval.
    method : "t" or "rates", for all of them.
    confidence : nominal coverage of each interval.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import level_gaps
    >>> cells = Cells.from_rows([0, 1, 1, 1, 0], list("ffmmf"))
    >>> gaps = level_gaps(contrasts(cells, "pairwise")[0])
    >>> gaps.value.round(3), gaps.low.round(3), gaps.method
    (array([0.667]), array([-0.301]), 'rates')
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    error: FloatArray
    df: FloatArray
    method: GapMethod
    confidence: float


def level_gaps(contrast: Contrast, *, confidence: float = 0.95) -> LevelGaps:
    """Signed gap in every level where two groups meet, each with an interval of its own.

    Welch's interval, or Newcombe's for decisions. A single row of a group has no known spread, so
    its level has no interval, unless scores are decisions.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    confidence : nominal coverage of each interval, in (0, 1).

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import level_gaps
    >>> cells = Cells.from_rows([1, 2, 3, 5, 7], list("ffmmm"))
    >>> gaps = level_gaps(contrasts(cells, "pairwise")[0])
    >>> gaps.value, gaps.df
    (array([3.5]), array([1.]))
    """
    return level_gaps_of_sample(take_sample(contrast), confidence)


def level_gaps_of_sample(sample: Sample, confidence: float) -> LevelGaps:
    """The same for a sample that was taken already."""
    check_confidence(confidence)
    means = sample.scores
    variances = level_variances(means)
    if sample.rates:
        low, high, df = _level_rates(sample, variances, confidence)
    else:
        low, high, df = _level_means(sample, variances, confidence)
    shift = means.bias[1::2] - means.bias[::2]
    low, high = low - sample.blur, high + sample.blur
    unknown = single_levels(sample.units) | (variances == 0.0)
    none = unknown & (not sample.rates)
    return LevelGaps(
        value=sample.unscaled(means.gaps),
        low=np.where(none, -math.inf, sample.unscaled(low + np.minimum(shift, 0.0))),
        high=np.where(none, math.inf, sample.unscaled(high + np.maximum(shift, 0.0))),
        error=np.where(unknown, math.inf, sample.unscaled(np.sqrt(variances))),
        df=np.where(none, 0.0, df),
        method="rates" if sample.rates else "t",
        confidence=confidence,
    )


def _level_means(
    sample: Sample, variances: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Welch's limits of every level, and their degrees of freedom."""
    means, units = sample.scores, sample.units
    least = units.effective.reshape(-1, 2).min(axis=1)
    df = np.maximum(np.where(least < FEW_UNITS, least - 1.0, level_freedom(means)), 1.0)
    cubes = level_shares(means) ** 1.5 / np.sqrt(units.effective.reshape(-1, 2))
    skewness, doubt = means.skewness * (cubes[:, 1] - cubes[:, 0]), means.skewness_doubt
    below = tilt(skewness - doubt * cubes.sum(axis=1), confidence)
    above = tilt(skewness + doubt * cubes.sum(axis=1), confidence)
    quantile, error = t_quantile(0.5 + confidence / 2.0, df), np.sqrt(variances)
    low = means.gaps - (quantile - np.minimum(below, 0.0)) * error
    return low, means.gaps + (quantile + np.maximum(above, 0.0)) * error, df


def _level_rates(
    sample: Sample, whole: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Newcombe's limits of every level, and the degrees of freedom of the variance."""
    rates = np.clip(sample.scores.means.reshape(-1, 2), 0.0, 1.0)
    variances = sample.scores.variances.reshape(-1, 2)
    effective = sample.units.effective.reshape(-1, 2)
    inner = (variances > 0.0) & (rates > 0.0) & (rates < 1.0)
    safe = np.where(inner, variances, 1.0)
    worth = np.where(inner, 1.0 + rates * (1.0 - rates) / safe, effective)
    if sample.units.unequal:
        rows = sample.rows.reshape(-1, 2)
        freedom = np.maximum(np.stack([rows, effective]) - 1.0, 1.0)
        quantiles = t_quantile(0.5 + confidence / 2.0, freedom)
        worth = np.minimum(worth, MOST_WORTH * effective) * (quantiles[0] / quantiles[1]) ** 2
    z = normal_quantile(0.5 + confidence / 2.0)
    worth = np.maximum(worth, 0.5)
    few = np.any(worth < FEW_UNITS, axis=1, keepdims=True)
    low, high = wilson_limits(rates, worth, z, continuity=few)
    shared = 0.5 * (variances.sum(axis=1) - whole) / np.sqrt(safe).prod(axis=1)
    # Rounding is no correlation.
    shared = np.where(inner.all(axis=1) & (np.abs(shared) > 1e-9), shared, 0.0)
    below, above = sum_limits(rates, low, high, np.clip(shared, -0.99, 0.99))
    return below, above, (np.maximum(effective, 1.5) - 1.0).sum(axis=1)
