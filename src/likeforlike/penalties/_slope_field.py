"""The slope field of a penalty: its gradient at any score, known from a large sample of rows.

A penalty on a small batch is biased upwards, because few rows in a cell never look alike. A *field*
is evaluated on a large sample instead: in every cell the slope of the penalty for a unit of moved
mass, s(u) = ∂V/∂u_i / moved_i, at the sorted scores u of the sample, linear in between. Rows of
any batch then read off their slope at the score they have now. For order 2 the slope is
2 (f - t(f)) with t the transport map of the sample, so the field is the true gradient as long as
the quantile functions of the sample are, and rows of the sample itself get their exact gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.penalties._layout import Layout
from likeforlike.penalties._penalty import Penalty
from likeforlike.transport._compiled import compiled
from likeforlike.transport._quantiles import seek
from likeforlike.transport._sorting import deal, sort_small
from likeforlike.transport._threads import in_parts


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
    """Scores of each model in order of (segment, score), and the slopes that go with them."""
    for k in range(first, last):
        cells = segments[min(k, segments.shape[0] - 1)]
        offsets[k] = 0
        for segment in cells:
            offsets[k, segment + 1] += 1
        for s in range(offsets.shape[1] - 1):
            offsets[k, s + 1] += offsets[k, s]
        rows = np.empty(cells.size, np.int64)
        deal(scores[k], cells, offsets[k], places[k], rows)
        sort_small(
            places[k].view(np.uint64), rows, offsets[k], cells.size + 1, 0, offsets.shape[1] - 1
        )
        for i in range(rows.size):
            heights[k, i] = slopes[k, rows[i]]


@compiled
def _between(places: FloatArray, heights: FloatArray, at: float) -> float:
    """Linear interpolation in sorted places; constant beyond their ends, the mean at ties."""
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
    heights_there: FloatArray,
    first: int,
    last: int,
) -> None:
    for k in range(first, last):
        cells = segments[min(k, segments.shape[0] - 1)]
        for i in range(cells.size):
            low, high = offsets[k, cells[i]], offsets[k, cells[i] + 1]
            heights_there[k, i] = 0.0
            if high > low:
                heights_there[k, i] = _between(
                    places[k, low:high], heights[k, low:high], scores[k, i]
                )


@dataclass(frozen=True, slots=True)
class SlopeField:
    """Slopes of a penalty for m models, from their scores on a sample of rows.

    Attributes
    ----------
    values : (m,) floats, the penalty on the sample.
    places, heights : (m, n) floats, sorted scores of each cell and the slopes there.
    offsets : (m, K G + 2) integers, where each cell begins; rows that cannot move come last.

    Examples
    --------
    >>> import numpy as np
    >>> import likeforlike as lfl
    >>> from likeforlike.penalties import Layout, SlopeField
    >>> sample = Layout.of_rows(["f", "f", "m", "m"])
    >>> field = SlopeField.of(lfl.FairLeap(), np.array([[0.0, 1.0, 2.0, 3.0]]), sample)
    >>> field.slopes(np.array([[0.5]]), sample.take(np.array([0])))
    array([[-4.]])
    """

    values: FloatArray
    places: FloatArray
    heights: FloatArray
    offsets: IntArray

    @classmethod
    def of(
        cls, penalty: Penalty, scores: FloatArray, layout: Layout, moved: FloatArray | None = None
    ) -> SlopeField:
        """Evaluate a penalty on the scores (m, n) of a sample of rows.

        Parameters
        ----------
        penalty, scores, layout : as for `Penalty.stacked`.
        moved : (m, n) or (1, n) floats, `Penalty.moved` of every split, where it is known.
        """
        values, gradients = penalty.stacked(scores, layout)
        if moved is None:
            splits = [layout.of_model(k) for k in range(len(layout.segments))]
            moved = np.stack([penalty.moved(split) for split in splits])
        slopes = np.zeros(scores.shape)
        np.divide(gradients, moved, out=slopes, where=moved > 0.0)
        # A row without mass has no slope to tell; all of them go to a cell that nobody looks at.
        segments = np.where(moved > 0.0, layout.segments, layout.cells)
        places, heights = np.empty(scores.shape), np.empty(scores.shape)
        offsets = np.empty((len(scores), layout.cells + 2), np.int64)
        kernel = partial(_sort_field, scores, slopes, segments, places, heights, offsets)
        in_parts(kernel, np.full(len(scores), scores.shape[1]))
        return cls(values, places, heights, offsets)

    def select(self, models: IntArray) -> SlopeField:
        """The field of some of the models, (k,) positions."""
        return SlopeField(
            self.values[models], self.places[models], self.heights[models], self.offsets[models]
        )

    def slopes(self, scores: FloatArray, layout: Layout) -> FloatArray:
        """Slopes (m, b) for a unit of moved mass at the scores (m, b) of the rows of a layout."""
        heights_there = np.empty(scores.shape)
        kernel = partial(
            _look_up,
            scores,
            layout.segments,
            self.places,
            self.heights,
            self.offsets,
            heights_there,
        )
        in_parts(kernel, np.full(len(scores), 8 * scores.shape[1]))
        return heights_there
