"""Classifier and regressor of CatBoost under a penalty or a limit.

CatBoost grows the trees; the values of their leaves are written over. An objective of one's own is
handed the rows in blocks, and a penalty needs all of them at once. So each tree is fitted by
weighted least squares instead: with gradients g and second derivatives h, rows of weight h start
from g / h and aim at 0, and the squares

    Σ h (g / h + v(leaf))²

are, but for a constant, twice the second-order expansion of any objective.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike.errors import InputError

with extra("catboost"):
    import_module("sklearn")
    import catboost
    from scipy.sparse import csr_matrix

from likeforlike.training._base import check_count
from likeforlike.training._boosted import (
    BoostedClassifier,
    BoostedEstimator,
    BoostedRegressor,
    check_single_precision,
)
from likeforlike.training._trees import Matrix, Model

# Values of leaves are written over, so a rate would only be in the way.
_FIXED = {
    "loss_function": "RMSE",
    "iterations": 1,
    "learning_rate": 1.0,
    "boosting_type": "Plain",
    "boost_from_average": False,
    "leaf_estimation_iterations": 1,
    "allow_const_label": True,
    "allow_writing_files": False,
    "logging_level": "Silent",
}
# What residuals and the ridge may be.
_STEEPEST = 1e30
_DEEPEST = 16


class CatBoostTrees:
    """Grows trees on a pool of CatBoost, each as a model of one tree."""

    def __init__(self, inputs: Matrix, settings: Mapping[str, Any]) -> None:
        self._settings = {**settings, **_FIXED}
        self._seed, self._ridge = self._settings.pop("seed"), self._settings.pop("l2_leaf_reg", 0.0)
        borders = {key: settings[key] for key in ("border_count",) if key in settings}
        self._rows = inputs.slice(np.arange(inputs.num_row()))
        self._models: list[Any] = []
        self._splits = True
        try:
            self._rows.quantize(**borders)
        except catboost.CatBoostError as error:
            if "constant or ignored" not in str(error):
                raise
            self._splits = False

    def grow(self, gradient: FloatArray, hessian: FloatArray) -> bool:
        """Grow one more tree; whether there was anything to split."""
        if not self._splits:
            return False
        residual = np.clip(gradient / hessian, -_STEEPEST, _STEEPEST)
        self._rows.set_weight(hessian)
        self._rows.set_baseline(residual[:, None])
        # One seed for all trees would draw the same rows and columns for each.
        seed = (self._seed + len(self._models)) % 2**31
        # CatBoost multiplies it by the mean weight, with which rows of weight 2 are not two rows.
        ridge = min(self._ridge * hessian.size / float(hessian.sum()), _STEEPEST)
        model = catboost.CatBoost({**self._settings, "random_seed": seed, "l2_leaf_reg": ridge})
        self._models.append(model.fit(self._rows))
        return True

    def leaves(self, inputs: Matrix) -> IntArray:
        """Return leaves (n,) of the last tree in which rows are."""
        found = self._models[-1].calc_leaf_indexes(
            inputs, thread_count=self._settings["thread_count"]
        )
        return np.asarray(found, np.int64).reshape(-1)

    def to_model(self, values: Sequence[FloatArray]) -> Model:
        """Return the first trees as one `catboost.CatBoost`, which sums up these values."""
        for model, of_leaves in zip(self._models, values, strict=False):
            every = np.zeros(len(model.get_leaf_values()))
            every[: of_leaves.size] = of_leaves
            model.set_leaf_values(every)
        return catboost.sum_models(self._models[: len(values)])


@dataclass(frozen=True)
class CatBoost:
    """CatBoost with some settings.

    Inputs in the columns `categorical` are codes of that many categories. They become columns of
    0 and 1, since statistics of the target, which CatBoost makes of categories, would be those of
    one step of the boosting.
    """

    settings: dict[str, Any]
    categorical: Mapping[int, int]

    def rows(self, inputs: Matrix) -> Matrix:
        """Compute matrix (n, d), dense or sparse, as a `Pool`; of sparse ones it knows matrices."""
        check_single_precision(inputs, "CatBoost")
        if self.categorical:
            inputs = np.column_stack(
                [
                    inputs[:, [column]] == np.arange(self.categorical[column])
                    if column in self.categorical
                    else inputs[:, column]
                    for column in range(inputs.shape[1])
                ]
            )
        elif not isinstance(inputs, np.ndarray):
            inputs = csr_matrix(inputs)
            # CatBoost takes places of 32 bits alone.
            inputs.indices, inputs.indptr = inputs.indices.astype("i4"), inputs.indptr.astype("i4")
        return catboost.Pool(
            inputs, label=np.zeros(inputs.shape[0]), thread_count=self.settings["thread_count"]
        )

    def grower(self, inputs: Matrix) -> CatBoostTrees:
        """Grow trees on some rows."""
        return CatBoostTrees(inputs, self.settings)

    def raw(self, model: Model, inputs: Matrix) -> FloatArray:
        """Compute raw scores (n,) of a model, without those it starts from."""
        found = model.predict(
            inputs, prediction_type="RawFormulaVal", thread_count=self.settings["thread_count"]
        )
        return np.asarray(found, np.float64)


@dataclass(kw_only=True, eq=False, repr=False)
class _CatBoostEstimator(BoostedEstimator):
    """Trees of CatBoost."""

    max_depth: int = 6
    reg_lambda: float = 3.0

    def _check_settings(self) -> None:
        super()._check_settings()
        check_count("max_depth", self.max_depth)
        if self.max_depth > _DEEPEST:
            raise InputError(
                f"max_depth must be at most {_DEEPEST}, CatBoost's limit, not {self.max_depth!r}."
            )
        if self.reg_lambda > _STEEPEST:
            raise InputError(f"reg_lambda must be at most {_STEEPEST:g}, not {self.reg_lambda!r}.")

    def _library(self, categorical: tuple[int, ...], seed: int) -> CatBoost:
        names = {"max_depth": "depth", "colsample_bytree": "rsm", "reg_lambda": "l2_leaf_reg"}
        named = {
            "bootstrap_type": "No",
            "random_strength": 0.0,
            **self._library_settings(names, seed),
        }
        if self.subsample < 1.0:
            named |= {"bootstrap_type": "Bernoulli", "subsample": float(self.subsample)}
        named["thread_count"] = self.n_jobs or 1
        sizes = self._inputs.categories
        return CatBoost(named, {column: len(sizes[column]) for column in categorical})


@dataclass(kw_only=True, eq=False, repr=False)
class FairCatBoostClassifier(_CatBoostEstimator, BoostedClassifier):
    """CatBoost classifier whose scores are alike for all groups among equals.

    `FairLGBMClassifier` with trees of CatBoost; attributes and notes are the same. A column of
    categories is a column of 0 and 1 per category to `booster_`.

    Parameters
    ----------
    penalty, strength, max_disparity, limit_confidence : as for `FairLGBMClassifier`.
    n_estimators, learning_rate, patience : as there.
    max_depth, subsample, colsample_bytree, reg_lambda : `depth`, `subsample`, `rsm` and
        `l2_leaf_reg` of `catboost.CatBoostClassifier`, the last for rows of weight 1.
    settings : other parameters of CatBoost; `random_strength` is 0 unless given.
    class_weight, validation_fraction, limit_fraction, n_jobs, random_state, verbose : as there.

    Examples
    --------
    >>> from likeforlike import FairCatBoostClassifier
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(2000, gap=0.15)
    >>> who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    >>> model = FairCatBoostClassifier(strength=10.0, max_depth=3, random_state=0)
    >>> _ = model.fit(loans.inputs().matrix, loans.targets, **who)
    >>> model.predict_proba(loans.inputs().matrix).shape
    (2000, 2)
    """


class FairCatBoostRegressor(_CatBoostEstimator, BoostedRegressor):
    """CatBoost regressor whose scores are alike for all groups among equals.

    Boosted trees that minimize squared error + strength * penalty. Attributes and notes are those
    of `FairCatBoostClassifier`; the disparity is in the unit of the target.

    Parameters
    ----------
    penalty, strength, max_disparity, limit_confidence : as for `FairLGBMClassifier`.
    n_estimators, learning_rate, patience, settings : as there.
    max_depth, subsample, colsample_bytree, reg_lambda : as for `FairCatBoostClassifier`.
    validation_fraction, limit_fraction, n_jobs, random_state, verbose : as there.

    Examples
    --------
    >>> from likeforlike import FairCatBoostRegressor
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(2000, gap=0.15)
    >>> who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    >>> model = FairCatBoostRegressor(strength=10.0, max_depth=3, random_state=0)
    >>> _ = model.fit(loans.inputs().matrix, loans.frame["score"].to_numpy(), **who)
    >>> model.predict(loans.inputs().matrix).shape
    (2000,)
    """
