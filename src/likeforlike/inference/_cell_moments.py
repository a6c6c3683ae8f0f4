"""Means and jackknife moments of cells whose rows are their own units, in a few passes.

Deleting a row that holds the share h of the weight of its cell moves the mean m of n rows by
h (x - m) / (1 - h). With r that, times √((n - 1) / n), the moments of a cell are

    variance Σ r²,    bias √((n - 1) / n) Σ r,    cubes Σ r³ / (Σ r²)^{3/2}.

Rows of equal weight all hold 1 / n, and the variance is s² / n. Nothing is kept for every row: a
million of them take some milliseconds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport._compiled import compiled

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
