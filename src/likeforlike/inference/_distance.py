"""How far apart two groups are among equals: an estimate of the distance, with an interval.

    D = (Σ_l Q(l) W_1(l)²)^½,

the root mean square over levels of W_1 between the groups, in units of the score: the shift where
one group is shifted against the other, the absolute gap of the rates where scores are decisions.
W_1 has a limit distribution for scores of any kind, with or without atoms.

The upper end says how large a distance the data still allow (`bias`). The lower end is the largest
of three bounds that hold together (`lower_end`). Where scores were rounded to bins, the upper end
is that of the rows behind the counts whose distances are largest (`disparity._rounding`).

What both ends of the interval of a distance are made of: means, potentials, noise, variances.

The bias of a squared distance, and how large a distance the data still allow.

T = Σ_l Q(l) Ŵ_1(l)² lies above its target d² by what noise adds. At parity that is c, the mean of
the squared noise (`noise`). Far from parity the signs of F_0 - F_1 are known, W_1 is a difference
of means, of the potential, and what is left is its variance, r c. In between some of the signs are
noise:

    μ(d) = d² + c ψ(d / √c),    ψ = ψ_0 + (r̂ - ψ_0 r_0),

where r̂ is the r seen, r_0 what it would be if all signs were noise, and ψ_0, which falls from 1 to
0, says how much of the signs still is noise; ψ is kept between ψ_0 and 1. ψ_0 is an envelope, not a
theorem: it was read off Brownian bridges under many shapes of F_0 - F_1, as the least of all. The
formula is below the bias of these by at most .04 c; of scales with three values and a rare middle
one, on which groups differ in opposite directions, it may be above by .08 c. Levels that differ
have more bias, since ψ is convex in d².

T varies by s²(d) = 4 max(κ d², G(d²)) + ν. κ is for the ways in which d seems to be shared out
between the levels, G for the worst that their own intervals allow: with x_l = Q(l) W_1(l)²,

    G(d²) = max Σ_l Q(l) v_l x_l    over    Σ_l x_l = d²,    low_l <= x_l <= high_l,

a knapsack that is filled in the order of Q(l) v_l, so that G is concave and made of straight lines.
A small cell next to large ones needs it: where chance makes its gap look small, so does it the
variance. The upper end is the largest d at which a T as small as the one seen is not yet too rare,
on the scale of the root, with s taken at d and not at the estimate.

The lower end of a distance: what the groups are apart at least.

W_1 is the largest gap of all functions that rise or fall by at most one for one (Kantorovich and
Rubinstein), so every such gap is a bound. Three are taken, each at a third of the error allowed on
the lower side, and the largest counts:

- |Δ| of the signed gap;
- the root mean square of the gaps by level, which gaps of opposite sign do not cancel;
- the gap of the distances from the median of the level, for groups that differ in spread.

Where scores were rounded to bins of width w with sums inside, the first is that of the rows, and
the second that of the rows with fewer degrees of freedom. The third is lowered by w: the rows of a
bin are w / 2 away from their mean at most, on average, in either group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, plain
from likeforlike.disparity import Contrast
from likeforlike.inference._bootstrap import (
    DRAWS,
    BootstrapNoise,
    LevelOrder,
    draw_noise,
    of_mean,
    order_levels,
)
from likeforlike.inference._gap import (
    ALL_EQUAL,
    HEAVY_WEIGHTS,
    SKEWED,
    Gap,
    check_confidence,
    freedom_of_clusters,
    gap_of_sample,
    signed_measure,
)
from likeforlike.inference._random import Progress
from likeforlike.inference._sample import (
    Jackknife,
    Sample,
    SingleRows,
    between_levels,
    read_single_rows,
    single_levels,
    take_sample,
)
from likeforlike.inference._tails import normal_quantile, t_quantile
from likeforlike.transport import segment_sums

# In how many levels, those of fewest rows, rounding may hide a distance.
_SMALLEST = 50


@dataclass(frozen=True)
class DistanceParts:
    """Everything that is known of the distances in k levels, in scaled scores.

    Attributes
    ----------
    merged : the rows of the levels, in order.
    measure : (k,) floats, Q(l).
    alone : (k,) whether a level has a single unit of a group.
    singles : where the variance of such levels comes from.
    potential : jackknife of the potential.
    noise : drawn for all levels, for those that are `inside`, and for replicated ones.
    """

    merged: LevelOrder
    measure: FloatArray
    alone: BoolArray
    singles: SingleRows
    potential: Jackknife
    noise: BootstrapNoise

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
        inside: FloatArray = np.where(self.singles.between, 0.0, self.measure)
        return inside

    @cached_property
    def allocation(self) -> FloatArray:
        """How the distance seems to be shared out between levels; its mean square is 1. (k,)."""
        excess = np.maximum(self.merged.distances**2 - self.noise.levels, 0.0)
        whole = float(self.inside @ excess)
        shared: FloatArray = np.sqrt(excess / whole) if whole > 0.0 else np.ones(excess.size)
        return shared

    @cached_property
    def other_allocations(self) -> list[FloatArray]:
        """How it may be shared out if scores were rounded, (k,) each; none if they are exact.

        One level is as far apart as its rows may be, and the others are as little. A level of few
        rows that holds more of the distance than it seems makes its variance larger, and leaves
        fewer degrees of freedom.
        """
        if self.sample.moved is None:
            return []
        below, above = self.sample.moved.T
        least = np.maximum(self.merged.distances - below, 0.0)
        found = []
        for level in np.argsort(self.level_freedom, kind="stable")[:_SMALLEST]:
            apart = least.copy()
            apart[level] = self.merged.distances[level] + above[level]
            excess = np.maximum(apart**2 - self.noise.levels, 0.0)
            whole = float(self.inside @ excess)
            if whole > 0.0:
                found.append(np.sqrt(excess / whole))
        return found

    @cached_property
    def _cautious(self) -> tuple[FloatArray, FloatArray]:
        """Factors and addends that keep the variance of a rate above Agresti and Caffo's."""
        variances, effective = self.scores.variances, self.sample.units.effective
        if not self.sample.rates:
            return np.ones(variances.size), self.singles.pooled
        rate = (self.scores.means * effective + 1.0) / (effective + 2.0)
        least = rate * (1.0 - rate) / (effective + 2.0)
        seen = variances > 0.0
        factors = np.sqrt(np.maximum(least, variances) / np.where(seen, variances, 1.0))
        more = np.maximum(np.where(seen, 0.0, least), self.singles.pooled)
        return np.where(seen, factors, 1.0), more

    def variance(self, means: Jackknife, allocation: FloatArray) -> float:
        """Variance of Σ_l allocation_l (mean_1 - mean_0)_l; the allocation has shape (k,)."""
        coefficients = signed_measure(allocation)
        factors, more = self._cautious
        return means.variance(coefficients * factors) + float(coefficients**2 @ more)

    @cached_property
    def level_variances(self) -> FloatArray:
        """Variance of W_1 in each level, by the potential or the scores, whichever is larger. (k,).

        Of clusters that lie in several levels it is made larger by what these add to the whole.
        """
        factors, more = self._cautious
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

        The potential rises or falls by at most one for one, so that of plain rows it varies by no
        more than the scores do.
        """
        factors, more = self._cautious
        by_scores = np.where(more > 0.0, more, self.scores.shrunk * factors**2)
        likely: FloatArray = by_scores.reshape(-1, 2).sum(axis=1)
        if self.sample.units.unequal:
            likely = np.maximum(likely, self.potential.shrunk.reshape(-1, 2).sum(axis=1))
        return likely

    @cached_property
    def level_freedom(self) -> FloatArray:
        """Degrees of freedom of the variance of each level, cautiously. Shape (k,)."""
        least = self.sample.units.effective.reshape(-1, 2).min(axis=1)
        freedom: FloatArray = np.maximum(2.0 * least - 2.0, 1.0)
        return freedom

    def freedom(self, allocation: FloatArray) -> float:
        """Satterthwaite's degrees of freedom of Σ_l allocation_l W_1(l); it has shape (k,)."""
        units = self.sample.units
        parts = allocation**2 * self.potential.variances.reshape(-1, 2).sum(axis=1)
        # Squares of estimated variances are too large by 2 / df.
        known = self.level_freedom + (0.0 if units.unequal else 2.0)
        against = float((parts**2 / known).sum())
        freedom = float(parts.sum()) ** 2 / against if against > 0.0 else math.inf
        if units.crossing:
            freedom = min(freedom, freedom_of_clusters(units, signed_measure(allocation)))
        return max(freedom, 2.0)

    @cached_property
    def floors(self) -> tuple[float, float]:
        """Variance of the mean potential as a share of the noise: as seen, and by chance."""
        noise = float(self.noise.totals[:, 0].mean())
        if not noise > 0.0:
            return 1.0, 1.0
        sample, potential = self.sample, self.merged.potential
        weights = np.repeat(self.measure, 2)
        squares = np.repeat(self.potential.means, np.diff(sample.offsets))
        np.square(np.subtract(potential, squares, out=squares), out=squares)
        inside = (
            segment_sums(plain(sample.mass).astype(np.float64, copy=False), squares, sample.offsets)
            / sample.totals
        )
        seen, full = float(weights @ (inside * of_mean(sample.units))), self.potential.variances
        # The chance of noise was found without weights and clusters; both add the same factor.
        factor = float(weights @ full) / seen if seen > 0.0 else 1.0
        share = float(weights @ full) / noise
        return min(1.0, share), min(1.0, self.noise.potential * factor / noise)


