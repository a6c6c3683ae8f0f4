"""Methods that a sweep compares, each as a stack over seeds and strengths.

A method turns a task into scores of the test rows, for every seed and strength at once. They are
plain frozen values, so that they travel to other processes.

fairlearn's adversarial debiasing is there as it comes, with the network and the stopping of the
task. Its classifier has no probabilities: `predict` gives decisions. The probability of its network
is read as well; `HardLabels` cuts it as `predict` does. Its adversary sees the output of the
network and nothing else, so it aims at demographic parity and knows nothing of levels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.errors import InputError
from likeforlike.experiments._split import Split, Task
from likeforlike.experiments.rivals._adversarial import (
    AdversarialRegressor,
    Criterion,
    DCFRRegressor,
)
from likeforlike.experiments.rivals._contests import ContestEstimator, check_two_groups
from likeforlike.penalties import Layout, Penalty, SmoothFairLeap, WassersteinPenalty
from likeforlike.training import StackedMLP, evaluate


@dataclass(frozen=True)
class Method(ABC):
    """A method of a sweep.

    Attributes
    ----------
    name : in tables and figures.
    strengths : to be tried.

    Examples
    --------
    >>> from likeforlike.experiments import Method, Plain
    >>> isinstance(Plain(), Method), Plain().name
    (True, 'no regularization')
    """

    name: str
    strengths: tuple[float, ...]

    @abstractmethod
    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Compute scores (s, k, n) of test rows of `task`, s `seeds` at k strengths; the splits."""

    def check(self, task: Task) -> None:  # noqa: B027
        """Raise an `InputError` if the method cannot do the `task`, before anything is trained."""


