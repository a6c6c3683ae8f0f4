"""Levels where a group has a single unit: what can still be known of their spread.

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
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray
from likeforlike.inference._units import Jackknife, Units
from likeforlike.transport._atoms import sums_by

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
