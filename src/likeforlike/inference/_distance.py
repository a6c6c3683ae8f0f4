"""The distance between two groups among equals: an estimate without bias, and an interval.

    D = (Σ_l Q(l) W_1(l)²)^½.    The plug-in T = Σ_l Q(l) Ŵ_1(l)² has mean and variance

    μ(d) = d² + c ψ(d / √c),    ψ = ψ_0 + (r̂ - ψ_0 r_0),    s²(d) = 4 max(κ d², G(d²)) + ν.

c is the mean of the squared noise (`_bootstrap`). Far from parity W_1 is a difference of means of
the potential with variance r c; in between some signs of F_0 - F_1 are noise, for which ψ_0 falls
from 1 to 0. r̂ is the r seen, r_0 what it would be if all signs were noise. ψ_0 is an envelope read
off Brownian bridges, not a theorem: at most .04 c below their bias. κ is for the ways in which d
seems to be allocated to levels, G for the worst that their own intervals allow,

    G(d²) = max Σ_l Q(l) v_l x_l    over    Σ_l x_l = d²,    low_l <= x_l <= high_l,

a knapsack filled in the order of Q(l) v_l. The upper end is the largest d at which a T as small as
the one seen is not yet too rare, on the scale of the root, with s taken at d.

W_1 is the largest gap of all 1-Lipschitz functions (Kantorovich and Rubinstein), so each gap is a
lower bound. The largest of three counts, each at a third of the error allowed: |Δ| of the signed
gap; the root mean square of the gaps by level; the gap of the distances from the median of the
level. With bins of width w and sums inside, the last is lowered by w, since rows are w / 2 from
their mean at most, on average; the second has fewer degrees of freedom; and the upper end is that
of the rows behind the counts whose distances are largest (`disparity._float_noise`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray, plain
from likeforlike.disparity import Contrast
from likeforlike.inference._bootstrap import (
    DRAWS,
    LevelOrder,
    mean_variance_factors,
    merge_levels,
    multiplier_bootstrap,
)
from likeforlike.inference._gap import (
    ALL_EQUAL,
    HEAVY_WEIGHTS,
    SKEWED,
    Gap,
    check_confidence,
    cluster_df,
    compare_means,
    contrast_coefficients,
)
from likeforlike.inference._random import Progress
from likeforlike.inference._sample import (
    Jackknife,
    Sample,
    Singletons,
    between_level_residuals,
    singleton_variances,
    take_sample,
)
from likeforlike.inference._tails import normal_quantile, t_quantile
from likeforlike.transport import segment_sums

# In how many levels, those of fewest rows, rounding may hide a distance.
_SMALLEST = 50


@dataclass(frozen=True)
class LevelDistances:
    """W_1 in k levels and the variance of sums of them, in scaled scores.

    Attributes
    ----------
    merged : the rows of the levels, in order.
    measure : (k,) floats, Q(l).
    singles : where the variance of levels with a single unit of a group comes from.
    potential : jackknife of the potential.
    noise : (k,) floats, mean of the squared noise of each level.
    totals : (draws, 3) floats, its mean over all levels, those `inside`, and replicated ones.
    potential_noise : variance of the mean potential of noise.
    """

    merged: LevelOrder
    measure: FloatArray
    singles: Singletons
    potential: Jackknife
    noise: FloatArray
    totals: FloatArray
    potential_noise: float

    @property
    def sample(self) -> Sample:
        """The rows."""
        return self.merged.sample

    @property
    def scores(self) -> Jackknife:
        """Jackknife of the scores."""
        return self.sample.scores

    @property
    def inside(self) -> FloatArray:
        """Q of the levels whose variance is not read between levels, 0 for others. Shape (k,)."""
        inside: FloatArray = np.where(self.singles[0], 0.0, self.measure)
        return inside

    @cached_property
    def allocations(self) -> list[FloatArray]:
        """How the distance may be allocated to levels, (k,) each; the mean square of each is 1.

        The first is what it seems to be. If scores were rounded, there follow those where one level
        is as far apart as its rows may be, and the others are as little. A level of few rows that
        holds more of the distance than it seems makes its variance larger, and leaves fewer
        degrees of freedom.
        """
        distances = self.merged.distances
        apart = [distances]
        if self.sample.moved is not None:
            below, above = self.sample.moved.T
            least = np.maximum(distances - below, 0.0)
            for level in np.argsort(self.level_df, kind="stable")[:_SMALLEST]:
                apart.append(least.copy())
                apart[-1][level] = distances[level] + above[level]
        found = []
        for each in apart:
            excess = np.maximum(each**2 - self.noise, 0.0)
            whole = float(self.inside @ excess)
            if whole > 0.0:
                found.append(np.sqrt(excess / whole))
            elif not found:
                found.append(np.ones(excess.size))
        return found

    @cached_property
    def _caution(self) -> tuple[FloatArray, FloatArray]:
        """Factors and addends that keep the variance of a rate above Agresti and Caffo's."""
        variances, effective = self.scores.variances, self.sample.units.effective
        if not self.sample.rates:
            return np.ones(variances.size), self.singles[1]
        rate = (self.scores.means * effective + 1.0) / (effective + 2.0)
        least = rate * (1.0 - rate) / (effective + 2.0)
        seen = variances > 0.0
        factors = np.sqrt(np.maximum(least, variances) / np.where(seen, variances, 1.0))
        more = np.maximum(np.where(seen, 0.0, least), self.singles[1])
        return np.where(seen, factors, 1.0), more

    def variance(self, means: Jackknife, allocation: FloatArray) -> float:
        """Return the variance of Σ_l allocation_l (mean_1 - mean_0)_l, allocation (k,)."""
        coefficients = contrast_coefficients(allocation)
        factors, more = self._caution
        return means.variance(coefficients * factors) + float(coefficients**2 @ more)

    @cached_property
    def level_variances(self) -> FloatArray:
        """Variance of W_1 in each level, by the potential or the scores, whichever is larger. (k,).

        Clusters that lie in several levels enlarge it by what they add to the whole.
        """
        factors, more = self._caution
        by_scores = (self.scores.variances * factors**2 + more).reshape(-1, 2).sum(axis=1)
        by_potential = self.potential.variances.reshape(-1, 2).sum(axis=1)
        variances: FloatArray = np.maximum(by_scores, by_potential)
        if self.sample.units.crossing:
            alone = float(self.inside**2 @ variances)
            together = self.variance(self.potential, self.inside)
            variances = variances * max(1.0, together / alone if alone > 0.0 else 1.0)
        return variances

    @cached_property
    def likely_variances(self) -> FloatArray:
        """The same with the variances of cells `Jackknife.shrunk`. Shape (k,).

        The potential is 1-Lipschitz, so that of plain rows it varies by no more than the scores.
        """
        factors, more = self._caution
        by_scores = np.where(more > 0.0, more, self.scores.shrunk * factors**2)
        likely: FloatArray = by_scores.reshape(-1, 2).sum(axis=1)
        if self.sample.units.unequal:
            likely = np.maximum(likely, self.potential.shrunk.reshape(-1, 2).sum(axis=1))
        return likely

    @cached_property
    def level_df(self) -> FloatArray:
        """Degrees of freedom of the variance of each level, cautiously. Shape (k,)."""
        least = self.sample.units.effective.reshape(-1, 2).min(axis=1)
        freedom: FloatArray = np.maximum(2.0 * least - 2.0, 1.0)
        return freedom

    def satterthwaite_df(self, allocation: FloatArray) -> float:
        """Return the degrees of freedom of Σ_l allocation_l W_1(l), allocation (k,)."""
        units = self.sample.units
        parts = allocation**2 * self.potential.variances.reshape(-1, 2).sum(axis=1)
        # Squares of estimated variances are too large by 2 / df.
        known = self.level_df + (0.0 if units.unequal else 2.0)
        against = float((parts**2 / known).sum())
        freedom = float(parts.sum()) ** 2 / against if against > 0.0 else math.inf
        if units.crossing:
            freedom = min(freedom, cluster_df(units, contrast_coefficients(allocation)))
        return max(freedom, 2.0)

    def potential_shares(self) -> tuple[float, float]:
        """Return the variance of the mean potential over the noise: as seen, and by chance."""
        noise = float(self.totals[:, 0].mean())
        if not noise > 0.0:
            return 1.0, 1.0
        sample, potential = self.sample, self.merged.potential
        weights = np.repeat(self.measure, 2)
        squares = np.repeat(self.potential.means, np.diff(sample.offsets))
        np.square(np.subtract(potential, squares, out=squares), out=squares)
        mass = plain(sample.mass).astype(np.float64, copy=False)
        inside = segment_sums(mass, squares, sample.offsets) / sample.totals
        seen = float(weights @ (inside * mean_variance_factors(sample.units)))
        full = float(weights @ self.potential.variances)
        # The chance of noise was found without weights and clusters; both add the same factor.
        factor = full / seen if seen > 0.0 else 1.0
        return min(1.0, full / noise), min(1.0, self.potential_noise * factor / noise)


