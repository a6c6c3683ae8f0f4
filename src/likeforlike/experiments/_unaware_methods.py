"""Methods that repair finished scores and decisions without asking for the group at prediction."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.errors import InputError, RepairWarning
from likeforlike.experiments._methods import Method, refuse_numbers
from likeforlike.experiments._repairing import plain_scores
from likeforlike.experiments._split import Split
from likeforlike.experiments._task import Task
from likeforlike.repair import FairDecisions, UnawareRepair
from likeforlike.training._networks import Rows


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
        known, new = plain_scores(parts, task.recipe(parts), task.hidden)
        found = []
        for split, (seen, other) in enumerate(zip(known, new, strict=True)):
            repair = UnawareRepair()
            _fit(repair, seen, parts, split)
            columns = _inputs(parts.test, split), _levels(parts.test, split)
            moved = []
            for amount in self.strengths:
                repair.set_params(t=amount)
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
        """Decisions (s, k, n) of the test rows of `task`, for s `seeds` at k amounts."""
        parts = task.split(seeds)
        known, new = plain_scores(parts, task.recipe(parts), task.hidden)
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
