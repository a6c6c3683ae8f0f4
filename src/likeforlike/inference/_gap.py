"""The signed gap between two groups among equals, overall and per level, with intervals.

    Δ = Σ_l Q(l) (m_1l - m_0l),

the difference of mean scores (of rates, where scores are decisions), second group minus first. Its
variance is that of the jackknife by unit (`_sample`), with Satterthwaite's degrees of freedom: for
one level Welch's t interval, wider on the side of the longer tail where the estimate is skewed.
Means of weighted rows are ratios and may be biased; the interval covers the figure with the
jackknife's correction and the one without. Decisions get Newcombe's interval (method 10, or MOVER)
from Wilson's for each rate p, which with variance V is worth 1 + p (1 - p) / V independent
decisions, fewer where V is badly known (Korn and Graubard).

Simpson's paradox compares Δ with A, the gap between all rows of the groups in the same levels: A is
*reversed* if both intervals exclude 0 on opposite sides, and *masked* if Δ is not 0 and
|A| < ½ |Δ|, by one-sided tests of ½ |Δ| - A and ½ |Δ| + A. Their covariance comes from the part of
each row in both gaps: ±(x - m_g) / n_g in A, and in Δ its jackknife residual times Q(l) plus, since
the level is random too, Q(l) (m_1l - m_0l - Δ) / n_l.

References: Welch (1947); Satterthwaite (1946), *An approximate distribution of estimates of
variance components*; Hall (1992), *On the removal of skewness by transformation*; Wilson (1927);
Newcombe (1998), *Interval estimation for the difference between independent proportions*; Korn and
Graubard (1998), *Confidence intervals for proportions*; Zou and Donner (2008), *Construction of
confidence limits about effect measures*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray
from likeforlike.disparity import Contrast
from likeforlike.errors import InputError
from likeforlike.inference._sample import (
    Jackknife,
    Sample,
    Singletons,
    Units,
    between_level_residuals,
    singleton_variances,
    take_sample,
    two_way_cluster_term,
)
from likeforlike.inference._tails import normal_quantile, t_quantile
from likeforlike.transport import sum_parts

GapMethod = Literal["t", "rates", "none"]
"""How an interval was made: from means, from rates, or not at all."""
_NONE: GapMethod = "none"

FEW_UNITS = 6.0
"""Below this many units in a cell variances are hardly known, and steps of rates are large."""

# Degrees of freedom of the variance of a single row, at most.
_SINGLE_DF = 4.0
SKEWED = 0.1
"""Skewness of an estimate below this changes coverage by a fraction of a percent."""


def contrast_coefficients(measure: FloatArray) -> FloatArray:
    """Return -Q for cells of the first group, Q for those of the second. Shape (2k,)."""
    signed: FloatArray = np.repeat(measure, 2) * np.tile([-1.0, 1.0], measure.size)
    return signed


def contrast_variance(
    means: Jackknife, coefficients: FloatArray, singles: Singletons
) -> tuple[float, float, float, float, float]:
    """Compute the error of Σ_c coefficients_c mean_c.

    Returns
    -------
    variance, df : with Satterthwaite's degrees of freedom.
    factor : how much larger the variance is if small cells are as wide as others (`shrunk`), at
        least 1: a cell whose rows happen to be equal would make the sum look too precise.
    skewness, doubt : of the sum, and the largest error of that where scores were rounded.
    """
    sample, units, (between_levels, pooled, _, single_df) = means.sample, means.units, singles
    inside = np.where(np.repeat(between_levels, 2), 0.0, coefficients)
    parts = inside**2 * (means.variances + pooled)
    variance = means.variance(inside) + float(inside**2 @ pooled)
    likely, small = parts, ~units.single & (units.effective < 2.0 * FEW_UNITS)
    if small.any() and not units.unequal:
        likely = np.where(small, inside**2 * means.shrunk, parts)
        # Of few decisions that are all equal; one cell is enough, or many would add up.
        doubt = np.where(small, inside**2 * _agresti_caffo_variances(means) - likely, 0.0)
        most = int(np.argmax(doubt))
        likely[most] += max(float(doubt[most]), 0.0)
    more = max(float(likely.sum() - parts.sum()), 0.0)
    added = level_residuals(means, coefficients, between_levels)
    between = float(added @ added)
    variance += between
    if units.crossing and between > 0.0:
        variance += two_way_cluster_term(units, added)
    if not variance > 0.0:
        return 0.0, 1.0, 1.0, 0.0, 0.0
    # As shares of the whole, no square or cube can underflow.
    share, level_share = parts / variance, added / math.sqrt(variance)
    against = max(_inverse_df(units, each, single_df) for each in (share, likely / variance))
    against += (between / variance) ** 2 / (np.count_nonzero(added) + 1.0)
    df, smallest = float(1.0 / against), float(units.effective.min())
    if units.crossing:
        df = min(df, cluster_df(units, coefficients))
    elif sample.n_levels == 1 and smallest < FEW_UNITS and not sample.rates:
        df = min(df, smallest - 1.0)
    cubes = np.sign(inside) * share**1.5 / np.sqrt(units.effective)
    skewness, unknown = means.skewness
    return (
        variance,
        max(df, 1.0),
        1.0 + more / variance,
        skewness * float(cubes.sum()) + float((level_share**3).sum()),
        unknown * float(np.abs(cubes).sum()),
    )


def _agresti_caffo_variances(means: Jackknife) -> FloatArray:
    """Compute variances of rates that a few equal decisions do not make 0. Shape (2k,)."""
    if not means.sample.rates or means.values is not means.sample.values:
        return np.zeros(means.variances.size)
    rate = (means.means * means.units.effective + 1.0) / (means.units.effective + 2.0)
    floor: FloatArray = rate * (1.0 - rate) / (means.units.effective + 2.0)
    return floor


def _inverse_df(units: Units, share: FloatArray, single_df: float) -> float:
    """Return 1 / df by Satterthwaite, from the share of each cell in the variance (2k,)."""
    known = np.maximum(units.effective - 1.0, 0.0)
    # Of a single row the variance is that of the other group of its level, or of all cells.
    other = known.reshape(-1, 2).sum(axis=1).repeat(2)
    alone = np.where(other > 0.0, np.minimum(other, _SINGLE_DF), _SINGLE_DF)
    freedom = np.where(units.single, alone, np.maximum(known, 0.5))
    if not units.unequal:
        # Squares of estimated variances are too large by 2 / df; for one level Welch's are kept.
        level_share = np.repeat(share.reshape(-1, 2).sum(axis=1), 2)
        freedom = freedom + 2.0 * (1.0 - level_share) ** 2
    if math.isfinite(single_df):
        alike = float(share[units.single].sum()) ** 2 / max(single_df, 1.0)
        return alike + float((share**2 / freedom)[~units.single].sum())
    return float((share**2 / freedom).sum())


def level_residuals(
    means: Jackknife, coefficients: FloatArray, between_levels: BoolArray
) -> FloatArray:
    """Return the error of levels whose variance is read between levels, 0 elsewhere. (k,)."""
    added = np.zeros(between_levels.size)
    if not between_levels.any():
        return added
    weight = np.abs(coefficients).reshape(-1, 2).max(axis=1)
    read = between_levels & (weight > 0.0)
    figures = (coefficients * means.means).reshape(-1, 2).sum(axis=1)[read] / weight[read]
    added[read] = between_level_residuals(weight[read], figures)
    return added


def edgeworth_shift(skewness: FloatArray, confidence: float) -> FloatArray:
    """Return the shift of the ends of an interval by skewness, in standard errors, in its shape.

    γ (2 z² + 1) / 6, the first term of the Edgeworth expansion of a studentized mean. Only the end
    that moves away is moved, and little skewness moves none: its effect on both ends together is of
    second order. Beyond γ = 1 the expansion is not valid.
    """
    z = normal_quantile(0.5 + confidence / 2.0)
    bounded = np.clip(skewness, -1.0, 1.0)
    plain = np.where(np.abs(bounded) > SKEWED, bounded, 0.0)
    moved: FloatArray = plain * (2.0 * z * z + 1.0) / 6.0
    return moved


def cluster_df(units: Units, coefficients: FloatArray) -> float:
    """Return the df of Σ_c coefficients_c mean_c if the rows of each cluster were all equal.

    (Σ h²)² / Σ h⁴ - 2, with h the share of each cluster in the means.
    """
    squares = units.sum_by_cluster(np.abs(coefficients)[units.cell] * units.share) ** 2
    against = float((squares**2).sum())
    return float(squares.sum()) ** 2 / against - 2.0 if against > 0.0 else math.inf


_MAX_WORTH = 4.0
"""A rate is worth at most this many times the decisions it was made of."""


def check_confidence(confidence: float) -> None:
    """Raise unless the confidence lies strictly between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie between 0 and 1, not {confidence}.")


