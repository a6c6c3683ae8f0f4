"""The headline test: whether two groups differ anywhere among equals.

Labels are permuted within levels; each replicate has five components: the gap of the means, ranks,
spread, the distance Σ Q W_2² and the largest level statistic (`_permutation`). Each becomes
evidence, minus the logarithm of a smooth p-value: a sum of many rows is normal after division by
its standard error, and so, nearly, is the cube root of a quadratic statistic. A constant makes them
comparable, such that 5% of all replicates have a p-value of at most 5%. Then

    S = max over components c of (evidence_c + log w_c),     p = #{S^b >= S^0} / (B + 1).

S is a symmetric function of exchangeable replicates: p is exact, as long as the model was fixed
before it saw these rows and units are exchangeable within their level. Weights favor gap and ranks;
with long tails in the scores of both groups together, ranks. Ties of S are broken by the evidence
of all components together. Evidence has a tail P(S > s) ~ exp(-s / β), which continues p: where
fewer than ten replicates reach S^0,

    p = 10 / (B + 1) exp(-(S^0 - S_(10)) / β),     β = max(1, mean of S_(1..10) - S_(11)).

The minimum detectable shift comes from the same replicates: raising the second group by δ changes
gap to Σ h (gap + δ), ranks and spread by the rows overtaken, and W_2² by 2 δ gap + δ². Of decisions
only the rates can be raised. p-values of levels are adjusted by step-down over the replicates.

References: Pesarin and Salmaso (2010), *Permutation Tests for Complex Data*, chapter 4; Wilson and
Hilferty (1931); Knijnenburg et al. (2009), *Fewer permutations, more accurate P-values*; Westfall
and Young (1993), *Resampling-Based Multiple Testing*, algorithm 2.8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Contrast
from likeforlike.errors import InputError
from likeforlike.inference._permutation import (
    COST,
    GAP,
    LARGEST,
    MEAN_GAP,
    RANKS,
    SPREAD,
    Component,
    permutation_replicates,
)
from likeforlike.inference._random import ROUNDING, Progress
from likeforlike.inference._rank_scores import (
    MEAN,
    VARIANCE,
    Clusters,
    RankScores,
    score_clusters,
    score_contrast,
)
from likeforlike.inference._tails import one_tail_evidence, two_tail_evidence
from likeforlike.transport import compiled

Name = TypeVar("Name", bound=str)

# The share of replicates at which the evidence of components is made comparable.
_TAIL = 0.05
# Weight of the evidence of all components together: more than rounding, less than all else.
_TIE_BREAKING = 1e-6
# A relative variation below this is rounding.
_STILL = 1e-9
# Replicates that the tail begins with, and replicates that it needs.
_ANCHOR, _ENOUGH = 10, 99


def normal_evidence(sums: FloatArray, variance: float) -> FloatArray:
    """Compute the evidence of sums with mean 0 and a known variance; 0 without variance."""
    if not variance > 0.0:
        return np.zeros(sums.size)
    return two_tail_evidence(sums / math.sqrt(variance))


def wilson_hilferty_evidence(
    statistic: FloatArray, moments: tuple[float, float] | None = None
) -> FloatArray:
    """Compute the evidence of large values of a quadratic statistic; all 0 if it does not vary.

    `moments` are mean and standard deviation of its cube roots, those of the statistic by default.
    Over all replicates, the observed one included: one huge value moves a cube root little.
    """
    roots = np.cbrt(statistic)
    mean, deviation = (float(roots.mean()), float(roots.std())) if moments is None else moments
    if not deviation > _STILL * mean:
        return np.zeros(statistic.size)
    return one_tail_evidence((roots - mean) / deviation)


def combine_evidence(
    evidence: Mapping[Name, FloatArray], weights: Mapping[Name, float]
) -> tuple[FloatArray, dict[Name, float], Name | None, dict[Name, float]]:
    """Combine the evidence of components, each (B + 1,) floats, by their weights.

    Returns
    -------
    combined : (B + 1,) floats, S of every replicate; the first is the observed one.
    components : {component: p-value of its own}; 1 for degenerate ones.
    leading_component : the component with the strongest evidence, but the first one where its
        evidence alone gives the same p-value; `None` if all are degenerate.
    offsets : {component that is not degenerate: the addend of its evidence, log w included}.
    """
    components, offsets = {}, {}
    for name, replicates in evidence.items():
        components[name] = permutation_p_value(replicates)
        if np.ptp(replicates) > _STILL * (1.0 + replicates.max()):
            place = math.ceil((1.0 - _TAIL) * (replicates.size - 1))
            edge = float(np.partition(replicates, place)[place])
            offsets[name] = math.log(weights[name] / _TAIL) - edge
    if not offsets:
        return np.zeros(len(next(iter(evidence.values())))), components, None, offsets
    comparable = np.array([evidence[name] + offset for name, offset in offsets.items()])
    all_together = _TIE_BREAKING * comparable.sum(axis=0)
    combined = comparable.max(axis=0) + all_together
    alone = _count_exceedances(combined, float(comparable[0, 0] + all_together[0]))
    enough = alone == _count_exceedances(combined, float(combined[0]))
    leading_component = list(offsets)[0 if enough else int(np.argmax(comparable[:, 0]))]
    return combined, components, leading_component, offsets


def _count_exceedances(statistic: FloatArray, observed: float) -> int:
    """Count replicates that are at least the observed one, up to rounding."""
    return int(np.count_nonzero(statistic >= observed - ROUNDING * (1.0 + abs(observed))))


def permutation_p_value(statistic: FloatArray) -> float:
    """Return #{T^b >= T^0} / (B + 1), T^0 being the first."""
    return _count_exceedances(statistic, float(statistic[0])) / statistic.size


