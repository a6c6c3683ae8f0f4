"""The headline test: whether the groups differ anywhere among equals.

Labels are permuted within levels, and five components look at each replicate: the gap of the
means, ranks, spread, the distance Σ Q W_2² and the largest level statistic (`_components`). The
strongest evidence counts, by weights that favor gap and ranks, which is what a disparity usually
is (`_combination`); where scores have long tails, or levels very different scales, means and
squares say little, and ranks count for most. That is seen from the scores of both groups together,
which permutations do not change. The p-value is exact, as long as the model was fixed before it saw
these rows and rows, or clusters of them, are exchangeable within their level.

Several statistics, one test: the strongest evidence counts, and permutations say how strong.

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

What the headline test would have found: the smallest shift that is detected four times in five.

Permuted labels are data at parity. Raising the scores of their second group by δ, in every level,
changes what the test looks at in a known way:

    gap            Σ h (gap + δ), h = n_0 n_1 / n; its variance grows as the groups part,
    ranks, spread  by the rows that others overtake,
    distance       W_2² + 2 δ gap + δ², exactly,

so the same permutations say how often the evidence would pass the test's own critical value. With
m contrasts, evidence has to pass log m more. Decisions cannot be raised, only their rates; there
the gap of the rates speaks alone.

Which levels differ: p-values of many levels at once, from the same permutations.

Levels in descending order of what was observed, z_(1) >= ... >= z_(k). The p-value of the j-th is
the share of replicates whose largest statistic among the levels j, ..., k reaches z_(j), and no
smaller than that of the level before it. The chance of any false alarm stays below 5% if levels
with a p-value of at most 5% are called different, whichever of them are: labels are permuted in
every level by itself, so a difference in one level does not touch the statistics of another.

Reference: Westfall and Young (1993), *Resampling-Based Multiple Testing*, algorithm 2.8.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, TypeVar

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
    permuted_components,
)
from likeforlike.inference._random import ROUNDING, Progress
from likeforlike.inference._rank_scores import (
    ARRANGEMENTS,
    MEAN,
    VARIANCE,
    Clusters,
    ScoredLevels,
    score_clusters,
    score_contrast,
)
from likeforlike.inference._tails import one_sided_evidence, two_sided_evidence
from likeforlike.transport import compiled

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


# The p-value that calls a disparity detected, and how often it should be when there is one.
_SIGNIFICANCE, _POWER = 0.05, 0.8
_DOUBLINGS, _HALVINGS = 40, 8


@compiled
def rank_changes(
    scores: FloatArray, rows: IntArray, offsets: IntArray, sizes: IntArray, shift: float
) -> tuple[float, float]:
    """What the sums of ranks and of spread gain on average if the second group is shifted.

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


def critical_evidence(evidence: FloatArray) -> float | None:
    """What S^0 must exceed for p <= 5%; `None` if there are too few replicates for that."""
    allowed = math.floor(_SIGNIFICANCE * evidence.size + 1e-9)
    if allowed < 1:
        return None
    return float(np.partition(evidence[1:], -allowed)[-allowed])


