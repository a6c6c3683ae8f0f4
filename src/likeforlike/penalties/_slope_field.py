"""The slope field of a penalty: its gradient at any score, from a large sample of rows.

A penalty on a small batch is biased upwards, because few rows in a cell never look alike. A *field*
is evaluated on a large sample instead: in every cell the slope of the penalty for a unit of moved
mass, s(u) = ∂V/∂u_i / moved_i, at the sorted scores u of the sample, linear in between. Rows of any
batch are then given the slope at the score they have now. For order 2 the slope is 2 (f - t(f))
with t the transport map of the sample, so the field is the true gradient as long as the quantile
functions of the sample are, and rows of the sample itself get their exact gradient.

Networks give many rows the same score: all rows whose hidden units are 0, for example. Rounding
separates some of them by a last digit, and their slopes would be random. Scores of the sample that
are no further apart than rounding are therefore made equal first.

Where rows are compared at two anchors (`SmoothFairLeap`), a field has a slope for each of them, at
the score without the line of that anchor, and the adjoint of the line is subtracted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.penalties._layout import Layout
from likeforlike.penalties._penalty import Penalty
from likeforlike.transport import compiled, partition_rows, run_models, seek, sort_small

# Scores that differ by no more than this, in last digits of the largest, are equal up to rounding.
_LAST_DIGITS = 4.0
_DOUBLE = float(np.finfo(np.float64).eps)


@compiled
def _bin(score: float, low: float, reach: float, bins: int) -> int:
    """Return the bin of a score among equal parts of [low, low + reach]."""
    return min(int((score - low) / reach * bins), bins - 1)


@compiled
def _merge_near_ties(
    scores: FloatArray,
    ordered: FloatArray,
    apart: FloatArray,
    joined: FloatArray,
    first: int,
    last: int,
) -> None:
    """Replace scores of each model that lie within `apart` of a lower one by the lowest of them."""
    # Few scores have such a neighbor: only those in the same bin as one of them are looked up.
    bins = scores.shape[1]
    for k in range(first, last):
        lowest = ordered[k].copy()
        low, reach = lowest[0], lowest[-1] - lowest[0]
        # Infinite scores are those of a network that has diverged; its objective shows that.
        if not 0.0 < reach < np.inf:
            continue
        crowded = np.zeros(bins, np.bool_)
        for i in range(1, bins):
            if 0.0 < lowest[i] - lowest[i - 1] <= apart[k]:
                crowded[_bin(lowest[i], low, reach, bins)] = True
                lowest[i] = lowest[i - 1]
        for i in range(bins):
            if crowded[_bin(scores[k, i], low, reach, bins)]:
                joined[k, i] = lowest[seek(ordered[k], 0, bins, scores[k, i])]


@compiled
def _any_within(ordered: FloatArray, apart: FloatArray) -> bool:
    """Return whether some neighbors differ, but by no more than `apart`."""
    for k in range(ordered.shape[0]):
        for i in range(1, ordered.shape[1]):
            if 0.0 < ordered[k, i] - ordered[k, i - 1] <= apart[k]:
                return True
    return False


def _round_ties(scores: FloatArray, precision: float) -> FloatArray:
    """Make scores (m, n) equal where they differ by rounding only."""
    ordered = np.sort(scores, axis=1)
    apart = _LAST_DIGITS * precision * np.abs(ordered[:, [0, -1]]).max(axis=1)
    if not _any_within(ordered, apart):
        return scores
    joined = scores.copy()
    kernel = partial(_merge_near_ties, scores, ordered, apart, joined)
    run_models(kernel, *scores.shape)
    return joined


@compiled
def _sort_field(
    scores: FloatArray,
    slopes: FloatArray,
    segments: IntArray,
    places: FloatArray,
    heights: FloatArray,
    offsets: IntArray,
    first: int,
    last: int,
) -> None:
    """Fill in each model's scores in order of (segment, score), with their slopes."""
    for k in range(first, last):
        cells = segments[min(k, segments.shape[0] - 1)]
        offsets[k] = 0
        for segment in cells:
            offsets[k, segment + 1] += 1
        for s in range(offsets.shape[1] - 1):
            offsets[k, s + 1] += offsets[k, s]
        rows = np.empty(cells.size, np.int64)
        partition_rows(scores[k], cells, offsets[k], places[k], rows)
        sort_small(
            places[k].view(np.uint64), rows, offsets[k], cells.size + 1, 0, offsets.shape[1] - 1
        )
        for i in range(rows.size):
            heights[k, i] = slopes[k, rows[i]]


@compiled
def _interpolate(places: FloatArray, heights: FloatArray, at: float) -> float:
    """Interpolate in sorted places; constant beyond their ends, the mean at ties."""
    low = seek(places, 0, places.size, at)
    high, total = low, 0.0
    while high < places.size and places[high] == at:
        total += heights[high]
        high += 1
    if high > low:
        return float(total / (high - low))
    if low == 0:
        return float(heights[0])
    if low == places.size:
        return float(heights[low - 1])
    part = (at - places[low - 1]) / (places[low] - places[low - 1])
    return float(heights[low - 1] + part * (heights[low] - heights[low - 1]))


