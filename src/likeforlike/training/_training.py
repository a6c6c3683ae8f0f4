"""The loop that trains a stack of networks against a penalty, and the rows it trains on.

Each member minimizes loss(f) + strength * V(f) with Adam on batches in which every cell has its
share, stops when the objective on validation rows has not improved for `patience` epochs, and gets
its best weights back. In training V is either

- read off a `SlopeField` that is made from a large sample of rows every few steps: no bias of small
  batches, at little cost. That of the sample is left, and with hundreds of levels its cells are
  thin: .01 of AUC at parity (`benchmarks/stopping.py`); or
- evaluated on each batch, as in the paper (`penalty_rows=None`).

On validation rows V may be taken without its expected value under parity (`stopping="excess"`), the
mean over a few fixed permutations of groups inside their levels. V of samples is too large by about
the variance of the scores over the rows of a cell. A network with constant scores escapes that, so
stopping by loss + strength * V stops strong penalties after a few epochs.

Inputs are standardized, and so is the target of a regression. The objective is that of the target
in its own unit: with y = μ + σ y', squared errors carry σ² and a penalty of order p carries σ^p, so
a strength is multiplied by σ^{p-2} inside (`strength_unit`), and constants of a penalty in the unit
of costs are divided by σ^p (`Layout.unit`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike._settings import is_one_of
from likeforlike.errors import InputError
from likeforlike.penalties import Layout, Penalty, SlopeField, stratified_order
from likeforlike.training._limits import HeldRows, Table
from likeforlike.training._networks import (
    Adam,
    Loss,
    Rows,
    StackedMLP,
    forward,
    limit_to_one_thread,
    mean_losses,
    output_slopes,
    to_scores,
)
from likeforlike.transport import Scale, means_and_spreads, normalize_weights

with extra("train"):
    import torch


def evaluate_penalty(
    penalty: Penalty, scores: FloatArray, layout: Layout
) -> tuple[FloatArray, FloatArray]:
    """Compute values (m,) and gradients of a penalty on scores (m, n) or (m, n, c)."""
    plain = np.ascontiguousarray(scores)
    if plain.ndim == 2:
        return penalty.evaluate(plain, layout)
    return penalty.evaluate_classes(plain, layout)


class PenaltyGradient:
    """Compute gradients of a penalty for the rows of batches."""

    def __init__(self, recipe: Recipe, rows: Rows, seeds: IntArray) -> None:
        assert recipe.penalty is not None
        self._penalty, self._recipe, self._rows = recipe.penalty, recipe, rows
        self._rngs = [np.random.default_rng([int(seed), 1]) for seed in seeds]
        self._fields: list[SlopeField] = []
        self._orders: IntArray = np.empty((len(seeds), 0), np.int64)
        self._place = 0
        self._step = 0
        # Moved mass of a row, times the number of rows: what a row of a batch stands for.
        splits = [rows.layout.select_model(k) for k in range(rows.splits)]
        self._density = np.stack(
            [self._penalty.transported_mass(split) * rows.size for split in splits]
        )

    def __call__(
        self,
        network: StackedMLP,
        scores: FloatArray,
        layout: Layout,
        which: IntArray,
        splits: IntArray,
    ) -> FloatArray:
        """Return ∂V / ∂scores, in their shape, for the rows `which` (s, b) of the batch."""
        if self._recipe.penalty_rows is None:
            return evaluate_penalty(self._penalty, scores, layout)[1]
        if self._step % self._recipe.refresh == 0:
            self._refresh(network, splits)
        self._step += 1
        # What the rows of the batch stand for, for every member (m, c b).
        places = self._rows.layout.locate_places(which)
        if self._rows.splits == 1:
            share: FloatArray = self._density[0][places] / which.shape[1]
        else:
            share = (np.take_along_axis(self._density, places, axis=1) / which.shape[1])[splits]
        if scores.ndim == 2:
            return layout.sum_places(self._fields[0].gradient(scores, layout) * share)
        by_class = [
            layout.sum_places(field.gradient(np.ascontiguousarray(scores[:, :, c]), layout) * share)
            for c, field in enumerate(self._fields)
        ]
        return np.stack(by_class, axis=2)

    def _next_sample(self) -> IntArray:
        """Return rows (s, r) of the next sample, the next stretch of a stratified order."""
        size = min(self._recipe.penalty_rows or 0, self._rows.size)
        if self._place + size > self._orders.shape[1]:
            cells = self._rows.layout.cell_codes
            drawn = [
                stratified_order(of_split, rng)
                for of_split, rng in zip(cells, self._rngs, strict=True)
            ]
            self._orders, self._place = np.stack(drawn), 0
        self._place += size
        return np.ascontiguousarray(self._orders[:, self._place - size : self._place])

    def _refresh(self, network: StackedMLP, splits: IntArray) -> None:
        """Make the field of a new sample of rows."""
        sample = self._next_sample()
        inputs, layout = self._rows.take_inputs(sample), self._rows.layout.take(sample)
        computed = to_scores(network.predict(inputs, splits), self._recipe.loss)
        scores, precision = computed.cpu().double().numpy(), torch.finfo(computed.dtype).eps
        moved = np.stack(
            [self._penalty.transported_mass(layout.select_model(k)) for k in range(len(sample))]
        )
        if self._rows.splits > 1:
            layout, moved = layout.select_splits(splits), moved[splits]
        stack = scores[:, :, None] if scores.ndim == 2 else scores
        self._fields = [
            SlopeField.fit(
                self._penalty,
                np.ascontiguousarray(stack[:, :, c]),
                layout,
                moved,
                precision=precision,
            )
            for c in range(stack.shape[2])
        ]

    def keep(self, members: IntArray) -> None:
        """Go on with some members of the stack; their field and its age stay as they are."""
        self._fields = [field.select(members) for field in self._fields]


_PERMUTATIONS = 4
_SEED = 0


class ParityBaseline:
    """Mean penalty of scores whose groups were permuted; 0 where they cannot be."""

    def __init__(self, penalty: Penalty, layout: Layout) -> None:
        rng = np.random.default_rng(_SEED)
        permuted = [penalty.permute_under_parity(layout, rng) for _ in range(_PERMUTATIONS)]
        self._penalty = penalty
        self._layouts = [each for each in permuted if each is not None]

    def __call__(self, scores: FloatArray, splits: IntArray) -> FloatArray:
        """Compute values (m,) of scores (m, n) or (m, n, c) of members that see these splits."""
        if not self._layouts:
            return np.zeros(len(scores))
        found = [
            evaluate_penalty(self._penalty, scores, layout.select_splits(splits))[0]
            for layout in self._layouts
        ]
        mean: FloatArray = np.mean(found, axis=0)
        return mean


class EarlyStopping:
    """Keep the best weights of every member, and stop members that no longer improve."""

    def __init__(self, network: StackedMLP, patience: int) -> None:
        members = torch.arange(network.members)
        self.network = network.select(members)
        self.patience = patience
        self.best: FloatArray = np.full(network.members, np.inf)
        self.best_epoch: IntArray = np.full(network.members, -1)
        self._stopped = np.zeros(network.members, bool)

    def update(
        self, network: StackedMLP, members: IntArray, objective: FloatArray, epoch: int
    ) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Note the objective of the members in `network`; return which of them should go on.

        A member whose objective is not a number has diverged and stops. A stopped member stays
        stopped, even if the stack still carries it along: its result may not depend on others.
        """
        going: np.ndarray[tuple[int], np.dtype[np.bool_]] = ~self._stopped[members]
        better = going & (objective < self.best[members])
        if better.any():
            which = np.flatnonzero(better)
            self.network.keep(torch.from_numpy(members[which]), network, torch.from_numpy(which))
            self.best[members[which]] = objective[which]
            self.best_epoch[members[which]] = epoch
        going &= (epoch - self.best_epoch[members] < self.patience) & np.isfinite(objective)
        self._stopped[members[~going]] = True
        return going


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
    validation_rows : V on the validation rows is the mean over stratified blocks of about this
        size; `None` takes all rows at once. For penalties that take O(n²).
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
    loss, value, objective : (a,) floats, the loss, the penalty V, and what is watched.
    """

    number: int
    members: IntArray
    loss: FloatArray
    value: FloatArray
    objective: FloatArray


@dataclass(slots=True)
class Trained:
    """A stack of m members at its best weights.

    Attributes
    ----------
    network : the members.
    best_epoch, strengths : (m,) integers; (m,) floats, as they were at the end.
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
    """Compute loss (m,), penalty (m,) and scores (m, n) or (m, n, c) of every member on all rows.

    With `blocks` of rows, (s, b) each, the penalty is the mean over them.
    """
    targets, weight, layout = rows.all_but_inputs(splits)
    outputs = network.predict(rows.inputs, splits)
    loss = mean_losses(outputs, targets, weight, recipe.loss).cpu().double().numpy()
    scores = to_scores(outputs, recipe.loss).cpu().double().numpy()
    values = np.zeros(len(scores))
    if recipe.penalty is not None and blocks is None:
        values, _ = evaluate_penalty(recipe.penalty, scores, layout)
    elif recipe.penalty is not None and blocks is not None:
        for block in blocks:
            which = block[splits] if len(block) > 1 else np.repeat(block, len(scores), axis=0)
            part = np.take_along_axis(
                scores, which.reshape(*which.shape, *[1] * (scores.ndim - 2)), 1
            )
            values += evaluate_penalty(
                recipe.penalty, part, rows.layout.take(block).select_splits(splits)
            )[0]
        values /= len(blocks)
    return loss, values, scores


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
    if recipe.penalty is not None:
        # The penalty works out once what never changes.
        rows, validation = (
            replace(one, layout=recipe.penalty.prepare(one.layout)) for one in (rows, validation)
        )
    loop = _Loop(network, rows, recipe, strengths, seeds, splits)
    chance = None
    if recipe.penalty is not None and recipe.stopping == "excess":
        chance = ParityBaseline(recipe.penalty, validation.layout)
    blocks = None
    if recipe.validation_rows is not None:
        cells, parts = validation.layout.cell_codes, validation.size // recipe.validation_rows
        orders = np.stack([stratified_order(each, np.random.default_rng(0)) for each in cells])
        blocks = np.array_split(orders, max(1, parts), axis=1)
    keeper = EarlyStopping(network, recipe.patience)
    curve: list[Epoch] = []
    with limit_to_one_thread():
        for number in range(recipe.max_epochs):
            # A member that diverges has no finite objective and stops; numpy need not warn as well.
            with np.errstate(over="ignore", invalid="ignore"):
                loop.epoch()
                loss, values, scores = evaluate(
                    loop.network, validation, loop.splits, recipe, blocks
                )
                excess = values if chance is None else values - chance(scores, loop.splits)
                objective = loss + loop.strengths[:, 0] * excess
            seen = Epoch(number, loop.members, loss, values, objective)
            curve.append(seen)
            going = keeper.update(loop.network, loop.members, seen.objective, number)
            if follow is not None:
                follow(seen)
            if not going.any():
                break
            loop.drop(going)
    return Trained(keeper.network, keeper.best_epoch, loop.all_strengths, curve)


