"""The signed gap: who is scored higher among equals, by how much, and how sure that is.

    Δ = Σ_l Q(l) (m_1l - m_0l),

the difference of mean scores (of rates, where scores are decisions), second group minus first, with
a t interval by the jackknife (`gap_moments`). One level gives Welch's interval, wider on the side
of the longer tail where the estimate is skewed (a few rows of pay, say). Decisions get Newcombe's
interval for the two standardized rates (`intervals`). Means of weighted rows are ratios and may be
biased; the interval then holds the figure with the jackknife's correction and the one without.

The signed gap and its error: variance, degrees of freedom, skewness.

    Δ = Σ_l Q(l) (m_1l - m_0l)

is a sum of means of cells. Its variance is that of the jackknife by unit (`units`), with what is
known of single rows (`single_rows`); its degrees of freedom are those of Satterthwaite, which for
one level are Welch's.

References: Welch (1947), *The generalization of Student's problem*; Satterthwaite (1946), *An
approximate distribution of estimates of variance components*; Hall (1992), *On the removal of
skewness by transformation*.

The signed gap in every level by itself, each with an interval.

Welch's interval, or Newcombe's for decisions, as for one level in `gap`, for all levels at once.

Intervals of rates and of their difference, and of several figures at once.

A rate p with the variance V is worth n = 1 + p (1 - p) / V independent decisions: numerator and
denominator are unbiased, and n rows of a simple sample are worth n. Wilson's interval for a rate,
Newcombe's for a difference of two (his method 10, also called MOVER), with the covariance of the
two where they share clusters. How well V is known is counted as Korn and Graubard do, by fewer
rows.

References: Wilson (1927), *Probable inference*; Newcombe (1998), *Interval estimation for the
difference between independent proportions*; Korn and Graubard (1998), *Confidence intervals for
proportions with small expected number of positive counts estimated from survey data*; Zou and
Donner (2008), *Construction of confidence limits about effect measures*.

Simpson's paradox: whether looking at all rows would mislead about people who are alike.

Two signed gaps are compared: A, between all rows of the groups, and Δ = Σ_l Q(l) (m_1l - m_0l),
among equals. A is

- *reversed* if both intervals exclude 0, on opposite sides;
- *masked* if Δ is not 0 and |A| < ½ |Δ|, by one-sided tests of ½ |Δ| - A and ½ |Δ| + A.

Both gaps come from the same rows, so the tests need their covariance. Each is a sum over units, up
to terms that vanish: a row of group g adds ±(x - m_g) / n_g to A, and to Δ its jackknife residual
times Q(l) and, since who is in which level is chance too, Q(l) (m_1l - m_0l - Δ) / n_l.

Only rows in levels where both groups occur are looked at, so that both gaps are about the same
people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray
from likeforlike.disparity import Contrast
from likeforlike.errors import InputError
from likeforlike.inference._sample import (
    Jackknife,
    Sample,
    SingleRows,
    Units,
    between_levels,
    read_single_rows,
    shared_by_clusters,
    single_levels,
    take_sample,
)
from likeforlike.inference._tails import normal_quantile, t_quantile
from likeforlike.transport import sums_by

GapMethod = Literal["t", "rates", "none"]
"""How an interval was made: from means, from rates, or not at all."""

FEW_UNITS = 6.0
"""Below this many units in a cell variances are hardly known, and steps of rates are large."""

# Degrees of freedom of the variance of a single row, at most.
_SINGLE_FREEDOM = 4.0
SKEWED = 0.1
"""Skewness of an estimate below this changes coverage by a fraction of a percent."""


class Spread(NamedTuple):
    """Variance of a sum of means, its degrees of freedom, and the skewness of the sum.

    `factor` is how much larger the variance is if small cells are as wide as others (`shrunk`), at
    least 1: one whose rows happen to be alike would make the sum look better known than it is.
    `doubt` is how far the skewness may be off where scores were rounded.
    """

    variance: float
    df: float
    skewness: float
    factor: float = 1.0
    doubt: float = 0.0


class GapMoments(NamedTuple):
    """A gap and what its error is made of, in scaled scores.

    Attributes
    ----------
    value : the gap.
    shift : what the jackknife would add to remove the bias of weighted means.
    spread : variance of the value.
    singles : where the variance of levels with a single unit of a group comes from.
    """

    value: float
    shift: float
    spread: Spread
    singles: SingleRows

    @property
    def known(self) -> bool:
        """Whether the error is known."""
        return self.singles.known and self.spread.variance > 0.0


def gap_moments(sample: Sample, means: Jackknife, measure: FloatArray) -> GapMoments:
    """The gap of the means of any function of the score, and its error, in scaled scores."""
    singles = read_single_rows(means, measure)
    coefficients = signed_measure(measure)
    return GapMoments(
        value=float(measure @ means.gaps),
        shift=float(coefficients @ means.bias),
        spread=spread_of_sum(sample, means, coefficients, singles),
        singles=singles,
    )


def signed_measure(measure: FloatArray) -> FloatArray:
    """Minus Q for cells of the first group, Q for those of the second. Shape (2k,)."""
    signed: FloatArray = np.repeat(measure, 2) * np.tile([-1.0, 1.0], measure.size)
    return signed


def spread_of_sum(
    sample: Sample, means: Jackknife, coefficients: FloatArray, singles: SingleRows
) -> Spread:
    """Variance of Σ_c coefficients_c mean_c, with Satterthwaite's degrees of freedom."""
    units = means.units
    inside = np.where(np.repeat(singles.between, 2), 0.0, coefficients)
    parts = inside**2 * (means.variances + singles.pooled)
    variance = means.variance(inside) + float(inside**2 @ singles.pooled)
    likely, small = parts, ~units.single & (units.effective < 2.0 * FEW_UNITS)
    if small.any() and not units.unequal:
        likely = np.where(small, inside**2 * means.shrunk, parts)
        # Of few decisions that are all equal; one cell is enough, or many would add up.
        doubt = np.where(small, inside**2 * _rate_floor(sample, means) - likely, 0.0)
        most = int(np.argmax(doubt))
        likely[most] += max(float(doubt[most]), 0.0)
    more = max(float(likely.sum() - parts.sum()), 0.0)
    added = level_errors(means, coefficients, singles)
    between = float(added @ added)
    variance += between
    if units.crossing and between > 0.0:
        variance += shared_by_clusters(units, added)
    if not variance > 0.0:
        return Spread(0.0, 1.0, 0.0)
    # As shares of the whole, no square or cube can underflow.
    share, of_levels = parts / variance, added / math.sqrt(variance)
    against = max(_against(units, each, singles) for each in (share, likely / variance))
    against += (between / variance) ** 2 / (np.count_nonzero(added) + 1.0)
    cubes = np.sign(inside) * share**1.5 / np.sqrt(units.effective)
    return Spread(
        variance=variance,
        df=max(min(1.0 / against, _cap_of_df(sample, units, coefficients)), 1.0),
        skewness=means.skewness * float(cubes.sum()) + float((of_levels**3).sum()),
        factor=1.0 + more / variance,
        doubt=means.skewness_doubt * float(np.abs(cubes).sum()),
    )


