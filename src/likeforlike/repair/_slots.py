"""Slots: which levels have a map of their own, and which share one.

Levels in which fewer than two groups are expected to have `min_cell` rows are fitted together as
one slot, which levels that were never seen take too.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.repair._equal_laws import LevelRows

_LEAST_SHARE = 1e-9
_MOST_SHARED = 6000


@dataclass(frozen=True, slots=True)
class Slots:
    """S slots, the last of which is shared.

    Attributes
    ----------
    levels : labels of K levels.
    slot : (K,) integers, the slot of each level.
    shares : (S, G) floats, mean chance of every group in each slot.
    part : (S, G) truth values, the groups whose laws are made equal there.
    low, span : (S,) floats, lowest score and range of scores.
    """

    levels: tuple[Hashable, ...]
    slot: IntArray
    shares: FloatArray
    part: BoolArray
    low: FloatArray
    span: FloatArray

    @property
    def shared(self) -> int:
        """The slot of all that have none of their own."""
        return len(self.shares) - 1

    def places(self, codes: IntArray, labels: Sequence[Hashable]) -> IntArray:
        """Slot of every row (n,) whose level is `labels[codes]`."""
        known = {label: int(self.slot[k]) for k, label in enumerate(self.levels)}
        found = np.array([known.get(label, self.shared) for label in labels], np.int64)
        return found[codes]

    def unit(self, scores: FloatArray, place: IntArray) -> FloatArray:
        """Scores (n,) as parts of the range of their slot, clipped to it."""
        return np.clip((scores - self.low[place]) / self.span[place], 0.0, 1.0)

    def natural(self, unit: FloatArray, place: IntArray) -> FloatArray:
        """What `unit` was made of."""
        scores: FloatArray = self.low[place] + self.span[place] * unit
        return scores

    def tilts(self, chances: FloatArray, place: IntArray) -> FloatArray:
        """Tilts (n, G - 1): η_a / p_a - η_r / p_r against the largest group r of the slot.

        Groups that have no part in a slot have none.
        """
        relative = chances / np.maximum(self.shares, _LEAST_SHARE)[place]
        largest = np.argmax(np.where(self.part, self.shares, -1.0), axis=1)
        order = np.argsort(np.arange(self.shares.shape[1]) == largest[:, None], kind="stable")
        others = order[:, :-1]
        if self.shares.shape[1] == 2:
            # Of two groups the tilt is the second against the first, whichever is larger.
            others = np.ones_like(others)
            largest = np.zeros_like(largest)
        tilts = np.take_along_axis(relative, others[place], axis=1)
        tilts -= np.take_along_axis(relative, largest[place][:, None], axis=1)
        has_part = np.take_along_axis(self.part, others, axis=1)
        return np.ascontiguousarray(np.where(has_part[place], tilts, 0.0))


def make_slots(
    scores: FloatArray,
    chances: FloatArray,
    mass: FloatArray,
    level: IntArray,
    labels: tuple[Hashable, ...],
    min_cell: float,
) -> tuple[Slots, BoolArray]:
    """Slots of rows, and which rows (n,) make the shared one.

    Parameters
    ----------
    scores, mass : (n,) floats.
    chances : (n, G) floats.
    level : (n,) integers, positions among the K `labels`.
    min_cell : expected rows that a group needs.
    """
    n_levels, n_groups = len(labels), chances.shape[1]
    expected = _sums(level, chances, n_levels)
    part = expected >= min_cell
    own = part.sum(axis=1) >= 2
    rest = ~own[level]
    if not (chances[rest].sum(axis=0) >= min_cell).all():
        # Rows from everywhere stand for all others; they need not be all.
        rest[np.linspace(0, level.size - 1, min(level.size, _MOST_SHARED)).astype(np.int64)] = True
    slot = np.where(own, np.cumsum(own) - 1, own.sum())
    shares = _shares(chances, mass, slot[level], rest, int(own.sum()))
    low = np.full(n_levels, np.inf)
    high = np.full(n_levels, -np.inf)
    np.minimum.at(low, level, scores)
    np.maximum.at(high, level, scores)
    low = np.r_[low[own], scores[rest].min()]
    high = np.r_[high[own], scores[rest].max()]
    span = np.where(high > low, high - low, 1.0)
    taking_part = np.vstack([part[own], np.ones((1, n_groups), bool)])
    return Slots(labels, slot, shares, taking_part, low, span), rest


def reshared(
    slots: Slots,
    chances: FloatArray,
    mass: FloatArray,
    level: IntArray,
    rest: BoolArray,
    chosen: BoolArray,
) -> Slots:
    """The same slots with the shares of some rows (n,), so that their tilts sum to zero."""
    own = slots.slot[level[chosen]]
    return replace(
        slots, shares=_shares(chances[chosen], mass[chosen], own, rest[chosen], slots.shared)
    )


def _shares(
    chances: FloatArray, mass: FloatArray, own: IntArray, rest: BoolArray, shared: int
) -> FloatArray:
    """Mean chances (S, G) of every slot."""
    weighted = chances * mass[:, None]
    summed = _sums(own, weighted, shared + 1)
    summed[shared] = weighted[rest].sum(axis=0)
    shares: FloatArray = summed / summed.sum(axis=1, keepdims=True)
    return shares


def _sums(level: IntArray, amounts: FloatArray, n_levels: int) -> FloatArray:
    columns = [np.bincount(level, column, minlength=n_levels) for column in amounts.T]
    return np.column_stack(columns)


def slot_rows(
    slots: Slots,
    scores: FloatArray,
    chances: FloatArray,
    mass: FloatArray,
    level: IntArray,
    rest: BoolArray,
    chosen: BoolArray | None = None,
    *,
    natural: bool = False,
) -> LevelRows:
    """Rows of every slot in turn; rows of a level of its own may be in the shared slot as well.

    Parameters
    ----------
    chosen : (n,) rows to be taken; `None` means all.
    natural : whether scores stay as they are instead of becoming parts of a range.
    """
    own = slots.slot[level]
    taken = np.ones(level.size, bool) if chosen is None else chosen
    first = np.flatnonzero((own < slots.shared) & taken)
    first = first[np.argsort(own[first], kind="stable")]
    last = np.flatnonzero(rest & taken)
    rows = np.r_[first, last]
    place = np.r_[own[first], np.full(last.size, slots.shared)]
    offsets = np.searchsorted(place, np.arange(slots.shared + 2))
    found = scores[rows] if natural else slots.unit(scores[rows], place)
    return LevelRows(found, slots.tilts(chances[rows], place), mass[rows], offsets)