def _list_weights(network: StackedMLP) -> list[torch.Tensor]:
    """List weights and biases of a stack: a `ParameterList` looks each up by its name."""
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
        self._weights = _list_weights(self.network)
        self.all_strengths = np.array(strengths, dtype=np.float64)
        self.splits = np.zeros(network.members, np.int64) if splits is None else splits
        self.strengths = self.all_strengths[:, None]
        self._rows, self._recipe = rows, recipe
        self._rngs = [np.random.default_rng([int(seed), 0]) for seed in seeds]
        self._slopes: PenaltyGradient | None = None
        if recipe.penalty is not None and self.all_strengths.any():
            self._slopes = PenaltyGradient(recipe, rows, seeds)
        self._adam = Adam(self._weights, recipe.learning_rate)

    def epoch(self) -> None:
        """Pass through all rows once."""
        cells = self._rows.layout.cell_codes
        if self._recipe.strata == "levels":
            cells = cells // len(self._rows.layout.groups)
        batches = np.stack(
            [
                make_batches(of_split, self._recipe.batch_size, rng)
                for of_split, rng in zip(cells, self._rngs, strict=True)
            ]
        )
        loss, strength = self._recipe.loss, self.strengths
        for step in range(batches.shape[1]):
            which, pull = np.ascontiguousarray(batches[:, step]), None
            inputs, targets, weight, layout = self._rows.take(which, self.splits)
            outputs, back = forward(self.network, self._weights, inputs)
            if self._slopes is not None:
                plain = to_scores(outputs, loss).cpu().double().numpy()
                gradient = self._slopes(self.network, plain, layout, which, self.splits)
                # The penalty enters by its gradient alone.
                factor = strength if plain.ndim == 2 else strength[:, :, None]
                pull = torch.from_numpy(gradient * factor).to(outputs)
            self._adam.step(back(output_slopes(outputs, targets, weight, loss, pull)))

    def drop(self, going: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Leave out members that have stopped, once there are enough of them to be worth it."""
        if going.sum() > 0.8 * going.size:
            return
        kept = torch.from_numpy(np.flatnonzero(going))
        self.network = self.network.select(kept)
        self._weights = _list_weights(self.network)
        self.members, self.splits = self.members[going], self.splits[going]
        self.strengths = self.strengths[going]
        self._adam.keep(kept, self._weights)
        if self._slopes is not None:
            self._slopes.keep(np.flatnonzero(going))


def make_batches(cells: IntArray, batch_size: int, rng: np.random.Generator) -> IntArray:
    """Return rows of the batches of one epoch, shape (batches, b) with b <= batch_size.

    Batches have equal size; the few rows that are left over sit out an epoch.
    """
    batches = -(-cells.size // batch_size)
    size = cells.size // batches
    return stratified_order(cells, rng)[: batches * size].reshape(batches, size)


@dataclass(frozen=True, slots=True)
class Standardization:
    """Means and spreads that standardize the inputs, and of the target of a regression."""

    mean: FloatArray
    spread: FloatArray
    target_mean: float = 0.0
    target_spread: float = 1.0

    @classmethod
    def fit(cls, table: Table, loss: Loss) -> Standardization:
        """Compute means and spreads of the rows of a table, with their weights."""
        size = len(table.inputs)
        weight = np.ones(size) if table.weight is None else normalize_weights(table.weight)
        share = weight / weight.sum()
        mean, spread = means_and_spreads(table.inputs, share)
        # A constant input says nothing; one constant up to rounding must not be blown up.
        spread[spread == 0.0] = 1.0
        if loss != "squared":
            return cls(mean, spread)
        middle, height = (
            float(one) for one in means_and_spreads(table.targets.astype(np.float64), share)
        )
        return cls(mean, spread, middle, height or 1.0)

    def restore(self, scores: torch.Tensor) -> FloatArray:
        """Return scores of networks in the unit of the target."""
        plain: FloatArray = scores.cpu().double().numpy()
        with np.errstate(over="ignore"):
            return self.target_mean + self.target_spread * plain

    def to_rows(self, table: Table, loss: Loss, dtype: torch.dtype, device: str | None) -> Rows:
        """Return rows of a table, standardized, as one data set of a stack."""
        with np.errstate(over="ignore"):
            inputs = torch.tensor((table.inputs - self.mean) / self.spread, dtype=dtype)
            targets = (table.targets - self.target_mean) / self.target_spread
        wanted = torch.tensor(targets, dtype=torch.int64 if loss == "softmax" else dtype)
        for name, part in (("X", inputs), ("y", wanted)):
            if not torch.isfinite(part).all():
                raise InputError(
                    f"{name} has values too far from each other to be standardized; scale it, or "
                    "leave the farthest rows out."
                )
        weight = None
        if table.weight is not None:
            weight = torch.tensor(normalize_weights(table.weight), dtype=dtype)[None].to(device)
        layout = (
            Layout.ungrouped(len(inputs)) if table.penalty_layout is None else table.penalty_layout
        )
        layout = replace(layout, unit=np.array([self.target_spread]))
        return Rows(inputs[None].to(device), wanted[None].to(device), layout, weight)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Rows to learn from and rows held back, standardized.

    Attributes
    ----------
    rows, validation : one data set each; the same one if none could be held back.
    scale : of the rows to learn from.
    loss : of the networks to come.
    held : groups and levels of the validation rows; `None` if not given.
    limit_rows, judging : rows held back to judge a limit, and their groups and levels, or `None`.
    """

    rows: Rows
    validation: Rows
    scale: Standardization
    loss: Loss
    held: HeldRows | None
    limit_rows: Rows | None = None
    judging: HeldRows | None = None

    @property
    def grouped(self) -> bool:
        """Whether groups were given."""
        return self.held is not None

    @torch.no_grad()
    def scores(self, network: StackedMLP, rows: Rows) -> FloatArray:
        """Compute scores (m, n) or (m, n, c) of some rows, in the unit of the target."""
        outputs = network.predict(rows.inputs, np.zeros(network.members, np.int64))
        return self.scale.restore(to_scores(outputs, self.loss))

    def assess(
        self, network: StackedMLP, recipe: Recipe
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return losses (m,), and scores of the validation rows and of the limit rows."""
        assert self.limit_rows is not None
        splits = np.zeros(network.members, np.int64)
        losses, _, _ = evaluate(network, self.validation, splits, recipe)
        seen = self.scores(network, self.validation)
        return losses, seen, self.scores(network, self.limit_rows)


def prepare(
    table: Table,
    loss: Loss,
    validation_fraction: float,
    seed: int,
    *,
    limit_fraction: float = 0.0,
    device: str | None = None,
) -> Prepared:
    """Hold back some rows of a table and standardize all of them by the others."""
    held, judging = table.hold_out(
        (validation_fraction, limit_fraction), seed, by_class=loss != "squared"
    )
    others = np.setdiff1d(np.arange(len(table.inputs)), np.concatenate([held, judging]))
    seen = table.take(others)
    scale = Standardization.fit(seen, loss)
    # So few rows that none are held back afford double precision.
    dtype = torch.float32 if held.size else torch.float64
    rows = scale.to_rows(seen, loss, dtype, device)
    if not held.size:
        return Prepared(rows, rows, scale, loss, seen.hold_rows())
    back = table.take(held)
    validation = scale.to_rows(back, loss, dtype, device)
    if not judging.size:
        return Prepared(rows, validation, scale, loss, back.hold_rows())
    last = table.take(judging)
    limit_rows = scale.to_rows(last, loss, dtype, device)
    return Prepared(rows, validation, scale, loss, back.hold_rows(), limit_rows, last.hold_rows())


def strength_unit(degree: float, target_spread: float) -> float:
    """Return what the strength of a penalty of this degree is multiplied by inside, σ^{p-2}."""
    unit = Scale(size=target_spread).powered(1.0, degree - 2.0)
    if not 0.0 < unit < np.inf:
        raise InputError(
            f"y has the spread {target_spread:g}, with which a penalty of degree {degree:g} "
            "cannot be held; scale y."
        )
    return unit
