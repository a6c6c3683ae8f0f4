"""Atoms: many distributions on the line, sorted once and packed side by side.

Everything exact in this library starts from one sort. Rows are dealt to their segments (a
counting sort), each segment is sorted by value, and equal values merge into one *atom* that
carries their mass. From then on transport between any two segments is a single sweep.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from likeforlike.transport.compiled import compiled
from likeforlike.transport.threads import in_parts

__all__ = [
    "Atoms",
    "FloatArray",
    "IntArray",
    "SortedRows",
    "atom_of_rows",
    "atoms_of_rows",
    "join_segments",
    "segment_counts",
    "segment_means",
    "sort_rows",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
_KeyArray = npt.NDArray[np.uint64]

# Below this size moving neighbours beats counting digits; above the other, NumPy's sort, which
# compares several values at once but cannot carry rows along, beats both.
_SMALL = 48
_LARGE = 4096
_DIGITS = 8
_BUCKETS = 256


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


class SortedRows(NamedTuple):
    """Rows in order of (segment, value).

    Attributes
    ----------
    rows : (n,) integers, the original row at each sorted position; ties keep their order.
        Empty when nobody asked for them.
    values : (n,) floats, the value at each sorted position.
    offsets : (S + 1,) integers, where each of the S segments begins.
    """

    rows: IntArray
    values: FloatArray
    offsets: IntArray


@compiled
def _sortable(bits: np.uint64) -> np.uint64:
    """Map the bits of a float to an integer that sorts the same way."""
    sign = np.uint64(1) << np.uint64(63)
    if bits & sign:
        return ~bits
    return bits | sign


@compiled
def _float_bits(key: np.uint64) -> np.uint64:
    """Undo `_sortable`."""
    sign = np.uint64(1) << np.uint64(63)
    if key & sign:
        return key ^ sign
    return ~key


@compiled
def _insertion_sort(keys: _KeyArray, rows: IntArray, low: int, high: int) -> None:
    """Sort keys[low:high] in place, rows (unless empty) along with them. Stable."""
    for i in range(low + 1, high):
        key = keys[i]
        row = rows[i] if rows.size else 0
        j = i - 1
        while j >= low and keys[j] > key:
            keys[j + 1] = keys[j]
            if rows.size:
                rows[j + 1] = rows[j]
            j -= 1
        keys[j + 1] = key
        if rows.size:
            rows[j + 1] = row


@compiled
def _radix_sort(
    keys: _KeyArray,
    rows: IntArray,
    spare_keys: _KeyArray,
    spare_rows: IntArray,
    counts: IntArray,
) -> None:
    """Sort keys in place, rows (unless empty) along with them, lowest digit first. Stable."""
    size = keys.size
    mask = np.uint64(_BUCKETS - 1)
    counts[:] = 0
    for i in range(size):
        key = keys[i]
        for digit in range(_DIGITS):
            counts[digit, (key >> np.uint64(8 * digit)) & mask] += 1
    swapped = False
    for digit in range(_DIGITS):
        shift = np.uint64(8 * digit)
        places = counts[digit]
        if places[(keys[0] >> shift) & mask] == size:
            continue  # every key has this digit in common
        place = 0
        for bucket in range(_BUCKETS):
            here = places[bucket]
            places[bucket] = place
            place += here
        for i in range(size):
            key = keys[i]
            bucket = (key >> shift) & mask
            spare_keys[places[bucket]] = key
            if rows.size:
                spare_rows[places[bucket]] = rows[i]
            places[bucket] += 1
        keys, spare_keys = spare_keys, keys
        rows, spare_rows = spare_rows, rows
        swapped = not swapped
    if swapped:
        spare_keys[:] = keys
        spare_rows[:] = rows


# Arrays as long as the data are made by numpy and handed to the kernels: numpy asks the system for
# huge pages, which arrays made inside a kernel do not get, and fresh small pages cost more than
# the work on them.


@compiled
def _deal(
    values: FloatArray, segments: IntArray, offsets: IntArray, dealt: FloatArray, rows: IntArray
) -> None:
    """Counting sort: fill in values and rows (unless empty) segment after segment."""
    places = offsets[:-1].copy()
    for row in range(values.size):
        place = places[segments[row]]
        places[segments[row]] = place + 1
        dealt[place] = values[row] + 0.0  # turns -0 into 0: equal values have equal bits
        if rows.size:
            rows[place] = row


@compiled
def _sort_small(
    keys: _KeyArray, rows: IntArray, offsets: IntArray, limit: int, first: int, last: int
) -> None:
    """Sort those of the segments first, ..., last - 1 in place that are smaller than `limit`."""
    largest = 0
    for s in range(first, last):
        if offsets[s + 1] - offsets[s] < limit:
            largest = max(largest, offsets[s + 1] - offsets[s])
    spare_keys = np.empty(largest, np.uint64)
    spare_rows = np.empty(largest if rows.size else 0, np.int64)
    counts = np.empty((_DIGITS, _BUCKETS), np.int64)
    for s in range(first, last):
        low, high = offsets[s], offsets[s + 1]
        size = high - low
        if size >= limit:
            continue
        for i in range(low, high):
            keys[i] = _sortable(keys[i])
        if size <= _SMALL:
            _insertion_sort(keys, rows, low, high)
        else:  # slices of empty rows stay empty
            _radix_sort(
                keys[low:high], rows[low:high], spare_keys[:size], spare_rows[:size], counts
            )
        for i in range(low, high):
            keys[i] = _float_bits(keys[i])


def _sort_segments(
    values: FloatArray, rows: IntArray, offsets: IntArray, first: int, last: int
) -> None:
    """Sort the segments first, ..., last - 1 in place."""
    if rows.size:
        _sort_small(values.view(np.uint64), rows, offsets, values.size + 1, first, last)
        return
    _sort_small(values.view(np.uint64), rows, offsets, _LARGE, first, last)
    for s in np.flatnonzero(np.diff(offsets[first : last + 1]) >= _LARGE) + first:
        values[offsets[s] : offsets[s + 1]].sort()


def sort_rows(
    values: FloatArray, segments: IntArray, n_segments: int, *, with_rows: bool = True
) -> SortedRows:
    """Sort rows by (segment, value) in linear time.

    Parameters
    ----------
    values : (n,) finite floats.
    segments : (n,) integers in [0, n_segments).
    n_segments : how many segments there are; some may be empty.
    with_rows : also say which row went where; without it the sort is twice as fast.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import sort_rows
    >>> sort_rows(np.array([3.0, 1.0, 2.0]), np.array([0, 1, 0]), 2).rows
    array([2, 0, 1])
    """
    offsets = np.zeros(n_segments + 1, np.int64)
    np.cumsum(np.bincount(segments, minlength=n_segments), out=offsets[1:])
    dealt = np.empty(values.size)
    rows = np.empty(values.size if with_rows else 0, np.int64)
    _deal(values, segments, offsets, dealt, rows)
    in_parts(partial(_sort_segments, dealt, rows, offsets), np.diff(offsets))
    return SortedRows(rows, dealt, offsets)


@compiled
def _copy_segments(
    values: FloatArray, offsets: IntArray, segments: IntArray, copied: FloatArray
) -> None:
    place = 0
    for segment in segments:
        for i in range(offsets[segment], offsets[segment + 1]):
            copied[place] = values[i]
            place += 1


def join_segments(values: FloatArray, offsets: IntArray, groups: IntArray) -> SortedRows:
    """Throw segments together and sort what comes of it; which row is where gets lost.

    Parameters
    ----------
    values : (n,) floats, segment after segment.
    offsets : (S + 1,) integers, where each segment begins.
    groups : (J, k) integers; the k segments of each row make one new segment.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import join_segments
    >>> joined = join_segments(
    ...     np.array([3.0, 5.0, 2.0, 4.0]), np.arange(5), np.array([[0, 2], [1, 3]])
    ... )
    >>> joined.values
    array([2., 3., 4., 5.])
    """
    sizes = np.diff(offsets)[groups].sum(axis=1)
    joined = np.concatenate([[0], np.cumsum(sizes)])
    copied = np.empty(int(joined[-1]))
    _copy_segments(values, offsets, groups.ravel(), copied)
    none = np.empty(0, np.int64)
    in_parts(partial(_sort_segments, copied, none, joined), sizes)
    return SortedRows(none, copied, joined)


@compiled
def _atom_offsets(values: FloatArray, offsets: IntArray) -> IntArray:
    """Where the atoms of each segment begin: how many distinct values come before."""
    begins = np.zeros(offsets.size, np.int64)
    for s in range(offsets.size - 1):
        low, high = offsets[s], offsets[s + 1]
        distinct = int(high > low)
        for i in range(low + 1, high):
            distinct += int(values[i] != values[i - 1])
        begins[s + 1] = begins[s] + distinct
    return begins


@compiled
def _atom_of_rows(values: FloatArray, offsets: IntArray, atom_of: IntArray) -> None:
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
    >>> from likeforlike.transport.atoms import atom_of_rows, sort_rows
    >>> atom_of_rows(sort_rows(np.array([2.0, 1.0, 2.0]), np.zeros(3, np.int64), 1))
    array([0, 1, 1])
    """
    atom_of = np.empty(ordered.values.size, np.int64)
    _atom_of_rows(ordered.values, ordered.offsets, atom_of)
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
    >>> from likeforlike.transport.atoms import atoms_of_rows, sort_rows
    >>> ordered = sort_rows(np.array([2.0, 1.0, 2.0]), np.zeros(3, np.int64), 1)
    >>> atoms = atoms_of_rows(ordered)
    >>> atoms.values, atoms.mass
    (array([1., 2.]), array([1., 2.]))
    """
    values = ordered.values
    sorted_mass = np.empty(0) if mass is None else mass[ordered.rows]
    sorted_counts = np.empty(0, np.int64) if counts is None else counts[ordered.rows]
    offsets = _atom_offsets(values, ordered.offsets) if merge else ordered.offsets
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
