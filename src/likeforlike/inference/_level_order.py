"""All rows of a level in one order: steps of the scale, ranks, medians and distances.

The cells of a level are sorted already. Merging the two gives every step of the scale between two
neighboring scores, and with it

    W_1 = ∫ |F_0 - F_1|    and a potential φ with slope sgn(F_0 - F_1),

whose means in the two groups differ by W_1: E_1 φ - E_0 φ = W_1. The variance of φ is therefore
that of the distance where it is not 0. Where F_0 = F_1 any slope would do; the last one goes on.

Reference: Villani (2009), *Optimal Transport*, theorem 5.10 and remark 6.5.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray, plain
from likeforlike.inference._units import Sample
from likeforlike.transport._compiled import compiled

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
