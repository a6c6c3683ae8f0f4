"""All rows of a level in one order: steps of the scale, ranks, medians and distances.

The cells of a level are sorted already. Merging the two gives every step of the scale between two
neighbouring scores, and with it

    W_1 = ∫ |F_0 - F_1|    and a potential φ with slope sgn(F_0 - F_1),

whose means in the two groups differ by W_1: E_1 φ - E_0 φ = W_1. The variance of φ is therefore
that of the distance where it is not 0. Where F_0 = F_1 any slope would do; the last one goes on.

Reference: Villani (2009), *Optimal Transport*, theorem 5.10 and remark 6.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.inference._units import Sample
from likeforlike.transport._compiled import compiled

# Differences of distribution functions that are rounding only.
_ROUNDING = 1e-12


@compiled
def _merge(values: FloatArray, offsets: IntArray, order: IntArray, steps: FloatArray) -> None:
    """Fill in the atoms of each level by score, and the distance of each from the next."""
    for level in range(offsets.size // 2):
        i, j = offsets[2 * level], offsets[2 * level + 1]
        middle, end = j, offsets[2 * level + 2]
        for place in range(i, end):
            if j == end or (i < middle and values[i] <= values[j]):
                order[place] = i
                i += 1
            else:
                order[place] = j
                j += 1
            if place > offsets[2 * level]:
                steps[place - 1] = values[order[place]] - values[order[place - 1]]
        steps[end - 1] = 0.0


@compiled
def _distances(
    order: IntArray,
    steps: FloatArray,
    mass: FloatArray,
    offsets: IntArray,
    totals: FloatArray,
    potential: FloatArray,
) -> FloatArray:
    """W_1 of each level; fills in the potential of every atom."""
    found = np.zeros(offsets.size // 2)
    for level in range(found.size):
        first, middle = offsets[2 * level], offsets[2 * level + 1]
        reached_0, reached_1, height, slope = 0.0, 0.0, 0.0, 1.0
        for place in range(first, offsets[2 * level + 2]):
            atom = order[place]
            potential[atom] = height
            if atom < middle:
                reached_0 += mass[atom]
            else:
                reached_1 += mass[atom]
            apart = reached_0 / totals[2 * level] - reached_1 / totals[2 * level + 1]
            if apart > _ROUNDING:
                slope = 1.0
            elif apart < -_ROUNDING:
                slope = -1.0
            found[level] += abs(apart) * steps[place]
            height += slope * steps[place]
    return found


@compiled
def _ranks(
    order: IntArray,
    steps: FloatArray,
    counts: IntArray,
    offsets: IntArray,
    ranks: FloatArray,
    medians: IntArray,
) -> None:
    """Fill in the mid-rank of every atom among the rows of its level, and the middle atom."""
    for level in range(medians.size):
        first, end = offsets[2 * level], offsets[2 * level + 2]
        rows = 0
        for place in range(first, end):
            rows += counts[order[place]]
        before, place, medians[level] = 0, first, -1
        while place < end:
            last = place
            tied = counts[order[place]]
            while last + 1 < end and steps[last] == 0.0:
                last += 1
                tied += counts[order[last]]
            for k in range(place, last + 1):
                ranks[order[k]] = before + 0.5 * (tied + 1)
            before += tied
            if medians[level] < 0 and 2 * before > rows - 1:
                medians[level] = order[place]
            place = last + 1


@dataclass(frozen=True)
class LevelOrder:
    """The atoms of each level by score.

    Attributes
    ----------
    sample : whose atoms they are.
    order : (m,) integers, atoms of the first level by score, then those of the second, ...
    steps : (m,) floats, distance of each place from the next one of its level; 0 at its end.
    distances : (k,) floats, W_1 in each level, in scaled scores.
    potential : (m,) floats, φ of every atom.
    """

    sample: Sample
    order: IntArray
    steps: FloatArray
    distances: FloatArray
    potential: FloatArray

    @cached_property
    def _ranked(self) -> tuple[FloatArray, IntArray]:
        ranks = np.empty(self.order.size)
        medians = np.empty(self.distances.size, np.int64)
        sample = self.sample
        _ranks(self.order, self.steps, sample.counts, sample.offsets, ranks, medians)
        return ranks, medians

    @property
    def ranks(self) -> FloatArray:
        """Mid-rank of every atom among the n rows of its level, over n + 1. Shape (m,).

        Every row counts once: weights would let the rank of a score depend on its group.
        """
        rows = self.sample.rows.reshape(-1, 2).sum(axis=1)
        ranks: FloatArray = self._ranked[0] / (rows + 1.0)[self.sample.cell // 2]
        return ranks

    @property
    def from_median(self) -> FloatArray:
        """How far every atom lies from the lower median of the rows of its level. Shape (m,)."""
        values = self.sample.values
        medians = values[self._ranked[1]]
        distances: FloatArray = np.abs(values - medians[self.sample.cell // 2])
        return distances


def order_levels(sample: Sample) -> LevelOrder:
    """Merge the cells of each level, and measure W_1 between them."""
    order = np.empty(sample.values.size, np.int64)
    steps, potential = np.empty(order.size), np.empty(order.size)
    _merge(sample.values, sample.offsets, order, steps)
    distances = _distances(order, steps, sample.mass, sample.offsets, sample.totals, potential)
    return LevelOrder(sample, order, steps, distances, potential)
