"""Classifier and regressor of LightGBM under a penalty or a limit.

LightGBM grows the trees; the values of their leaves are written over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._forks import keep_to_one_thread_after_fork
from likeforlike._lazy import extra

with extra("boost"):
    import_module("sklearn")
    import lightgbm
    from scipy.sparse import csr_matrix

from likeforlike.training._base import check_count
from likeforlike.training._boosted import BoostedClassifier, BoostedEstimator, BoostedRegressor
from likeforlike.training._trees import Matrix, Model

# Values of leaves are written over, so a rate would only be in the way.
_FIXED = {
    "objective": "none",
    "metric": "none",
    "learning_rate": 1.0,
    "boost_from_average": False,
    "feature_pre_filter": False,
    "deterministic": True,
    "force_row_wise": True,
    "verbosity": -1,
}


class LightGBMTrees:
    """Grows trees on inputs (n, d), dense or sparse, some of which are codes of categories."""

    def __init__(
        self, inputs: Matrix, categorical: Sequence[int], settings: Mapping[str, Any]
    ) -> None:
        given = {**settings, **_FIXED}
        data = lightgbm.Dataset(
            inputs,
            params=given,
            categorical_feature=list(categorical),
            free_raw_data=False,
        )
        data.construct()
        # LightGBM stops the program's work where no input has two values, or none but 0.
        bins = (data.feature_num_bin(column) for column in range(inputs.shape[1]))
        self._splits = any(count > 1 for count in bins)
        if self._splits:
            self._booster = lightgbm.Booster(given, data)

    def grow(self, gradient: FloatArray, hessian: FloatArray) -> bool:
        """Grow one more tree; whether there was anything to split."""
        if not self._splits:
            return False
        finished: bool = self._booster.update(fobj=lambda *_: (gradient, hessian))
        return not finished

    def leaves(self, inputs: Matrix) -> IntArray:
        """Return leaves (n,) of the last tree in which rows are."""
        last = self._booster.num_trees() - 1
        found = self._booster.predict(inputs, pred_leaf=True, start_iteration=last)
        return np.asarray(found, np.int64).reshape(-1)

    def to_model(self, values: Sequence[FloatArray]) -> Model:
        """Return the first trees as a `lightgbm.Booster`, which sums up these values."""
        for tree, of_leaves in enumerate(values):
            for leaf, value in enumerate(of_leaves.tolist()):
                self._booster.set_leaf_output(tree, leaf, value)
        return lightgbm.Booster(model_str=self._booster.model_to_string(num_iteration=len(values)))


@dataclass(frozen=True)
class LightGBM:
    """LightGBM with some settings; inputs in the columns `categorical` are codes of categories."""

    settings: dict[str, Any]
    categorical: tuple[int, ...] = ()

    def rows(self, inputs: Matrix) -> Matrix:
        """Compute matrix (n, d), dense or sparse; of sparse ones LightGBM knows matrices alone."""
        return inputs if isinstance(inputs, np.ndarray) else csr_matrix(inputs)

    def grower(self, inputs: Matrix) -> LightGBMTrees:
        """Grow trees on some rows."""
        return LightGBMTrees(inputs, self.categorical, self.settings)

    def raw(self, model: Model, inputs: Matrix) -> FloatArray:
        """Compute raw scores (n,) of a model, without those it starts from."""
        keep_to_one_thread_after_fork()
        found = model.predict(inputs, raw_score=True, num_threads=self.settings["num_threads"])
        return np.asarray(found, np.float64)


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
        # LightGBM takes a part of the rows only with a frequency.
        often = {"bagging_freq": int(self.subsample < 1.0), "num_threads": self.n_jobs or 1}
        return LightGBM({**often, **self._library_settings(_NAMES, seed)}, categorical)


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
    penalty, strength, max_disparity, limit_confidence, class_weight : as for `FairClassifier`.
    validation_fraction, limit_fraction, random_state : as there.
    n_estimators : trees at the most.
    learning_rate : from 0 to 1.
    patience : trees without improvement after which to stop.
    num_leaves, max_depth, min_child_samples, subsample, colsample_bytree, reg_lambda : as for
        `lightgbm.LGBMClassifier`.
    settings : other parameters of LightGBM.
    n_jobs : threads of LightGBM, 1 if `None`.
    verbose : show a progress bar on a terminal.

    Attributes
    ----------
    classes_, strength_, disparity_, coverage_, path_ : as of `FairClassifier`.
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
    >>> who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    >>> model = FairLGBMClassifier(strength=10.0, random_state=0)
    >>> _ = model.fit(loans.inputs().matrix, loans.targets, **who)
    >>> model.predict_proba(loans.inputs().matrix).shape
    (2000, 2)
    """


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
    >>> who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    >>> model = FairLGBMRegressor(strength=10.0, random_state=0)
    >>> _ = model.fit(loans.inputs().matrix, loans.frame["score"].to_numpy(), **who)
    >>> model.predict(loans.inputs().matrix).shape
    (2000,)
    """