def _rate_floor(sample: Sample, means: Jackknife) -> FloatArray:
    """Variances of rates by Agresti and Caffo, which a few equal decisions do not make 0. (2k,)."""
    if not sample.rates or means is not sample.scores:
        return np.zeros(means.variances.size)
    rate = (means.means * means.units.effective + 1.0) / (means.units.effective + 2.0)
    floor: FloatArray = rate * (1.0 - rate) / (means.units.effective + 2.0)
    return floor


def _against(units: Units, share: FloatArray, singles: SingleRows) -> float:
    """1 / df by Satterthwaite, from what every cell has of the variance (2k,)."""
    known = np.maximum(units.effective - 1.0, 0.0)
    # Of a single row the variance is that of the other group of its level, or of all cells.
    other = known.reshape(-1, 2).sum(axis=1).repeat(2)
    alone = np.where(other > 0.0, np.minimum(other, _SINGLE_FREEDOM), _SINGLE_FREEDOM)
    freedom = np.where(units.single, alone, np.maximum(known, 0.5))
    if not units.unequal:
        # Squares of estimated variances are too large by 2 / df; for one level Welch's are kept.
        of_level = np.repeat(share.reshape(-1, 2).sum(axis=1), 2)
        freedom = freedom + 2.0 * (1.0 - of_level) ** 2
    if math.isfinite(singles.together):
        alike = float(share[units.single].sum()) ** 2 / max(singles.together, 1.0)
        return alike + float((share**2 / freedom)[~units.single].sum())
    return float((share**2 / freedom).sum())


