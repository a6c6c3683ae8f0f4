"""Counts of groups in bins as a release has them, with the distribution of their noise.

With two groups the second is released and the first is the public rest, so their noise is opposite.
With G > 2 all are released, with independent noise, and what they add up to is public: the surplus
of a bin is shared out evenly. In both cases the noise of two groups in a bin has the covariance

    τ² (1{a = b} - 1 / G),

with τ² = 2 v for two groups and τ² = v for more, v the variance of a released count. Counts are not
cut off at 0: that would bias every sum of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.errors import InputError
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
    """The counts of a release about these bins."""
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
