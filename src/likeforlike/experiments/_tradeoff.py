"""A trade-off: one penalty at several strengths, on several splits, measured on test rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.experiments._repair_methods import repair_scores, train_plain
from likeforlike.experiments._split import Split, predictive_performance
from likeforlike.experiments._task import network_scores
from likeforlike.training._limits import estimate_level_disparity
from likeforlike.training._training import Recipe


@dataclass(frozen=True, slots=True)
class Point:
    """Means over the splits, on test rows.

    Attributes
    ----------
    strength : of the penalty, or t of a repair.
    performance : AUC of a classification, mean squared error of a regression.
    performance_error : standard error of its mean over the splits.
    disparity : root of the mean of the unbiased squares, 0 where that is negative.
    squares : the unbiased squared disparity of every split.
    """

    strength: float
    performance: float
    performance_error: float
    disparity: float
    squares: tuple[float, ...]


def tradeoff(
    parts: Split,
    recipe: Recipe,
    strengths: Sequence[float],
    *,
    hidden: tuple[int, ...] = (50, 20),
) -> list[Point]:
    """Train one network for each strength and split, as one stack, and measure them.

    Parameters
    ----------
    parts : s splits of a data set.
    recipe : how; its loss should be that of the split.
    strengths : of the recipe's penalty.
    hidden : layers of the network.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import split
    >>> from likeforlike.experiments._tradeoff import tradeoff
    >>> from likeforlike.training._training import Recipe
    >>> parts = split(make_loans(3000, gap=0.2), [0, 1])
    >>> recipe = Recipe("logistic", lfl.FairLeap(), learning_rate=0.01, max_epochs=8)
    >>> free, held = tradeoff(parts, recipe, [0.0, 30.0])
    >>> free.disparity > 2 * held.disparity
    True
    """
    by_strength = network_scores(parts, recipe, strengths, hidden)
    return [_point(strength, by_strength[:, k], parts) for k, strength in enumerate(strengths)]


def repair_tradeoff(parts: Split, recipe: Recipe, amounts: Sequence[float]) -> list[Point]:
    """Return the same for networks without a penalty whose scores are repaired by the amounts t.

    Repair needs the group of every row at prediction; it shows what that can achieve.
    """
    known, new = train_plain(parts, recipe)
    return [_point(amount, repair_scores(parts, known, new, amount), parts) for amount in amounts]


def _point(strength: float, scores: FloatArray, parts: Split) -> Point:
    """Measure the scores (s, n) of the test rows of all splits."""
    performance = np.array(
        [
            predictive_performance(of_split, wanted, parts.loss)
            for of_split, wanted in zip(scores, parts.test_targets, strict=True)
        ]
    )
    squares = tuple(
        estimate_level_disparity(
            np.ascontiguousarray(of_split), parts.test.layout.select_model(k)
        ).squared
        for k, of_split in enumerate(scores)
    )
    error = (
        float(performance.std(ddof=1) / math.sqrt(performance.size))
        if performance.size > 1
        else math.nan
    )
    mean = float(np.mean(squares))
    return Point(
        float(strength), float(performance.mean()), error, math.sqrt(max(0.0, mean)), squares
    )
