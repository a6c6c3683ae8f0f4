"""Classifier and regressor of XGBoost under a penalty or a limit.

XGBoost grows the trees; the values of their leaves are written over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._forks import keep_to_one_thread_after_fork
from likeforlike._lazy import extra
from likeforlike._settings import real
from likeforlike.errors import InputError

with extra("boost"):
    import_module("sklearn")
    import xgboost

from likeforlike.training._base import check_count
from likeforlike.training._boosted import (
    BoostedClassifier,
    BoostedEstimator,
    BoostedRegressor,
    check_single_precision,
)
from likeforlike.training._trees import Matrix, Model

# Values of leaves are written over, so a rate would only be in the way.
_FIXED = {"objective": "reg:squarederror", "base_score": 0.0, "learning_rate": 1.0, "verbosity": 0}
# What a node without children has in the place of its left child.
_NONE = -1


class XGBoostTrees:
    """Grows trees on a matrix of XGBoost."""

    def __init__(self, inputs: Matrix, settings: Mapping[str, Any]) -> None:
        self._inputs = inputs
        self._booster = xgboost.Booster({**settings, **_FIXED}, [inputs])
        self._trees = 0
        self._grown = np.empty(0, np.int64)

    def grow(self, gradient: FloatArray, hessian: FloatArray) -> bool:
        """Grow one more tree; whether there was anything to split."""
        self._booster.boost(self._inputs, self._trees, grad=gradient, hess=hessian)
        self._trees += 1
        self._grown = self._last_leaves(self._inputs)
        return int(self._grown.max()) > 0

    def leaves(self, inputs: Matrix) -> IntArray:
        """Return leaves (n,) of the last tree in which rows are."""
        return self._grown if inputs is self._inputs else self._last_leaves(inputs)

    def _last_leaves(self, inputs: Matrix) -> IntArray:
        last = self._booster[self._trees - 1 : self._trees]
        return np.asarray(last.predict(inputs, pred_leaf=True), np.int64).reshape(-1)

    def to_model(self, values: Sequence[FloatArray]) -> Model:
        """Return the first trees as an `xgboost.Booster`, which sums up these values."""
        document = json.loads(self._booster[: len(values)].save_raw("json").decode())
        trees = document["learner"]["gradient_booster"]["model"]["trees"]
        for tree, of_leaves in zip(trees, values, strict=True):
            ends = np.flatnonzero(np.array(tree["left_children"]) == _NONE)
            for leaf in ends[ends < of_leaves.size].tolist():
                # A leaf keeps its value where other nodes keep what they split at.
                tree["split_conditions"][leaf] = tree["base_weights"][leaf] = of_leaves[leaf].item()
        model = xgboost.Booster()
        model.load_model(bytearray(json.dumps(document).encode()))
        return model


@dataclass(frozen=True)
class XGBoost:
    """XGBoost with some settings; inputs in the columns `categorical` are codes of categories."""

    settings: dict[str, Any]
    categorical: tuple[int, ...] = ()

    def rows(self, inputs: Matrix) -> Matrix:
        """Compute matrix (n, d), dense or sparse, as a `DMatrix`."""
        check_single_precision(inputs, "XGBoost")
        kinds = ["c" if column in self.categorical else "q" for column in range(inputs.shape[1])]
        return xgboost.DMatrix(
            inputs,
            feature_types=kinds,
            enable_categorical=True,
            nthread=self.settings["nthread"],
        )

    def grower(self, inputs: Matrix) -> XGBoostTrees:
        """Grow trees on some rows."""
        return XGBoostTrees(inputs, self.settings)

    def raw(self, model: Model, inputs: Matrix) -> FloatArray:
        """Compute raw scores (n,) of a model, without those it starts from."""
        keep_to_one_thread_after_fork()
        return np.asarray(model.predict(inputs, output_margin=True), np.float64)


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
        named = self._library_settings({name: name for name in _NAMES}, seed)
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
    >>> who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    >>> model = FairXGBClassifier(strength=10.0, max_depth=3, random_state=0)
    >>> _ = model.fit(loans.inputs().matrix, loans.targets, **who)
    >>> model.predict_proba(loans.inputs().matrix).shape
    (2000, 2)
    """


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
    >>> who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    >>> model = FairXGBRegressor(strength=10.0, max_depth=3, random_state=0)
    >>> _ = model.fit(loans.inputs().matrix, loans.frame["score"].to_numpy(), **who)
    >>> model.predict(loans.inputs().matrix).shape
    (2000,)
    """
