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

Means and jackknife moments of cells whose rows are their own units, in a few passes.

Deleting a row that holds the share h of the weight of its cell moves the mean m of n rows by
h (x - m) / (1 - h). With r that, times √((n - 1) / n), the moments of a cell are

    variance Σ r²,    bias √((n - 1) / n) Σ r,    cubes Σ r³ / (Σ r²)^{3/2}.

Rows of equal weight all hold 1 / n, and the variance is s² / n. Nothing is kept for every row: a
million of them take some milliseconds.

Levels where a group has a single unit: what can still be known of their spread.

One row does not show how much people differ. With enough such levels the spread between levels
does: for figures y_l with shares b_l of the measure (they sum to 1),

    V = Σ_l b_l² / ((1 - 2 b_l) (1 + Σ_j b_j² / (1 - 2 b_j))) (y_l - ȳ)²

has an expectation of at least the variance of ȳ = Σ b_l y_l, and exactly that if the levels have
one mean. With fewer, the variance of other cells stands in, that of the other group of the level or
the pooled one of all cells, whichever is larger; with none, nothing is known.

Reference: Pashley and Miratrix (2021), *Insights on variance estimation for blocked and matched
pairs designs*.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.disparity import Cells, Contrast, distance_bounds, inside_bins
from likeforlike.errors import InputError
from likeforlike.transport import Atoms, compiled, pair_costs, run_sums, sums_by

ALONE = 1e-9
"""A share closer to 1 than this is that of a cell with a single unit, for all that can be known."""


class Runs(NamedTuple):
    """Atoms (m,) that follow each other, run by run; a cell is made of one run or of several.

    Attributes
    ----------
    values : (m,) floats.
    mass : (m,) floats, or none where every atom weighs 1.
    counts : (m,) integers, rows of each atom, or none where every atom is a row.
    offsets : (r + 1,) integers, where each run begins.
    cell : (r,) integers, the cell of each run.
    totals, rows : (c,) floats, mass and rows of each cell.
    """

    values: FloatArray
    mass: FloatArray
    counts: IntArray
    offsets: IntArray
    cell: IntArray
    totals: FloatArray
    rows: FloatArray


@compiled
def cell_means(runs: Runs) -> FloatArray:
    """Mean of every cell, shape (c,).

    From the distances to its first value: where all are equal the mean is theirs exactly, and what
    does not vary does not seem to by rounding.
    """
    means, first = np.zeros(runs.totals.size), np.full(runs.totals.size, np.nan)
    for run in range(runs.cell.size):
        c = runs.cell[run]
        if math.isnan(first[c]):
            first[c] = runs.values[runs.offsets[run]]
        start, total = first[c], 0.0
        for i in range(runs.offsets[run], runs.offsets[run + 1]):
            weight = runs.mass[i] if runs.mass.size else 1.0
            total += weight * (runs.values[i] - start)
        means[c] += total
    for c in range(means.size):
        means[c] = first[c] + means[c] / runs.totals[c]
    return means


@compiled
def _of_equal_rows(runs: Runs, means: FloatArray, variances: FloatArray) -> None:
    """Σ (x - m)² / (n (n - 1)) of every cell; 0 for a single row."""
    for run in range(runs.cell.size):
        mean, total = means[runs.cell[run]], 0.0
        for i in range(runs.offsets[run], runs.offsets[run + 1]):
            apart = runs.values[i] - mean
            count = runs.counts[i] if runs.counts.size else 1
            total += count * apart * apart
        variances[runs.cell[run]] += total
    for c in range(means.size):
        variances[c] /= runs.rows[c] * max(runs.rows[c] - 1.0, 1.0)


@compiled
def _of_unequal_rows(
    runs: Runs, means: FloatArray, variances: FloatArray, bias: FloatArray
) -> None:
    """Jackknife variance and bias of the mean of every cell."""
    for run in range(runs.cell.size):
        c = runs.cell[run]
        root = math.sqrt(max(runs.rows[c] - 1.0, 0.0) / runs.rows[c])
        for i in range(runs.offsets[run], runs.offsets[run + 1]):
            count = runs.counts[i] if runs.counts.size else 1
            share = runs.mass[i] / runs.totals[c] / count
            moved = (runs.values[i] - means[c]) * share * root / max(1.0 - share, ALONE)
            variances[c] += count * moved * moved
            bias[c] += count * moved * root


