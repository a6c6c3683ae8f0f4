"""Two groups compared by noisy counts: gaps, distances, how both vary, and a test of parity.

With y_a the noisy counts of group a in the bins of a level, T_a their sum and x_a = y_a / T_a,

    F_0 - F_1 = Σ (x_0 - x_1),      W_1 = ∫ |F_0 - F_1|,      gap of h = Σ h (x_1 - x_0).

Means of a function h of the score vary by sampling, y_a by about √y_a in every bin, and by the
custodian's noise, whose distribution is known; their variance is the sum of both, in this order,

    Σ_a s_a²(h) / T_a   +   τ² Σ_b [c_0² + c_1² - (c_0 + c_1)² / G],     c_a = ± (h - m_a) / T_a.

With v the variance of a released count, the noise of two groups in a bin has the covariance
τ² (1{a = b} - 1 / G). With two groups the second is released and the first is the public rest, so
their noise is opposite and τ² = 2 v. With G > 2 all are released, with independent noise, and their
sum is public: the surplus of a bin is shared out evenly, and τ² = v. Counts are not cut off at 0:
that would bias every sum of them. Estimates are those of `inference` (gap, root mean square of W_1,
its bias and both ends of its interval), with noise in every variance and, at both ends, what is not
known inside the bins of scores (`NoisyPair.moved_inside`).

At parity the rows of the second group fall into the bins of a level at random. So the test draws
them from a hypergeometric distribution with the totals that were seen, draws the custodian's noise
afresh, and computes the signed gap and the mean square of W_1 as for the release. The smaller of
their two p-values is compared with the smaller of two in every deal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.errors import InputError
from likeforlike.inference import (
    DistanceEstimate,
    Gap,
    SquaredDistance,
    debias_distance,
    largest_distance,
    normal_quantile,
    wilson_hilferty_limit,
)
from likeforlike.teams._releases import Release
from likeforlike.teams._score_bins import ScoreBins


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """Counts of G groups in B bins.

    Attributes
    ----------
    groups : names.
    counts : (G, B) floats, each without bias; those of a bin add up to its rows.
    scale : of the discrete Laplace noise in released counts.
    variance : of that noise, v.
    """

    groups: tuple[str, ...]
    counts: FloatArray
    scale: float
    variance: float

    @property
    def two(self) -> bool:
        """Whether there are two groups, of which one was released."""
        return len(self.groups) == 2

    @property
    def spread(self) -> float:
        """τ², see above."""
        return 2.0 * self.variance if self.two else self.variance

    @property
    def own_variance(self) -> float:
        """Variance of the noise in the count of one group."""
        return self.spread * (1.0 - 1.0 / len(self.groups))

    def draw(
        self, rng: np.random.Generator, pair: tuple[int, int], shape: tuple[int, int]
    ) -> FloatArray:
        """Noise of the two groups of a pair, drawn once more, (2, draws, B)."""
        if self.two:
            fresh = self._laplace(rng, shape)
            return np.stack([-fresh, fresh])
        fresh = self._laplace(rng, (len(self.groups), *shape))
        centered: FloatArray = (fresh - fresh.mean(axis=0))[list(pair)]
        return centered

    def _laplace(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Discrete Laplace noise as a difference of geometric numbers; nothing is hidden by it."""
        stay = -math.expm1(-1.0 / self.scale)
        drawn: FloatArray = (rng.geometric(stay, shape) - rng.geometric(stay, shape)).astype(float)
        return drawn


def read_counts(release: Release, bins: ScoreBins) -> NoisyCounts:
    """Read the counts of a release about these bins."""
    many, noise = len(release.groups), release.noise
    released = 1 if many == 2 else many
    if release.values.shape != (released, bins.rows.size):
        raise InputError(
            f"the release holds {release.values.shape} counts, and {released} x {bins.rows.size} "
            "were asked for."
        )
    if noise["law"] != "discrete Laplace" or noise["scale"] is None or noise["variance"] is None:
        raise InputError("the release does not say how wide the noise in its counts is.")
    values = release.values.astype(np.float64)
    if many == 2:
        counts = np.stack([bins.rows - values[0], values[0]])
    else:
        counts = values - (values.sum(axis=0) - bins.rows) / many
    return NoisyCounts(
        release.groups, counts, float(Fraction(noise["scale"])), float(noise["variance"])
    )


# A level is compared if it seems to hold at least this many rows of either group, and this many
# standard deviations of what noise does to that number.
_LEAST_ROWS, _LEAST_DEVIATIONS = 20.0, 4.0
# Differences of distribution functions that are rounding only.
_ROUNDING = 1e-12
# Numbers that are held at a time while noise is drawn.
_AT_A_TIME = 4_000_000