def level_errors(means: Jackknife, coefficients: FloatArray, singles: SingleRows) -> FloatArray:
    """What levels whose variance is read between levels add to the error. Shape (k,)."""
    added = np.zeros(singles.between.size)
    if not singles.between.any():
        return added
    weight = np.abs(coefficients).reshape(-1, 2).max(axis=1)
    read = singles.between & (weight > 0.0)
    figures = (coefficients * means.means).reshape(-1, 2).sum(axis=1)[read] / weight[read]
    added[read] = between_levels(weight[read], figures)
    return added


def tilt(skewness: FloatArray, confidence: float) -> FloatArray:
    """How far skewness moves the ends of an interval, in standard errors, in its shape.

    γ (2 z² + 1) / 6, the first term of the Edgeworth expansion of a studentised mean. Only the end
    that moves away is moved, and little skewness moves none: its effect on both ends together is of
    second order. Beyond γ = 1 the expansion says nothing.
    """
    z = normal_quantile(0.5 + confidence / 2.0)
    bounded = np.clip(skewness, -1.0, 1.0)
    plain = np.where(np.abs(bounded) > SKEWED, bounded, 0.0)
    moved: FloatArray = plain * (2.0 * z * z + 1.0) / 6.0
    return moved


def _cap_of_df(sample: Sample, units: Units, coefficients: FloatArray) -> float:
    """What the degrees of freedom cannot be above."""
    if units.crossing:
        return freedom_of_clusters(units, coefficients)
    smallest = float(units.effective.min())
    if sample.n_levels == 1 and smallest < FEW_UNITS and not sample.rates:
        return smallest - 1.0
    return math.inf


def freedom_of_clusters(units: Units, coefficients: FloatArray) -> float:
    """Degrees of freedom of Σ_c coefficients_c mean_c if the rows of a cluster were all alike.

    (Σ h²)² / Σ h⁴ - 2, with h what each cluster holds of the means.
    """
    assert units.cluster is not None
    held = np.abs(coefficients)[units.cell] * units.share
    squares = sums_by(units.cluster, held, int(units.cluster.max()) + 1) ** 2
    against = float((squares**2).sum())
    return float(squares.sum()) ** 2 / against - 2.0 if against > 0.0 else math.inf


def level_shares(means: Jackknife) -> FloatArray:
    """What each group adds to the variance of every level, as a share. Shape (k, 2)."""
    parts = means.variances.reshape(-1, 2)
    whole = parts.sum(axis=1, keepdims=True)
    shares: FloatArray = parts / np.where(whole > 0.0, whole, 1.0)
    return shares


def level_freedom(means: Jackknife) -> FloatArray:
    """Welch's degrees of freedom of every level, at least 1. Shape (k,)."""
    known = np.maximum(means.units.effective - 1.0, 0.5).reshape(-1, 2)
    against = (level_shares(means) ** 2 / known).sum(axis=1)
    freedom: FloatArray = 1.0 / np.where(against > 0.0, against, 1.0)
    return np.maximum(freedom, 1.0)


