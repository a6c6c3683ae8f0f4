"""What all scikit-learn estimators with networks inside have in common.

Checks, groups and levels, all-or-nothing fitting, fitted attributes and predictions live here; how
a network is trained is left to `estimators` and `baselines`.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np

from likeforlike.columns import Column, encode_columns
from likeforlike.errors import InputError, UnpenalisedWarning
from likeforlike.files import extra
from likeforlike.nn.fit import Fitted, Table
from likeforlike.nn.objectives import Loss
from likeforlike.penalties import Layout
from likeforlike.transport.atoms import FloatArray

extra("sklearn", "train")

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # noqa: E402
from sklearn.utils import check_random_state  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import (  # noqa: E402
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

__all__ = ["NetworkClassifier", "NetworkEstimator", "NetworkRegressor", "check_count"]


class NetworkEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """An estimator with a network inside: what does not depend on how it is trained.

    Examples
    --------
    >>> from likeforlike import FairClassifier
    >>> from likeforlike.network_estimator import NetworkEstimator
    >>> issubclass(FairClassifier, NetworkEstimator)
    True
    """

    learning_rate: float | None
    max_epochs: int
    patience: int
    batch_size: int
    validation_fraction: float
    random_state: int | np.random.RandomState | None
    verbose: bool

    @abstractmethod
    def _fit_table(self, table: Table, loss: Loss, outputs: int, seed: int) -> Fitted:
        """Train a network on checked rows."""

    @abstractmethod
    def _needs_groups(self) -> bool:
        """Whether training without groups is worth a warning."""

    @abstractmethod
    def _check_layout(self, layout: Layout) -> None:
        """Raise unless there is something to compare in these rows."""

    def _check_settings(self) -> None:
        """Raise if a setting makes no sense; subclasses check their own as well."""
        for name in ("max_epochs", "patience", "batch_size"):
            check_count(name, getattr(self, name))
        if not 0.0 < self.validation_fraction < 1.0:
            raise InputError(
                f"validation_fraction must lie between 0 and 1, not {self.validation_fraction!r}."
            )
        if self.learning_rate is not None and not self.learning_rate > 0.0:
            raise InputError(f"learning_rate must be more than 0, not {self.learning_rate!r}.")

    def _layout(
        self, size: int, sensitive: Column | None, legitimate: Column | None
    ) -> Layout | None:
        """Layout of the rows; `None`, with a warning, where nobody said who is in which group."""
        if sensitive is None:
            if legitimate is not None:
                raise InputError("legitimate_features are of no use without sensitive_features.")
            if self._needs_groups():
                warnings.warn(
                    "fit was called without sensitive_features, so the model is trained without "
                    "regard to groups.",
                    UnpenalisedWarning,
                    stacklevel=4,
                )
            return None
        group = encode_columns(sensitive, "sensitive_features", size)
        level = None
        if legitimate is not None:
            level = encode_columns(legitimate, "legitimate_features", size)
        layout = Layout.of_codes(group, level)
        self._check_layout(layout)
        return layout

    def _fit(self, table: Table, loss: Loss, outputs: int) -> None:
        """Train, then set the fitted attributes, all at once."""
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        fitted = self._fit_table(_counted(table), loss, outputs, seed)
        self._fitted = fitted
        self.strength_ = 0.0 if table.layout is None else fitted.strength
        self.disparity_ = fitted.disparity
        self.coverage_ = None if table.layout is None else table.layout.coverage()
        unit = fitted.scale.target_spread**2
        self.loss_curve_ = [float(epoch.loss.mean()) * unit for epoch in fitted.curve]
        self.n_iter_ = len(fitted.curve)

    def _scores(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Scores of new rows, (n,) or (n, c), in the unit of the target."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)  # noqa: N806
        return self._fitted.scores(X)


class NetworkClassifier(ClassifierMixin, NetworkEstimator):  # type: ignore[misc]
    """`fit`, `predict_proba` and `predict` of a classifier.

    Examples
    --------
    >>> from likeforlike import FairClassifier
    >>> model = FairClassifier(strength=0.0, max_epochs=2, random_state=0)
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], list("nnyy")).predict_proba([[1.5]]).shape
    (1, 2)
    """

    def fit(
        self,
        X: Any,  # noqa: N803, ANN401
        y: Any,  # noqa: ANN401
        *,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> Self:
        """Fit to inputs X (n, d) and classes y (n,).

        Parameters
        ----------
        X, y : inputs and classes.
        sensitive_features : (n,) labels of the groups, or several columns; without them the model
            is trained without regard to groups, with a warning.
        legitimate_features : (n,) labels of the levels, or several columns.
        sample_weight : (n,) numbers >= 0.
        """
        with _all_or_nothing(self):
            X, y = validate_data(self, X, y, dtype=np.float64)  # noqa: N806
            check_classification_targets(y)
            classes, codes = np.unique(y, return_inverse=True)
            if classes.size < 2:
                raise InputError(f"y has one class only, {classes[0]!r}; a classifier needs two.")
            layout = self._layout(len(X), sensitive_features, legitimate_features)
            table = Table(X, codes.astype(np.int64), _weights(sample_weight, X), layout)
            binary = classes.size == 2
            self._fit(table, "logistic" if binary else "softmax", 1 if binary else classes.size)
            self.classes_ = classes
        return self

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Probability of every class for the rows of X (n, d), shape (n, c)."""
        scores = self._scores(X)
        return np.column_stack([1.0 - scores, scores]) if scores.ndim == 1 else scores

    def predict(self, X: Any) -> Any:  # noqa: N803, ANN401
        """The most probable class for the rows of X (n, d), shape (n,)."""
        most_probable = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[most_probable]


