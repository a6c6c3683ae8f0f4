"""Two groups in the levels where they meet: means of cells and their jackknife errors.

A *unit* is what an estimate counts as one: a row, or all rows of a cluster that lie in one cell. If
a unit with share h of the weight of its cell is deleted, the weighted mean m of the cell moves by

    m - m_(-i) = h_i (x_i - m) / (1 - h_i).

With r that, times √((n - 1) / n), the moments of a cell are

    variance Σ r²,    bias √((n - 1) / n) Σ r,    third moment Σ r³ / (Σ r²)^{3/2}.

Rows of equal weight have variance s² / n. Estimates that are sums of means get their variance from
these *residuals*, summed by cluster where clusters lie in several cells.

The spread of a level in which a group has a single unit is read between levels if there are enough
of them: for figures y_l with shares b_l of the measure (they sum to 1),

    V = Σ_l b_l² / ((1 - 2 b_l) (1 + Σ_j b_j² / (1 - 2 b_j))) (y_l - ȳ)²

has an expectation of at least the variance of ȳ = Σ b_l y_l. With fewer levels the variance of
other cells stands in, of the same group or pooled, whichever is larger.

References: Efron and Stein (1981), *The jackknife estimate of variance*; Pashley and Miratrix
(2021), *Insights on variance estimation for blocked and matched pairs designs*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.disparity import Cells, Contrast, distance_bounds, inside_bins
from likeforlike.errors import InputError
from likeforlike.transport import Atoms, compiled, pair_costs, run_sums, sum_parts

ALONE = 1e-9
"""A share closer to 1 than this is that of a cell with a single unit, for all that can be known."""


@compiled
def cell_means(
    values: FloatArray,
    mass: FloatArray,
    offsets: IntArray,
    run_cell: IntArray,
    totals: FloatArray,
) -> FloatArray:
    """Return the mean of each cell, shape (c,), exact where all its values are equal."""
    means, first = np.zeros(totals.size), np.full(totals.size, np.nan)
    for run in range(run_cell.size):
        c = run_cell[run]
        if math.isnan(first[c]):
            first[c] = values[offsets[run]]
        start, total = first[c], 0.0
        for i in range(offsets[run], offsets[run + 1]):
            weight = mass[i] if mass.size else 1.0
            total += weight * (values[i] - start)
        means[c] += total
    for c in range(means.size):
        means[c] = first[c] + means[c] / totals[c]
    return means


@compiled
def _add_row_variances(
    values: FloatArray,
    counts: IntArray,
    offsets: IntArray,
    run_cell: IntArray,
    rows: FloatArray,
    means: FloatArray,
    variances: FloatArray,
) -> None:
    """Add Σ (x - m)² / (n (n - 1)) of each cell; 0 for a single row."""
    for run in range(run_cell.size):
        mean, total = means[run_cell[run]], 0.0
        for i in range(offsets[run], offsets[run + 1]):
            apart = values[i] - mean
            count = counts[i] if counts.size else 1
            total += count * apart * apart
        variances[run_cell[run]] += total
    for c in range(means.size):
        variances[c] /= rows[c] * max(rows[c] - 1.0, 1.0)


@compiled
def _add_jackknife_variances(
    values: FloatArray,
    mass: FloatArray,
    counts: IntArray,
    offsets: IntArray,
    run_cell: IntArray,
    totals: FloatArray,
    rows: FloatArray,
    means: FloatArray,
    variances: FloatArray,
    bias: FloatArray,
) -> None:
    """Add jackknife variance and bias of the mean of each cell."""
    for run in range(run_cell.size):
        c = run_cell[run]
        root = math.sqrt(max(rows[c] - 1.0, 0.0) / rows[c])
        for i in range(offsets[run], offsets[run + 1]):
            count = counts[i] if counts.size else 1
            share = mass[i] / totals[c] / count
            moved = (values[i] - means[c]) * share * root / max(1.0 - share, ALONE)
            variances[c] += count * moved * moved
            bias[c] += count * moved * root


@compiled
def _sum_cubes(
    values: FloatArray,
    counts: IntArray,
    offsets: IntArray,
    run_cell: IntArray,
    means: FloatArray,
    scale: FloatArray,
) -> FloatArray:
    """Return Σ (scale (x - m))³ over the rows of each cell."""
    sums = np.zeros(means.size)
    for run in range(run_cell.size):
        mean, unit, total = means[run_cell[run]], scale[run_cell[run]], 0.0
        for i in range(offsets[run], offsets[run + 1]):
            moved = (values[i] - mean) * unit
            count = counts[i] if counts.size else 1
            total += count * moved * moved * moved
        sums[run_cell[run]] += total
    return sums


Number = TypeVar("Number", float, FloatArray)
Scalar = TypeVar("Scalar", bound=np.generic)

# No group is taken to have less than this share of the variance of both.
_NARROWEST = 0.01
# Rows from which on a cell shows its skewness.
_SKEWNESS_ROWS = 8.0
# A value outside {0, 1} that occurs less often may be the first of many others.
_BINARY_ROWS = 5


@dataclass(frozen=True)
class Units:
    """The u units of a sample. Equal ones (rows of one atom) are listed once.

    Attributes
    ----------
    run_cell, run_sizes : (r,) integers, the cell of each run of units and its length.
    counts : (u,) integers, how many units are equal.
    mass : (u,) floats, their weight together.
    totals : (2k,) floats, weight of each cell.
    cluster : (u,) integers, or `None` if units are independent of each other.
    atom_unit : (m,) integers, the unit of each atom; `None` if each is its own.
    unequal : whether units may differ in weight.
    numbers : (2k,) floats, units in each cell.
    """

    run_cell: IntArray
    run_sizes: IntArray
    counts: IntArray
    mass: FloatArray
    totals: FloatArray
    cluster: IntArray | None
    atom_unit: IntArray | None
    unequal: bool
    numbers: FloatArray

    @cached_property
    def cell(self) -> IntArray:
        """The cell of each unit, 2 * level + side. Shape (u,)."""
        cell: IntArray = np.repeat(self.run_cell, self.run_sizes)
        return cell

    @cached_property
    def share(self) -> FloatArray:
        """The share of the weight of its cell that each of the equal units holds. Shape (u,)."""
        share: FloatArray = self.mass / self.totals[self.cell] / self.counts
        return share

    @cached_property
    def jackknife_factor(self) -> FloatArray:
        """√((n - 1) / n) / (1 - share), shape (u,); 0 for the only unit of a cell."""
        factor: FloatArray = self.root[self.cell] / np.maximum(1.0 - self.share, ALONE)
        return factor

    @cached_property
    def root(self) -> FloatArray:
        """√((n - 1) / n), shape (2k,)."""
        root: FloatArray = np.sqrt(np.maximum(self.numbers - 1.0, 0.0) / self.numbers)
        return root

    @cached_property
    def effective(self) -> FloatArray:
        """Kish's effective size of each cell, 1 / Σ share². Shape (2k,)."""
        if not self.unequal:
            return self.numbers
        squares = sum_parts(self.cell, self.counts * self.share**2, self.totals.size)
        effective: FloatArray = 1.0 / squares
        return effective

    @cached_property
    def single(self) -> BoolArray:
        """Whether a cell has one unit only, so that its spread cannot be seen. Shape (2k,)."""
        single: BoolArray = self.numbers < 2
        return single

    @property
    def single_levels(self) -> BoolArray:
        """Levels where at least one of the groups has a single unit. Shape (k,)."""
        levels: BoolArray = np.any(self.single.reshape(-1, 2), axis=1)
        return levels

    @cached_property
    def crossing(self) -> bool:
        """Whether some cluster lies in several cells."""
        return self.cluster is not None and np.unique(self.cluster).size < self.cluster.size

    def sum_by_cluster(self, amounts: FloatArray) -> FloatArray:
        """Sum amounts of units (u,) over each cluster; zero for a cluster without units."""
        assert self.cluster is not None
        return sum_parts(self.cluster, amounts, int(self.cluster.max()) + 1)


