"""Models that are trained against adversaries: costs of guesses, the loop, and estimators' base.

An adversary guesses the group A in {0, 1} of a row from the output of a model and, if parity is to
hold among equals, from its level L. Its cost is the weighted mean of a loss, with weights

    w_i = P(A != a_i | L = l_i).

They make both groups weigh P(l) π_l (1 - π_l) in every level, where π_l = P(A = 1 | l), so the
best guess that may use (f, L) is

    h*(f, l) = P(f | 1, l) / (P(f | 1, l) + P(f | 0, l)),

which is 1/2 everywhere if and only if f and A are independent given L. Without the weights the best
guess is P(A = 1 | f, l): L alone reveals the group wherever it is unevenly spread, and a model that
is fair among equals is still penalized.

Under the absolute loss, a guess h costs

    Σ_{A=1} w_i (1 - h_i) + Σ_{A=0} w_i h_i = S/2 - Q(h),      S = 2 Σ_l P(l) π_l (1 - π_l),

with Q(h) = E[1{A=1} P(A=0 | L) h - 1{A=0} P(A=1 | L) h] of Xu et al. (2020). The lowest cost is
therefore S/2 - R_DCFR, where R_DCFR = Σ_l P(l) π_l (1 - π_l) TV_l is what
`likeforlike.disparity.tv_overlap` computes; for weights of mean 1, as here, 1/2 - R_DCFR / S. Under
the squared loss it is (1/S) Σ_l P(l) π_l (1 - π_l) ∫ pq / (p + q), p and q the densities of f in
the two groups.

A contest has no objective that falls: at first the adversary knows nothing, and later a low loss
may mean no more than an adversary that lags behind for an epoch. Choosing the best epoch on
validation rows would choose just those. So a model with an adversary plays to the end and keeps its
last weights, and two things make it settle there:

- the learning rate falls linearly to 0, as Zhang et al. (2018) ask (steps of order 1/t);
- Adam has no momentum, with which the two players circle around each other instead of settling.

A model of strength 0 has no adversary. It keeps the weights of the lowest validation loss and stops
after `patience` epochs without a lower one. Steps are defined in `_dcfr` and `_adversarial`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike._text import epochs_bar
from likeforlike.errors import InputError
from likeforlike.penalties import Layout
from likeforlike.training import (
    Adadelta,
    Adam,
    EarlyStopping,
    Epoch,
    Fitted,
    Follow,
    Loss,
    Member,
    NetworkEstimator,
    Rows,
    StackedMLP,
    Table,
    Trained,
    finish_fit,
    limit_to_one_thread,
    make_batches,
    prepare,
)

with extra("train"):
    import torch
    from torch import Tensor
    from torch.nn import functional


Guess = Literal["log", "squared", "absolute"]
"""What a guess h = σ(output) costs: -log of the probability of the truth, (A - h)², |A - h|."""


class View(NamedTuple):
    """What an adversary knows of a batch, and what it has to guess.

    Attributes
    ----------
    levels : (m, b, K) indicators of the level, or (1, b, K) if all members see the same rows; no
        columns if the adversary may not see it.
    group : (m, b) or (1, b), what is to be guessed: 1 for the second group, else 0.
    weight : (m, b) or (1, b), what a guess counts.
    blind : (m, b) or (1, b), the output of the best adversary that sees the level alone.
    """

    levels: Tensor
    group: Tensor
    weight: Tensor
    blind: Tensor

    def join(self, signal: Tensor) -> Tensor:
        """Inputs of the adversaries: signals (m, b, c) of the models, with the levels."""
        return torch.cat([signal, self.levels.expand(len(signal), -1, -1)], dim=-1)

    def blind_losses(self, guess: Guess) -> Tensor:
        """Return what guesses from the level alone cost, shape (m,) or (1,)."""
        return guess_losses(self.blind[..., None], self, guess)


class Opponent:
    """The rules an adversary plays by, taken from the rows that are trained on.

    Attributes
    ----------
    columns : how many columns the adversary sees next to the signal of the model.
    """

    def __init__(self, rows: Rows, *, conditional: bool = True, weighted: bool = True) -> None:
        check_two_groups(rows.layout)
        self._conditional = conditional and len(rows.layout.levels) > 1
        self.columns = len(rows.layout.levels) if self._conditional else 0
        mass = _cell_mass(rows, self._conditional)
        weight = mass[..., ::-1] / np.maximum(mass.sum(axis=-1, keepdims=True), 1e-300)
        if not (mass * weight).any(axis=(1, 2)).all():
            raise InputError(
                "no level of the training rows holds both groups, so an adversary has nothing to "
                "guess; use coarser levels."
            )
        if not weighted:
            weight = np.ones_like(weight)
        # A level with one group would have an infinite output; 30 is certainty in single precision.
        log_mass = np.log(np.maximum(mass * weight, 1e-300))
        blind = np.clip(log_mass[..., 1] - log_mass[..., 0], -30.0, 30.0)
        self._weight = torch.tensor(weight.reshape(len(weight), -1), dtype=rows.inputs.dtype)
        self._blind = torch.tensor(blind, dtype=rows.inputs.dtype)

    def view(self, layout: Layout, weight: Tensor | None, splits: IntArray) -> View:
        """Return what adversaries see of a batch."""
        segments = torch.from_numpy(np.ascontiguousarray(layout.segments))
        group = segments % 2
        level = segments // 2 if self._conditional else torch.zeros_like(segments)
        split = torch.from_numpy(splits)[:, None]
        if len(segments) == 1:
            split = split[:1]
        dtype = self._weight.dtype
        counts = self._weight[split, level * 2 + group]
        if self._conditional:
            levels = functional.one_hot(level, self.columns).to(dtype)
        else:
            levels = torch.empty(*level.shape, 0, dtype=dtype)
        return View(
            levels,
            group.to(dtype),
            counts if weight is None else counts * weight,
            self._blind[split, level],
        )


def guess_losses(outputs: Tensor, view: View, guess: Guess) -> Tensor:
    """Compute weighted mean of what the guesses h = σ(output) of every adversary cost, shape (m,).

    Σ_i w_i loss_i / Σ_i w_i over the batch, so that it is of the same size for any batch.
    """
    plain = outputs[..., 0]
    group = view.group.expand_as(plain)
    if guess == "log":
        each = functional.binary_cross_entropy_with_logits(plain, group, reduction="none")
    else:
        off = (group - torch.sigmoid(plain)).abs()
        each = off if guess == "absolute" else off**2
    total = view.weight.sum(dim=1).clamp_min(torch.finfo(plain.dtype).tiny)
    return (each * view.weight).sum(dim=1) / total


def check_two_groups(layout: Layout) -> None:
    """Raise unless there are two groups, which is what an adversary here can tell apart."""
    if len(layout.groups) != 2:
        raise InputError(
            f"an adversary tells two groups apart, but sensitive_features has {len(layout.groups)}:"
            f" {list(layout.groups)}; merge them into two, such as one group against the rest."
        )


def _cell_mass(rows: Rows, conditional: bool) -> FloatArray:
    """Mass of every cell of each data set, shape (s, K, 2); K = 1 if levels do not matter."""
    levels = len(rows.layout.levels)
    by_split = np.stack(
        [
            np.bincount(
                rows.layout.segments[split],
                None if rows.weight is None else rows.weight[split].double().numpy(),
                minlength=2 * levels,
            )
            for split in range(rows.splits)
        ]
    ).astype(np.float64)
    mass = by_split.reshape(rows.splits, levels, 2)
    return mass if conditional else mass.sum(axis=1, keepdims=True)


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
        """Return rows (s, b) of the batches of an epoch, in which every cell has its share."""
        cells = self.rows.layout.segments
        drawn = [
            make_batches(of_split, size, rng) for of_split, rng in zip(cells, rngs, strict=True)
        ]
        return [np.stack(rows) for rows in zip(*drawn, strict=True)]

    def batch(self, which: IntArray) -> Batch:
        """Return what the members see of rows (s, b)."""
        return self._seen(*self.rows.take(which, self._splits[self.members]))

    def whole(self, rows: Rows) -> Batch:
        """Return what the members see of all rows of these or other data sets."""
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
        """Return the rules an adversary plays by."""

    def sizes(self, inputs: int) -> tuple[int, ...]:
        """Return layers of a model with this many inputs."""

    def adversary_sizes(self, columns: int) -> tuple[int, ...]:
        """Return layers of an adversary that sees columns next to what the model says."""


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
        return train_contest(
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


def train_contest(
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
    with limit_to_one_thread():
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
    """Return a seed for another purpose, independent of the first."""
    return int(np.random.SeedSequence([seed, purpose]).generate_state(1)[0])


@dataclass(frozen=True, slots=True)
class ContestData:
    """What there is to train: scaled rows, and what is asked of the outputs.

    Attributes
    ----------
    rows, validation : one data set each; the same one if none could be held back.
    loss : of the outputs.
    outputs : how many there are.
    """

    rows: Rows
    validation: Rows
    loss: Loss
    outputs: int


class ContestEstimator(NetworkEstimator):
    """An estimator that is trained against an adversary."""

    strength: float

    @abstractmethod
    def _train(
        self, task: ContestData, strengths: FloatArray, seed: int, follow: Follow
    ) -> Trained:
        """Train a stack of one."""

    def _check_settings(self) -> None:
        super()._check_settings()
        if not (np.isfinite(self.strength) and self.strength >= 0.0):
            raise InputError(
                f"strength must be a finite number of 0 or more, not {self.strength!r}."
            )

    def _needs_groups(self) -> bool:
        return self.strength > 0.0

    def _check_layout(self, layout: Layout) -> None:
        check_two_groups(layout)

    def _schedule(self, optimizer: Optimizer) -> Schedule:
        usual = 1.0 if optimizer == "adadelta" else 1e-3
        return Schedule(
            learning_rate=usual if self.learning_rate is None else self.learning_rate,
            optimizer=optimizer,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batch_size=self.batch_size,
        )

    def _fit_table(self, table: Table, loss: Loss, outputs: int, seed: int) -> Fitted:
        ready = prepare(table, loss, self.validation_fraction, seed)
        strength = float(self.strength) if ready.grouped else 0.0
        with epochs_bar(self.max_epochs, self.verbose) as tick:
            trained = self._train(
                ContestData(ready.rows, ready.validation, loss, outputs),
                np.array([strength]),
                seed,
                lambda epoch: tick(epoch.number % self.max_epochs),
            )
        return finish_fit(ready, Member(trained, 0), strength)


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless a setting is one of the choices."""
    if value not in choices:
        raise InputError(f"{name} must be one of {choices}, not {value!r}.")