class NetworkMethod(Method):
    """A method that ends in networks which need nothing but their inputs to predict."""

    @abstractmethod
    def networks(self, task: Task, parts: Split) -> StackedMLP:
        """Train networks for every seed and strength, seed after seed."""

    def seen(self, task: Task) -> Task:
        """Return the task with the inputs that the networks see."""
        return task

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Compute scores (s, k, n) of test rows of `task`, s `seeds` at k strengths; the splits."""
        visible = self.seen(task)
        parts = visible.split(seeds)
        splits = np.repeat(np.arange(parts.seeds.size), len(self.strengths))
        _, _, scores = evaluate(
            self.networks(visible, parts), parts.test, splits, visible.recipe(parts)
        )
        by_strength = scores.reshape(parts.seeds.size, len(self.strengths), -1)
        return parts.natural(by_strength), parts


@dataclass(frozen=True)
class Plain(NetworkMethod):
    """Networks without any penalty.

    Attributes
    ----------
    name, strengths : as for every method; there is one strength, 0.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Plain, Task
    >>> Plain().scores(Task(make_loans(500), max_epochs=2), [0, 1])[0].shape
    (2, 1, 100)
    """

    name: str = "no regularization"
    strengths: tuple[float, ...] = (0.0,)

    def networks(self, task: Task, parts: Split) -> StackedMLP:
        """Train networks for every seed of `parts`, as `task` says."""
        return parts.train_networks(task.recipe(parts), self.strengths, task.hidden)


@dataclass(frozen=True)
class Penalized(NetworkMethod):
    """Networks with a penalty.

    Attributes
    ----------
    name, strengths : as for every method.
    penalty : which.
    penalty_rows, strata : as for `Recipe`; `None` penalizes each batch and `"levels"` draws batches
        by level, as the paper does.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Penalized, Task
    >>> method = Penalized("FairLeap", (1.0, 10.0), lfl.FairLeap())
    >>> method.scores(Task(make_loans(500), max_epochs=2), [0])[0].shape
    (1, 2, 100)
    """

    penalty: Penalty
    penalty_rows: int | None = 4096
    strata: Literal["cells", "levels"] = "cells"

    def networks(self, task: Task, parts: Split) -> StackedMLP:
        """Train networks for every seed of `parts` and every strength, as `task` says."""
        recipe = task.recipe(
            parts, self.penalty, penalty_rows=self.penalty_rows, strata=self.strata
        )
        return parts.train_networks(recipe, self.strengths, task.hidden)

    def check(self, task: Task) -> None:
        """Refuse a `task` whose levels are numbers unless the penalty compares along them."""
        along = isinstance(self.penalty, SmoothFairLeap)
        if task.smooth and not along and not isinstance(self.penalty, WassersteinPenalty):
            refuse_numbers(self.name)
        if along and not task.smooth:
            raise InputError(
                f"{self.name} compares groups along a number, and the task has none: smooth is "
                "not set."
            )
        if getattr(self.penalty, "root", False) and len(np.unique(task.data.groups)) > 2:
            raise InputError(f"{self.name} takes a root, which is for two groups.")


@dataclass(frozen=True)
class WithoutSensitive(NetworkMethod):
    """Another method that does not see the sensitive feature, whatever the task says.

    Attributes
    ----------
    name, strengths : as for every method; the strengths are those that are tried.
    method : the other one.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Plain, Task, WithoutSensitive
    >>> task = Task(make_loans(500), max_epochs=2, with_sensitive=True)
    >>> blind = WithoutSensitive("blind", (0.0,), Plain())
    >>> _, parts = blind.scores(task, [0])
    >>> parts.test.inputs.shape[2] < task.split([0]).test.inputs.shape[2]
    True
    """

    method: Method

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Compute scores (s, k, n) of test rows of `task`, s `seeds` at k strengths; the splits."""
        return self._inside.scores(replace(task, with_sensitive=False), seeds)

    def check(self, task: Task) -> None:
        """Refuse a `task` that the other method refuses."""
        self.method.check(task)

    def seen(self, task: Task) -> Task:
        """Return the task without the sensitive feature among its inputs."""
        return replace(as_network(self.method).seen(task), with_sensitive=False)

    def networks(self, task: Task, parts: Split) -> StackedMLP:
        """Train networks of the other method on `parts` of `task`."""
        return as_network(self._inside).networks(task, parts)

    @property
    def _inside(self) -> Method:
        return replace(self.method, strengths=self.strengths)


