"""Several numbers and categories replaced by one: the chance of belonging to a group.

Under parity group and score are independent given e(L) = P(A | L), and scores enter without what L
explains of them. Both are predicted for every row from other rows.

Reference: Rosenbaum and Rubin (1983), *The central role of the propensity score*.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.auditing._lines import Lines
from likeforlike.errors import InputError
from likeforlike.smoothing._cross_fitting import FOLDS, cross_fit
from likeforlike.smoothing._features import features

_FEW_ROWS = 100
# Share of the variation of the group among rows with the same features.
_MIXED = 0.75


def propensity_scores(lines: Lines, scores: FloatArray, seed: int) -> tuple[FloatArray, FloatArray]:
    """e(L) of every line of two groups, and its score without what L explains of it.

    The mean of the scores stays, so that they read like scores.
    """
    if lines.rows < _FEW_ROWS:
        raise InputError(
            f"smooth along {len(lines.columns)} numbers needs at least {_FEW_ROWS} rows of the two "
            f"groups compared, not {lines.rows}; smooth along one, or cut the others into bins."
        )
    mass = np.ones(scores.size) if lines.weight is None else lines.weight
    known = features(lines.numbers, lines.category)
    targets = np.stack([lines.group.codes.astype(np.float64), scores], axis=1)
    chance, explained = cross_fit(known, targets, mass, _folds(lines, scores, seed)).T
    mean = float(mass @ scores / mass.sum())
    return np.clip(chance, 0.0, 1.0), scores - explained + mean


def _folds(lines: Lines, scores: FloatArray, seed: int) -> IntArray:
    """A fold for every row, whatever order rows come in; rows of a cluster stay together.

    So do rows with the same features, unless groups mix among these: a place that is of one group
    would get five predictions, and look as if it were five.
    """
    rng = np.random.default_rng(seed)
    keys = [lines.category, *lines.numbers.T]
    order = np.lexsort(keys)
    new = np.any([np.diff(key[order], prepend=key[order[0]]) != 0 for key in keys], axis=0)
    same = np.empty(order.size, np.int64)
    same[order] = np.cumsum(new)
    if lines.cluster is not None:
        codes, size = lines.cluster.codes, len(lines.cluster.labels)
        first = np.zeros(size, np.int64)
        first[codes] = same
        if (first[codes] != same).any() or _mixed(lines.group.codes, same):
            return rng.permutation(size)[codes] % FOLDS
        return (rng.permutation(int(same.max()) + 1) % FOLDS)[same]
    if not _mixed(lines.group.codes, same):
        return (rng.permutation(int(same.max()) + 1) % FOLDS)[same]
    keys = [lines.group.codes, scores, *keys]
    if lines.weight is not None:
        keys.insert(0, lines.weight)
    fold = np.empty(scores.size, np.int64)
    fold[np.lexsort(keys)] = rng.permutation(scores.size) % FOLDS
    return fold


def _mixed(group: IntArray, same: IntArray) -> bool:
    """Whether most of the variation of two groups lies among rows with the same features."""
    rows = np.bincount(same)
    share = np.bincount(same, group) / rows
    overall = float(group.mean())
    inside = float(rows @ (share * (1.0 - share)))
    return inside >= _MIXED * group.size * overall * (1.0 - overall)
