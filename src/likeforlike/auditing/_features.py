"""Several numbers and categories replaced by one: the chance of belonging to a group.

Under parity group and score are independent given e(L) = P(A | L), and scores enter without what L
explains of them. Both are predicted for every row from other rows.

Both predictions must be right for that. How much each explains of rows that it has not seen is
reported, next to what boosted trees explain on the same folds, where scikit-learn is installed:
trees find interactions that hat functions and their products miss.

Reference: Rosenbaum and Rubin (1983), *The central role of the propensity score*.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._extras import extra
from likeforlike.auditing._lines import Lines
from likeforlike.errors import InputError
from likeforlike.smoothing._cross_fitting import FOLDS, cross_fit
from likeforlike.smoothing._features import features

_FEW_ROWS = 100
# Share of the variation of the group among rows with the same features.
_MIXED = 0.75
# Boosted trees, and the rows that they are tried on.
_TREES, _LEAVES, _MOST_BOOSTED = 40, 16, 20_000
_RATE, _BEYOND_CHANCE = 0.15, 3.0


class Predicted(NamedTuple):
    """What L says of the group and of the score of every line, by models that have not seen it.

    Attributes
    ----------
    targets, predicted : (n, 2) floats, group and score.
    fold : (n,) integers.
    """

    targets: FloatArray
    predicted: FloatArray
    fold: IntArray


def propensity_scores(
    lines: Lines, scores: FloatArray, seed: int
) -> tuple[FloatArray, FloatArray, Predicted]:
    """e(L) of every line of two groups, its score without what L explains of it, and both.

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
    fold = _folds(lines, scores, seed)
    predicted = cross_fit(known, targets, mass, fold)
    predicted[:, 0] = np.clip(predicted[:, 0], 0.0, 1.0)
    chance, explained = predicted.T
    mean = float(mass @ scores / mass.sum())
    return chance, scores - explained + mean, Predicted(targets, predicted, fold)


def explained_shares(lines: Lines, found: Predicted) -> tuple[float, float]:
    """1 - Σ (y - ŷ)² / Σ (y - ȳ)² of group and score, of rows left out."""
    mass = np.ones(found.fold.size) if lines.weight is None else lines.weight
    group, score = _explained(found.targets, found.predicted, mass).tolist()
    return group, score


def _explained(targets: FloatArray, predicted: FloatArray, mass: FloatArray) -> FloatArray:
    mean = mass @ targets / mass.sum()
    whole = mass @ (targets - mean) ** 2
    missed = mass @ (targets - predicted) ** 2
    shares: FloatArray = 1.0 - missed / np.where(whole > 0.0, whole, 1.0)
    return shares


def boosted_shares(
    lines: Lines, found: Predicted, unit: IntArray | None, seed: int
) -> tuple[tuple[float, float], int, tuple[bool, bool]] | None:
    """The same of boosted trees: shares, on how many rows, and which are better beyond chance.

    On the same folds, of 20,000 rows at most. Losses are compared row by row, those of a unit (n,)
    together, and differ beyond chance by three standard errors. `None` without scikit-learn.
    """
    if (boost := _boosting()) is None:
        return None
    rng = np.random.default_rng(seed)
    key = np.arange(found.fold.size) if unit is None else unit
    order = np.argsort(rng.permutation(int(key.max()) + 1)[key], kind="stable")
    some = np.sort(order[:_MOST_BOOSTED])
    columns = np.column_stack([lines.numbers, lines.category])[some]
    targets, fold = found.targets[some], found.fold[some]
    mass = np.ones(some.size) if lines.weight is None else lines.weight[some]
    predicted = np.zeros(targets.shape)
    for k in range(FOLDS):
        inside, others = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        if not inside.size:
            continue
        for t in range(2):
            predicted[inside, t] = boost(
                columns[others], targets[others, t], mass[others], columns[inside], t == 0
            )
    group, score = _explained(targets, predicted, mass).tolist()
    gain = (targets - found.predicted[some]) ** 2 - (targets - predicted) ** 2
    together = np.unique(key[some], return_inverse=True)[1]
    summed = np.stack([np.bincount(together, mass * column) for column in gain.T], axis=1)
    error = np.sqrt((summed**2).sum(axis=0))
    better = summed.sum(axis=0) > _BEYOND_CHANCE * np.where(error > 0.0, error, np.inf)
    return (group, score), some.size, (bool(better[0]), bool(better[1]))


def _boosting() -> Callable[..., FloatArray] | None:
    """Fit boosted trees to rows and predict others; `None` without scikit-learn."""
    if find_spec("sklearn") is None:
        return None
    with extra("train"):
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
        from threadpoolctl import threadpool_limits

    def boost(
        columns: FloatArray,
        target: FloatArray,
        mass: FloatArray,
        others: FloatArray,
        chance: bool,
    ) -> FloatArray:
        if np.ptp(target) == 0.0:
            return np.full(others.shape[0], target[0])
        made = HistGradientBoostingClassifier if chance else HistGradientBoostingRegressor
        model = made(
            max_iter=_TREES,
            max_leaf_nodes=_LEAVES,
            learning_rate=_RATE,
            early_stopping=False,
            random_state=0,
        )
        # One thread: the same figures on any machine.
        with threadpool_limits(1):
            model.fit(columns, target, sample_weight=mass)
            predicted = model.predict_proba(others)[:, 1] if chance else model.predict(others)
        found: FloatArray = np.asarray(predicted, np.float64)
        return found

    return boost


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
