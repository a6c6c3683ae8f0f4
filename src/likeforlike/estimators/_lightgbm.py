"""Classifier and regressor of LightGBM under a penalty or a limit."""

from __future__ import annotations

from dataclasses import dataclass

from likeforlike.boosting._lightgbm_trees import LightGBM
from likeforlike.estimators._boosted import BoostedClassifier, BoostedEstimator, BoostedRegressor
from likeforlike.estimators._checks import check_count

_NAMES = {
    "num_leaves": "num_leaves",
    "max_depth": "max_depth",
    "min_child_samples": "min_data_in_leaf",
    "subsample": "bagging_fraction",
    "colsample_bytree": "feature_fraction",
}


@dataclass(kw_only=True, eq=False, repr=False)
class _LightGBMEstimator(BoostedEstimator):
    """Trees of LightGBM."""

    num_leaves: int = 31
    max_depth: int = -1
    min_child_samples: int = 20

    def _check_settings(self) -> None:
        super()._check_settings()
        for name in ("num_leaves", "min_child_samples"):
            check_count(name, getattr(self, name))

    def _library(self, categorical: tuple[int, ...], seed: int) -> LightGBM:
        # LightGBM takes a part of the rows only if it is told how often.
        often = {"bagging_freq": int(self.subsample < 1.0), "num_threads": self.n_jobs or 1}
        return LightGBM({**often, **self._named(_NAMES, seed)}, categorical)


@dataclass(kw_only=True, eq=False, repr=False)
class FairLGBMClassifier(_LightGBMEstimator, BoostedClassifier):
    """LightGBM classifier whose scores are alike for all groups among equals.

    Boosted trees that minimize log loss + strength * penalty, for two classes. LightGBM grows the
    trees; the values of their leaves are fitted here, with how the penalty couples them, so that
    strong penalties are fitted in as many trees as weak ones. A fifth of the rows, with its share
    of every cell, is held back to stop by loss + strength * penalty, without the bias that the
    penalty has on few rows; below 100 rows none is. With a limit another fifth judges it.

    Parameters
    ----------
    penalty : `FairLeap()` if `None`; any `Penalty`.
    strength : of the penalty, 1 if `None`; 0 trains without it.
    max_disparity, limit_confidence : instead of a strength, the largest conditional disparity
        allowed, and the confidence with which it must be shown to hold; as for `FairClassifier`.
    n_estimators : trees at the most.
    learning_rate : from 0 to 1.
    patience : trees without improvement after which to stop.
    num_leaves, max_depth, min_child_samples, subsample, colsample_bytree, reg_lambda : as for
        `lightgbm.LGBMClassifier`.
    class_weight : `None`, `"balanced"` or {class: weight}, for the loss; the disparity counts
        people.
    settings : other parameters of LightGBM.
    validation_fraction, limit_fraction : shares of rows held back.
    n_jobs : threads of LightGBM, 1 if `None`.
    random_state : seed.
    verbose : show a progress bar on a terminal.

    Attributes
    ----------
    classes_ : labels.
    strength_ : the strength trained with.
    disparity_ : what the audit's estimate says on the rows held back (on the limit rows, if there
        is a limit), with its interval; `None` without sensitive features.
    coverage_ : share of each group there in levels where groups meet.
    path_ : strengths tried for `max_disparity`.
    loss_curve_, n_iter_ : loss on the validation rows after every tree, and how many were grown.
    n_trees_ : how many the model has: as many as were best.
    booster_, start_ : the `lightgbm.Booster`, and the raw score it starts from: raw scores are
        their sum. `None` if no tree did any good.
    n_features_in_, feature_names_in_ : of X.

    Notes
    -----
    Missing inputs are nan; categorical columns of pandas or polars are categories to LightGBM, and
    sparse matrices stay sparse. Where more trees would have brought much, `UnderfitWarning` says
    so. pickle and joblib keep a fitted model, which holds no groups. An interrupted fit leaves the
    estimator as it was before.

    Examples
    --------
    >>> from likeforlike import FairLGBMClassifier
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(2000, gap=0.15)
    >>> model = FairLGBMClassifier(strength=10.0, random_state=0).fit(
    ...     loans.inputs().matrix,
    ...     loans.targets,
    ...     sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict_proba(loans.inputs().matrix).shape
    (2000, 2)
    """


@dataclass(kw_only=True, eq=False, repr=False)
class FairLGBMRegressor(_LightGBMEstimator, BoostedRegressor):
    """LightGBM regressor whose scores are alike for all groups among equals.

    Boosted trees that minimize squared error + strength * penalty. Attributes and notes are those
    of `FairLGBMClassifier`; the disparity is in the unit of the target.

    Parameters
    ----------
    penalty, strength, max_disparity, limit_confidence : as for `FairLGBMClassifier`.
    n_estimators, learning_rate, patience, settings : as there.
    num_leaves, max_depth, min_child_samples, subsample, colsample_bytree, reg_lambda : as there.
    validation_fraction, limit_fraction, n_jobs, random_state, verbose : as there.

    Examples
    --------
    >>> from likeforlike import FairLGBMRegressor
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(2000, gap=0.15)
    >>> model = FairLGBMRegressor(strength=10.0, random_state=0).fit(
    ...     loans.inputs().matrix,
    ...     loans.frame["score"].to_numpy(),
    ...     sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict(loans.inputs().matrix).shape
    (2000,)
    """
