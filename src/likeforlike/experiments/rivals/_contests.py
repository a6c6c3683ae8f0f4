"""Models that are trained against adversaries: costs of guesses, the loop, and estimators' base.

An adversary guesses the group A in {0, 1} of a row from the output of a model and, if parity is to
hold among equals, from its level L. Its cost is the weighted mean of a loss, with weights
w_i = P(A != a_i | L = l_i). They make both groups weigh P(l) π_l (1 - π_l) in every level, where
π_l = P(A = 1 | l), so the best guess h*(f, l) = P(f | 1, l) / (P(f | 1, l) + P(f | 0, l)) is 1/2
everywhere if and only if f and A are independent given L. Without weights it is P(A = 1 | f, l),
and a model that is fair among equals is still penalized. Under the absolute loss a guess h costs

    Σ_{A=1} w_i (1 - h_i) + Σ_{A=0} w_i h_i = S/2 - Q(h),      S = 2 Σ_l P(l) π_l (1 - π_l),

with Q(h) = E[1{A=1} P(A=0 | L) h - 1{A=0} P(A=1 | L) h] of Xu et al. (2020). The lowest cost, for
weights of mean 1, is 1/2 - R_DCFR / S, where R_DCFR = Σ_l P(l) π_l (1 - π_l) TV_l is what
`likeforlike.disparity.tv_overlap` computes. Under the squared loss it is (1/S) Σ_l P(l) π_l
(1 - π_l) ∫ pq / (p + q), p and q the densities of f in the two groups.

A low loss may mean no more than an adversary that lags behind, so no epoch is chosen on validation
rows: a model with an adversary keeps its last weights. It settles since the learning rate falls
linearly to 0, as Zhang et al. (2018) ask (steps of order 1/t), and since Adam has no momentum, with
which the two circle around each other. A model of strength 0 has no adversary and stops early.
`_adversarial` defines the steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeAlias, TypeVar

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


@dataclass(frozen=True, slots=True)
class View:
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
        """Join signals (m, b, c) of the models with the levels, as inputs of the adversaries."""
        return torch.cat([signal, self.levels.expand(len(signal), -1, -1)], dim=-1)

    def guess_losses(self, outputs: Tensor, guess: Guess) -> Tensor:
        """Compute the weighted mean of what guesses h = σ(output) (m, b, 1) cost, shape (m,).

        Σ_i w_i loss_i / Σ_i w_i over the batch, so that it is of the same size for any batch.
        """
        plain = outputs[..., 0]
        group = self.group.expand_as(plain)
        if guess == "log":
            each = functional.binary_cross_entropy_with_logits(plain, group, reduction="none")
        else:
            off = (group - torch.sigmoid(plain)).abs()
            each = off if guess == "absolute" else off**2
        total = self.weight.sum(dim=1).clamp_min(torch.finfo(plain.dtype).tiny)
        return (each * self.weight).sum(dim=1) / total

    def blind_losses(self, guess: Guess) -> Tensor:
        """Compute what guesses from the level alone cost, shape (m,) or (1,)."""
        return self.guess_losses(self.blind[..., None], guess)


class Opponent:
    """Weights of guesses, and what an adversary sees, from the rows that are trained on.

    Attributes
    ----------
    columns : how many columns the adversary sees next to the signal of the model.
    """

    def __init__(self, rows: Rows, *, conditional: bool = True, weighted: bool = True) -> None:
        check_two_groups(rows.layout)
        self._conditional = conditional and len(rows.layout.levels) > 1
        self.columns = len(rows.layout.levels) if self._conditional else 0
        n_levels = len(rows.layout.levels)
        mass = np.stack(
            [
                np.bincount(
                    rows.layout.segments[split],
                    None if rows.weight is None else rows.weight[split].double().numpy(),
                    minlength=2 * n_levels,
                ).reshape(n_levels, 2)
                for split in range(rows.splits)
            ]
        ).astype(np.float64)
        if not self._conditional:
            mass = mass.sum(axis=1, keepdims=True)
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


def check_two_groups(layout: Layout) -> None:
    """Raise unless there are two groups, which is what an adversary here can tell apart."""
    if len(layout.groups) != 2:
        raise InputError(
            f"an adversary tells two groups apart, but sensitive_features has {len(layout.groups)}:"
            f" {list(layout.groups)}; merge them into two, such as one group against the rest."
        )


Optimizer = Literal["adam", "adadelta"]
"""Name of an optimizer."""


class Learner:
    """A stack of networks and the state of its optimizer.

    Parameters
    ----------
    rate : learning rate, at the start.
    momentum : of Adam, the β_1 of its authors.
    epochs : over which the rate falls linearly to 0; `None` keeps it.
    """

    def __init__(
        self,
        network: StackedMLP,
        rate: float,
        *,
        optimizer: Optimizer = "adam",
        momentum: float = 0.0,
        epochs: int | None = None,
    ) -> None:
        self.network = network
        self._rate, self._epochs = rate, epochs
        self._optimizer = (
            Adadelta(network.weights, rate)
            if optimizer == "adadelta"
            else Adam(network.weights, rate, momentum)
        )

    @property
    def weights(self) -> list[Tensor]:
        """The weights that gradients are taken for, each (m, ...)."""
        return list(self.network.weights)

    def descend(self, gradients: Sequence[Tensor | None]) -> None:
        """Step against the gradients (m, ...) of the weights; a weight with none stays put."""
        self._optimizer.step(gradients)

    def begin(self, epoch: int) -> None:
        """Take the learning rate of an epoch, counted from 0."""
        left = 1.0 if self._epochs is None else 1.0 - epoch / self._epochs
        self._optimizer.rate = left * self._rate

    def select(self, members: Tensor) -> None:
        """Go on with some of the members."""
        self.network = self.network.select(members)
        self._optimizer.keep(members, self.network.weights)


Batch: TypeAlias = tuple[Tensor, Tensor, Tensor | None, View | None]
"""Inputs (m, b, d), targets and sample weights (m, b) or `None`, and what adversaries see of them;
1 in the place of m if all members see the same rows."""


class ContestEstimator(NetworkEstimator):
    """An estimator that is trained against an adversary."""

    strength: float

    @abstractmethod
    def _train_stack(
        self,
        rows: Rows,
        validation: Rows,
        loss: Loss,
        outputs: int = 1,
        *,
        strengths: FloatArray,
        seeds: IntArray,
        splits: IntArray | None = None,
        follow: Follow | None = None,
    ) -> Trained:
        """Train a stack of m models with these settings, each against an adversary.

        There are s data sets of rows and of validation rows, with seeds (s,); `splits` (m,) says
        which one each model takes, and `None` is the first. Models of strength 0, of (m,), have no
        adversary. `follow` is called after every epoch.
        """

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

    def _fit_table(self, table: Table, loss: Loss, outputs: int, seed: int) -> Fitted:
        ready = prepare(table, loss, self.validation_fraction, seed)
        strength = float(self.strength) if ready.grouped else 0.0
        with epochs_bar(self.max_epochs, self.verbose) as tick:
            trained = self._train_stack(
                ready.rows,
                ready.validation,
                loss,
                outputs,
                strengths=np.array([strength]),
                seeds=np.array([seed]),
                follow=lambda epoch: tick(epoch.number % self.max_epochs),
            )
        return finish_fit(ready, Member(trained, 0), strength)


E = TypeVar("E", bound=ContestEstimator)


class Contest(ABC, Generic[E]):
    """A stack of models, their adversaries if there are any, and the rows they see.

    Attributes
    ----------
    estimator : whose settings hold.
    loss : of the models.
    model, adversary : those still in training; no adversary where all strengths are 0.
    members : (a,) integers, which those are.
    """

    def __init__(
        self,
        estimator: E,
        loss: Loss,
        rows: Rows,
        *,
        strengths: FloatArray,
        seeds: IntArray,
        splits: IntArray | None,
        model: Learner,
    ) -> None:
        self.estimator, self.loss, self.model = estimator, loss, model
        self.adversary: Learner | None = None
        self.members: IntArray = np.arange(len(strengths))
        self._rows, self._seeds = rows, seeds
        self._opponent: Opponent | None = None
        self._splits = np.zeros(len(strengths), np.int64) if splits is None else splits
        self._strengths = np.array(strengths, dtype=np.float64)

    def add_adversary(
        self, opponent: Opponent, sizes: tuple[int, ...], optimizer: Optimizer, rate: float
    ) -> None:
        """Set an adversary with layers of these sizes against each model.

        The levels that the adversary sees are added to the first of the sizes.
        """
        others = [seed_for(int(self._seeds[split]), 4) for split in self._splits]
        network = StackedMLP(others, (sizes[0] + opponent.columns, *sizes[1:]))
        self._opponent = opponent
        self.adversary = Learner(
            network.to(self._rows.inputs.dtype),
            rate,
            optimizer=optimizer,
            epochs=self.estimator.max_epochs,
        )

    @property
    def strengths(self) -> FloatArray:
        """(a,) floats, of the members still in training."""
        return self._strengths[self.members]

    @property
    @abstractmethod
    def guess(self) -> Guess:
        """What a guess of the adversaries costs."""

    @abstractmethod
    def learn(self, batch: Batch) -> None:
        """Take the steps of one batch."""

    @abstractmethod
    def losses(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Compute loss (m,) of the models, and what guesses of their adversaries cost, (m,)."""

    @torch.no_grad()
    def judge(self, validation: Rows, number: int) -> Epoch:
        """Measure an epoch: loss, and advantage of the adversaries over guesses from the level."""
        batch = self._batch(*validation.all(self._splits[self.members]))
        losses, cost = self.losses(batch)
        view = batch[3]
        if cost is None or view is None:
            advantage = torch.zeros_like(losses)
        else:
            advantage = (view.blind_losses(self.guess) - cost).clamp_min(0.0)
        loss, value = losses.double().numpy(), advantage.double().numpy()
        return Epoch(number, self.members, loss, value, loss + self.strengths * value)

    def _batch(
        self, inputs: Tensor, targets: Tensor, weight: Tensor | None, layout: Layout
    ) -> Batch:
        if self._opponent is None:
            return inputs, targets, weight, None
        view = self._opponent.view(layout, weight, self._splits[self.members])
        return inputs, targets, weight, view

    def train(
        self, validation: Rows, *, stream: int = 0, first: int = 0, follow: Follow | None = None
    ) -> Trained:
        """Train all members, in batches in which every cell has its share.

        `stream` is that of the random numbers by which batches are drawn, `first` the number of the
        first epoch; `follow` is called after every epoch.
        """
        settings, cells = self.estimator, self._rows.layout.segments
        rngs = [np.random.default_rng([int(seed), stream]) for seed in self._seeds]
        learners = [self.model] if self.adversary is None else [self.model, self.adversary]
        keeper = EarlyStopping(self.model.network, settings.patience)
        curve: list[Epoch] = []
        with limit_to_one_thread():
            for epoch in range(settings.max_epochs):
                for learner in learners:
                    learner.begin(epoch)
                drawn = [
                    make_batches(own, settings.batch_size, rng)
                    for own, rng in zip(cells, rngs, strict=True)
                ]
                for which in zip(*drawn, strict=True):
                    rows = self._rows.take(np.stack(which), self._splits[self.members])
                    self.learn(self._batch(*rows))
                judged = self.judge(validation, first + epoch)
                curve.append(judged)
                # An ever lower rank keeps the last weights; a loss that is no number still shows.
                rank = np.where(self.strengths > 0.0, 0.0 * judged.loss - epoch, judged.loss)
                going = keeper.update(self.model.network, self.members, rank, first + epoch)
                if follow is not None:
                    follow(judged)
                if not going.any():
                    break
                if going.sum() <= 0.8 * going.size:
                    self.members = self.members[going]
                    for learner in learners:
                        learner.select(torch.from_numpy(np.flatnonzero(going)))
        return Trained(keeper.network, keeper.best_epoch, self._strengths, curve)


def make_network(
    rows: Rows, outputs: tuple[int, ...], seeds: IntArray, splits: IntArray | None, members: int
) -> StackedMLP:
    """Make models of the rows' inputs, with layers of the sizes `outputs`, in their precision."""
    own = np.zeros(members, np.int64) if splits is None else splits
    sizes = (rows.inputs.shape[2], *outputs)
    return StackedMLP([int(seeds[split]) for split in own], sizes).to(rows.inputs.dtype)


def seed_for(seed: int, purpose: int) -> int:
    """Return a seed for another purpose, independent of the first."""
    return int(np.random.SeedSequence([seed, purpose]).generate_state(1)[0])


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless a setting is one of the choices."""
    if value not in choices:
        raise InputError(f"{name} must be one of {choices}, not {value!r}.")
