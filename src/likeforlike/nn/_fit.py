"""One network fitted to a table: rows held back, inputs scaled, a strength or a limit obeyed.

Inputs are standardised, and so is the target of a regression. The objective is that of the target
in its own unit: with y = μ + σ y', squared errors carry σ² and a penalty of order p carries σ^p, so
a strength is multiplied by σ^{p-2} inside.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass

import numpy as np
import torch

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.errors import InputError
from likeforlike.inference import DistanceEstimate
from likeforlike.limits._held_rows import HeldRows
from likeforlike.limits._limit import Candidate, Limit, Trial, keep_limit
from likeforlike.nn._data import Rows
from likeforlike.nn._objectives import Loss, scores_of
from likeforlike.nn._stacked import StackedMLP
from likeforlike.nn._stacked_module import Module, StackedModule, seeded
from likeforlike.nn._training import Follow, Recipe, Trained, evaluate, train
from likeforlike.penalties import Layout
from likeforlike.penalties._held_out import SMALL, held_out
from likeforlike.transport._scale import Scale as ScoreScale
from likeforlike.transport._scale import means_and_spreads, unit_weights


@dataclass(frozen=True, slots=True)
class Table:
    """What a network is fitted to.

    Attributes
    ----------
    inputs : (n, d) floats.
    targets : (n,) floats, or classes as integers.
    weight : (n,) positive floats, or `None`.
    layout : groups and levels, or `None` where there is nothing to penalise.
    validation : (n,) truth values, rows to hold back to stop training, or `None`: a share of all.
    prepared : the layout as the penalty takes it, where that is another one.
    """

    inputs: FloatArray
    targets: FloatArray | IntArray
    weight: FloatArray | None
    layout: Layout | None
    validation: BoolArray | None = None
    prepared: Layout | None = None

    @property
    def penalised(self) -> Layout | None:
        """The layout that the penalty is evaluated on."""
        return self.layout if self.prepared is None else self.prepared

    def take(self, rows: IntArray) -> Table:
        """Some of the rows."""
        return Table(
            self.inputs[rows],
            self.targets[rows],
            None if self.weight is None else self.weight[rows],
            None if self.layout is None else self.layout.take(rows),
            None if self.validation is None else self.validation[rows],
            None if self.prepared is None else self.prepared.take(rows),
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """Standardisation of the inputs, and of the target of a regression."""

    mean: FloatArray
    spread: FloatArray
    target_mean: float = 0.0
    target_spread: float = 1.0


@dataclass(frozen=True, slots=True)
class Fitted:
    """A network that predicts in the unit of the target.

    Attributes
    ----------
    network : a stack of one.
    scale, loss : what surrounds it.
    strength : what it was trained with.
    curve : loss on the validation rows after every epoch of its training.
    disparity : on the validation rows, or on the limit rows; `None` without groups.
    coverage : share of each group that could be compared there; `None` without groups.
    path : strengths tried for a limit.
    complaint : what is to be said of a limit that was not met, or `None`.
    """

    network: StackedMLP
    scale: Scale
    loss: Loss
    strength: float
    curve: tuple[float, ...]
    disparity: DistanceEstimate | None
    coverage: dict[Hashable, float] | None
    path: tuple[Candidate, ...] = ()
    complaint: str | None = None

    @torch.no_grad()
    def scores(self, inputs: FloatArray) -> FloatArray:
        """Scores (n,) or (n, c) of inputs (n, d)."""
        with np.errstate(over="ignore"):
            scaled = (inputs - self.scale.mean) / self.scale.spread
        dtype = self.network.weights[0].dtype
        outputs = self.network.eval()(torch.tensor(scaled, dtype=dtype)[None])
        plain: FloatArray = scores_of(outputs, self.loss)[0].double().numpy()
        with np.errstate(over="ignore"):
            scores = self.scale.target_mean + self.scale.target_spread * plain
        odd = np.flatnonzero(~np.isfinite(scores.reshape(len(inputs), -1)).all(axis=1))
        if odd.size:
            raise InputError(
                f"row {odd[0]} of X is so far from the training rows that it has no score; "
                f"there are {odd.size} such row(s)."
            )
        return scores


@dataclass(frozen=True, slots=True)
class Member:
    """One network of a stack that was trained."""

    trained: Trained
    place: int

    def network(self) -> StackedMLP:
        """The network alone, as a stack of one."""
        return self.trained.network.select(torch.tensor([self.place]))

    def curve(self, patience: int | None = None) -> tuple[float, ...]:
        """Loss after every epoch until it stopped; the stack may have gone on without it."""
        last = np.inf if patience is None else int(self.trained.best_epoch[self.place]) + patience
        return tuple(
            float(epoch.loss[epoch.members == self.place][0])
            for epoch in self.trained.curve
            if epoch.number <= last and self.place in epoch.members
        )


@dataclass(frozen=True, slots=True)
class Prepared:
    """Rows to learn from and rows held back, standardised.

    Attributes
    ----------
    rows, validation : one data set each; the same one if none could be held back.
    scale : of the rows to learn from.
    loss : of the networks to come.
    held : groups and levels of the validation rows; `None` if nobody said.
    limit_rows, judging : rows held back to judge a limit, and their groups and levels, or `None`.
    """

    rows: Rows
    validation: Rows
    scale: Scale
    loss: Loss
    held: HeldRows | None
    limit_rows: Rows | None = None
    judging: HeldRows | None = None

    @property
    def grouped(self) -> bool:
        """Whether anybody said who is in which group."""
        return self.held is not None

    @torch.no_grad()
    def scores(self, network: StackedMLP, rows: Rows) -> FloatArray:
        """Scores (m, n) or (m, n, c) that networks give some rows, in the unit of the target."""
        outputs = network.predict(rows.inputs, np.zeros(network.members, np.int64))
        plain: FloatArray = scores_of(outputs, self.loss).cpu().double().numpy()
        return self.scale.target_mean + self.scale.target_spread * plain

    def fitted(self, member: Member, strength: float, patience: int | None = None) -> Fitted:
        """A trained network, with its disparity on the validation rows."""
        network, curve = member.network(), member.curve(patience)
        disparity, coverage = None, None
        if self.held is not None:
            coverage = self.held.coverage()
            # Groups that never meet there cannot be compared.
            if any(coverage.values()):
                disparity = self.held.disparity(self.scores(network, self.validation)[0])
        kept = network.cpu()
        return Fitted(kept, self.scale, self.loss, strength, curve, disparity, coverage)


def prepare(
    table: Table,
    loss: Loss,
    validation_fraction: float,
    seed: int,
    *,
    limit_fraction: float = 0.0,
    device: str | None = None,
) -> Prepared:
    """Hold back some rows of a table and standardise all of them by the others."""

    def tensors(part: Table) -> Rows:
        return _tensors(part, scale, loss, dtype, device)

    held, judging = _held_out(table, loss, (validation_fraction, limit_fraction), seed)
    others = np.setdiff1d(np.arange(len(table.inputs)), np.concatenate([held, judging]))
    seen = table.take(others)
    scale = _scale_of(seen, loss)
    # So few rows that none are held back afford double precision.
    dtype = torch.float32 if held.size else torch.float64
    rows = tensors(seen)
    if not held.size:
        return Prepared(rows, rows, scale, loss, _held_rows(seen))
    back = table.take(held)
    validation = tensors(back)
    if not judging.size:
        return Prepared(rows, validation, scale, loss, _held_rows(back))
    last = table.take(judging)
    return Prepared(
        rows,
        validation,
        scale,
        loss,
        _held_rows(back),
        tensors(last),
        _held_rows(last),
    )


def _held_rows(table: Table) -> HeldRows | None:
    if table.layout is None or table.penalised is None:
        return None
    return HeldRows(table.layout, table.penalised)


def _unit(order: float, scale: Scale) -> float:
    """What a strength is multiplied by inside, σ^{p-2}."""
    unit = ScoreScale(size=scale.target_spread).powered(1.0, order - 2.0)
    if not 0.0 < unit < np.inf:
        raise InputError(
            f"y has the spread {scale.target_spread:g}, with which a penalty of order {order:g} "
            "cannot be held; scale y."
        )
    return unit


def fit_network(
    table: Table,
    recipe: Recipe,
    sizes: tuple[int, ...],
    *,
    strength: float,
    limit: Limit | None,
    validation_fraction: float,
    limit_fraction: float,
    seed: int,
    module: Module | None = None,
    device: str | None = None,
    follow: Follow | None = None,
) -> Fitted:
    """Fit one network with a strength, or within a limit of its disparity."""
    if table.layout is None:
        limit = None
    share = 0.0 if limit is None else limit_fraction
    ready = prepare(
        table, recipe.loss, validation_fraction, seed, limit_fraction=share, device=device
    )
    unit = 1.0 if recipe.penalty is None else _unit(recipe.penalty.order, ready.scale)

    def stack(members: int) -> StackedMLP:
        if module is None:
            return StackedMLP([seed] * members, sizes)
        return StackedModule(module, members, sizes[0], sizes[-1], seed)

    def trained(strengths: FloatArray) -> Trained:
        # A module may draw while it is trained, as layers that drop units do.
        with seeded(seed):
            return train(
                stack(strengths.size).to(ready.rows.inputs),
                ready.rows,
                ready.validation,
                recipe,
                strengths=strengths * unit,
                seeds=np.array([seed]),
                follow=follow,
            )

    if limit is None:
        return ready.fitted(Member(trained(np.array([strength])), 0), strength, recipe.patience)
    return _within(limit, ready, recipe, trained)


def _within(
    limit: Limit, ready: Prepared, recipe: Recipe, trained: Callable[[FloatArray], Trained]
) -> Fitted:
    """The network that is taken for a limit, whether or not it is shown to hold it."""
    if ready.held is None or ready.judging is None or ready.limit_rows is None:
        raise InputError(
            f"max_disparity needs rows on which to judge it, and {ready.rows.size} are too few to "
            f"hold any back; give {SMALL} rows or more, or a strength instead."
        )

    def tried(strengths: FloatArray) -> list[Trial[Member]]:
        stack = trained(strengths)
        losses, _, _ = evaluate(
            stack.network, ready.validation, np.zeros(strengths.size, np.int64), recipe
        )
        assert ready.limit_rows is not None
        seen = ready.scores(stack.network, ready.validation)
        judged = ready.scores(stack.network, ready.limit_rows)
        return [
            Trial(Member(stack, k), float(strength), float(losses[k]), seen[k], judged[k])
            for k, strength in enumerate(strengths)
        ]

    kept = keep_limit(limit, ready.held, ready.judging, tried)
    member = kept.trial.model
    return Fitted(
        member.network().cpu(),
        ready.scale,
        ready.loss,
        kept.chosen.strength,
        member.curve(recipe.patience),
        kept.disparity,
        ready.judging.coverage(),
        kept.candidates,
        None if kept.met else kept.complaint(),
    )


def _held_out(table: Table, loss: Loss, shares: tuple[float, float], seed: int) -> list[IntArray]:
    """Rows that stop training, and rows that judge a limit."""
    layout = Layout.single(len(table.inputs)) if table.penalised is None else table.penalised
    classes = None if loss == "squared" else table.targets
    return held_out(layout, classes, shares, seed, table.validation)


def _scale_of(table: Table, loss: Loss) -> Scale:
    """Standardisation by the rows of a table, with their weights."""
    size = len(table.inputs)
    weight = np.ones(size) if table.weight is None else unit_weights(table.weight)
    share = weight / weight.sum()
    mean, spread = means_and_spreads(table.inputs, share)
    # A constant input says nothing; one that is constant up to rounding must not be blown up.
    spread[spread == 0.0] = 1.0
    if loss != "squared":
        return Scale(mean, spread)
    middle, height = (
        float(one) for one in means_and_spreads(table.targets.astype(np.float64), share)
    )
    return Scale(mean, spread, middle, height or 1.0)


def _tensors(
    table: Table, scale: Scale, loss: Loss, dtype: torch.dtype, device: str | None
) -> Rows:
    """Rows of a table, standardised, as one data set of a stack."""
    size = len(table.inputs)
    with np.errstate(over="ignore"):
        inputs = torch.tensor((table.inputs - scale.mean) / scale.spread, dtype=dtype)
        targets = (table.targets - scale.target_mean) / scale.target_spread
    kind = torch.int64 if loss == "softmax" else dtype
    wanted = torch.tensor(targets, dtype=kind)
    for name, part in (("X", inputs), ("y", wanted)):
        if not torch.isfinite(part).all():
            raise InputError(
                f"{name} has values too far from each other to be standardised; scale it, or leave "
                "the farthest rows out."
            )
    weight = None
    if table.weight is not None:
        weight = torch.tensor(unit_weights(table.weight), dtype=dtype)[None]
    layout = Layout.single(size) if table.penalised is None else table.penalised
    placed = None if weight is None else weight.to(device)
    return Rows(inputs[None].to(device), wanted[None].to(device), layout, placed)
