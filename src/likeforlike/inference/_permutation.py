"""Permutation replicates: five statistics of all levels, and one of each level.

Gap, ranks and spread are sums over the rows of the second group (`_rank_scores`); the cost is
Σ_l Q(l) W_2²(l); the last is the largest statistic of a level,

    z_l = max(|gap_l|, |ranks_l|, |spread_l|), each in units of its permutation standard error,

but at most what a level with so few permutations can prove: a normal variable exceeds the bound as
often as chance picks one of them.

A replicate is one pass over the pooled atoms, O(atoms). Labels are drawn from the first atom to
the last, each with the probability that is left: a row takes one uniform number, an atom of many
rows a hypergeometric one, so ten billion binned rows cost what their bins cost. Levels whose atoms
are single rows take a path in whole numbers without branches, several times as fast: a row is of
the second group if its threshold is below the number of rows that this group still lacks.

Levels are visited in ascending order of their observed statistic. The largest statistic so far is
then what step-down adjustment compares with (`_headline`), and memory is O(atoms + levels +
replicates).

`expected_pairs` permutes as well: under permuted labels the monotone plan between two groups of a
level has some pairs far apart by chance alone.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.inference._random import (
    ROUNDING,
    Progress,
    State,
    advance,
    hypergeometric,
    peek_uniform,
    start_stream,
    uniform,
)
from likeforlike.inference._rank_scores import MAX_Z, PRECISION, RankScores
from likeforlike.transport import compiled, iterate_blocks

Component = Literal["gap", "ranks", "spread", "distance", "level"]
"""A component of the headline test."""

# Columns of the totals: three sums, Σ Q W_2², the largest level statistic, Σ Q (gap of the means).
GAP, RANKS, SPREAD, COST, LARGEST, MEAN_GAP = range(6)
_COLUMNS = 6
# Up to this many rows an atom is drawn row by row, which takes less time than one draw for all.
_FEW_ROWS = 64
# A block of replicates takes a fraction of a second, so that an interrupt is obeyed at once, and
# uses a level while it is in the processor's cache.
_ATOMS_A_BLOCK = 20_000_000
_LARGEST_BLOCK = 64


@compiled
def _reaches(statistic: float, observed: float) -> bool:
    """Return whether a statistic is at least the observed one, up to rounding."""
    return statistic >= observed - ROUNDING * (1.0 + abs(observed))


@compiled
def _draw_atoms(state: State, rows: IntArray, left: int, wanted: int, taken: IntArray) -> int:
    """Draw `wanted` of the `left` rows without replacement; fill in and return the numbers."""
    drawn = 0
    for i in range(rows.size):
        here = 0
        if rows[i] <= _FEW_ROWS:
            for row in range(rows[i]):
                here += int(int(uniform(state) * (left - row)) < wanted - here)
        else:
            here = hypergeometric(state, wanted, left - wanted, rows[i])
        taken[i] = here
        left -= rows[i]
        wanted -= here
        drawn += here
    return drawn


@compiled
def _draw_rows(state: State, left: int, wanted: int, taken: IntArray) -> int:
    """Draw `wanted` of the `left` rows where every atom is one row."""
    drawn = 0
    for i in range(taken.size):
        here = int(int(uniform(state) * (left - i)) < wanted - drawn)
        taken[i] = here
        drawn += here
    return drawn


@compiled
def _draw_clusters(
    state: State,
    cluster: IntArray,
    left: int,
    wanted: int,
    begin: int,
    labels: IntArray,
    taken: IntArray,
) -> int:
    """Draw `wanted` of the `left` clusters, with all their rows."""
    _draw_rows(state, left, wanted, labels[:left])
    drawn = 0
    for i in range(taken.size):
        taken[i] = labels[cluster[i] - begin]
        drawn += taken[i]
    return drawn


@compiled
def _draw_thresholds(state: State, thresholds: IntArray) -> None:
    """Draw the threshold of each row: of m rows left, uniform on 0, ..., m - 1, as `_draw_rows`."""
    begin = state[0]
    for i in range(thresholds.size):
        thresholds[i] = int(peek_uniform(begin, i) * (thresholds.size - i))
    advance(state, thresholds.size)


@compiled
def _labels_to_thresholds(taken: IntArray) -> None:
    """Replace labels by thresholds that give the same labels, whatever is left."""
    for i in range(taken.size):
        taken[i] = -1 if taken[i] else taken.size


@compiled
def _copy(second: IntArray, taken: IntArray) -> int:
    """Copy the labels as observed; return the rows of the second group."""
    drawn = 0
    for i in range(taken.size):
        taken[i] = second[i]
        drawn += taken[i]
    return drawn


@compiled
def _row_sums(
    scores: FloatArray, thresholds: IntArray, n_second: int, samples: FloatArray, sums: FloatArray
) -> None:
    """Compute statistics of a level of single rows: three sums, W_2² and W_1."""
    size = thresholds.size
    n_first = size - n_second
    u, v = samples[0], samples[1]
    gap, ranks, spread, distance = 0.0, 0.0, 0.0, 0.0
    last = scores[0, 0]
    j = 0
    for i in range(size):
        score = scores[0, i]
        here = int(thresholds[i] < n_second - j)
        # Before row i the second group has had j of its rows, the first i - j.
        distance += float(abs(j * size - i * n_second)) * (score - last)
        last = score
        gap += here * score
        ranks += here * scores[1, i]
        spread += here * scores[2, i]
        # Both are written and one is kept; the other is written over by the next row.
        u[i - j] = score
        v[j] = score
        j += here
    scale = 1.0 / (float(n_first) * float(n_second))
    sums[0], sums[1], sums[2] = gap, ranks, spread
    sums[3] = scale * _w2_cost_rows(u, n_first, v, n_second)
    sums[4] = scale * distance


@compiled
def _w2_cost_rows(u: FloatArray, n_first: int, v: FloatArray, n_second: int) -> float:
    """Compute n_0 n_1 W_2² between sorted rows in whole numbers."""
    i, j = 0, 0
    reached, cost = 0, 0.0
    end_u, end_v = n_second, n_first
    while i < n_first and j < n_second:
        first, second = end_u <= end_v, end_v <= end_u
        end = end_u if first else end_v
        difference = v[j] - u[i]
        cost += float(end - reached) * difference * difference
        reached = end
        i += int(first)
        j += int(second)
        end_u = end_u + n_second if first else end_u
        end_v = end_v + n_first if second else end_v
    return cost


@compiled
def _atom_sums(
    scores: FloatArray,
    rows: IntArray,
    taken: IntArray,
    size: int,
    n_second: int,
    samples: FloatArray,
    sums: FloatArray,
) -> None:
    """Compute the same for atoms of any number of rows; products of counts may need floats."""
    first, second = float(size - n_second), float(n_second)
    u, v, end_u, end_v = samples[0], samples[1], samples[2], samples[3]
    gap, ranks, spread, distance = 0.0, 0.0, 0.0, 0.0
    before_u, before_v = 0.0, 0.0
    last = scores[0, 0]
    i, j = 0, 0
    for k in range(taken.size):
        score = scores[0, k]
        distance += abs(before_v * first - before_u * second) * (score - last)
        last = score
        drawn = float(taken[k])
        gap += drawn * score
        ranks += drawn * scores[1, k]
        spread += drawn * scores[2, k]
        before_u += rows[k] - drawn
        before_v += drawn
        u[i], end_u[i] = score, before_u * second
        v[j], end_v[j] = score, before_v * first
        i += int(taken[k] < rows[k])
        j += int(taken[k] > 0)
    scale = 1.0 / (first * second)
    sums[0], sums[1], sums[2] = gap, ranks, spread
    sums[3] = scale * _w2_cost_atoms(u[:i], end_u, v[:j], end_v)
    sums[4] = scale * distance


@compiled
def _w2_cost_atoms(u: FloatArray, end_u: FloatArray, v: FloatArray, end_v: FloatArray) -> float:
    """Compute n_0 n_1 W_2² between sorted atoms, given where the mass of each ends."""
    i, j = 0, 0
    reached, cost = 0.0, 0.0
    while i < u.size and j < v.size:
        here_u, here_v = end_u[i], end_v[j]
        end = min(here_u, here_v)
        difference = v[j] - u[i]
        cost += (end - reached) * difference * difference
        reached = end
        i += int(here_u <= end)
        j += int(here_v <= end)
    return cost


@compiled
def _replicates(
    all_scores: FloatArray,
    all_rows: IntArray,
    all_second: IntArray,
    offsets: IntArray,
    sizes: IntArray,
    exchangeable: IntArray,
    cluster: IntArray,
    cluster_offsets: IntArray,
    facts: FloatArray,
    measure: FloatArray,
    observed: FloatArray,
    order: IntArray,
    seed: int,
    first: int,
    totals: FloatArray,
    by_level: FloatArray,
    reached: IntArray,
    buffers: IntArray,
    samples: FloatArray,
) -> None:
    """Fill in replicates from `first` on, of which 0 is the data as observed.

    `totals` has a row for each; `by_level` gets the sum of W_1 and the last z of every level;
    `reached` counts how often the observed z was reached in a level, and in it or an earlier one.
    """
    sums = np.empty(5)
    states = np.empty(totals.shape[0], np.uint64)
    for b in range(states.size):
        states[b] = start_stream(seed, first + b)[0]
    for place in range(order.size):
        k = order[place]
        begin, end = offsets[k], offsets[k + 1]
        scores, rows = all_scores[:, begin:end], all_rows[begin:end]
        taken, labels = buffers[0, : end - begin], buffers[1]
        size = sizes[k, 0] + sizes[k, 1]
        wanted = exchangeable[k, 1]
        left = exchangeable[k, 0] + wanted
        for b in range(states.size):
            state = states[b : b + 1]
            single = size == taken.size
            has_thresholds = single and first + b > 0 and not cluster.size
            if first + b == 0:
                n_second = _copy(all_second[begin:end], taken)
            elif cluster.size:
                n_second = _draw_clusters(
                    state, cluster[begin:end], left, wanted, cluster_offsets[k], labels, taken
                )
            elif has_thresholds:
                n_second = wanted
                _draw_thresholds(state, taken)
            else:
                n_second = _draw_atoms(state, rows, left, wanted, taken)
            if single:
                if not has_thresholds:
                    _labels_to_thresholds(taken)
                _row_sums(scores, taken, n_second, samples, sums)
            else:
                _atom_sums(scores, rows, taken, size, n_second, samples, sums)
            statistic = 0.0
            for c in range(3):
                totals[b, c] += sums[c]
                statistic = max(statistic, abs(sums[c]) * facts[k, PRECISION + c])
            statistic = min(statistic, facts[k, MAX_Z])
            totals[b, COST] += measure[k] * sums[3]
            totals[b, LARGEST] = max(totals[b, LARGEST], statistic)
            totals[b, MEAN_GAP] += measure[k] * sums[0] * (1.0 / (size - n_second) + 1.0 / n_second)
            by_level[k, 0] += sums[4]
            by_level[k, 1] = statistic
            reached[k, 0] += int(_reaches(statistic, observed[k]))
            reached[k, 1] += int(_reaches(totals[b, LARGEST], observed[k]))


def replicate_statistics(
    levels: RankScores,
    measure: FloatArray,
    observed: FloatArray,
    order: IntArray,
    seed: int,
    first: int,
    last: int,
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Compute replicates first, ..., last - 1, levels in the given order; see `_replicates`."""
    n_levels, largest = measure.size, int(np.diff(levels.offsets).max())
    totals, by_level = np.zeros((last - first, _COLUMNS)), np.zeros((n_levels, 2))
    reached = np.zeros((n_levels, 2), np.int64)
    buffers, samples = np.empty((2, largest), np.int64), np.empty((4, largest + 1))
    _replicates(
        levels.scores,
        levels.rows,
        levels.second,
        levels.offsets,
        levels.sizes,
        levels.exchangeable,
        levels.cluster,
        levels.cluster_offsets,
        levels.facts,
        measure,
        observed,
        order,
        seed,
        first,
        totals,
        by_level,
        reached,
        buffers,
        samples,
    )
    return totals, by_level, reached