def bonferroni_confidence(confidence: float, figures: int) -> float:
    """Return the confidence that each of several intervals needs for simultaneous coverage.

    1 - (1 - confidence) / figures (Bonferroni).
    """
    check_confidence(confidence)
    return 1.0 - (1.0 - confidence) / max(figures, 1)


def wilson_limits(
    rates: FloatArray, rows: FloatArray, z: float, *, continuity: BoolArray | bool = False
) -> tuple[FloatArray, FloatArray]:
    """Compute Wilson's limits of rates, in the shape of the rates.

    The two p at which |p̂ - p| - κ / n = z √(p (1 - p) / n), with κ = ½ as a continuity correction
    for a few decisions, else 0.
    """
    step = np.where(continuity, 0.5 / rows, 0.0)
    ends = [
        _wilson_end(np.clip(rates + side * step, 0.0, 1.0), rows, side * z) for side in (-1.0, 1.0)
    ]
    return np.clip(ends[0], 0.0, rates), np.clip(ends[1], rates, 1.0)


def _wilson_end(rates: FloatArray, rows: FloatArray, z: float) -> FloatArray:
    """Solve (p̂ - p)² = z² p (1 - p) / n for p on the side of the sign of z."""
    reach = z * np.sqrt(rates * (1.0 - rates) / rows + z * z / (4.0 * rows**2))
    end: FloatArray = (rates + z * z / (2.0 * rows) + reach) / (1.0 + z * z / rows)
    return end