def distance_parts(
    sample: Sample,
    measure: FloatArray,
    *,
    draws: int,
    seed: int,
    progress: Progress | None = None,
) -> DistanceParts:
    """Put the parts together; noise is drawn here."""
    merged = order_levels(sample)
    singles = read_single_rows(sample.scores, measure)
    alone = single_levels(sample.units)
    measures = np.stack(
        [measure, np.where(singles.between, 0.0, measure), np.where(alone, 0.0, measure)]
    )
    noise = draw_noise(merged, measures, draws=draws, random_state=seed, progress=progress)
    if sample.inside is not None:
        noise = _with_noise_inside(noise, sample, measures, seed)
    return DistanceParts(
        merged=merged,
        measure=measure,
        alone=alone,
        singles=singles,
        potential=sample.jackknife(merged.potential),
        noise=noise,
    )


def _with_noise_inside(
    noise: BootstrapNoise, sample: Sample, measures: FloatArray, seed: int
) -> BootstrapNoise:
    """BootstrapNoise with that of the means inside bins, which move W_1 as they move a gap."""
    added = sample.variances_inside.reshape(-1, 2).sum(axis=1)
    signs = np.random.default_rng(seed % 2**64).standard_normal((len(noise.totals), added.size))
    return BootstrapNoise(
        levels=noise.levels + added,
        totals=noise.totals + (signs**2 * added) @ measures.T,
        potential=noise.potential + float(measures[0] @ added),
    )


