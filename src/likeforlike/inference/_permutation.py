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
the second group if its threshold is below the number of rows that this group still lacks. Each
label waits for the one before it, so four replicates advance side by side. They share the walk of
W_2²: where the plan between sorted samples steps depends on the sizes of the groups only.

Levels are visited in ascending order of their observed statistic. The largest statistic so far is
then what step-down adjustment compares with (`_headline`), and memory is O(atoms + levels +
replicates).

`expected_pairs` permutes as well: under permuted labels the monotone plan between two groups of a
level has some pairs far apart by chance alone.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

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
# Replicates that advance side by side, and rows whose thresholds are drawn at a time.
_LANES = 4
_ROWS_AT_ONCE = 1024

_Lane: TypeAlias = tuple[int, float, float, float, float]
"""Of one replicate: rows that the second group lacks; gap, ranks, spread and W_1 so far."""

_Row: TypeAlias = tuple[int, float, float, float, float]
"""Place of a row times the size of the second group; its three scores; the step to its score."""


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
def _draw_thresholds(
    state: np.uint64, begin: int, size: int, thresholds: npt.NDArray[np.int32]
) -> None:
    """Draw thresholds from row `begin` on: of m rows left, uniform on 0, ..., m - 1."""
    for i in range(thresholds.size):
        thresholds[i] = np.int32(peek_uniform(state, begin + i) * (size - begin - i))


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
def _add_row(
    lane: _Lane,
    row: _Row,
    here: int,
    i: int,
    sizes: tuple[int, int],
    u: FloatArray,
    v: FloatArray,
    unit: FloatArray,
) -> _Lane:
    """Add row i, of the second group if `here` is 1, to a replicate and to its samples."""
    lacking, gap, ranks, spread, distance = lane
    reached, score, rank, square, step = row
    # Before row i the second group has had j of its rows, the first i - j.
    j = sizes[1] - lacking
    distance += float(abs(j * sizes[0] - reached)) * step
    # 0.0 and 1.0 are looked up: of `here * score` the compiler makes a choice, which without
    # AVX-512 is a branch on a random label.
    times = unit[np.uint64(here)]
    gap += times * score
    ranks += times * rank
    spread += times * square
    # Both are written and one is kept; the other is written over by the next row.
    u[np.uint64(i - j)] = score
    v[np.uint64(j)] = score
    return lacking - here, gap, ranks, spread, distance


@compiled
def _write_sums(lane: _Lane, cost: float, sizes: tuple[int, int], sums: FloatArray) -> None:
    """Write three sums, W_2² and W_1 of a replicate."""
    scale = 1.0 / (float(sizes[0] - sizes[1]) * float(sizes[1]))
    sums[0], sums[1], sums[2] = lane[1], lane[2], lane[3]
    sums[3], sums[4] = scale * cost, scale * lane[4]


@compiled
def _row_sums(
    scores: FloatArray,
    taken: IntArray,
    n_second: int,
    samples: FloatArray,
    unit: FloatArray,
    sums: FloatArray,
) -> None:
    """Compute statistics of a level of single rows: three sums, W_2² and W_1."""
    sizes = (taken.size, n_second)
    u, v = samples[0], samples[1]
    lane = (n_second, 0.0, 0.0, 0.0, 0.0)
    last = scores[0, 0]
    for i in range(taken.size):
        score = scores[0, i]
        row = (i * n_second, score, scores[1, i], scores[2, i], score - last)
        lane = _add_row(lane, row, taken[i], i, sizes, u, v, unit)
        last = score
    n_first = taken.size - n_second
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
    _write_sums(lane, cost, sizes, sums)