def extrapolate_p_value(evidence: FloatArray, log_permutations: float) -> float:
    """Return the exact p-value, continued along the tail where few replicates exceed S^0.

    No p-value lies below the inverse of the number of permutations, one of which was observed.
    """
    exact = permutation_p_value(evidence)
    if evidence.size <= _ENOUGH or _count_exceedances(evidence, float(evidence[0])) > _ANCHOR:
        return exact
    highest = np.sort(evidence[1:])[: -_ANCHOR - 2 : -1]
    slope = max(1.0, float(highest[:_ANCHOR].mean() - highest[_ANCHOR]))
    beyond = max(0.0, float(evidence[0] - highest[_ANCHOR - 1]))
    continued = _ANCHOR / evidence.size * math.exp(-beyond / slope)
    return min(exact, max(continued, math.exp(-log_permutations)))


# The p-value that calls a disparity detected, and how often it should be when there is one.
_SIGNIFICANCE, _POWER = 0.05, 0.8
_DOUBLINGS, _HALVINGS = 40, 8


@compiled
def mean_rank_changes(
    scores: FloatArray, rows: IntArray, offsets: IntArray, sizes: IntArray, shift: float
) -> tuple[float, float]:
    """Return the mean change of the sums of ranks and of spread if the second group is shifted.

    A shifted row overtakes the rows of the first group between its old place and its new one.
    Rows of equal score stay tied: a shift that parts them would make all ratings differ.
    """
    ranks, spread = 0.0, 0.0
    for k in range(offsets.size - 1):
        end = offsets[k + 1]
        first, second = float(sizes[k, 0]), float(sizes[k, 1])
        both = first + second
        above, partner = offsets[k], offsets[k]
        up_to_new, up_to_old = 0.0, 0.0
        for i in range(offsets[k], end):
            while above < end and scores[0, above] - scores[0, i] < shift:
                up_to_new += rows[above]
                above += 1
            while partner < end and scores[0, partner] <= scores[0, i]:
                up_to_old += rows[partner]
                partner += 1
            # In units of n + 1 ranks, as the scores are.
            up = (up_to_new - up_to_old) * first / (both - 1.0) / (both + 1.0)
            ranks += rows[i] * second / both * up
            spread += rows[i] * second / both * up * (2.0 * scores[1, i] + up)
    return ranks, spread


def critical_value(evidence: FloatArray) -> float | None:
    """Return what S^0 must exceed for p <= 5%; `None` with too few replicates."""
    allowed = math.floor(_SIGNIFICANCE * evidence.size + 1e-9)
    if allowed < 1:
        return None
    return float(np.partition(evidence[1:], -allowed)[-allowed])