def shifted_evidence(
    levels: ScoredLevels, totals: FloatArray, offsets: Mapping[Component, float]
) -> Callable[[float], FloatArray]:
    """A function from a shift to the evidence of every permutation, had there been that shift."""
    gap, ranks, spread, cost, mean_gap = totals[1:, [GAP, RANKS, SPREAD, COST, MEAN_GAP]].T
    roots = CubeRoots.of(totals[:, COST])
    variance, of_ranks, of_spread = levels.facts[:, VARIANCE : VARIANCE + 3].sum(axis=0).tolist()
    first, second = levels.sizes.astype(np.float64).T
    both = first + second
    harmonic = first * (second / both)
    apart = float((harmonic**2 / (levels.exchangeable.sum(axis=1) - 1.0)).sum())
    # Rows of a cluster do not overtake each other, however close they are, and ranks do not tell.
    by_rank = not levels.cluster.size

    # Rates are moved towards a half, where there is room.
    rates = levels.facts[:, MEAN]
    rates = 1.0 - rates if harmonic @ rates > 0.5 * harmonic.sum() else rates

    def of_rates(raised: FloatArray) -> float:
        return float((harmonic * both / (both - 1.0) * raised * (1.0 - raised)).sum())

    def rate_evidence(shift: float) -> FloatArray:
        raised = np.clip(rates + shift * second / both, 0.0, 1.0)
        growth = of_rates(raised) / of_rates(rates)
        # The noise of the gap grows as its standard error does.
        moved = math.sqrt(growth) * gap + shift * harmonic.sum()
        return linear_evidence(moved, growth * variance) + offsets["gap"]

    def evidence(shift: float) -> FloatArray:
        inflated = variance + shift**2 * apart
        moved = gap + shift * harmonic.sum()
        components: dict[Component, FloatArray] = {"gap": linear_evidence(moved, inflated)}
        if by_rank:
            ups = rank_changes(levels.scores, levels.rows, levels.offsets, levels.sizes, shift)
            components["ranks"] = linear_evidence(ranks + ups[0], of_ranks)
            components["spread"] = linear_evidence(spread + ups[1], of_spread)
        # W_2² is never negative, but where it is 0 it may seem so by rounding.
        costs = np.maximum(cost + 2.0 * shift * mean_gap + shift**2, 0.0)
        components["distance"] = roots.evidence(costs * (variance / inflated))
        spoken = [components[name] + offsets[name] for name in components if name in offsets]
        strongest: FloatArray = np.max(spoken, axis=0)
        return strongest

    return rate_evidence if levels.two_valued else evidence


def detectable_shift(
    levels: ScoredLevels,
    totals: FloatArray,
    offsets: Mapping[Component, float],
    critical: float | None,
    contrasts: int,
) -> float | None:
    """The smallest shift, scores being of unit reach, that is found with the wanted power.

    `None` if no shift is: too few rows or permutations, or scores that are all equal.
    """
    # Two arrangements at least, the observed and its opposite, are as extreme as can be.
    enough = math.log(2.0 * contrasts / _SIGNIFICANCE)
    too_few = float(levels.facts[:, ARRANGEMENTS].sum()) < enough
    if critical is None or "gap" not in offsets or too_few:
        return None
    evidence = shifted_evidence(levels, totals, offsets)
    needed = critical + math.log(contrasts)

    def found(shift: float) -> bool:
        return float((evidence(shift) > needed).mean()) >= _POWER

    high = math.sqrt(float(levels.facts[:, VARIANCE + GAP].sum()))
    high /= float((levels.sizes.prod(axis=1, dtype=np.float64) / levels.sizes.sum(axis=1)).sum())
    for _ in range(_DOUBLINGS):
        if found(high):
            break
        high *= 2.0
    else:
        return None
    for _ in range(_DOUBLINGS):
        if not found(0.5 * high):
            break
        high *= 0.5
    low = 0.5 * high
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if found(middle) else (middle, high)
    # A rate cannot be raised by more than 1.
    return None if levels.two_valued and high > 1.0 else high


def step_down(statistic: FloatArray, stepped: IntArray, replicates: int) -> FloatArray:
    """Adjusted p-values of k levels, shape (k,).

    `stepped` counts, of all replicates, those whose largest statistic in a level or one less
    remarkable reaches the observed `statistic` of that level.
    """
    order = np.argsort(statistic, kind="stable")[::-1]
    adjusted = np.empty(statistic.size)
    adjusted[order] = np.maximum.accumulate(stepped[order] / replicates)
    return adjusted


TestMethod = Literal["permutation", "design"]
"""Where the p-value comes from: permuted labels, or standard errors that know the design."""

