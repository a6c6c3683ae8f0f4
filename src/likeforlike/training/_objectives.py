"""Objectives and metrics for LightGBM and XGBoost: a loss with a penalty on given rows.

Plain callables, neither library is imported here. The training functions of both libraries call
with (raw scores, data set), their scikit-learn estimators with (targets, raw scores, weights).

With raw scores z, weights w of sum n_w, scores f(z) and a penalty V the trees minimize n_w times
(mean loss + strength * V). By the chain rule

    gradient_i = w_i loss_i'(z_i) + n_w * strength * ∂_i V * f'(z_i)
    hessian_i  = w_i loss_i''(z_i) + n_w * strength * η c_i * f'(z_i)²,

with c the diagonal bound `Penalty.hessian_diagonal` and η the learning rate. The second term is
that of Gauss and Newton, bounded: V pulls rows of one group against rows of another, so its second
derivative is not diagonal, and c_i is what is safe for each row alone. But boosting takes only the
part η <= 1 of a step anyway. With h the part of the loss, c that of the penalty and D = h + η c,
the objective falls in such a step (order 2, squared loss) by at least

    η g·D⁻¹g - ½ η² g·D⁻¹(h + c)D⁻¹g >= ½ η g·D⁻¹g,        since η (h + c) <= D:

no step makes it worse, and strong penalties take far fewer trees than with c itself (η = 1). For
the squared loss everything is halved: the libraries minimize ½ (z - y)², and their own settings
(regularization, least weight of a leaf) keep the meaning they have without a penalty.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Protocol, get_args, runtime_checkable

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike._settings import is_one_of, real
from likeforlike.disparity import Column, numbers, refuse_mask, same_length, weights
from likeforlike.errors import InputError
from likeforlike.penalties import Layout, Penalty
from likeforlike.training._trees import BoostingProblem, Expansion, LossName, evaluate_loss
from likeforlike.transport import normalize_weights


@runtime_checkable
class _Data(Protocol):
    """A `lightgbm.Dataset` or an `xgboost.DMatrix`."""

    def get_label(self) -> Column: ...

    def get_weight(self) -> Column | None: ...


@dataclass(frozen=True, eq=False)
class PenalizedLoss:
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
    _last: tuple[Layout, FloatArray] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.penalty, Penalty):
            raise InputError(f"penalty must be a penalty such as FairLeap(), not {self.penalty!r}.")
        if not is_nonnegative(self.strength):
            raise InputError(f"strength must be a finite number >= 0, not {self.strength!r}.")
        if not is_one_of(self.loss, get_args(LossName)):
            raise InputError(f"loss must be one of {get_args(LossName)}, not {self.loss!r}.")
        self._prepare(self.layout)
        _check_weight_sum(self.layout.mass)

    def _read(
        self, first: Column, second: Column, sample_weight: Column | None
    ) -> tuple[FloatArray, FloatArray, Layout, FloatArray, bool]:
        """Return raw scores, targets, layout, weights (n,), and whether a training function calls.

        Training functions call with (raw, data), estimators with (targets, raw, weights).
        """
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
        if not np.array_equal(mass, self._last[1]):
            self._prepare(replace(self.layout, mass=mass))
        layout, mass = self._last
        return scores, wanted, layout, mass[0] if mass.size else np.ones(scores.size), native

    def _prepare(self, layout: Layout) -> None:
        """Keep the layout as the penalty takes it, checked, with the weights it was given."""
        prepared = self.penalty.prepare(layout)
        self.penalty.check(prepared)
        object.__setattr__(self, "_last", (prepared, layout.mass))

    def _weights(self, weight: Column) -> FloatArray:
        """Return the weights (1, n) of the data, which must not contradict those given."""
        mass = _check_weight_sum(weights(weight, "the weight of the data", self.layout.size))
        if not self.layout.mass.size:
            return mass[None, :]
        # Libraries keep weights in single precision.
        if not np.allclose(mass, self.layout.mass[0], rtol=1e-6, atol=0.0):
            raise InputError(
                "sample_weight differs from the weights of the data; give the weights once, best "
                "with the data."
            )
        return self.layout.mass

    def _value(
        self, raw: FloatArray, targets: FloatArray, layout: Layout, weight: FloatArray
    ) -> float:
        """Compute the mean loss + strength * V."""
        scores, _, losses, _, _ = evaluate_loss(self.loss, raw, targets)
        disparity, _ = self.penalty.evaluate(scores[None], layout)
        weight = normalize_weights(weight)
        # A loss or a disparity that overflows is infinite, but nothing is not times that.
        counted = weight > 0.0
        with np.errstate(over="ignore"):
            loss = float(np.average(losses[counted], weights=weight[counted]))
        # A strength of numpy may be of a narrow type, which a large disparity overflows.
        return loss + (float(self.strength) * float(disparity[0]) if self.strength else 0.0)


def _check_weight_sum(weight: FloatArray) -> FloatArray:
    """Return weights whose sum, which the loss needs, does not overflow."""
    with np.errstate(over="ignore"):
        if np.isfinite(weight.sum()):
            return weight
    raise InputError(
        "the weights add up to more than a number can hold; divide them by the largest."
    )


def is_nonnegative(number: object) -> bool:
    """Return whether this is a finite number >= 0."""
    return isinstance(number, Real) and 0.0 <= real(number) < np.inf


def _one_column(raw: Column) -> FloatArray:
    """Compute raw scores as floats of one column."""
    refuse_mask(raw, "the raw scores")
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
            "smaller learning rate, or more regularization."
        )
    return np.ascontiguousarray(values)


@dataclass(frozen=True, eq=False)
class FairObjective(PenalizedLoss):
    """An objective for LightGBM or XGBoost that trades a loss off against a penalty.

    Called as `objective(raw, data)` by `lightgbm.train` and `xgboost.train`, or as
    `objective(targets, raw, weights)` by their scikit-learn estimators, it returns the gradient and
    the second derivative of the total objective for every row. It can be pickled and copied.

    Attributes
    ----------
    penalty, strength, layout, loss : as for `PenalizedLoss`.
    learning_rate : η > 0 of the model.
    """

    learning_rate: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_nonnegative(self.learning_rate) or self.learning_rate == 0.0:
            raise InputError(
                f"learning_rate must be a finite number > 0, not {self.learning_rate!r}."
            )

    def __call__(
        self, first: Column, second: Column, sample_weight: Column | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Compute the gradient and positive second derivative, both of shape (n,)."""
        raw, targets, layout, weight, _ = self._read(first, second, sample_weight)
        rate = float(self.learning_rate)
        problem = BoostingProblem(
            targets, weight, layout, self.loss, self.penalty, self.strength, rate, 0.0
        )
        at = Expansion(problem, raw)
        return at.gradient, at.hessian()[2]


