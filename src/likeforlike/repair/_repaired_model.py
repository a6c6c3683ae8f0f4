"""A model and a repair without the group, put together as one scikit-learn estimator."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike.disparity import Column, encode_columns, weights
from likeforlike.errors import InputError, MissingGroupsWarning
from likeforlike.repair._decisions import FairDecisions
from likeforlike.repair._propensity import Inputs
from likeforlike.repair._unaware import UnawareRepair
from likeforlike.training import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin

with extra("train"):
    from sklearn.base import clone
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data


class Model(Protocol):
    """What scikit-learn calls a classifier or a regressor."""

    def fit(self, X: FloatArray, y: npt.NDArray[Any]) -> Self: ...  # noqa: N803

    def predict(self, X: FloatArray) -> npt.NDArray[Any]: ...  # noqa: N803

    def predict_proba(self, X: FloatArray) -> npt.NDArray[Any]: ...  # noqa: N803


class _RepairedModel(MetaEstimatorMixin, BaseEstimator):
    """What classifier and regressor have in common.

    The model is fitted on all rows for predictions; the repair learns from scores of models that
    have not seen the rows.
    """

    estimator_: Model
    repair_: UnawareRepair | FairDecisions | None

    def __init__(
        self,
        estimator: Model | None = None,
        repair: UnawareRepair | FairDecisions | None = None,
        *,
        cv: int = 5,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.repair = repair
        self.cv = cv
        self.random_state = random_state

    @abstractmethod
    def _default(self) -> Model:
        """Return the model if none was given."""

    @abstractmethod
    def _scores(self, model: Model, rows: FloatArray) -> FloatArray:
        """Compute scores (n,) of rows (n, d) by a fitted model."""

    @abstractmethod
    def _split_folds(self, y: npt.NDArray[Any]) -> Iterable[tuple[IntArray, IntArray]]:
        """Return rows seen and rows held back, fold by fold."""

    @abstractmethod
    def _check_data(
        self,
        X: Inputs,  # noqa: N803
        y: Column,
    ) -> tuple[FloatArray, npt.NDArray[Any]]:
        """Return inputs (n, d), and what the model learns (n,)."""

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
        X : (n, d) inputs.
        y : (n,) classes or targets.
        sensitive_features : (n,) labels of the groups, or several columns; without them nothing is
            repaired, with a warning.
        legitimate_features : (n,) labels of the levels, or several columns.
        sample_weight : (n,) numbers >= 0, if the estimator takes them.
        """
        rows, targets = self._check_data(X, y)
        mass = None
        if sample_weight is not None:
            mass = weights(np.asarray(sample_weight), "sample_weight", len(rows))
        fresh = self._default() if self.estimator is None else self.estimator
        self.estimator_ = _fit_model(fresh, rows, targets, mass)
        self.repair_ = None
        if sensitive_features is None:
            if legitimate_features is not None:
                raise InputError("legitimate_features are of no use without sensitive_features.")
            warnings.warn(
                "fit was called without sensitive_features, so nothing will be repaired.",
                MissingGroupsWarning,
                stacklevel=2,
            )
            return self
        encode_columns(sensitive_features, "sensitive_features", len(rows))
        unseen = np.empty(len(rows))
        for seen, held in self._split_folds(targets):
            own = None if mass is None else mass[seen]
            unseen[held] = self._scores(
                _fit_model(fresh, rows[seen], targets[seen], own), rows[held]
            )
        chosen = UnawareRepair() if self.repair is None else clone(self.repair)
        self.repair_ = chosen.fit(
            unseen,
            rows,
            sensitive_features=sensitive_features,
            legitimate_features=legitimate_features,
            sample_weight=mass,
        )
        return self

    def _repair(self, X: Inputs, legitimate: Column | None) -> FloatArray:  # noqa: N803
        """Compute scores, or decisions if those are repaired, of rows (n, d)."""
        check_is_fitted(self, "estimator_")
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        scores = self._scores(self.estimator_, rows)
        if self.repair_ is None:
            return scores
        if isinstance(self.repair_, FairDecisions):
            decided = self.repair_.predict(scores, rows, legitimate_features=legitimate)
            return np.asarray(decided, np.float64)
        moved: FloatArray = self.repair_.transform(scores, rows, legitimate_features=legitimate)
        return moved


def _fit_model(
    model: Model, rows: FloatArray, targets: npt.NDArray[Any], mass: FloatArray | None
) -> Model:
    fresh: Any = clone(model)
    known = {} if mass is None else {"sample_weight": mass}
    if known and not has_fit_parameter(fresh, "sample_weight"):
        raise InputError(f"{type(fresh).__name__} takes no sample_weight; leave the weights out.")
    trained: Model = fresh.fit(rows, targets, **known)
    return trained


