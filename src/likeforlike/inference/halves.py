"""Small-sample bias of squared distances, from random halves of each group.

A squared distance between samples lies above that between their laws. How far can be seen inside
a group: two random halves of it have the same law, and what lies between them is sampling alone,
about four times the bias of the whole.

What is left of the bias after this correction is known where parity holds: there, any dealing of
the rows to the groups is as good as the one observed. Its average over such dealings is taken off
too, so that at parity the estimate of a squared disparity averages to zero whatever the size of
the cells, with thousands of levels of a few rows each.
"""

from __future__ import annotations

import numpy as np

from likeforlike.inference.draws import State, hypergeometric, start
from likeforlike.inference.permutation import permuted_level, shuffled_level
from likeforlike.inference.pooling import Pool
from likeforlike.inference.replicates import Progress, block_size
from likeforlike.inference.spread import Steps, squared_distance
from likeforlike.transport.atoms import Atoms, FloatArray, IntArray
from likeforlike.transport.compiled import compiled
from likeforlike.transport.sorting import largest_segment
from likeforlike.transport.threads import in_blocks

__all__ = ["SPLITS", "between", "biases", "left_over", "push"]

SPLITS = 100
"""How often each group is cut in halves, and how often rows are dealt anew."""


@compiled
def push(sample: FloatArray, size: int, low: float, high: float, mass: float) -> int:
    """Add mass to a sample (rows: low, high, mass); equal scores share a column."""
    if size and sample[0, size - 1] == low:
        sample[2, size - 1] += mass
        return size
    sample[0, size], sample[1, size], sample[2, size] = low, high, mass
    return size + 1


@compiled
def between(sample: FloatArray, size: int, other: FloatArray, rest: int, two_valued: bool) -> float:
    """Squared distance of two samples (rows: low, high, mass) of the given sizes."""
    return squared_distance(
        sample[0, :size],
        sample[1, :size],
        sample[2, :size],
        other[0, :rest],
        other[1, :rest],
        other[2, :rest],
        two_valued,
    )


@compiled
def _halved(
    state: State,
    low: FloatArray,
    high: FloatArray,
    counts: IntArray,
    mass: FloatArray,
    sample: FloatArray,
    other: FloatArray,
    two_valued: bool,
) -> float:
    """Squared distance of two random halves of a cell, scaled to the bias of the whole."""
    rows = 0
    for count in counts:
        rows += count
    if rows < 2:
        return 0.0
    half = rows // 2
    left, left_half, size, rest = rows, half, 0, 0
    for k in range(low.size):
        drawn = hypergeometric(state, left_half, left - left_half, counts[k])
        left -= counts[k]
        left_half -= drawn
        own = mass[k] / counts[k]
        if drawn:
            size = push(sample, size, low[k], high[k], drawn * own)
        if drawn < counts[k]:
            rest = push(other, rest, low[k], high[k], (counts[k] - drawn) * own)
    # A sample of n rows lies κ / (n + c) from its law, halves lie κ / (m + c) + κ / (n - m + c)
    # from each other; c is 0 for a mean and 1 for W_2² (exactly so for uniform scores).
    shift = 0.0 if two_valued else 1.0
    share = 1.0 / ((rows + shift) * (1.0 / (half + shift) + 1.0 / (rows - half + shift)))
    return share * between(sample, size, other, rest, two_valued)


@compiled
def _split_halves(
    low: FloatArray,
    high: FloatArray,
    counts: IntArray,
    mass: FloatArray,
    offsets: IntArray,
    segments: IntArray,
    two_valued: bool,
    seed: int,
    begin: int,
    end: int,
) -> FloatArray:
    """Sum over replicates of the bias of each segment."""
    largest = largest_segment(offsets)
    sample, other = np.empty((3, largest)), np.empty((3, largest))
    sums = np.zeros(segments.size)
    for replicate in range(begin, end):
        state = start(seed, replicate)
        for k in range(segments.size):
            at = slice(offsets[segments[k]], offsets[segments[k] + 1])
            sums[k] += _halved(
                state, low[at], high[at], counts[at], mass[at], sample, other, two_valued
            )
    return sums