class LevelMeans(NamedTuple):
    """Gaps (K,) of the mean of a function, second group minus first, and their variances (K,)."""

    gaps: FloatArray
    sampling: FloatArray
    noise: FloatArray

    @property
    def variances(self) -> FloatArray:
        """Of both together, (K,)."""
        return self.sampling + self.noise


@dataclass(frozen=True, eq=False)
class NoisyPair:
    """Two groups in the levels where both have enough rows.

    Attributes
    ----------
    bins : of those levels.
    counts : (2, B) floats, noisy counts of the two groups.
    known : all counts, for the distribution of their noise.
    pair : positions of the two groups.
    kept : truth value of every level of the plan: whether it is compared.
    """

    bins: ScoreBins
    counts: FloatArray
    known: NoisyCounts
    pair: tuple[int, int]
    kept: BoolArray

    @cached_property
    def totals(self) -> FloatArray:
        """Rows of each group in each level, (2, K)."""
        return self.bins.by_level(self.counts)

    @cached_property
    def shares(self) -> FloatArray:
        """x_a, shares of the bins of a level, (2, B)."""
        shares: FloatArray = self.counts / self.totals[:, self.bins.level]
        return shares

    @cached_property
    def measure(self) -> FloatArray:
        """Q(l), the share of the rows of the two groups that a level holds, (K,)."""
        rows = self.totals.sum(axis=0)
        measure: FloatArray = rows / rows.sum()
        return measure

    def heights(self, shares: FloatArray) -> FloatArray:
        """F_0 - F_1 behind every part, for shares (2, ..., B): (..., J)."""
        # Shares of a level add up to one on either side, so every level begins at 0 again.
        heights: FloatArray = np.cumsum(self.bins.spread(shares[0] - shares[1]), axis=-1)
        return heights

    def areas(self, heights: FloatArray) -> FloatArray:
        """∫ |heights| in each level, (..., K)."""
        begins = np.flatnonzero(np.diff(self.bins.part_level, prepend=-1))
        areas: FloatArray = np.add.reduceat(np.abs(heights) * self.bins.steps, begins, axis=-1)
        return areas

    def potential(self, heights: FloatArray) -> FloatArray:
        """Find what a unit in each bin adds to a potential with slope sgn(F_0 - F_1), (..., B)."""
        slopes = np.where(heights < -_ROUNDING, -1.0, 1.0) * self.bins.steps
        climbed = np.cumsum(slopes, axis=-1) - slopes
        return self.bins.gather(climbed)

    @cached_property
    def own_heights(self) -> FloatArray:
        """F_0 - F_1 as it seems to be, (J,)."""
        return self.heights(self.shares)

    @cached_property
    def distances(self) -> FloatArray:
        """W_1 of each level with all noise in it, (K,)."""
        return self.areas(self.own_heights)

    @cached_property
    def bin_shift(self) -> tuple[float, float]:
        """What the rise or fall of shares inside bins changed: the gap, and the distance.

        The distance by its root mean square over levels, since W_1 of each may have risen or
        fallen. Both are 0 where every bin holds one score, as decisions do.
        """
        apart = self.shares[0] - self.shares[1]
        flat = self.bins.flat(apart)
        distances = self.areas(np.cumsum(flat, axis=-1)) - self.distances
        gaps = (
            self.bins.by_level(np.add.reduceat(-flat * self.bins.places, self.bins.begins))
            - self.scores.gaps
        )
        return (
            abs(float(self.measure @ gaps)),
            float(np.sqrt(self.measure @ distances**2)),
        )

    def means(self, of_bins: FloatArray) -> LevelMeans:
        """Gap of the mean of a function of the score (..., B), by level, with its variances."""
        level, many = self.bins.level, len(self.known.groups)
        weighted = [self.bins.by_level(side * of_bins) for side in self.shares]
        centered = [of_bins - mean[..., level] for mean in weighted]
        sampling = sum(
            np.maximum(self.bins.by_level(side * off**2), 0.0) / total
            for side, off, total in zip(self.shares, centered, self.totals, strict=True)
        )
        pull_0, pull_1 = (
            sign * off / total[level]
            for sign, off, total in zip((-1.0, 1.0), centered, self.totals, strict=True)
        )
        squares = pull_0**2 + pull_1**2 - (pull_0 + pull_1) ** 2 / many
        noise = self.known.spread * self.bins.by_level(squares)
        return LevelMeans(weighted[1] - weighted[0], np.asarray(sampling), noise)

    @cached_property
    def scores(self) -> LevelMeans:
        """Gaps of the mean score."""
        return self.means(self.bins.gather(self.bins.places))

    @cached_property
    def from_median(self) -> LevelMeans:
        """Gaps of the mean distance from the median of the level: who is spread more widely."""
        bins = self.bins
        reached = np.cumsum(bins.rows[bins.bin] * bins.share)
        rows = bins.by_level(bins.rows)
        before = (np.cumsum(rows) - rows)[bins.part_level]
        beyond = reached - before >= 0.5 * rows[bins.part_level] - 1e-9
        first = np.flatnonzero(beyond & np.r_[True, ~beyond[:-1] | (np.diff(bins.part_level) != 0)])
        medians = np.zeros(bins.n_levels)
        medians[bins.part_level[first][::-1]] = bins.places[first][::-1]
        return self.means(bins.gather(np.abs(bins.places - medians[bins.part_level])))

    def draw(self, rng: np.random.Generator, draws: int) -> tuple[FloatArray, FloatArray]:
        """Draw noise of sampling and of the custodian together, around parity.

        Returns (∫ |noise|)² of each level (draws, K), and the mean variance of the mean potential
        of noise (K,).
        """
        deviation = np.sqrt(np.maximum(self.counts, 0.0))[:, None]
        squares, potentials = [], np.zeros(self.bins.n_levels)
        for size in self._blocks(draws):
            shape = (size, self.bins.rows.size)
            error = deviation * rng.standard_normal((2, *shape))
            error += self.known.draw(rng, self.pair, shape)
            moved = (error - self.shares[:, None] * self._level_sums(error)) / self._level_totals
            heights = self.heights(moved)
            squares.append(self.areas(heights) ** 2)
            potentials += self.means(self.potential(heights)).variances.sum(axis=0)
        return np.concatenate(squares), potentials / draws

    def with_more_noise(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Mean square of W_1 by level when the custodian's noise is added once more, (K,)."""
        total = np.zeros(self.bins.n_levels)
        for size in self._blocks(draws):
            fresh = self.known.draw(rng, self.pair, (size, self.bins.rows.size))
            total += (self.areas(self.heights(self.update_counts(fresh))) ** 2).sum(axis=0)
        mean: FloatArray = total / draws
        return mean

    def update_counts(self, more: FloatArray) -> FloatArray:
        """Shares of the bins when counts (2, ..., B) are added to those seen."""
        counts = self.counts[:, None] + more
        shares: FloatArray = counts / self._away_from_0(self._level_sums(counts))
        return shares

    def _level_sums(self, of_bins: FloatArray) -> FloatArray:
        return self.bins.by_level(of_bins)[..., self.bins.level]

    @property
    def _level_totals(self) -> FloatArray:
        return self.totals[:, None, self.bins.level]

    def _away_from_0(self, totals: FloatArray) -> FloatArray:
        """Totals that may be divided by; levels are chosen so that this changes next to none."""
        return np.maximum(totals, 0.5 * self._level_totals)

    def _blocks(self, draws: int) -> list[int]:
        size = max(1, min(draws, _AT_A_TIME // max(self.bins.places.size, 1)))
        return [size] * (draws // size) + ([draws % size] if draws % size else [])


def compare(bins: ScoreBins, known: NoisyCounts, pair: tuple[int, int]) -> NoisyPair | None:
    """Two groups in the levels where both have enough rows; `None` if there is no such level."""
    counts = known.counts[list(pair)]
    totals = bins.by_level(counts)
    in_level = np.bincount(bins.level, minlength=bins.n_levels)
    doubt = _LEAST_DEVIATIONS * np.sqrt(known.own_variance * in_level)
    kept = totals.min(axis=0) >= np.maximum(_LEAST_ROWS, doubt)
    if not kept.any():
        return None
    return NoisyPair(bins.of_levels(kept), counts[:, kept[bins.level]], known, pair, kept)


# Equal up to rounding counts as equal.
_TEST_ROUNDING = 1e-9


class NoisyTest(NamedTuple):
    """What deals at parity say.

    Attributes
    ----------
    p_value : of both statistics together.
    components : {"gap" and "distance": p-value of its own}.
    levels : (K,) floats, p-value of each level.
    null : (K,) floats, what W_1 averages to at parity, without the custodian's noise.
    """

    p_value: float
    components: dict[str, float]
    levels: FloatArray
    null: FloatArray


def parity_test(pair: NoisyPair, draws: int, rng: np.random.Generator) -> NoisyTest:
    """Test whether both groups fall alike into the bins of every level."""
    measure, size = pair.measure, pair.bins.rows.size
    gaps, squares, plain = [], [], np.zeros(pair.bins.n_levels)
    score = pair.bins.gather(pair.bins.places)
    for block in pair._blocks(draws):
        drawn = _deal(pair, block, rng)
        plain += pair.areas(pair.heights(_shares(pair, drawn))).sum(axis=0)
        shares = _shares(pair, drawn + pair.known.draw(rng, pair.pair, (block, size)))
        gaps.append(pair.bins.by_level((shares[1] - shares[0]) * score) @ measure)
        squares.append(pair.areas(pair.heights(shares)) ** 2)
    levels = np.concatenate([(pair.distances**2)[None], *squares])
    found = np.abs(np.concatenate([[measure @ pair.scores.gaps], *gaps]))
    parts = np.stack([_tails(found), _tails(levels @ measure)])
    return NoisyTest(
        p_value=float(_tails(-parts.min(axis=0))[0]),
        components={"gap": float(parts[0, 0]), "distance": float(parts[1, 0])},
        levels=(levels[0] <= levels + _TEST_ROUNDING * levels.max(axis=0)).mean(axis=0),
        null=plain / draws,
    )


def _tails(statistic: FloatArray) -> FloatArray:
    """Share of all deals (n,), the one observed among them, with at least as large a statistic."""
    order = np.sort(statistic)
    slack = _TEST_ROUNDING * max(float(np.abs(order).max()), 1e-300)
    beyond = statistic.size - np.searchsorted(order, statistic - slack)
    tails: FloatArray = beyond / statistic.size
    return tails


def _shares(pair: NoisyPair, counts: FloatArray) -> FloatArray:
    return pair.update_counts(counts - pair.counts[:, None])


def _deal(pair: NoisyPair, draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw counts (2, draws, B) of both groups at random inside the levels.

    All levels at once, bin after bin: of the rows left, some go to the second group.
    """
    bins = pair.bins
    rows = np.maximum(np.rint(pair.counts.sum(axis=0)), 0.0).astype(np.int64)
    left = np.repeat(bins.by_level(rows)[None], draws, axis=0)
    wanted = np.minimum(np.rint(pair.totals[1]).astype(np.int64), left)
    second = np.empty((draws, rows.size), np.int64)
    begins = np.flatnonzero(np.diff(bins.level, prepend=-1))
    sizes = np.diff(begins, append=rows.size)
    for step in range(int(sizes.max())):
        here: BoolArray = step < sizes
        at: IntArray = begins[here] + step
        rest = left[:, here] - rows[at]
        drawn = rng.hypergeometric(rows[at], rest, wanted[:, here])
        second[:, at] = drawn
        left[:, here] = rest
        wanted[:, here] -= drawn
    return np.stack([rows - second, second]).astype(np.float64)


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
    reach = normal_quantile(0.5 + confidence / 2.0) * error + pair.bin_shift[0]
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
    known = _distance_square(pair, rng)
    quantile = normal_quantile(0.5 + confidence / 2.0)
    lower = _lower_end(pair, confidence)
    upper = largest_distance(known, quantile)
    # D is never below the signed gap.
    least = math.sqrt(max(gap.value**2 - gap.error**2, 0.0))
    inside = pair.bin_shift[1]
    return DistanceEstimate(
        value=max(debias_distance(known), least),
        interval=(max(0.0, lower - inside), max(lower, upper) + inside),
        squared=known.total - known.noise,
        replicated=float(measure.sum()),
        reason=None,
        confidence=confidence,
        rounding=inside,
    )


def _distance_square(pair: NoisyPair, rng: np.random.Generator) -> SquaredDistance:
    """Estimate T = Σ_l Q(l) Ŵ_1(l)², as `inference` does."""
    measure, (squares, drawn_potential) = pair.measure, pair.draw(rng, DRAWS)
    potential = pair.means(pair.potential(pair.own_heights)).variances
    totals = squares @ measure
    noise = float(totals.mean())
    excess = np.maximum(pair.distances**2 - squares.mean(axis=0), 0.0)
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
        chance=min(1.0, float(measure @ drawn_potential) / noise) if noise > 0.0 else 1.0,
        slope=slope,
        spread=float(totals.var(ddof=1)),
    )


def _lower_end(pair: NoisyPair, confidence: float) -> float:
    """Return the largest of three bounds, each at a third of the error allowed (`inference`)."""
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
    return wilson_hilferty_limit(total, noise, slope, spread, quantile)
