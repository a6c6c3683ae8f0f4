"""Methods: what a sweep compares, each as a stack over seeds and strengths.

A method turns a task into scores of the test rows, for every seed and strength at once. They are
plain frozen values, so that they travel to other processes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from likeforlike.baselines.adversarial import AdversarialSettings, Criterion, train_adversarial
from likeforlike.baselines.contest import Schedule
from likeforlike.baselines.dcfr import DCFRSettings, train_dcfr
from likeforlike.baselines.repair import QuantileRepair
from likeforlike.experiments.barycentre import plain_scores, repaired_scores
from likeforlike.experiments.split import Split
from likeforlike.experiments.task import Task, network_scores
from likeforlike.nn.data import Rows
from likeforlike.nn.training import Trained, evaluate
from likeforlike.penalties import Penalty
from likeforlike.transport.atoms import FloatArray

__all__ = [
    "DCFR",
    "Adversarial",
    "LegitimateOnly",
    "Method",
    "Penalised",
    "Plain",
    "PostProcessed",
    "Repaired",
    "WithoutSensitive",
]


@dataclass(frozen=True)
class Method(ABC):
    """A method of a sweep.

    Attributes
    ----------
    name : in tables and figures.
    strengths : to be tried.
    """

    name: str
    strengths: tuple[float, ...]

    @abstractmethod
    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, k, n) of the test rows of s seeds at the k strengths, and their split."""


@dataclass(frozen=True)
class Plain(Method):
    """Networks without any penalty.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments.methods import Plain
    >>> from likeforlike.experiments.task import Task
    >>> Plain().scores(Task(make_loans(500), max_epochs=2), [0, 1])[0].shape
    (2, 1, 100)
    """

    name: str = "no regularisation"
    strengths: tuple[float, ...] = (0.0,)

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, 1, n) of the test rows."""
        parts = task.split(seeds)
        return network_scores(parts, task.recipe(parts), self.strengths, task.hidden), parts


@dataclass(frozen=True)
class Penalised(Method):
    """Networks with a penalty.

    Attributes
    ----------
    penalty : which.
    penalty_rows : as for `Recipe`; `None` penalises each batch, as the paper does.
    """

    penalty: Penalty
    penalty_rows: int | None = 4096

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, k, n) of the test rows."""
        parts = task.split(seeds)
        recipe = task.recipe(parts, self.penalty, penalty_rows=self.penalty_rows)
        return network_scores(parts, recipe, self.strengths, task.hidden), parts


@dataclass(frozen=True)
class WithoutSensitive(Method):
    """Another method that does not see the sensitive feature, whatever the task says.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments.methods import Plain, WithoutSensitive
    >>> from likeforlike.experiments.task import Task
    >>> task = Task(make_loans(500), max_epochs=2, with_sensitive=True)
    >>> blind = WithoutSensitive("blind", (0.0,), Plain())
    >>> _, parts = blind.scores(task, [0])
    >>> parts.test.inputs.shape[2] < task.split([0]).test.inputs.shape[2]
    True
    """

    method: Method

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, k, n) of the test rows."""
        own = replace(self.method, strengths=self.strengths)
        return own.scores(replace(task, with_sensitive=False), seeds)


@dataclass(frozen=True)
class LegitimateOnly(Method):
    """Networks that see the legitimate features and nothing else."""

    name: str = "legitimate only"
    strengths: tuple[float, ...] = (0.0,)

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, 1, n) of the test rows."""
        blind = replace(
            task,
            data=replace(task.data, features=task.data.legitimate),
            with_sensitive=False,
        )
        return Plain().scores(blind, seeds)


