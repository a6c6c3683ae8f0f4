"""Atoms: many distributions on the line, packed side by side.

Once rows are sorted (`sorting`), equal values of a segment merge into one *atom* that carries their
mass. From then on transport between any two segments is a single sweep.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likeforlike.transport.compiled import compiled
from likeforlike.transport.sorting import FloatArray, IntArray, SortedRows

__all__ = [
    "Atoms",
    "FloatArray",
    "IntArray",
    "atom_of_rows",
    "atom_offsets",
    "atoms_of_rows",
    "number_atoms",
    "segment_counts",
    "segment_means",
]


@dataclass(frozen=True)
class Atoms:
    """Distributions on the line, packed: segment s is `values[offsets[s]:offsets[s + 1]]`.

    Attributes
    ----------
    values : (m,) floats, increasing inside each segment; where every row keeps a weight of its
        own, equal values may follow each other.
    mass : (m,) positive floats; a segment need not sum to one.
    counts : (m,) integers, how many rows each atom stands for.
    offsets : (S + 1,) integers, where each of the S segments begins.
    """

    values: FloatArray
    mass: FloatArray
    counts: IntArray
    offsets: IntArray

    @property
    def line(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Values, mass and offsets: all that transport looks at."""
        return self.values, self.mass, self.offsets

    @cached_property
    def totals(self) -> FloatArray:
        """Mass of each of the S segments, summed from the left as sweeps do; 0 for an empty one."""
        return _segment_sums(self.mass, np.empty(0), self.offsets)


@compiled
def atom_offsets(values: FloatArray, offsets: IntArray) -> IntArray:
    """Where the atoms of each segment begin: how many distinct values come before. A kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import atom_offsets
    >>> atom_offsets(np.array([1.0, 1.0, 2.0]), np.array([0, 2, 3]))
    array([0, 1, 2])
    """
    begins = np.zeros(offsets.size, np.int64)
    for s in range(offsets.size - 1):
        low, high = offsets[s], offsets[s + 1]
        distinct = int(high > low)
        for i in range(low + 1, high):
            distinct += int(values[i] != values[i - 1])
        begins[s + 1] = begins[s] + distinct
    return begins


@compiled
def number_atoms(values: FloatArray, offsets: IntArray, atom_of: IntArray) -> None:
    """Fill in the atom that each sorted position belongs to. A kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import number_atoms
    >>> atom_of = np.empty(3, np.int64)
    >>> number_atoms(np.array([1.0, 1.0, 2.0]), np.array([0, 3]), atom_of)
    >>> atom_of
    array([0, 0, 1])
    """
    last = -1
    for s in range(offsets.size - 1):
        for i in range(offsets[s], offsets[s + 1]):
            last += int(i == offsets[s] or values[i] != values[i - 1])
            atom_of[i] = last


def atom_of_rows(ordered: SortedRows) -> IntArray:
    """The atom that each sorted position belongs to, shape (n,).

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import atom_of_rows
    >>> from likeforlike.transport.sorting import sort_rows
    >>> atom_of_rows(sort_rows(np.array([2.0, 1.0, 2.0]), np.zeros(3, np.int64), 1))
    array([0, 1, 1])
    """
    atom_of = np.empty(ordered.values.size, np.int64)
    number_atoms(ordered.values, ordered.offsets, atom_of)
    return atom_of


@compiled
def _merge_ties(
    values: FloatArray,
    offsets: IntArray,
    mass: FloatArray,
    counts: IntArray,
    atoms: FloatArray,
    atom_mass: FloatArray,
    atom_counts: IntArray,
) -> None:
    """Fill in the atoms and add up mass and counts; empty ones mean one for every row."""
    last = -1
    for s in range(offsets.size - 1):
        for i in range(offsets[s], offsets[s + 1]):
            last += int(i == offsets[s] or values[i] != values[i - 1])
            atoms[last] = values[i]
            atom_mass[last] += mass[i] if mass.size else 1.0
            atom_counts[last] += counts[i] if counts.size else 1


def atoms_of_rows(
    ordered: SortedRows,
    mass: FloatArray | None = None,
    counts: IntArray | None = None,
    *,
    merge: bool = True,
    ones: tuple[FloatArray, IntArray] | None = None,
) -> Atoms:
    """Merge sorted rows into atoms, m <= n of them.

    Parameters
    ----------
    ordered : rows in order of (segment, value), from `sort_rows`.
    mass : (n,) positive floats in the original row order, which needs `ordered.rows`; `None`
        means one each.
    counts : (n,) integers likewise, how many rows each row already stands for.
    merge : whether rows of equal value become one atom; otherwise each is its own.
    ones : (n,) floats and (n,) integers, all one, to be used where every row is an atom of mass
        one; `None` makes them.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import atoms_of_rows
    >>> from likeforlike.transport.sorting import sort_rows
    >>> ordered = sort_rows(np.array([2.0, 1.0, 2.0]), np.zeros(3, np.int64), 1)
    >>> atoms = atoms_of_rows(ordered)
    >>> atoms.values, atoms.mass
    (array([1., 2.]), array([1., 2.]))
    """
    values = ordered.values
    sorted_mass = np.empty(0) if mass is None else mass[ordered.rows]
    sorted_counts = np.empty(0, np.int64) if counts is None else counts[ordered.rows]
    offsets = atom_offsets(values, ordered.offsets) if merge else ordered.offsets
    n_atoms = int(offsets[-1])
    if n_atoms == values.size:  # every row is an atom, and nothing need be copied
        mass_ones, count_ones = ones or (np.ones(n_atoms), np.ones(n_atoms, np.int64))
        return Atoms(
            values,
            mass_ones if mass is None else sorted_mass,
            count_ones if counts is None else sorted_counts,
            offsets,
        )
    merged = np.empty(n_atoms), np.zeros(n_atoms), np.zeros(n_atoms, np.int64)
    _merge_ties(values, ordered.offsets, sorted_mass, sorted_counts, *merged)
    return Atoms(*merged, offsets)


@compiled
def _segment_sums(mass: FloatArray, values: FloatArray, offsets: IntArray) -> FloatArray:
    """Σ mass * value of each segment; empty `values` mean one each."""
    sums = np.zeros(offsets.size - 1)
    for s in range(sums.size):
        for i in range(offsets[s], offsets[s + 1]):
            sums[s] += mass[i] * values[i] if values.size else mass[i]
    return sums


@compiled
def _segment_totals(counts: IntArray, offsets: IntArray) -> IntArray:
    totals = np.zeros(offsets.size - 1, np.int64)
    for s in range(totals.size):
        for i in range(offsets[s], offsets[s + 1]):
            totals[s] += counts[i]
    return totals


def segment_counts(atoms: Atoms) -> IntArray:
    """How many rows each of the S segments stands for; 0 for an empty one.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import Atoms, segment_counts
    >>> segment_counts(Atoms(np.zeros(1), np.ones(1), np.array([3]), np.array([0, 0, 1])))
    array([0, 3])
    """
    return _segment_totals(atoms.counts, atoms.offsets)


def segment_means(atoms: Atoms) -> FloatArray:
    """Mean value of each of the S segments; NaN for an empty one.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import Atoms, segment_means
    >>> segment_means(
    ...     Atoms(np.array([1.0, 2.0]), np.array([3.0, 1.0]), np.array([3, 1]), np.array([0, 2]))
    ... )
    array([1.25])
    """
    sums = _segment_sums(atoms.mass, atoms.values, atoms.offsets)
    with np.errstate(invalid="ignore"):
        means: FloatArray = sums / atoms.totals
    return means