class NetworkRegressor(RegressorMixin, NetworkEstimator):  # type: ignore[misc]
    """`fit` and `predict` of a regressor.

    Examples
    --------
    >>> from likeforlike import FairRegressor
    >>> model = FairRegressor(strength=0.0, max_epochs=2, random_state=0)
    >>> model.fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 2.0, 4.0, 6.0]).predict([[1.5]]).shape
    (1,)
    """

    def fit(
        self,
        X: Any,  # noqa: N803, ANN401
        y: Any,  # noqa: ANN401
        *,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> Self:
        """Fit to inputs X (n, d) and targets y (n,).

        Parameters
        ----------
        X, y : inputs and targets.
        sensitive_features, legitimate_features, sample_weight : as for a classifier.
        """
        with _all_or_nothing(self):
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)  # noqa: N806
            layout = self._layout(len(X), sensitive_features, legitimate_features)
            table = Table(X, y.astype(np.float64), _weights(sample_weight, X), layout)
            self._fit(table, "squared", 1)
        return self

    def predict(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Predicted targets for the rows of X (n, d), shape (n,)."""
        return self._scores(X)


def check_count(name: str, value: object) -> None:
    """Raise unless a setting is an integer of 1 or more.

    Parameters
    ----------
    name, value : of the setting.

    Examples
    --------
    >>> from likeforlike.network_estimator import check_count
    >>> check_count("width", 60)
    """
    if not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be an integer of 1 or more, not {value!r}.")


@contextmanager
def _all_or_nothing(estimator: NetworkEstimator) -> Iterator[None]:
    """Check the settings; a fit that fails or is interrupted leaves the estimator as it was."""
    before = dict(vars(estimator))
    estimator._check_settings()
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def _counted(table: Table) -> Table:
    """The rows that count, with their weights in the layout as well."""
    if table.weight is None:
        return table
    table = table.take(np.flatnonzero(table.weight))
    if table.layout is None or table.weight is None:
        return table
    return replace(table, layout=table.layout.weighted(table.weight))


def _weights(sample_weight: Column | None, X: FloatArray) -> FloatArray | None:  # noqa: N803
    if sample_weight is None:
        return None
    try:
        weight: FloatArray = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
    except ValueError as error:
        raise InputError(f"sample_weight cannot be used. {error}") from error
    if not weight.any():
        raise InputError("sample_weight is 0 for every row; at least one row must count.")
    return weight