def biases(
    atoms: Atoms, steps: Steps, pairs: IntArray, seed: int, progress: Progress | None
) -> FloatArray:
    """How far D_l² of each level lies above its target on average, shape (k,)."""
    segments = pairs.ravel()

    def work(begin: int, end: int) -> FloatArray:
        return _split_halves(
            steps.low,
            steps.high,
            atoms.counts,
            atoms.mass,
            atoms.offsets,
            segments,
            steps.two_valued,
            seed,
            begin,
            end,
        )

    sums = in_blocks(work, SPLITS, block_size(atoms.values.size), progress)
    biases: FloatArray = (np.sum(sums, axis=0) / SPLITS).reshape(pairs.shape).sum(axis=1)
    return biases


@compiled
def _halves_of(
    state: State,
    low: FloatArray,
    high: FloatArray,
    places: FloatArray,
    mass: FloatArray,
    weighted: bool,
    two_valued: bool,
    sample: FloatArray,
    spare: FloatArray,
) -> tuple[int, float]:
    """Fill the sample from places in the pool; returns its size, and its bias from two halves."""
    lows, highs = np.empty(places.size), np.empty(places.size)
    counts = np.ones(places.size, np.int64)
    size = 0
    for i in range(places.size):
        lows[i], highs[i] = low[int(places[i])], high[int(places[i])]
        size = push(sample, size, lows[i], highs[i], mass[i])
        if not weighted:  # then the mass is a number of rows
            counts[i] = int(mass[i])
    return size, _halved(state, lows, highs, counts, mass, spare[0], spare[1], two_valued)


@compiled
def _left_over(
    low: FloatArray,
    high: FloatArray,
    first: IntArray,
    second: IntArray,
    weight: FloatArray,
    offsets: IntArray,
    measure: FloatArray,
    two_valued: bool,
    weighted: bool,
    seed: int,
    begin: int,
    end: int,
) -> float:
    """Sum over replicates of Σ_l Q(l) [D_l² - bias_l] with rows dealt to the groups anew."""
    largest = largest_segment(offsets)
    pool = np.arange(low.size).astype(np.float64)
    u, a, v, b = np.empty(largest), np.empty(largest), np.empty(largest), np.empty(largest)
    sample, other = np.empty((3, largest)), np.empty((3, largest))
    spare = np.empty((2, 3, largest))
    order = np.empty(largest, np.int64)
    total = 0.0
    for replicate in range(begin, end):
        state = start(seed, replicate)
        for k in range(offsets.size - 1):
            at = slice(offsets[k], offsets[k + 1])
            if weighted:
                i, j = shuffled_level(state, pool[at], first[at], weight[at], order, u, a, v, b)
            else:
                i, j = permuted_level(
                    state, pool[at], first[at], second[at], weight[at], u, a, v, b
                )
            size, bias = _halves_of(
                state, low, high, u[:i], a[:i], weighted, two_valued, sample, spare
            )
            rest, more = _halves_of(
                state, low, high, v[:j], b[:j], weighted, two_valued, other, spare
            )
            squared = between(sample, size, other, rest, two_valued)
            total += measure[k] * (squared - bias - more)
    return total


def left_over(
    pool: Pool,
    steps: Steps,
    measure: FloatArray,
    *,
    weighted: bool,
    seed: int,
    progress: Progress | None,
) -> float:
    """What Σ_l Q(l) [D_l² - bias_l] averages to at parity; zero if the halves say all.

    Parameters
    ----------
    pool : scores of both groups of every level.
    steps : of the pooled scores.
    measure : (k,) floats, Q(l).
    weighted : whether rows have weights of their own.
    seed, progress : of the dealings.
    """

    def work(begin: int, end: int) -> float:
        return _left_over(
            steps.low,
            steps.high,
            pool.first,
            pool.second,
            pool.weight,
            pool.offsets,
            measure,
            steps.two_valued,
            weighted,
            seed,
            begin,
            end,
        )

    sums = in_blocks(work, SPLITS, block_size(pool.values.size), progress)
    return float(sum(sums)) / SPLITS
