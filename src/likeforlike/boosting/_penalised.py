"""A loss with a penalty on given rows, and how LightGBM and XGBoost call what is made of it.

The training functions of both libraries call with (raw scores, data set), their scikit-learn
estimators with (targets, raw scores, weights). Both ways lead to the same rows here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import NamedTuple, Protocol, get_args, runtime_checkable

import numpy as np

from likeforlike._arrays import FloatArray, is_one_of, real
from likeforlike.boosting._losses import LossName, scored
from likeforlike.disparity._columns import (
    Column,
    numbers,
    refuse_masked,
    same_length,
    weights,
)
from likeforlike.errors import InputError
from likeforlike.penalties._layout import Layout
from likeforlike.penalties._penalty import Penalty
from likeforlike.transport._scale import unit_weights


@runtime_checkable
class _Data(Protocol):
    """A `lightgbm.Dataset` or an `xgboost.DMatrix`."""

    def get_label(self) -> Column: ...

    def get_weight(self) -> Column | None: ...


class _PreparedRows(NamedTuple):
    """A layout as a penalty takes it, and the weights (1, n) of its rows or (0, 0)."""

    layout: Layout
    mass: FloatArray


class _Call(NamedTuple):
    """What a library hands over, in one form; `native` tells which of its interfaces calls."""

    raw: FloatArray
    targets: FloatArray
    rows: _PreparedRows
    native: bool

    @property
    def layout(self) -> Layout:
        return self.rows.layout

    @property
    def weight(self) -> FloatArray:
        return self.rows.mass[0] if self.rows.mass.size else np.ones(self.raw.size)


@dataclass(frozen=True, eq=False)
class PenalisedLoss:
    """A loss and a penalty on given rows: what objectives and metrics have in common.

    Attributes
    ----------
    penalty : V.
    strength : its weight against the mean loss, >= 0.
    layout : groups and levels of the rows in the order of the data, with weights if there are any.
    loss : `"logistic"` or `"squared"`.
    """

    penalty: Penalty
    strength: float
    layout: Layout = field(repr=False)
    loss: LossName
    _last: _PreparedRows = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.penalty, Penalty):
            raise InputError(f"penalty must be a penalty such as FairLeap(), not {self.penalty!r}.")
        if not at_least_zero(self.strength):
            raise InputError(f"strength must be a finite number >= 0, not {self.strength!r}.")
        if not is_one_of(self.loss, get_args(LossName)):
            raise InputError(f"loss must be one of {get_args(LossName)}, not {self.loss!r}.")
        object.__setattr__(self, "_last", self._prepared(self.layout))
        _summable(self.layout.mass)

    def _read(self, first: Column, second: Column, sample_weight: Column | None) -> _Call:
        """What was handed over, whichever way, checked."""
        raw, targets, weight, native = second, first, sample_weight, False
        if isinstance(second, _Data):
            raw, targets, weight, native = first, second.get_label(), second.get_weight(), True
        scores, wanted = _one_column(raw), numbers(targets, "the target")
        same_length(scores.size, wanted.size, "the target")
        if scores.size != self.layout.size:
            raise InputError(
                f"groups has {self.layout.size} row(s), but the data have {scores.size}; give the "
                "groups and levels of the rows the model sees, in their order. A metric is for one "
                "set of rows: leave other sets, such as the training rows, out of the evaluation."
            )
        mass = self.layout.mass
        if weight is not None and len(weight):
            mass = self._weights(weight)
        # Trees are grown one after the other on the same rows, so what was prepared is kept.
        if not np.array_equal(mass, self._last.mass):
            object.__setattr__(self, "_last", self._prepared(replace(self.layout, mass=mass)))
        return _Call(scores, wanted, self._last, native)

    def _prepared(self, layout: Layout) -> _PreparedRows:
        """The layout as the penalty takes it, checked."""
        prepared = self.penalty.prepared(layout)
        self.penalty.check(prepared)
        return _PreparedRows(prepared, layout.mass)

    def _weights(self, weight: Column) -> FloatArray:
        """The weights (1, n) of the data, which must not contradict those given."""
        mass = _summable(weights(weight, "the weight of the data", self.layout.size))
        if not self.layout.mass.size:
            return mass[None, :]
        # Libraries keep weights in single precision.
        if not np.allclose(mass, self.layout.mass[0], rtol=1e-6, atol=0.0):
            raise InputError(
                "sample_weight differs from the weights of the data; give the weights once, best "
                "with the data."
            )
        return self.layout.mass

    def _value(self, call: _Call) -> float:
        """Mean loss + strength * V."""
        at = scored(self.loss, call.raw, call.targets)
        disparity, _ = self.penalty.stacked(at.scores[None], call.layout)
        weight = unit_weights(call.weight)
        # A loss or a disparity that cannot be held is infinite, but nothing is not times that.
        counted = weight > 0.0
        with np.errstate(over="ignore"):
            loss = float(np.average(at.losses[counted], weights=weight[counted]))
        # A strength of numpy may be of a narrow type, which a large disparity overflows.
        return loss + (float(self.strength) * float(disparity[0]) if self.strength else 0.0)


def _summable(weight: FloatArray) -> FloatArray:
    """Weights whose sum can be held, which the loss needs."""
    with np.errstate(over="ignore"):
        if np.isfinite(weight.sum()):
            return weight
    raise InputError(
        "the weights add up to more than a number can hold; divide them by the largest."
    )


def at_least_zero(number: object) -> bool:
    """Whether this is a finite number >= 0."""
    return isinstance(number, Real) and 0.0 <= real(number) < np.inf


def _one_column(raw: Column) -> FloatArray:
    """Raw scores as floats of one column."""
    refuse_masked(raw, "the raw scores")
    try:
        given = np.asarray(raw)
        # Casting would keep the real part of complex numbers, with a warning at most.
        values = given.astype(
            np.float64, casting="same_kind" if given.dtype.kind == "c" else "unsafe"
        )
    except (TypeError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"the raw scores must be numbers: {reason}.") from error
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(
            f"the raw scores have the shape {values.shape}: several classes or targets are not "
            "supported; use a target of two classes, or of one number."
        )
    wild = np.flatnonzero(~np.isfinite(values))
    if wild.size:
        raise InputError(
            f"the raw score of row {wild[0]} is {values[wild[0]]}: the trees have diverged; use a "
            "smaller learning rate, or more regularisation."
        )
    return np.ascontiguousarray(values)