def level_variances(means: Jackknife) -> FloatArray:
    """Variance of the gap of every level, with what its groups share by clusters. Shape (k,)."""
    units = means.units
    separate: FloatArray = means.variances.reshape(-1, 2).sum(axis=1)
    if not units.crossing:
        return separate
    assert units.cluster is not None
    level, side = np.divmod(units.cell, 2)
    _, shared = np.unique(
        level * (int(units.cluster.max()) + 1) + units.cluster, return_inverse=True
    )
    added = sums_by(shared, np.where(side == 1, 1.0, -1.0) * means.residuals, int(shared.max()) + 1)
    of_level = np.zeros(added.size, np.int64)
    of_level[shared] = level
    return sums_by(of_level, added**2, separate.size)


MOST_WORTH = 4.0
"""A rate is worth at most this many times the decisions it was made of."""


def check_confidence(confidence: float) -> None:
    """Raise unless it is a probability strictly between 0 and 1."""
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie between 0 and 1, not {confidence}.")


def simultaneous_confidence(confidence: float, figures: int) -> float:
    """The confidence each of several intervals needs for all of them to hold together.

    1 - (1 - confidence) / figures: whichever is singled out afterwards, its interval still holds.
    """
    check_confidence(confidence)
    return 1.0 - (1.0 - confidence) / max(figures, 1)


def wilson_limits(
    rates: FloatArray, rows: FloatArray, z: float, *, continuity: BoolArray | bool = False
) -> tuple[FloatArray, FloatArray]:
    """Wilson's limits of rates, in the shape of the rates.

    The two p at which |p̂ - p| - κ / n = z √(p (1 - p) / n), with κ = ½ to be correct for the steps
    of a few decisions, else 0.
    """
    step = np.where(continuity, 0.5 / rows, 0.0)
    ends = [
        _wilson_end(np.clip(rates + side * step, 0.0, 1.0), rows, side * z) for side in (-1.0, 1.0)
    ]
    return np.clip(ends[0], 0.0, rates), np.clip(ends[1], rates, 1.0)


def _wilson_end(rates: FloatArray, rows: FloatArray, z: float) -> FloatArray:
    """The root p of (p̂ - p)² = z² p (1 - p) / n on the side of the sign of z."""
    reach = z * np.sqrt(rates * (1.0 - rates) / rows + z * z / (4.0 * rows**2))
    end: FloatArray = (rates + z * z / (2.0 * rows) + reach) / (1.0 + z * z / rows)
    return end


