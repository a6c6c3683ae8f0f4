"""What the headline test would have found: the smallest shift that is detected four times in five.

Permuted labels are data at parity. Raising the scores of their second group by δ, in every level,
changes what the test looks at in a known way:

    gap            Σ h (gap + δ), h = n_0 n_1 / n; its variance grows as the groups part,
    ranks, spread  by the rows that others overtake,
    distance       W_2² + 2 δ gap + δ², exactly,

so the same permutations say how often the evidence would pass the test's own critical value. With
m contrasts, evidence has to pass log m more. Decisions cannot be raised, only their rates; there
the gap of the rates speaks alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.inference._combination import CubeRoots, linear_evidence
from likeforlike.inference._components import COST, GAP, MEAN_GAP, RANKS, SPREAD, Component
from likeforlike.inference._scored_levels import ARRANGEMENTS, MEAN, VARIANCE, ScoredLevels
from likeforlike.transport._compiled import compiled

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
