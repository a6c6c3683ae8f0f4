"""A task: a data set, how it is split, and how networks are trained on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.datasets._dataset import Dataset
from likeforlike.datasets._inputs import Encoding
from likeforlike.experiments._split import OwnMeasure, Split, split
from likeforlike.penalties import Penalty
from likeforlike.training._networks import StackedMLP
from likeforlike.training._training import Recipe, evaluate, strength_unit, train


@dataclass(frozen=True)
class Task:
    """What all methods of a sweep have in common.

    Attributes
    ----------
    data : with roles.
    batch_size, max_epochs, patience, learning_rate, hidden : of the networks.
    shares : of training, validation and test rows.
    encoding, with_sensitive : of the inputs.
    smooth : whether levels are numbers, alone or with categories: groups are then compared along
        the number, in training (`SmoothFairLeap`) and in what is measured.
    measures : {name: measure} of one's own, columns of `Sweep.runs`. Each is called with scores,
        targets, groups and levels of the test rows of a run, and returns a number. Other processes
        must be able to import it.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Task
    >>> Task(make_loans(500)).split([0]).test.size
    100
    """

    data: Dataset
    batch_size: int = 256
    max_epochs: int = 500
    patience: int = 50
    learning_rate: float = 1e-3
    hidden: tuple[int, ...] = (50, 20)
    shares: tuple[float, float, float] = (0.6, 0.2, 0.2)
    encoding: Encoding = "one-hot"
    with_sensitive: bool = False
    smooth: bool = False
    measures: Mapping[str, OwnMeasure] = field(default_factory=dict)

    def split(self, seeds: Sequence[int]) -> Split:
        """Return training, validation and test rows for every one of the `seeds`."""
        return split(
            self.data,
            seeds,
            shares=self.shares,
            encoding=self.encoding,
            with_sensitive=self.with_sensitive,
        )

    def recipe(
        self,
        parts: Split,
        penalty: Penalty | None = None,
        *,
        penalty_rows: int | None = 4096,
        strata: Literal["cells", "levels"] = "cells",
    ) -> Recipe:
        """Return how networks are trained on `parts`, with a `penalty` or without.

        `penalty_rows` and `strata` are those of `Recipe`.

        An entropic penalty takes O(n²), so its value on validation rows is a mean over blocks of
        the size of a batch.
        """
        entropic = getattr(penalty, "reg", 0.0) > 0.0
        return Recipe(
            loss=parts.loss,
            penalty=penalty,
            learning_rate=self.learning_rate,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batch_size=self.batch_size,
            penalty_rows=penalty_rows,
            strata=strata,
            validation_rows=self.batch_size if entropic else None,
        )


def train_networks(
    parts: Split, recipe: Recipe, strengths: Sequence[float], hidden: tuple[int, ...] = (50, 20)
) -> StackedMLP:
    """One network for each seed and strength, seed after seed, trained as one stack.

    Networks of a seed begin with the same weights and see the same batches. Strengths are those of
    an objective in the unit of the target.
    """
    splits = np.repeat(np.arange(parts.seeds.size), len(strengths))
    units = np.ones(parts.seeds.size)
    if recipe.penalty is not None:
        degree = recipe.penalty.degree
        units = np.array([strength_unit(degree, spread) for spread in parts.target_spread])
    sizes = (parts.train.inputs.shape[2], *hidden, 1)
    return train(
        StackedMLP([int(seed) for seed in parts.seeds[splits]], sizes),
        parts.train,
        parts.validation,
        recipe,
        strengths=np.outer(units, np.asarray(strengths, dtype=np.float64)).ravel(),
        seeds=parts.seeds,
        splits=splits,
    ).network


def network_scores(
    parts: Split, recipe: Recipe, strengths: Sequence[float], hidden: tuple[int, ...] = (50, 20)
) -> FloatArray:
    """Scores of the test rows, shape (s, k, n), of one network for each seed and strength."""
    splits = np.repeat(np.arange(parts.seeds.size), len(strengths))
    network = train_networks(parts, recipe, strengths, hidden)
    _, _, scores = evaluate(network, parts.test, splits, replace(recipe, penalty=None))
    return parts.natural(scores.reshape(parts.seeds.size, len(strengths), -1))