@compiled
def _cubes(runs: Runs, means: FloatArray, scale: FloatArray) -> FloatArray:
    """Σ (scale (x - m))³ over the rows of every cell."""
    sums = np.zeros(means.size)
    for run in range(runs.cell.size):
        mean, unit, total = means[runs.cell[run]], scale[runs.cell[run]], 0.0
        for i in range(runs.offsets[run], runs.offsets[run + 1]):
            moved = (runs.values[i] - mean) * unit
            count = runs.counts[i] if runs.counts.size else 1
            total += count * moved * moved * moved
        sums[runs.cell[run]] += total
    return sums


def cell_moments(runs: Runs, *, unequal: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Means, jackknife variances and jackknife bias of c cells, shape (c,) each."""
    means = cell_means(runs)
    variances, bias = np.zeros(means.size), np.zeros(means.size)
    if unequal:
        _of_unequal_rows(runs, means, variances, bias)
    else:
        _of_equal_rows(runs, means, variances)
    return means, variances, bias


def standardized_cubes(runs: Runs, means: FloatArray, variances: FloatArray) -> FloatArray:
    """Σ r³ / (Σ r²)^{3/2} of cells of rows of equal weight, shape (c,); 0 where nothing varies."""
    # r = (x - m) / √(n (n - 1)), and the squares of r add up to the variance.
    scale = np.zeros(means.size)
    seen = variances > 0.0
    scale[seen] = 1.0 / np.sqrt(runs.rows * (runs.rows - 1.0))[seen] / np.sqrt(variances[seen])
    return _cubes(runs, means, scale)


Number = TypeVar("Number", float, FloatArray)
Scalar = TypeVar("Scalar", bound=np.generic)

# No group is taken to have less than this share of the variance of both.
_NARROWEST = 0.01
# Rows from which on a cell shows its skewness.
_TELLING = 8.0
# A value outside {0, 1} that was seen less often may be the first of many others.
_SEEN = 5


@dataclass(frozen=True)
class Units:
    """The u units of a sample. Alike ones (rows of one atom) are listed once.

    Attributes
    ----------
    find_cell : gives the cell of every unit; asked when it is needed.
    counts : (u,) integers, how many units are alike.
    mass : (u,) floats, their weight together.
    totals : (2k,) floats, weight of each cell.
    cluster : (u,) integers, or `None` if units are independent of each other.
    of_atom : (m,) integers, the unit of every atom; `None` if each is its own.
    unequal : whether units may differ in weight.
    numbers : (2k,) floats, units in each cell.
    """

    find_cell: Callable[[], IntArray]
    counts: IntArray
    mass: FloatArray
    totals: FloatArray
    cluster: IntArray | None
    of_atom: IntArray | None
    unequal: bool
    numbers: FloatArray

    @cached_property
    def cell(self) -> IntArray:
        """The cell of every unit, 2 * level + side. Shape (u,)."""
        return self.find_cell()

    @cached_property
    def times(self) -> FloatArray:
        """How many units are alike, shape (u,)."""
        return self.counts.astype(np.float64)

    @cached_property
    def share(self) -> FloatArray:
        """The share of the weight of its cell that each of the alike units holds. Shape (u,)."""
        share: FloatArray = self.mass / self.totals[self.cell] / self.counts
        return share

    @cached_property
    def lever(self) -> FloatArray:
        """√((n - 1) / n) / (1 - share), shape (u,); 0 for the only unit of a cell."""
        lever: FloatArray = self.root[self.cell] / np.maximum(1.0 - self.share, ALONE)
        return lever

    @cached_property
    def root(self) -> FloatArray:
        """√((n - 1) / n), shape (2k,)."""
        root: FloatArray = np.sqrt(np.maximum(self.numbers - 1.0, 0.0) / self.numbers)
        return root

    @cached_property
    def effective(self) -> FloatArray:
        """1 / Σ share², as many equal units as those of each cell are worth. Shape (2k,)."""
        if not self.unequal:
            return self.numbers
        squares = sums_by(self.cell, self.times * self.share**2, self.totals.size)
        worth: FloatArray = 1.0 / squares
        return worth

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
    sample : whose cells they are.
    values : (m,) floats, the function at every atom.
    means : (2k,) floats.
    variances : (2k,) floats, of the means; 0 where a cell has one unit.
    bias : (2k,) floats, what the jackknife would add to a mean to remove the bias of a ratio.
    """

    sample: Sample
    values: FloatArray
    means: FloatArray
    variances: FloatArray
    bias: FloatArray

    @property
    def units(self) -> Units:
        """What is deleted, one at a time."""
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
        """Variance of Σ_c coefficients_c mean_c; the coefficients have shape (2k,)."""
        if not self.units.crossing:
            return float(coefficients**2 @ self.variances)
        return float((self.by_cluster(coefficients) ** 2).sum())

    @property
    def skewness(self) -> float:
        """Third moment of the scores around the means of cells, over the cube of their spread.

        All cells together: a few rows cannot tell, and scores mostly have one shape in both groups.
        0 for weighted rows and clusters, where the shape of the weights would be mistaken for it.
        """
        return self._skewness[0]

    @property
    def skewness_doubt(self) -> float:
        """How far the skewness may be off for what is not known inside bins."""
        return self._skewness[1]

    @cached_property
    def skewness_inside(self) -> tuple[float, float]:
        """Skewness inside cells on average, each by its own spread, and how far bins hide it.

        A few wide cells do not decide it. Cells of fewer rows than `_TELLING` are left out, which
        cannot show a long tail. 0 where `skewness` is.
        """
        n = self.units.numbers
        telling = (n >= _TELLING) & (self.variances > 0.0)
        if self.units.unequal or not telling.any():
            return 0.0, 0.0
        cubes, doubt = self._cubes()
        weight = n[telling] ** 1.5 / n[telling].sum()
        return float(weight @ cubes[telling]), float(weight @ doubt[telling])

    @cached_property
    def _skewness(self) -> tuple[float, float]:
        units, n = self.units, self.units.numbers
        known = n > 2.0
        if units.unequal or not known.any():
            return 0.0, 0.0
        parts = np.where(known, n * n, 0.0) / float(n[known].sum())
        second = float(parts @ self.variances)
        if not second > 0.0:
            return 0.0, 0.0
        cubes, doubt = self._cubes()
        # Cells of one or two rows are left out; theirs may be beyond all proportion to the others.
        spread = np.sqrt(np.where(known, self.variances, 0.0) / second) ** 3
        unbiased = np.sqrt(n[known] * (n[known] - 1.0)) / (n[known] - 2.0)
        weight = (parts * n * spread)[known] * unbiased
        return float(weight @ cubes[known]), float(weight @ doubt[known])

    def _cubes(self) -> tuple[FloatArray, FloatArray]:
        """Standardized cubes of every cell, and how far bins leave them unknown."""
        sample = self.sample
        cubes = standardized_cubes(
            sample.runs._replace(values=self.values), self.means, self.variances
        )
        if sample.inside is None:
            return cubes, np.zeros(cubes.size)
        variance, third, doubt = sample.inside
        unit = np.sqrt(sample.rows * np.maximum(sample.rows - 1.0, 1.0) * self.variances) ** 3
        unit = np.where(unit > 0.0, unit, 1.0)
        around = 3.0 * (self.values - self.means[sample.cell]) * variance + third
        added = sums_by(sample.cell, sample.counts * around, unit.size)
        return cubes + added / unit, sums_by(sample.cell, sample.counts * doubt, unit.size) / unit

    @cached_property
    def shrunk(self) -> FloatArray:
        """Variances of the means, drawn to what other cells have as far as chance explains. (2k,).

        A few rows may differ little by chance, and a single one does not show how much people
        differ; the other group of the level and the other levels know better. The variance u of a
        unit is drawn to that of both groups of its level, times how much wider its group is in
        all levels, and that of a level is drawn to that of all levels.
        What one of f degrees of freedom varies by is 2/f of its square, and levels that are not
        alike have τ more:

            u' = m + τ / (τ + 2/f) (u - m),    τ = (Σ w (u/m - 1)² - Σ w 2/f)_+,    w: rows.

        A level that is the only one has no others to learn from.

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
        wider = np.tile(_wider_group(unit, freedom), of_level.size)
        alike = (freedom * unit / wider).reshape(-1, 2).sum(axis=1) / np.maximum(of_level, 1e-300)
        usual = np.full(alike.size, float(weight @ alike) / float(weight.sum()))
        both = np.repeat(_drawn_to(usual, alike, of_level, weight), 2) * wider
        drawn = _drawn_to(both, unit, freedom, np.where(freedom > 0.0, rows, 0.0))
        return drawn / units.effective

    def by_cluster(self, coefficients: FloatArray) -> FloatArray:
        """What each cluster adds to Σ_c coefficients_c mean_c, shape (number of clusters,)."""
        cluster = self.units.cluster
        assert cluster is not None
        added = coefficients[self.units.cell] * self.residuals
        return sums_by(cluster, added, int(cluster.max()) + 1)


def _wider_group(unit: FloatArray, freedom: FloatArray) -> FloatArray:
    """How wide each group is compared with both, inside levels, (2,): 1 and 1 if they are alike."""
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


def _drawn_to(
    mean: FloatArray, unit: FloatArray, freedom: FloatArray, weight: FloatArray
) -> FloatArray:
    """Variances of units (j,) drawn to a mean (j,), as far as chance explains their differences."""
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
        levels were thrown together.
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

    @cached_property
    def runs(self) -> Runs:
        """The atoms as kernels read them."""
        return Runs(
            self.values,
            _or_none(self.mass),
            _or_none(self.counts),
            self.offsets,
            self.run_cell,
            self.totals,
            self.rows,
        )

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
        """The same rows with all levels thrown together; they stay where they are."""
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
        """How far a difference of means may be off: a bin, unless it is known what is inside."""
        return self.width if self.inside is None else 0.0

    @property
    def unsteady(self) -> float:
        """What the upper end of a distance is moved by for figures of chance read off bins.

        Noise and potentials are those of moved scores, and no bound is known for what that does to
        the end. In 600 tables of 2 to 2,000 rows it was off by .1 of a bin at most, where chance
        was not drawn too seldom to tell; an eighth is added.
        """
        return 0.125 * self.width

    @cached_property
    def variances_inside(self) -> FloatArray:
        """What rows around the means of their bins add to the variance of a mean. Shape (2k,)."""
        if self.inside is None:
            return np.zeros(self.totals.size)
        squares = sums_by(self.cell, self.counts * self.inside[0], self.totals.size)
        added: FloatArray = squares / (self.rows * np.maximum(self.rows - 1.0, 1.0))
        return added

    @cached_property
    def units(self) -> Units:
        """The units, and the share of its cell that each holds."""
        if self.cluster is None:
            return Units(
                partial(np.repeat, self.run_cell, np.diff(self.offsets)),
                self.counts,
                self.mass,
                self.totals,
                None,
                None,
                unequal=self.weighted,
                numbers=self.rows,
            )
        key = self.cell * (int(self.cluster.max()) + 1) + self.cluster
        keys, of_atom = np.unique(key, return_inverse=True)
        cell, cluster = np.divmod(keys, int(self.cluster.max()) + 1)
        return Units(
            lambda: cell,
            np.ones(keys.size, np.int64),
            sums_by(of_atom, self.mass, keys.size),
            self.totals,
            cluster,
            of_atom,
            unequal=True,
            numbers=np.bincount(cell, minlength=self.totals.size).astype(np.float64),
        )

    @cached_property
    def scores(self) -> Jackknife:
        """Mean scores of the cells, with their jackknife."""
        # Of a copy: a sample that holds what holds the sample stays in memory, with all its rows,
        # until garbage is looked for.
        same = replace(self)
        same.__dict__["units"] = self.units
        return same.jackknife(self.values)

    def jackknife(self, values: FloatArray) -> Jackknife:
        """Means and their errors of a function of the score, given for each atom, shape (m,)."""
        runs = self.runs._replace(values=values)
        if self.cluster is None:
            means, variances, bias = cell_moments(runs, unequal=self.weighted)
            if self.inside is not None:
                # The slope of every function that is asked about is 1 or -1 inside bins.
                variances = variances + self.variances_inside
            return Jackknife(self, values, means, variances, bias)
        units, n_cells = self.units, self.totals.size
        means = cell_means(runs)
        residuals = self.residuals(values, means)
        return Jackknife(
            self,
            values,
            means,
            variances=sums_by(units.cell, residuals**2, n_cells),
            bias=sums_by(units.cell, residuals, n_cells) * units.root,
        )

    def residuals(self, values: FloatArray, means: FloatArray) -> FloatArray:
        """How far deleting a unit moves the mean of its cell, times √((n - 1) / n). Shape (u,)."""
        moved = self.mass * (values - means[self.cell]) / self.totals[self.cell]
        return self.by_unit(moved) * self.units.lever

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


def _or_none(ones: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Nothing for a single 1 that is seen many times."""
    return ones[:0].copy() if ones.strides == (0,) else ones


def _refuse_weighted_counts(contrast: Contrast) -> None:
    """Raise for histograms with weights, which do not say which row has which weight."""
    atoms = contrast.cells.atoms
    if contrast.cells.weighted or atoms.counts_alone or atoms.mass_kept.strides == (0,):
        return
    if not np.array_equal(atoms.mass, atoms.counts):
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
    atoms: IntArray | slice = slice(None)
    if offsets[-1] < cells.atoms.values.size or (begins != offsets[:-1]).any():
        atoms = np.repeat(begins - offsets[:-1], sizes) + np.arange(int(offsets[-1]))
    counts = cells.atoms.counts_kept[atoms]
    mass, weighted = _scaled_mass(cells, atoms, counts)
    values, scale, stretch, rates = _scaled_values(cells.atoms.values[atoms], counts)
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
        cluster=None if cells.cluster is None else _renumbered(cells.cluster[atoms]),
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
    """`Sample.inside` of scores that were rounded, in widths of a bin, and `moved`, in their unit.

    Neither, if all rows of every bin have one score: nothing was moved.
    """
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


def _renumbered(cluster: IntArray) -> IntArray:
    """Clusters numbered from 0 without gaps."""
    numbered: IntArray = np.unique(cluster, return_inverse=True)[1]
    return numbered


def _scaled_mass(
    cells: Cells, atoms: IntArray | slice, counts: IntArray
) -> tuple[FloatArray, bool]:
    """Weights with a largest one of 1 for a row, and whether they differ."""
    if not cells.weighted:
        return cells.atoms.mass_kept[atoms], False
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
    scaled = values / stretch
    scaled -= low / stretch
    scaled /= scale
    top = scaled == 1.0
    rates = bool((top | (scaled == 0.0)).all())
    if rates and (low, high) != (0.0, 1.0):
        rates = bool(min(counts[top].sum(), counts[~top].sum()) >= _SEEN)
    return scaled, scale, stretch, rates


# Fewer levels say too little of the spread between them, and so do those with one large level.
_LEVELS = 10
_LARGEST_SHARE = 0.25
# This many say something if others say less.
_FEW_LEVELS, _LARGEST_OF_FEW = 3, 0.45
# Degrees of freedom that a pooled variance needs.
_FREEDOM = 4.0


class SingleRows(NamedTuple):
    """Where the variance of levels with a single unit of a group comes from.

    Attributes
    ----------
    between : (k,) whether the variance of a level is read between levels.
    pooled : (2k,) floats, the variance of a single unit from other cells; 0 elsewhere.
    known : whether the variance of every level comes from somewhere.
    together : degrees of freedom that the pooled variances have together, if levels of single rows
        differ more than other cells say; infinite if each has its own.
    """

    between: BoolArray
    pooled: FloatArray
    known: bool
    together: float = math.inf


def single_levels(units: Units) -> BoolArray:
    """Levels where at least one of the groups has a single unit. Shape (k,)."""
    alone: BoolArray = np.any(units.single.reshape(-1, 2), axis=1)
    return alone


def read_single_rows(jackknife: Jackknife, measure: FloatArray) -> SingleRows:
    """Decide where the variance of levels with a single unit of a group comes from."""
    units = jackknife.units
    alone = single_levels(units)
    none, nothing = np.zeros(alone.size, np.bool_), np.zeros(units.numbers.size)
    shares = measure[alone]
    if not shares.any():
        return SingleRows(none, nothing, known=True)
    if (shares > 0.0).sum() >= _LEVELS and shares.max() <= _LARGEST_SHARE * shares.sum():
        return SingleRows(alone, nothing, known=True)
    pooled = _pooled(jackknife)
    if pooled is None:
        return SingleRows(none, nothing, known=False)
    variances = np.maximum(pooled, jackknife.shrunk * units.effective)
    variances = np.where(units.single, variances, 0.0)
    wider = _wider(jackknife, measure, variances)
    together = float(np.count_nonzero(shares)) - 2.0 if wider > 1.0 else math.inf
    return SingleRows(none, variances * wider, known=True, together=together)


def _wider(jackknife: Jackknife, measure: FloatArray, variances: FloatArray) -> float:
    """How much more the levels of single rows differ than other cells say, at least 1.

    Pairs of people who are paid in millions do not spread as their clerks do; a few of them show
    that.
    """
    alone = single_levels(jackknife.units) & (measure > 0.0)
    shares = measure[alone]
    if shares.size < _FEW_LEVELS or shares.max() >= _LARGEST_OF_FEW * shares.sum():
        return 1.0
    said = (jackknife.variances + variances).reshape(-1, 2).sum(axis=1)[alone]
    whole = float(shares**2 @ said)
    seen = float((between_levels(shares, jackknife.gaps[alone]) ** 2).sum())
    return max(1.0, seen / whole) if whole > 0.0 else 1.0


def _pooled(jackknife: Jackknife) -> FloatArray | None:
    """Variance of one unit of each cell's group, from cells with several; shape (2k,).

    The larger one of its group and of both groups together.
    """
    units = jackknife.units
    freedom = np.where(units.single, 0.0, np.maximum(units.effective - 1.0, 0.0))
    of_unit = jackknife.variances * units.effective * freedom
    if freedom.sum() < _FREEDOM:
        return None
    pooled = np.empty(freedom.size)
    both = of_unit.sum() / freedom.sum()
    for side in range(2):
        there = freedom[side::2].sum()
        alike = of_unit[side::2].sum() / there if there >= _FREEDOM else both
        pooled[side::2] = max(alike, both)
    return pooled


def between_levels(measure: FloatArray, figures: FloatArray) -> FloatArray:
    """What each level adds to the error of Σ_l Q(l) y_l: V is the sum of squares. Shape (j,)."""
    whole = float(measure.sum())
    share = measure / whole
    part = share**2 / (1.0 - 2.0 * share)
    apart = figures - float(share @ figures)
    added: FloatArray = whole * np.sqrt(part / (1.0 + float(part.sum()))) * apart
    return added


def shared_by_clusters(units: Units, added: FloatArray) -> float:
    """What clusters that lie in several levels add to a variance read between levels, at least 0.

    What a level adds is laid on its units, by the roots of their shares: two levels whose cells
    hold the same clusters then count as a pair once for each group. The sum of squares by cluster
    minus that by unit is what two-way clustering (Cameron, Gelbach and Miller 2011) adds to that by
    level.
    """
    assert units.cluster is not None
    laid = added[units.cell // 2] * np.sqrt(units.share)
    by_cluster = sums_by(units.cluster, laid, int(units.cluster.max()) + 1)
    return max(float((by_cluster**2).sum() - (laid**2).sum()), 0.0)
