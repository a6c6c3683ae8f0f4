"""Methods that repair inputs before training, or scores and decisions after it, and trade-offs.

`Repaired` and `PostProcessed` need the group of every row to predict; `WithoutGroups` and `Decided`
do not. A trade-off is one penalty at several strengths, or a repair by several amounts, on several
splits, measured on test rows.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike._lazy import extra
from likeforlike.errors import InputError, RepairWarning
from likeforlike.experiments._methods import Method, Penalized, refuse_numbers
from likeforlike.experiments._split import Part, Split, Task, network_scores, predictive_performance
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
        """Compute scores (s, k, n) of test rows of `task`, s `seeds` at k amounts; the splits."""
        parts = task.split(seeds)
        # Every repair level of every seed is a data set of its own, all of them in one stack.
        repaired = _repair_inputs(parts, self.strengths, task)
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
        """Compute scores (s, k, n) of test rows of `task`, s `seeds` at k strengths; the splits."""
        parts = task.split(seeds)
        repaired = _repair_inputs(parts, (self.amount,), task)
        recipe = task.recipe(
            repaired, self.penalty, penalty_rows=self.penalty_rows, strata=self.strata
        )
        return network_scores(repaired, recipe, self.strengths, task.hidden), parts

    def check(self, task: Task) -> None:
        """Refuse a `task` that the penalty refuses alone."""
        Penalized(self.name, self.strengths, self.penalty).check(task)


def _repair_inputs(parts: Split, amounts: Sequence[float], task: Task) -> Split:
    """Repair the inputs of every split by every amount, as learned on its training rows.

    Inputs with two values, which one-hot columns and the sensitive one are, are left alone.
    """
    matrix = task.data.inputs(task.encoding, with_sensitive=task.with_sensitive).matrix
    columns = [
        column
        for column in range(parts.train.inputs.shape[2])
        if np.unique(matrix[:, column]).size > 2
    ]
    moved: dict[Part, list[torch.Tensor]] = {name: [] for name in get_args(Part)}
    for split in range(parts.seeds.size):
        for amount in amounts:
            repair = QuantileRepair(amount, columns=columns)
            for name, tensors in moved.items():
                inputs, _, groups, _ = parts.arrays(name, split)
                if name == "train":
                    repair.fit(inputs, sensitive_features=groups)
                repaired = repair.transform(inputs, sensitive_features=groups)
                tensors.append(torch.tensor(repaired, dtype=torch.float32))
    splits = np.repeat(np.arange(parts.seeds.size), len(amounts))
    changed: dict[str, Any] = {}
    for name, tensors in moved.items():
        old: Rows = getattr(parts, name)
        unit = old.layout.unit
        layout = replace(
            old.layout,
            segments=old.layout.segments[splits],
            unit=unit[splits] if unit.size else unit,
        )
        changed[name] = Rows(torch.stack(tensors), old.targets[splits], layout)
    for field in fields(parts):
        if field.name not in {*moved, "loss"}:
            changed[field.name] = getattr(parts, field.name)[splits]
    return replace(parts, **changed)


class _ScoreRepair(Method):
    """Networks without a penalty whose scores are repaired by the amounts t."""

    @abstractmethod
    def _repair(
        self, parts: Split, split: int, known: FloatArray, new: FloatArray
    ) -> list[FloatArray]:
        """Repair scores (n,) of the test rows of a split by every amount.

        `known` (m,) are the scores of its training rows, by which the repair is learned.
        """

    def _repair_all(
        self, parts: Split, recipe: Recipe, hidden: tuple[int, ...] = (50, 20)
    ) -> FloatArray:
        """Train a network for each split, and repair its scores: (s, k, n) of the test rows."""
        splits = np.arange(parts.seeds.size)
        network = parts.train_networks(recipe, (0.0,), hidden)
        _, _, known = evaluate(network, parts.train, splits, recipe)
        _, _, new = evaluate(network, parts.test, splits, recipe)
        known, new = parts.natural(known), parts.natural(new)
        return np.stack(
            [np.stack(self._repair(parts, k, known[k], new[k])) for k in range(splits.size)]
        )

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Compute scores (s, k, n) of test rows of `task`, s `seeds` at k amounts; the splits."""
        parts = task.split(seeds)
        return self._repair_all(parts, task.recipe(parts), task.hidden), parts

    def check(self, task: Task) -> None:
        """Refuse a `task` whose levels are numbers."""
        if task.smooth:
            refuse_numbers(self.name)


