"""The signed gap and its error: variance, degrees of freedom, skewness.

    Δ = Σ_l Q(l) (m_1l - m_0l)

is a sum of means of cells. Its variance is that of the jackknife by unit (`units`), with what is
known of single rows (`single_rows`); its degrees of freedom are those of Satterthwaite, which for
one level are Welch's.

References: Welch (1947), *The generalization of Student's problem*; Satterthwaite (1946), *An
approximate distribution of estimates of variance components*; Hall (1992), *On the removal of
skewness by transformation*.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.inference._single_rows import (
    SingleRows,
    between_levels,
    read_single_rows,
    shared_by_clusters,
)
from likeforlike.inference._student import normal_quantile
from likeforlike.inference._units import Jackknife, Sample, Units
from likeforlike.transport._atoms import sums_by

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
