"""Propensities, and cross-fitted regressions on several numbers and a category.

The propensity e(L) = P(A = 1 | L) along one number is smoothed over the fine cells.

With several numbers, features of `SplineBasis` explain a target by ridge regression, and each line
is predicted from the other of five folds. Sums of squares and products are computed once per fold;
all folds and penalties are then solved without reading the lines again. Each number has linear
splines with nine knots at its quantiles and a straight line; each two numbers the products of four
splines each; each category a column, and one for its slope along each number. Categories with many
rows also have splines of their own with three knots along each number: their curves may bend
elsewhere than those of others, and with many rows a straight slope would leave enough of that to
look like a gap. Columns are made for some lines at a time, so that memory does not grow with them.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._grid import Grid, GridPosition, midranks
from likeforlike.smoothing._local_linear import Bandwidth, select_bandwidth

# Propensities are clipped this far from 0 and 1: a few hundred rows cannot tell more.
_CLOSEST = 1e-3


def propensity(cells: Grid, member: FloatArray) -> tuple[FloatArray, Bandwidth]:
    """Estimate e(L) = P(A = 1 | L) of each line, (n,), and return its smoother.

    Parameters
    ----------
    member : (n,) floats, 1 for lines of the group and 0 for others, or the share of it.
    """
    curve, choice = fit_propensity(cells, member)
    return interpolate_propensity(curve, cells.own_places), choice


def fit_propensity(cells: Grid, member: FloatArray) -> tuple[FloatArray, Bandwidth]:
    """Estimate e(L) over the fine cells, (m,), and return its smoother."""
    share = cells.mean(member)
    segment, n_segments = cells.of_segment, cells.offsets.size - 1
    spread = np.bincount(segment, cells.total * share * (1.0 - share), minlength=n_segments)
    pooled = spread / np.bincount(segment, cells.total, minlength=n_segments)
    # Rows of a cluster mostly are of one group.
    noise = pooled[segment] if cells.cluster is None else cells.variance(member)
    choice = select_bandwidth(cells, share, noise)
    return choice.smooth(cells, share), choice


def interpolate_propensity(curve: FloatArray, place: GridPosition) -> FloatArray:
    """Interpolate propensities at these places, clipped away from 0 and 1."""
    return np.clip(place.read(curve), _CLOSEST, 1.0 - _CLOSEST)


_KNOTS, _COARSE_KNOTS, _BENT_KNOTS = 9, 4, 5
# Rarer categories have no column of their own; beyond this many numbers no products are taken.
_MOST_CATEGORIES, _MOST_IN_PAIRS = 60, 8
# Categories have splines of their own with this many rows per column, up to a number of columns.
_ROWS_A_BEND, _MOST_BENDS = 100, 120


class SplineBasis:
    """Columns of a linear model: splines of several numbers, a category, and their products.

    Attributes
    ----------
    ranks, raw : (n, q) floats between 0 and 1, mid-ranks and winsorized numbers.
    category : (n,) integers; 0 for rare ones.
    n_categories : number of categories with a column, the one with most rows first.
    n_bent : number of categories with splines of their own.

    Parameters
    ----------
    numbers : (n, q) finite floats.
    category : (n,) integers.
    rows : (n,) positive floats, rows per line; `None` means one.
    """

    def __init__(
        self, numbers: FloatArray, category: IntArray, rows: FloatArray | None = None
    ) -> None:
        one = np.zeros(numbers.shape[0], np.int64)
        self.ranks, self.raw = np.empty(numbers.shape), np.empty(numbers.shape)
        for j in range(numbers.shape[1]):
            ranking, self.ranks[:, j] = midranks(numbers[:, j], one, 1, rows)
            self.raw[:, j] = ranking.raw(numbers[:, j], one)
        held = np.bincount(category)
        common = np.argsort(-held, kind="stable")[: min(_MOST_CATEGORIES, held.size - 1)]
        column = np.zeros(held.size, np.int64)
        column[common] = np.arange(1, common.size + 1)
        self.category, self.n_categories = column[category], common.size
        bends = numbers.shape[1] * (_BENT_KNOTS - 2)
        enough = int(np.count_nonzero(held[common] >= _ROWS_A_BEND * bends))
        self.n_bent = min(enough, _MOST_BENDS // bends)

    def columns(self, some: IntArray) -> FloatArray:
        """Compute the columns (b, p) of some lines; the first is constant."""
        ranks, raw = self.ranks[some], self.raw[some]
        numbers = range(ranks.shape[1])
        parts = [np.ones((some.size, 1))]
        parts += [linear_splines(ranks[:, j], _KNOTS)[:, 1:] for j in numbers]
        parts.append(raw - 0.5)
        if len(numbers) <= _MOST_IN_PAIRS:
            coarse = [linear_splines(ranks[:, j], _COARSE_KNOTS)[:, 1:] for j in numbers]
            parts += [_products(coarse[i], coarse[j]) for i, j in combinations(numbers, 2)]
        own = (self.category[some][:, None] == np.arange(1, self.n_categories + 1)).astype(float)
        parts.append(own)
        parts += [own * (ranks[:, [j]] - 0.5) for j in numbers]
        # The first and the last spline follow from the others and the slope.
        bends = [linear_splines(ranks[:, j], _BENT_KNOTS)[:, 1:-1] for j in numbers]
        parts += [_products(own[:, : self.n_bent], bend) for bend in bends]
        return np.concatenate(parts, axis=1)


def linear_splines(positions: FloatArray, knots: int) -> FloatArray:
    """Evaluate linear splines at equally spaced knots from 0 to 1, (n, knots); rows sum to one."""
    apart = np.abs(positions[:, None] * (knots - 1) - np.arange(knots))
    hat: FloatArray = np.maximum(0.0, 1.0 - apart)
    return hat


def _products(one: FloatArray, other: FloatArray) -> FloatArray:
    """Multiply each column of one table with each of another."""
    return (one[:, :, None] * other[:, None, :]).reshape(one.shape[0], -1)


FOLDS = 5
"""Parts of the lines; each is predicted from the others."""

_AT_A_TIME = 32_768
# Penalties that are tried, as shares of the sum of squares of a column.
_STRENGTHS = (1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0)


def cross_fit(
    known: SplineBasis, targets: FloatArray, mass: FloatArray, fold: IntArray
) -> FloatArray:
    """Predict targets (n, t) of each line from the other folds.

    Parameters
    ----------
    mass : (n,) positive floats, weights.
    fold : (n,) integers below 5.
    """
    n, n_targets = targets.shape
    blocks = np.split(np.arange(n), np.arange(_AT_A_TIME, n, _AT_A_TIME))
    gram, cross, square = _sums(known, targets, mass, fold, blocks)
    coefficients = np.stack(
        [_best(gram, cross[:, :, t], square[:, t]) for t in range(n_targets)], axis=2
    )
    predicted = np.empty(targets.shape)
    by_column = np.moveaxis(coefficients, 1, 0).reshape(-1, FOLDS * n_targets)
    for some in blocks:
        of_folds = (known.columns(some) @ by_column).reshape(-1, FOLDS, n_targets)
        predicted[some] = of_folds[np.arange(some.size), fold[some]]
    return predicted


def _sums(
    known: SplineBasis,
    targets: FloatArray,
    mass: FloatArray,
    fold: IntArray,
    blocks: list[IntArray],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Compute X'WX, X'Wy and y'Wy of each fold."""
    size = known.columns(np.arange(1)).shape[1]
    gram = np.zeros((FOLDS, size, size))
    cross = np.zeros((FOLDS, size, targets.shape[1]))
    square = np.zeros((FOLDS, targets.shape[1]))
    for some in blocks:
        columns = known.columns(some)
        for k in range(FOLDS):
            inside = fold[some] == k
            weighted = columns[inside] * mass[some][inside, None]
            target = targets[some][inside]
            gram[k] += weighted.T @ columns[inside]
            cross[k] += weighted.T @ target
            square[k] += mass[some][inside] @ target**2
    return gram, cross, square


