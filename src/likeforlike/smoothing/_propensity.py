"""The chance of belonging to a group given the number, smoothed over the fine cells."""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.smoothing._fine_cells import FineCells, Place
from likeforlike.smoothing._smoother import Choice, choose, smoothed

# No chance is taken to be closer to 0 or 1: a few hundred rows cannot know it.
_CLOSEST = 1e-3


def propensity(cells: FineCells, member: FloatArray) -> tuple[FloatArray, Choice]:
    """e(L) = P(A = 1 | L) of every line, (n,), and how it was smoothed.

    Parameters
    ----------
    member : (n,) floats, 1 for lines of the group and 0 for others, or the share that is of it.
    """
    curve, choice = propensity_curve(cells, member)
    return chance_at(curve, cells.own_places), choice


def propensity_curve(cells: FineCells, member: FloatArray) -> tuple[FloatArray, Choice]:
    """The same over the fine cells, (m,)."""
    share = cells.mean(member)
    segment, n_segments = cells.of_segment, cells.offsets.size - 1
    spread = np.bincount(segment, cells.total * share * (1.0 - share), minlength=n_segments)
    pooled = spread / np.bincount(segment, cells.total, minlength=n_segments)
    # Rows of a cluster mostly are of one group.
    noise = pooled[segment] if cells.cluster is None else cells.variance(member)
    choice = choose(cells, share, noise)
    return smoothed(cells, share, choice), choice


def chance_at(curve: FloatArray, place: Place) -> FloatArray:
    """What a curve of chances is at these places, neither 0 nor 1."""
    return np.clip(place.read(curve), _CLOSEST, 1.0 - _CLOSEST)
