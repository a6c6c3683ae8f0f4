"""Levels that are numbers, for repairs that do not ask for the group: windows, chances, a carry.

A map is learned in each of some windows along the number. People in a window are not equals yet,
and a guess of the group knows their number as well. Two things see to that.

*Chances among equals.* With e_a(l) = P(A = a | L = l), smoothed, and h = 1 / Σ_b 1 / e_b, chances
are replaced by η_a h / e_a, up to a factor for every window. Rows weighted by them have the same
spread of the number, that of h, in every group: for two groups the tilt becomes η_1 - e_1, how much
more likely somebody is to be of the group than others with the same number. Without it a repair
would sort people by their number, and leave the disparity among equals as it was.

*The carry.* Scores with many values are carried to the center of their window, repaired there and
carried back (`_along_number`), with the curve that they have without the gaps of the groups. Nobody
needs a group for that.

What is left is estimated as an audit with `smooth` does it: in windows of about n^(1/3) of each
fold, with scores carried to their centers.

Reference: Li & Li (2019), *Propensity score weighting for causal inference with multiple
treatments*.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity._columns import Codes, unnamed
from likeforlike.disparity._numbered_levels import numbered_levels
from likeforlike.repair._along_number import AlongNumber, WindowSize
from likeforlike.smoothing._carry import ScaleCarry
from likeforlike.smoothing._comparison import compare_along
from likeforlike.smoothing._fine_cells import Place, fine_cells
from likeforlike.smoothing._overlap import find_overlap
from likeforlike.smoothing._propensity import chance_at, propensity_curve
from likeforlike.smoothing._windows import windows


# Decisions and ratings are dealt to windows by lot; always the same one.
_LOT = 0


class Standing(NamedTuple):
    """Where rows stand along the number.

    Attributes
    ----------
    window : (n,) integers.
    start, end : places of the rows, and of the centers of their windows.
    """

    window: IntArray
    start: Place
    end: Place


@dataclass(frozen=True, slots=True)
class AlongUnaware:
    """Windows along a number, and what is known of groups and scores there.

    Attributes
    ----------
    along : windows, and how scores depend on the number.
    chances : (m, G) floats, P(A = a | L) over the fine cells.
    factors : (K, G) floats that bring chances among equals to the shares of every window.
    """

    along: AlongNumber
    chances: FloatArray
    factors: FloatArray

    @classmethod
    def of(
        cls, scores: FloatArray, level: Codes, group: Codes, mass: FloatArray, size: WindowSize
    ) -> AlongUnaware:
        """Learn from rows (n,) with weights (n,) > 0, whose groups are known."""
        along = AlongNumber.of(scores, level, group, mass, size)
        members = [(group.codes == a).astype(np.float64) for a in range(len(group.labels))]
        curves = np.column_stack([propensity_curve(along.cells, member)[0] for member in members])
        window, start, end = along.stand(level)
        plain = cls(along, curves, np.ones((len(along.labels), len(members))))
        among = plain.among_equals(np.column_stack(members), Standing(window, start, end))
        weighted = mass[:, None] * np.column_stack(members)
        whole, shares = _sums(window, mass[:, None] * among), _sums(window, weighted)
        return cls(along, curves, shares / np.where(whole > 0.0, whole, 1.0))

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The number at the center of every window, with the category if there are any."""
        return self.along.labels

    def stand(self, level: Codes) -> Standing:
        """Where rows of these levels stand."""
        return Standing(*self.along.stand(level))

    def numbers(self, level: Codes) -> FloatArray:
        """The number of every row, (n, 1); beside it its category, (n, 2), if there are any."""
        levels = numbered_levels(level.labels, _WHO)
        if len(self.along.categories) == 1:
            return levels.numbers[level.codes][:, None]
        known = {label: float(k) for k, label in enumerate(self.along.categories)}
        category = np.array([known.get(label, -1.0) for label in levels.categories])
        return np.column_stack([levels.numbers, category[levels.category]])[level.codes]

    def among_equals(self, chances: FloatArray, standing: Standing) -> FloatArray:
        """Chances (n, G) relative to those of others with the same number; see the module."""
        local = np.column_stack([chance_at(curve, standing.start) for curve in self.chances.T])
        local /= local.sum(axis=1, keepdims=True)
        overlap = 1.0 / (1.0 / local).sum(axis=1, keepdims=True)
        among: FloatArray = chances * overlap / local * self.factors[standing.window]
        return among

    def out(self, scores: FloatArray, standing: Standing) -> FloatArray:
        """Carry scores (n,) to the centers; those with few values stay what they are."""
        return self._moved(scores, standing.window, standing.start, standing.end)

    def back(self, scores: FloatArray, standing: Standing) -> FloatArray:
        """Carry scores (n,) from the centers to where the rows are."""
        return self._moved(scores, standing.window, standing.end, standing.start)

    def _moved(self, scores: FloatArray, window: IntArray, start: Place, end: Place) -> FloatArray:
        model = self.along.model
        if not isinstance(model, ScaleCarry):
            return scores
        # The curve is that of the largest group; scores are of everybody.
        gap = self.along.gaps.of_all[window]
        moved: FloatArray = model.move(scores - gap, start, end) + gap
        return moved


def _sums(window: IntArray, amounts: FloatArray) -> FloatArray:
    return np.column_stack([np.bincount(window, column) for column in amounts.T])


class Equals(NamedTuple):
    """Rows in windows that are narrow enough to compare people in, each fold by itself.

    Attributes
    ----------
    numbers : (n,) floats.
    segment : (n,) integers, category and fold.
    """

    numbers: FloatArray
    segment: IntArray

    @classmethod
    def of(cls, level: Codes, fold: IntArray) -> Equals:
        """Take levels apart into numbers and categories."""
        levels = numbered_levels(level.labels, _WHO)
        key = levels.category[level.codes] * (int(fold.max()) + 1) + fold
        return cls(levels.numbers[level.codes], np.unique(key, return_inverse=True)[1])

    def windows(self) -> Codes:
        """The window of every row."""
        found = windows(fine_cells(self.numbers, self.segment), self.numbers)
        return Codes(found.of_line, tuple(range(found.center.size)))

    def compared(
        self, scores: FloatArray, group: IntArray, mass: FloatArray
    ) -> tuple[FloatArray, Codes, Codes | None]:
        """Scores (n,) carried to the centers of their windows, as an estimate needs them.

        With their levels, the same whatever the scores, and what rows count as one with.
        """
        cells = fine_cells(self.numbers, self.segment, mass=mass)
        overlap = find_overlap(cells, group)
        found = compare_along(
            cells, self.numbers, scores, group, overlap=overlap, cut=False, seed=_LOT
        )
        level, alone = found.levels()
        labels = tuple(range(found.speaks.size + len(alone)))
        return found.refined().values, Codes(level, labels), unnamed(found.cells.cluster)


class NumberRows(NamedTuple):
    """Rows on their way to the centers of windows and back.

    Attributes
    ----------
    along : what was learned.
    places : where the rows stand.
    """

    along: AlongUnaware
    places: Standing

    def out(self, scores: FloatArray) -> FloatArray:
        """Scores (n,) at the centers."""
        return self.along.out(scores, self.places)

    def back(self, scores: FloatArray) -> FloatArray:
        """Scores (n,) from the centers where the rows are."""
        return self.along.back(scores, self.places)
