"""Resampling of cells: labels permuted within levels, rows drawn again, groups cut in halves.

Every replicate is one pass over the atoms. A row is an atom with count one; a bin of a histogram
is an atom with a large count, whose draws are hypergeometric or binomial, so the cost depends on
the atoms and not on the rows behind them. Weighted rows are never merged, so each keeps its
weight.

All three statistics of a pair of samples come out of one sweep of the monotone plan: the cost
W_2² = Σ m d², the distance W_1 = Σ m |d| and the gap of the means Σ m d.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from likeforlike.contrasts import Contrast
from likeforlike.draws import State, binomial, hypergeometric, start, uniform
from likeforlike.errors import InputError
from likeforlike.transport.atoms import Atoms, FloatArray, IntArray
from likeforlike.transport.compiled import compiled
from likeforlike.transport.threads import in_blocks

__all__ = ["Progress", "Replicates", "bootstrap", "permute", "pool_levels", "split_halves"]

Progress = Callable[[int], None]
"""Called with the number of replicates done since the last call."""

# A block of replicates should take well under a second, so that an interrupt is obeyed at once.
_ATOMS_A_BLOCK = 4_000_000
_LARGEST_BLOCK = 32


class Replicates(NamedTuple):
    """Statistics of resampled data.

    Attributes
    ----------
    totals : (B, 3) floats: Σ_l Q(l) times W_2², W_1 and the gap of each replicate.
    reached : (k,) integers, in how many replicates W_2² of the level was at least the observed.
    means : (k, 2) floats, means over replicates of W_2² and of W_1 of each level.
    """

    totals: FloatArray
    reached: IntArray
    means: FloatArray


class Pool(NamedTuple):
    """Scores of both groups of each level together, sorted.

    Attributes
    ----------
    values : (m,) floats, not decreasing inside a level.
    first, second : (m,) integers, rows of either group at this score.
    weight : (m,) floats, weight of one such row.
    offsets : (k + 1,) integers, where each level begins.
    """

    values: FloatArray
    first: IntArray
    second: IntArray
    weight: FloatArray
    offsets: IntArray


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
def _pool_levels(
    values: FloatArray, counts: IntArray, mass: FloatArray, offsets: IntArray, pairs: IntArray
) -> tuple[FloatArray, IntArray, IntArray, FloatArray, IntArray]:
    """Merge the two sorted cells of every level; equal scores of equal weight become one atom."""
    size = 0
    for k in range(pairs.shape[0]):
        for side in range(2):
            size += offsets[pairs[k, side] + 1] - offsets[pairs[k, side]]
    pooled = np.empty(size)
    first, second = np.zeros(size, np.int64), np.zeros(size, np.int64)
    weight = np.empty(size)
    begins = np.zeros(pairs.shape[0] + 1, np.int64)
    last = -1
    for k in range(pairs.shape[0]):
        i, end_i = offsets[pairs[k, 0]], offsets[pairs[k, 0] + 1]
        j, end_j = offsets[pairs[k, 1]], offsets[pairs[k, 1] + 1]
        while i < end_i or j < end_j:
            take_first = j >= end_j or (i < end_i and values[i] <= values[j])
            at = i if take_first else j
            own = mass[at] / counts[at]
            fresh = last < begins[k] or values[at] != pooled[last] or own != weight[last]
            if fresh:
                last += 1
                pooled[last], weight[last] = values[at], own
            if take_first:
                first[last] += counts[at]
                i += 1
            else:
                second[last] += counts[at]
                j += 1
        begins[k + 1] = last + 1
    kept = last + 1
    return pooled[:kept], first[:kept], second[:kept], weight[:kept], begins


def pool_levels(contrast: Contrast) -> Pool:
    """Scores of the two groups of every supported level together.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts
    >>> from likeforlike.resampling import pool_levels
    >>> cells = Cells.from_rows([0.5, 0.2, 0.5], ["f", "m", "m"])
    >>> pool = pool_levels(contrasts(cells, "pairwise")[0])
    >>> pool.values, pool.first, pool.second
    (array([0.2, 0.5]), array([0, 1]), array([1, 1]))
    """
    atoms = contrast.cells.atoms
    return Pool(
        *_pool_levels(atoms.values, atoms.counts, atoms.mass, atoms.offsets, contrast.segments())
    )


@compiled
def _permuted_level(
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
def _shuffled_level(
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
    largest = 0
    for k in range(n_levels):
        largest = max(largest, offsets[k + 1] - offsets[k])
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
                i, j = _shuffled_level(state, values[at], first[at], weight[at], order, u, a, v, b)
            else:
                i, j = _permuted_level(
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
) -> Replicates:
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
        pool = _single_rows(pool)

    def work(begin: int, end: int) -> tuple[FloatArray, IntArray, FloatArray]:
        return _permute(*pool, measure, observed, weighted, seed, begin, end)

    return _collected(work, replicates, pool.values.size, progress)


def _single_rows(pool: Pool) -> Pool:
    """Weighted rows one by one; only possible where the atoms are rows."""
    both = pool.first + pool.second
    cumulative = np.concatenate([[0], np.cumsum(both)])
    side = np.zeros(int(cumulative[-1]), np.int64)
    starts = cumulative[:-1]
    repeated = np.repeat(np.arange(both.size), both)
    side[:] = np.arange(side.size) - starts[repeated] < pool.first[repeated]
    return Pool(
        pool.values[repeated],
        side,
        1 - side,
        pool.weight[repeated],
        cumulative[pool.offsets],
    )


def _collected(
    work: Callable[[int, int], tuple[FloatArray, IntArray, FloatArray]],
    replicates: int,
    n_atoms: int,
    progress: Progress | None,
) -> Replicates:
    block = max(1, min(_LARGEST_BLOCK, _ATOMS_A_BLOCK // n_atoms))
    totals, reached, sums = zip(*in_blocks(work, replicates, block, progress), strict=True)
    return Replicates(
        np.concatenate(totals), np.sum(reached, axis=0), np.sum(sums, axis=0) / replicates
    )


@compiled
def _drawn_again(
    state: State,
    values: FloatArray,
    counts: IntArray,
    mass: FloatArray,
    u: FloatArray,
    a: FloatArray,
) -> int:
    """Draw as many rows as the cell has, with replacement; fills the sample, returns its size."""
    left = 0
    for count in counts:
        left += count
    draws = left
    i = 0
    for k in range(values.size):
        drawn = binomial(state, draws, counts[k] / left)
        left -= counts[k]
        draws -= drawn
        if drawn:
            u[i], a[i] = values[k], drawn * (mass[k] / counts[k])
            i += 1
    return i


@compiled
def _bootstrap(
    values: FloatArray,
    counts: IntArray,
    mass: FloatArray,
    offsets: IntArray,
    pairs: IntArray,
    measure: FloatArray,
    seed: int,
    begin: int,
    end: int,
) -> tuple[FloatArray, IntArray, FloatArray]:
    largest = 0
    for s in range(offsets.size - 1):
        largest = max(largest, offsets[s + 1] - offsets[s])
    u, a = np.empty(largest), np.empty(largest)
    v, b = np.empty(largest), np.empty(largest)
    totals = np.zeros((end - begin, 3))
    sums = np.zeros((pairs.shape[0], 2))
    for replicate in range(begin, end):
        state = start(seed, replicate)
        row = totals[replicate - begin]
        for k in range(pairs.shape[0]):
            left = slice(offsets[pairs[k, 0]], offsets[pairs[k, 0] + 1])
            right = slice(offsets[pairs[k, 1]], offsets[pairs[k, 1] + 1])
            i = _drawn_again(state, values[left], counts[left], mass[left], u, a)
            j = _drawn_again(state, values[right], counts[right], mass[right], v, b)
            cost, distance, gap = _sweep_three(u[:i], a[:i], v[:j], b[:j])
            row[0] += measure[k] * cost
            row[1] += measure[k] * distance
            row[2] += measure[k] * gap
            sums[k, 0] += cost
            sums[k, 1] += distance
    return totals, np.zeros(pairs.shape[0], np.int64), sums


def bootstrap(
    contrast: Contrast,
    measure: FloatArray,
    *,
    replicates: int,
    seed: int,
    progress: Progress | None = None,
) -> Replicates:
    """Draw the rows of every cell again, with replacement.

    Parameters
    ----------
    contrast, measure, replicates, seed, progress : as for `permute`.
    """
    atoms, pairs = contrast.cells.atoms, contrast.segments()

    def work(begin: int, end: int) -> tuple[FloatArray, IntArray, FloatArray]:
        return _bootstrap(
            atoms.values, atoms.counts, atoms.mass, atoms.offsets, pairs, measure, seed, begin, end
        )

    return _collected(work, replicates, atoms.values.size, progress)


@compiled
def _split_halves(
    values: FloatArray,
    counts: IntArray,
    mass: FloatArray,
    offsets: IntArray,
    segments: IntArray,
    seed: int,
    begin: int,
    end: int,
) -> FloatArray:
    largest = 0
    for s in range(offsets.size - 1):
        largest = max(largest, offsets[s + 1] - offsets[s])
    u, a = np.empty(largest), np.empty(largest)
    v, b = np.empty(largest), np.empty(largest)
    sums = np.zeros(segments.size)
    for replicate in range(begin, end):
        state = start(seed, replicate)
        for k in range(segments.size):
            low, high = offsets[segments[k]], offsets[segments[k] + 1]
            size = 0
            for at in range(low, high):
                size += counts[at]
            if size < 2:
                continue
            half = size // 2
            left, left_half = size, half
            i, j = 0, 0
            for at in range(low, high):
                here = counts[at]
                drawn = hypergeometric(state, left_half, left - left_half, here)
                left -= here
                left_half -= drawn
                own = mass[at] / here
                if drawn:
                    u[i], a[i] = values[at], drawn * own
                    i += 1
                if drawn < here:
                    v[j], b[j] = values[at], (here - drawn) * own
                    j += 1
            cost, _, _ = _sweep_three(u[:i], a[:i], v[:j], b[:j])
            # Halves of n rows differ by (1 / m + 1 / (n - m)) of what one row does; a sample of
            # n differs from its law by 1 / n of it.
            sums[k] += cost * (half / size) * ((size - half) / size)
    return sums


def split_halves(
    atoms: Atoms,
    segments: IntArray,
    *,
    replicates: int,
    seed: int,
    progress: Progress | None = None,
) -> FloatArray:
    """How far W_2² lies above the truth because a sample is finite, for each segment.

    The bias of a sample of n is estimated from the distance of its random halves, which is four
    times as large: ¼ E W_2²(half, other half). A segment of one row gets 0.

    Parameters
    ----------
    atoms : packed samples.
    segments : (k,) integers.
    replicates, seed, progress : as for `permute`.
    """
    if replicates < 1:
        raise InputError(f"replicates must be at least 1, not {replicates}.")

    def work(begin: int, end: int) -> FloatArray:
        return _split_halves(
            atoms.values, atoms.counts, atoms.mass, atoms.offsets, segments, seed, begin, end
        )

    block = max(1, min(_LARGEST_BLOCK, _ATOMS_A_BLOCK // atoms.values.size))
    sums = in_blocks(work, replicates, block, progress)
    means: FloatArray = np.sum(sums, axis=0) / replicates
    return means
