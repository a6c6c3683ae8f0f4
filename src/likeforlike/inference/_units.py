"""Units: what an estimate counts as one, and what each of them adds to the error of a mean.

A unit is a row, or all rows of a cluster that lie in one cell. If a unit that holds the share h of
the weight of its cell is deleted, a weighted mean m of the cell moves by

    m - m_(-i) = h_i (x_i - m) / (1 - h_i),

and the sum of the squares of √((n - 1) / n) times this is the jackknife variance of m: exactly s² /
n where rows have no weights. Whatever is estimated as a sum of means, or behaves like one, gets its
variance from these *residuals*, added up by cluster where a cluster lies in several cells.

Scores are scaled to unit reach and weights to a largest one of 1 when a sample is taken, so that no
square over- or underflows.

Reference: Efron and Stein (1981), *The jackknife estimate of variance*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._contrasts import Contrast
from likeforlike.errors import InputError
from likeforlike.transport._atoms import sums_by

Number = TypeVar("Number", float, FloatArray)

# A value outside {0, 1} that was seen less often may be the first of many others.
_SEEN = 5
# A share closer to 1 than this is that of a cell with a single unit, for all that can be computed.
_ALONE = 1e-9


@dataclass(frozen=True)
class Units:
    """The u units of a sample. Alike ones (rows of one atom) are listed once.

    Attributes
    ----------
    cell : (u,) integers, 2 * level + side.
    times : (u,) floats, how many units are alike.
    share : (u,) floats, the share of the weight of its cell that each of them holds.
    lever : (u,) floats, √((n - 1) / n) / (1 - share); 0 for the only unit of a cell.
    cluster : (u,) integers, or `None` if units are independent of each other.
    of_atom : (m,) integers, the unit of every atom; `None` if each is its own.
    unequal : whether units may differ in weight.
    numbers : (2k,) floats, units in each cell.
    effective : (2k,) floats, 1 / Σ share², as many equal units as these are worth.
    """

    cell: IntArray
    times: FloatArray
    share: FloatArray
    lever: FloatArray
    cluster: IntArray | None
    of_atom: IntArray | None
    unequal: bool
    numbers: FloatArray
    effective: FloatArray

    @cached_property
    def single(self) -> BoolArray:
        """Whether a cell has one unit only, so that its spread cannot be seen. Shape (2k,)."""
        alone: BoolArray = self.numbers < 2
        return alone

    @cached_property
    def crossing(self) -> bool:
        """Whether some cluster lies in several cells."""
        return self.cluster is not None and np.unique(self.cluster).size < self.cluster.size


@dataclass(frozen=True)
class Jackknife:
    """Means of the cells of a function of the score, and what the jackknife says of them.

    Attributes
    ----------
    means : (2k,) floats.
    residuals : (u,) floats, how far deleting a unit moves the mean of its cell, times √((n-1)/n).
    bias : (2k,) floats, what the jackknife would add to a mean to remove the bias of a ratio.
    variances : (2k,) floats, of the means; 0 where a cell has one unit.
    """

    units: Units
    means: FloatArray
    residuals: FloatArray
    bias: FloatArray
    variances: FloatArray

    @property
    def gaps(self) -> FloatArray:
        """Second group minus first in every level. Shape (k,)."""
        gaps: FloatArray = self.means[1::2] - self.means[::2]
        return gaps

    def variance(self, coefficients: FloatArray) -> float:
        """Variance of Σ_c coefficients_c mean_c; the coefficients have shape (2k,)."""
        if not self.units.crossing:
            return float(coefficients**2 @ self.variances)
        return float((self.by_cluster(coefficients) ** 2).sum())

    @cached_property
    def skewness(self) -> float:
        """Third moment of the scores around the means of cells, over the cube of their spread.

        All cells together: a few rows cannot tell, and scores mostly have one shape in both groups.
        0 for weighted rows and clusters, where the shape of the weights would be mistaken for it.
        """
        units, n = self.units, self.units.numbers
        known = n > 2.0
        if units.unequal or not known.any():
            return 0.0
        parts = np.where(known, n * n, 0.0) / float(n[known].sum())
        second = float(parts @ self.variances)
        if not second > 0.0:
            return 0.0
        cubes = sums_by(units.cell, units.times * (self.residuals / np.sqrt(second)) ** 3, n.size)
        unbiased = np.sqrt(n[known] * (n[known] - 1.0)) / (n[known] - 2.0)
        return float((parts * n * cubes)[known] @ unbiased)

    def by_cluster(self, coefficients: FloatArray) -> FloatArray:
        """What each cluster adds to Σ_c coefficients_c mean_c, shape (number of clusters,)."""
        cluster = self.units.cluster
        assert cluster is not None
        added = coefficients[self.units.cell] * self.residuals
        return sums_by(cluster, added, int(cluster.max()) + 1)


@dataclass(frozen=True)
class Sample:
    """Two groups in the k levels where they meet, in numbers of about unit size.

    Attributes
    ----------
    values : (m,) floats, scores of the atoms moved and scaled to [0, 1]; cell after cell, sorted.
    mass : (m,) floats, weight of each atom; the largest weight of a row is 1.
    counts : (m,) integers, rows of each atom.
    cell : (m,) integers, 2 * level + side.
    offsets : (2k + 1,) integers, where each cell begins.
    totals : (2k,) floats, weight of each cell.
    cluster : (m,) integers or `None`.
    scale : the reach of the scores, half of it if that is too large for a number.
    stretch : 1, or 2 for such scores.
    weighted : whether rows differ in weight.
    rates : whether scores are decisions; `values` then are 0 or 1.
    """

    values: FloatArray
    mass: FloatArray
    counts: IntArray
    cell: IntArray
    offsets: IntArray
    totals: FloatArray
    cluster: IntArray | None
    scale: float
    stretch: float
    weighted: bool
    rates: bool

    @property
    def n_levels(self) -> int:
        """How many levels there are."""
        return self.totals.size // 2

    def unscaled(self, difference: Number) -> Number:
        """A difference of scaled scores in units of the score."""
        return difference * self.scale * self.stretch

    def scaled(self, difference: Number) -> Number:
        """A difference of scores in scaled scores."""
        return difference / self.scale / self.stretch

    def by_unit(self, amounts: FloatArray) -> FloatArray:
        """Amounts of atoms as amounts of single units, shape (u,); the amounts have shape (m,)."""
        if self.units.of_atom is None:
            return amounts / self.counts
        return sums_by(self.units.of_atom, amounts, self.units.cell.size)

    def pooled(self) -> Sample:
        """The same rows with all levels thrown together."""
        side = self.cell % 2
        order = np.lexsort((self.values, side))
        return replace(
            self,
            values=self.values[order],
            mass=self.mass[order],
            counts=self.counts[order],
            cell=side[order],
            offsets=np.array([0, int((side == 0).sum()), side.size]),
            totals=sums_by(side, self.mass, 2),
            cluster=None if self.cluster is None else self.cluster[order],
        )

    @property
    def constant(self) -> bool:
        """Whether all scores are equal, and are not decisions."""
        return not self.rates and bool(self.values.max() == self.values.min())

    @cached_property
    def rows(self) -> FloatArray:
        """Rows of each cell, shape (2k,)."""
        return sums_by(self.cell, self.counts.astype(np.float64), self.totals.size)

    @cached_property
    def units(self) -> Units:
        """The units, and the share of its cell that each holds."""
        share = self.mass / self.totals[self.cell]
        if self.cluster is None:
            of_row, n_cells = share / self.counts, self.totals.size
            return _units(self.cell, of_row, self.counts, None, None, n_cells, self.weighted)
        key = self.cell * (int(self.cluster.max()) + 1) + self.cluster
        keys, of_atom = np.unique(key, return_inverse=True)
        cell, cluster = np.divmod(keys, int(self.cluster.max()) + 1)
        held = sums_by(of_atom, share, keys.size)
        times = np.ones(keys.size, np.int64)
        return _units(cell, held, times, cluster, of_atom, self.totals.size, unequal=True)

    @cached_property
    def scores(self) -> Jackknife:
        """Mean scores of the cells, with their jackknife."""
        return self.jackknife(self.values)

    def jackknife(self, values: FloatArray) -> Jackknife:
        """Means and residuals of a function of the score, given for each atom, shape (m,)."""
        units, n_cells = self.units, self.totals.size
        means = sums_by(self.cell, self.mass * values, n_cells) / self.totals
        moved = self.mass * (values - means[self.cell]) / self.totals[self.cell]
        residuals = self.by_unit(moved) * units.lever
        pull = units.times * residuals * np.sqrt(_before_last(units.numbers))[units.cell]
        return Jackknife(
            units=units,
            means=means,
            residuals=residuals,
            bias=sums_by(units.cell, pull, n_cells) if units.unequal else np.zeros(n_cells),
            variances=sums_by(units.cell, units.times * residuals**2, n_cells),
        )

    @cached_property
    def dominated(self) -> BoolArray:
        """Levels where a single row outweighs the others of its cell by far. Shape (k,)."""
        units = self.units
        top = np.zeros(self.totals.size)
        np.maximum.at(top, units.cell, units.share)
        alone = top > np.clip(3.0 / units.numbers, 0.2, 0.9)
        if not self.weighted:
            alone[:] = False
        levels: BoolArray = np.any(alone.reshape(-1, 2), axis=1)
        return levels

    @cached_property
    def heavy(self) -> bool:
        """Whether a few rows carry so much of the weight that variances are hardly known."""
        if not self.weighted:
            return False
        worth = self.units.effective.reshape(-1, 2).sum(axis=0)
        there = self.units.numbers.reshape(-1, 2).sum(axis=0)
        return bool((worth / there).min() < 0.6 or self.dominated.mean() > 0.1)


def _before_last(numbers: FloatArray) -> FloatArray:
    """(n - 1) / n."""
    part: FloatArray = np.maximum(numbers - 1.0, 0.0) / np.maximum(numbers, 1.0)
    return part


def _units(
    cell: IntArray,
    share: FloatArray,
    times: IntArray,
    cluster: IntArray | None,
    of_atom: IntArray | None,
    n_cells: int,
    unequal: bool,
) -> Units:
    often = times.astype(np.float64)
    numbers = sums_by(cell, often, n_cells)
    lever = np.sqrt(_before_last(numbers))[cell] / np.maximum(1.0 - share, _ALONE)
    effective = 1.0 / sums_by(cell, often * share**2, n_cells)
    return Units(cell, often, share, lever, cluster, of_atom, unequal, numbers, effective)


def _refuse_weighted_counts(contrast: Contrast) -> None:
    """Raise for histograms with weights, which do not say which row has which weight."""
    atoms = contrast.cells.atoms
    if not contrast.cells.weighted and not np.array_equal(atoms.mass, atoms.counts):
        raise InputError(
            "weighted counts do not say which row has which weight, so they cannot be resampled; "
            "use rows (no resolution) or no weights."
        )


def take_sample(contrast: Contrast) -> Sample:
    """The rows of two groups in the levels where both occur, scaled."""
    _refuse_weighted_counts(contrast)
    if len(contrast.positions) != 2 or not contrast.support.any():
        raise InputError("contrast must be two groups that meet in at least one level.")
    cells, segments = contrast.cells, contrast.segments().ravel()
    begins, sizes = cells.atoms.offsets[segments], np.diff(cells.atoms.offsets)[segments]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    atoms = np.repeat(begins - offsets[:-1], sizes) + np.arange(int(offsets[-1]))
    counts = cells.atoms.counts[atoms]
    mass, weighted = _scaled_mass(cells, atoms, counts)
    values, scale, stretch, rates = _scaled_values(cells.atoms.values[atoms], counts)
    cell = np.repeat(np.arange(segments.size), sizes)
    return Sample(
        values=values,
        mass=mass,
        counts=counts,
        cell=cell,
        offsets=offsets,
        totals=sums_by(cell, mass, segments.size),
        cluster=None if cells.cluster is None else _renumbered(cells.cluster[atoms]),
        scale=scale,
        stretch=stretch,
        weighted=weighted,
        rates=rates,
    )


def _renumbered(cluster: IntArray) -> IntArray:
    """Clusters numbered from 0 without gaps."""
    numbered: IntArray = np.unique(cluster, return_inverse=True)[1]
    return numbered


def _scaled_mass(cells: Cells, atoms: IntArray, counts: IntArray) -> tuple[FloatArray, bool]:
    """Weights with a largest one of 1 for a row, and whether they differ."""
    if not cells.weighted:
        return counts.astype(np.float64), False
    of_row = cells.atoms.mass[atoms] / counts
    scaled = of_row / of_row.max()
    # A weight that would vanish keeps the least that can be squared and added up.
    scaled = np.maximum(scaled, 1e-120)
    return scaled * counts, bool(scaled.min() < 1.0)


def _scaled_values(values: FloatArray, counts: IntArray) -> tuple[FloatArray, float, float, bool]:
    """Scores of unit reach, what they were scaled by, and whether they are decisions."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        if low in (0.0, 1.0):
            return values.copy(), 1.0, 1.0, True
        return np.zeros(values.size), 1.0, 1.0, False
    # Numbers whose difference is too large for a float are made smaller first.
    stretch = 2.0 if np.isinf(high / 2.0 - low / 2.0 + (high / 2.0 - low / 2.0)) else 1.0
    scale = high / stretch - low / stretch
    scaled = (values / stretch - low / stretch) / scale
    top = scaled == 1.0
    rates = bool((top | (scaled == 0.0)).all())
    if rates and (low, high) != (0.0, 1.0):
        rates = bool(min(counts[top].sum(), counts[~top].sum()) >= _SEEN)
    return scaled, scale, stretch, rates
