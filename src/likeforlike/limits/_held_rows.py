"""The disparity of scores on rows held back, without small-sample bias, as an audit finds it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Codes, unnamed
from likeforlike.disparity._contrasts import contrasts
from likeforlike.disparity._measures import level_weights
from likeforlike.disparity._numbered_levels import numbered_levels
from likeforlike.errors import InputError
from likeforlike.inference import DistanceEstimate, estimate_distance
from likeforlike.penalties import Layout
from likeforlike.smoothing._comparison import compare_along
from likeforlike.smoothing._fine_cells import fine_cells

# Only decisions and ratings are dealt by lot when they are carried; the same lot for every model.
_LOT = 0
# Confidence of intervals that no limit depends on.
_USUAL = 0.95


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows held back, on which the disparity of models is measured.

    Attributes
    ----------
    layout : groups and levels as they were given.
    compared : the same as the penalty takes it; where that compares along a number, so do we.
    """

    layout: Layout
    compared: Layout

    @property
    def size(self) -> int:
        """How many there are."""
        return self.layout.size

    def coverage(self) -> dict[Hashable, float]:
        """Share of each group where it meets another."""
        return self.compared.coverage()

    def disparity(self, scores: FloatArray, confidence: float = _USUAL) -> DistanceEstimate:
        """Disparity of scores (n,) or (n, c): the largest of all pairs of groups and classes."""
        return _largest(self._estimates(scores, confidence))

    def measured(self, scores: FloatArray) -> tuple[DistanceEstimate | None, dict[Hashable, float]]:
        """Disparity of scores, `None` where no groups meet that could be compared, and coverage."""
        coverage = self.coverage()
        return (self.disparity(scores) if any(coverage.values()) else None), coverage

    def upper_end(self, scores: FloatArray, confidence: float) -> DistanceEstimate:
        """The pair of groups and the class of which least can be promised.

        Its interval ends above at what the disparity does not exceed with this confidence, which
        is that of one end. Of several pairs each end is taken at the same confidence: the largest
        of them is too small only if that of the pair is which really differs most.
        """
        found = self._estimates(scores, 2.0 * confidence - 1.0)
        return max(_any_of(found), key=lambda one: (one.interval[1], one.squared))

    def _estimates(self, scores: FloatArray, confidence: float) -> Iterator[DistanceEstimate]:
        cells = _smooth_cells if self.compared.away.size else _level_cells
        return _estimates(cells(scores, self.layout), confidence)


def validation_disparity(scores: FloatArray, layout: Layout) -> DistanceEstimate:
    """Conditional distance of scores (n,) or (n, c), inside levels.

    The largest of all pairs of groups and of all classes; levels weigh P(L). Soft groups are taken
    at their word: the custodian's audit says what is true of A.
    """
    return _largest(_estimates(_level_cells(scores, layout), _USUAL))


def smooth_disparity(scores: FloatArray, layout: Layout) -> DistanceEstimate:
    """Conditional distance of scores (n,) or (n, c) along a number, which is in the levels.

    Scores are carried to the centers of windows, with gaps taken out before and added after
    (`smoothing`), and compared there as an audit does it.
    """
    return _largest(_estimates(_smooth_cells(scores, layout), _USUAL))


def cells_of_scores(scores: FloatArray, layout: Layout, *, smooth: bool) -> Cells:
    """Cells of scores (n,): levels by groups, or windows along the number that levels are."""
    return next((_smooth_cells if smooth else _level_cells)(scores, layout))


def _level_cells(scores: FloatArray, layout: Layout) -> Iterator[Cells]:
    """Cells of every class."""
    layout, scores = _copied(layout, scores)
    level = Codes(layout.segments[0] // len(layout.groups), layout.levels)
    group = Codes(layout.segments[0] % len(layout.groups), layout.groups)
    weight = layout.mass[0] if layout.mass.size else None
    for column in _columns(scores):
        yield Cells.from_codes(level, group, column, sample_weight=weight)


def _smooth_cells(scores: FloatArray, layout: Layout) -> Iterator[Cells]:
    """Windows by groups of every class."""
    layout, scores = _copied(layout, scores)
    group = Codes(layout.segments[0] % len(layout.groups), layout.groups)
    level = layout.segments[0] // len(layout.groups)
    levels = numbered_levels(layout.levels, "SmoothFairLeap")
    numbers = levels.numbers[level]
    weight = layout.moderate().mass[0] if layout.mass.size else None
    _, segment = np.unique(levels.category[level], return_inverse=True)
    fine = fine_cells(numbers, segment, mass=weight)
    for column in _columns(scores):
        compared = compare_along(fine, numbers, column, group.codes, seed=_LOT)
        level, alone = compared.levels()
        window = Codes(level, tuple(range(compared.speaks.size + len(alone))))
        refined = compared.refined().values
        yield Cells.from_codes(
            window, group, refined, sample_weight=weight, cluster=unnamed(compared.cells.cluster)
        )


def _copied(layout: Layout, scores: FloatArray) -> tuple[Layout, FloatArray]:
    """Rows of soft groups once a group, with their scores (n,) or (n, c); those that count."""
    copies = layout.in_copies()
    apart, scores = copies.apart(), copies.copied(scores.T).T
    if not apart.mass.size or apart.mass[0].all():
        return apart, scores
    rows = np.flatnonzero(apart.mass[0])
    kept = apart.take(rows)
    if np.ptp(kept.mass) == 0.0:
        kept = replace(kept, mass=np.empty((0, 0)))
    return kept, scores[rows]


def _columns(scores: FloatArray) -> list[FloatArray]:
    columns = scores[:, None] if scores.ndim == 1 else scores
    return [np.ascontiguousarray(column) for column in columns.T]


def _estimates(found: Iterable[Cells], confidence: float) -> Iterator[DistanceEstimate]:
    """Every two groups that meet, in the cells of every class."""
    for cells in found:
        for contrast in contrasts(cells, "pairwise"):
            if contrast.support.any():
                weights = level_weights(contrast, "marginal")
                yield estimate_distance(contrast, weights, confidence=confidence)


def _any_of(estimates: Iterable[DistanceEstimate]) -> list[DistanceEstimate]:
    found = list(estimates)
    if not found:
        raise InputError(
            "no level of the rows held back holds two groups, or they lie apart along the number, "
            "so their disparity cannot be measured; use coarser levels, or hold more rows back."
        )
    return found


def _largest(estimates: Iterable[DistanceEstimate]) -> DistanceEstimate:
    return max(_any_of(estimates), key=lambda one: one.squared)


def estimated_size(estimate: DistanceEstimate) -> float:
    """The estimated distance; infinite where single rows in most levels keep it unknown."""
    return math.inf if estimate.value is None else estimate.value
