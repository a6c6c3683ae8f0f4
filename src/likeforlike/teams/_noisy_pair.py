"""Two groups compared by noisy counts: gaps, distances, and how both vary.

With y_a the noisy counts of group a in the bins of a level, T_a their sum and x_a = y_a / T_a,

    F_0 - F_1 = Σ (x_0 - x_1),      W_1 = ∫ |F_0 - F_1|,      gap of h = Σ h (x_1 - x_0).

Two things vary: who is in the sample, y_a by about √y_a in every bin, and the noise the custodian
added, whose distribution is known. Means of any function h of the score have the variance

    Σ_a s_a²(h) / T_a   +   τ² Σ_b [c_0² + c_1² - (c_0 + c_1)² / G],     c_a = ± (h - m_a) / T_a,

the first from sampling and the second from noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray
from likeforlike.teams._noisy_counts import NoisyCounts
from likeforlike.teams._score_bins import ScoreBins

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


class Drawn(NamedTuple):
    """What noise of both kinds does at parity.

    Attributes
    ----------
    squares : (draws, K) floats, (∫ |noise|)² of each level.
    potential : (K,) floats, mean variance of the mean potential of noise.
    """

    squares: FloatArray
    potential: FloatArray


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
        """What a unit in every bin adds to a potential with slope sgn(F_0 - F_1), (..., B)."""
        slopes = np.where(heights < -_ROUNDING, -1.0, 1.0) * self.bins.steps
        climbed = np.cumsum(slopes, axis=-1) - slopes
        return self.bins.gathered(climbed)

    @cached_property
    def own_heights(self) -> FloatArray:
        """F_0 - F_1 as it seems to be, (J,)."""
        return self.heights(self.shares)

    @cached_property
    def distances(self) -> FloatArray:
        """W_1 of each level with all noise in it, (K,)."""
        return self.areas(self.own_heights)

    @cached_property
    def moved_inside(self) -> tuple[float, float]:
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
        return self.means(self.bins.gathered(self.bins.places))

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
        return self.means(bins.gathered(np.abs(bins.places - medians[bins.part_level])))

    def draw(self, rng: np.random.Generator, draws: int) -> Drawn:
        """Noise of sampling and of the custodian, drawn together around parity."""
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
        return Drawn(np.concatenate(squares), potentials / draws)

    def with_more_noise(self, rng: np.random.Generator, draws: int) -> FloatArray:
        """Mean square of W_1 by level when the custodian's noise is added once more, (K,)."""
        total = np.zeros(self.bins.n_levels)
        for size in self._blocks(draws):
            fresh = self.known.draw(rng, self.pair, (size, self.bins.rows.size))
            total += (self.areas(self.heights(self.renewed(fresh))) ** 2).sum(axis=0)
        mean: FloatArray = total / draws
        return mean

    def renewed(self, more: FloatArray) -> FloatArray:
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