@dataclass(frozen=True)
class Jackknife:
    """Means of the cells of a function of the score, with their jackknife errors.

    Attributes
    ----------
    sample : whose cells they are.
    values : (m,) floats, the function at every atom.
    means : (2k,) floats.
    variances : (2k,) floats, of the means; 0 where a cell has one unit.
    bias : (2k,) floats, the jackknife's correction of each mean for the bias of a ratio.
    """

    sample: Sample
    values: FloatArray
    means: FloatArray
    variances: FloatArray
    bias: FloatArray

    @property
    def units(self) -> Units:
        """The units that are deleted, one at a time."""
        return self.sample.units

    @cached_property
    def residuals(self) -> FloatArray:
        """How far deleting a unit moves the mean of its cell, times √((n - 1) / n). Shape (u,)."""
        return self.sample.residuals(self.values, self.means)

    @property
    def gaps(self) -> FloatArray:
        """Second group minus first in every level. Shape (k,)."""
        gaps: FloatArray = self.means[1::2] - self.means[::2]
        return gaps

    def variance(self, coefficients: FloatArray) -> float:
        """Return the variance of Σ_c coefficients_c mean_c; the coefficients have shape (2k,)."""
        if not self.units.crossing:
            return float(coefficients**2 @ self.variances)
        added = coefficients[self.units.cell] * self.residuals
        return float((self.units.sum_by_cluster(added) ** 2).sum())

    @cached_property
    def level_shares(self) -> FloatArray:
        """The share of each group in the variance of each level. Shape (k, 2)."""
        parts = self.variances.reshape(-1, 2)
        whole = parts.sum(axis=1, keepdims=True)
        shares: FloatArray = parts / np.where(whole > 0.0, whole, 1.0)
        return shares

    @property
    def welch_df(self) -> FloatArray:
        """Welch's degrees of freedom of each level, at least 1. Shape (k,)."""
        known = np.maximum(self.units.effective - 1.0, 0.5).reshape(-1, 2)
        against = (self.level_shares**2 / known).sum(axis=1)
        freedom: FloatArray = 1.0 / np.where(against > 0.0, against, 1.0)
        return np.maximum(freedom, 1.0)

    @property
    def level_variances(self) -> FloatArray:
        """Variance of the gap of each level, with the covariance by clusters. Shape (k,)."""
        separate: FloatArray = self.variances.reshape(-1, 2).sum(axis=1)
        if not self.units.crossing:
            return separate
        assert self.units.cluster is not None
        level, side = np.divmod(self.units.cell, 2)
        key = level * (int(self.units.cluster.max()) + 1) + self.units.cluster
        _, shared = np.unique(key, return_inverse=True)
        signed = np.where(side == 1, 1.0, -1.0) * self.residuals
        added = sum_parts(shared, signed, int(shared.max()) + 1)
        shared_level = np.zeros(added.size, np.int64)
        shared_level[shared] = level
        return sum_parts(shared_level, added**2, separate.size)

    @cached_property
    def skewness(self) -> tuple[float, float]:
        """Skewness around the means of cells, and how far bins leave it unknown.

        All cells together: a few rows do not show it, and scores mostly have one shape in both
        groups. 0 for weighted rows and clusters, where the shape of the weights would be mistaken
        for it.
        """
        units, n = self.units, self.units.numbers
        known = n > 2.0
        if units.unequal or not known.any():
            return 0.0, 0.0
        parts = np.where(known, n * n, 0.0) / float(n[known].sum())
        second = float(parts @ self.variances)
        if not second > 0.0:
            return 0.0, 0.0
        cubes, doubt = self._third_moments()
        # Cells of one or two rows are left out; theirs may be beyond all proportion to the others.
        spread = np.sqrt(np.where(known, self.variances, 0.0) / second) ** 3
        unbiased = np.sqrt(n[known] * (n[known] - 1.0)) / (n[known] - 2.0)
        weight = (parts * n * spread)[known] * unbiased
        return float(weight @ cubes[known]), float(weight @ doubt[known])

    @cached_property
    def skewness_inside(self) -> tuple[float, float]:
        """Average skewness inside cells, each by its own spread, and how far bins hide it.

        A few wide cells do not decide it. Cells of fewer rows than `_SKEWNESS_ROWS` are left out,
        which cannot show a long tail. 0 where `skewness` is.
        """
        n = self.units.numbers
        enough = (n >= _SKEWNESS_ROWS) & (self.variances > 0.0)
        if self.units.unequal or not enough.any():
            return 0.0, 0.0
        cubes, doubt = self._third_moments()
        weight = n[enough] ** 1.5 / n[enough].sum()
        return float(weight @ cubes[enough]), float(weight @ doubt[enough])

    def _third_moments(self) -> tuple[FloatArray, FloatArray]:
        """Compute Σ r³ / (Σ r²)^{3/2} of each cell, and how far bins leave it unknown."""
        sample, scale = self.sample, np.zeros(self.means.size)
        # r = (x - m) / √(n (n - 1)), and the squares of r add up to the variance.
        seen = self.variances > 0.0
        scale[seen] = 1.0 / np.sqrt(sample.rows * (sample.rows - 1.0))[seen]
        scale[seen] /= np.sqrt(self.variances[seen])
        counts = _drop_ones(sample.counts)
        cubes = _sum_cubes(self.values, counts, sample.offsets, sample.run_cell, self.means, scale)
        if sample.inside is None:
            return cubes, np.zeros(cubes.size)
        variance, third, doubt = sample.inside
        unit = np.sqrt(sample.rows * np.maximum(sample.rows - 1.0, 1.0) * self.variances) ** 3
        unit = np.where(unit > 0.0, unit, 1.0)
        around = 3.0 * (self.values - self.means[sample.cell]) * variance + third
        added = sum_parts(sample.cell, sample.counts * around, unit.size)
        return cubes + added / unit, sum_parts(sample.cell, sample.counts * doubt, unit.size) / unit

    @cached_property
    def shrunk(self) -> FloatArray:
        """Variances of the means by empirical Bayes shrinkage. Shape (2k,).

        A few rows may differ little by chance. The variance u of a unit is shrunk towards that of
        both groups of its level, times how much wider its group is in all levels, and that of a
        level towards that of all levels. Its relative variance is 2/f for f degrees of freedom, and
        τ more between levels that differ:

            u' = m + τ / (τ + 2/f) (u - m),    τ = (Σ w (u/m - 1)² - Σ w 2/f)_+,    w: rows.

        Reference: Morris (1983), *Parametric empirical Bayes inference*.
        """
        units = self.units
        if units.numbers.size == 2 and not units.single.any():
            return self.variances
        freedom = np.where(units.single, 0.0, np.maximum(units.effective - 1.0, 0.0))
        unit, rows = self.variances * units.effective, units.numbers
        of_level = freedom.reshape(-1, 2).sum(axis=1)
        weight = np.where(of_level > 0.0, rows.reshape(-1, 2).sum(axis=1), 0.0)
        if not weight.sum() > 0.0:
            return self.variances
        wider = np.tile(_group_widths(unit, freedom), of_level.size)
        alike = (freedom * unit / wider).reshape(-1, 2).sum(axis=1) / np.maximum(of_level, 1e-300)
        usual = np.full(alike.size, float(weight @ alike) / float(weight.sum()))
        both = np.repeat(_shrink(usual, alike, of_level, weight), 2) * wider
        drawn = _shrink(both, unit, freedom, np.where(freedom > 0.0, rows, 0.0))
        return drawn / units.effective


