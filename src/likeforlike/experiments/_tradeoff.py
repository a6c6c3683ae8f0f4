"""A trade-off: one penalty at several strengths, on several splits, measured on test rows.

Methods that repair inputs before training, or scores and decisions after it.

`Repaired` and `PostProcessed` need the group of every row to predict; `WithoutGroups` and `Decided`
do not.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike.errors import InputError, RepairWarning
from likeforlike.experiments._methods import Method, Penalized, refuse_numbers
from likeforlike.experiments._split import (
    Split,
    Task,
    network_scores,
    predictive_performance,
    train_networks,
)
from likeforlike.experiments.rivals import QuantileRepair
from likeforlike.penalties import Penalty
from likeforlike.repair import ConditionalBarycenter, FairDecisions, UnawareRepair
from likeforlike.training import Recipe, Rows, estimate_level_disparity, evaluate

with extra("train"):
    import torch


@dataclass(frozen=True)
class Repaired(Method):
    """Networks without a penalty on inputs repaired by quantiles.

    Attributes
    ----------
    name, strengths : as for every method; strengths are amounts of repair in [0, 1].

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Repaired, Task
    >>> Repaired().scores(Task(make_loans(500), max_epochs=2), [0])[0].shape
    (1, 5, 100)
    """

    name: str = "repair"
    strengths: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, k, n) of the test rows of `task`, for s `seeds` at k amounts; the splits."""
        parts = task.split(seeds)
        # Every repair level of every seed is a data set of its own, all of them in one stack.
        repaired = _repaired(parts, self.strengths, _numeric(task, parts))
        scores = network_scores(repaired, task.recipe(repaired), (0.0,), task.hidden)
        return scores.reshape(parts.seeds.size, len(self.strengths), -1), parts


@dataclass(frozen=True)
class RepairedPenalized(Method):
    """Networks with a penalty on inputs repaired by quantiles: two methods put together.

    Attributes
    ----------
    name, strengths : as for every method; strengths are those of the penalty.
    penalty : which.
    amount : of repair, in [0, 1].
    penalty_rows, strata : as for `Penalized`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import RepairedPenalized, Task
    >>> method = RepairedPenalized("both", (1.0, 10.0), lfl.FairLeap(), amount=0.5)
    >>> method.scores(Task(make_loans(500), max_epochs=2), [0])[0].shape
    (1, 2, 100)
    """

    penalty: Penalty
    amount: float
    penalty_rows: int | None = 4096
    strata: Literal["cells", "levels"] = "cells"

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, k, n) of the test rows of `task`, for s `seeds` at k strengths; the splits."""
        parts = task.split(seeds)
        repaired = _repaired(parts, (self.amount,), _numeric(task, parts))
        recipe = task.recipe(
            repaired, self.penalty, penalty_rows=self.penalty_rows, strata=self.strata
        )
        return network_scores(repaired, recipe, self.strengths, task.hidden), parts

    def check(self, task: Task) -> None:
        """Refuse a `task` that the penalty refuses alone."""
        Penalized(self.name, self.strengths, self.penalty).check(task)


def _repaired(parts: Split, amounts: Sequence[float], columns: list[int]) -> Split:
    """The split of every seed with inputs repaired by every amount, learned on training rows."""
    n_groups = len(parts.train.layout.groups)
    moved_inputs: dict[str, list[torch.Tensor]] = {"train": [], "validation": [], "test": []}
    for split in range(parts.seeds.size):
        for amount in amounts:
            repair = QuantileRepair(amount, columns=columns)
            for name, rows in _named(parts):
                inputs = rows.inputs[split].double().numpy()
                groups = rows.layout.segments[split] % n_groups
                if name == "train":
                    repair.fit(inputs, sensitive_features=groups)
                moved = repair.transform(inputs, sensitive_features=groups)
                moved_inputs[name].append(torch.tensor(moved, dtype=torch.float32))
    splits = np.repeat(np.arange(parts.seeds.size), len(amounts))
    train, validation, test = (
        Rows(
            torch.stack(moved_inputs[name]),
            rows.targets[splits],
            replace(
                rows.layout,
                segments=rows.layout.segments[splits],
                unit=rows.layout.unit[splits] if rows.layout.unit.size else rows.layout.unit,
            ),
        )
        for name, rows in _named(parts)
    )
    return replace(
        parts,
        train=train,
        validation=validation,
        test=test,
        train_rows=parts.train_rows[splits],
        validation_rows=parts.validation_rows[splits],
        test_rows=parts.test_rows[splits],
        test_targets=parts.test_targets[splits],
        target_mean=parts.target_mean[splits],
        target_spread=parts.target_spread[splits],
        seeds=parts.seeds[splits],
    )


def _named(parts: Split) -> list[tuple[str, Rows]]:
    return [("train", parts.train), ("validation", parts.validation), ("test", parts.test)]


def _numeric(task: Task, parts: Split) -> list[int]:
    """Inputs with more than two values: one-hot columns and the sensitive one are left alone."""
    inputs = task.data.inputs(task.encoding, with_sensitive=task.with_sensitive)
    return [
        column
        for column in range(parts.train.inputs.shape[2])
        if np.unique(inputs.matrix[:, column]).size > 2
    ]


@dataclass(frozen=True)
class PostProcessed(Method):
    """Networks without a penalty whose scores `ConditionalBarycenter` repairs by the amounts t.

    It needs the group of every row when it predicts, and shows about what that can achieve.

    Attributes
    ----------
    name, strengths : as for every method; strengths are the amounts t in [0, 1].

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Task
    >>> from likeforlike.experiments import PostProcessed
    >>> PostProcessed().scores(Task(make_loans(500), max_epochs=2), [0])[0].shape
    (1, 5, 100)
    """

    name: str = "barycenter"
    strengths: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, k, n) of the test rows of `task`, for s `seeds` at k amounts; the splits."""
        parts = task.split(seeds)
        known, new = train_plain(parts, task.recipe(parts), task.hidden)
        return np.stack([repair_scores(parts, known, new, t) for t in self.strengths], 1), parts

    def check(self, task: Task) -> None:
        """Refuse a `task` whose levels are numbers."""
        if task.smooth:
            refuse_numbers(self.name)


