"""A table prepared for networks: rows held back, all of them standardized by the others.

Inputs are standardized, and so is the target of a regression. The objective is that of the target
in its own unit: with y = μ + σ y', squared errors carry σ² and a penalty of order p carries σ^p, so
a strength is multiplied by σ^{p-2} inside (`strength_unit`), and constants of a penalty in the unit
of costs are divided by σ^p (`Layout.unit`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.errors import InputError
from likeforlike.limits._held_rows import HeldRows
from likeforlike.nn._data import Rows
from likeforlike.nn._objectives import Loss, scores_of
from likeforlike.nn._stacked import StackedMLP
from likeforlike.penalties import Layout
from likeforlike.penalties._held_out import held_out
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
    layout : groups and levels, or `None` where there is nothing to penalize.
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
    def penalized(self) -> Layout | None:
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
    """Standardization of the inputs, and of the target of a regression."""

    mean: FloatArray
    spread: FloatArray
    target_mean: float = 0.0
    target_spread: float = 1.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """Rows to learn from and rows held back, standardized.

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
    if table.layout is None or table.penalized is None:
        return None
    return HeldRows(table.layout, table.penalized)


def strength_unit(degree: float, target_spread: float) -> float:
    """What the strength of a penalty of this degree is multiplied by inside, σ^{p-2}."""
    unit = ScoreScale(size=target_spread).powered(1.0, degree - 2.0)
    if not 0.0 < unit < np.inf:
        raise InputError(
            f"y has the spread {target_spread:g}, with which a penalty of degree {degree:g} "
            "cannot be held; scale y."
        )
    return unit


def _held_out(table: Table, loss: Loss, shares: tuple[float, float], seed: int) -> list[IntArray]:
    """Rows that stop training, and rows that judge a limit."""
    layout = Layout.single(len(table.inputs)) if table.penalized is None else table.penalized
    classes = None if loss == "squared" else table.targets
    return held_out(layout, classes, shares, seed, table.validation)


def _scale_of(table: Table, loss: Loss) -> Scale:
    """Standardization by the rows of a table, with their weights."""
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
    """Rows of a table, standardized, as one data set of a stack."""
    size = len(table.inputs)
    with np.errstate(over="ignore"):
        inputs = torch.tensor((table.inputs - scale.mean) / scale.spread, dtype=dtype)
        targets = (table.targets - scale.target_mean) / scale.target_spread
    kind = torch.int64 if loss == "softmax" else dtype
    wanted = torch.tensor(targets, dtype=kind)
    for name, part in (("X", inputs), ("y", wanted)):
        if not torch.isfinite(part).all():
            raise InputError(
                f"{name} has values too far from each other to be standardized; scale it, or leave "
                "the farthest rows out."
            )
    weight = None
    if table.weight is not None:
        weight = torch.tensor(unit_weights(table.weight), dtype=dtype)[None]
    layout = Layout.single(size) if table.penalized is None else table.penalized
    layout = replace(layout, unit=np.array([scale.target_spread]))
    placed = None if weight is None else weight.to(device)
    return Rows(inputs[None].to(device), wanted[None].to(device), layout, placed)