def _group_widths(unit: FloatArray, freedom: FloatArray) -> FloatArray:
    """Compare the spread of each group inside levels with that of both; (1, 1) if equal."""
    own, known = unit.reshape(-1, 2), freedom.reshape(-1, 2)
    there = np.maximum(known.sum(axis=1), 1e-300)
    scale = (known * own).sum(axis=1) / there
    weight = np.where(scale > 1e-290, known.prod(axis=1) / there, 0.0)
    first, second = (weight / np.where(scale > 1e-290, scale, 1.0)) @ own
    if not first + second > 0.0:
        return np.ones(2)
    share = float(second / (first + second))
    wide = 2.0 * min(max(share, _NARROWEST), 1.0 - _NARROWEST)
    return np.array([2.0 - wide, wide])


def _shrink(
    mean: FloatArray, unit: FloatArray, freedom: FloatArray, weight: FloatArray
) -> FloatArray:
    """Shrink variances of units (j,) to a mean (j,), as far as chance explains the difference."""
    known = (weight > 0.0) & (mean > 0.0)
    if not known.any():
        return unit
    share = weight[known] / weight[known].sum()
    chance = 2.0 / np.maximum(freedom, 1e-9)
    apart = (unit[known] / mean[known] - 1.0) ** 2
    more = max(float(share @ (apart - chance[known])), 0.0)
    drawn: FloatArray = np.where(mean > 0.0, mean + more / (more + chance) * (unit - mean), unit)
    return drawn