def permutation_replicates(
    levels: RankScores,
    measure: FloatArray,
    *,
    permutations: int,
    seed: int,
    progress: Progress | None = None,
) -> tuple[FloatArray, FloatArray, IntArray, IntArray, FloatArray]:
    """Compute the statistics of the labels as observed and of permuted ones.

    Returns
    -------
    totals : (B + 1, 6) floats; the first row is the observed one. Sums of gap, ranks and spread,
        Σ Q W_2², the largest level statistic, and Σ Q times the gap of the means.
    statistic : (k,) floats, z_l as observed.
    exceedances : (k,) integers, rows of `totals` with a z_l of at least the observed one.
    stepdown_exceedances : (k,) integers, those with one in this level or one of smaller statistic.
    null_distances : (k,) floats, mean over permutations of W_1 in each level, scores scaled to
        unit reach.
    """
    nothing, natural = np.zeros(measure.size), np.arange(measure.size)
    totals, by_level, reached = replicate_statistics(levels, measure, nothing, natural, seed, 0, 1)
    observed = by_level[:, 1].copy()
    order = np.argsort(observed, kind="stable")
    every, distance = [totals], np.zeros(measure.size)
    parts = iterate_blocks(
        lambda first, last: replicate_statistics(
            levels, measure, observed, order, seed, first + 1, last + 1
        ),
        permutations,
        max(1, min(_LARGEST_BLOCK, _ATOMS_A_BLOCK // levels.rows.size)),
        progress,
    )
    for part, part_levels, part_reached in parts:
        every.append(part)
        distance += part_levels[:, 0]
        reached += part_reached
    null_distances = distance / permutations
    return np.concatenate(every), observed, reached[:, 0], reached[:, 1], null_distances


def expected_pairs(
    values: FloatArray,
    counts: IntArray,
    first: int,
    differences: FloatArray,
    *,
    permutations: int,
    seed: int,
) -> tuple[FloatArray, FloatArray]:
    """Compute expected shares of the plan with at least these differences, labels permuted.

    Parameters
    ----------
    values, counts : (m,) the atoms of both groups together, rising, and their rows.
    first : rows of the first group.
    differences : (k,) positive floats, rising.
    permutations, seed : of the draws.

    Returns
    -------
    lower, higher : (k,) shares of mass where the first group has the lower score, and where it
        has the higher one, by at least each difference.
    """
    sums = _draw(values, counts, differences, first, permutations, seed) / permutations
    at_least = sums[:, ::-1].cumsum(axis=1)[:, ::-1]
    return at_least[0], at_least[1]


@compiled
def _draw(
    values: FloatArray,
    counts: IntArray,
    differences: FloatArray,
    first: int,
    permutations: int,
    seed: int,
) -> FloatArray:
    """Sum the mass between each difference and the next over permutations, for both signs."""
    total = 0
    for i in range(counts.size):
        total += counts[i]
    second = total - first
    sums = np.zeros((2, differences.size))
    mine = np.empty(counts.size, np.int64)
    for replicate in range(permutations):
        state = start_stream(seed, replicate)
        wanted, left = first, total
        for i in range(counts.size):
            mine[i] = hypergeometric(state, wanted, left - wanted, counts[i])
            wanted -= mine[i]
            left -= counts[i]
        _sweep(values, counts, mine, first, second, differences, sums)
    return sums


@compiled
def _sweep(
    values: FloatArray,
    counts: IntArray,
    mine: IntArray,
    first: int,
    second: int,
    differences: FloatArray,
    sums: FloatArray,
) -> None:
    """Add the monotone plan between `mine` and the rest; masses are shares of each group."""
    i, j = -1, -1
    here, there = 0.0, 0.0
    while True:
        # Scaled by the other group's rows, whole numbers stay whole.
        while here == 0.0:
            i += 1
            if i == counts.size:
                return
            here = mine[i] * float(second)
        while there == 0.0:
            j += 1
            if j == counts.size:
                return
            there = (counts[j] - mine[j]) * float(first)
        mass = min(here, there)
        here -= mass
        there -= mass
        if i == j:
            continue
        distance = abs(values[j] - values[i])
        low, high = 0, differences.size
        while low < high:
            middle = (low + high) // 2
            if differences[middle] <= distance:
                low = middle + 1
            else:
                high = middle
        if low:
            sums[0 if i < j else 1, low - 1] += mass / (float(first) * float(second))