def measure_levels(
    sample: Sample,
    measure: FloatArray,
    *,
    draws: int,
    seed: int,
    progress: Progress | None = None,
) -> LevelDistances:
    """Measure W_1 in each level, and bootstrap its noise."""
    merged = merge_levels(sample)
    singles = singleton_variances(sample.scores, measure)
    inside = np.where(singles[0], 0.0, measure)
    replicated = np.where(sample.units.single_levels, 0.0, measure)
    measures = np.stack([measure, inside, replicated])
    noise, totals, potential_noise = multiplier_bootstrap(
        merged, measures, draws=draws, random_state=seed, progress=progress
    )
    if sample.inside is not None:
        # Means inside bins move W_1 as they move a gap.
        added = sample.variances_inside.reshape(-1, 2).sum(axis=1)
        signs = np.random.default_rng(seed % 2**64).standard_normal((len(totals), added.size))
        noise, totals = noise + added, totals + (signs**2 * added) @ measures.T
        potential_noise += float(measure @ added)
    potential = sample.jackknife(merged.potential)
    return LevelDistances(merged, measure, singles, potential, noise, totals, potential_noise)


_RATIOS = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0])
_ENVELOPE = np.array([1.0, 0.97, 0.887, 0.763, 0.619, 0.35, 0.165, 0.02, 0.0])

