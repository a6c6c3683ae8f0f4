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
    # A cell mean of weighted or clustered rows varies by more than its rows say.
    choice = choose(cells, share, pooled[segment] * _inflation(cells, member))
    return smoothed(cells, share, choice), choice


def chance_at(curve: FloatArray, place: Place) -> FloatArray:
    """What a curve of chances is at these places, neither 0 nor 1."""
    return np.clip(place.read(curve), _CLOSEST, 1.0 - _CLOSEST)


def _inflation(cells: FineCells, member: FloatArray) -> float:
    """How much more cell means vary than those of independent rows; 1 without clusters."""
    if cells.cluster is None:
        return 1.0
    spread = cells.mean(member * member) - cells.mean(member) ** 2
    plain = float(cells.total @ spread)
    return max(1.0, float(cells.total @ cells.variance(member)) / plain) if plain > 0.0 else 1.0
