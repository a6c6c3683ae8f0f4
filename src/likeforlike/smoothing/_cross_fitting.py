"""What features explain of a target, for every line by a model that has not seen it.

Ridge regression on the columns of `Features`. Sums of squares and products are taken once for each
of five folds; all folds and strengths are then solved without another look at the lines.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._features import Features

FOLDS = 5
"""Parts of the lines; each is predicted from the others."""

_AT_A_TIME = 32_768
# Strengths that are tried, as parts of the sum of squares of a column.
_STRENGTHS = (1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0)


def cross_fit(known: Features, targets: FloatArray, mass: FloatArray, fold: IntArray) -> FloatArray:
    """Predict targets (n, t) of every line from the other folds.

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
    known: Features,
    targets: FloatArray,
    mass: FloatArray,
    fold: IntArray,
    blocks: list[IntArray],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """X'WX, X'Wy and y'Wy of every fold."""
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
    """Coefficients (folds, p) with the strength that predicts left-out folds best."""
    best, least = np.zeros(cross.shape), np.inf
    for strength in _STRENGTHS:
        tried = np.stack([_ridge(gram, cross, k, strength) for k in range(FOLDS)])
        fitted = np.einsum("fp,fpq,fq->f", tried, gram, tried)
        error = float((square - 2.0 * np.einsum("fp,fp->f", tried, cross) + fitted).sum())
        if error < least:
            best, least = tried, error
    return best


def _ridge(gram: FloatArray, cross: FloatArray, left_out: int, strength: float) -> FloatArray:
    """Ridge regression on all folds but one; the constant is not drawn to 0."""
    inner = gram.sum(axis=0) - gram[left_out]
    target = cross.sum(axis=0) - cross[left_out]
    total = inner[0, 0] or 1.0
    # Around their means, columns of any size are drawn to 0 alike.
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
    solved: FloatArray = slope
    return solved