def newcombe_limits(
    rates: FloatArray, low: FloatArray, high: FloatArray, correlation: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute limits of second rate minus first from the limits of both, shape (k,) each."""
    below, above = rates - low, high - rates
    gap = rates[:, 1] - rates[:, 0]
    down = _mover_width(below[:, 1], above[:, 0], correlation)
    up = _mover_width(above[:, 1], below[:, 0], correlation)
    return np.maximum(gap - down, -1.0), np.minimum(gap + up, 1.0)


def _mover_width(first: FloatArray, second: FloatArray, correlation: FloatArray) -> FloatArray:
    """Combine the distances of two limits from their rates."""
    squared = first**2 + second**2 - 2.0 * correlation * first * second
    width: FloatArray = np.sqrt(np.maximum(squared, 0.0))
    return width


ALL_EQUAL = "All scores are equal; the data set no upper limit."
"""Why there is no interval where nothing varies."""

HEAVY_WEIGHTS = "A few rows carry most of the weight; intervals may be too short."
"""The reason given where weights differ very much."""

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
    """

    value: float
    interval: tuple[float, float]
    error: float
    df: float
    method: GapMethod
    confidence: float
    reason: str | None = None


def signed_gap(
    contrast: Contrast | Sample, measure: FloatArray, *, confidence: float = 0.95
) -> Gap:
    """Estimate the signed gap between two groups among equals, with its interval.

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
    return compare_means(sample.scores, measure, confidence, rates=sample.rates)


def compare_means(means: Jackknife, measure: FloatArray, confidence: float, *, rates: bool) -> Gap:
    """Compute the gap of the means of any function of the score, in units of the score."""
    sample, coefficients = means.sample, contrast_coefficients(measure)
    singles = singleton_variances(means, measure)
    _, pooled, known, _ = singles
    value, shift = float(measure @ means.gaps), float(coefficients @ means.bias)
    variance, df, factor, skewness, doubt = contrast_variance(means, coefficients, singles)
    low, high, method = -math.inf, math.inf, _NONE
    if rates:
        low, high = _newcombe_interval(means, measure, singles, variance * factor, confidence)
        low, high = low + min(shift, 0.0) - sample.blur, high + max(shift, 0.0) + sample.blur
        low, high, method = max(low, -1.0), min(high, 1.0), "rates"
    elif known and variance > 0.0:
        error = math.sqrt(variance * factor)
        reach = float(t_quantile(0.5 + confidence / 2.0, df)) * error
        ends = skewness + np.array([-doubt, doubt])
        below, above = (edgeworth_shift(ends, confidence) * error).tolist()
        low = value + min(shift, 0.0) - reach + min(below, 0.0) - sample.blur
        high = value + max(shift, 0.0) + reach + max(above, 0.0) + sample.blur
        method = "t"
    reason = HEAVY_WEIGHTS if sample.heavy else None
    if sample.constant:
        reason = ALL_EQUAL
    elif not known:
        reason = _UNKNOWN
    elif method == "none":
        reason = _NO_SPREAD
    elif pooled.any():
        reason = _POOLED
    return Gap(
        value=sample.to_units(value),
        interval=(sample.to_units(low), sample.to_units(high)),
        error=math.inf if method == "none" else sample.to_units(math.sqrt(variance)),
        df=0.0 if method == "none" else df,
        method=method,
        confidence=confidence,
        reason=reason,
    )


def _newcombe_interval(
    means: Jackknife,
    measure: FloatArray,
    singles: Singletons,
    gap_variance: float,
    confidence: float,
) -> tuple[float, float]:
    """Compute Newcombe's interval for the difference of two standardized rates."""
    coefficients, units = np.repeat(measure, 2), means.units
    rates, worth, variances = np.empty(2), np.empty(2), np.empty(2)
    for side in range(2):
        own = coefficients.copy()
        own[1 - side :: 2] = 0.0
        variance, df, factor, _, _ = contrast_variance(means, own, singles)
        rates[side] = min(max(float(own @ means.means), 0.0), 1.0)
        variances[side] = variance * factor if singles[2] else 0.0
        there = own > 0.0
        counted = 1.0 / float((own[there] ** 2 / units.effective[there]).sum())
        rows = float(means.sample.rows[there].sum())
        worth[side] = _effective_trials(
            rates[side], variances[side], counted, _korn_graubard_factor(rows, df, confidence)
        )
    z = normal_quantile(0.5 + confidence / 2.0)
    low, high = wilson_limits(rates, worth, z, continuity=bool(worth.min() < FEW_UNITS))
    correlation = np.zeros(1)
    if variances.min() > 0.0:
        shared = 0.5 * (float(variances.sum()) - gap_variance) / float(np.sqrt(variances).prod())
        # Rounding is no correlation.
        correlation[0] = min(max(shared, -0.99), 0.99) if abs(shared) > 1e-9 else 0.0
    limits = newcombe_limits(rates[None], low[None], high[None], correlation)
    return float(limits[0][0]), float(limits[1][0])


def _effective_trials(rate: float, variance: float, counted: float, factor: float) -> float:
    """Return the number of independent decisions that a rate is worth."""
    if variance <= 0.0 or not 0.0 < rate < 1.0:
        return max(counted, 0.5)
    return max(min(1.0 + rate * (1.0 - rate) / variance, _MAX_WORTH * counted) * factor, 0.5)


def _korn_graubard_factor(rows: float, df: float, confidence: float) -> float:
    """Return the factor for a variance known by fewer degrees of freedom than rows."""
    if df >= rows - 1.0:
        return 1.0
    quantiles = t_quantile(0.5 + confidence / 2.0, np.array([max(rows - 1.0, 1.0), df]))
    return float((quantiles[0] / quantiles[1]) ** 2)


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
    """

    value: FloatArray
    low: FloatArray
    high: FloatArray
    error: FloatArray
    df: FloatArray
    method: GapMethod
    confidence: float


def level_gaps(contrast: Contrast | Sample, *, confidence: float = 0.95) -> LevelGaps:
    """Estimate the signed gap in each level where two groups meet, with an interval.

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
    check_confidence(confidence)
    sample = take_sample(contrast)
    means = sample.scores
    variances = means.level_variances
    if sample.rates:
        low, high, df = _newcombe_level_limits(sample, variances, confidence)
    else:
        low, high, df = _welch_level_limits(sample, variances, confidence)
    shift = means.bias[1::2] - means.bias[::2]
    low, high = low - sample.blur, high + sample.blur
    unknown = sample.units.single_levels | (variances == 0.0)
    none = unknown & (not sample.rates)
    return LevelGaps(
        value=sample.to_units(means.gaps),
        low=np.where(none, -math.inf, sample.to_units(low + np.minimum(shift, 0.0))),
        high=np.where(none, math.inf, sample.to_units(high + np.maximum(shift, 0.0))),
        error=np.where(unknown, math.inf, sample.to_units(np.sqrt(variances))),
        df=np.where(none, 0.0, df),
        method="rates" if sample.rates else "t",
        confidence=confidence,
    )


def _welch_level_limits(
    sample: Sample, variances: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute Welch's limits of each level, and their degrees of freedom."""
    means, units = sample.scores, sample.units
    least = units.effective.reshape(-1, 2).min(axis=1)
    df = np.maximum(np.where(least < FEW_UNITS, least - 1.0, means.welch_df), 1.0)
    cubes = means.level_shares**1.5 / np.sqrt(units.effective.reshape(-1, 2))
    rows_skewness, doubt = means.skewness
    skewness, doubts = rows_skewness * (cubes[:, 1] - cubes[:, 0]), doubt * cubes.sum(axis=1)
    below = edgeworth_shift(skewness - doubts, confidence)
    above = edgeworth_shift(skewness + doubts, confidence)
    quantile, error = t_quantile(0.5 + confidence / 2.0, df), np.sqrt(variances)
    low = means.gaps - (quantile - np.minimum(below, 0.0)) * error
    return low, means.gaps + (quantile + np.maximum(above, 0.0)) * error, df


def _newcombe_level_limits(
    sample: Sample, whole: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute Newcombe's limits of each level, and the degrees of freedom of the variance."""
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
        rows_worth, units_worth = quantiles
        ratio = np.ones_like(rows_worth)
        known = (units_worth > 0.0) & np.isfinite(units_worth)  # unless confidence is 0 or 1
        np.divide(rows_worth, units_worth, out=ratio, where=known)
        worth = np.minimum(worth, _MAX_WORTH * effective) * ratio**2
    z = normal_quantile(0.5 + confidence / 2.0)
    worth = np.maximum(worth, 0.5)
    few = np.any(worth < FEW_UNITS, axis=1, keepdims=True)
    low, high = wilson_limits(rates, worth, z, continuity=few)
    product = np.sqrt(safe).prod(axis=1)
    shared = 0.5 * (variances.sum(axis=1) - whole) / np.where(product > 0.0, product, 1.0)
    # Rounding is no correlation.
    shared = np.where(inner.all(axis=1) & (np.abs(shared) > 1e-9), shared, 0.0)
    below, above = newcombe_limits(rates, low, high, np.clip(shared, -0.99, 0.99))
    return below, above, (np.maximum(effective, 1.5) - 1.0).sum(axis=1)


Paradox = Literal["none", "masked", "reversed"]
"""How the gap among all rows misleads about the gap among equals."""


@dataclass(frozen=True, slots=True)
class GapComparison:
    """The gap among all rows next to the gap among equals.

    Attributes
    ----------
    kind : "reversed", "masked" or "none".
    overall : the gap between all rows of the groups, in levels where both occur.
    conditional : the gap among equals.
    """

    kind: Paradox
    overall: Gap
    conditional: Gap


def compare_gaps(
    contrast: Contrast | Sample, measure: FloatArray, *, confidence: float = 0.95
) -> GapComparison:
    """Compare the gap among all rows with the gap among equals.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l).
    confidence : of the intervals and tests, in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import compare_gaps
    >>> rng = np.random.default_rng(0)
    >>> groups = np.arange(2000) % 2
    >>> levels = rng.binomial(9, 0.4 + 0.2 * groups)
    >>> scores = levels / 9 + 0.1 * rng.normal(size=2000) - 0.05 * groups
    >>> contrast = contrasts(Cells.from_rows(scores, groups, levels), "pairwise")[0]
    >>> measure = contrast.mass[contrast.support].sum(axis=1) / 2000
    >>> found = compare_gaps(contrast, measure)
    >>> found.kind, found.overall.value > 0, found.conditional.value < 0
    ('reversed', True, True)
    """
    check_confidence(confidence)
    sample = take_sample(contrast)
    pooled = sample.pool_levels()
    conditional = compare_means(sample.scores, measure, confidence, rates=sample.rates)
    overall = compare_means(pooled.scores, np.ones(1), confidence, rates=sample.rates)
    return GapComparison(_classify(sample, measure, overall, conditional), overall, conditional)


def _classify(sample: Sample, measure: FloatArray, overall: Gap, conditional: Gap) -> Paradox:
    """Decide whether the gap among all rows is reversed, masked or neither."""
    low, high = conditional.interval
    if sample.n_levels < 2 or low <= 0.0 <= high or not math.isfinite(conditional.error):
        return "none"
    sign = math.copysign(1.0, low)
    if max(sign * overall.interval[0], sign * overall.interval[1]) < 0.0:
        return "reversed"
    half, whole = 0.5 * sample.scale_down(conditional.value), sample.scale_down(overall.value)
    if abs(half) <= abs(whole):
        return "none"
    covariance = _covariance(sample, measure)
    df = max(min(overall.df, conditional.df), 1.0)
    quantile = float(t_quantile(0.5 + conditional.confidence / 2.0, df))
    for side in (-1.0, 1.0):
        weight = np.array([side, 0.5])
        error = math.sqrt(max(float(weight @ covariance @ weight), 0.0))
        if sign * (half + side * whole) <= quantile * error:
            return "none"
    return "masked"


def _covariance(sample: Sample, measure: FloatArray) -> FloatArray:
    """Compute the covariance of the gaps among all rows and among equals, shape (2, 2)."""
    between = singleton_variances(sample.scores, measure)[0]
    parts = np.stack([_overall_influence(sample), _conditional_influence(sample, measure)])
    units = sample.units
    together = between[units.cell // 2]
    # Levels whose variance is read between levels are one unit each.
    levels = np.stack(
        [
            sum_parts(units.cell[together] // 2, (units.counts * parts[0])[together], measure.size),
            level_residuals(sample.scores, contrast_coefficients(measure), between),
        ]
    )
    apart, times = parts[:, ~together], units.counts[~together].astype(np.float64)
    if units.cluster is not None:
        cluster, n_clusters = units.cluster[~together], int(units.cluster.max()) + 1
        apart = np.stack([sum_parts(cluster, part, n_clusters) for part in apart])
        times = np.ones(n_clusters)
    covariance: FloatArray = (apart * times) @ apart.T + levels @ levels.T
    if sample.inside is not None:
        # Rows around the means of their bins.
        side = np.where(sample.cell % 2 == 1, 1.0, -1.0)
        totals = sum_parts(sample.cell % 2, sample.mass, 2)[sample.cell % 2]
        among_equals = contrast_coefficients(measure)[sample.cell] * units.jackknife_factor
        slopes = np.stack([side / totals, among_equals / sample.totals[sample.cell]])
        inside = np.where(together, 0.0, sample.counts * sample.inside[0])
        covariance += (slopes * inside) @ slopes.T
    return covariance


def _overall_influence(sample: Sample) -> FloatArray:
    """Return the part of each unit in the gap among all rows. Shape (u,)."""
    side = sample.cell % 2
    totals = sum_parts(side, sample.mass, 2)
    means = sum_parts(side, sample.mass * sample.values, 2) / totals
    added = np.where(side == 1, 1.0, -1.0) * (sample.values - means[side])
    return sample.sum_by_unit(added * sample.mass / totals[side])


def _conditional_influence(sample: Sample, measure: FloatArray) -> FloatArray:
    """Return the part of each unit in the gap among equals. Shape (u,)."""
    means, level = sample.scores, sample.cell // 2
    apart = measure * (means.gaps - float(measure @ means.gaps))
    level_mass = sample.totals.reshape(-1, 2).sum(axis=1)
    composition = sample.sum_by_unit((apart / level_mass)[level] * sample.mass)
    inside: FloatArray = contrast_coefficients(measure)[sample.units.cell] * means.residuals
    return inside + composition
