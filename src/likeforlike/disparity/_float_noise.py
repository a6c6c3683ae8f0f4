"""Scores that differ by the last digits of a computation, and are equal for all that they say.

A score of 1 that one group has as 1 - 1e-12 breaks every tie between the groups: ranks tell them
apart, and decisions are no decisions any more. Values a < b are taken as equal if

    b - a <= 1e-9 min(reach, max(|a|, |b|, q)),

with the reach of all scores and q the .95 quantile of |score|, so that neither a far outlier nor a
large constant makes noise of what is none. Scores of groups that were held in single precision are
equal to those of other groups that become the same in it.

Values that are nearly equal by chance, in many rows of a continuous score, are left alone: noise is
what parts rows that would be tied, so one of the values must occur twice, or five rows lie
together. Nothing is cut at a grid; a cluster of values becomes the one of them (or their rounding
to nine digits) that is written with the fewest digits, and of those the most frequent.
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

# As many rows that lie together without being equal are no chance.
_ROWS = 5
# How many scores are looked up at a time.
_AT_ONCE = 100_000
# How many scores are looked at before all are.
_LOOKED_AT = 10_000
# The .95 quantile of rows is seldom below this one of scores.
_SURELY_BELOW = 0.8


def without_float_noise(cells: Cells) -> tuple[Cells, dict[float, float], float]:
    """Cells in which scores that differ by noise are equal.

    Returns
    -------
    cells : these very cells if there is no such score, or if scores were rounded to bins.
    changed : {score: what it became}.
    within : the share of the reach, or of the score, that was taken for noise.
    """
    if cells.resolution > 0.0:
        return cells, {}, NOISE
    atoms = cells.atoms
    numbered = np.arange(len(cells.groups), dtype=np.min_scalar_type(-len(cells.groups)))
    group = np.repeat(np.tile(numbered, len(cells.levels)), np.diff(atoms.offsets))
    changed, within = float_noise(atoms.values, atoms.counts_kept, group)
    del group
    if not changed:
        return cells, {}, within
    # No name is kept for the scores, which are put in order as a copy.
    return cells.with_scores(denoised(atoms.values, changed)), changed, within


def denoised(values: FloatArray, changed: dict[float, float]) -> FloatArray:
    """Scores (n,) in the place of which others were taken."""
    old = np.array(sorted(changed))
    new = np.array([changed[value] for value in old.tolist()])
    found = values.copy()
    for part in _parts(values.size):
        place = _places(old, values[part])
        found[part] = np.where(old[place] == values[part], new[place], values[part])
    return found


def _parts(size: int) -> Iterator[slice]:
    """Scores in parts: what is looked up for all of them at once would fill the memory."""
    return (slice(first, first + _AT_ONCE) for first in range(0, size, _AT_ONCE))


def _places(ordered: FloatArray, values: FloatArray) -> IntArray:
    """Where each score is in a list in order, if it is there."""
    found: IntArray = np.minimum(np.searchsorted(ordered, values), ordered.size - 1)
    return found


def float_noise(
    values: FloatArray, counts: IntArray | None = None, group: IntArray | None = None
) -> tuple[dict[float, float], float]:
    """{score: the one that it is taken for}, and up to which difference. Arrays have shape (m,)."""
    several = counts is not None and int(counts.max()) > 1
    usual = _usual_size_of(values, counts) if counts is not None and several else None
    ordered = np.sort(values)
    with np.errstate(over="ignore"):
        reach = float(ordered[-1] - ordered[0])
    usual = _usual_size(ordered) if usual is None else usual
    rows = np.broadcast_to(np.int64(1), values.size) if counts is None else counts

    def noise(value: FloatArray) -> FloatArray:
        found: FloatArray = NOISE * np.minimum(reach, np.maximum(np.abs(value), usual))
        return found

    if group is not None and (single := _in_single_precision(values, group)) is not None:
        with np.errstate(over="ignore"):
            alike = values.astype(np.float32).astype(np.float64)
        there = np.isin(alike, values[single])
        changed = _changed(values[there], alike[there], rows[there], noise(alike[there]))
        old, new = np.array(list(changed)), np.array(list(changed.values()))
        if (np.abs(old - new) > noise(old)).any():
            return changed, SINGLE
    near = np.concatenate([_near(ordered, part, NOISE * reach) for part in _parts(values.size)])
    with np.errstate(over="ignore"):
        near = near[ordered[near + 1] - ordered[near] <= noise(ordered[near + 1])]
    if near.size == 0 or (not several and _parts_no_ties(ordered, near)):
        return {}, NOISE
    # Few of many scores lie so near: to look each up among them is faster than to sort all again.
    few = np.union1d(ordered[near], ordered[near + 1])
    del ordered
    there = np.concatenate(
        [few[_places(few, values[part])] == values[part] for part in _parts(values.size)]
    )
    distinct, of = np.unique(values[there], return_inverse=True)
    begins = np.diff(distinct, prepend=-np.inf) > noise(distinct)
    first = distinct[begins]
    cluster = np.cumsum(begins) - 1
    # A chain that is longer than noise is none.
    extent = np.maximum.reduceat(distinct, np.flatnonzero(begins)) - first
    key = np.where((extent <= noise(first))[cluster], first[cluster], distinct)
    # Of very many scores some millions lie so near: only those that change are looked at singly.
    tied = _tied(key, np.bincount(of, rows[there]).astype(np.float64))[of]
    moved = np.flatnonzero(there)[tied]
    key = key[of[tied]]
    return _changed(values[moved], key, rows[moved], noise(key)), NOISE


def _near(ordered: FloatArray, part: slice, most: float) -> IntArray:
    """Places in a part of scores in order that lie before a score that is nearly the same."""
    with np.errstate(over="ignore"):
        apart = np.diff(ordered[part.start : part.stop + 1])
    found: IntArray = np.flatnonzero((apart > 0.0) & (apart <= most)) + part.start
    return found


def _parts_no_ties(ordered: FloatArray, near: IntArray) -> bool:
    """Whether scores of one row each, near the next at these places, are so near by chance.

    None of them occurs twice, and nowhere do more follow each other than chance explains.
    """
    before, after = np.maximum(near - 1, 0), np.minimum(near + 2, ordered.size - 1)
    twice = (near > 0) & (ordered[before] == ordered[near])
    twice |= (near + 2 < ordered.size) & (ordered[after] == ordered[near + 1])
    # `_ROWS` scores that follow each other are near the next at one place less.
    many = near[_ROWS - 2 :] - near[: max(near.size - (_ROWS - 2), 0)] == _ROWS - 2
    return not (twice.any() or many.any())


def _tied(key: FloatArray, rows: FloatArray) -> BoolArray:
    """Which of different scores in order (d,) are in a cluster of rows that would be tied."""
    begins = np.flatnonzero(np.r_[True, key[1:] != key[:-1]])
    size, most = np.diff(begins, append=key.size), np.maximum.reduceat(rows, begins)
    found: BoolArray = np.repeat((size > 1) & ((most > 1.0) | (size >= _ROWS)), size)
    return found


def _usual_size(ordered: FloatArray) -> float:
    """The .95 quantile of |score|, of scores in order (m,): found without ordering sizes."""
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


def _usual_size_of(values: FloatArray, rows: IntArray) -> float:
    """The same over rows, of which scores have several. Arrays have shape (m,)."""
    reached, low = 0.95 * float(rows.sum()), -1.0
    below = 0
    if values.size > _AT_ONCE:
        # It lies among the largest sizes of all but surely: the others are only counted.
        few = slice(0, values.size, values.size // _LOOKED_AT)
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
    """Which values are of groups in single precision; `None` unless others are in double. (m,)."""
    # Where a few rows of every group are in double precision, no other has to be looked at.
    first = slice(0, values.size, max(values.size // _LOOKED_AT, 1))
    with np.errstate(over="ignore"):
        few = values[first].astype(np.float32) != values[first]
    if np.bincount(group[first][few], minlength=int(group.max()) + 1).all():
        return None
    exact = np.concatenate([_is_single(values[part]) for part in _parts(values.size)])
    if exact.all():
        return None
    of_group = np.zeros(int(group.max()) + 1, np.bool_)
    of_group[group[~exact]] = True
    single: BoolArray = ~of_group[group]
    return single if single.any() else None


def _is_single(values: FloatArray) -> BoolArray:
    """Which values are those of numbers in single precision."""
    with np.errstate(over="ignore"):
        single: BoolArray = values.astype(np.float32) == values
    return single


def _changed(
    values: FloatArray, key: FloatArray, rows: IntArray, noise: FloatArray
) -> dict[float, float]:
    """{value: what its cluster becomes}, for clusters (by key) of rows that would be tied."""
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