@dataclass(frozen=True)
class PostProcessed(_ScoreRepair):
    """Networks without a penalty whose scores `ConditionalBarycenter` repairs by the amounts t.

    It needs the group of every row when it predicts, and shows about what that can achieve.

    Attributes
    ----------
    name, strengths : as for every method; strengths are the amounts t in [0, 1].

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import PostProcessed, Task
    >>> PostProcessed().scores(Task(make_loans(500), max_epochs=2), [0])[0].shape
    (1, 5, 100)
    """

    name: str = "barycenter"
    strengths: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)

    def _repair(
        self, parts: Split, split: int, known: FloatArray, new: FloatArray
    ) -> list[FloatArray]:
        """Repair scores (n,) of the test rows of a split by every amount."""
        _, _, group, level = parts.arrays("train", split)
        _, _, new_group, new_level = parts.arrays("test", split)
        found = []
        for amount in self.strengths:
            # A sweep shows what each amount does, noise and all.
            repair = ConditionalBarycenter(amount, shrink=False)
            repair.fit(known, sensitive_features=group, legitimate_features=level)
            found.append(
                repair.transform(new, sensitive_features=new_group, legitimate_features=new_level)
            )
        return found


@dataclass(frozen=True)
class WithoutGroups(_ScoreRepair):
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

    def _repair(
        self, parts: Split, split: int, known: FloatArray, new: FloatArray
    ) -> list[FloatArray]:
        """Repair scores (n,) of the test rows of a split by every amount."""
        repair = UnawareRepair()
        _fit(repair, known, parts, split)
        inputs, _, _, level = parts.arrays("test", split)
        return [
            repair.set_params(repair_level=amount).transform(new, inputs, legitimate_features=level)
            for amount in self.strengths
        ]


@dataclass(frozen=True)
class Decided(_ScoreRepair):
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

    def _repair(
        self, parts: Split, split: int, known: FloatArray, new: FloatArray
    ) -> list[FloatArray]:
        """Decide on the test rows (n,) of a split by every amount."""
        inputs, _, _, level = parts.arrays("test", split)
        found = []
        for amount in self.strengths:
            rule = FairDecisions(amount)
            _fit(rule, known, parts, split)
            decisions = rule.predict(new, inputs, legitimate_features=level)
            found.append(decisions.astype(np.float64))
        return found

    def check(self, task: Task) -> None:
        """Refuse a `task` that is a regression, or whose levels are numbers."""
        if task.data.task != "classification":
            raise InputError(f"{self.name} need classes; the target of this task is a number.")
        super().check(task)


def _fit(
    repair: UnawareRepair | FairDecisions, scores: FloatArray, parts: Split, split: int
) -> None:
    """Fit to the training rows of a split; what is left is measured on its test rows."""
    inputs, _, group, level = parts.arrays("train", split)
    with warnings.catch_warnings(action="ignore", category=RepairWarning):
        repair.fit(scores, inputs, sensitive_features=group, legitimate_features=level)


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
    parts: Split, recipe: Recipe, strengths: Sequence[float], *, hidden: tuple[int, ...] = (50, 20)
) -> list[Point]:
    """Train one network for each strength and split, as one stack, and measure them.

    The loss of the recipe should be that of the split; strengths are those of its penalty.
    """
    by_strength = network_scores(parts, recipe, strengths, hidden)
    return [_point(strength, by_strength[:, k], parts) for k, strength in enumerate(strengths)]


def repair_tradeoff(parts: Split, recipe: Recipe, amounts: Sequence[float]) -> list[Point]:
    """Return the same for networks without a penalty whose scores are repaired by the amounts t.

    Repair needs the group of every row at prediction; it shows what that can achieve.
    """
    found = PostProcessed(strengths=tuple(amounts))._repair_all(parts, recipe)
    return [_point(amount, found[:, k], parts) for k, amount in enumerate(amounts)]


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
