"""Sorting rows by (segment, value) in linear time.

Everything exact in this library starts from one sort. Rows are assigned to their segments by a
counting sort, then each segment is sorted by value.

NumPy's sort compares several values at once, but not every processor is fast at that: with AVX-512
it takes half of the time of a radix sort on one, and five times as much on another (Zen 4 stores
compressed vectors slowly). Both return the same bits, so the first large sort tries them.

Arrays as long as the data are made by NumPy and passed to the kernels: NumPy asks the system for
huge pages, which arrays made inside a kernel do not get, and fresh small pages cost more than the
work on them.
"""

from __future__ import annotations

import time
from functools import cache, partial
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray, plain
from likeforlike.transport._atoms import SortedRows
from likeforlike.transport._jit import compiled
from likeforlike.transport._threads import run_in_threads

_KeyArray = npt.NDArray[np.uint64]

# Insertion sort is fastest below the first size; above the second NumPy's sort may be, which cannot
# carry rows along.
_SMALL = 48
_LARGE = 128
# Values that both sorts are tried with.
_TRIAL = 4096
# NumPy sorts tables of up to this many rows, the first few of them or if they are tiny: nothing has
# to be compiled or loaded then. A process that sorts more of them has the kernels do it.
_FEW_ROWS, _TINY, _FEW_TABLES = 5_000, 256, 24
_small_tables = count()
# Up to this many segments their numbers take two bytes.
_SHORT = 1 << 16
# An array of so many rows is given a length that the system maps by itself, of which only the pages
# that are used take memory. A shorter one would be kept for others when it is freed.
_MANY, _MAPPED = 1_000_000, (1 << 24) + 1
# Rows whose codes are widened at once.
_PART = 1 << 18
_DIGITS = 8
_BUCKETS = 256


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
def _copy_back(keys: _KeyArray, rows: IntArray, to_keys: _KeyArray, to_rows: IntArray) -> None:
    """Copy element by element: numba compiles whole-array assignment a hundred times as long."""
    for i in range(keys.size):
        to_keys[i] = keys[i]
    for i in range(rows.size):
        to_rows[i] = rows[i]


