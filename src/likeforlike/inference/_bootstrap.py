"""Noise: how far apart two groups would look by chance, without any disparity to be seen.

The error of a difference of empirical distribution functions is drawn again by giving every unit a
random sign ε (multiplier bootstrap),

    B*(t) = Σ_groups ± √f Σ_i ε_i h_i (1{x_i <= t} - F̂(t)),    f = 1 / (1 - Σ h²),

with h the share of a unit in its cell. f makes its variance unbiased; cells with a single unit have
none. ∫ |B*| is what W_1 would be if there were nothing but noise. Units of a cluster share a sign,
in all its cells. The signs of the n rows of an atom add up to 2 Binomial(n, ½) - n, so counts cost
what their atoms cost.

Reference: van der Vaart and Wellner (1996), *Weak Convergence and Empirical Processes*, 2.9 and
3.6.

All rows of a level in one order: steps of the scale, ranks, medians and distances.

The cells of a level are sorted already. Merging the two gives every step of the scale between two
neighboring scores, and with it

    W_1 = ∫ |F_0 - F_1|    and a potential φ with slope sgn(F_0 - F_1),

whose means in the two groups differ by W_1: E_1 φ - E_0 φ = W_1. The variance of φ is therefore
that of the distance where it is not 0. Where F_0 = F_1 any slope would do; the last one goes on.

Reference: Villani (2009), *Optimal Transport*, theorem 5.10 and remark 6.5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray, plain
from likeforlike.inference._random import Progress, State, start, uniform, word, word_at
from likeforlike.inference._sample import Sample, Units
from likeforlike.transport import compiled, in_blocks

Sides = npt.NDArray[np.int8]
# Differences of distribution functions that are rounding only.
_ROUNDING = 1e-12


@compiled
def _merge(
    values: FloatArray,
    mass: FloatArray,
    offsets: IntArray,
    totals: FloatArray,
    side: Sides,
    potential: FloatArray,
) -> FloatArray:
    """W_1 of each level; fills in the cell each place is of, and the potential of atoms."""
    found = np.zeros(offsets.size // 2)
    for level in range(found.size):
        first, middle, end = offsets[2 * level], offsets[2 * level + 1], offsets[2 * level + 2]
        i, j, last = first, middle, 0.0
        reached_0, reached_1, height, apart, slope = 0.0, 0.0, 0.0, 0.0, 1.0
        for place in range(first, end):
            second = j < end and (i == middle or not values[i] <= values[j])
            atom = j if second else i
            if place > first:
                step = values[atom] - last
                found[level] += abs(apart) * step
                height += slope * step
            last = values[atom]
            side[place] = second
            potential[atom] = height
            if second:
                reached_1 += mass[atom]
                j += 1
            else:
                reached_0 += mass[atom]
                i += 1
            apart = reached_0 / totals[2 * level] - reached_1 / totals[2 * level + 1]
            if apart > _ROUNDING:
                slope = 1.0
            elif apart < -_ROUNDING:
                slope = -1.0
    return found


@compiled
def _steps(values: FloatArray, offsets: IntArray, side: Sides, steps: FloatArray) -> None:
    """Fill in the distance of each place from the next one of its level; 0 at its end."""
    for level in range(offsets.size // 2):
        first, last = offsets[2 * level], 0.0
        i, j = first, offsets[2 * level + 1]
        for place in range(first, offsets[2 * level + 2]):
            value = values[j if side[place] else i]
            j += side[place]
            i += 1 - side[place]
            if place > first:
                steps[place - 1] = value - last
            last = value
        steps[offsets[2 * level + 2] - 1] = 0.0


@compiled
def _rank(
    values: FloatArray, counts: IntArray, offsets: IntArray, ranks: FloatArray, medians: FloatArray
) -> None:
    """Fill in the lower median of the rows of each level, and the mid-ranks of atoms if asked."""
    for level in range(medians.size):
        i, j = offsets[2 * level], offsets[2 * level + 1]
        middle, end = j, offsets[2 * level + 2]
        rows, before, found = 0, 0, False
        for atom in range(i, end):
            rows += counts[atom]
        while i < middle or j < end:
            value = values[i] if j == end or (i < middle and values[i] <= values[j]) else values[j]
            begin_i, begin_j, tied = i, j, 0
            while i < middle and values[i] == value:
                tied += counts[i]
                i += 1
            while j < end and values[j] == value:
                tied += counts[j]
                j += 1
            if ranks.size:
                ranks[begin_i:i] = before + 0.5 * (tied + 1)
                ranks[begin_j:j] = before + 0.5 * (tied + 1)
            before += tied
            if not found and 2 * before > rows - 1:
                medians[level], found = value, True


@dataclass(frozen=True)
class LevelOrder:
    """The atoms of each level by score.

    Attributes
    ----------
    sample : whose atoms they are.
    side : (m,) small integers, of which cell of its level the atom at each place is, 0 or 1.
    distances : (k,) floats, W_1 in each level, in scaled scores.
    potential : (m,) floats, φ of every atom.
    """

    sample: Sample
    side: Sides
    distances: FloatArray
    potential: FloatArray

    @property
    def order(self) -> IntArray:
        """Atoms of the first level by score, then those of the second, ... Shape (m,)."""
        order, side = np.empty(self.side.size, np.int64), self.sample.cell % 2
        for own in (0, 1):
            order[self.side == own] = np.flatnonzero(side == own)
        return order

    @property
    def steps(self) -> FloatArray:
        """Distance of each place from the next one of its level; 0 at its end. Shape (m,)."""
        steps = np.empty(self.side.size)
        _steps(self.sample.values, self.sample.offsets, self.side, steps)
        return steps

    @property
    def ranks(self) -> FloatArray:
        """Mid-rank of every atom among the n rows of its level, over n + 1. Shape (m,).

        Every row counts once: weights would let the rank of a score depend on its group.
        """
        ranks = np.empty(self.side.size)
        self._medians(ranks)
        ranks /= self._repeat(self.sample.rows.reshape(-1, 2).sum(axis=1) + 1.0)
        return ranks

    @property
    def from_median(self) -> FloatArray:
        """How far every atom lies from the lower median of the rows of its level. Shape (m,)."""
        distances = self._repeat(self._medians(np.empty(0)))
        np.subtract(self.sample.values, distances, out=distances)
        return np.abs(distances, out=distances)

    def _medians(self, ranks: FloatArray) -> FloatArray:
        """The lower median of each level, (k,); fills in ranks of atoms unless there is no room."""
        sample, medians = self.sample, np.empty(self.distances.size)
        counts = plain(sample.counts).astype(np.int64, copy=False)
        _rank(sample.values, counts, sample.offsets, ranks, medians)
        return medians

    def _repeat(self, figures: FloatArray) -> FloatArray:
        """A figure of each level for every atom. Shape (m,)."""
        return np.repeat(figures, np.diff(self.sample.offsets[::2]))


def order_levels(sample: Sample) -> LevelOrder:
    """Merge the cells of each level, and measure W_1 between them."""
    side, potential = np.empty(sample.values.size, np.int8), np.empty(sample.values.size)
    mass = plain(sample.mass).astype(np.float64, copy=False)
    distances = _merge(sample.values, mass, sample.offsets, sample.totals, side, potential)
    return LevelOrder(sample, side, distances, potential)


DRAWS = 100
"""How often signs are drawn."""

# One byte a sign: those of clusters are looked up in no order, and should stay near the processor.
_Signs = npt.NDArray[np.int8]
# A fixed number of draws makes a block: sums do not depend on the threads, and few are kept.
_BLOCK = 10
# Signs of more rows than this are added up by the normal distribution.
_MANY = 256


class BootstrapNoise(NamedTuple):
    """Squared noise (∫|B*|)², averaged in two ways.

    Attributes
    ----------
    levels : (k,) floats, its mean over the draws in each level.
    totals : (draws, r) floats, for each draw its mean over levels under each of the r measures.
    potential : variance of the mean potential of noise, averaged over draws and the first measure.
    """

    levels: FloatArray
    totals: FloatArray
    potential: float


class _BootstrapRows(NamedTuple):
    """What the kernel reads of every place, level after level by score.

    Attributes
    ----------
    side : (m,) small integers, 0 or 1.
    counts : (m,) integers, rows of the atom there; empty if each is one.
    cluster : (m,) integers, or empty.
    share : (m,) floats, the share of its cell that a row there holds; empty if all of a cell hold
        the same.
    cell_share : (2k,) floats, that share.
    steps : (m,) floats, distance to the next place.
    offsets : (k + 1,) integers, where each level begins.
    factors : (2k,) floats, ± √f of each cell.
    of_mean : (2k,) floats, from the variance inside each cell to that of its mean.
    """

    side: Sides
    counts: IntArray
    cluster: IntArray
    share: FloatArray
    cell_share: FloatArray
    steps: FloatArray
    offsets: IntArray
    factors: FloatArray
    of_mean: FloatArray


@compiled
def _ones_in(bits: np.uint64) -> int:
    """How many of the bits are set."""
    bits -= (bits >> np.uint64(1)) & np.uint64(0x5555555555555555)
    pairs = np.uint64(0x3333333333333333)
    bits = (bits & pairs) + ((bits >> np.uint64(2)) & pairs)
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def sign_sum(state: State, count: int) -> float:
    """The sum of `count` random signs: 2 Binomial(count, ½) - count, or its limit for many."""
    if count > _MANY:
        radius = math.sqrt(-2.0 * math.log(1.0 - uniform(state)) * count)
        return radius * math.cos(2.0 * math.pi * uniform(state))
    ones, left = 0, count
    while left >= 64:
        ones += _ones_in(word(state))
        left -= 64
    if left:
        ones += _ones_in(word(state) >> np.uint64(64 - left))
    return 2.0 * ones - count


@compiled
def _fill_signs(state: State, signs: _Signs) -> None:
    """A random sign in every place, 64 of one word."""
    bits = np.uint64(0)
    for i in range(signs.size):
        if i % 64 == 0:
            bits = word(state)
        signs[i] = 1 if bits & np.uint64(1) else -1
        bits >>= np.uint64(1)


@compiled
def _signs_between(begin: np.uint64, first: int, end: int, signs: _Signs) -> None:
    """The signs that `_fill_signs` puts in the places first, ..., end - 1, without the others."""
    bits = word_at(begin, first // 64) >> np.uint64(first % 64)
    for place in range(first, end):
        if place % 64 == 0:
            bits = word_at(begin, place // 64)
        signs[place - first] = 1 if bits & np.uint64(1) else -1
        bits >>= np.uint64(1)


@compiled
def _level_noise(
    rows: _BootstrapRows, level: int, state: State, signs: _Signs, errors: FloatArray, single: bool
) -> tuple[float, float]:
    """∫ |B*| of one level, and the variance of its mean potential; `errors` is room for places.

    `signs` are those of all clusters or, if every place is a single row, of this level.
    """
    first, end = rows.offsets[level], rows.offsets[level + 1]
    factor_0, factor_1 = rows.factors[2 * level], rows.factors[2 * level + 1]
    share_0, share_1 = rows.cell_share[2 * level], rows.cell_share[2 * level + 1]
    sum_0, sum_1 = 0.0, 0.0
    for place in range(first, end):
        if rows.cluster.size:
            count = rows.counts[place] if rows.counts.size else 1
            sign = float(signs[rows.cluster[place]] * count)
        elif single:
            sign = float(signs[place - first])
        else:
            sign = sign_sum(state, rows.counts[place])
        # Which side comes next is chance: counting both, one of them 0 times, is faster.
        second = rows.side[place]
        share = share_1 if second else share_0
        if rows.share.size:
            share = rows.share[place]
        error = sign * share * (factor_1 if second else factor_0)
        sum_0 += (1 - second) * error
        sum_1 += second * error
        errors[place - first] = error
    height, area, potential, slope = 0.0, 0.0, 0.0, 1.0
    mean_0, mean_1, square_0, square_1 = 0.0, 0.0, 0.0, 0.0
    for place in range(first, end):
        second = rows.side[place]
        share = share_1 if second else share_0
        if rows.share.size:
            share = rows.share[place]
        if rows.counts.size:
            share *= rows.counts[place]
        height += errors[place - first] - (sum_1 if second else sum_0) * share
        moment = share * potential
        mean_0 += (1 - second) * moment
        mean_1 += second * moment
        square_0 += (1 - second) * (moment * potential)
        square_1 += second * (moment * potential)
        area += abs(height) * rows.steps[place]
        if height > _ROUNDING:
            slope = 1.0
        elif height < -_ROUNDING:
            slope = -1.0
        potential += slope * rows.steps[place]
    of_mean_0, of_mean_1 = rows.of_mean[2 * level], rows.of_mean[2 * level + 1]
    varied = (square_0 - mean_0 * mean_0) * of_mean_0 + (square_1 - mean_1 * mean_1) * of_mean_1
    return area, varied


@compiled
def _draw_block(
    rows: _BootstrapRows,
    measures: FloatArray,
    n_signs: int,
    largest: int,
    seed: int,
    begin: int,
    end: int,
    sums: FloatArray,
    totals: FloatArray,
) -> None:
    """Add the squared noise of draws begin, ..., end - 1 to the sums and totals.

    All draws look at a level while it is in the processor's cache.
    """
    clustered = rows.cluster.size > 0
    single = n_signs > 0 and not clustered
    signs = np.empty((end - begin if clustered else 1, n_signs if clustered else largest), np.int8)
    states, errors = np.empty(end - begin, np.uint64), np.empty(largest)
    for b in range(states.size):
        state = start(seed, begin + b)
        if clustered:
            _fill_signs(state, signs[b])
        states[b] = state[0]
    for level in range(sums.size):
        for b in range(states.size):
            if single:
                _signs_between(states[b], rows.offsets[level], rows.offsets[level + 1], signs[0])
            own = signs[b if clustered else 0]
            area, varied = _level_noise(rows, level, states[b : b + 1], own, errors, single)
            sums[level] += area * area
            totals[b, 0] += measures[0, level] * varied
            for j in range(measures.shape[0]):
                totals[b, j + 1] += measures[j, level] * area * area


def draw_noise(
    merged: LevelOrder,
    measures: FloatArray,
    *,
    draws: int = DRAWS,
    random_state: int = 0,
    progress: Progress | None = None,
) -> BootstrapNoise:
    """Draw the squared noise of W_1 in every level, in scaled scores."""
    sample = merged.sample
    rows = _rows(merged)
    if sample.cluster is not None:
        n_signs = int(sample.cluster.max()) + 1
    else:
        n_signs = 0 if rows.counts.size else rows.side.size
    largest, k = int(np.diff(rows.offsets).max()), sample.n_levels

    def work(begin: int, end: int) -> tuple[FloatArray, FloatArray]:
        sums, totals = np.zeros(k), np.zeros((end - begin, 1 + measures.shape[0]))
        _draw_block(rows, measures, n_signs, largest, random_state, begin, end, sums, totals)
        return sums, totals

    blocks = in_blocks(work, draws, _BLOCK, progress)
    levels = np.zeros(k)
    for sums, _ in blocks:
        levels += sums
    totals = np.concatenate([totals for _, totals in blocks])
    return BootstrapNoise(levels / draws, totals[:, 1:], float(totals[:, 0].mean()))


def _rows(merged: LevelOrder) -> _BootstrapRows:
    sample, units = merged.sample, merged.sample.units
    with np.errstate(divide="ignore"):
        factors = np.sqrt(1.0 / np.maximum(1.0 - 1.0 / units.effective, 1e-9))
    factors[units.single] = 0.0
    factors[1::2] *= -1.0
    counts, cluster, share = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    many = int(sample.counts.max()) > 1
    if many or sample.weighted or sample.cluster is not None:
        order = merged.order
        if many:
            counts = sample.counts[order].astype(np.int64, copy=False)
        if sample.cluster is not None:
            cluster = sample.cluster[order]
        if sample.weighted:
            share = (sample.mass / sample.counts)[order] / sample.totals[sample.cell[order]]
    return _BootstrapRows(
        side=merged.side,
        counts=counts,
        cluster=cluster,
        share=share,
        cell_share=1.0 / sample.totals,
        steps=merged.steps,
        offsets=sample.offsets[::2].copy(),
        factors=factors,
        of_mean=of_mean(units),
    )


def of_mean(units: Units) -> FloatArray:
    """From the variance inside each cell to that of its mean, 1 / (n - 1); 0 for single units.

    Exact for rows without weights; clusters are not seen.
    """
    part: FloatArray = np.where(units.single, 0.0, 1.0 / np.maximum(units.effective - 1.0, 1e-9))
    return part