@dataclass(frozen=True)
class Sample:
    """Two groups in the k levels where they meet, in numbers of about unit size.

    Attributes
    ----------
    values : (m,) floats, scores of the atoms moved and scaled to [0, 1]; cell after cell, sorted.
    mass : (m,) floats, weight of each atom; the largest weight of a row is 1.
    counts : (m,) integers, rows of each atom.
    offsets : (r + 1,) integers, where each run of atoms begins.
    run_cell : (r,) integers, the cell of each run, 2 * level + side; runs are the cells unless
        levels were pooled.
    totals, rows : (2k,) floats, weight and rows of each cell.
    cluster : (m,) integers or `None`.
    scale : the reach of the scores, half of it if that is too large for a number.
    stretch : 1, or 2 for such scores.
    weighted : whether rows differ in weight.
    rates : whether scores are decisions; `values` then are 0 or 1.
    inside : (3, m) floats, for rows that stand at the mean of a bin: their variance, and the middle
        and the half of what their third moment may be; `None` if scores are exact, or nothing is
        known.
    width : of the bins that scores were rounded to; 0 if they are exact.
    moved : (k, 2) floats, by how much W_1 of the rows may be below and above that of the atoms;
        `None` if scores are exact.
    """

    values: FloatArray
    mass: FloatArray
    counts: IntArray
    offsets: IntArray
    run_cell: IntArray
    totals: FloatArray
    rows: FloatArray
    cluster: IntArray | None
    scale: float
    stretch: float
    weighted: bool
    rates: bool
    inside: FloatArray | None = None
    width: float = 0.0
    moved: FloatArray | None = None

    @cached_property
    def cell(self) -> IntArray:
        """The cell of every atom, shape (m,)."""
        cell: IntArray = np.repeat(self.run_cell, np.diff(self.offsets))
        return cell

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return self.totals.size // 2

    def to_units(self, difference: Number) -> Number:
        """Convert a difference of scaled scores to units of the score."""
        return difference * self.scale * self.stretch

    def scale_down(self, difference: Number) -> Number:
        """Convert a difference of scores to scaled scores."""
        return difference / self.scale / self.stretch

    def sum_by_unit(self, amounts: FloatArray) -> FloatArray:
        """Sum amounts of atoms (m,) over each unit, shape (u,); equal units share them."""
        if self.units.atom_unit is None:
            return amounts / self.counts
        return sum_parts(self.units.atom_unit, amounts, self.units.cell.size)

    def pool_levels(self) -> Sample:
        """Pool all levels into one; the rows stay where they are."""
        return replace(
            self,
            run_cell=self.run_cell & 1,
            totals=self.totals.reshape(-1, 2).sum(axis=0),
            rows=self.rows.reshape(-1, 2).sum(axis=0),
        )

    @property
    def constant(self) -> bool:
        """Whether all scores are equal, and are not decisions."""
        equal = bool(self.values.max() == self.values.min())
        return not self.rates and equal and (self.inside is None or not self.inside.any())

    @property
    def blur(self) -> float:
        """The largest error of a difference of means: a bin, unless sums inside are known."""
        return self.width if self.inside is None else 0.0

    @property
    def unsteady(self) -> float:
        """Allowance in the upper end of a distance for noise that is read off bins.

        No bound is known. In 600 tables of 2 to 2,000 rows the end was off by .1 of a bin at most,
        apart from Monte Carlo error; an eighth is added.
        """
        return 0.125 * self.width

    @cached_property
    def variances_inside(self) -> FloatArray:
        """Addition of rows around the means of their bins to the variance of a mean. (2k,)."""
        if self.inside is None:
            return np.zeros(self.totals.size)
        squares = sum_parts(self.cell, self.counts * self.inside[0], self.totals.size)
        added: FloatArray = squares / (self.rows * np.maximum(self.rows - 1.0, 1.0))
        return added

    @cached_property
    def units(self) -> Units:
        """The units, and the share of its cell that each holds."""
        if self.cluster is None:
            return Units(
                run_cell=self.run_cell,
                run_sizes=np.diff(self.offsets),
                counts=self.counts,
                mass=self.mass,
                totals=self.totals,
                cluster=None,
                atom_unit=None,
                unequal=self.weighted,
                numbers=self.rows,
            )
        key = self.cell * (int(self.cluster.max()) + 1) + self.cluster
        keys, atom_unit = np.unique(key, return_inverse=True)
        cell, cluster = np.divmod(keys, int(self.cluster.max()) + 1)
        ones = np.ones(keys.size, np.int64)
        return Units(
            run_cell=cell,
            run_sizes=ones,
            counts=ones,
            mass=sum_parts(atom_unit, self.mass, keys.size),
            totals=self.totals,
            cluster=cluster,
            atom_unit=atom_unit,
            unequal=True,
            numbers=np.bincount(cell, minlength=self.totals.size).astype(np.float64),
        )

    @cached_property
    def scores(self) -> Jackknife:
        """Mean scores of the cells, with their jackknife."""
        # Of a copy: a cycle would keep all rows in memory until the garbage collector runs.
        same = replace(self)
        same.__dict__["units"] = self.units
        return same.jackknife(self.values)

    def jackknife(self, values: FloatArray) -> Jackknife:
        """Compute means and errors of a function of the score, given for each atom, shape (m,)."""
        runs, units, n_cells = (self.offsets, self.run_cell), self.units, self.totals.size
        mass, counts = _drop_ones(self.mass), _drop_ones(self.counts)
        means = cell_means(values, mass, *runs, self.totals)
        if self.cluster is not None:
            residuals = self.residuals(values, means)
            variances = sum_parts(units.cell, residuals**2, n_cells)
            bias = sum_parts(units.cell, residuals, n_cells) * units.root
            return Jackknife(self, values, means, variances, bias)
        variances, bias = np.zeros(n_cells), np.zeros(n_cells)
        if self.weighted:
            _add_jackknife_variances(
                values, mass, counts, *runs, self.totals, self.rows, means, variances, bias
            )
        else:
            _add_row_variances(values, counts, *runs, self.rows, means, variances)
        if self.inside is not None:
            # The slope of every function that is asked about is 1 or -1 inside bins.
            variances = variances + self.variances_inside
        return Jackknife(self, values, means, variances, bias)

    def residuals(self, values: FloatArray, means: FloatArray) -> FloatArray:
        """Compute the jackknife residual of each unit: how far it moves a mean. Shape (u,)."""
        moved = self.mass * (values - means[self.cell]) / self.totals[self.cell]
        return self.sum_by_unit(moved) * self.units.jackknife_factor

    @cached_property
    def dominant_row_levels(self) -> BoolArray:
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
        return bool((worth / there).min() < 0.6 or self.dominant_row_levels.mean() > 0.1)