_AT = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0])
_LEFT = np.array([1.0, 0.97, 0.887, 0.763, 0.619, 0.35, 0.165, 0.02, 0.0])

_GRID = 200
_BISECTIONS, _AHEAD = 40, 5


class SquaredDistance(NamedTuple):
    """What is known of T = Σ_l Q(l) Ŵ_1(l)².

    Attributes
    ----------
    total : T.
    noise : c, its mean at parity.
    floor : r, variance of the mean potential as a share of the noise, in [0, 1].
    chance : what r would be at parity, in [0, 1].
    slope : κ, a quarter of what the variance gains with each d².
    spread : ν, the variance at parity.
    worst : (2, j) floats, the corners of G: d², rising, and G there.
    """

    total: float
    noise: float
    floor: float
    chance: float
    slope: float
    spread: float
    worst: FloatArray = np.zeros((2, 1))

    def gain(self, square: FloatArray) -> FloatArray:
        """The larger of κ d² and G(d²), in their shape; beyond its corners G is proportional."""
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
        """μ(d), in the shape of d."""
        if self.noise <= 0.0:
            return distance**2
        left = np.interp(distance / math.sqrt(self.noise), _AT, _LEFT)
        known = np.clip(self.floor - left * self.chance, 0.0, 1.0 - left)
        mean: FloatArray = distance**2 + self.noise * (left + known)
        return mean

    def least(self, distance: FloatArray, quantile: float) -> FloatArray:
        """What T would hardly be below at d, in the shape of d: a quantile on the scale of √T."""
        mean = np.maximum(self.mean(distance), 1e-300)
        variance = 4.0 * self.gain(distance**2) + self.spread
        middle = np.sqrt(np.maximum(mean - variance / (4.0 * mean), 0.0))
        low = middle - quantile * np.sqrt(variance) / (2.0 * np.sqrt(mean))
        least: FloatArray = np.maximum(low, 0.0) ** 2
        return least