_GRID = 200
_BISECTIONS, _AHEAD = 40, 5


@dataclass(frozen=True)
class SquaredDistance:
    """Moments of T = Σ_l Q(l) Ŵ_1(l)² as functions of the distance d.

    Attributes
    ----------
    total : T.
    noise : c, its mean at parity.
    floor : r, variance of the mean potential as a share of the noise, in [0, 1].
    chance : what r would be at parity, in [0, 1].
    slope : κ, a quarter of the variance gained per d².
    spread : ν, the variance at parity.
    worst : (2, j) floats, the corners of G: d², rising, and G there.
    """

    total: float
    noise: float
    floor: float
    chance: float
    slope: float
    spread: float
    worst: FloatArray = field(default_factory=lambda: np.zeros((2, 1)))

    def gain(self, square: FloatArray) -> FloatArray:
        """Return max(κ d², G(d²)) in the shape of d²; beyond its corners G is proportional."""
        at, most = self.worst
        inner = np.interp(square, at, most)
        steepness = np.where(square < at[0], _ratio(most[0], at[0]), _ratio(most[-1], at[-1]))
        outer = (square < at[0]) | (square > at[-1])
        gained: FloatArray = np.maximum(
            self.slope * square, np.where(outer, steepness * square, inner)
        )
        return gained

    @property
    def steepest(self) -> float:
        """The largest G(d²) / d²."""
        at, most = self.worst
        there = at > 0.0
        return float((most[there] / at[there]).max()) if there.any() else 0.0

    def mean(self, distance: FloatArray) -> FloatArray:
        """Return μ(d), in the shape of d."""
        if self.noise <= 0.0:
            return distance**2
        left = np.interp(distance / math.sqrt(self.noise), _RATIOS, _ENVELOPE)
        known = np.clip(self.floor - left * self.chance, 0.0, 1.0 - left)
        mean: FloatArray = distance**2 + self.noise * (left + known)
        return mean

    def lower_quantile(self, distance: FloatArray, quantile: float) -> FloatArray:
        """Return the lower quantile of T at d, on the scale of √T, in the shape of d."""
        mean = np.maximum(self.mean(distance), 1e-300)
        variance = 4.0 * self.gain(distance**2) + self.spread
        middle = np.sqrt(np.maximum(mean - variance / (4.0 * mean), 0.0))
        low = middle - quantile * np.sqrt(variance) / (2.0 * np.sqrt(mean))
        least: FloatArray = np.maximum(low, 0.0) ** 2
        return least