def _drop_ones(ones: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Replace a broadcast 1 by an empty array."""
    return ones[:0].copy() if ones.strides == (0,) else ones


def _check_row_weights(contrast: Contrast) -> None:
    """Raise for histograms with weights, which do not say which row has which weight."""
    atoms = contrast.cells.atoms
    if contrast.cells.weighted or atoms.counts_alone or atoms.mass_kept.strides == (0,):
        return
    if not np.array_equal(atoms.mass, atoms.counts):
        raise InputError(
            "weighted counts do not say which row has which weight, so they cannot be resampled; "
            "use rows (no resolution) or no weights."
        )


def take_sample(contrast: Contrast | Sample) -> Sample:
    """Select and scale the rows of two groups in the levels where both occur, unless done."""
    if isinstance(contrast, Sample):
        return contrast
    _check_row_weights(contrast)
    if len(contrast.positions) != 2 or not contrast.support.any():
        raise InputError("contrast must be two groups that meet in at least one level.")
    cells, segments = contrast.cells, contrast.segments().ravel()
    begins, sizes = cells.atoms.offsets[segments], np.diff(cells.atoms.offsets)[segments]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    atoms: IntArray | slice = slice(None)
    if offsets[-1] < cells.atoms.values.size or (begins != offsets[:-1]).any():
        atoms = np.repeat(begins - offsets[:-1], sizes) + np.arange(int(offsets[-1]))
    counts = cells.atoms.counts_kept[atoms]
    mass, weighted = _scale_mass(cells, atoms, counts)
    values, scale, stretch, rates = _scale_values(cells.atoms.values[atoms], counts)
    inside, moved = None, None
    if cells.resolution > 0.0:
        sums = None if cells.sums is None else cells.sums[atoms]
        inside, moved = _rounding(
            cells.atoms.values[atoms], mass, counts, offsets, sums, cells.resolution
        )
    if inside is not None:
        rates = False
        scale = scale if np.ptp(values) > 0.0 else cells.resolution
        inside = inside * (cells.resolution / scale / stretch) ** np.array([[2.0], [3.0], [3.0]])
    return Sample(
        values=values,
        mass=mass,
        counts=counts,
        offsets=offsets,
        run_cell=np.arange(segments.size),
        totals=run_sums(mass, offsets[:-1]).astype(np.float64, copy=False),
        rows=run_sums(counts, offsets[:-1]).astype(np.float64),
        cluster=None
        if cells.cluster is None
        else np.unique(cells.cluster[atoms], return_inverse=True)[1],
        scale=scale,
        stretch=stretch,
        weighted=weighted,
        rates=rates,
        inside=inside,
        width=0.0 if moved is None else cells.resolution / scale / stretch,
        moved=None if moved is None else moved / scale / stretch,
    )


def _rounding(
    places: FloatArray,
    mass: FloatArray,
    counts: IntArray,
    offsets: IntArray,
    sums: IntArray | None,
    resolution: float,
) -> tuple[FloatArray | None, FloatArray | None]:
    """Compute `Sample.inside` in widths of a bin and `moved` in their unit, or `None` if exact."""
    pairs = np.arange(offsets.size - 1).reshape(-1, 2)
    if sums is None:
        # Every score moved by at most half a bin, and so did every mean.
        return None, np.full(pairs.shape, resolution)
    variance, third, doubt, deviation = inside_bins(counts, sums)
    if not deviation.any():
        return None, None
    bounds = distance_bounds(places, mass, counts, offsets, pairs, sums, resolution)
    seen = pair_costs(Atoms(places, mass, counts, offsets), pairs[:, 0], pairs[:, 1], 1.0)
    moved: FloatArray = np.abs(bounds - seen[:, None])
    return np.stack([variance, third, doubt]), moved


def _scale_mass(cells: Cells, atoms: IntArray | slice, counts: IntArray) -> tuple[FloatArray, bool]:
    """Scale weights to a largest one of 1 per row; return them and whether they differ."""
    if not cells.weighted:
        return cells.atoms.mass_kept[atoms], False
    weight = cells.atoms.mass[atoms] / counts
    scaled = weight / weight.max()
    # A weight that would vanish keeps the least that can be squared and added up.
    scaled = np.maximum(scaled, 1e-120)
    return scaled * counts, bool(scaled.min() < 1.0)


def _scale_values(values: FloatArray, counts: IntArray) -> tuple[FloatArray, float, float, bool]:
    """Scale scores to unit reach; return them, scale, stretch, and whether they are decisions."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        if low in (0.0, 1.0):
            return values.copy(), 1.0, 1.0, True
        return np.zeros(values.size), 1.0, 1.0, False
    # Numbers whose difference is too large for a float are made smaller first.
    stretch = 2.0 if np.isinf(high / 2.0 - low / 2.0 + (high / 2.0 - low / 2.0)) else 1.0
    scale = high / stretch - low / stretch
    scaled = values / stretch
    scaled -= low / stretch
    scaled /= scale
    top = scaled == 1.0
    rates = bool((top | (scaled == 0.0)).all())
    if rates and (low, high) != (0.0, 1.0):
        rates = bool(min(counts[top].sum(), counts[~top].sum()) >= _BINARY_ROWS)
    return scaled, scale, stretch, rates


# Fewer levels say too little of the spread between them, and so do those with one large level.
_MANY_LEVELS = 10
_LARGEST_SHARE = 0.25
# This many say something if others say less.
_FEW_LEVELS, _LARGEST_OF_FEW = 3, 0.45
# Degrees of freedom that a pooled variance needs.
_FREEDOM = 4.0


Singletons = tuple[BoolArray, FloatArray, bool, float]
"""Variance of levels with a single unit of a group: see `singleton_variances`."""


def singleton_variances(jackknife: Jackknife, measure: FloatArray) -> Singletons:
    """Decide where the variance of levels with a single unit of a group comes from.

    Returns
    -------
    between : (k,) whether the variance of a level is read between levels.
    pooled : (2k,) floats, the variance of a single unit from other cells; 0 elsewhere.
    known : whether the variance of each level comes from somewhere.
    df : degrees of freedom that the pooled variances have together, if levels of single rows
        differ more than other cells suggest; infinite if each has its own.
    """
    units, single = jackknife.units, jackknife.units.single_levels
    none, zeros = np.zeros(single.size, np.bool_), np.zeros(units.numbers.size)
    shares = measure[single]
    if not shares.any():
        return none, zeros, True, math.inf
    if (shares > 0.0).sum() >= _MANY_LEVELS and shares.max() <= _LARGEST_SHARE * shares.sum():
        return single, zeros, True, math.inf
    pooled = _pool_variances(jackknife)
    if pooled is None:
        return none, zeros, False, math.inf
    variances = np.maximum(pooled, jackknife.shrunk * units.effective)
    variances = np.where(units.single, variances, 0.0)
    factor = _singleton_factor(jackknife, measure, variances)
    df = float(np.count_nonzero(shares)) - 2.0 if factor > 1.0 else math.inf
    return none, variances * factor, True, df


def _singleton_factor(jackknife: Jackknife, measure: FloatArray, variances: FloatArray) -> float:
    """Compare the variance between singleton levels with that of other cells; at least 1."""
    single = jackknife.units.single_levels & (measure > 0.0)
    shares = measure[single]
    if shares.size < _FEW_LEVELS or shares.max() >= _LARGEST_OF_FEW * shares.sum():
        return 1.0
    expected = (jackknife.variances + variances).reshape(-1, 2).sum(axis=1)[single]
    whole = float(shares**2 @ expected)
    seen = float((between_level_residuals(shares, jackknife.gaps[single]) ** 2).sum())
    return max(1.0, seen / whole) if whole > 0.0 else 1.0


def _pool_variances(jackknife: Jackknife) -> FloatArray | None:
    """Pool the variance of a unit over cells with several, shape (2k,): its group's or both's."""
    units = jackknife.units
    freedom = np.where(units.single, 0.0, np.maximum(units.effective - 1.0, 0.0))
    weighted = jackknife.variances * units.effective * freedom
    if freedom.sum() < _FREEDOM:
        return None
    pooled = np.empty(freedom.size)
    both = weighted.sum() / freedom.sum()
    for side in range(2):
        there = freedom[side::2].sum()
        own = weighted[side::2].sum() / there if there >= _FREEDOM else both
        pooled[side::2] = max(own, both)
    return pooled


def between_level_residuals(measure: FloatArray, figures: FloatArray) -> FloatArray:
    """Return the part of each level in the error of Σ_l Q(l) y_l; V sums their squares. (j,)."""
    whole = float(measure.sum())
    share = measure / whole
    part = share**2 / (1.0 - 2.0 * share)
    apart = figures - float(share @ figures)
    added: FloatArray = whole * np.sqrt(part / (1.0 + float(part.sum()))) * apart
    return added


def two_way_cluster_term(units: Units, added: FloatArray) -> float:
    """Return the variance that clusters across levels add to one read between levels, at least 0.

    The part of a level is laid on its units by the roots of their shares. The sum of squares by
    cluster minus that by unit is what two-way clustering (Cameron, Gelbach and Miller 2011) adds to
    that by level.
    """
    laid = added[units.cell // 2] * np.sqrt(units.share)
    return max(float((units.sum_by_cluster(laid) ** 2).sum() - (laid**2).sum()), 0.0)