class LightGBMMetric(PenalizedLoss):
    """Mean loss + strength * V on evaluation rows, as LightGBM expects it."""

    def __call__(
        self, first: Column, second: Column, sample_weight: Column | None = None
    ) -> tuple[str, float, bool]:
        """Evaluate (raw, data) or (targets, raw, weights); lower is better."""
        raw, targets, layout, weight, _ = self._read(first, second, sample_weight)
        return f"penalized_{self.loss}", self._value(raw, targets, layout, weight), False


class XGBoostMetric(PenalizedLoss):
    """Mean loss + strength * V on evaluation rows, as XGBoost expects it."""

    @property
    def __name__(self) -> str:
        """What the estimators of XGBoost print."""
        return f"penalized_{self.loss}"

    def __call__(
        self, first: Column, second: Column, sample_weight: Column | None = None
    ) -> tuple[str, float] | float:
        """Evaluate (raw, data) to (name, value), or (targets, raw, weights) to the value."""
        raw, targets, layout, weight, native = self._read(first, second, sample_weight)
        value = self._value(raw, targets, layout, weight)
        return (self.__name__, value) if native else value


def lightgbm_objective(
    penalty: Penalty,
    strength: float,
    sensitive_features: Column,
    legitimate_features: Column | None = None,
    *,
    loss: LossName = "logistic",
    sample_weight: Column | None = None,
    learning_rate: float = 0.1,
) -> FairObjective:
    """Make an objective for LightGBM: mean loss + strength * V.

    Give it as `objective` to `LGBMClassifier` or `LGBMRegressor`, or in the parameters of
    `lightgbm.train`.

    Parameters
    ----------
    penalty : V, such as `FairLeap()`; it acts on probabilities (logistic) or predictions (squared).
    strength : weight of the penalty against the mean loss, >= 0.
    sensitive_features : (n,) groups of the training rows, in their order.
    legitimate_features : (n,) levels of the training rows; `None` means one level.
    loss : `"logistic"` for a target of 0 and 1, or `"squared"`.
    sample_weight : (n,) numbers >= 0, for loss and penalty. By default the weights of the data
        (`sample_weight` or `class_weight` of an estimator, `weight` of a `Dataset`).
    learning_rate : of the model; by default that of LightGBM. A smaller one than the model's fits
        strong penalties in fewer trees, and below half of it steps may overshoot.

    Notes
    -----
    With an objective of one's own LightGBM

    - starts from the raw score 0, whatever `boost_from_average` says. `init_score` starts from
      another, which is not part of the model: add it to predictions. For the squared loss it is
      easier to take the mean off the target first;
    - predicts raw scores, and `LGBMClassifier` warns that it does; `probabilities` converts them;
    - ignores `scale_pos_weight` and `is_unbalance`; use `class_weight` or weights.

    `min_sum_hessian_in_leaf` and `reg_lambda` are set against second derivatives, which grow with
    the strength. An objective is for the rows it was made for, so cross-validation makes one for
    each fold. A pickled estimator takes its objective along, and so the groups of its rows.

    Examples
    --------
    >>> import numpy as np
    >>> from lightgbm import LGBMClassifier
    >>> import likeforlike as lfl
    >>> from likeforlike.training import lightgbm_objective, probabilities
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 2000)
    >>> X = rng.standard_normal((2000, 2)) + np.outer(sex, [1, 0])
    >>> y = rng.random(2000) < probabilities(X.sum(axis=1))
    >>> for strength in (0, 10):
    ...     objective = lightgbm_objective(lfl.FairLeap(), strength, sex)
    ...     model = LGBMClassifier(objective=objective, n_jobs=1, verbose=-1).fit(X, y)
    ...     scores = probabilities(model.predict(X, raw_score=True))
    ...     print(round(float(lfl.dd(scores, sex)), 2))
    0.17
    0.03
    """
    layout = Layout.from_columns(sensitive_features, legitimate_features, sample_weight)
    return FairObjective(penalty, strength, layout, loss, learning_rate)


