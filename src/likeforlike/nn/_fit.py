"""One network fitted to a table: rows held back, inputs scaled, a strength or a limit obeyed.

Inputs are standardised, and so is the target of a regression. The objective is that of the target
in its own unit: with y = μ + σ y', squared errors carry σ² and a penalty of order p carries σ^p, so
a strength is multiplied by σ^{p-2} inside.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.errors import InputError, UnmetLimitWarning
from likeforlike.inference import DistanceEstimate
from likeforlike.nn._batches import even_order
from likeforlike.nn._data import Rows
from likeforlike.nn._limit_search import Candidate, Path, search_path
from likeforlike.nn._objectives import Loss, scores_of
from likeforlike.nn._stacked import StackedMLP
from likeforlike.nn._training import Epoch, Follow, Recipe, Trained, evaluate, train
from likeforlike.nn._validation import estimated_size, smooth_disparity, validation_disparity
from likeforlike.penalties import Layout
from likeforlike.transport._scale import Scale as ScoreScale
from likeforlike.transport._scale import means_and_spreads, unit_weights

# Fewer rows than this are too few to hold any back.
_SMALL = 100


@dataclass(frozen=True, slots=True)
class Table:
    """What a network is fitted to.

    Attributes
    ----------
    inputs : (n, d) floats.
    targets : (n,) floats, or classes as integers.
    weight : (n,) positive floats, or `None`.
    layout : groups and levels, or `None` where there is nothing to penalise.
    prepared : the layout as the penalty takes it, where that is another one.
    """

    inputs: FloatArray
    targets: FloatArray | IntArray
    weight: FloatArray | None
    layout: Layout | None
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
    path : strengths tried for a limit.
    curve : what every epoch found.
    disparity : on the validation rows; `None` without groups.
    """

    network: StackedMLP
    scale: Scale
    loss: Loss
    strength: float
    path: tuple[Candidate, ...]
    curve: tuple[Epoch, ...]
    disparity: DistanceEstimate | None

    @torch.no_grad()
    def scores(self, inputs: FloatArray) -> FloatArray:
        """Scores (n,) or (n, c) of inputs (n, d)."""
        with np.errstate(over="ignore"):
            scaled = (inputs - self.scale.mean) / self.scale.spread
        dtype = self.network.weights[0].dtype
        outputs = self.network(torch.tensor(scaled, dtype=dtype)[None])
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
class Prepared:
    """Rows to learn from and rows held back, standardised.

    Attributes
    ----------
    rows, validation : one data set each; the same one if none could be held back.
    scale : of the rows to learn from.
    loss : of the networks to come.
    layout : groups and levels of the validation rows as they were given; `None` if nobody said.
    """

    rows: Rows
    validation: Rows
    scale: Scale
    loss: Loss
    layout: Layout | None

    @property
    def grouped(self) -> bool:
        """Whether anybody said who is in which group."""
        return self.layout is not None

    def estimate(self, scores: FloatArray) -> DistanceEstimate:
        """Disparity of the scores that a network gives the validation rows.

        It is the smooth one where the penalty compares along a number.
        """
        assert self.layout is not None
        whole = self.scale.target_mean + self.scale.target_spread * scores
        if self.validation.layout.away.size:
            return smooth_disparity(whole, self.layout)
        return validation_disparity(whole, self.layout)

    def disparity(self, scores: FloatArray) -> DistanceEstimate | None:
        """The same, or `None` where groups are not known or never meet."""
        if not self.grouped or not any(self.validation.layout.coverage().values()):
            return None
        return self.estimate(scores)

    @torch.no_grad()
    def fitted(
        self,
        network: StackedMLP,
        strength: float,
        curve: Sequence[Epoch],
        path: tuple[Candidate, ...] = (),
    ) -> Fitted:
        """A trained stack of one, with its disparity on the validation rows."""
        scores = scores_of(network(self.validation.inputs), self.loss)[0].double().numpy()
        disparity = self.disparity(scores)
        return Fitted(network, self.scale, self.loss, strength, path, tuple(curve), disparity)


def prepare(table: Table, loss: Loss, validation_fraction: float, seed: int) -> Prepared:
    """Hold back some rows of a table and standardise all of them by the others."""
    held = _held_out(table, loss, validation_fraction, seed)
    seen = table.take(np.setdiff1d(np.arange(len(table.inputs)), held))
    scale = _scale_of(seen, loss)
    # So few rows that none are held back afford double precision.
    dtype = torch.float32 if held.size else torch.float64
    rows = _tensors(seen, scale, loss, dtype)
    back = table.take(held) if held.size else seen
    validation = _tensors(back, scale, loss, dtype) if held.size else rows
    return Prepared(rows, validation, scale, loss, back.layout)


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
    limit: float | None,
    validation_fraction: float,
    seed: int,
    follow: Follow | None = None,
) -> Fitted:
    """Fit one network with a strength, or within a limit of its disparity."""
    ready = prepare(table, recipe.loss, validation_fraction, seed)
    unit = 1.0 if recipe.penalty is None else _unit(recipe.penalty.order, ready.scale)
    curve: list[Epoch] = []

    def note(epoch: Epoch) -> None:
        curve.append(epoch)
        if follow is not None:
            follow(epoch)

    def trained(strengths: FloatArray) -> Trained:
        return train(
            StackedMLP([seed] * strengths.size, sizes).to(ready.rows.inputs.dtype),
            ready.rows,
            ready.validation,
            recipe,
            strengths=strengths * unit,
            seeds=np.array([seed]),
            follow=note,
        )

    if limit is None or not ready.grouped:
        return ready.fitted(trained(np.array([strength])).network, strength, curve)
    path = _within(limit, ready, recipe, trained)
    network = path.trained.network.select(torch.tensor([path.member]))
    return ready.fitted(network, path.chosen.strength, curve, path.candidates)


def _within(
    limit: float, ready: Prepared, recipe: Recipe, trained: Callable[[FloatArray], Trained]
) -> Path:
    """Strengths that were tried for a limit; a warning if none of them meets it."""

    def tried(strengths: FloatArray) -> tuple[Trained, list[Candidate]]:
        stack = trained(strengths)
        splits = np.zeros(strengths.size, np.int64)
        losses, _, scores = evaluate(stack.network, ready.validation, splits, recipe)
        return stack, [
            Candidate(float(strength), float(loss), estimated_size(ready.estimate(of_member)))
            for strength, loss, of_member in zip(strengths, losses, scores, strict=True)
        ]

    path = search_path(tried, limit)
    if not path.met:
        warnings.warn(
            f"no strength kept the disparity on the validation rows at {limit:g} or below; the "
            f"least was {path.chosen.disparity:.4g}, at strength {path.chosen.strength:g}.",
            UnmetLimitWarning,
            stacklevel=6,
        )
    return path


def _held_out(table: Table, loss: Loss, fraction: float, seed: int) -> IntArray:
    """Rows held back, with their share of every cell and of the classes inside it."""
    size = len(table.inputs)
    if size < _SMALL:
        return np.empty(0, np.int64)
    cells = np.zeros(size, np.int64) if table.penalised is None else table.penalised.strata[0]
    if loss != "squared":
        combined = cells * (int(table.targets.max()) + 1) + table.targets.astype(np.int64)
        cells = np.unique(combined, return_inverse=True)[1]
    order = even_order(cells, np.random.default_rng([seed, 2]))
    return np.sort(order[: max(1, int(fraction * size))])


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


def _tensors(table: Table, scale: Scale, loss: Loss, dtype: torch.dtype) -> Rows:
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
    return Rows(inputs[None], wanted[None], layout, weight)