def evidence_under_shift(
    levels: RankScores, totals: FloatArray, offsets: Mapping[Component, float]
) -> Callable[[float], FloatArray]:
    """Return the function from a shift to the evidence of each permutation under that shift."""
    gap, ranks, spread, cost, mean_gap = totals[1:, [GAP, RANKS, SPREAD, COST, MEAN_GAP]].T
    roots = np.cbrt(totals[:, COST])
    moments = float(roots.mean()), float(roots.std())
    variance, rank_variance, spread_variance = levels.variances.tolist()
    first, second = levels.sizes.astype(np.float64).T
    both = first + second
    harmonic = first * (second / both)
    apart = float((harmonic**2 / (levels.exchangeable.sum(axis=1) - 1.0)).sum())

    # Rates are moved towards a half, where there is room.
    rates = levels.facts[:, MEAN]
    rates = 1.0 - rates if harmonic @ rates > 0.5 * harmonic.sum() else rates

    def rate_variance(raised: FloatArray) -> float:
        return float((harmonic * both / (both - 1.0) * raised * (1.0 - raised)).sum())

    def rate_evidence(shift: float) -> FloatArray:
        raised = np.clip(rates + shift * second / both, 0.0, 1.0)
        growth = rate_variance(raised) / rate_variance(rates)
        # The noise of the gap grows as its standard error does.
        moved = math.sqrt(growth) * gap + shift * harmonic.sum()
        return normal_evidence(moved, growth * variance) + offsets["gap"]

    def evidence(shift: float) -> FloatArray:
        inflated = variance + shift**2 * apart
        moved = gap + shift * harmonic.sum()
        components: dict[Component, FloatArray] = {"gap": normal_evidence(moved, inflated)}
        # Rows of a cluster do not overtake each other, however close they are.
        if not levels.cluster.size:
            ups = mean_rank_changes(levels.scores, levels.rows, levels.offsets, levels.sizes, shift)
            components["ranks"] = normal_evidence(ranks + ups[0], rank_variance)
            components["spread"] = normal_evidence(spread + ups[1], spread_variance)
        # W_2² is never negative, but where it is 0 it may seem so by rounding.
        costs = np.maximum(cost + 2.0 * shift * mean_gap + shift**2, 0.0)
        costs *= variance / inflated
        components["distance"] = wilson_hilferty_evidence(costs, moments)
        kept = [components[name] + offsets[name] for name in components if name in offsets]
        strongest: FloatArray = np.max(kept, axis=0)
        return strongest

    return rate_evidence if levels.binary else evidence


def minimum_detectable_shift(
    levels: RankScores,
    totals: FloatArray,
    offsets: Mapping[Component, float],
    critical: float | None,
    contrasts: int,
) -> float | None:
    """Return the smallest shift of scores of unit reach that is detected with power 80%.

    `None` if no shift is: too few rows or permutations, or scores that are all equal.
    """
    # Two permutations at least, the observed and its opposite, are as extreme as can be.
    enough = math.log(2.0 * contrasts / _SIGNIFICANCE)
    if critical is None or "gap" not in offsets or levels.log_permutations < enough:
        return None
    evidence = evidence_under_shift(levels, totals, offsets)
    needed = critical + math.log(contrasts)

    def detects(shift: float) -> bool:
        return float((evidence(shift) > needed).mean()) >= _POWER

    high = math.sqrt(float(levels.facts[:, VARIANCE + GAP].sum()))
    high /= float((levels.sizes.prod(axis=1, dtype=np.float64) / levels.sizes.sum(axis=1)).sum())
    for _ in range(_DOUBLINGS):
        if detects(high):
            break
        high *= 2.0
    else:
        return None
    for _ in range(_DOUBLINGS):
        if not detects(0.5 * high):
            break
        high *= 0.5
    low = 0.5 * high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if detects(middle) else (middle, high)
    # A rate cannot be raised by more than 1.
    return None if levels.binary and high > 1.0 else high


def westfall_young(statistic: FloatArray, exceedances: IntArray, replicates: int) -> FloatArray:
    """Adjust p-values of k levels by step-down, shape (k,).

    `exceedances` counts, of all replicates, those whose largest statistic in a level or one of
    smaller statistic reaches the observed `statistic` of that level.
    """
    order = np.argsort(statistic, kind="stable")[::-1]
    adjusted = np.empty(statistic.size)
    adjusted[order] = np.maximum.accumulate(exceedances[order] / replicates)
    return adjusted


TestMethod = Literal["permutation", "design"]
"""The source of the p-value: permuted labels, or jackknife errors."""

WEIGHTS: dict[Component, float] = {
    "gap": 1.0,
    "ranks": 1.0,
    "spread": 0.05,
    "distance": 0.2,
    "level": 0.12,
}
# With long tails, means and squares count less.
_LONG_TAIL_WEIGHTS: dict[Component, float] = {
    "gap": 0.1,
    "ranks": 1.0,
    "spread": 0.02,
    "distance": 0.17,
    "level": 0.05,
}