def train_plain(
    parts: Split, recipe: Recipe, hidden: tuple[int, ...] = (50, 20)
) -> tuple[FloatArray, FloatArray]:
    """Scores (s, n) of the training rows and of the test rows, of one network for each split."""
    splits = np.arange(parts.seeds.size)
    network = train_networks(parts, recipe, (0.0,), hidden)
    _, _, known = evaluate(network, parts.train, splits, recipe)
    _, _, new = evaluate(network, parts.test, splits, recipe)
    return parts.natural(known), parts.natural(new)


def repair_scores(parts: Split, known: FloatArray, new: FloatArray, amount: float) -> FloatArray:
    """Scores (s, n) of the test rows, repaired by an amount t learned on the training rows."""
    n_groups = len(parts.train.layout.groups)
    repaired = []
    for split, (seen, other) in enumerate(zip(known, new, strict=True)):
        of_own, of_other = parts.train.layout.segments[split], parts.test.layout.segments[split]
        # A sweep shows what each amount does, noise and all.
        repair = ConditionalBarycenter(amount, shrink=False)
        repair.fit(
            seen, sensitive_features=of_own % n_groups, legitimate_features=of_own // n_groups
        )
        repaired.append(
            repair.transform(
                other,
                sensitive_features=of_other % n_groups,
                legitimate_features=of_other // n_groups,
            )
        )
    return np.stack(repaired)


@dataclass(frozen=True)
class WithoutGroups(Method):
    """Networks without a penalty whose scores `UnawareRepair` repairs by the amounts t.

    The group is guessed from the inputs of the networks.

    Attributes
    ----------
    name, strengths : as for every method; strengths are the amounts t in [0, 1].

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Task, WithoutGroups
    >>> method = WithoutGroups(strengths=(0.0, 1.0))
    >>> method.scores(Task(make_loans(500), max_epochs=2), [0])[0].shape
    (1, 2, 100)
    """

    name: str = "unaware repair"
    strengths: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, k, n) of the test rows of `task`, for s `seeds` at k amounts; the splits."""
        parts = task.split(seeds)
        known, new = train_plain(parts, task.recipe(parts), task.hidden)
        found = []
        for split, (seen, other) in enumerate(zip(known, new, strict=True)):
            repair = UnawareRepair()
            _fit(repair, seen, parts, split)
            columns = _inputs(parts.test, split), _levels(parts.test, split)
            moved = []
            for amount in self.strengths:
                repair.set_params(repair_level=amount)
                moved.append(repair.transform(other, columns[0], legitimate_features=columns[1]))
            found.append(np.stack(moved))
        return np.stack(found), parts

    def check(self, task: Task) -> None:
        """Refuse a `task` whose levels are numbers."""
        if task.smooth:
            refuse_numbers(self.name)


@dataclass(frozen=True)
class Decided(Method):
    """Networks without a penalty whose probabilities `FairDecisions` turns into decisions.

    Performance is that of the decisions; the group is guessed from the inputs of the networks.

    Attributes
    ----------
    name, strengths : as for every method; strengths are the amounts t in [0, 1].

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Decided, Task
    >>> method = Decided(strengths=(0.0, 1.0))
    >>> scores, _ = method.scores(Task(make_loans(500), max_epochs=2), [0])
    >>> scores.shape, sorted(set(scores.ravel().tolist()))
    ((1, 2, 100), [0.0, 1.0])
    """

    name: str = "decisions"
    strengths: tuple[float, ...] = (0.0, 0.5, 1.0)

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Compute decisions (s, k, n) of the test rows of `task`, for s `seeds` at k amounts."""
        parts = task.split(seeds)
        known, new = train_plain(parts, task.recipe(parts), task.hidden)
        found = np.empty((parts.seeds.size, len(self.strengths), new.shape[1]))
        for split, (seen, other) in enumerate(zip(known, new, strict=True)):
            inputs, levels = _inputs(parts.test, split), _levels(parts.test, split)
            for k, amount in enumerate(self.strengths):
                rule = FairDecisions(amount)
                _fit(rule, seen, parts, split)
                found[split, k] = rule.predict(other, inputs, legitimate_features=levels)
        return found, parts

    def check(self, task: Task) -> None:
        """Refuse a `task` that is a regression, or whose levels are numbers."""
        if task.data.task != "classification":
            raise InputError(f"{self.name} need classes; the target of this task is a number.")
        if task.smooth:
            refuse_numbers(self.name)


def _fit(
    repair: UnawareRepair | FairDecisions, scores: FloatArray, parts: Split, split: int
) -> None:
    """Fit to the training rows of a split; what is left is measured on its test rows."""
    rows = parts.train
    groups = rows.layout.segments[split] % len(rows.layout.groups)
    with warnings.catch_warnings(action="ignore", category=RepairWarning):
        repair.fit(
            scores,
            _inputs(rows, split),
            sensitive_features=groups,
            legitimate_features=_levels(rows, split),
        )


def _inputs(rows: Rows, split: int) -> FloatArray:
    inputs: FloatArray = rows.inputs[split].double().numpy()
    return inputs


def _levels(rows: Rows, split: int) -> IntArray:
    levels: IntArray = rows.layout.segments[split] // len(rows.layout.groups)
    return levels


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
    >>> from likeforlike.training import Recipe
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