def _ratio(most: float, at: float) -> float:
    """Divide, with 0 for a divisor that is not positive."""
    return most / at if at > 0.0 else 0.0


def fill_levels(value: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the corners (2, k + 1) of G: max Σ_l value_l x_l with low <= x <= high, by Σ_l x_l.

    Parameters
    ----------
    value, low, high : (k,) floats of at least 0.
    """
    order = np.argsort(-value, kind="stable")
    room = (high - low)[order]
    added = np.stack([room, room * value[order]])
    start = np.array([[float(low.sum())], [float(low @ value)]])
    corners: FloatArray = start + np.concatenate([np.zeros((2, 1)), added.cumsum(axis=1)], axis=1)
    return corners


def allocate(value: FloatArray, low: FloatArray, high: FloatArray, square: float) -> FloatArray:
    """Return the x (k,) at which G(d²) is reached."""
    whole = float(low.sum())
    if square <= whole:
        return low * _ratio(square, whole)
    order = np.argsort(-value, kind="stable")
    room = (high - low)[order]
    before = np.cumsum(room) - room
    x = low.copy()
    x[order] += np.clip(square - whole - before, 0.0, room)
    reached: FloatArray = x * _ratio(square, float(x.sum()))
    return reached


def largest_distance(squared: SquaredDistance, quantile: float) -> float:
    """Return the largest d at which T is not below its lower quantile.

    A T that would be small even at parity suggests that noise is less than it seems (people were
    matched, say), not that there is no distance: it counts as one that parity gives more often.
    """
    above = (
        math.sqrt(max(squared.total, 0.0) + squared.noise)
        + 3.0 * quantile * math.sqrt(max(squared.slope, squared.steepest))
        + 2.0 * math.sqrt(quantile * math.sqrt(squared.spread))
        + 1e-12
    )
    grid = np.linspace(above, 0.0, _GRID)
    total = max(squared.total, float(squared.lower_quantile(np.zeros(()), 0.5 * quantile)))
    allowed = squared.lower_quantile(grid, quantile) <= total
    if not allowed.any():
        return 0.0
    first = int(np.argmax(allowed))
    if first == 0:
        return above
    ends = grid[[first, first - 1]]
    for _ in range(_BISECTIONS // _AHEAD):
        for _ in range(_AHEAD):  # all the middles that the next halvings may come to, at once
            halved = np.empty(2 * ends.size - 1)
            halved[::2], halved[1::2] = ends, 0.5 * (ends[:-1] + ends[1:])
            ends = halved
        below = squared.lower_quantile(ends, quantile) <= total
        low, high = 0, ends.size - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if below[middle] else (low, middle)
        ends = ends[[low, high]]
    return float(ends[1])


def debias_distance(squared: SquaredDistance) -> float:
    """Return the d at which T has its mean; 0 if T is less than noise."""
    if squared.total <= squared.noise:
        return 0.0
    known = replace(squared, slope=0.0, spread=0.0, worst=np.zeros((2, 1)))
    return largest_distance(known, 0.0)


# Squares below this cannot be divided by.
_NOTHING = 1e-150
_GAP_BISECTIONS = 50


def _rms_gap_limit(levels: LevelDistances, confidence: float) -> float:
    """Bound (Σ_l Q(l) (m_1l - m_0l)²)^½ over replicated levels from below."""
    sample, scores, gaps = levels.sample, levels.scores, levels.scores.gaps
    measure = np.where(sample.units.single_levels, 0.0, levels.measure)
    # Two rows may differ little by chance; shrinkage uses the other levels.
    variances = scores.shrunk.reshape(-1, 2).sum(axis=1)
    total, noise = float(measure @ gaps**2), float(measure @ variances)
    if not total > noise:
        return 0.0
    allocation = measure * gaps / math.sqrt(total)
    slope = max(
        levels.variance(scores, measure),
        levels.variance(scores, allocation),
        float(allocation**2 @ variances),
    )
    spread = float((measure**2 * 2.0 * variances**2 * (1.0 + 2.0 / levels.level_df)).sum())
    if sample.units.crossing:
        spread = max(spread, float(levels.totals[:, 2].var(ddof=1)))
    df = min(levels.satterthwaite_df(measure), levels.satterthwaite_df(allocation))
    if sample.moved is not None:
        # Those of the rows cannot be fewer than those of the smallest level.
        df = min(df, max(float(levels.level_df[measure > 0.0].min()), 2.0))
    quantile = float(t_quantile(0.5 + confidence / 2.0, df))
    return wilson_hilferty_limit(total, noise, slope, spread, quantile) - sample.blur


def wilson_hilferty_limit(
    total: float, noise: float, slope: float, spread: float, quantile: float
) -> float:
    """Return the smallest d at which a sum of squares as large as `total` is not yet too rare.

    Mean d² + noise, variance 4 slope d² + spread, by Wilson and Hilferty's cube root.
    """

    def largest_total(distance: float) -> float:
        mean = distance * distance + noise
        if mean < _NOTHING:  # rows of a cell that all have the same score make no noise
            return mean
        ninth = (4.0 * slope * distance * distance + spread) / (9.0 * mean * mean)
        return float(mean * (1.0 - ninth + quantile * math.sqrt(ninth)) ** 3)

    low, high = 0.0, math.sqrt(total)
    if largest_total(low) >= total:
        return 0.0
    for _ in range(_GAP_BISECTIONS):
        middle = 0.5 * (low + high)
        if largest_total(middle) < total:
            low = middle
        else:
            high = middle
    return low


# A value needs at least this share of the measure in replicated levels.
_ENOUGH_REPLICATED = 0.5
# Each level may lie within its own one-sided interval of this confidence.
_ALLOWED = 0.8
# The degrees of freedom depend on the end, and the end on them.
_ROUNDS, _SAME_DF = 4, 0.01
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
        average this over audits.
    replicated : share of the measure in levels with at least two rows (clusters) of each group.
    reason : what a reader of the interval should know, or `None`.
    confidence : nominal coverage of the interval.
    distance : what is measured in each level.
    rounding : what the interval allows for scores that were rounded; 0 if they are exact.
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
    contrast: Contrast | Sample,
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
    draws : replicates of the bootstrap, at least 2.
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
    scores, replicated = sample.scores, float(measure[~sample.units.single_levels].sum())
    if sample.constant:
        return DistanceEstimate(0.0, (0.0, math.inf), 0.0, replicated, ALL_EQUAL, confidence)
    gap = compare_means(scores, measure, confidence, rates=sample.rates)
    if sample.rates and sample.n_levels == 1:
        return _fold_interval(gap, replicated)
    if not scores.variances.any() and not sample.rates and replicated > 0.0:
        return _estimate_without_spread(sample, measure, gap, replicated)
    levels = measure_levels(sample, measure, draws=draws, seed=random_state, progress=progress)
    squared = _estimate_moments(levels)
    # Three lower bounds that hold together.
    third = 1.0 - (1.0 - confidence) / 3.0
    lower, lipschitz = max(0.0, _rms_gap_limit(levels, third)), [(scores, 0.0)]
    if not sample.rates:
        deviations = sample.jackknife(levels.merged.deviations_from_median)
        lipschitz.append((deviations, sample.width))
    for means, width in lipschitz:
        low, high = compare_means(means, measure, third, rates=sample.rates).interval
        lower = max(lower, sample.scale_down(max(0.0, low, -high)) - width)
    upper, rounding = math.inf, 0.0
    if sample.moved is not None:
        # By how much D of the rows may be above that of rounded scores, and of noise read off bins.
        rounding = math.sqrt(float(measure @ sample.moved[:, 1] ** 2)) + sample.unsteady
    if levels.singles[2]:
        # D is never below the signed gap, whose interval allows for skewed scores.
        most = sample.scale_down(max(gap.interval[1], -gap.interval[0]))
        upper = max(_upper_limit(levels, squared, confidence) + sample.unsteady, most)
    error = sample.scale_down(gap.error)
    least = max(sample.scale_down(gap.value) ** 2 - error * error, 0.0)
    value = max(debias_distance(squared), math.sqrt(least))
    return DistanceEstimate(
        value=sample.to_units(value) if replicated >= _ENOUGH_REPLICATED else None,
        interval=(sample.to_units(lower), sample.to_units(max(lower, upper))),
        squared=sample.to_units(sample.to_units(squared.total - squared.noise)),
        replicated=replicated,
        reason=_explain(sample, replicated),
        confidence=confidence,
        rounding=sample.to_units(rounding),
    )


def _fold_interval(gap: Gap, replicated: float) -> DistanceEstimate:
    """Return the distance between the decisions of one level: the absolute gap of the rates."""
    low, high = gap.interval
    return DistanceEstimate(
        value=abs(gap.value) if replicated >= _ENOUGH_REPLICATED else None,
        interval=(max(0.0, low, -high), max(-low, high)),
        squared=gap.value * gap.value - gap.error * gap.error,
        replicated=replicated,
        reason=gap.reason,
        confidence=gap.confidence,
    )


def _estimate_without_spread(
    sample: Sample, measure: FloatArray, gap: Gap, replicated: float
) -> DistanceEstimate:
    """Return an estimate without interval for scores that vary between cells only."""
    squared = float(measure @ sample.scores.gaps**2)
    return DistanceEstimate(
        value=sample.to_units(math.sqrt(squared)) if replicated >= _ENOUGH_REPLICATED else None,
        interval=(0.0, math.inf),
        squared=sample.to_units(sample.to_units(squared)),
        replicated=replicated,
        reason=gap.reason,
        confidence=gap.confidence,
    )


def _explain(sample: Sample, replicated: float) -> str | None:
    """Return what a reader of the interval should know."""
    alone = 1.0 - replicated
    if alone > 1e-9:
        return (
            f"{alone:.0%} of the measure sits in levels with a single row of a group; there spread "
            "between people and a disparity cannot be separated. The upper end counts all of it as "
            "disparity. Use the signed gap."
        )
    return HEAVY_WEIGHTS if sample.heavy else None


def _estimate_moments(levels: LevelDistances) -> SquaredDistance:
    """Estimate the moments of T = Σ_l Q(l) Ŵ_1(l)², in scaled scores."""
    measure, inside, potential = levels.measure, levels.inside, levels.potential
    squares, between = levels.merged.distances**2, levels.singles[0]
    floor, chance = levels.potential_shares()
    # Each way of looking at the variance may miss some of it; the largest is taken.
    signs = np.where(levels.scores.gaps >= 0.0, 1.0, -1.0)
    slope = max(
        levels.variance(potential, inside),
        levels.variance(levels.scores, inside * signs),
        *(levels.variance(potential, inside * each) for each in levels.allocations),
    )
    spread = float(levels.totals[:, 1].var(ddof=1))
    # T - c varies by 2 / df more than T, since c is estimated from the same rows, whatever the
    # kurtosis: what that adds to the variance of a squared gap the estimate of its bias takes off.
    weight = (inside * levels.noise) ** 2
    if weight.sum() > 0.0:
        spread *= 1.0 + float(weight @ (2.0 / levels.level_df)) / float(weight.sum())
    if between.any():
        read = between & (measure > 0.0)
        added = between_level_residuals(measure[read], squares[read])
        spread += float(added @ added)
    return SquaredDistance(
        total=float(measure @ squares),
        noise=float(levels.totals[:, 0].mean()),
        floor=floor,
        chance=chance,
        slope=slope,
        spread=spread,
    )


def _upper_limit(levels: LevelDistances, squared: SquaredDistance, confidence: float) -> float:
    """Bound D from above, in scaled scores: solve for the end and its degrees of freedom in turn.

    Where the worst allocation that the levels allow decides, its degrees of freedom count, and so
    does its skewness: the mean of a few rows with a long tail mostly lies below the truth. Rounded
    scores leave open whether it decides; it may.
    """
    # Scores have unit reach, so that no mean varies by more than 1, whatever weights make of it.
    variances = np.minimum(levels.level_variances, 1.0)
    likely = np.minimum(levels.likely_variances, 1.0)
    distances, measure, sample = levels.merged.distances, levels.inside, levels.sample
    reach = t_quantile(_ALLOWED, levels.level_df) * np.sqrt(np.maximum(variances, likely))
    low = np.maximum(distances - np.sqrt(levels.noise) - reach, 0.0)
    high = np.minimum(distances + reach, 1.0)
    knapsack = measure * likely, measure * np.minimum(low, high) ** 2, measure * high**2
    if sample.moved is not None:
        # What rows allow is not known of counts; the level that would be worst may have it all,
        # and T is the largest of any rows behind them.
        alone = np.arange(measure.size) == np.argmax(knapsack[0])
        knapsack = knapsack[0], np.zeros(measure.size), alone.astype(np.float64)
        total = float(levels.measure @ (distances + sample.moved[:, 1]) ** 2)
        squared = replace(squared, total=total)
    squared = replace(squared, worst=fill_levels(*knapsack))
    candidates = [squared]
    # A slope below that of G, which is a line then, changes nothing.
    if sample.moved is not None and squared.slope > 0.99 * squared.steepest:
        candidates.append(replace(squared, slope=0.0))
    usual = min(levels.satterthwaite_df(measure * each) for each in levels.allocations)
    ends = [0.0]
    for moments in candidates:
        df, skewed = usual, 0.0
        for _ in range(_ROUNDS):
            quantile = float(t_quantile(0.5 + confidence / 2.0, df))
            upper = largest_distance(moments, quantile + skewed)
            square = np.array(upper * upper)
            if moments.gain(square) <= moments.slope * square:
                break
            part = allocate(*knapsack, upper * upper) * measure * variances
            against = float((part**2 / (levels.level_df + 2.0)).sum())
            worst = float(part.sum()) ** 2 / against if against > 0.0 else math.inf
            if sample.moved is not None:
                # Those of the rows cannot be fewer than those of the smallest level.
                worst = min(worst, float(levels.level_df[measure > 0.0].min()) + 2.0)
            before = df, skewed
            df = min(usual, max(worst, 2.0))
            skewed = max(skewed, _skewness_shift(levels, part, confidence))
            if max(abs(df - before[0]), abs(skewed - before[1])) < _SAME_DF:
                break
        ends.append(upper)
    return max(ends)


def _skewness_shift(levels: LevelDistances, part: FloatArray, confidence: float) -> float:
    """Return the shift of the upper end by skewness, in standard errors, as `edgeworth_shift`.

    `part` (k,) is the share of levels in the variance. A level whose direction is not significant
    counts as if skewness hid some of its gap.
    """
    scores, effective = levels.scores, levels.sample.units.effective
    if levels.sample.rates or not part.sum() > 0.0:
        return 0.0
    cells = scores.shrunk.reshape(-1, 2)
    inside = cells / np.maximum(cells.sum(axis=1, keepdims=True), 1e-300)
    share = (part[:, None] / part.sum() * inside) ** 1.5 / np.sqrt(effective.reshape(-1, 2))
    clear = np.abs(scores.gaps) > _CLEAR * np.sqrt(levels.likely_variances)
    found, doubt = scores.skewness_inside
    directed = []
    for skewness in {found - doubt, found + doubt}:
        hidden = skewness * (share[:, 1] - share[:, 0])
        directed.append(np.where(clear, np.sign(scores.gaps) * hidden, np.abs(hidden)).sum())
    skewness = min(float(max(directed)), _MOST_SKEWED)
    z = normal_quantile(0.5 + confidence / 2.0)
    return skewness * (2.0 * z * z + 1.0) / 6.0 if skewness > SKEWED else 0.0