class RepairedClassifier(ClassifierMixin, _RepairedModel):
    """A classifier of two classes whose probabilities or decisions are repaired.

    It is one scikit-learn estimator, for pipelines and searches: groups are needed to fit and never
    to predict, levels for both. What `UnawareRepair` says in plain words holds here too.

    Parameters
    ----------
    estimator : a classifier with `predict_proba`, such as LightGBM's or `FairClassifier`; `None` is
        scikit-learn's LogisticRegression.
    repair : `UnawareRepair` (the default) for probabilities, or `FairDecisions` for decisions.
    cv : the repair learns from scores of models that have not seen the rows of a fold.
    random_state : seed of the folds.

    Attributes
    ----------
    estimator_ : the fitted model.
    repair_ : the fitted repair, with its `report_`; `None` without sensitive features.
    classes_, n_features_in_, feature_names_in_ : as scikit-learn has them.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.repair import RepairedClassifier, UnawareRepair
    >>> loans = make_loans(2000, gap=0.2)
    >>> X, y = loans.inputs(with_sensitive=True).matrix, loans.targets
    >>> model = RepairedClassifier(repair=UnawareRepair(repair_level=0.8)).fit(
    ...     X, y, sensitive_features=loans.groups, legitimate_features=loans.levels
    ... )
    >>> model.predict_proba(X, legitimate_features=loans.levels).shape
    (2000, 2)
    """

    classes_: npt.NDArray[Any]

    def _default(self) -> Model:
        model: Model = LogisticRegression(max_iter=1000)
        return model

    def _scores(self, model: Model, rows: FloatArray) -> FloatArray:
        return np.asarray(model.predict_proba(rows)[:, 1], np.float64)

    def _split_folds(self, y: npt.NDArray[Any]) -> Iterable[tuple[IntArray, IntArray]]:
        dealer = StratifiedKFold(self.cv, shuffle=True, random_state=self.random_state)
        return list(dealer.split(y[:, None], y))

    def _check_data(
        self,
        X: Inputs,  # noqa: N803
        y: Column,
    ) -> tuple[FloatArray, npt.NDArray[Any]]:
        rows, classes = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(classes)
        self.classes_, codes = np.unique(classes, return_inverse=True)
        if self.classes_.size != 2:
            raise InputError(
                "Only binary classification is supported. y must have two classes, but the number "
                f"of classes is {self.classes_.size}: one class cannot be learned from, and of "
                "several, repair the probability of one."
            )
        return rows, codes

    def predict_proba(
        self,
        X: Inputs,  # noqa: N803
        *,
        legitimate_features: Column | None = None,
    ) -> FloatArray:
        """Compute repaired probabilities (n, 2) of rows X (n, d); of decisions, 0 and 1.

        Parameters
        ----------
        X : (n, d) inputs.
        legitimate_features : (n,) levels, if there were any in `fit`.
        """
        accepted = np.clip(self._repair(X, legitimate_features), 0.0, 1.0)
        return np.column_stack([1.0 - accepted, accepted])

    def predict(
        self,
        X: Inputs,  # noqa: N803
        *,
        legitimate_features: Column | None = None,
    ) -> npt.NDArray[Any]:
        """Return classes (n,) of rows X (n, d): repaired decisions, or those above .5.

        Parameters
        ----------
        X : (n, d) inputs.
        legitimate_features : (n,) levels, if there were any in `fit`.
        """
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
    cv, random_state : as for `RepairedClassifier`.

    Attributes
    ----------
    estimator_, repair_, n_features_in_, feature_names_in_ : as for `RepairedClassifier`.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.repair import RepairedRegressor
    >>> loans = make_loans(2000, gap=0.2)
    >>> X = loans.inputs(with_sensitive=True).matrix
    >>> model = RepairedRegressor().fit(
    ...     X, loans.frame["score"], sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict(X, legitimate_features=loans.levels).shape
    (2000,)
    """

    def _default(self) -> Model:
        model: Model = LinearRegression()
        return model

    def _scores(self, model: Model, rows: FloatArray) -> FloatArray:
        return np.asarray(model.predict(rows), np.float64).ravel()

    def _split_folds(self, y: npt.NDArray[Any]) -> Iterable[tuple[IntArray, IntArray]]:
        dealer = KFold(self.cv, shuffle=True, random_state=self.random_state)
        return list(dealer.split(y[:, None]))

    def _check_data(
        self,
        X: Inputs,  # noqa: N803
        y: Column,
    ) -> tuple[FloatArray, npt.NDArray[Any]]:
        if isinstance(self.repair, FairDecisions):
            raise InputError("repair must be an UnawareRepair; decisions are for classifiers.")
        rows, targets = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        return rows, targets

    def predict(
        self,
        X: Inputs,  # noqa: N803
        *,
        legitimate_features: Column | None = None,
    ) -> FloatArray:
        """Compute repaired predictions (n,) of rows X (n, d).

        Parameters
        ----------
        X : (n, d) inputs.
        legitimate_features : (n,) levels, if there were any in `fit`.
        """
        return self._repair(X, legitimate_features)
