"""How much single people count, and which levels have to be shown together for it.

A figure of one person is a figure in which one person counts for everything. So what may be shown
is decided by the largest part that a person has in it: with a limit of 10 it is a tenth at most. In
an average of n rows each has the part 1/n, so this is the usual rule "no fewer than ten"; and it
holds for weights, for people with several rows, and for averages over levels as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.disparity._cells import Cells

_DUST = 1e-9


@dataclass(frozen=True, slots=True)
class People:
    """What part of their cell people hold.

    Attributes
    ----------
    level, group : (m,) positions of a cell.
    person : (m,) integers, who; without clusters the heaviest row of the cell stands for all.
    part : (m,) floats, share of the weight of the cell.
    """

    level: IntArray
    group: IntArray
    person: IntArray
    part: FloatArray

    def largest(self, levels: FloatArray, group: int) -> float:
        """The largest part that a person of a group has in an average over levels.

        `levels` (K,) says how much each level counts. Of levels that count nothing it is 1: no one
        can be hidden among none.
        """
        own = (self.group == group) & (levels[self.level] > 0.0)
        whole = float(levels.sum())
        if not own.any() or whole <= 0.0:
            return 1.0
        parts = np.bincount(self.person[own], levels[self.level[own]] * self.part[own])
        return float(parts.max()) / whole

    def largest_by_level(self, groups: tuple[int, ...], n_levels: int) -> FloatArray:
        """The largest part that a person of any of the groups has in each level, shape (K,)."""
        largest = np.zeros(n_levels)
        own = np.isin(self.group, groups)
        np.maximum.at(largest, self.level[own], self.part[own])
        return largest


def people_of(cells: Cells) -> People:
    """Who holds how much of each cell."""
    atoms = cells.scaled().cells.atoms
    segment = np.repeat(np.arange(atoms.offsets.size - 1), np.diff(atoms.offsets))
    if cells.cluster is None:
        held, there = np.zeros(atoms.offsets.size - 1), np.diff(atoms.offsets) > 0
        np.maximum.at(held, segment, atoms.mass / atoms.counts)
        cell = np.flatnonzero(there)
        person, part = cell, held[cell] / atoms.totals[cell]
    else:
        n_people = len(cells.cluster_labels)
        pairs, entry = np.unique(segment * n_people + cells.cluster, return_inverse=True)
        cell, person = np.divmod(pairs, n_people)
        part = np.bincount(entry, atoms.mass) / atoms.totals[cell]
    level, group = np.divmod(cell, len(cells.groups))
    return People(level, group, person, part)


@dataclass(frozen=True, slots=True)
class Crowd:
    """The people of two groups, and the limit that keeps each of them from being seen.

    Attributes
    ----------
    people : of the whole table.
    groups : positions of the two groups.
    limit : no unit may count for more than one part in this number.
    """

    people: People
    groups: tuple[int, int]
    limit: int

    def hides(self, levels: FloatArray) -> bool:
        """Whether an average over levels (K,), counted as these say, shows no one."""
        most = max(self.people.largest(levels, group) for group in self.groups)
        return most <= (1.0 + _DUST) / self.limit

    def hides_within(self, shares: FloatArray, group: int) -> bool:
        """Whether levels (K,) that hold these shares of a group show no one of it."""
        return self.people.largest(shares, group) <= (1.0 + _DUST) / self.limit

    def merged(self, measure: FloatArray, support: BoolArray) -> BoolArray:
        """Levels that have to be shown together, shape (K,): those with a small cell.

        If only one is, or if all of them still show one person, the next smallest join them: what
        is missing in a list can be had by subtraction.
        """
        parts = self.people.largest_by_level(self.groups, support.size)
        small = support & (parts > (1.0 + _DUST) / self.limit)
        if not small.any():
            return small
        others = np.flatnonzero(support & ~small)
        others = others[np.argsort(-parts[others], kind="stable")]
        taken, more = 0, 1
        while taken < others.size and (small.sum() < 2 or not self.hides(measure * small)):
            small[others[taken : taken + more]] = True
            taken, more = taken + more, 2 * more
        return small
