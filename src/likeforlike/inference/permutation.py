"""The within-level permutation test of conditional parity.

Under parity the scores do not depend on the group inside a level, so the labels may be permuted
there. p = (1 + #{T* >= T}) / (B + 1) is exact for any statistic T, as long as the model was fixed
before it saw these rows and rows are exchangeable within their level.

A replicate is one pass over the pooled atoms. A row is an atom with count one; a bin of a
histogram is an atom with a large count, whose draws are hypergeometric, so the cost depends on the
atoms and not on the rows behind them. Weighted rows are permuted as scores against (group, weight).
All three statistics come out of one sweep of the monotone plan: W_2² = Σ m d², W_1 = Σ m |d| and
the gap of the means Σ m d.

Reference: Phipson and Smyth (2010), *Permutation P-values should never be zero*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likeforlike.contrasts import Contrast
from likeforlike.errors import InputError
from likeforlike.inference.draws import State, hypergeometric, start, uniform
from likeforlike.inference.multiplicity import Adjustment, adjust
from likeforlike.inference.pooling import pool_levels, single_rows
from likeforlike.inference.replicates import Progress, block_size, refuse_weighted_counts
from likeforlike.transport.atoms import FloatArray, IntArray
from likeforlike.transport.compiled import compiled
from likeforlike.transport.pairs import pair_costs
from likeforlike.transport.sorting import largest_segment
from likeforlike.transport.threads import in_blocks

__all__ = [
    "PermutationTest",
    "Permutations",
    "permutation_test",
    "permute",
    "permuted_level",
    "shuffled_level",
]

# The p-value that calls a disparity detected, and how often it should be when there is one.
_LEVEL, _POWER = 0.05, 0.8


class Permutations(NamedTuple):
    """Statistics of permuted data.

    Attributes
    ----------
    totals : (B, 3) floats: Σ_l Q(l) times W_2², W_1 and the gap of each replicate.
    reached : (k,) integers, in how many replicates W_2² of the level was at least the observed.
    means : (k, 2) floats, means over replicates of W_2² and of W_1 of each level.
    """

    totals: FloatArray
    reached: IntArray
    means: FloatArray


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """Within-level permutation test of conditional parity.

    Attributes
    ----------
    p_value : of the statistic Σ_l Q(l) W_2²(l).
    p_value_gap : of the declared second statistic, |Σ_l Q(l) gap(l)|.
    null_distance, null_cost : what Σ Q W_1 and Σ Q W_2² average to at parity.
    level_p_values, level_adjusted : (k,) floats, of each level's W_2², before and after.
    level_null_distance : (k,) floats, what W_1 of each level averages to at parity.
    detectable : the smallest shift, the same in every level, that this test would have detected
        in 80% of samples like this one, at 5%; for decisions a shift of the rate, detected by the
        second statistic.
    permutations : how many there were.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
    >>> test = lfl.audit(load_loans(1000).frame, **roles, permutations=99).contrasts[0].test
    >>> test.p_value, test.level_adjusted
    (0.01, array([0.03, 0.03, 0.03]))
    """

    p_value: float
    p_value_gap: float
    null_distance: float
    null_cost: float
    level_p_values: FloatArray
    level_adjusted: FloatArray
    level_null_distance: FloatArray
    detectable: float
    permutations: int


@compiled
def _sweep_three(
    u: FloatArray, a: FloatArray, v: FloatArray, b: FloatArray
) -> tuple[float, float, float]:
    """W_2², W_1 and the gap of means between sorted atoms; see `transport.line` for the sweep."""
    total_u, total_v = 0.0, 0.0
    for mass in a:
        total_u += mass
    for mass in b:
        total_v += mass
    i, j = 0, 0
    reached, squares, distances, gaps = 0.0, 0.0, 0.0, 0.0
    sum_u, sum_v = a[0], b[0]
    while i < u.size and j < v.size:
        end_u, end_v = sum_u * total_v, sum_v * total_u
        end = min(end_u, end_v)
        difference = v[j] - u[i]
        moved = end - reached
        squares += moved * difference * difference
        distances += moved * abs(difference)
        gaps += moved * difference
        reached = end
        if end_u <= end_v:
            i += 1
            if i < u.size:
                sum_u += a[i]
        if end_v <= end_u:
            j += 1
            if j < v.size:
                sum_v += b[j]
    scale = 1.0 / (total_u * total_v)
    return squares * scale, distances * scale, gaps * scale


@compiled
def permuted_level(
    state: State,
    values: FloatArray,
    first: IntArray,
    second: IntArray,
    weight: FloatArray,
    u: FloatArray,
    a: FloatArray,
    v: FloatArray,
    b: FloatArray,
) -> tuple[int, int]:
    """Deal the rows of a level to the two groups anew; fills the samples, returns their sizes."""
    left, left_first = 0, 0
    for k in range(values.size):
        left += first[k] + second[k]
        left_first += first[k]
    i, j = 0, 0
    for k in range(values.size):
        here = first[k] + second[k]
        if here == 1:
            drawn = int(uniform(state) * left < left_first)
        else:
            drawn = hypergeometric(state, left_first, left - left_first, here)
        left -= here
        left_first -= drawn
        if drawn:
            u[i], a[i] = values[k], drawn * weight[k]
            i += 1
        if drawn < here:
            v[j], b[j] = values[k], (here - drawn) * weight[k]
            j += 1
    return i, j


@compiled
def shuffled_level(
    state: State,
    values: FloatArray,
    first: IntArray,
    weight: FloatArray,
    order: IntArray,
    u: FloatArray,
    a: FloatArray,
    v: FloatArray,
    b: FloatArray,
) -> tuple[int, int]:
    """The same for weighted rows: scores are shuffled against (group, weight)."""
    size = values.size
    for k in range(size):
        order[k] = k
    i, j = 0, 0
    for k in range(size):
        other = k + int(uniform(state) * (size - k))
        order[k], order[other] = order[other], order[k]
        row = order[k]
        if first[row]:
            u[i], a[i] = values[k], weight[row]
            i += 1
        else:
            v[j], b[j] = values[k], weight[row]
            j += 1
    return i, j


@compiled
def _permute(
    values: FloatArray,
    first: IntArray,
    second: IntArray,
    weight: FloatArray,
    offsets: IntArray,
    measure: FloatArray,
    observed: FloatArray,
    weighted: bool,
    seed: int,
    begin: int,
    end: int,
) -> tuple[FloatArray, IntArray, FloatArray]:
    n_levels = offsets.size - 1
    largest = largest_segment(offsets)
    u, a = np.empty(largest), np.empty(largest)
    v, b = np.empty(largest), np.empty(largest)
    order = np.empty(largest if weighted else 0, np.int64)
    totals = np.zeros((end - begin, 3))
    reached = np.zeros(n_levels, np.int64)
    sums = np.zeros((n_levels, 2))
    for replicate in range(begin, end):
        state = start(seed, replicate)
        row = totals[replicate - begin]
        for k in range(n_levels):
            at = slice(offsets[k], offsets[k + 1])
            if weighted:
                i, j = shuffled_level(state, values[at], first[at], weight[at], order, u, a, v, b)
            else:
                i, j = permuted_level(
                    state, values[at], first[at], second[at], weight[at], u, a, v, b
                )
            cost, distance, gap = _sweep_three(u[:i], a[:i], v[:j], b[:j])
            row[0] += measure[k] * cost
            row[1] += measure[k] * distance
            row[2] += measure[k] * gap
            sums[k, 0] += cost
            sums[k, 1] += distance
            # Equal up to rounding counts as reached: with tied scores that is the normal case.
            reached[k] += int(cost >= observed[k] * (1.0 - 1e-9))
    return totals, reached, sums


def permute(
    contrast: Contrast,
    measure: FloatArray,
    observed: FloatArray,
    *,
    replicates: int,
    seed: int,
    progress: Progress | None = None,
) -> Permutations:
    """Permute group labels within levels, so that parity holds and all else stays.

    Weighted rows are permuted as scores against (group, weight).

    Parameters
    ----------
    contrast : two groups, with k levels where both occur.
    measure : (k,) floats, Q(l).
    observed : (k,) floats, W_2² of each level as observed.
    replicates : how many permutations.
    seed : of all of them.
    progress : called as they are done.
    """
    pool = pool_levels(contrast)
    weighted = not bool((pool.weight == 1.0).all())
    if weighted and int((pool.first + pool.second).max()) > 1:
        pool = single_rows(pool)

    def work(begin: int, end: int) -> tuple[FloatArray, IntArray, FloatArray]:
        return _permute(*pool, measure, observed, weighted, seed, begin, end)

    block = block_size(pool.values.size)
    totals, reached, sums = zip(*in_blocks(work, replicates, block, progress), strict=True)
    return Permutations(
        np.concatenate(totals), np.sum(reached, axis=0), np.sum(sums, axis=0) / replicates
    )


def permutation_test(
    contrast: Contrast,
    measure: FloatArray,
    *,
    permutations: int = 999,
    seed: int = 0,
    adjustment: Adjustment = "holm",
    progress: Progress | None = None,
) -> PermutationTest:
    """Test conditional parity by permuting group labels within levels.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l).
    permutations : B; p-values are multiples of 1 / (B + 1).
    seed : the same seed gives the same result on any number of threads.
    adjustment : of the p-values of single levels.
    progress : called with the number of permutations done.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts
    >>> from likeforlike.inference import permutation_test
    >>> scores = np.r_[np.arange(20), np.arange(20) + 15] / 40
    >>> contrast = contrasts(Cells.from_rows(scores, ["f"] * 20 + ["m"] * 20), "pairwise")[0]
    >>> permutation_test(contrast, np.ones(1)).p_value
    0.001
    """
    if permutations < 1:
        raise InputError(f"permutations must be at least 1, not {permutations}.")
    refuse_weighted_counts(contrast)
    pairs = contrast.segments()
    observed = pair_costs(contrast.cells.atoms, pairs[:, 0], pairs[:, 1], 2.0)
    means = contrast.cells.means[:, contrast.positions][contrast.support]
    gap = float((measure * (means[:, 1] - means[:, 0])).sum())
    null = permute(
        contrast, measure, observed, replicates=permutations, seed=seed, progress=progress
    )
    costs, distances, gaps = null.totals.T
    by_level = ((1.0 + null.reached) / (permutations + 1.0)).astype(np.float64)
    return PermutationTest(
        p_value=_p_value(float((measure * observed).sum()), costs),
        p_value_gap=_p_value(abs(gap), np.abs(gaps)),
        null_distance=float(distances.mean()),
        null_cost=float(costs.mean()),
        level_p_values=by_level,
        level_adjusted=adjust(by_level, adjustment),
        level_null_distance=null.means[:, 1],
        detectable=_detectable(costs, gaps, two_valued=_two_valued(contrast)),
        permutations=permutations,
    )


def _p_value(observed: float, null: FloatArray) -> float:
    """(1 + #{T* >= T}) / (B + 1); values equal up to rounding count as equal."""
    reached = int((null >= observed * (1.0 - 1e-9)).sum())
    return (1 + reached) / (null.size + 1)


def _two_valued(contrast: Contrast) -> bool:
    values = contrast.cells.atoms.values
    return bool(np.isin(values, (values.min(), values.max())).all())


def _detectable(costs: FloatArray, gaps: FloatArray, *, two_valued: bool) -> float:
    """Smallest shift of one group that the test would detect with the wanted power.

    Shifting a group by δ changes W_2² to W_2² + 2 δ gap + δ², exactly, so the permutations say
    what the statistic would be under every shift. Decisions cannot be shifted, only their rates:
    there the gap is the statistic, and a shift of the rate by δ changes it to gap + δ.
    """

    def statistic(shift: float) -> FloatArray:
        moved: FloatArray = (
            np.abs(gaps + shift) if two_valued else costs + 2.0 * shift * gaps + shift**2
        )
        return moved

    critical = np.quantile(statistic(0.0), 1.0 - _LEVEL, method="higher")

    def power(shift: float) -> float:
        return float((statistic(shift) > critical).mean())

    low, high = 0.0, max(math.sqrt(float(critical)), 1e-12)
    while power(high) < _POWER:
        high *= 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if power(middle) >= _POWER else (middle, high)
    return high