def lightgbm_metric(
    penalty: Penalty,
    strength: float,
    sensitive_features: Column,
    legitimate_features: Column | None = None,
    *,
    loss: LossName = "logistic",
    sample_weight: Column | None = None,
) -> LightGBMMetric:
    """Make a metric for LightGBM, for early stopping: mean loss + strength * V on evaluation rows.

    Give it as `eval_metric` to the `fit` of an estimator, or as `feval` to `lightgbm.train`, with
    an objective of this package: LightGBM then hands raw scores over, which the metric takes for
    granted. The estimators watch a metric of their own besides, which knows no penalty, takes raw
    scores for probabilities and would stop training too; `metric="None"` turns it off.

    Parameters
    ----------
    penalty, strength, loss : as for the objective.
    sensitive_features, legitimate_features, sample_weight : (n,) each, of the rows of the one
        evaluation set.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.training import lightgbm_metric
    >>> metric = lightgbm_metric(lfl.FairLeap(), 10.0, ["f", "m"], loss="squared")
    >>> targets, raw = [0.0, 2.0], [0.5, 1.5]
    >>> metric(targets, raw)
    ('penalized_squared', 10.25, False)
    """
    layout = Layout.from_columns(sensitive_features, legitimate_features, sample_weight)
    return LightGBMMetric(penalty, strength, layout, loss)


def xgboost_objective(
    penalty: Penalty,
    strength: float,
    sensitive_features: Column,
    legitimate_features: Column | None = None,
    *,
    loss: LossName = "logistic",
    sample_weight: Column | None = None,
    learning_rate: float = 0.3,
) -> FairObjective:
    """Make an objective for XGBoost: mean loss + strength * V.

    Give it as `objective` to `XGBClassifier` or `XGBRegressor`, or as `obj` to `xgboost.train`.

    Parameters
    ----------
    penalty, strength, loss : as for `lightgbm_objective`.
    sensitive_features, legitimate_features, sample_weight : (n,) each, as there.
    learning_rate : of the model, as there; by default that of XGBoost.

    Notes
    -----
    With an objective of one's own XGBoost

    - does not fit the starting value `base_score`, which is 0.5 unless given. `XGBClassifier` reads
      it as a probability and starts from the raw score 0; so does `xgboost.train` if the parameters
      also name `"objective": "binary:logistic"`, which makes `predict` give probabilities too.
      Without that, and in `XGBRegressor`, it is the raw score itself: give the mean of the target;
    - ignores `scale_pos_weight`; use weights.

    `min_child_weight` and `reg_lambda` are set against second derivatives, which grow with the
    strength. Otherwise the notes of `lightgbm_objective` apply.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.training import xgboost_objective
    >>> objective = xgboost_objective(lfl.FairLeap(), 10.0, ["f", "m"], loss="squared")
    >>> targets, raw = [0.0, 2.0], [0.5, 1.5]
    >>> gradient, _ = objective(targets, raw)
    >>> gradient
    array([-19.5,  19.5])
    """
    layout = Layout.from_columns(sensitive_features, legitimate_features, sample_weight)
    return FairObjective(penalty, strength, layout, loss, learning_rate)


def xgboost_metric(
    penalty: Penalty,
    strength: float,
    sensitive_features: Column,
    legitimate_features: Column | None = None,
    *,
    loss: LossName = "logistic",
    sample_weight: Column | None = None,
) -> XGBoostMetric:
    """Make a metric for XGBoost, for early stopping: mean loss + strength * V on evaluation rows.

    Give it as `eval_metric` to an estimator, or as `custom_metric` to `xgboost.train`, with an
    objective of this package: XGBoost then hands raw scores over, which the metric takes for
    granted. It is the last metric, and so the one training is stopped by. XGBoost reads metrics to
    six decimals; scale a target whose errors are smaller.

    Parameters
    ----------
    penalty, strength, loss : as for the objective.
    sensitive_features, legitimate_features, sample_weight : (n,) each, of the rows of the one
        evaluation set.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.training import xgboost_metric
    >>> metric = xgboost_metric(lfl.FairLeap(), 10.0, ["f", "m"], loss="squared")
    >>> targets, raw = [0.0, 2.0], [0.5, 1.5]
    >>> metric(targets, raw)
    10.25
    """
    layout = Layout.from_columns(sensitive_features, legitimate_features, sample_weight)
    return XGBoostMetric(penalty, strength, layout, loss)
