"""Rows, means, variances and medians of all cells, in a few passes over their atoms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.disparity import Cells
from likeforlike.transport import Atoms

# Masses that differ by less than this, relatively, are equal: half of the weight is half of it.
_SAME = 1e-12


@dataclass(frozen=True)
class CellFigures:
    """Figures of every cell, each of shape (K, G); NaN where a cell is empty.

    Attributes
    ----------
    rows : integers.
    mass : sums of the weights.
    mean, deviation : weighted; the deviation is the root of the mean square around the mean.
    median : the middle score; the mean of the two middle ones where they differ.
    """

    rows: IntArray
    mass: FloatArray
    mean: FloatArray
    deviation: FloatArray
    median: FloatArray

    def select(self, levels: IntArray | BoolArray) -> CellFigures:
        """Select some of the levels."""
        return CellFigures(
            self.rows[levels],
            self.mass[levels],
            self.mean[levels],
            self.deviation[levels],
            self.median[levels],
        )

    @property
    def positive(self) -> FloatArray:
        """Mass of decisions that are 1; 0 in empty cells."""
        return np.where(self.rows > 0, self.mass * np.nan_to_num(self.mean), 0.0)

    def pool_groups(self, first: int, second: int) -> tuple[FloatArray, FloatArray]:
        """Compute mean and deviation of two groups together in each level, shape (K,) each."""
        pair = [first, second]
        share = self.mass[:, pair] / self.mass[:, pair].sum(axis=1, keepdims=True)
        mean = (share * self.mean[:, pair]).sum(axis=1)
        away, own = self.mean[:, pair] - mean[:, None], self.deviation[:, pair]
        # In units of the largest, whose square may overflow.
        unit = float(np.maximum(np.abs(away), own).max(initial=0.0)) or 1.0
        around = (own / unit) ** 2 + (away / unit) ** 2
        return mean, unit * np.sqrt((share * around).sum(axis=1))


def cell_figures(cells: Cells) -> CellFigures:
    """Compute figures of each cell."""
    scaled, scale = cells.scaled()
    atoms, shape = scaled.atoms, cells.counts.shape
    segment = np.repeat(np.arange(atoms.totals.size), np.diff(atoms.offsets))
    with np.errstate(invalid="ignore", divide="ignore"):
        sums = np.bincount(segment, atoms.mass * atoms.values, atoms.totals.size)
        mean = sums / atoms.totals
        around = atoms.mass * (atoms.values - mean[segment]) ** 2
        variance = np.bincount(segment, around, atoms.totals.size) / atoms.totals
    return CellFigures(
        cells.counts,
        atoms.totals.reshape(shape),
        scale.outward(mean.reshape(shape)),
        (scale.size * np.sqrt(variance)).reshape(shape),
        scale.outward(_medians(atoms).reshape(shape)),
    )


def _medians(atoms: Atoms) -> FloatArray:
    """Compute the median of each segment: the mean of the lower and the upper one."""
    reached = np.concatenate([[0.0], np.cumsum(atoms.mass)])
    half = 0.5 * atoms.totals
    medians = np.full(half.size, np.nan)
    there = atoms.offsets[1:] > atoms.offsets[:-1]
    start, last = reached[atoms.offsets[:-1]][there], atoms.offsets[1:][there] - 1
    half = half[there]
    low = np.searchsorted(reached[1:], start + half * (1.0 - _SAME), side="left")
    high = np.searchsorted(reached[1:], start + half * (1.0 + _SAME), side="right")
    low, high = np.minimum(low, last), np.minimum(high, last)
    medians[there] = 0.5 * (atoms.values[low] + atoms.values[high])
    return medians


def is_decision(cells: Cells) -> bool:
    """Return whether all scores are 0 or 1."""
    return bool(np.isin(cells.atoms.values, (0.0, 1.0)).all())


def is_plain(cells: Cells) -> bool:
    """Return whether rows are independent and have equal weight, as textbook tests assume."""
    return not cells.weighted and cells.cluster is None
