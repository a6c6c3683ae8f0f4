"""Classifier and regressor of XGBoost under a penalty or a limit."""

from __future__ import annotations

from dataclasses import dataclass

from likeforlike._arrays import real
from likeforlike.boosting._xgboost_trees import XGBoost
from likeforlike.errors import InputError
from likeforlike.estimators._boosted import BoostedClassifier, BoostedEstimator, BoostedRegressor
from likeforlike.estimators._checks import check_count

# What single precision holds.
_MOST = 1e37
_NAMES = ("max_depth", "min_child_weight", "subsample", "colsample_bytree", "reg_lambda")


@dataclass(kw_only=True, eq=False, repr=False)
class _XGBoostEstimator(BoostedEstimator):
    """Trees of XGBoost."""

    max_depth: int = 6
    min_child_weight: float = 1.0
    reg_lambda: float = 1.0

    def _check_settings(self) -> None:
        super()._check_settings()
        check_count("max_depth", self.max_depth)
        for name in ("min_child_weight", "reg_lambda"):
            if not 0.0 <= real(getattr(self, name)) < _MOST:
                raise InputError(
                    f"{name} must be from 0 to {_MOST:g}, which XGBoost can hold, not "
                    f"{getattr(self, name)!r}."
                )

    def _library(self, categorical: tuple[int, ...], seed: int) -> XGBoost:
        named = self._named({name: name for name in _NAMES}, seed)
        named["nthread"] = self.n_jobs or 1
        # XGBoost refuses numbers below what single precision holds; they are nothing.
        for name in ("min_child_weight", "reg_lambda"):
            named[name] = named[name] if named[name] > 1.0 / _MOST else 0.0
        return XGBoost(named, categorical)


@dataclass(kw_only=True, eq=False, repr=False)
class FairXGBClassifier(_XGBoostEstimator, BoostedClassifier):
    """XGBoost classifier whose scores are alike for all groups among equals.

    `FairLGBMClassifier` with trees of XGBoost; attributes and notes are the same. XGBoost takes
    what a sparse matrix does not hold for missing, not for 0.

    Parameters
    ----------
    penalty, strength, max_disparity, limit_confidence : as for `FairLGBMClassifier`.
    n_estimators, learning_rate, patience : as there.
    max_depth, min_child_weight, subsample, colsample_bytree, reg_lambda : as for
        `xgboost.XGBClassifier`.
    settings : other parameters of XGBoost.
    class_weight, validation_fraction, limit_fraction, n_jobs, random_state, verbose : as there.

    Examples
    --------
    >>> from likeforlike import FairXGBClassifier
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(2000, gap=0.15)
    >>> model = FairXGBClassifier(strength=10.0, max_depth=3, random_state=0).fit(
    ...     loans.inputs().matrix,
    ...     loans.targets,
    ...     sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict_proba(loans.inputs().matrix).shape
    (2000, 2)
    """


@dataclass(kw_only=True, eq=False, repr=False)
class FairXGBRegressor(_XGBoostEstimator, BoostedRegressor):
    """XGBoost regressor whose scores are alike for all groups among equals.

    Boosted trees that minimize squared error + strength * penalty. Attributes and notes are those
    of `FairLGBMClassifier`; the disparity is in the unit of the target.

    Parameters
    ----------
    penalty, strength, max_disparity, limit_confidence : as for `FairLGBMClassifier`.
    n_estimators, learning_rate, patience, settings : as there.
    max_depth, min_child_weight, subsample, colsample_bytree, reg_lambda : as for
        `xgboost.XGBRegressor`.
    validation_fraction, limit_fraction, n_jobs, random_state, verbose : as there.

    Examples
    --------
    >>> from likeforlike import FairXGBRegressor
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(2000, gap=0.15)
    >>> model = FairXGBRegressor(strength=10.0, max_depth=3, random_state=0).fit(
    ...     loans.inputs().matrix,
    ...     loans.frame["score"].to_numpy(),
    ...     sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict(loans.inputs().matrix).shape
    (2000,)
    """
