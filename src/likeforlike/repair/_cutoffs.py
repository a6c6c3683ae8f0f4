"""Cut-offs: who is accepted, so that groups are accepted alike at the least loss of benefit.

A row has a benefit b of being accepted, tilts w and a mass m. Inside a level,

    max Σ m b d    subject to    Σ m w d = target,    d = 0 or 1,

is solved by accepting where b > λ · w. For two groups λ is one number, found exactly by sorting
b / w: that is where a row changes sides. For more groups it is the dual of `_equal_laws` with the
values 0 and 1.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.repair._equal_laws import LevelRows, solve

# How sharply decisions of more than two groups are drawn: benefits closer than this are alike.
_SHARPEST = 1e-4


def gaps(rows: LevelRows, accepted: BoolArray) -> FloatArray:
    """Σ m w d of every level, (K, J): how differently groups are accepted."""
    weight = rows.mass / np.add.reduceat(rows.mass, rows.offsets[:-1])[_level_of(rows)]
    part = (weight * accepted)[:, None] * rows.tilts
    found: FloatArray = np.add.reduceat(part, rows.offsets[:-1], axis=0)
    return found


def largest_gap(gap: FloatArray) -> FloatArray:
    """The largest difference of rates between two groups in each level, (K,), of gaps (K, J)."""
    against_all = np.column_stack([np.zeros(len(gap)), gap])
    widest: FloatArray = against_all.max(axis=1) - against_all.min(axis=1)
    return widest


def cut_offs(rows: LevelRows, keep: FloatArray) -> FloatArray:
    """λ of every level, (K, J).

    Parameters
    ----------
    rows : benefits in [-1, 1] for scores, of K levels.
    keep : (K,) floats in [0, 1], what part of its gap each level keeps.
    """
    if rows.tilts.shape[1] == 1:
        return _exact(rows, keep)[:, None]
    gap = gaps(rows, rows.scores > 0.0)
    aim = np.stack([-keep[:, None] * gap, keep[:, None] * gap], axis=1)
    # With f = (1 + b) / 2 the values 0 and 1 cost 0 and -b.
    halves = rows._replace(scores=0.5 * (1.0 + rows.scores))
    potential = solve(halves, np.array([0.0, 1.0]), _SHARPEST, target=aim).potential
    cut: FloatArray = potential[:, 1] - potential[:, 0]
    return cut


def _level_of(rows: LevelRows) -> IntArray:
    return np.repeat(np.arange(rows.offsets.size - 1), np.diff(rows.offsets))


def _exact(rows: LevelRows, keep: FloatArray) -> FloatArray:
    """λ (K,) of two groups: rows change sides in the order of b / w until the gap is small enough.

    With s the sign of a level's gap, λ s rises from 0; a row changes sides at s b / w, if that is
    positive, and then the gap shrinks by m |w|. Rows that change sides at the same λ do so
    together. Of all λ that keep the gap as small as wanted, or come closest to it, the smallest is
    taken.
    """
    level, tilt = _level_of(rows), rows.tilts[:, 0]
    gap = gaps(rows, rows.scores > 0.0)[:, 0]
    sign, size, wanted = np.where(gap < 0.0, -1.0, 1.0), np.abs(gap), keep * np.abs(gap)
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = sign[level] * rows.scores / tilt
    # A benefit of nothing is refused at λ = 0, and any λ at all may change that.
    at_once = (rows.scores == 0.0) & (sign[level] * tilt < 0.0)
    turn = np.where(at_once, 0.0, turn)
    turning = np.flatnonzero(((turn > 0.0) & np.isfinite(turn)) | at_once)
    order = turning[np.lexsort((turn[turning], level[turning]))]
    at, of = turn[order], level[order]
    weight = (rows.mass / np.add.reduceat(rows.mass, rows.offsets[:-1])[level])[order]
    # Sums that begin anew in every level.
    lost = np.r_[0.0, np.cumsum(weight * np.abs(tilt[order]))]
    before = lost[np.searchsorted(of, np.arange(gap.size))]
    excess = np.maximum(np.abs(size[of] - (lost[1:] - before[of])) - wanted[of], 0.0)
    last_of_tie = np.diff(of, append=-1).astype(bool) | (np.diff(at, append=np.inf) > 0.0)
    stops = np.flatnonzero(last_of_tie)
    # Sums round: what is off by the last digits is not off.
    best = stops[np.lexsort((at[stops], np.round(excess[stops], 12), of[stops]))]
    best = best[np.unique(of[best], return_index=True)[1]]
    best = best[excess[best] < (size - wanted)[of[best]]]
    follows = np.minimum(best + 1, max(at.size - 1, 0))
    another = (follows > best) & (of[follows] == of[best])
    # Half way to the next turn, so that rounding changes nobody's side.
    cut = np.zeros(gap.size)
    beyond = np.where(another, at[follows], at[best] + 1.0)
    cut[of[best]] = sign[of[best]] * 0.5 * (at[best] + beyond)
    return cut