def _ratio(most: float, at: float) -> float:
    return most / at if at > 0.0 else 0.0


def fill_levels(value: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """The corners (2, k + 1) of G: the largest Σ_l value_l x_l with low <= x <= high, by Σ_l x_l.

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


def filled(value: FloatArray, low: FloatArray, high: FloatArray, square: float) -> FloatArray:
    """The x (k,) at which G(d²) is reached."""
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
    """The largest d at which T is not below what it would hardly be below.

    A T that would be small even at parity says that noise is less than it seems (people were
    matched, say), not that there is no distance: it counts as one that parity gives more often.
    """
    above = (
        math.sqrt(max(squared.total, 0.0) + squared.noise)
        + 3.0 * quantile * math.sqrt(max(squared.slope, squared.steepest))
        + 2.0 * math.sqrt(quantile * math.sqrt(squared.spread))
        + 1e-12
    )
    grid = np.linspace(above, 0.0, _GRID)
    total = max(squared.total, float(squared.least(np.zeros(()), 0.5 * quantile)))
    allowed = squared.least(grid, quantile) <= total
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
        below = squared.least(ends, quantile) <= total
        low, high = 0, ends.size - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if below[middle] else (low, middle)
        ends = ends[[low, high]]
    return float(ends[1])


def unbiased_distance(squared: SquaredDistance) -> float:
    """The d at which T is what it would be on average; 0 if that is less than noise."""
    if squared.total <= squared.noise:
        return 0.0
    known = squared._replace(slope=0.0, spread=0.0, worst=np.zeros((2, 1)))
    return largest_distance(known, 0.0)


# Squares below this cannot be divided by.
_NOTHING = 1e-150
_GAP_BISECTIONS = 50


def lower_end(parts: DistanceParts, confidence: float) -> float:
    """The lower end of the interval of D, in scaled scores."""
    third = 1.0 - (1.0 - confidence) / 3.0
    rates = parts.sample.rates
    bounds = [_away_from_0(parts, parts.scores, third, rates=rates), _of_squares(parts, third)]
    if not rates:
        folded = parts.sample.jackknife(parts.merged.from_median)
        apart = _away_from_0(parts, folded, third, rates=False)
        bounds.append(apart - parts.sample.width)
    return max(0.0, *bounds)


def _away_from_0(
    parts: DistanceParts, means: Jackknife, confidence: float, *, rates: bool
) -> float:
    """How far the interval of a gap stays away from 0."""
    gap = gap_of_sample(parts.sample, means, parts.measure, confidence, rates=rates)
    low, high = gap.interval
    return parts.sample.scaled(max(0.0, low, -high))


def _of_squares(parts: DistanceParts, confidence: float) -> float:
    """Lower bound for (Σ_l Q(l) (m_1l - m_0l)²)^½ over replicated levels."""
    measure = np.where(parts.alone, 0.0, parts.measure)
    gaps = parts.scores.gaps
    # Two rows may differ little by chance; the other levels know better how much people do.
    variances = parts.scores.shrunk.reshape(-1, 2).sum(axis=1)
    total, noise = float(measure @ gaps**2), float(measure @ variances)
    if not total > noise:
        return 0.0
    seeming = measure * gaps / math.sqrt(total)
    slope = max(
        parts.variance(parts.scores, measure),
        parts.variance(parts.scores, seeming),
        float(seeming**2 @ variances),
    )
    spread = float((measure**2 * 2.0 * variances**2 * (1.0 + 2.0 / parts.level_freedom)).sum())
    if parts.sample.units.crossing:
        spread = max(spread, float(parts.noise.totals[:, 2].var(ddof=1)))
    freedom = min(parts.freedom(measure), parts.freedom(seeming))
    if parts.sample.moved is not None:
        # Those of the rows cannot be fewer than those of the smallest level.
        freedom = min(freedom, max(float(parts.level_freedom[measure > 0.0].min()), 2.0))
    quantile = float(t_quantile(0.5 + confidence / 2.0, freedom))
    return smallest_gap(total, noise, slope, spread, quantile) - parts.sample.blur


def smallest_gap(total: float, noise: float, slope: float, spread: float, quantile: float) -> float:
    """The smallest d at which a sum of squares as large as `total` is not yet too rare.

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