def sum_limits(
    rates: FloatArray, low: FloatArray, high: FloatArray, correlation: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Limits of second rate minus first from the limits of both, shape (k,) each."""
    below, above = rates - low, high - rates
    gap = rates[:, 1] - rates[:, 0]
    down = _joined(below[:, 1], above[:, 0], correlation)
    up = _joined(above[:, 1], below[:, 0], correlation)
    return np.maximum(gap - down, -1.0), np.minimum(gap + up, 1.0)


def _joined(first: FloatArray, second: FloatArray, correlation: FloatArray) -> FloatArray:
    squared = first**2 + second**2 - 2.0 * correlation * first * second
    joined: FloatArray = np.sqrt(np.maximum(squared, 0.0))
    return joined


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


Paradox = Literal["none", "masked", "reversed"]
"""What looking at all rows hides.

Examples
--------
>>> import likeforlike as lfl
>>> from likeforlike.datasets import load_loans
>>> roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
>>> lfl.audit(load_loans(1000).frame, **roles).contrasts[0].paradox
'masked'
"""


@dataclass(frozen=True, slots=True)
class Simpson:
    """The gap among all rows next to the gap among equals.

    Attributes
    ----------
    kind : "reversed", "masked" or "none".
    overall : the gap between all rows of the groups, in levels where both occur.
    conditional : the gap among equals.

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

    kind: Paradox
    overall: Gap
    conditional: Gap


def compare_gaps(contrast: Contrast, measure: FloatArray, *, confidence: float = 0.95) -> Simpson:
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
    >>> cells = Cells.from_rows(np.arange(40) % 7, np.arange(40) % 2)
    >>> compare_gaps(contrasts(cells, "pairwise")[0], np.ones(1)).kind
    'none'
    """
    return simpson_of_sample(take_sample(contrast), measure, confidence)


def simpson_of_sample(sample: Sample, measure: FloatArray, confidence: float) -> Simpson:
    """The same for a sample that was taken already."""
    check_confidence(confidence)
    pooled = sample.pooled()
    conditional = gap_of_sample(sample, sample.scores, measure, confidence, rates=sample.rates)
    overall = gap_of_sample(pooled, pooled.scores, np.ones(1), confidence, rates=sample.rates)
    return Simpson(_kind(sample, measure, overall, conditional), overall, conditional)


def _kind(sample: Sample, measure: FloatArray, overall: Gap, conditional: Gap) -> Paradox:
    low, high = conditional.interval
    if sample.n_levels < 2 or low <= 0.0 <= high or not math.isfinite(conditional.error):
        return "none"
    sign = math.copysign(1.0, low)
    if max(sign * overall.interval[0], sign * overall.interval[1]) < 0.0:
        return "reversed"
    half, whole = 0.5 * sample.scaled(conditional.value), sample.scaled(overall.value)
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
    """Covariance of the gap among all rows and the gap among equals, shape (2, 2)."""
    singles = read_single_rows(sample.scores, measure)
    parts = np.stack([_to_overall(sample), _to_conditional(sample, measure)])
    units = sample.units
    together = singles.between[units.cell // 2]
    # Levels whose variance is read between levels are one unit each.
    of_level = units.cell[together] // 2
    levels = np.stack(
        [
            sums_by(of_level, (units.times * parts[0])[together], measure.size),
            level_errors(sample.scores, signed_measure(measure), singles),
        ]
    )
    apart, times = parts[:, ~together], units.times[~together]
    if units.cluster is not None:
        cluster = units.cluster[~together]
        n_clusters = int(units.cluster.max()) + 1
        apart = np.stack([sums_by(cluster, part, n_clusters) for part in apart])
        times = np.ones(n_clusters)
    covariance: FloatArray = (apart * times) @ apart.T + levels @ levels.T
    if sample.inside is not None:
        # Rows around the means of their bins.
        side = np.where(sample.cell % 2 == 1, 1.0, -1.0)
        totals = sums_by(sample.cell % 2, sample.mass, 2)[sample.cell % 2]
        among_equals = signed_measure(measure)[sample.cell] * units.lever
        slopes = np.stack([side / totals, among_equals / sample.totals[sample.cell]])
        covariance += (
            slopes * np.where(together, 0.0, sample.counts * sample.inside[0])
        ) @ slopes.T
    return covariance


def _to_overall(sample: Sample) -> FloatArray:
    """What each unit adds to the gap among all rows. Shape (u,)."""
    side = sample.cell % 2
    totals = sums_by(side, sample.mass, 2)
    means = sums_by(side, sample.mass * sample.values, 2) / totals
    added = np.where(side == 1, 1.0, -1.0) * (sample.values - means[side])
    return sample.by_unit(added * sample.mass / totals[side])


def _to_conditional(sample: Sample, measure: FloatArray) -> FloatArray:
    """What each unit adds to the gap among equals. Shape (u,)."""
    means, level = sample.scores, sample.cell // 2
    apart = measure * (means.gaps - float(measure @ means.gaps))
    of_level = sample.totals.reshape(-1, 2).sum(axis=1)
    chance = sample.by_unit((apart / of_level)[level] * sample.mass)
    inside: FloatArray = signed_measure(measure)[sample.units.cell] * means.residuals
    return inside + chance
