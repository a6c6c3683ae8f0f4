"""Stacks of models trained against adversaries of their own: who plays, and the loop.

What a step looks like is left to `_dcfr` and `_adversarial`.

A contest has no objective that falls: at first the adversary knows nothing, and later a low loss
may mean no more than an adversary that lags behind for an epoch. Choosing the best epoch on
validation rows would choose just those. So a model with an adversary plays to the end and keeps its
last weights, and two things make it settle there:

- the learning rate falls linearly to 0, as Zhang et al. (2018) ask (steps of order 1/t);
- Adam has no momentum, with which the two players circle around each other instead of settling.

A model of strength 0 has no adversary. It keeps the weights of the lowest validation loss and stops
after `patience` epochs without a lower one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._extras import extra
from likeforlike.experiments.rivals._adversary import Guess, Opponent, View
from likeforlike.penalties import Layout
from likeforlike.training._networks import Adadelta, Adam, Rows, StackedMLP, one_thread
from likeforlike.training._training import EarlyStopping, Epoch, Follow, Trained, batch_rows

with extra("train"):
    import torch
    from torch import Tensor

Optimizer = Literal["adam", "adadelta"]
"""Name of an optimizer."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long steps are, and when they end.

    Attributes
    ----------
    learning_rate : of the optimizer, at the start.
    optimizer : `"adam"`, or `"adadelta"` (with a rate of about 1).
    momentum : of Adam, the β_1 of its authors.
    cooling : the rate falls linearly to 0 over `max_epochs`.
    max_epochs : when to stop.
    patience : epochs without improvement after which a model without adversary stops.
    batch_size : rows of a batch.
    """

    learning_rate: float = 1e-3
    optimizer: Optimizer = "adam"
    momentum: float = 0.0
    cooling: bool = True
    max_epochs: int = 200
    patience: int = 50
    batch_size: int = 256

    def rate(self, epoch: int) -> float:
        """Learning rate in an epoch, counted from 0."""
        left = 1.0 - epoch / self.max_epochs if self.cooling else 1.0
        return left * self.learning_rate


class Learner:
    """A stack of networks and the state of its optimizer."""

    def __init__(self, network: StackedMLP, schedule: Schedule) -> None:
        self.network = network
        self._schedule = schedule
        rate = schedule.learning_rate
        self._optimizer = (
            Adadelta(network.weights, rate)
            if schedule.optimizer == "adadelta"
            else Adam(network.weights, rate, schedule.momentum)
        )

    @property
    def weights(self) -> list[Tensor]:
        """The weights that gradients are taken for, each (m, ...)."""
        return list(self.network.weights)

    def descend(self, gradients: Sequence[Tensor | None]) -> None:
        """One step against the gradients (m, ...) of the weights; a weight with none stays put."""
        self._optimizer.step(gradients)

    def begin(self, epoch: int) -> None:
        """Take the learning rate of an epoch."""
        self._optimizer.rate = self._schedule.rate(epoch)

    def keep(self, members: Tensor) -> None:
        """Go on with some of the members."""
        self.network = self.network.select(members)
        self._optimizer.keep(members, self.network.weights)


class Batch(NamedTuple):
    """Rows as m members see them.

    Attributes
    ----------
    inputs : (m, b, d), or (1, b, d) if all see the same.
    targets : (m, b) or (1, b).
    weight : sample weights of the same shape, or `None`.
    view : what the adversaries see; `None` if there are none.
    strengths : (m,) floats.
    """

    inputs: Tensor
    targets: Tensor
    weight: Tensor | None
    view: View | None
    strengths: Tensor


class Contest:
    """The members still in training, and the rows they see.

    Attributes
    ----------
    members : (a,) integers, who is still in training.
    all_strengths : (m,) floats.
    """

    def __init__(
        self, rows: Rows, opponent: Opponent | None, strengths: FloatArray, splits: IntArray
    ) -> None:
        self.rows = rows
        self.members: IntArray = np.arange(len(strengths))
        self._opponent, self._splits = opponent, splits
        self.all_strengths = np.array(strengths, dtype=np.float64)

    @property
    def strengths(self) -> FloatArray:
        """(a,) floats, of the members still in training."""
        return self.all_strengths[self.members]

    def batches(self, size: int, rngs: Sequence[np.random.Generator]) -> list[IntArray]:
        """Rows (s, b) of the batches of an epoch, in which every cell has its share."""
        cells = self.rows.layout.segments
        drawn = [batch_rows(of_split, size, rng) for of_split, rng in zip(cells, rngs, strict=True)]
        return [np.stack(rows) for rows in zip(*drawn, strict=True)]

    def batch(self, which: IntArray) -> Batch:
        """What the members see of rows (s, b)."""
        return self._seen(*self.rows.take(which, self._splits[self.members]))

    def whole(self, rows: Rows) -> Batch:
        """What the members see of all rows of these or other data sets."""
        return self._seen(*rows.all(self._splits[self.members]))

    def _seen(
        self, inputs: Tensor, targets: Tensor, weight: Tensor | None, layout: Layout
    ) -> Batch:
        splits = self._splits[self.members]
        view = None if self._opponent is None else self._opponent.view(layout, weight, splits)
        return Batch(inputs, targets, weight, view, torch.from_numpy(self.strengths).to(inputs))


class Settings(Protocol):
    """What the settings of any contest say."""

    @property
    def schedule(self) -> Schedule:
        """Rates, epochs, batches."""

    def opponent(self, rows: Rows) -> Opponent:
        """The rules an adversary plays by."""

    def sizes(self, inputs: int) -> tuple[int, ...]:
        """Layers of a model with so many inputs."""

    def adversary_sizes(self, columns: int) -> tuple[int, ...]:
        """Layers of an adversary that sees so many columns beside what the model says."""


S = TypeVar("S", bound=Settings)


@dataclass(frozen=True, slots=True)
class Players(ABC, Generic[S]):
    """Stacks of models and of their adversaries, if there are any."""

    model: Learner
    adversary: Learner | None
    settings: S

    @classmethod
    def play(
        cls,
        rows: Rows,
        validation: Rows,
        settings: S,
        *,
        strengths: FloatArray,
        seeds: IntArray,
        splits: IntArray | None = None,
        follow: Follow | None = None,
    ) -> Trained:
        """Train a stack of models, each against an adversary unless its strength is 0."""
        splits = np.zeros(len(strengths), np.int64) if splits is None else splits
        dtype, schedule = rows.inputs.dtype, settings.schedule
        own_seeds = [int(seeds[split]) for split in splits]
        network = StackedMLP(own_seeds, settings.sizes(rows.inputs.shape[2]))
        opponent, adversary = None, None
        if np.any(strengths):
            opponent = settings.opponent(rows)
            others = [derived_seed(seed, 4) for seed in own_seeds]
            guessing = StackedMLP(others, settings.adversary_sizes(opponent.columns))
            adversary = Learner(guessing.to(dtype), schedule)
        players = cls(Learner(network.to(dtype), schedule), adversary, settings)
        return contend(
            Contest(rows, opponent, strengths, splits),
            players,
            validation=validation,
            schedule=schedule,
            rngs=[np.random.default_rng([int(seed), 0]) for seed in seeds],
            follow=follow,
        )

    @property
    def learners(self) -> list[Learner]:
        """Who is trained, models first."""
        return [self.model] if self.adversary is None else [self.model, self.adversary]

    @abstractmethod
    def learn(self, batch: Batch) -> None:
        """Take the steps of one batch."""

    @property
    @abstractmethod
    def guess(self) -> Guess:
        """What a guess of the adversaries costs."""

    @abstractmethod
    def losses(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Loss (m,) of the models; what the guesses of their adversaries cost, (m,), if any."""

    def judge(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Loss (m,), and advantage (m,) of the adversaries over guesses from the level alone."""
        loss, cost = self.losses(batch)
        if cost is None or batch.view is None:
            return loss, torch.zeros_like(loss)
        return loss, (batch.view.blind_losses(self.guess) - cost).clamp_min(0.0)


def contend(
    contest: Contest,
    players: Players[S],
    *,
    validation: Rows,
    schedule: Schedule,
    rngs: Sequence[np.random.Generator],
    first: int = 0,
    follow: Follow | None = None,
) -> Trained:
    """Train the members of a contest."""
    learners = players.learners
    keeper = EarlyStopping(learners[0].network, schedule.patience)
    curve: list[Epoch] = []
    with one_thread():
        for epoch in range(schedule.max_epochs):
            for learner in learners:
                learner.begin(epoch)
            for which in contest.batches(schedule.batch_size, rngs):
                players.learn(contest.batch(which))
            seen = _look(contest, players, validation, first + epoch)
            curve.append(seen)
            # An ever lower rank keeps the last weights; a loss that is no number still shows.
            rank = np.where(contest.strengths > 0.0, 0.0 * seen.loss - epoch, seen.loss)
            going = keeper.update(learners[0].network, contest.members, rank, first + epoch)
            if follow is not None:
                follow(seen)
            if not going.any():
                break
            if going.sum() <= 0.8 * going.size:
                contest.members = contest.members[going]
                for learner in learners:
                    learner.keep(torch.from_numpy(np.flatnonzero(going)))
    return Trained(keeper.network, keeper.best_epoch, contest.all_strengths, curve)


@torch.no_grad()
def _look(contest: Contest, players: Players[S], validation: Rows, number: int) -> Epoch:
    loss, value = (part.double().numpy() for part in players.judge(contest.whole(validation)))
    return Epoch(number, contest.members, loss, value, loss + contest.strengths * value)


def derived_seed(seed: int, purpose: int) -> int:
    """A seed for another purpose, independent of the first."""
    return int(np.random.SeedSequence([seed, purpose]).generate_state(1)[0])
