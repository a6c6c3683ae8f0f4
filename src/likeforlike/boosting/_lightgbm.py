"""Objective and metric for LightGBM, in `lightgbm.train` and its scikit-learn estimators."""

from __future__ import annotations

from likeforlike.boosting._losses import LossName
from likeforlike.boosting._objective import FairObjective
from likeforlike.boosting._penalized import PenalizedLoss
from likeforlike.disparity._columns import Column
from likeforlike.penalties._layout import Layout
from likeforlike.penalties._penalty import Penalty


class LightGBMMetric(PenalizedLoss):
    """Mean loss + strength * V on evaluation rows, as (name, value, False): lower is better.

    `lightgbm_metric` makes one from columns.

    Parameters
    ----------
    penalty : V.
    strength : its weight against the mean loss, >= 0.
    layout : groups and levels of the evaluation rows, in their order.
    loss : `"logistic"` or `"squared"`.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.boosting import LightGBMMetric
    >>> from likeforlike.penalties import Layout
    >>> metric = LightGBMMetric(lfl.FairLeap(), 10.0, Layout.of_rows(["f", "m"]), "squared")
    >>> metric([0.0, 2.0], [0.5, 1.5])
    ('penalized_squared', 10.25, False)
    """

    def __call__(
        self, first: Column, second: Column, sample_weight: Column | None = None
    ) -> tuple[str, float, bool]:
        """Evaluate (raw, data) or (targets, raw, weights)."""
        return (
            f"penalized_{self.loss}",
            self._value(self._read(first, second, sample_weight)),
            False,
        )


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
    """An objective for LightGBM: mean loss + strength * V.

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
    >>> from likeforlike.boosting import lightgbm_objective, probabilities
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
    layout = Layout.of_rows(sensitive_features, legitimate_features, sample_weight)
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
    """A metric for LightGBM, for early stopping: mean loss + strength * V on evaluation rows.

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
    >>> from likeforlike.boosting import lightgbm_metric
    >>> metric = lightgbm_metric(lfl.FairLeap(), 10.0, ["f", "m"], loss="squared")
    >>> targets, raw = [0.0, 2.0], [0.5, 1.5]
    >>> metric(targets, raw)
    ('penalized_squared', 10.25, False)
    """
    layout = Layout.of_rows(sensitive_features, legitimate_features, sample_weight)
    return LightGBMMetric(penalty, strength, layout, loss)
