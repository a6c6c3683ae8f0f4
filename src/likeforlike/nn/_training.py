"""The loop that trains a stack of networks against a penalty.

Each member minimizes

    loss(f) + strength * V(f)

with Adam on batches in which every cell has its share, stops when the objective on validation rows
has not improved for `patience` epochs, and gets its best weights back. On validation rows the
penalty may be taken without what chance alone makes of it (`stopping`). In training it is either

- read off a slope field (`penalties.field`) that is made from a large sample of rows every few
  steps: no bias of small batches, at little cost. That of the sample is left, and with hundreds of
  levels its cells are thin: .01 of AUC at parity (`benchmarks/stopping.py`); or
- evaluated on each batch, as in the paper (`penalty_rows=None`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np
import torch

from likeforlike._arrays import FloatArray, IntArray, is_one_of
from likeforlike.errors import InputError
from likeforlike.nn._backward import forward, output_slopes
from likeforlike.nn._batch_gradient import BatchSlopes, penalize
from likeforlike.nn._batches import batch_rows
from likeforlike.nn._chance import Chance
from likeforlike.nn._data import Rows
from likeforlike.nn._early_stopping import Keeper
from likeforlike.nn._objectives import Loss, losses, scores_of
from likeforlike.nn._optimizers import Adam
from likeforlike.nn._stacked import StackedMLP
from likeforlike.nn._threads import one_thread
from likeforlike.penalties import Penalty
from likeforlike.penalties._even_order import even_order

Stopping = Literal["plug-in", "excess"]
"""What is watched: loss + strength * V, or without what chance alone makes of V."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to train.

    Attributes
    ----------
    loss : `"logistic"`, `"softmax"` or `"squared"`.
    penalty : or `None`.
    learning_rate : of Adam.
    max_epochs, patience : when to stop at the latest, and after how many epochs without
        improvement.
    batch_size : rows of a batch.
    penalty_rows : rows of the sample the slope field is made of; `None` penalizes each batch.
    penalty_every : steps between two fields; `None` takes as many as make the sample cost about
        what the batches do.
    stopping : what is watched on the validation rows: `"plug-in"`, loss + strength * V, as the
        paper does, or `"excess"`, the same without what chance alone makes of V.
    strata : every batch has its share of all `"cells"` (levels by groups), or of all `"levels"`, as
        in the paper.
    validation_rows : V on the validation rows is the mean over stratified blocks of about so many;
        `None` takes all rows at once. For penalties that take O(n²).

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.nn import Recipe
    >>> Recipe("logistic", lfl.FairLeap(), batch_size=256).refresh
    8
    """

    loss: Loss = "squared"
    penalty: Penalty | None = None
    learning_rate: float = 1e-3
    max_epochs: int = 500
    patience: int = 50
    batch_size: int = 128
    penalty_rows: int | None = 4096
    penalty_every: int | None = None
    stopping: Stopping = "plug-in"
    strata: Literal["cells", "levels"] = "cells"
    validation_rows: int | None = None

    def __post_init__(self) -> None:
        counts = ("max_epochs", "patience", "batch_size", "penalty_rows", "penalty_every")
        for name in (*counts, "validation_rows"):
            given = getattr(self, name)
            if given is not None and given < 1:
                raise InputError(f"{name} must be at least 1, not {given!r}.")
        if not is_one_of(self.stopping, get_args(Stopping)):
            raise InputError(
                f"stopping must be one of {get_args(Stopping)}, not {self.stopping!r}."
            )

    @property
    def refresh(self) -> int:
        """Steps between two fields."""
        if self.penalty_every is not None:
            return self.penalty_every
        return max(1, (self.penalty_rows or 0) // (2 * self.batch_size))


@dataclass(frozen=True, slots=True)
class Epoch:
    """What an epoch found on the validation rows, for the members still in training.

    Attributes
    ----------
    number : of the epoch, from 0.
    members : (a,) integers.
    loss, value, objective : (a,) floats, the loss, the penalty V, and what is watched: loss +
        strength * V, or without what chance makes of V.
    """

    number: int
    members: IntArray
    loss: FloatArray
    value: FloatArray
    objective: FloatArray


@dataclass(slots=True)
class Trained:
    """A stack at its best weights.

    Attributes
    ----------
    network : the m members.
    best_epoch : (m,) integers.
    strengths : (m,) floats, as they were at the end.
    curve : what every epoch found.
    """

    network: StackedMLP
    best_epoch: IntArray
    strengths: FloatArray
    curve: list[Epoch] = field(default_factory=list)


Follow = Callable[[Epoch], None]


@torch.no_grad()
def evaluate(
    network: StackedMLP,
    rows: Rows,
    splits: IntArray,
    recipe: Recipe,
    blocks: Sequence[IntArray] | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Loss (m,), penalty (m,) and scores (m, n) or (m, n, c) of every member on all rows.

    With `blocks` of rows, (s, b) each, the penalty is the mean over them.
    """
    targets, weight, layout = rows.all_but_inputs(splits)
    outputs = network.predict(rows.inputs, splits)
    loss = losses(outputs, targets, weight, recipe.loss).cpu().double().numpy()
    scores = scores_of(outputs, recipe.loss).cpu().double().numpy()
    values = np.zeros(len(scores))
    if recipe.penalty is not None and blocks is None:
        values, _ = penalize(recipe.penalty, scores, layout)
    elif recipe.penalty is not None and blocks is not None:
        for block in blocks:
            which = block[splits] if len(block) > 1 else np.repeat(block, len(scores), axis=0)
            part = np.take_along_axis(
                scores, which.reshape(*which.shape, *[1] * (scores.ndim - 2)), 1
            )
            values += penalize(recipe.penalty, part, rows.layout.take(block).for_members(splits))[0]
        values /= len(blocks)
    return loss, values, scores