def _best(gram: FloatArray, cross: FloatArray, square: FloatArray) -> FloatArray:
    """Select the penalty that predicts left-out folds best; returns coefficients (folds, p)."""
    best, least = np.zeros(cross.shape), np.inf
    for strength in _STRENGTHS:
        tried = np.stack([_ridge(gram, cross, k, strength) for k in range(FOLDS)])
        fitted = np.einsum("fp,fpq,fq->f", tried, gram, tried)
        error = float((square - 2.0 * np.einsum("fp,fp->f", tried, cross) + fitted).sum())
        if error < least:
            best, least = tried, error
    return best


def _ridge(gram: FloatArray, cross: FloatArray, left_out: int, strength: float) -> FloatArray:
    """Solve ridge regression on all folds but one; the constant is not penalized."""
    inner = gram.sum(axis=0) - gram[left_out]
    target = cross.sum(axis=0) - cross[left_out]
    total = inner[0, 0] or 1.0
    # Centered and scaled, columns of any size are penalized alike.
    means = inner[0] / total
    centered = inner - total * np.outer(means, means)
    rest = target - total * means * (target[0] / total)
    centered[0, :], centered[:, 0], rest[0] = 0.0, 0.0, 0.0
    spread = np.diag(centered).copy()
    spread[spread <= 1e-12 * total] = np.inf
    size = 1.0 / np.sqrt(spread)
    scaled = centered * np.outer(size, size)
    scaled[np.diag_indices_from(scaled)] = 1.0 + strength
    slope = size * np.linalg.solve(scaled, size * rest)
    slope[0] = target[0] / total - means[1:] @ slope[1:]
    return np.asarray(slope)
