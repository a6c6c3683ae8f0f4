"""The generalized covariance measure: whether values and a group covary given the number.

    T(t) = Σ_i w_i (1{s_i <= t} - F(t | L_i)) (A_i - e(L_i)),

over thresholds t. Its size Σ_t T(t)² is compared with that of a Gaussian process with the same
covariance, which is the distribution under a multiplier bootstrap. Errors of F and of e only matter
through their product, so jumps do not upset it; changes of sign along the number cancel.

Reference: Shah and Peters (2020), *The hardness of conditional independence testing and the
generalized covariance measure*.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._carry import DiscreteMap, LocationScaleMap
from likeforlike.smoothing._grid import Grid

_DRAWS = 9_999
# Tables of this many lines stay in the processor's cache, which is twice as fast.
_AT_A_TIME = 4_096
# Directions with a smaller share of the largest variance are dropped.
_NOTHING = 1e-6


def gcm_test(
    cells: Grid,
    fitted: LocationScaleMap | DiscreteMap,
    values: FloatArray,
    member: FloatArray,
    chance: FloatArray,
    seed: int = 0,
) -> float:
    """Compute the p-value of the generalized covariance measure over thresholds.

    Parameters
    ----------
    values : (n,) floats, as the map was fitted on.
    member : (n,) floats, A: 1 for lines of the group and 0 for others.
    chance : (n,) floats, e(L).
    """
    total, covariance = _moments(cells, fitted, values, member - chance)
    scale = float(np.trace(covariance))
    if scale <= 0.0:
        return 1.0
    strength = np.linalg.eigvalsh(covariance / scale)
    strength = strength[strength > _NOTHING * strength.max()]
    drawn = np.random.default_rng(seed).standard_normal((_DRAWS, strength.size)) ** 2 @ strength
    reached = int((drawn >= float(total @ total) / scale).sum())
    return (1 + reached) / (_DRAWS + 1)


def _moments(
    cells: Grid, fitted: LocationScaleMap | DiscreteMap, values: FloatArray, rest: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Compute T and its covariance in blocks of lines; rows of a cluster are added up first."""
    place = cells.own_places
    clusters = None if cells.cluster is None else np.unique(cells.cluster, return_inverse=True)[1]
    order = np.arange(values.size) if clusters is None else np.argsort(clusters, kind="stable")
    # A cell that stands alone took its mean from its residuals, which are scaled up therefore.
    lacking = cells.effective / np.maximum(cells.effective - 1.0, 0.5)
    freedom = np.sqrt(np.where(cells.still[cells.of_segment], lacking, 1.0))[cells.cell]
    total: FloatArray | None = None
    covariance: FloatArray | None = None
    for some in _blocks(order, clusters):
        parts = fitted.rest(values[some], place.of(some)) * rest[some, None]
        summed = cells.mass[some] @ parts
        parts *= freedom[some, None]
        if clusters is None:
            independent = parts * (cells.mass[some] / np.sqrt(cells.rows[some]))[:, None]
        else:
            new = np.flatnonzero(np.r_[True, np.diff(clusters[some]) > 0])
            independent = np.add.reduceat(parts * cells.mass[some, None], new, axis=0)
        square = independent.T @ independent
        total = summed if total is None else total + summed
        covariance = square if covariance is None else covariance + square
    assert total is not None
    assert covariance is not None
    return total, covariance


def _blocks(order: IntArray, clusters: IntArray | None) -> list[IntArray]:
    """Split lines into blocks that do not cut a cluster."""
    cuts = np.arange(_AT_A_TIME, order.size, _AT_A_TIME)
    if clusters is not None:
        along = clusters[order]
        cuts = np.unique(np.searchsorted(along, along[cuts]))
        cuts = cuts[cuts > 0]
    return np.split(order, cuts)