def _stratified_blocks(rows: Rows, size: int | None) -> list[IntArray] | None:
    """Blocks (s, b) of about `size` rows that together are all rows; `None` without a size."""
    if size is None:
        return None
    orders = [even_order(cells, np.random.default_rng(0)) for cells in rows.layout.strata]
    return np.array_split(np.stack(orders), max(1, rows.size // size), axis=1)


def train(
    network: StackedMLP,
    rows: Rows,
    validation: Rows,
    recipe: Recipe,
    *,
    strengths: FloatArray,
    seeds: IntArray,
    splits: IntArray | None = None,
    follow: Follow | None = None,
) -> Trained:
    """Train a stack of networks."""
    rows, validation = _prepared(rows, recipe), _prepared(validation, recipe)
    loop = _Loop(network, rows, recipe, strengths, seeds, splits)
    chance = None
    if recipe.penalty is not None and recipe.stopping == "excess":
        chance = Chance(recipe.penalty, validation.layout)
    blocks = _stratified_blocks(validation, recipe.validation_rows)
    keeper = Keeper(network, recipe.patience)
    curve: list[Epoch] = []
    with one_thread():
        for number in range(recipe.max_epochs):
            # Who diverges is told by the objective and stops; numpy need not warn as well.
            with np.errstate(over="ignore", invalid="ignore"):
                loop.epoch()
                seen = loop.validate(validation, number, chance, blocks)
            curve.append(seen)
            going = keeper.look(loop.network, loop.members, seen.objective, number)
            if follow is not None:
                follow(seen)
            if not going.any():
                break
            loop.drop(going)
    return Trained(keeper.network, keeper.best_epoch, loop.all_strengths, curve)


def _prepared(rows: Rows, recipe: Recipe) -> Rows:
    """The rows as the penalty takes them, so that it works out once what never changes."""
    if recipe.penalty is None:
        return rows
    return replace(rows, layout=recipe.penalty.prepared(rows.layout))


def _plain(network: StackedMLP) -> list[torch.Tensor]:
    """The weights and biases of a stack as a list; a `ParameterList` looks each up by its name."""
    return [weight.detach() for weight in network.weights]


class _Loop:
    """The members still in training, with the state of their optimizer."""

    def __init__(
        self,
        network: StackedMLP,
        rows: Rows,
        recipe: Recipe,
        strengths: FloatArray,
        seeds: IntArray,
        splits: IntArray | None,
    ) -> None:
        self.members = np.arange(network.members)
        self.network = network.select(torch.arange(network.members))
        self._weights = _plain(self.network)
        self.all_strengths = np.array(strengths, dtype=np.float64)
        self._splits = np.zeros(network.members, np.int64) if splits is None else splits
        self._strengths = self.all_strengths[:, None]
        self._rows, self._recipe = rows, recipe
        self._rngs = [np.random.default_rng([int(seed), 0]) for seed in seeds]
        self._slopes: BatchSlopes | None = None
        if recipe.penalty is not None and self.all_strengths.any():
            self._slopes = BatchSlopes(
                recipe.penalty,
                recipe.loss,
                rows,
                seeds,
                recipe.penalty_rows,
                recipe.refresh,
            )
        self._adam = Adam(self._weights, recipe.learning_rate)

    def epoch(self) -> None:
        """Pass through all rows once."""
        cells = self._rows.layout.strata
        if self._recipe.strata == "levels":
            cells = cells // len(self._rows.layout.groups)
        batches = np.stack(
            [
                batch_rows(of_split, self._recipe.batch_size, rng)
                for of_split, rng in zip(cells, self._rngs, strict=True)
            ]
        )
        for step in range(batches.shape[1]):
            self._learn(np.ascontiguousarray(batches[:, step]))

    def _learn(self, which: IntArray) -> None:
        inputs, targets, weight, layout = self._rows.take(which, self._splits)
        outputs, back = forward(self.network, self._weights, inputs)
        loss, pull = self._recipe.loss, None
        if self._slopes is not None:
            plain = scores_of(outputs, loss).cpu().double().numpy()
            gradient = self._slopes(self.network, plain, layout, which, self._splits)
            # The penalty enters by its gradient alone.
            strength = self._strengths if plain.ndim == 2 else self._strengths[:, :, None]
            pull = torch.from_numpy(gradient * strength).to(outputs)
        self._adam.step(back(output_slopes(outputs, targets, weight, loss, pull)))

    def validate(
        self,
        validation: Rows,
        number: int,
        chance: Chance | None,
        blocks: Sequence[IntArray] | None,
    ) -> Epoch:
        """Loss, penalty and objective on the validation rows."""
        loss, values, scores = evaluate(
            self.network, validation, self._splits, self._recipe, blocks
        )
        excess = values if chance is None else values - chance(scores, self._splits)
        objective = loss + self._strengths[:, 0] * excess
        return Epoch(number, self.members, loss, values, objective)

    def drop(self, going: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Leave out members that have stopped, once there are enough of them to be worth it."""
        if going.sum() > 0.8 * going.size:
            return
        kept = torch.from_numpy(np.flatnonzero(going))
        self.network = self.network.select(kept)
        self._weights = _plain(self.network)
        self.members, self._splits = self.members[going], self._splits[going]
        self._strengths = self._strengths[going]
        self._adam.keep(kept, self._weights)
        if self._slopes is not None:
            self._slopes.keep(np.flatnonzero(going))
