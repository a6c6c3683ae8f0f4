"""How far apart two groups are among equals: an estimate of the distance, with an interval.

    D = (Σ_l Q(l) W_1(l)²)^½,

the root mean square over levels of W_1 between the groups, in units of the score: the shift where
one group is shifted against the other, the absolute gap of the rates where scores are decisions.
W_1 has a limit distribution for scores of any kind, with or without atoms.

The upper end says how large a distance the data still allow (`bias`). The lower end is the largest
of three bounds that hold together (`lower_end`). Where scores were rounded to bins, the upper end
is that of the rows behind the counts whose distances are largest (`disparity._rounding`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._contrasts import Contrast
from likeforlike.inference._bias import (
    SquaredDistance,
    fill_levels,
    filled,
    largest_distance,
    unbiased_distance,
)
from likeforlike.inference._distance_parts import DistanceParts, distance_parts
from likeforlike.inference._gap import ALL_EQUAL, HEAVY_WEIGHTS, Gap, gap_of_sample
from likeforlike.inference._gap_moments import SKEWED
from likeforlike.inference._intervals import check_confidence
from likeforlike.inference._lower_end import lower_end
from likeforlike.inference._noise import DRAWS
from likeforlike.inference._replicates import Progress
from likeforlike.inference._single_rows import between_levels, single_levels
from likeforlike.inference._student import normal_quantile, t_quantile
from likeforlike.inference._units import Sample, take_sample

# A value is given where at least so much of the measure shows how much people differ.
_ENOUGH_REPLICATED = 0.5
# How far levels may lie from what was seen: each within its own interval, one-sided.
_ALLOWED = 0.8
# The degrees of freedom depend on the end, and the end on them.
_ROUNDS, _SAME_FREEDOM = 4, 0.01
# Standard errors beyond which the direction of a level is known, and the largest skewness of a mean
# that counts: that of three log-normal rows.
_CLEAR, _MOST_SKEWED = 2.0, 4.0


@dataclass(frozen=True, slots=True)
class DistanceEstimate:
    """Distance between two groups among equals, in units of the score.

    Attributes
    ----------
    value : D without small-sample bias; `None` when less than half of the measure lies in levels
        with at least two rows of each group.
    interval : confidence interval for D; the upper end is infinite where the data set no limit.
    squared : Σ_l Q(l) Ŵ_1(l)² minus its mean at parity. At parity it is negative half of the time;
        averages over audits should be taken of this.
    replicated : share of the measure in levels with at least two rows (clusters) of each group.
    reason : what a reader of the interval should know, or `None`.
    confidence : nominal coverage of the interval.
    distance : what is measured in each level.
    rounding : what the interval allows for scores that were rounded; 0 if they are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import estimate_distance
    >>> cells = Cells.from_rows([0] * 10, ["f", "m"] * 5)
    >>> unknown = estimate_distance(contrasts(cells, "pairwise")[0], np.ones(1))
    >>> unknown.value, unknown.interval[0], round(unknown.interval[1], 3)
    (0.0, 0.0, 0.537)
    """

    value: float | None
    interval: tuple[float, float]
    squared: float
    replicated: float
    reason: str | None
    confidence: float
    distance: Literal["W1"] = "W1"
    rounding: float = 0.0


def estimate_distance(
    contrast: Contrast,
    measure: FloatArray,
    *,
    confidence: float = 0.95,
    draws: int = DRAWS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> DistanceEstimate:
    """Estimate (Σ_l Q(l) W_1(l)²)^½ without small-sample bias, with an interval.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l).
    confidence : nominal coverage of the interval, in (0, 1).
    draws : how often noise is drawn, at least 2.
    random_state : the same seed gives the same result on any number of threads.
    progress : called with the number of draws done.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import estimate_distance
    >>> scores = np.r_[np.arange(100), np.arange(100) + 20] / 100
    >>> contrast = contrasts(Cells.from_rows(scores, ["f"] * 100 + ["m"] * 100), "pairwise")[0]
    >>> found = estimate_distance(contrast, np.ones(1))
    >>> found.interval[0] < 0.2 < found.interval[1], found.replicated
    (True, 1.0)
    """
    check_confidence(confidence)
    sample = take_sample(contrast)
    replicated = float(measure[~single_levels(sample.units)].sum())
    gap = gap_of_sample(sample, sample.scores, measure, confidence, rates=sample.rates)
    if sample.constant:
        return DistanceEstimate(0.0, (0.0, math.inf), 0.0, replicated, ALL_EQUAL, confidence)
    if sample.rates and sample.n_levels == 1:
        return _folded(gap, replicated)
    if not sample.scores.variances.any() and not sample.rates and replicated > 0.0:
        return _without_spread(sample, measure, gap, replicated)
    parts = distance_parts(sample, measure, draws=draws, seed=random_state, progress=progress)
    known = _squared_distance(parts)
    lower = lower_end(parts, confidence)
    upper = math.inf
    if parts.singles.known:
        rounded = known if sample.moved is None else known._replace(total=_largest_total(parts))
        # D is never below the signed gap, whose interval knows of skewed scores.
        most = sample.scaled(max(gap.interval[1], -gap.interval[0]))
        upper = max(_upper_end(parts, rounded, confidence) + sample.unsteady, most)
    error = sample.scaled(gap.error)
    least = max(sample.scaled(gap.value) ** 2 - error * error, 0.0)
    value = max(unbiased_distance(known), math.sqrt(least))
    return DistanceEstimate(
        value=sample.unscaled(value) if replicated >= _ENOUGH_REPLICATED else None,
        interval=(sample.unscaled(lower), sample.unscaled(max(lower, upper))),
        squared=sample.unscaled(sample.unscaled(known.total - known.noise)),
        replicated=replicated,
        reason=_reason(sample, replicated),
        confidence=confidence,
        rounding=sample.unscaled(_rounding(sample, measure)),
    )


def _rounding(sample: Sample, measure: FloatArray) -> float:
    """By how much D of the rows may be above that of rounded scores, and what chance adds to it."""
    if sample.moved is None:
        return 0.0
    return math.sqrt(float(measure @ sample.moved[:, 1] ** 2)) + sample.unsteady


def _folded(gap: Gap, replicated: float) -> DistanceEstimate:
    """The distance between the decisions of one level is the absolute gap of their rates."""
    low, high = gap.interval
    return DistanceEstimate(
        value=abs(gap.value) if replicated >= _ENOUGH_REPLICATED else None,
        interval=(max(0.0, low, -high), max(-low, high)),
        squared=gap.value * gap.value - gap.error * gap.error,
        replicated=replicated,
        reason=gap.reason,
        confidence=gap.confidence,
    )


def _without_spread(
    sample: Sample, measure: FloatArray, gap: Gap, replicated: float
) -> DistanceEstimate:
    """Scores that differ between cells, but in no cell, do not show how far chance goes."""
    squared = float(measure @ sample.scores.gaps**2)
    return DistanceEstimate(
        value=sample.unscaled(math.sqrt(squared)) if replicated >= _ENOUGH_REPLICATED else None,
        interval=(0.0, math.inf),
        squared=sample.unscaled(sample.unscaled(squared)),
        replicated=replicated,
        reason=gap.reason,
        confidence=gap.confidence,
    )


def _reason(sample: Sample, replicated: float) -> str | None:
    alone = 1.0 - replicated
    if alone > 1e-9:
        return (
            f"{alone:.0%} of the measure sits in levels with a single row of a group; there spread "
            "between people and a disparity cannot be separated. The upper end counts all of it as "
            "disparity. Use the signed gap."
        )
    return HEAVY_WEIGHTS if sample.heavy else None


def _squared_distance(parts: DistanceParts) -> SquaredDistance:
    """What is known of T = Σ_l Q(l) Ŵ_1(l)², in scaled scores."""
    measure, inside = parts.measure, parts.inside
    squares, noise = parts.merged.distances**2, parts.noise
    floor, chance = parts.floors
    # Each way of looking at the variance may miss some of it; the largest is taken.
    signs = np.where(parts.scores.gaps >= 0.0, 1.0, -1.0)
    slope = max(
        parts.variance(parts.potential, inside),
        parts.variance(parts.scores, inside * signs),
        parts.variance(parts.potential, inside * parts.allocation),
        *(parts.variance(parts.potential, inside * shared) for shared in parts.other_allocations),
    )
    spread = float(noise.totals[:, 1].var(ddof=1)) * _more_by_estimation(parts)
    if parts.singles.between.any():
        read = parts.singles.between & (measure > 0.0)
        added = between_levels(measure[read], squares[read])
        spread += float(added @ added)
    return SquaredDistance(
        total=float(measure @ squares),
        noise=float(noise.totals[:, 0].mean()),
        floor=floor,
        chance=chance,
        slope=slope,
        spread=spread,
    )


def _largest_total(parts: DistanceParts) -> float:
    """The largest T of any rows behind the counts, where scores were rounded."""
    assert parts.sample.moved is not None
    largest = parts.merged.distances + parts.sample.moved[:, 1]
    return float(parts.measure @ largest**2)


def _more_by_estimation(parts: DistanceParts) -> float:
    """How much more T - c varies than T does, since c is estimated from the same rows.

    By 2 / df, whatever the kurtosis of the scores: what that adds to the variance of a squared gap
    the estimate of its bias takes off.
    """
    weight = (parts.inside * parts.noise.levels) ** 2
    if not weight.sum() > 0.0:
        return 1.0
    return 1.0 + float(weight @ (2.0 / parts.level_freedom)) / float(weight.sum())


def _upper_end(parts: DistanceParts, known: SquaredDistance, confidence: float) -> float:
    """The upper end of the interval of D, in scaled scores.

    Rounded scores leave open whether the worst allocation decides; it may.
    """
    # Scores have unit reach, so that no mean varies by more than 1, whatever weights make of it.
    variances = np.minimum(parts.level_variances, 1.0)
    likely = np.minimum(parts.likely_variances, 1.0)
    distances, measure = parts.merged.distances, parts.inside
    rounded = parts.sample.moved is not None
    reach = t_quantile(_ALLOWED, parts.level_freedom) * np.sqrt(np.maximum(variances, likely))
    low = np.maximum(distances - np.sqrt(parts.noise.levels) - reach, 0.0)
    high = np.minimum(distances + reach, 1.0)
    levels = measure * likely, measure * np.minimum(low, high) ** 2, measure * high**2
    if rounded:
        # What rows allow is not known of counts; the level that would be worst may have it all.
        alone = np.arange(measure.size) == np.argmax(levels[0])
        levels = levels[0], np.zeros(measure.size), alone.astype(np.float64)
    known = known._replace(worst=fill_levels(*levels))
    # A slope below that of G, which is a line then, changes nothing.
    apart = rounded and known.slope > 0.99 * known.steepest
    every = [known, known._replace(slope=0.0)] if apart else [known]
    return max(0.0, *(_upper_end_by(parts, each, levels, variances, confidence) for each in every))


def _upper_end_by(
    parts: DistanceParts,
    known: SquaredDistance,
    levels: tuple[FloatArray, FloatArray, FloatArray],
    variances: FloatArray,
    confidence: float,
) -> float:
    """The upper end, given how T varies where the allocation is that of the scores.

    Where the worst allocation that the levels allow decides, its degrees of freedom count, and so
    does its skewness: the mean of a few rows with a long tail mostly lies below the truth.
    """
    measure, rounded = parts.inside, parts.sample.moved is not None
    shared = [parts.allocation, *parts.other_allocations]
    usual = min(parts.freedom(measure * each) for each in shared)
    freedom, skewed = usual, 0.0
    for _ in range(_ROUNDS):
        quantile = float(t_quantile(0.5 + confidence / 2.0, freedom))
        upper = largest_distance(known, quantile + skewed)
        square = np.array(upper * upper)
        if known.gain(square) <= known.slope * square:
            break
        part = filled(*levels, upper * upper) * measure * variances
        against = float((part**2 / (parts.level_freedom + 2.0)).sum())
        worst = float(part.sum()) ** 2 / against if against > 0.0 else math.inf
        if rounded:
            # Those of the rows cannot be fewer than those of the smallest level.
            worst = min(worst, float(parts.level_freedom[measure > 0.0].min()) + 2.0)
        before = freedom, skewed
        freedom = min(usual, max(worst, 2.0))
        skewed = max(skewed, _tilt_of_worst(parts, part, confidence))
        if max(abs(freedom - before[0]), abs(skewed - before[1])) < _SAME_FREEDOM:
            break
    return upper


def _tilt_of_worst(parts: DistanceParts, part: FloatArray, confidence: float) -> float:
    """How far skewed scores move the upper end, in standard errors, as `tilt` moves that of a gap.

    `part` (k,) is what levels have of the variance. A level whose direction is not clear counts as
    if skewness hid some of its gap.
    """
    scores, effective = parts.scores, parts.sample.units.effective
    if parts.sample.rates or not part.sum() > 0.0:
        return 0.0
    cells = scores.shrunk.reshape(-1, 2)
    inside = cells / np.maximum(cells.sum(axis=1, keepdims=True), 1e-300)
    share = (part[:, None] / part.sum() * inside) ** 1.5 / np.sqrt(effective.reshape(-1, 2))
    clear = np.abs(scores.gaps) > _CLEAR * np.sqrt(parts.likely_variances)
    found, doubt = scores.skewness_inside
    directed = []
    for inside_cells in {found - doubt, found + doubt}:
        hidden = inside_cells * (share[:, 1] - share[:, 0])
        directed.append(np.where(clear, np.sign(scores.gaps) * hidden, np.abs(hidden)).sum())
    skewness = min(float(max(directed)), _MOST_SKEWED)
    z = normal_quantile(0.5 + confidence / 2.0)
    return skewness * (2.0 * z * z + 1.0) / 6.0 if skewness > SKEWED else 0.0
