"""Several statistics, one test: the strongest evidence counts, and permutations say how strong.

Each component of a replicate becomes evidence, minus the logarithm of a smooth p-value: a sum of
many rows is normal after division by its standard error, and so, nearly, is the cube root of a
quadratic statistic after mean and standard deviation. A smooth p-value need not be right, only
comparable. To make it so, a constant is added to the evidence of every component, such that 5% of
all replicates have a p-value of at most 5%; this also allows for how many levels the largest level
statistic was chosen from. Then

    S = max over components c of (evidence_c + log w_c),     p = #{S^b >= S^0} / (B + 1).

S is a symmetric function of the replicates, the observed one among them, and those are
exchangeable under parity: p is exact, whatever the smooth p-values are worth. Replicates with equal
S, of which decisions make many, are separated by the evidence of all components together. A
component that permutations do not move is silent.

Evidence has a tail P(S > s) ~ exp(-s / β) with β = 1, or more where scores are wild, and that
continues p below its smallest value 1 / (B + 1): where fewer than ten replicates reach S^0,

    p = 10 / (B + 1) exp(-(S^0 - S_(10)) / β),     β = max(1, mean of S_(1..10) - S_(11)).

References: Pesarin and Salmaso (2010), *Permutation Tests for Complex Data*, chapter 4; Wilson and
Hilferty (1931), *The distribution of chi-square*; Knijnenburg et al. (2009), *Fewer permutations,
more accurate P-values*.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.inference._normal_tail import one_sided_evidence, two_sided_evidence
from likeforlike.inference._replicates import ROUNDING

Name = TypeVar("Name", bound=str)

# The share of replicates at which the evidence of components is made comparable.
_TAIL = 0.05
# What the evidence of all components together counts for: more than rounding, less than all else.
_AMONG_EQUALS = 1e-6
# What varies less than this, relatively, does not vary: what is seen is rounding.
_STILL = 1e-9
# How many replicates the tail begins with, and how many there must be for it to be a tail.
_ANCHOR, _ENOUGH = 10, 99


class Combination(NamedTuple, Generic[Name]):
    """Components combined.

    Attributes
    ----------
    evidence : (B + 1,) floats, S of every replicate; the first is the observed one.
    components : {component: p-value of its own}; 1 for those that are silent.
    leading_component : the component with the strongest evidence, but the first one where its
        evidence alone gives the same p-value; `None` if all are silent.
    offsets : {component that is not silent: what is added to its evidence, log w included}.
    """

    evidence: FloatArray
    components: dict[Name, float]
    leading_component: Name | None
    offsets: dict[Name, float]


def linear_evidence(sums: FloatArray, variance: float) -> FloatArray:
    """Evidence of sums with mean 0 and a known permutation variance; all 0 without variance."""
    if not variance > 0.0:
        return np.zeros(sums.size)
    return two_sided_evidence(sums / math.sqrt(variance))


class CubeRoots(NamedTuple):
    """Mean and standard deviation of the cube root of a quadratic statistic.

    Over all replicates, the observed one included: one huge value moves a cube root little.
    """

    mean: float
    deviation: float

    @classmethod
    def of(cls, statistic: FloatArray) -> CubeRoots:
        """Moments of the replicates of a statistic that is 0 or more."""
        roots = np.cbrt(statistic)
        return cls(float(roots.mean()), float(roots.std()))

    def evidence(self, statistic: FloatArray) -> FloatArray:
        """Evidence against parity of large values; all 0 if the statistic does not vary."""
        if not self.deviation > _STILL * self.mean:
            return np.zeros(statistic.size)
        return one_sided_evidence((np.cbrt(statistic) - self.mean) / self.deviation)


def combine(
    evidence: Mapping[Name, FloatArray], weights: Mapping[Name, float]
) -> Combination[Name]:
    """Combine the evidence of components, each (B + 1,) floats, by their weights."""
    components, offsets = {}, {}
    for name, replicates in evidence.items():
        components[name] = exact_p_value(replicates)
        if np.ptp(replicates) > _STILL * (1.0 + replicates.max()):
            place = math.ceil((1.0 - _TAIL) * (replicates.size - 1))
            edge = float(np.partition(replicates, place)[place])
            offsets[name] = math.log(weights[name] / _TAIL) - edge
    if not offsets:
        silence = np.zeros(len(next(iter(evidence.values()))))
        return Combination(silence, components, None, offsets)
    comparable = np.array([evidence[name] + offset for name, offset in offsets.items()])
    all_together = _AMONG_EQUALS * comparable.sum(axis=0)
    combined = comparable.max(axis=0) + all_together
    alone = _reached(combined, float(comparable[0, 0] + all_together[0]))
    enough = alone == _reached(combined, float(combined[0]))
    leading_component = list(offsets)[0 if enough else int(np.argmax(comparable[:, 0]))]
    return Combination(combined, components, leading_component, offsets)


def _reached(statistic: FloatArray, observed: float) -> int:
    """How many are at least as large as the observed; equal up to rounding counts as equal."""
    return int(np.count_nonzero(statistic >= observed - ROUNDING * (1.0 + abs(observed))))


def exact_p_value(statistic: FloatArray) -> float:
    """#{T^b >= T^0} / (B + 1), T^0 being the first."""
    return _reached(statistic, float(statistic[0])) / statistic.size


def tail_p_value(evidence: FloatArray, arrangements: float) -> float:
    """The exact p-value, continued along the tail where few replicates are left to count.

    `arrangements` is the logarithm of how many ways there are to deal the labels. One of them is
    the observed one, so no p-value lies below their inverse.
    """
    exact = exact_p_value(evidence)
    if evidence.size <= _ENOUGH or _reached(evidence, float(evidence[0])) > _ANCHOR:
        return exact
    highest = np.sort(evidence[1:])[: -_ANCHOR - 2 : -1]
    slope = max(1.0, float(highest[:_ANCHOR].mean() - highest[_ANCHOR]))
    beyond = max(0.0, float(evidence[0] - highest[_ANCHOR - 1]))
    continued = _ANCHOR / evidence.size * math.exp(-beyond / slope)
    return min(exact, max(continued, math.exp(-arrangements)))