@compiled
def _look_up(
    scores: FloatArray,
    segments: IntArray,
    places: FloatArray,
    heights: FloatArray,
    offsets: IntArray,
    found: FloatArray,
    first: int,
    last: int,
) -> None:
    """Fill in the slopes at the scores of each model."""
    for k in range(first, last):
        cells = segments[min(k, segments.shape[0] - 1)]
        for i in range(cells.size):
            low, high = offsets[k, cells[i]], offsets[k, cells[i] + 1]
            found[k, i] = 0.0
            if high > low:
                found[k, i] = _interpolate(places[k, low:high], heights[k, low:high], scores[k, i])


@dataclass(frozen=True, slots=True)
class SlopeField:
    """Slopes of a penalty for m models, from their scores on a sample of rows.

    Attributes
    ----------
    values : (m,) floats, the penalty on the sample.
    places, heights : (m, n) floats, sorted scores of each cell and the slopes there.
    offsets : (m, K G + 2) integers, where each cell begins; rows that cannot move come last.
    lines : (m, K, 3) floats, lines that are subtracted from the scores of a level, or (0, 0, 0).

    Examples
    --------
    >>> import numpy as np
    >>> import likeforlike as lfl
    >>> from likeforlike.penalties import Layout, SlopeField
    >>> sample = Layout.from_columns(["f", "f", "m", "m"])
    >>> field = SlopeField.fit(lfl.FairLeap(), np.array([[0.0, 1.0, 2.0, 3.0]]), sample)
    >>> field.gradient(np.array([[0.5]]), sample.take(np.array([0])))
    array([[-4.]])
    """

    values: FloatArray
    places: FloatArray
    heights: FloatArray
    offsets: IntArray
    lines: FloatArray

    @classmethod
    def fit(
        cls,
        penalty: Penalty,
        scores: FloatArray,
        layout: Layout,
        moved: FloatArray | None = None,
        *,
        precision: float = _DOUBLE,
    ) -> SlopeField:
        """Evaluate a penalty on the scores (m, n) of a sample of rows.

        Parameters
        ----------
        penalty, scores, layout : as for `Penalty.evaluate`.
        moved : (m, n) or (1, n) floats, `Penalty.transported_mass` of every split, where it is
            known.
        precision : machine epsilon with which the scores were computed; scores a few of them apart
            are taken for equal.
        """
        scores = _round_ties(scores, precision)
        layout = penalty.prepare(layout)
        values, compared, gradients, lines = penalty.evaluate_at_anchors(scores, layout)
        if moved is None:
            splits = [layout.select_model(k) for k in range(len(layout.segments))]
            moved = np.stack([penalty.transported_mass(split) for split in splits])
        slopes = np.zeros(compared.shape)
        np.divide(gradients, moved, out=slopes, where=moved > 0.0)
        # A row without mass has no slope; all of them go to a cell that is not read.
        segments = np.where(moved > 0.0, layout.segments, layout.cells)
        places, heights = np.empty(compared.shape), np.empty(compared.shape)
        offsets = np.empty((len(scores), layout.cells + 2), np.int64)
        kernel = partial(_sort_field, compared, slopes, segments, places, heights, offsets)
        run_models(kernel, *compared.shape)
        return cls(values, places, heights, offsets, lines)

    def select(self, models: IntArray) -> SlopeField:
        """Select some of the models, (k,) positions."""
        places, heights = self.places[models], self.heights[models]
        lines = self.lines[models] if self.lines.size else self.lines
        return SlopeField(self.values[models], places, heights, self.offsets[models], lines)

    def gradient(self, scores: FloatArray, layout: Layout) -> FloatArray:
        """Compute slopes per unit of moved mass at the scores (m, b) of rows of a prepared layout.

        They are (m, c b) where rows have c places.
        """
        if not self.lines.size:
            return self._look_up(layout.repeat_at_places(scores), layout)
        level = np.broadcast_to(
            layout.segments // len(layout.groups), (len(scores), layout.places * scores.shape[1])
        )
        slope, center, pull = (
            np.take_along_axis(self.lines[:, :, part], level, axis=1) for part in range(3)
        )
        heights = self._look_up(layout.repeat_at_places(scores) - slope * layout.away, layout)
        turned: FloatArray = heights - pull * (layout.away - center)
        return turned

    def _look_up(self, scores: FloatArray, layout: Layout) -> FloatArray:
        found = np.empty(scores.shape)
        field = self.places, self.heights, self.offsets
        kernel = partial(_look_up, scores, layout.segments, *field, found)
        run_models(kernel, len(scores), 8 * scores.shape[1])
        return found
