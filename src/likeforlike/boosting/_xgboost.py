"""Objective and metric for XGBoost, in `xgboost.train` and its scikit-learn estimators."""

from __future__ import annotations

from likeforlike.boosting._losses import LossName
from likeforlike.boosting._objective import FairObjective
from likeforlike.boosting._penalized import PenalizedLoss
from likeforlike.disparity._columns import Column
from likeforlike.penalties._layout import Layout
from likeforlike.penalties._penalty import Penalty


class XGBoostMetric(PenalizedLoss):
    """Mean loss + strength * V on evaluation rows; lower is better.

    `xgboost_metric` makes one from columns.

    Parameters
    ----------
    penalty : V.
    strength : its weight against the mean loss, >= 0.
    layout : groups and levels of the evaluation rows, in their order.
    loss : `"logistic"` or `"squared"`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.boosting import XGBoostMetric
    >>> from likeforlike.penalties import Layout
    >>> metric = XGBoostMetric(lfl.FairLeap(), 10.0, Layout.of_rows(["f", "m"]), "squared")
    >>> metric.__name__, metric([0.0, 2.0], [0.5, 1.5])
    ('penalized_squared', 10.25)
    """

    @property
    def __name__(self) -> str:
        """What the estimators of XGBoost print."""
        return f"penalized_{self.loss}"

    def __call__(
        self, first: Column, second: Column, sample_weight: Column | None = None
    ) -> tuple[str, float] | float:
        """(name, value) of (raw, data), or the value of (targets, raw, weights)."""
        call = self._read(first, second, sample_weight)
        value = self._value(call)
        return (self.__name__, value) if call.native else value


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
    """An objective for XGBoost: mean loss + strength * V.

    Give it as `objective` to `XGBClassifier` or `XGBRegressor`, or as `obj` to `xgboost.train`.

    Parameters
    ----------
    penalty : V, such as `FairLeap()`; it acts on probabilities (logistic) or predictions (squared).
    strength : weight of the penalty against the mean loss, >= 0.
    sensitive_features : (n,) groups of the training rows, in their order.
    legitimate_features : (n,) levels of the training rows; `None` means one level.
    loss : `"logistic"` for a target of 0 and 1, or `"squared"`.
    sample_weight : (n,) numbers >= 0, for loss and penalty. By default the weights of the data
        (`sample_weight` of an estimator, `weight` of a `DMatrix`).
    learning_rate : of the model; by default that of XGBoost. A smaller one than the model's fits
        strong penalties in fewer trees, and below half of it steps may overshoot.

    Notes
    -----
    With an objective of one's own XGBoost

    - does not fit the starting value `base_score`, which is 0.5 unless given. `XGBClassifier` reads
      it as a probability and starts from the raw score 0; so does `xgboost.train` if the parameters
      also name `"objective": "binary:logistic"`, which makes `predict` give probabilities too.
      Without that, and in `XGBRegressor`, it is the raw score itself: give the mean of the target;
    - ignores `scale_pos_weight`; use weights.

    `min_child_weight` and `reg_lambda` are set against second derivatives, which grow with
    the strength. An objective is for the rows it was made for, so cross-validation makes one for
    each fold. A pickled estimator takes its objective along, and so the groups of its rows.

    Examples
    --------
    >>> import numpy as np
    >>> from xgboost import XGBClassifier
    >>> import likeforlike as lfl
    >>> from likeforlike.boosting import probabilities, xgboost_objective
    >>> rng = np.random.default_rng(0)
    >>> sex = rng.integers(0, 2, 2000)
    >>> X = rng.standard_normal((2000, 2)) + np.outer(sex, [1, 0])
    >>> y = rng.random(2000) < probabilities(X.sum(axis=1))
    >>> for strength in (0, 10):
    ...     objective = xgboost_objective(lfl.FairLeap(), strength, sex)
    ...     model = XGBClassifier(objective=objective, max_depth=3, n_jobs=1).fit(X, y)
    ...     scores = model.predict_proba(X)[:, 1]
    ...     print(round(float(lfl.dd(scores, sex)), 2))
    0.17
    0.03
    """
    layout = Layout.of_rows(sensitive_features, legitimate_features, sample_weight)
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
    """A metric for XGBoost, for early stopping: mean loss + strength * V on evaluation rows.

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
    >>> from likeforlike.boosting import xgboost_metric
    >>> metric = xgboost_metric(lfl.FairLeap(), 10.0, ["f", "m"], loss="squared")
    >>> targets, raw = [0.0, 2.0], [0.5, 1.5]
    >>> metric(targets, raw)
    10.25
    """
    layout = Layout.of_rows(sensitive_features, legitimate_features, sample_weight)
    return XGBoostMetric(penalty, strength, layout, loss)