@dataclass(frozen=True, slots=True)
class HeadlineTest:
    """Test of conditional parity between two groups.

    Attributes
    ----------
    p_value : exact; with B permutations a multiple of 1 / (B + 1).
    tail_p_value : the same, continued below 1 / (B + 1); for adjustment over many contrasts.
    leading_component : the component with the strongest evidence, or the gap where it alone gives
        the same p-value; `None` if permutations change nothing, as where all scores are equal.
    components : {component: its p-value by itself}, not adjusted for there being five.
    method : "permutation".
    level_p_values, level_adjusted : (k,) floats, of each level by itself and by step-down, so that
        the chance of any false alarm among levels is kept.
    null_distance : mean of Σ Q W_1 at parity.
    level_null_distance : (k,) floats, mean of W_1 of each level at parity.
    detectable : the smallest shift, the same in every level, that this test detects at 5% in 80%
        of samples like this one; for decisions a shift of the rate. `None` if there is none.
    permutations : B.
    """

    p_value: float
    tail_p_value: float
    leading_component: Component | None
    components: dict[Component, float]
    method: TestMethod
    level_p_values: FloatArray
    level_adjusted: FloatArray
    null_distance: float
    level_null_distance: FloatArray
    detectable: float | None
    permutations: int


def headline_test(
    compared: Contrast | Clusters,
    measure: FloatArray,
    *,
    permutations: int = 999,
    random_state: int = 0,
    contrasts: int = 1,
    progress: Progress | None = None,
) -> HeadlineTest:
    """Test conditional parity by permuting group labels within levels.

    Parameters
    ----------
    compared : two groups, of rows or counts without weights; or clusters of rows. k levels hold
        both groups.
    measure : (k,) floats, Q(l).
    permutations : B.
    random_state : the same seed gives the same result on any number of threads.
    contrasts : how many contrasts there are in all, for the detectable shift.
    progress : called with the number of permutations done.

    References
    ----------
    Phipson and Smyth (2010), *Permutation P-values should never be zero*.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import headline_test
    >>> pairs = np.arange(200) // 2, np.arange(200) % 2
    >>> scores = pairs[0] + 0.5 * pairs[1] + np.sin(np.arange(200.0))
    >>> contrast = contrasts(Cells.from_rows(scores, pairs[1], pairs[0]), "pairwise")[0]
    >>> test = headline_test(contrast, np.full(100, 0.01))
    >>> test.p_value, test.leading_component
    (0.001, 'gap')
    """
    if permutations < 1:
        raise InputError(f"permutations must be at least 1, not {permutations}.")
    levels = (
        score_contrast(compared) if isinstance(compared, Contrast) else score_clusters(compared)
    )
    if measure.shape != (levels.sizes.shape[0],):
        raise InputError(
            f"measure has shape {measure.shape}, but {levels.sizes.shape[0]} level(s) hold both "
            "groups; give one weight for each."
        )
    totals, statistic, exceedances, stepdown, null_distance = permutation_replicates(
        levels, measure, permutations=permutations, seed=random_state, progress=progress
    )
    evidence, components, leading_component, offsets = combine_components(levels, totals)
    detectable = minimum_detectable_shift(
        levels, totals, offsets, critical_value(evidence), contrasts
    )
    null_distance = levels.reach * null_distance
    return HeadlineTest(
        p_value=permutation_p_value(evidence),
        tail_p_value=extrapolate_p_value(evidence, levels.log_permutations),
        leading_component=leading_component,
        components=components,
        method="permutation",
        level_p_values=exceedances / (permutations + 1.0),
        level_adjusted=westfall_young(statistic, stepdown, permutations + 1),
        null_distance=float(measure @ null_distance),
        level_null_distance=null_distance,
        detectable=None if detectable is None else levels.reach * detectable,
        permutations=permutations,
    )


def combine_components(
    levels: RankScores, totals: FloatArray
) -> tuple[FloatArray, dict[Component, float], Component | None, dict[Component, float]]:
    """Combine the evidence of the five components, as `combine_evidence` returns it."""
    variances = levels.variances.tolist()
    # In a single level the largest level statistic repeats three components.
    largest = totals[:, LARGEST] if levels.sizes.shape[0] > 1 else np.zeros(totals.shape[0])
    evidence: dict[Component, FloatArray] = {
        "gap": normal_evidence(totals[:, GAP], variances[GAP]),
        "ranks": normal_evidence(totals[:, RANKS], variances[RANKS]),
        "spread": normal_evidence(totals[:, SPREAD], variances[SPREAD]),
        "distance": wilson_hilferty_evidence(totals[:, COST]),
        "level": two_tail_evidence(largest),
    }
    return combine_evidence(evidence, component_weights(levels))


def component_weights(levels: RankScores) -> dict[Component, float]:
    """Choose the weights of the components by the tails of the scores."""
    return _LONG_TAIL_WEIGHTS if levels.has_long_tails else WEIGHTS
