"""Estimates from noisy counts: the signed gap, the distance, and what would have been observed.

The statistics are those of `inference` (gap, root mean square of W_1, its bias and both ends of its
interval), with the noise of the custodian next to that of sampling in every variance, and with what
is not known inside the bins of scores at both ends (`NoisyPair.moved_inside`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.inference._bias import SquaredDistance, largest_distance, unbiased_distance
from likeforlike.inference._distance import DistanceEstimate
from likeforlike.inference._gap import Gap
from likeforlike.inference._lower_end import smallest_gap
from likeforlike.inference._student import normal_quantile
from likeforlike.teams._noisy_pair import LevelMeans, NoisyPair

DRAWS = 200
"""How often noise is drawn."""


class Estimates(NamedTuple):
    """What is said of two groups.

    Attributes
    ----------
    gap, distance : with intervals.
    sampling, noise : standard errors of the gap, from sampling and from the custodian.
    observed : (K,) floats, W_1 of each level as it would be without the custodian's noise.
    """

    gap: Gap
    distance: DistanceEstimate
    sampling: float
    noise: float
    observed: FloatArray


def estimate(pair: NoisyPair, confidence: float, rng: np.random.Generator) -> Estimates:
    """Gap and distance of two groups, with intervals that hold for sampling and noise together."""
    measure, scores = pair.measure, pair.scores
    value = float(measure @ scores.gaps)
    sampling, noise = (float(measure**2 @ part) for part in (scores.sampling, scores.noise))
    error = math.sqrt(sampling + noise)
    reach = normal_quantile(0.5 + confidence / 2.0) * error + pair.moved_inside[0]
    gap = Gap(value, (value - reach, value + reach), error, math.inf, "t", confidence)
    distance = _distance(pair, gap, rng)
    return Estimates(gap, distance, math.sqrt(sampling), math.sqrt(noise), observed(pair, rng))


def observed(pair: NoisyPair, rng: np.random.Generator) -> FloatArray:
    """W_1 of each level without what the custodian's noise adds, (K,).

    Noise adds about its square to the square of W_1, and adding it once more shows how much.
    """
    squares = pair.distances**2
    left: FloatArray = np.sqrt(np.maximum(2.0 * squares - pair.with_more_noise(rng, DRAWS), 0.0))
    return left


def _distance(pair: NoisyPair, gap: Gap, rng: np.random.Generator) -> DistanceEstimate:
    measure, confidence = pair.measure, gap.confidence
    known = _squared(pair, rng)
    quantile = normal_quantile(0.5 + confidence / 2.0)
    lower = _lower_end(pair, confidence)
    upper = largest_distance(known, quantile)
    # D is never below the signed gap.
    least = math.sqrt(max(gap.value**2 - gap.error**2, 0.0))
    inside = pair.moved_inside[1]
    return DistanceEstimate(
        value=max(unbiased_distance(known), least),
        interval=(max(0.0, lower - inside), max(lower, upper) + inside),
        squared=known.total - known.noise,
        replicated=float(measure.sum()),
        reason=None,
        confidence=confidence,
        rounding=inside,
    )


def _squared(pair: NoisyPair, rng: np.random.Generator) -> SquaredDistance:
    """What is known of T = Σ_l Q(l) Ŵ_1(l)², as `inference` has it."""
    measure, drawn = pair.measure, pair.draw(rng, DRAWS)
    potential = pair.means(pair.potential(pair.own_heights)).variances
    totals = drawn.squares @ measure
    noise = float(totals.mean())
    excess = np.maximum(pair.distances**2 - drawn.squares.mean(axis=0), 0.0)
    whole = float(measure @ excess)
    allocation = np.sqrt(excess / whole) if whole > 0.0 else np.ones(excess.size)
    slope = max(
        float(measure**2 @ potential),
        float(measure**2 @ pair.scores.variances),
        float((measure * allocation) ** 2 @ potential),
    )
    return SquaredDistance(
        total=float(measure @ pair.distances**2),
        noise=noise,
        floor=min(1.0, float(measure @ potential) / noise) if noise > 0.0 else 1.0,
        chance=min(1.0, float(measure @ drawn.potential) / noise) if noise > 0.0 else 1.0,
        slope=slope,
        spread=float(totals.var(ddof=1)),
    )


def _lower_end(pair: NoisyPair, confidence: float) -> float:
    """The largest of three bounds, each at a third of the error allowed (`inference`)."""
    quantile = normal_quantile(0.5 + (1.0 - (1.0 - confidence) / 3.0) / 2.0)
    bounds = [
        _away_from_0(pair.measure, means, quantile) for means in (pair.scores, pair.from_median)
    ]
    return max(*bounds, _of_squares(pair.measure, pair.scores, quantile))


def _away_from_0(measure: FloatArray, means: LevelMeans, quantile: float) -> float:
    error = math.sqrt(float(measure**2 @ means.variances))
    return max(0.0, abs(float(measure @ means.gaps)) - quantile * error)


def _of_squares(measure: FloatArray, means: LevelMeans, quantile: float) -> float:
    """Lower bound for the root mean square of the gaps by level."""
    variances = means.variances
    total, noise = float(measure @ means.gaps**2), float(measure @ variances)
    if not total > noise:
        return 0.0
    slope = max(
        float(measure**2 @ variances),
        float((measure * means.gaps) ** 2 @ variances) / total,
    )
    spread = float((2.0 * (measure * variances) ** 2).sum())
    return smallest_gap(total, noise, slope, spread, quantile)
