"""A model and a repair without the group, put together as one scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray
from likeforlike._extras import extra
from likeforlike.disparity._columns import Column, encode_columns, weights
from likeforlike.errors import InputError, UnpenalisedWarning
from likeforlike.estimators._sklearn import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    RegressorMixin,
)
from likeforlike.postprocess._decisions import Decisions
from likeforlike.postprocess._guess import Inputs
from likeforlike.postprocess._unaware import UnawareRepair

with extra("train"):
    from sklearn.base import clone
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data


class _RepairedModel(MetaEstimatorMixin, BaseEstimator):
    """What classifier and regressor have in common.

    The model is fitted on all rows for predictions; the repair learns from scores of models that
    have not seen the rows.
    """

    estimator: Any
    repair: Any
    folds: int
    random_state: int | None

    def _default(self) -> Any:  # noqa: ANN401
        raise NotImplementedError

    def _scores(self, model: Any, X: FloatArray) -> FloatArray:  # noqa: N803, ANN401
        raise NotImplementedError

    def _dealt(self, y: npt.NDArray[Any]) -> Any:  # noqa: ANN401
        raise NotImplementedError

    def _fit(
        self,
        X: FloatArray,  # noqa: N803
        y: npt.NDArray[Any],
        sensitive: Column | None,
        legitimate: Column | None,
        sample_weight: Column | None,
    ) -> None:
        mass = None
        if sample_weight is not None:
            mass = weights(np.asarray(sample_weight), "sample_weight", len(X))
        fresh = self._default() if self.estimator is None else self.estimator
        self.estimator_ = _trained(fresh, X, y, mass)
        self.repair_ = None
        if sensitive is None:
            if legitimate is not None:
                raise InputError("legitimate_features are of no use without sensitive_features.")
            warnings.warn(
                "fit was called without sensitive_features, so nothing will be repaired.",
                UnpenalisedWarning,
                stacklevel=3,
            )
            return
        encode_columns(sensitive, "sensitive_features", len(X))
        unseen = np.empty(len(X))
        for seen, held in self._dealt(y):
            part = _trained(fresh, X[seen], y[seen], None if mass is None else mass[seen])
            unseen[held] = self._scores(part, X[held])
        chosen: Any = UnawareRepair() if self.repair is None else clone(self.repair)
        self.repair_ = chosen.fit(
            unseen,
            X,
            sensitive_features=sensitive,
            legitimate_features=legitimate,
            sample_weight=mass,
        )

    def _repaired(self, X: Inputs, legitimate: Column | None) -> FloatArray:  # noqa: N803
        """Scores, or decisions if those are repaired, of rows (n, d)."""
        check_is_fitted(self, "estimator_")
        X = validate_data(self, X, reset=False, dtype=np.float64)  # noqa: N806
        scores = self._scores(self.estimator_, X)
        if self.repair_ is None:
            return scores
        if isinstance(self.repair_, Decisions):
            decided = self.repair_.predict(scores, X, legitimate_features=legitimate)
            return np.asarray(decided, np.float64)
        moved: FloatArray = self.repair_.transform(scores, X, legitimate_features=legitimate)
        return moved


def _trained(
    model: Any,  # noqa: ANN401
    X: FloatArray,  # noqa: N803
    y: npt.NDArray[Any],
    mass: FloatArray | None,
) -> Any:  # noqa: ANN401
    fresh = clone(model)
    if mass is None:
        return fresh.fit(X, y)
    if not has_fit_parameter(fresh, "sample_weight"):
        raise InputError(f"{type(fresh).__name__} takes no sample_weight; leave the weights out.")
    return fresh.fit(X, y, sample_weight=mass)


class RepairedClassifier(ClassifierMixin, _RepairedModel):
    """A classifier of two classes whose probabilities or decisions are repaired.

    It is one scikit-learn estimator, for pipelines and searches: groups are needed to fit and never
    to predict, levels for both. What `UnawareRepair` says in plain words holds here too.

    Parameters
    ----------
    estimator : a classifier with `predict_proba`, such as LightGBM's or `FairClassifier`; `None` is
        scikit-learn's LogisticRegression.
    repair : `UnawareRepair` (the default) for probabilities, or `Decisions` for decisions.
    folds : the repair learns from scores of models that have not seen the rows of a fold.
    random_state : seed of the folds.

    Attributes
    ----------
    estimator_ : the fitted model.
    repair_ : the fitted repair, with its `report_`; `None` without sensitive features.
    classes_, n_features_in_, feature_names_in_ : as scikit-learn has them.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.postprocess import RepairedClassifier, UnawareRepair
    >>> loans = make_loans(2000, gap=0.2)
    >>> X, y = loans.inputs(with_sensitive=True).matrix, loans.targets
    >>> model = RepairedClassifier(repair=UnawareRepair(t=0.8)).fit(
    ...     X, y, sensitive_features=loans.groups, legitimate_features=loans.levels
    ... )
    >>> model.predict_proba(X, legitimate_features=loans.levels).shape
    (2000, 2)
    """

    classes_: npt.NDArray[Any]

    def __init__(
        self,
        estimator: Any = None,  # noqa: ANN401
        repair: UnawareRepair | Decisions | None = None,
        *,
        folds: int = 5,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.repair = repair
        self.folds = folds
        self.random_state = random_state

    def _default(self) -> Any:  # noqa: ANN401
        return LogisticRegression(max_iter=1000)

    def _scores(self, model: Any, X: FloatArray) -> FloatArray:  # noqa: N803, ANN401
        return np.asarray(model.predict_proba(X)[:, 1], np.float64)

    def _dealt(self, y: npt.NDArray[Any]) -> Any:  # noqa: ANN401
        dealer = StratifiedKFold(self.folds, shuffle=True, random_state=self.random_state)
        return dealer.split(y[:, None], y)

    def fit(
        self,
        X: Inputs,  # noqa: N803
        y: Column,
        *,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> Self:
        """Fit the model to inputs X (n, d) and classes y (n,), then the repair.

        Parameters
        ----------
        X, y : inputs, and two classes.
        sensitive_features : (n,) labels of the groups, or several columns; without them nothing is
            repaired, with a warning.
        legitimate_features : (n,) labels of the levels, or several columns.
        sample_weight : (n,) numbers >= 0, if the estimator takes them.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)  # noqa: N806
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size != 2:
            raise InputError(
                "Only binary classification is supported. y must have two classes, but the number "
                f"of classes is {self.classes_.size}: one class cannot be learned from, and of "
                "several, repair the probability of one."
            )
        self._fit(X, codes, sensitive_features, legitimate_features, sample_weight)
        return self

    def predict_proba(
        self,
        X: Inputs,  # noqa: N803
        *,
        legitimate_features: Column | None = None,
    ) -> FloatArray:
        """Repaired probabilities (n, 2) of rows X (n, d) in levels (n,); of decisions, 0 and 1."""
        accepted = np.clip(self._repaired(X, legitimate_features), 0.0, 1.0)
        return np.column_stack([1.0 - accepted, accepted])

    def predict(
        self,
        X: Inputs,  # noqa: N803
        *,
        legitimate_features: Column | None = None,
    ) -> npt.NDArray[Any]:
        """Classes (n,) of rows X (n, d) in levels (n,): repaired decisions, or those above .5."""
        accepted = self.predict_proba(X, legitimate_features=legitimate_features)[:, 1] > 0.5
        return self.classes_[accepted.astype(np.int64)]

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class RepairedRegressor(RegressorMixin, _RepairedModel):
    """A regressor whose predictions are repaired by `UnawareRepair`.

    Parameters
    ----------
    estimator : any regressor; `None` is scikit-learn's LinearRegression.
    repair : an `UnawareRepair`; `None` means the default one.
    folds, random_state : as for `RepairedClassifier`.

    Attributes
    ----------
    estimator_, repair_, n_features_in_, feature_names_in_ : as for `RepairedClassifier`.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.postprocess import RepairedRegressor
    >>> loans = make_loans(2000, gap=0.2)
    >>> X = loans.inputs(with_sensitive=True).matrix
    >>> model = RepairedRegressor().fit(
    ...     X, loans.frame["score"], sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict(X, legitimate_features=loans.levels).shape
    (2000,)
    """

    def __init__(
        self,
        estimator: Any = None,  # noqa: ANN401
        repair: UnawareRepair | None = None,
        *,
        folds: int = 5,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.repair = repair
        self.folds = folds
        self.random_state = random_state

    def _default(self) -> Any:  # noqa: ANN401
        return LinearRegression()

    def _scores(self, model: Any, X: FloatArray) -> FloatArray:  # noqa: N803, ANN401
        return np.asarray(model.predict(X), np.float64).ravel()

    def _dealt(self, y: npt.NDArray[Any]) -> Any:  # noqa: ANN401
        dealer = KFold(self.folds, shuffle=True, random_state=self.random_state)
        return dealer.split(y[:, None])

    def fit(
        self,
        X: Inputs,  # noqa: N803
        y: Column,
        *,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> Self:
        """Fit the model to inputs X (n, d) and targets y (n,), then the repair.

        Parameters
        ----------
        X, y, sensitive_features, legitimate_features, sample_weight : as for `RepairedClassifier`.
        """
        if isinstance(self.repair, Decisions):
            raise InputError("repair must be an UnawareRepair; decisions are for classifiers.")
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)  # noqa: N806
        self._fit(X, y, sensitive_features, legitimate_features, sample_weight)
        return self

    def predict(
        self,
        X: Inputs,  # noqa: N803
        *,
        legitimate_features: Column | None = None,
    ) -> FloatArray:
        """Repaired predictions (n,) of rows X (n, d) in levels (n,)."""
        return self._repaired(X, legitimate_features)