@compiled
def _four_row_sums(
    scores: FloatArray,
    n_second: int,
    states: State,
    thresholds: npt.NDArray[np.int32],
    samples: FloatArray,
    unit: FloatArray,
    sums: FloatArray,
) -> None:
    """Permute a level of single rows four times, from four states; sums as `_row_sums`."""
    size = scores.shape[1]
    sizes = (size, n_second)
    u0, u1, u2, u3 = samples[0], samples[1], samples[2], samples[3]
    v0, v1, v2, v3 = samples[4], samples[5], samples[6], samples[7]
    t0, t1, t2, t3 = thresholds[0], thresholds[1], thresholds[2], thresholds[3]
    a = b = c = d = (n_second, 0.0, 0.0, 0.0, 0.0)
    last = scores[0, 0]
    for begin in range(0, size, _ROWS_AT_ONCE):
        end = min(begin + _ROWS_AT_ONCE, size)
        for lane in range(_LANES):
            _draw_thresholds(states[lane], begin, size, thresholds[lane, : end - begin])
        for i in range(begin, end):
            score, k = scores[0, i], np.uint64(i - begin)
            row = (i * n_second, score, scores[1, i], scores[2, i], score - last)
            a = _add_row(a, row, int(t0[k] < a[0]), i, sizes, u0, v0, unit)
            b = _add_row(b, row, int(t1[k] < b[0]), i, sizes, u1, v1, unit)
            c = _add_row(c, row, int(t2[k] < c[0]), i, sizes, u2, v2, unit)
            d = _add_row(d, row, int(t3[k] < d[0]), i, sizes, u3, v3, unit)
            last = score
    n_first = size - n_second
    cost_a, cost_b, cost_c, cost_d = 0.0, 0.0, 0.0, 0.0
    i, j = 0, 0
    reached = 0
    end_u, end_v = n_second, n_first
    while i < n_first and j < n_second:
        first, second = end_u <= end_v, end_v <= end_u
        end = end_u if first else end_v
        mass = float(end - reached)
        at_u, at_v = np.uint64(i), np.uint64(j)
        e, f, g, h = (
            v0[at_v] - u0[at_u],
            v1[at_v] - u1[at_u],
            v2[at_v] - u2[at_u],
            v3[at_v] - u3[at_u],
        )
        cost_a += mass * e * e
        cost_b += mass * f * f
        cost_c += mass * g * g
        cost_d += mass * h * h
        reached = end
        i += int(first)
        j += int(second)
        end_u = end_u + n_second if first else end_u
        end_v = end_v + n_first if second else end_v
    _write_sums(a, cost_a, sizes, sums[0])
    _write_sums(b, cost_b, sizes, sums[1])
    _write_sums(c, cost_c, sizes, sums[2])
    _write_sums(d, cost_d, sizes, sums[3])


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
def _draw_labels(
    state: State,
    rows: IntArray,
    cluster: IntArray,
    first_cluster: int,
    units: tuple[int, int],
    taken: IntArray,
    labels: IntArray,
) -> int:
    """Permute the labels of a level of clusters, or of atoms; return rows of the second group."""
    left, wanted = units[0] + units[1], units[1]
    if cluster.size:
        return _draw_clusters(state, cluster, left, wanted, first_cluster, labels, taken)
    return _draw_atoms(state, rows, left, wanted, taken)


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
    each: int,
    totals: FloatArray,
    distances: FloatArray,
    statistics: FloatArray,
    reached: IntArray,
    buffers: IntArray,
    thresholds: npt.NDArray[np.int32],
    samples: FloatArray,
) -> None:
    """Fill in replicates from `first` on, of which 0 is the data as observed.

    `totals` has a row for each; `distances` a row for `each` of them, the sums of W_1; `statistics`
    gets the last z of every level; `reached` counts how often the observed z was reached in a
    level, and in it or an earlier one.
    """
    n_replicates = totals.shape[0]
    unit = np.array([0.0, 1.0])
    sums = np.empty((_LANES, 5))
    # Of lanes beyond the last replicate nothing is read.
    states = np.zeros(n_replicates + _LANES, np.uint64)
    for b in range(n_replicates):
        states[b] = start_stream(seed, first + b)[0]
    for place in range(order.size):
        k = order[place]
        begin, end = offsets[k], offsets[k + 1]
        scores, rows = all_scores[:, begin:end], all_rows[begin:end]
        taken, labels = buffers[0, : end - begin], buffers[1]
        size = sizes[k, 0] + sizes[k, 1]
        single = size == end - begin
        n_second, lanes = sizes[k, 1], _LANES if single and first > 0 and not cluster.size else 1
        for b in range(n_replicates):
            state = states[b : b + 1]
            lane = b % lanes
            if lanes > 1:
                if lane == 0:
                    _four_row_sums(
                        scores, n_second, states[b : b + lanes], thresholds, samples, unit, sums
                    )
                advance(state, size)
            else:
                if first + b == 0:
                    n_second = _copy(all_second[begin:end], taken)
                else:
                    units = (exchangeable[k, 0], exchangeable[k, 1])
                    n_second = _draw_labels(
                        state, rows, cluster[begin:end], cluster_offsets[k], units, taken, labels
                    )
                if single:
                    _row_sums(scores, taken, n_second, samples, unit, sums[0])
                else:
                    _atom_sums(scores, rows, taken, size, n_second, samples, sums[0])
            statistic = 0.0
            for c in range(3):
                totals[b, c] += sums[lane, c]
                statistic = max(statistic, abs(sums[lane, c]) * facts[k, PRECISION + c])
            statistic = min(statistic, facts[k, MAX_Z])
            shares = 1.0 / (size - n_second) + 1.0 / n_second
            totals[b, COST] += measure[k] * sums[lane, 3]
            totals[b, LARGEST] = max(totals[b, LARGEST], statistic)
            totals[b, MEAN_GAP] += measure[k] * sums[lane, 0] * shares
            distances[b // each, k] += sums[lane, 4]
            statistics[k] = statistic
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
    each: int = _LARGEST_BLOCK,
) -> tuple[FloatArray, FloatArray, FloatArray, IntArray]:
    """Compute replicates first, ..., last - 1, levels in the given order.

    Returns totals, sums of W_1 of each level over `each` replicates at a time, the last z of each
    level, and counts of those that reach the observed ones; see `_replicates`.
    """
    n_levels, largest = measure.size, int(np.diff(levels.offsets).max())
    totals = np.zeros((last - first, _COLUMNS))
    distances = np.zeros((-(-len(totals) // each), n_levels))
    statistics, reached = np.empty(n_levels), np.zeros((n_levels, 2), np.int64)
    alike = first > 0 and not levels.cluster.size
    n_samples = 2 * _LANES if alike else 4
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
        each,
        totals,
        distances,
        statistics,
        reached,
        np.empty((2, largest), np.int64),
        np.empty((_LANES, _ROWS_AT_ONCE), np.int32),
        np.empty((n_samples, largest + 1)),
    )
    return totals, distances, statistics, reached


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
    totals, _, observed, reached = replicate_statistics(
        levels, measure, nothing, natural, seed, 0, 1
    )
    order = np.argsort(observed, kind="stable")
    every, distance = [totals], np.zeros(measure.size)
    each = max(1, min(_LARGEST_BLOCK, _ATOMS_A_BLOCK // levels.rows.size))
    parts = iterate_blocks(
        lambda first, last: replicate_statistics(
            levels, measure, observed, order, seed, first + 1, last + 1, each
        ),
        permutations,
        each * -(-_LANES // each),  # few replicates of many rows still fill the lanes
        progress,
    )
    for part, part_distances, _, part_reached in parts:
        every.append(part)
        for sums in part_distances:
            distance += sums
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