WEIGHTS: dict[Component, float] = {
    "gap": 1.0,
    "ranks": 1.0,
    "spread": 0.05,
    "distance": 0.2,
    "level": 0.12,
}
# Beyond so much more kurtosis than normal scores have, means and squares count less.
_LONG_TAILS = 2.0
_LONG_TAILED: dict[Component, float] = {
    "gap": 0.1,
    "ranks": 1.0,
    "spread": 0.02,
    "distance": 0.17,
    "level": 0.05,
}
# Atoms whose squares are held at once.
_SUMMED_AT_ONCE = 1 << 16


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
    null_distance : what Σ Q W_1 averages to at parity.
    level_null_distance : (k,) floats, what W_1 of each level averages to at parity.
    detectable : the smallest shift, the same in every level, that this test detects at 5% in 80%
        of samples like this one; for decisions a shift of the rate. `None` if there is none.
    permutations : how many there were.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import headline_test
    >>> rng = np.random.default_rng(0)
    >>> groups, levels = np.arange(400) % 2, np.arange(400) // 100
    >>> scores = rng.normal(size=400) * np.where(groups == 1, 2.0, 1.0)
    >>> contrast = contrasts(Cells.from_rows(scores, groups, levels), "pairwise")[0]
    >>> test = headline_test(contrast, np.full(4, 0.25))
    >>> test.p_value, test.leading_component, test.components["gap"] > 0.05
    (0.001, 'spread', True)
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
    replicates = permuted_components(
        levels, measure, permutations=permutations, seed=random_state, progress=progress
    )
    combined = combined_evidence(levels, replicates.totals)
    detectable = detectable_shift(
        levels,
        replicates.totals,
        combined.offsets,
        critical_evidence(combined.evidence),
        contrasts,
    )
    null_distance = levels.reach * replicates.null_distance
    return HeadlineTest(
        p_value=exact_p_value(combined.evidence),
        tail_p_value=tail_p_value(combined.evidence, float(levels.facts[:, ARRANGEMENTS].sum())),
        leading_component=combined.leading_component,
        components=combined.components,
        method="permutation",
        level_p_values=replicates.reached / (permutations + 1.0),
        level_adjusted=step_down(replicates.level_statistic, replicates.stepped, permutations + 1),
        null_distance=float(measure @ null_distance),
        level_null_distance=null_distance,
        detectable=None if detectable is None else levels.reach * detectable,
        permutations=permutations,
    )


def combined_evidence(levels: ScoredLevels, totals: FloatArray) -> Combination[Component]:
    """The five components of every replicate, combined."""
    variances = levels.facts[:, VARIANCE : VARIANCE + 3].sum(axis=0)
    # In a single level the largest level statistic says again what three components say.
    largest = totals[:, LARGEST] if levels.sizes.shape[0] > 1 else np.zeros(totals.shape[0])
    evidence: dict[Component, FloatArray] = {
        "gap": linear_evidence(totals[:, GAP], float(variances[GAP])),
        "ranks": linear_evidence(totals[:, RANKS], float(variances[RANKS])),
        "spread": linear_evidence(totals[:, SPREAD], float(variances[SPREAD])),
        "distance": CubeRoots.of(totals[:, COST]).evidence(totals[:, COST]),
        "level": two_sided_evidence(largest),
    }
    return combine(evidence, _weights(levels))


def _weights(levels: ScoredLevels) -> dict[Component, float]:
    """How much each component counts, by the tails of the scores around the means of levels."""
    if levels.two_valued:
        return WEIGHTS
    n_rows = float(levels.rows.sum())
    second = _sum_of_rows(levels, lambda gap: gap**2) / n_rows
    if not second > 0.0:
        return WEIGHTS
    kurtosis = _sum_of_rows(levels, lambda gap: (gap**2 / second) ** 2) / n_rows
    return _LONG_TAILED if kurtosis > 3.0 + _LONG_TAILS else WEIGHTS


def _sum_of_rows(levels: ScoredLevels, function: Callable[[FloatArray], FloatArray]) -> float:
    """Σ over rows of a function of their distance from the mean, without arrays as long as those.

    Sums and not products: threads of BLAS would fight over them.
    """
    total = 0.0
    for begin in range(0, levels.rows.size, _SUMMED_AT_ONCE):
        part = slice(begin, begin + _SUMMED_AT_ONCE)
        total += float((levels.rows[part] * function(levels.scores[GAP, part])).sum())
    return total
