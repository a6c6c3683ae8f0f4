"""A loss with a penalty on given rows, and how LightGBM and XGBoost call what is made of it.

The training functions of both libraries call with (raw scores, data set), their scikit-learn
estimators with (targets, raw scores, weights). Both ways lead to the same rows here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import NamedTuple, Protocol, get_args, runtime_checkable

import numpy as np

from likeforlike.boosting.losses import LossName, scored
from likeforlike.columns import Column, numbers, same_length, weights
from likeforlike.errors import InputError
from likeforlike.penalties.layout import Layout
from likeforlike.penalties.penalty import Penalty
from likeforlike.transport.atoms import FloatArray

__all__ = ["PenalisedLoss", "at_least_zero"]


@runtime_checkable
class _Data(Protocol):
    """A `lightgbm.Dataset` or an `xgboost.DMatrix`."""

    def get_label(self) -> Column: ...

    def get_weight(self) -> Column | None: ...


class _Call(NamedTuple):
    """What a library hands over, in one form; `native` tells which of its interfaces calls."""

    raw: FloatArray
    targets: FloatArray
    layout: Layout
    native: bool

    @property
    def weight(self) -> FloatArray:
        return self.layout.mass[0] if self.layout.mass.size else np.ones(self.layout.size)


@dataclass(frozen=True, eq=False)
class PenalisedLoss:
    """A loss and a penalty on given rows: what objectives and metrics have in common.

    Attributes
    ----------
    penalty : V.
    strength : its weight against the mean loss, >= 0.
    layout : groups and levels of the rows in the order of the data, with weights if there are any.
    loss : `"logistic"` or `"squared"`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.boosting.penalised import PenalisedLoss
    >>> from likeforlike.penalties import Layout
    >>> PenalisedLoss(lfl.WassersteinPenalty(), 2.0, Layout.of_rows(["f", "m"]), "squared")
    PenalisedLoss(penalty=WassersteinPenalty(order=2.0), strength=2.0, loss='squared')
    """

    penalty: Penalty
    strength: float
    layout: Layout = field(repr=False)
    loss: LossName

    def __post_init__(self) -> None:
        if not isinstance(self.penalty, Penalty):
            raise InputError(f"penalty must be one, such as FairLeap(), not {self.penalty!r}.")
        if not at_least_zero(self.strength):
            raise InputError(f"strength must be a finite number >= 0, not {self.strength!r}.")
        if self.loss not in get_args(LossName):
            raise InputError(f"loss must be one of {get_args(LossName)}, not {self.loss!r}.")
        self.penalty.check(self.layout)

    def _read(self, first: Column, second: Column, sample_weight: Column | None) -> _Call:
        """What was handed over, whichever way, checked."""
        raw, targets, weight, native = second, first, sample_weight, False
        if isinstance(second, _Data):
            raw, targets, weight, native = first, second.get_label(), second.get_weight(), True
        found, wanted = _one_column(raw), numbers(targets, "the target")
        same_length(found.size, wanted.size, "the target")
        if found.size != self.layout.size:
            raise InputError(
                f"groups has {self.layout.size} row(s), but the data have {found.size}; give the "
                "groups and levels of the rows the model sees, in their order. A metric is for one "
                "set of rows: leave other sets, such as the training rows, out of the evaluation."
            )
        layout = self.layout if weight is None or not len(weight) else self._weighted(weight)
        return _Call(found, wanted, layout, native)

    def _weighted(self, weight: Column) -> Layout:
        """The layout with the weights of the data, which must not contradict those given."""
        mass = weights(weight, "the weight of the data", self.layout.size)
        if not self.layout.mass.size:
            layout = replace(self.layout, mass=mass[None, :])
            self.penalty.check(layout)
            return layout
        # Libraries keep weights in single precision.
        if not np.allclose(mass, self.layout.mass[0], rtol=1e-6, atol=0.0):
            raise InputError(
                "sample_weight differs from the weights of the data; give the weights once, best "
                "with the data."
            )
        return self.layout

    def _value(self, call: _Call) -> float:
        """Mean loss + strength * V."""
        at = scored(self.loss, call.raw, call.targets)
        disparity, _ = self.penalty.stacked(at.scores[None], call.layout)
        return float(np.average(at.losses, weights=call.weight) + self.strength * disparity[0])


def at_least_zero(number: object) -> bool:
    """Whether this is a finite number >= 0.

    Examples
    --------
    >>> from likeforlike.boosting.penalised import at_least_zero
    >>> at_least_zero(0.5), at_least_zero(float("nan")), at_least_zero("1")
    (True, False, False)
    """
    return isinstance(number, Real) and 0.0 <= float(number) < np.inf


def _one_column(raw: Column) -> FloatArray:
    """Raw scores as floats of one column."""
    values = np.asarray(raw, dtype=np.float64)
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
