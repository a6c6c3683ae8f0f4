"""Boosting in rounds: a tree is grown, its leaves are fitted, rows held back say when to stop.

A library grows the trees; the values of their leaves are ours. A library knows second derivatives
row by row only, and for a strong penalty those have to be so large that the loss is hardly fitted
any more (`_coupling`). A step that makes the objective larger, which may happen where it is no
parabola, is halved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.boosting._problem import BoostedRows, Problem, curved, leaf_values

# After so many halvings a step that still does no good is not taken.
_HALVINGS = 6
# Between these single precision has digits to spare.
_SINGLE = 1e-20, 1e30
# What rounding may add to an objective.
_ROUNDING = 1e-12
# Training is not over if the last tenth of the trees brought more than this share of what all of
# them did, and of what is left.
_UNSETTLED = 0.01, 0.001

Inputs = Any
"""Rows of inputs, as people give them or as a library takes them."""

Model = Any
"""What a library has fitted."""


class Grower(Protocol):
    """A library that grows trees on the rows to learn from."""

    def grow(self, gradient: FloatArray, hessian: FloatArray) -> bool:
        """Grow one more tree; whether there was anything to split."""

    def leaves(self, inputs: Inputs) -> IntArray:
        """Leaves (n,) of the last tree in which rows are."""

    def finished(self, values: Sequence[FloatArray]) -> Model:
        """The library's model of the first trees, with these values of their leaves."""


class Library(Protocol):
    """What trees are grown by."""

    def rows(self, inputs: Inputs) -> Inputs:
        """Inputs (n, d), dense or sparse, as the library takes them."""

    def grower(self, inputs: Inputs) -> Grower:
        """Grows trees on some rows."""

    def raw(self, model: Model, inputs: Inputs) -> FloatArray:
        """Raw scores (n,) of a model, without those it starts from."""


@dataclass(frozen=True, slots=True)
class Learning:
    """Rows to learn from, with their inputs."""

    rows: BoostedRows
    inputs: Inputs


@dataclass(frozen=True, slots=True)
class Watching:
    """Rows held back.

    Attributes
    ----------
    inputs : of the rows.
    size : how many there are.
    seen : objective and loss of raw scores (n,).
    """

    inputs: Inputs
    size: int
    seen: Callable[[FloatArray], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Boosted:
    """A boosted model.

    Attributes
    ----------
    model : the library's; `None` if it has no trees.
    start : raw score before the first tree.
    trees : how many it has.
    losses : after every tree that was grown, on the rows that are watched.
    objectives : there as well, with the one before the first tree.
    stopped : whether it stopped before the last tree that was allowed.
    """

    model: Model
    start: float
    trees: int
    losses: tuple[float, ...]
    objectives: tuple[float, ...]
    stopped: bool

    @property
    def late_fall(self) -> float:
        """By how much the last tenth of the trees made the objective smaller."""
        best = np.minimum.accumulate(self.objectives)
        return float(best[-1 - max(1, best.size // 10)] - best[-1])

    @property
    def unsettled(self) -> bool:
        """Whether more trees would have made the objective smaller by much."""
        left = min(self.objectives)
        least = max(_UNSETTLED[0] * (self.objectives[0] - left), _UNSETTLED[1] * abs(left))
        return not self.stopped and self.late_fall > least


class _Training:
    """The raw scores of the rows to learn from, as they grow."""

    def __init__(self, problem: Problem, learning: Learning, start: float) -> None:
        self._problem, self._rows, self._inputs = problem, learning.rows, learning.inputs
        layout, penalty = learning.rows.layout, problem.penalty
        self._moved = np.empty(0)
        if layout is not None and penalty is not None:
            self._moved = penalty.moved(layout)
        self._raw = np.full(learning.rows.targets.size, start)
        self.at = problem.at(self._rows, self._raw)

    def grow(self, grower: Grower) -> FloatArray | None:
        """Values of the leaves of one more tree; `None` if nothing can be split."""
        bent = curved(self._problem, self._rows, self.at, self._moved)
        if not grower.grow(_in_single(self.at.gradient), _in_single(bent.bound)):
            return None
        leaves = grower.leaves(self._inputs)
        values = leaf_values(self._problem, self._rows, self.at, bent, leaves)
        for _ in range(_HALVINGS):
            raw = self._raw + values[leaves]
            after = self._problem.at(self._rows, raw)
            if after.objective <= self.at.objective + _ROUNDING * abs(self.at.objective):
                self._raw, self.at = raw, after
                return values
            values = 0.5 * values
        return np.zeros(values.size)


def _in_single(values: FloatArray) -> FloatArray:
    """Values that single precision holds, in the same proportions: libraries keep them so.

    What trees are grown by may be scaled; the values of their leaves are found without it.
    """
    largest = float(np.abs(values).max())
    if largest == 0.0 or _SINGLE[0] < largest < _SINGLE[1]:
        return values
    scaled: FloatArray = values / largest
    return scaled


def boost(
    problem: Problem,
    grower: Grower,
    learning: Learning,
    watching: Watching | None,
    *,
    start: float,
    rounds: int,
    patience: int,
    follow: Callable[[int], None],
) -> Boosted:
    """Boost, and stop by what is watched.

    Parameters
    ----------
    problem : what is made small.
    grower : a library, on the rows to learn from.
    learning : those rows.
    watching : rows held back; `None` watches the rows to learn from.
    start : raw score before the first tree.
    rounds, patience : trees at the most, and trees without improvement after which to stop.
    follow : told the number of every tree.
    """
    training = _Training(problem, learning, start)
    raw = np.full(watching.size if watching else 0, start)

    def seen() -> tuple[float, float]:
        if watching is None:
            return training.at.objective, training.at.loss
        return watching.seen(raw)

    objectives, losses, values = [seen()[0]], [], list[FloatArray]()
    stopped = False
    while not stopped and len(values) < rounds:
        tree = training.grow(grower)
        if tree is None:
            stopped = True
            break
        values.append(tree)
        if watching is not None:
            raw += tree[grower.leaves(watching.inputs)]
        objective, loss = seen()
        objectives.append(objective)
        losses.append(loss)
        follow(len(values))
        stopped = len(objectives) - 1 - int(np.argmin(objectives)) >= patience
    trees = int(np.argmin(objectives))
    model = grower.finished(values[:trees]) if trees else None
    return Boosted(model, start, trees, tuple(losses), tuple(objectives), stopped)
