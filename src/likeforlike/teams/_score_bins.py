"""Scores cut into bins inside every level, from what is public: scores and levels, not A.

Bins are quantiles of the level, about a hundred rows each, so that noise of one row or two is small
in every bin and bins are fine where scores are dense; equal scores share a bin. Every bin has a few
*parts* of equal size. Inside a bin the share of a group is taken to rise or fall as it does between
the bins on both sides: were it constant, a group that is shifted would seem to be shifted less. All
of this is linear in the counts, so noise goes through it by known coefficients. What groups do
inside bins is not known all the same: intervals allow for as much as the rise or fall moved them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray

ROWS_PER_BIN = 100
"""About how many rows make a bin."""

_LEAST, _MOST = 4, 64
_PARTS = 6


@dataclass(frozen=True, eq=False)
class ScoreBins:
    """B bins in K levels, in order of level and score, and their J parts.

    Attributes
    ----------
    rows : (B,) floats, rows of each bin.
    level : (B,) integers.
    n_levels : K.
    places : (J,) floats, mean score of each part.
    bin : (J,) integers, the bin of each part.
    share : (J,) floats, its share of the bin.
    """

    rows: FloatArray
    level: IntArray
    n_levels: int
    places: FloatArray
    bin: IntArray
    share: FloatArray

    @cached_property
    def part_level(self) -> IntArray:
        """Level of each part, (J,)."""
        return self.level[self.bin]

    @cached_property
    def steps(self) -> FloatArray:
        """Distance of each part from the next in its level, 0 at its end, (J,)."""
        steps = np.diff(self.places, append=self.places[-1:])
        steps[np.diff(self.part_level, append=-1) != 0] = 0.0
        return steps

    @cached_property
    def begins(self) -> IntArray:
        """First part of each bin, (B,)."""
        return np.flatnonzero(np.diff(self.bin, prepend=-1))

    @cached_property
    def _across(self) -> FloatArray:
        """How far from the middle of its bin each part is, times its share, (J,)."""
        reached = np.cumsum(self.share)
        before = (reached - self.share)[self.begins][self.bin]
        across: FloatArray = self.share * (reached - 0.5 * self.share - before - 0.5)
        return across

    @cached_property
    def _neighbors(self) -> tuple[IntArray, IntArray]:
        """The bins below and above each bin in its level; itself where there is none, (B,) each."""
        at = np.arange(self.level.size)
        below, above = np.maximum(at - 1, 0), np.minimum(at + 1, at.size - 1)
        return (
            np.where(self.level[below] == self.level, below, at),
            np.where(self.level[above] == self.level, above, at),
        )

    @cached_property
    def _per_row(self) -> FloatArray:
        """From a difference of two bins around one, by row, to a slope in the one, (B,)."""
        below, above = self._neighbors
        per_row: FloatArray = self.rows / np.maximum(above - below, 1)
        return per_row

    def spread(self, of_bins: FloatArray) -> FloatArray:
        """Spread what bins (..., B) hold over their parts (..., J)."""
        below, above = self._neighbors
        by_row = of_bins / self.rows
        slope = (by_row[..., above] - by_row[..., below]) * self._per_row
        parts: FloatArray = (
            of_bins[..., self.bin] * self.share + slope[..., self.bin] * self._across
        )
        return parts

    def flat(self, of_bins: FloatArray) -> FloatArray:
        """Spread what bins hold as if the share of a group were constant inside bins."""
        parts: FloatArray = of_bins[..., self.bin] * self.share
        return parts

    def gather(self, of_parts: FloatArray) -> FloatArray:
        """Return what a function of parts (..., J) is worth for a unit in each bin (..., B).

        The transpose of `spread`: Σ_j h_j spread(x)_j = Σ_b gather(h)_b x_b.
        """
        below, above = self._neighbors
        worth = np.add.reduceat(of_parts * self.share, self.begins, axis=-1)
        tilt = np.add.reduceat(of_parts * self._across, self.begins, axis=-1) * self._per_row
        by_bin = worth.T.copy()
        np.add.at(by_bin, above, (tilt / self.rows[above]).T)
        np.add.at(by_bin, below, (-tilt / self.rows[below]).T)
        gathered: FloatArray = by_bin.T
        return gathered

    def by_level(self, of_bins: FloatArray) -> FloatArray:
        """Sum over the bins of each level, (..., B) to (..., K)."""
        begins = np.flatnonzero(np.diff(self.level, prepend=-1))
        sums: FloatArray = np.add.reduceat(of_bins, begins, axis=-1)
        return sums

    def of_levels(self, kept: BoolArray) -> ScoreBins:
        """Select the bins of some levels, (K,) truth values, and number them anew."""
        bins, parts = kept[self.level], kept[self.part_level]
        return ScoreBins(
            rows=self.rows[bins],
            level=(np.cumsum(kept) - 1)[self.level[bins]],
            n_levels=int(kept.sum()),
            places=self.places[parts],
            bin=(np.cumsum(bins) - 1)[self.bin[parts]],
            share=self.share[parts],
        )


def cut_scores(
    scores: FloatArray, level: IntArray, n_levels: int, rows_per_bin: int = ROWS_PER_BIN
) -> tuple[ScoreBins, IntArray]:
    """Bins of scores (n,) in levels (n,), all of which occur, and the bin of every row (n,)."""
    order = np.lexsort((scores, level))
    score, at = scores[order], level[order]
    size = np.bincount(level, minlength=n_levels)
    begins = np.cumsum(size) - size
    position = np.arange(score.size)
    # Equal scores go where the first of them goes.
    fresh = _changes(at) | _changes(score)
    rank = np.maximum.accumulate(np.where(fresh, position, 0)) - begins[at]
    wanted = np.minimum(np.clip(size // rows_per_bin, _LEAST, _MOST), size)
    starts = _changes(at) | _changes(rank * wanted[at] // size[at])
    code = np.cumsum(starts) - 1
    rows = np.bincount(code)
    inside = position - np.flatnonzero(starts)[code]
    pieces = np.minimum(rows, _PARTS)[code]
    part = np.cumsum(starts | _changes(inside * pieces // rows[code])) - 1
    in_part = np.bincount(part)
    first = np.flatnonzero(np.diff(part, prepend=-1))
    bins = ScoreBins(
        rows=rows.astype(np.float64),
        level=at[starts],
        n_levels=n_levels,
        places=np.bincount(part, score) / in_part,
        bin=code[first],
        share=in_part / rows[code[first]],
    )
    codes = np.empty(score.size, np.int64)
    codes[order] = code
    return bins, codes


def _changes(values: FloatArray | IntArray) -> BoolArray:
    """Whether each value (n,) differs from the one before it; the first does."""
    changed = np.ones(values.size, bool)
    changed[1:] = values[1:] != values[:-1]
    return changed