@compiled
def _radix_sort(
    keys: _KeyArray, rows: IntArray, spare_keys: _KeyArray, spare_rows: IntArray, counts: IntArray
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
        _copy_back(keys, rows, spare_keys, spare_rows)


@compiled
def partition_rows(
    values: FloatArray, segments: IntArray, offsets: IntArray, grouped: FloatArray, rows: IntArray
) -> None:
    """Fill in values and rows (unless empty) segment after segment: a counting sort. A kernel."""
    places = offsets[:-1].copy()
    for row in range(values.size):
        place = places[segments[row]]
        places[segments[row]] = place + 1
        grouped[place] = values[row] + 0.0  # turns -0 into 0: equal values have equal bits
        if rows.size:
            rows[place] = row


@compiled
def sort_small(
    keys: _KeyArray, rows: IntArray, offsets: IntArray, limit: int, first: int, last: int
) -> None:
    """Sort segments first, ..., last - 1 smaller than `limit` in place, by bits. A kernel."""
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


def _trial_seconds(values: FloatArray, *, by_numpy: bool) -> float:
    """Time one sort of a copy of the values, in processor time of this thread."""
    copied = values.copy()
    offsets, none = np.array([0, values.size]), np.empty(0, np.int64)
    began = time.thread_time()
    if by_numpy:
        copied.sort()
    else:
        sort_small(copied.view(np.uint64), none, offsets, values.size + 1, 0, 1)
    return time.thread_time() - began


@cache
def numpy_sorts_faster() -> bool:
    """Return whether NumPy's sort is the faster one on this processor, tried once per process."""
    values = np.sin(np.arange(float(_TRIAL)))
    seconds = [
        [_trial_seconds(values, by_numpy=by_numpy) for by_numpy in (False, True)] for _ in range(4)
    ]
    radix, by_numpy = np.min(seconds[1:], axis=0)
    return bool(by_numpy < radix)


def _sort_segments(
    values: FloatArray, rows: IntArray, offsets: IntArray, first: int, last: int
) -> None:
    """Sort the segments first, ..., last - 1 in place."""
    limit = _LARGE if not rows.size and numpy_sorts_faster() else values.size + 1
    sizes = np.diff(offsets[first : last + 1])
    if sizes.size and sizes.min() < limit:
        sort_small(values.view(np.uint64), rows, offsets, limit, first, last)
    for s in (np.flatnonzero(sizes >= limit) + first).tolist():
        values[offsets[s] : offsets[s + 1]].sort()


@compiled
def _number_cells(
    levels: IntArray, groups: IntArray, n_groups: int, segments: IntArray, sizes: IntArray
) -> None:
    """Fill in level * G + group of each row, and count the rows of each segment."""
    for row in range(groups.size):
        segment = levels[row] * n_groups + groups[row]
        segments[row] = segment
        sizes[segment] += 1


def sort_cells(
    values: FloatArray,
    levels: IntArray,
    groups: IntArray,
    shape: tuple[int, int],
    *,
    with_rows: bool = True,
) -> SortedRows:
    """Sort rows by (level, group, value), with (K, G) codes of levels and groups."""
    n_segments = shape[0] * shape[1]
    if _is_for_numpy(values.size):
        segments = levels.astype(np.int64) * shape[1] + groups
        return _sort_small_table(values, segments, n_segments, with_rows=with_rows)
    short = np.uint16 if n_segments <= _SHORT else np.int64
    taken = max(values.size, _MAPPED) if values.size > _MANY else values.size
    cells: npt.NDArray[Any] = np.empty(taken, short)[: values.size]
    offsets = np.zeros(n_segments + 1, np.int64)
    # Part by part: codes may take one byte a row, and would take eight as the kernel wants them.
    for first in range(0, values.size, _PART):
        part = slice(first, first + _PART)
        level, group = (plain(c[part].astype(np.int64, copy=False)) for c in (levels, groups))
        _number_cells(level, group, shape[1], cells[part], offsets[1:])
    np.cumsum(offsets, out=offsets)
    return _sort_numbered(values, cells, offsets, with_rows=with_rows)


def _sort_numbered(
    values: FloatArray, segments: IntArray, offsets: IntArray, *, with_rows: bool
) -> SortedRows:
    """Sort rows whose segments are numbered and counted."""
    grouped = np.empty(values.size)
    rows = np.empty(values.size if with_rows else 0, np.int64)
    partition_rows(values, segments, offsets, grouped, rows)
    run_in_threads(partial(_sort_segments, grouped, rows, offsets), np.diff(offsets))
    return SortedRows(rows, grouped, offsets)


def _is_for_numpy(size: int) -> bool:
    """Return whether a table is sorted by NumPy, and count those that are small."""
    return size <= _TINY or (size <= _FEW_ROWS and next(_small_tables) < _FEW_TABLES)


def _sort_small_table(
    values: FloatArray, segments: IntArray, n_segments: int, *, with_rows: bool
) -> SortedRows:
    """Sort a small table by NumPy."""
    offsets = np.zeros(n_segments + 1, np.int64)
    np.cumsum(np.bincount(segments, minlength=n_segments), out=offsets[1:])
    if n_segments > np.iinfo(np.int16).max:
        order = np.lexsort((values, segments))
    else:  # in two stable sorts: NumPy sorts small integers by their digits, without comparing
        order = np.argsort(values, kind="stable")
        order = order[np.argsort(segments[order].astype(np.int16), kind="stable")]
    return SortedRows(order if with_rows else order[:0], values[order] + 0.0, offsets)


def sort_rows(
    values: FloatArray, segments: IntArray, n_segments: int, *, with_rows: bool = True
) -> SortedRows:
    """Sort rows by (segment, value) in linear time."""
    if _is_for_numpy(values.size):
        return _sort_small_table(values, segments, n_segments, with_rows=with_rows)
    offsets = np.zeros(n_segments + 1, np.int64)
    np.cumsum(np.bincount(segments, minlength=n_segments), out=offsets[1:])
    return _sort_numbered(values, segments, offsets, with_rows=with_rows)


@compiled
def _copy_segments(
    values: FloatArray, offsets: IntArray, segments: IntArray, copied: FloatArray
) -> None:
    place = 0
    for segment in segments:
        for i in range(offsets[segment], offsets[segment + 1]):
            copied[place] = values[i]
            place += 1


def merge_segments(values: FloatArray, offsets: IntArray, groups: IntArray) -> SortedRows:
    """Merge the segments of each row of `groups` and sort the values; rows are not tracked."""
    sizes = np.diff(offsets)[groups].sum(axis=1)
    joined = np.concatenate([[0], np.cumsum(sizes)])
    if _is_for_numpy(values.size):
        belongs = np.full(offsets.size - 1, -1)
        belongs[groups] = np.arange(len(groups))[:, None]
        segments = np.repeat(belongs, np.diff(offsets))
        taken = segments >= 0
        return sort_rows(values[taken], segments[taken], len(groups), with_rows=False)
    copied = np.empty(int(joined[-1]))
    _copy_segments(values, offsets, groups.ravel(), copied)
    none = np.empty(0, np.int64)
    run_in_threads(partial(_sort_segments, copied, none, joined), sizes)
    return SortedRows(none, copied, joined)
