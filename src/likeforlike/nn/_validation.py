"""The disparity of scores on rows held back, without small-sample bias, as an audit finds it."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Codes
from likeforlike.disparity._contrasts import contrasts
from likeforlike.disparity._measures import level_weights
from likeforlike.disparity._numbered_levels import numbered_levels
from likeforlike.errors import InputError
from likeforlike.inference import DistanceEstimate, estimate_distance
from likeforlike.penalties import Layout
from likeforlike.smoothing._carried import carry, uniforms
from likeforlike.smoothing._fine_cells import fine_cells
from likeforlike.smoothing._refined import refine
from likeforlike.smoothing._windows import windows

# Only decisions and ratings are dealt by lot when they are carried; the same lot for every model.
_LOT = 0


def validation_disparity(scores: FloatArray, layout: Layout) -> DistanceEstimate:
    """Conditional distance of scores (n,) or (n, c), inside levels.

    The largest of all pairs of groups and of all classes; levels weigh P(L). Soft groups are taken
    at their word: the custodian's audit says what is true of A.
    """
    layout, scores = _copied(layout, scores)
    level = Codes(layout.segments[0] // len(layout.groups), layout.levels)
    group = Codes(layout.segments[0] % len(layout.groups), layout.groups)
    weight = layout.mass[0] if layout.mass.size else None
    return _largest(
        Cells.from_codes(level, group, column, sample_weight=weight) for column in _columns(scores)
    )


def smooth_disparity(scores: FloatArray, layout: Layout) -> DistanceEstimate:
    """Conditional distance of scores (n,) or (n, c) along a number, which is in the levels.

    Scores are carried to the centres of windows, with the gaps of the windows taken out before and
    added after (`smoothing`), and compared there.
    """
    layout, scores = _copied(layout, scores)
    group = Codes(layout.segments[0] % len(layout.groups), layout.groups)
    level = layout.segments[0] // len(layout.groups)
    levels = numbered_levels(layout.levels, "SmoothFairLeap")
    numbers = levels.numbers[level]
    weight = layout.moderate().mass[0] if layout.mass.size else None
    _, segment = np.unique(levels.category[level], return_inverse=True)
    fine = fine_cells(numbers, segment, mass=weight)
    found = windows(fine, numbers)
    window = Codes(found.of_line, tuple(range(found.centre.size)))

    def cells(column: FloatArray) -> Cells:
        lot = uniforms(fine, column, group.codes, _LOT)
        fitted, _ = carry(fine, found, column, lot)
        refined = refine(fine, found, column, group.codes, fitted, lot)
        return Cells.from_codes(window, group, refined.values, sample_weight=weight)

    return _largest(cells(column) for column in _columns(scores))


def _copied(layout: Layout, scores: FloatArray) -> tuple[Layout, FloatArray]:
    """Rows of soft groups once a group, with their scores (n,) or (n, c)."""
    copies = layout.in_copies()
    return copies.apart(), copies.copied(scores.T).T


def _columns(scores: FloatArray) -> list[FloatArray]:
    columns = scores[:, None] if scores.ndim == 1 else scores
    return [np.ascontiguousarray(column) for column in columns.T]


def _largest(found: Iterable[Cells]) -> DistanceEstimate:
    estimates = [
        estimate_distance(contrast, level_weights(contrast, "marginal"))
        for cells in found
        for contrast in contrasts(cells, "pairwise")
        if contrast.support.any()
    ]
    if not estimates:
        raise InputError(
            "no level of the rows held back holds two groups, so their disparity cannot be "
            "measured; use coarser levels, or hold more rows back."
        )
    return max(estimates, key=lambda one: one.squared)


def estimated_size(estimate: DistanceEstimate) -> float:
    """The estimated distance; infinite where single rows in most levels keep it unknown."""
    return math.inf if estimate.value is None else estimate.value
