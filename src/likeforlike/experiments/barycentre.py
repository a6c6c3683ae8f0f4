"""Scores of networks without a penalty, and their repair towards the barycentre of each level."""

from __future__ import annotations

import numpy as np

from likeforlike.experiments.split import Split
from likeforlike.experiments.task import trained_networks
from likeforlike.nn.training import Recipe, evaluate
from likeforlike.postprocess import ConditionalBarycentre
from likeforlike.transport.atoms import FloatArray

__all__ = ["plain_scores", "repaired_scores"]


def plain_scores(
    parts: Split, recipe: Recipe, hidden: tuple[int, ...] = (50, 20)
) -> tuple[FloatArray, FloatArray]:
    """Scores (s, n) of the training rows and of the test rows, of one network for each split.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments.barycentre import plain_scores
    >>> from likeforlike.experiments.task import Task
    >>> task = Task(make_loans(500), max_epochs=2)
    >>> parts = task.split([0, 1])
    >>> [scores.shape for scores in plain_scores(parts, task.recipe(parts))]
    [(2, 300), (2, 100)]
    """
    lines = np.arange(parts.seeds.size)
    network = trained_networks(parts, recipe, (0.0,), hidden)
    _, _, known = evaluate(network, parts.train, lines, recipe)
    _, _, new = evaluate(network, parts.test, lines, recipe)
    return known, new


def repaired_scores(parts: Split, known: FloatArray, new: FloatArray, amount: float) -> FloatArray:
    """Scores (s, n) of the test rows, repaired by an amount t learned on the training rows.

    Parameters
    ----------
    parts : s splits.
    known, new : (s, n) floats, scores of the training and of the test rows.
    amount : t in [0, 1]; 0 leaves scores alone, 1 gives all groups of a level one distribution.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments.barycentre import plain_scores, repaired_scores
    >>> from likeforlike.experiments.task import Task
    >>> task = Task(make_loans(500), max_epochs=2)
    >>> parts = task.split([0])
    >>> known, new = plain_scores(parts, task.recipe(parts))
    >>> bool((repaired_scores(parts, known, new, 0.0) == new).all())
    True
    """
    n_groups = len(parts.train.layout.groups)
    repaired = []
    for line, (own, other) in enumerate(zip(known, new, strict=True)):
        of_own, of_other = parts.train.layout.segments[line], parts.test.layout.segments[line]
        repair = ConditionalBarycentre(amount)
        repair.fit(
            own, sensitive_features=of_own % n_groups, legitimate_features=of_own // n_groups
        )
        repaired.append(
            repair.transform(
                other,
                sensitive_features=of_other % n_groups,
                legitimate_features=of_other // n_groups,
            )
        )
    return np.stack(repaired)
