"""Positions of numbers among their like: mid-ranks between 0 and 1, inside each segment.

A *segment* is a set of lines with a scale of their own, such as the rows of one category. A line
is a row, or stands for several rows with the same values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray

# Beyond these ranks a number is taken for the one there: a long tail must not stretch its scale.
_TAIL = 0.005


@dataclass(frozen=True, slots=True)
class Ranking:
    """Distinct numbers of every segment with their mid-ranks, (rows below + half of the ties) / n.

    Attributes
    ----------
    numbers, ranks : (v,) floats, rising inside each segment.
    offsets : (S + 1,) integers; segment s is numbers[offsets[s] : offsets[s + 1]].
    low, high : (S,) floats, the numbers at the ranks .005 and .995.
    """

    numbers: FloatArray
    ranks: FloatArray
    offsets: IntArray
    low: FloatArray
    high: FloatArray

    def between(
        self, numbers: FloatArray, segment: IntArray
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """The known numbers on both sides of any numbers, and how much of the way is gone."""
        first, last = self.offsets[segment], self.offsets[segment + 1] - 1
        below = _search(self.numbers, numbers, first, last)
        above = np.minimum(below + 1, last)
        width = self.numbers[above] - self.numbers[below]
        share = (numbers - self.numbers[below]) / np.where(width > 0.0, width, 1.0)
        return below, above, np.clip(share, 0.0, 1.0)

    def of(self, numbers: FloatArray, segment: IntArray) -> FloatArray:
        """Ranks of any numbers: straight lines between those that are known, flat beyond."""
        below, above, share = self.between(numbers, segment)
        ranks: FloatArray = (1.0 - share) * self.ranks[below] + share * self.ranks[above]
        return ranks

    def raw(self, numbers: FloatArray, segment: IntArray) -> FloatArray:
        """Numbers without their tails on a scale from 0 to 1."""
        low, high = self.low[segment], self.high[segment]
        width = high - low
        inside = np.clip(numbers, low, high) - low
        raw: FloatArray = inside / np.where(width > 0.0, width, 1.0)
        return raw


def _search(
    sorted_numbers: FloatArray, wanted: FloatArray, first: IntArray, last: IntArray
) -> IntArray:
    """The last place in [first, last] whose number is not above the one wanted, by bisection."""
    low, high = first.copy(), last.copy()
    while (open_ := low < high).any():
        middle = (low + high + 1) // 2
        fits: BoolArray = sorted_numbers[middle] <= wanted
        low = np.where(open_ & fits, middle, low)
        high = np.where(open_ & ~fits, middle - 1, high)
    return low


def rank(
    numbers: FloatArray, segment: IntArray, n_segments: int, rows: FloatArray | None = None
) -> tuple[Ranking, FloatArray]:
    """Rank numbers inside their segments.

    Parameters
    ----------
    numbers : (n,) finite floats.
    segment : (n,) integers below `n_segments`; every segment holds a line.
    rows : (n,) positive floats, how many rows each line stands for; `None` means one.

    Returns
    -------
    the ranking, and the rank of every line, (n,) floats between 0 and 1.
    """
    order = np.argsort(numbers, kind="stable")
    if n_segments > 1:
        order = order[np.argsort(segment[order], kind="stable")]
    inside, ordered = segment[order], numbers[order]
    new = np.r_[True, (np.diff(ordered) > 0.0) | (np.diff(inside) > 0)]
    value = np.cumsum(new) - 1
    many = np.bincount(value, None if rows is None else rows[order])
    of_segment = inside[new]
    total = np.bincount(of_segment, many, minlength=n_segments)
    before = np.r_[0.0, np.cumsum(total)][of_segment]
    ranks = (np.cumsum(many) - before - many / 2) / total[of_segment]
    offsets = np.r_[0, np.cumsum(np.bincount(of_segment, minlength=n_segments))]
    distinct = ordered[new]
    low, high = _tails(distinct, ranks, offsets)
    of_line = np.empty(numbers.size)
    of_line[order] = ranks[value]
    return Ranking(distinct, ranks, offsets, low, high), of_line


def _tails(
    numbers: FloatArray, ranks: FloatArray, offsets: IntArray
) -> tuple[FloatArray, FloatArray]:
    """The numbers of every segment where its tails begin."""
    # Each segment has a rank of at least a half and one of at most a half.
    low = np.where(ranks >= _TAIL, numbers, np.inf)
    high = np.where(ranks <= 1.0 - _TAIL, numbers, -np.inf)
    starts = offsets[:-1]
    return np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