@dataclass(frozen=True)
class Repaired(Method):
    """Networks without a penalty on inputs repaired by quantiles; strengths are repair levels."""

    name: str = "repair"
    strengths: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, k, n) of the test rows."""
        parts = task.split(seeds)
        # Every repair level of every seed is a data set of its own, all of them in one stack.
        repaired = _repaired(parts, self.strengths, _numeric(task, parts))
        scores = network_scores(repaired, task.recipe(repaired), (0.0,), task.hidden)
        return scores.reshape(parts.seeds.size, len(self.strengths), -1), parts


def _repaired(parts: Split, amounts: Sequence[float], columns: list[int]) -> Split:
    """The split of every seed with inputs repaired by every amount, learned on training rows."""
    n_groups = len(parts.train.layout.groups)
    found: dict[str, list[torch.Tensor]] = {"train": [], "validation": [], "test": []}
    for line in range(parts.seeds.size):
        for amount in amounts:
            repair = QuantileRepair(amount, columns=columns)
            for name, rows in _named(parts):
                inputs = rows.inputs[line].double().numpy()
                groups = rows.layout.segments[line] % n_groups
                if name == "train":
                    repair.fit(inputs, sensitive_features=groups)
                moved = repair.transform(inputs, sensitive_features=groups)
                found[name].append(torch.tensor(moved, dtype=torch.float32))
    lines = np.repeat(np.arange(parts.seeds.size), len(amounts))
    train, validation, test = (
        Rows(
            torch.stack(found[name]),
            rows.targets[lines],
            replace(rows.layout, segments=rows.layout.segments[lines]),
        )
        for name, rows in _named(parts)
    )
    return replace(
        parts,
        train=train,
        validation=validation,
        test=test,
        train_rows=parts.train_rows[lines],
        validation_rows=parts.validation_rows[lines],
        test_rows=parts.test_rows[lines],
        seeds=parts.seeds[lines],
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
    """Networks without a penalty whose scores `ConditionalBarycentre` repairs by the amounts t.

    It needs everybody's group when it predicts, and shows about what can be had with it.
    """

    name: str = "barycentre"
    strengths: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, k, n) of the test rows."""
        parts = task.split(seeds)
        known, new = plain_scores(parts, task.recipe(parts), task.hidden)
        return np.stack([repaired_scores(parts, known, new, t) for t in self.strengths], 1), parts


@dataclass(frozen=True)
class Adversarial(Method):
    """Adversarial debiasing; strengths are α.

    Attributes
    ----------
    criterion : `"conditional"` or `"parity"`.
    weighted : whether guesses weigh P(A != a | l).
    """

    criterion: Criterion = "conditional"
    weighted: bool = True

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, k, n) of the test rows."""
        parts = task.split(seeds)
        settings = AdversarialSettings(
            loss=parts.loss,
            hidden_layer_sizes=task.hidden,
            criterion=self.criterion,
            weighted=self.weighted,
            schedule=_schedule(task),
        )
        lines, strengths = _members(parts, self.strengths)
        trained = train_adversarial(
            parts.train,
            parts.validation,
            settings,
            strengths=strengths,
            seeds=parts.seeds,
            lines=lines,
        )
        return _test_scores(trained, task, parts, len(self.strengths)), parts


@dataclass(frozen=True)
class DCFR(Method):
    """DCFR, the method for conditional fairness that the paper compares with.

    Its authors have two sizes: a representation of 60 columns, 50 hidden units of the adversary and
    10 of its steps for the many inputs of Adult, and 8, 8 and 5 for the few of COMPAS.

    Attributes
    ----------
    few : with at most so many inputs the small size is taken.
    """

    name: str = "DCFR"
    strengths: tuple[float, ...] = (0.1, 1.0, 10.0)
    few: int = 20

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Scores (s, k, n) of the test rows."""
        parts = task.split(seeds)
        # Adadelta, as its authors have it: under Adam the adversary becomes certain, and then its
        # gradient vanishes.
        schedule = replace(_schedule(task), optimiser="adadelta", learning_rate=1.0)
        small = parts.train.inputs.shape[2] <= self.few
        width, hidden, steps = (8, 8, 5) if small else (60, 50, 10)
        settings = DCFRSettings(
            loss=parts.loss,
            width=width,
            adversary_width=hidden,
            adversary_steps=steps,
            schedule=schedule,
        )
        lines, strengths = _members(parts, self.strengths)
        trained = train_dcfr(
            parts.train,
            parts.validation,
            settings,
            strengths=strengths,
            seeds=parts.seeds,
            lines=lines,
        )
        return _test_scores(trained, task, parts, len(self.strengths)), parts


def _schedule(task: Task) -> Schedule:
    return Schedule(
        learning_rate=task.learning_rate,
        max_epochs=task.max_epochs,
        patience=task.patience,
        batch_size=task.batch_size,
    )


def _members(
    parts: Split, strengths: Sequence[float]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], FloatArray]:
    """The data set and the strength of every member, seed after seed."""
    lines = np.repeat(np.arange(parts.seeds.size), len(strengths))
    return lines, np.tile(np.asarray(strengths, dtype=np.float64), parts.seeds.size)


def _test_scores(trained: Trained, task: Task, parts: Split, strengths: int) -> FloatArray:
    lines = np.repeat(np.arange(parts.seeds.size), strengths)
    _, _, scores = evaluate(trained.network, parts.test, lines, task.recipe(parts))
    return scores.reshape(parts.seeds.size, strengths, -1)
