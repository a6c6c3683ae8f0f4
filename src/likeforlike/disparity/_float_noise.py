"""Scores that differ by the last digits of a computation, and are equal for all practical purposes.

A score of 1 that one group has as 1 - 1e-12 breaks every tie between the groups: ranks separate
them, and decisions are no longer binary. Values a < b are taken as equal if

    b - a <= 1e-9 min(reach, max(|a|, |b|, q)),

with the reach of all scores and q the .95 quantile of |score|, so that neither a far outlier nor a
large constant turns differences into noise. Scores of groups in single precision are equal to those
of other groups that round to them.

Values that are nearly equal by chance, in many rows of a continuous score, are left alone: noise
separates rows that would be tied, so one of the values must occur twice, or five rows lie together.
No grid is used; a cluster of values becomes the one of them (or their rounding to nine digits) with
the shortest decimal representation, and of those the most frequent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.disparity._cells import Cells

NOISE = 1e-9
"""Differences below this share of the reach are noise."""

SINGLE = 2.0**-24
"""Relative precision of numbers in single precision."""

# This many rows that lie together without being equal are no coincidence.
_ROWS = 5
# Scores that are looked up at a time; all at once would fill the memory.
_AT_ONCE = 100_000
# Scores that are sampled before all are read.
_SAMPLE = 10_000
# The .95 quantile of rows is seldom below this one of scores.
_SURELY_BELOW = 0.8


def remove_float_noise(cells: Cells) -> tuple[Cells, dict[float, float], float]:
    """Make scores equal that differ by noise.

    Returns
    -------
    cells : unchanged if there is no such score, or if scores were rounded to bins.
    changed : {score: its replacement}.
    within : the share of the reach, or of the score, below which differences are noise.
    """
    if cells.resolution > 0.0:
        return cells, {}, NOISE
    atoms = cells.atoms
    numbered = np.arange(len(cells.groups), dtype=np.min_scalar_type(-len(cells.groups)))
    group = np.repeat(np.tile(numbered, len(cells.levels)), np.diff(atoms.offsets))
    changed, within = find_float_noise(atoms.values, atoms.counts_kept, group)
    del group
    if not changed:
        return cells, {}, within
    # The new scores get no name here, so that their memory is freed once they are sorted.
    return cells.with_scores(replace_scores(atoms.values, changed), spent=True), changed, within


def replace_scores(values: FloatArray, changed: dict[float, float]) -> FloatArray:
    """Replace the scores (n,) that `changed` contains."""
    old = np.array(sorted(changed))
    new = np.array([changed[value] for value in old.tolist()])
    found = values.copy()
    for part in _parts(values.size):
        place = _places(old, values[part])
        found[part] = np.where(old[place] == values[part], new[place], values[part])
    return found


def _parts(size: int) -> Iterator[slice]:
    """Split scores into parts."""
    return (slice(first, first + _AT_ONCE) for first in range(0, size, _AT_ONCE))


def _places(ordered: FloatArray, values: FloatArray) -> IntArray:
    """Return the position of each score in a sorted array, if it is there."""
    places: IntArray = np.minimum(np.searchsorted(ordered, values), ordered.size - 1)
    return places


def find_float_noise(
    values: FloatArray, counts: IntArray | None = None, group: IntArray | None = None
) -> tuple[dict[float, float], float]:
    """Return {score: its replacement}, and the relative noise. Arrays have shape (m,)."""
    several = counts is not None and int(counts.max()) > 1
    usual = _usual_row_size(values, counts) if counts is not None and several else None
    ordered = np.sort(values)
    with np.errstate(over="ignore"):
        reach = float(ordered[-1] - ordered[0])
    usual = _usual_size(ordered) if usual is None else usual
    rows = np.broadcast_to(np.int64(1), values.size) if counts is None else counts

    def noise(value: FloatArray) -> FloatArray:
        """Return the largest difference from a value that is noise."""
        return np.asarray(NOISE * np.minimum(reach, np.maximum(np.abs(value), usual)))

    if group is not None and (single := _in_single_precision(values, group)) is not None:
        with np.errstate(over="ignore"):
            alike = values.astype(np.float32).astype(np.float64)
        there = np.isin(alike, values[single])
        changed = _replace_clusters(values[there], alike[there], rows[there], noise(alike[there]))
        old, new = np.array(list(changed)), np.array(list(changed.values()))
        if (np.abs(old - new) > noise(old)).any():
            return changed, SINGLE
    near = np.concatenate([_near(ordered, part, NOISE * reach) for part in _parts(values.size)])
    with np.errstate(over="ignore"):
        near = near[ordered[near + 1] - ordered[near] <= noise(ordered[near + 1])]
    if near.size == 0 or (not several and _are_near_by_chance(ordered, near)):
        return {}, NOISE
    # Looking up each score among the few near ones is faster than sorting all again.
    few = np.union1d(ordered[near], ordered[near + 1])
    del ordered
    there = np.concatenate(
        [few[_places(few, values[part])] == values[part] for part in _parts(values.size)]
    )
    distinct, of = np.unique(values[there], return_inverse=True)
    begins = np.diff(distinct, prepend=-np.inf) > noise(distinct)
    first = distinct[begins]
    cluster = np.cumsum(begins) - 1
    # A chain of values that is longer than noise is not one.
    extent = np.maximum.reduceat(distinct, np.flatnonzero(begins)) - first
    key = np.where((extent <= noise(first))[cluster], first[cluster], distinct)
    # Millions may lie near each other: only those that change are clustered one by one.
    tied = _clusters_of_ties(key, np.bincount(of, rows[there]).astype(np.float64))[of]
    moved = np.flatnonzero(there)[tied]
    key = key[of[tied]]
    return _replace_clusters(values[moved], key, rows[moved], noise(key)), NOISE


def _near(ordered: FloatArray, part: slice, most: float) -> IntArray:
    """Return positions in a part of sorted scores before a score that is nearly the same."""
    with np.errstate(over="ignore"):
        apart = np.diff(ordered[part.start : part.stop + 1])
    places: IntArray = np.flatnonzero((apart > 0.0) & (apart <= most)) + part.start
    return places


def _are_near_by_chance(ordered: FloatArray, near: IntArray) -> bool:
    """Return whether scores of one row each are near the next one, at these places, by chance.

    None of them occurs twice, and fewer than `_ROWS` of them follow each other.
    """
    before, after = np.maximum(near - 1, 0), np.minimum(near + 2, ordered.size - 1)
    twice = (near > 0) & (ordered[before] == ordered[near])
    twice |= (near + 2 < ordered.size) & (ordered[after] == ordered[near + 1])
    # `_ROWS` scores that follow each other are near the next at one place less.
    many = near[_ROWS - 2 :] - near[: max(near.size - (_ROWS - 2), 0)] == _ROWS - 2
    return not (twice.any() or many.any())


def _clusters_of_ties(key: FloatArray, rows: FloatArray) -> BoolArray:
    """Return which distinct scores (d,), sorted, are in a cluster of rows that would be tied."""
    begins = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    size, most = np.diff(begins, append=key.size), np.maximum.reduceat(rows, begins)
    tied: BoolArray = np.repeat((size > 1) & ((most > 1.0) | (size >= _ROWS)), size)
    return tied


def _usual_size(ordered: FloatArray) -> float:
    """Return the .95 quantile of |score|, by bisection in the sorted scores (m,)."""
    place = int(0.95 * (ordered.size - 1))
    below = int(np.searchsorted(ordered, 0.0))
    down, up = -ordered[:below][::-1], ordered[below:]
    # Of the place + 1 smallest sizes, `least` to `most` are of scores below 0.
    least, most = max(place + 1 - up.size, 0), min(place + 1, down.size)
    while least < most:
        middle = (least + most) // 2
        if down[middle] < up[place - middle]:
            least = middle + 1
        else:
            most = middle
    return float(max(abs(x) for x in (*down[:least][-1:], *up[: place + 1 - least][-1:])))


def _usual_row_size(values: FloatArray, rows: IntArray) -> float:
    """Return the .95 quantile of |score| over rows. Arrays have shape (m,)."""
    reached, low = 0.95 * float(rows.sum()), -1.0
    below = 0
    if values.size > _AT_ONCE:
        # It almost surely lies among the largest sizes: the others are only counted.
        few = slice(0, values.size, values.size // _SAMPLE)
        low = float(np.quantile(np.abs(values[few]), _SURELY_BELOW))
        below = sum(int(rows[p][np.abs(values[p]) < low].sum()) for p in _parts(values.size))
        if below >= reached:
            low, below = -1.0, 0
    kept = [np.flatnonzero(np.abs(values[p]) >= low) + p.start for p in _parts(values.size)]
    near = np.concatenate(kept)
    size = np.abs(values[near])
    order = np.argsort(size)
    place = np.searchsorted(below + np.cumsum(rows[near[order]]), reached)
    return float(size[order][place])


def _in_single_precision(values: FloatArray, group: IntArray) -> BoolArray | None:
    """Return which values (m,) belong to groups in single precision; `None` if all groups do.

    `None` is also returned if no group does.
    """
    # If a sample of each group has a row in double precision, no other has to be read.
    first = slice(0, values.size, max(values.size // _SAMPLE, 1))
    with np.errstate(over="ignore"):
        few = values[first].astype(np.float32) != values[first]
    if np.bincount(group[first][few], minlength=int(group.max()) + 1).all():
        return None
    exact = np.empty(values.size, np.bool_)
    with np.errstate(over="ignore"):
        for part in _parts(values.size):
            exact[part] = values[part].astype(np.float32) == values[part]
    if exact.all():
        return None
    double = np.zeros(int(group.max()) + 1, np.bool_)
    double[group[~exact]] = True
    single: BoolArray = ~double[group]
    return single if single.any() else None


def _replace_clusters(
    values: FloatArray, key: FloatArray, rows: IntArray, noise: FloatArray
) -> dict[float, float]:
    """Return {value: its replacement} for clusters (by key) of rows that would be tied."""
    clusters: dict[float, dict[float, int]] = {}
    within = dict(zip(key.tolist(), noise.tolist(), strict=True))
    for value, of, count in zip(values.tolist(), key.tolist(), rows.tolist(), strict=True):
        held = clusters.setdefault(of, {})
        held[value] = held.get(value, 0) + count
    changed: dict[float, float] = {}
    for of, held in clusters.items():
        if len(held) == 1 or (max(held.values()) == 1 and len(held) < _ROWS):
            continue
        common = max(held, key=lambda value: held[value])
        candidates = list(held)
        if within[of] > 0.0:
            rounded = round(common, -math.floor(math.log10(within[of])))
            candidates += [rounded] if abs(rounded - common) <= within[of] else []
        target = min(candidates, key=lambda value: (len(repr(value)), -held.get(value, 0)))
        changed |= {value: target for value in held if value != target}
    return changed
