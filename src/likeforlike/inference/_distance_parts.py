"""What both ends of the interval of a distance are made of: means, potentials, noise, variances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, plain
from likeforlike.inference._gap_moments import freedom_of_clusters, signed_measure
from likeforlike.inference._level_order import LevelOrder, order_levels
from likeforlike.inference._noise import BootstrapNoise, draw_noise, of_mean
from likeforlike.inference._replicates import Progress
from likeforlike.inference._single_rows import SingleRows, read_single_rows, single_levels
from likeforlike.inference._units import Jackknife, Sample
from likeforlike.transport._atoms import segment_sums

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