@dataclass(frozen=True)
class HardLabels(Method):
    """Another method whose scores are cut at one half into decisions, as `predict` does.

    Attributes
    ----------
    name, strengths : as for every method; the strengths are those that are tried.
    method : the other one.
    """

    method: Method

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Compute decisions (s, k, n) of the test rows of `task`, for s `seeds` at k strengths."""
        scores, parts = replace(self.method, strengths=self.strengths).scores(task, seeds)
        return (scores >= 0.5).astype(np.float64), parts

    def check(self, task: Task) -> None:
        """Refuse a `task` that is a regression, or that the other method refuses."""
        self.method.check(task)
        if task.data.task != "classification":
            raise InputError(
                f"{self.name} makes decisions, and the target of this task is a number."
            )


def as_network(method: Method) -> NetworkMethod:
    """Return a method whose runs are networks and nothing else; an `InputError` if it is more."""
    inside = method.method if isinstance(method, WithoutSensitive) else method
    if not isinstance(inside, NetworkMethod) or not isinstance(method, NetworkMethod):
        raise InputError(
            f"{method.name!r} is more than a network, so it cannot be kept as one; leave it out, "
            "or fit QuantileRepair, ConditionalBarycenter, UnawareRepair or FairDecisions yourself "
            "(`save` of a repair keeps the last two)."
        )
    return method


def refuse_numbers(name: str) -> None:
    """Refuse a task with levels that are numbers, for a method that compares inside levels."""
    raise InputError(
        f"{name} compares inside levels, and a legitimate number is compared without bins here; "
        "leave the method out, or cut the number into levels."
    )


@dataclass(frozen=True)
class LegitimateOnly(NetworkMethod):
    """Networks that see the legitimate features and nothing else.

    Attributes
    ----------
    name, strengths : as for every method; there is one strength, 0.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import LegitimateOnly, Task
    >>> _, parts = LegitimateOnly().scores(Task(make_loans(500), max_epochs=2), [0])
    >>> parts.test.inputs.shape[2]
    1
    """

    name: str = "legitimate only"
    strengths: tuple[float, ...] = (0.0,)

    def seen(self, task: Task) -> Task:
        """Return the task with the legitimate features as its inputs."""
        data = replace(task.data, features=task.data.legitimate)
        return replace(task, data=data, with_sensitive=False)

    def networks(self, task: Task, parts: Split) -> StackedMLP:
        """Train networks for every seed of `parts`, as `task` says."""
        return Plain().networks(task, parts)


@dataclass(frozen=True)
class Adversarial(NetworkMethod):
    """Adversarial debiasing; strengths are α.

    Attributes
    ----------
    name, strengths : as for every method.
    criterion : `"conditional"` or `"parity"`.
    weighted : whether guesses weigh P(A != a | l).

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Adversarial, Task
    >>> method = Adversarial("adversarial", (1.0,))
    >>> method.scores(Task(make_loans(500), max_epochs=2), [0])[0].shape
    (1, 1, 100)
    """

    criterion: Criterion = "conditional"
    weighted: bool = True

    def check(self, task: Task) -> None:
        """Refuse a `task` of more than two groups, or with levels that are numbers."""
        _check_adversary(self.name, task)

    def networks(self, task: Task, parts: Split) -> StackedMLP:
        """Train networks for every seed of `parts` and every strength, as `task` says."""
        estimator = AdversarialRegressor(
            criterion=self.criterion,
            weighted=self.weighted,
            hidden_layer_sizes=task.hidden,
            learning_rate=task.learning_rate,
            max_epochs=task.max_epochs,
            patience=task.patience,
            batch_size=task.batch_size,
        )
        return _train_against(estimator, parts, self.strengths)


@dataclass(frozen=True)
class DCFR(NetworkMethod):
    """DCFR, the method for conditional fairness that the paper compares with.

    Its authors have two sizes: a representation of 60 columns, 50 hidden units of the adversary and
    10 of its steps for the many inputs of Adult, and 8, 8 and 5 for the few of COMPAS.

    Attributes
    ----------
    name, strengths : as for every method.
    few : with at most this many inputs the small size is taken.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import DCFR, Task
    >>> DCFR().scores(Task(make_loans(500), max_epochs=1), [0])[0].shape
    (1, 3, 100)
    """

    name: str = "DCFR"
    strengths: tuple[float, ...] = (0.1, 1.0, 10.0)
    few: int = 20

    def check(self, task: Task) -> None:
        """Refuse a `task` of more than two groups, or with levels that are numbers."""
        _check_adversary(self.name, task)

    def networks(self, task: Task, parts: Split) -> StackedMLP:
        """Train networks for every seed of `parts` and every strength, as `task` says."""
        # Adadelta, as its authors have it: under Adam the adversary becomes certain, and then its
        # gradient vanishes.
        small = parts.train.inputs.shape[2] <= self.few
        width, hidden, steps = (8, 8, 5) if small else (60, 50, 10)
        estimator = DCFRRegressor(
            width=width,
            adversary_width=hidden,
            adversary_steps=steps,
            optimizer="adadelta",
            max_epochs=task.max_epochs,
            patience=task.patience,
            batch_size=task.batch_size,
        )
        return _train_against(estimator, parts, self.strengths)


def _check_adversary(name: str, task: Task) -> None:
    check_two_groups(Layout.from_columns(task.data.groups))
    if task.smooth:
        refuse_numbers(name)


def _train_against(
    estimator: ContestEstimator, parts: Split, strengths: Sequence[float]
) -> StackedMLP:
    """Train networks against adversaries, for every seed and strength, seed after seed."""
    return estimator._train_stack(
        parts.train,
        parts.validation,
        parts.loss,
        strengths=np.tile(np.asarray(strengths, dtype=np.float64), parts.seeds.size),
        seeds=parts.seeds,
        splits=np.repeat(np.arange(parts.seeds.size), len(strengths)),
    ).network


@dataclass(frozen=True)
class FairlearnAdversarial(Method):
    """Adversarial debiasing by fairlearn; strengths are its `alpha`.

    The network has the layers, the optimizer, the rate and the batches of the task, and stops after
    its `patience` epochs without a lower loss on the validation rows, as the paper says of all
    methods. The weights of the last epoch are kept, since fairlearn keeps no others. It must be
    installed.

    Attributes
    ----------
    name, strengths : as for every method.
    """

    name: str = "fairlearn"
    strengths: tuple[float, ...] = (1.0,)

    def check(self, task: Task) -> None:
        """Refuse a `task` of more than two groups, and a machine without fairlearn."""
        check_two_groups(Layout.from_columns(task.data.groups))
        try:
            import fairlearn.adversarial  # noqa: F401
        except ImportError as error:
            raise InputError(
                f"{self.name} needs fairlearn, as pip install 'likeforlike[bench]' brings it."
            ) from error

    def scores(self, task: Task, seeds: Sequence[int]) -> tuple[FloatArray, Split]:
        """Compute scores (s, k, n) of test rows of `task`, s `seeds` at k strengths; the splits."""
        parts = task.split(seeds)
        found = [
            [_fairlearn_scores(task, parts, k, alpha) for alpha in self.strengths]
            for k in range(len(seeds))
        ]
        return parts.natural(np.array(found)), parts


def _fairlearn_scores(task: Task, parts: Split, split: int, alpha: float) -> FloatArray:
    """Compute scores (n,) of the test rows of one split, as its network gives them."""
    from fairlearn.adversarial import AdversarialFairnessClassifier, AdversarialFairnessRegressor

    classes = parts.loss != "squared"
    inputs, targets, groups, _ = parts.arrays("train", split)
    model = (AdversarialFairnessClassifier if classes else AdversarialFairnessRegressor)(
        backend="torch",
        predictor_model=[part for width in task.hidden for part in (width, "relu")],
        adversary_model=[50, "relu"],
        learning_rate=task.learning_rate,
        alpha=alpha,
        epochs=task.max_epochs,
        batch_size=task.batch_size,
        shuffle=True,
        callbacks=_Patience(task, parts, split),
        random_state=int(parts.seeds[split]),
    )
    model.fit(inputs, targets, sensitive_features=groups)
    scores: FloatArray = model.backendEngine_.evaluate(parts.arrays("test", split)[0])
    return scores.ravel().astype(np.float64)


class _Patience:
    """Stops after this many epochs without a lower loss on the validation rows."""

    def __init__(self, task: Task, parts: Split, split: int) -> None:
        self._inputs, self._targets, _, _ = parts.arrays("validation", split)
        self._batches = -(-parts.train.size // task.batch_size)
        self._patience, self._squared = task.patience, parts.loss == "squared"
        self._least, self._since = np.inf, 0

    def __call__(self, model: Any, step: int, **_: object) -> bool:  # noqa: ANN401
        if step % self._batches:
            return False
        scores = model.backendEngine_.evaluate(self._inputs).ravel().astype(np.float64)
        if self._squared:
            loss = ((scores - self._targets) ** 2).mean()
        else:
            chance = np.where(self._targets > 0.5, scores, 1.0 - scores)
            loss = -np.log(np.maximum(chance, 1e-12)).mean()
        self._since = 0 if loss < self._least else self._since + 1
        self._least = min(self._least, loss)
        return self._since >= self._patience
