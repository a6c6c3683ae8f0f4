"""Losses of raw scores, with the scores people see and the derivatives boosting needs.

Trees add up to a raw score z. For a target y the losses are

    logistic   log(1 + e^z) - y z     score f(z) = 1 / (1 + e^-z), a probability
    squared    (z - y)²               score f(z) = z

and a penalty acts on the scores f(z), so that its strength means the same for every kind of model.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._columns import Column, numbers
from likeforlike.errors import InputError

LossName = Literal["logistic", "squared"]
"""Logistic for a target of 0 and 1, squared for a number.

Examples
--------
>>> import likeforlike as lfl
>>> from likeforlike.boosting import lightgbm_objective
>>> lightgbm_objective(lfl.FairLeap(), 1.0, ["f", "m"], loss="squared").loss
'squared'
"""


class Scored(NamedTuple):
    """Raw scores seen through a loss; all arrays have shape (n,).

    Attributes
    ----------
    scores, slopes : f(z) and f'(z).
    losses, gradients, curvatures : the loss of each row and its derivatives in z.
    """

    scores: FloatArray
    slopes: FloatArray
    losses: FloatArray
    gradients: FloatArray
    curvatures: FloatArray


def scored(loss: LossName, raw: FloatArray, targets: FloatArray) -> Scored:
    """Scores, losses and derivatives at the raw scores."""
    if loss == "squared":
        one = np.ones(raw.size)
        with np.errstate(over="ignore"):  # a loss that cannot be held is infinite
            apart = raw - targets
            return Scored(raw, one, apart**2, 2.0 * apart, 2.0 * one)
    wrong = np.flatnonzero((targets != 0.0) & (targets != 1.0))
    if wrong.size:
        raise InputError(
            f"the target must be 0 or 1 for the logistic loss, but row {wrong[0]} has "
            f"{targets[wrong[0]]:g}; encode the classes so, or use loss='squared'."
        )
    chance, slope = _sigmoid(raw)
    return Scored(chance, slope, np.logaddexp(0.0, raw) - targets * raw, chance - targets, slope)


def _sigmoid(raw: FloatArray) -> tuple[FloatArray, FloatArray]:
    """1 / (1 + e^-z) and its derivative, to full relative precision however far z is from 0."""
    small = np.exp(-np.abs(raw))
    chance: FloatArray = np.where(raw >= 0.0, 1.0, small) / (1.0 + small)
    return chance, small / (1.0 + small) ** 2


def probabilities(raw: Column) -> FloatArray:
    """Turn raw scores of a model with the logistic loss into probabilities, 1 / (1 + e^-z).

    LightGBM and XGBoost do not know what an objective of one's own means. With the logistic loss
    of this package the raw scores of a model, and what it gives unasked, are

    ================ ============================================= ============================
    model            raw scores                                    unasked
    ================ ============================================= ============================
    lgb.Booster      `predict(X)`                                  raw scores
    LGBMClassifier   `predict(X, raw_score=True)`                  raw scores and a warning, from
                                                                   `predict` and `predict_proba`
    xgb.Booster      `predict(data, output_margin=True)`           probabilities if the parameters
                                                                   name `binary:logistic`, raw
                                                                   scores if not
    XGBClassifier    `predict(X, output_margin=True)`              classes from `predict`,
                                                                   probabilities from
                                                                   `predict_proba`
    ================ ============================================= ============================

    Parameters
    ----------
    raw : (n,) finite numbers.

    Returns
    -------
    (n,) floats, the probabilities of class 1.

    Examples
    --------
    >>> from likeforlike.boosting import probabilities
    >>> probabilities([-800.0, 0.0, 800.0])
    array([0. , 0.5, 1. ])
    """
    return _sigmoid(numbers(raw, "raw"))[0]
