"""What all scikit-learn estimators with networks inside have in common.

Checks, groups and levels, all-or-nothing fitting, fitted attributes and predictions live here; how
a network is trained is left to `estimators` and `baselines`.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._extras import extra
from likeforlike.disparity._columns import (
    Codes,
    Column,
    encode_columns,
    refuse_masked,
    same_length,
    weights,
)
from likeforlike.errors import InputError, UnpenalisedWarning
from likeforlike.estimators._sklearn import BaseEstimator, ClassifierMixin, RegressorMixin
from likeforlike.inference import DistanceEstimate
from likeforlike.nn._fit import Fitted, Table
from likeforlike.nn._objectives import Loss
from likeforlike.penalties import Layout, SoftGroups
from likeforlike.transport._scale import Scale

with extra("train"):
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data


class Learned(NamedTuple):
    """Targets (n,) as networks take them, the loss, and how many outputs that needs."""

    targets: FloatArray | IntArray
    loss: Loss
    outputs: int


class NetworkEstimator(BaseEstimator, ABC):
    """An estimator with a network inside: what does not depend on how it is trained."""

    learning_rate: float | None
    max_epochs: int
    patience: int
    batch_size: int
    validation_fraction: float
    random_state: int | np.random.RandomState | None
    verbose: bool
    strength_: float
    disparity_: DistanceEstimate | None
    coverage_: dict[Hashable, float] | None
    loss_curve_: list[float]
    n_iter_: int
    _numeric = False

    @abstractmethod
    def _fit_table(self, table: Table, loss: Loss, outputs: int, seed: int) -> Fitted:
        """Train a network on checked rows."""

    @abstractmethod
    def _needs_groups(self) -> bool:
        """Whether training without groups is worth a warning."""

    @abstractmethod
    def _check_layout(self, layout: Layout) -> None:
        """Raise unless there is something to compare in these rows."""

    def _prepared(self, table: Table) -> Table:
        """The table with its layout as a penalty takes it; subclasses with a penalty say how."""
        return table

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
                    "fit was called without sensitive_features, so the model is trained "
                    "as if there were no groups.",
                    UnpenalisedWarning,
                    stacklevel=3,
                )
            return None
        group = _groups(sensitive, size)
        level = None
        if legitimate is not None:
            level = encode_columns(legitimate, "legitimate_features", size)
        layout = Layout.of_codes(group, level)
        self._check_layout(layout)
        return layout

    @abstractmethod
    def _learned(self, y: npt.NDArray[Any]) -> Learned:
        """What is learned of the checked targets y (n,)."""

    def fit(
        self,
        X: Any,  # noqa: N803, ANN401
        y: Any,  # noqa: ANN401
        *,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> Self:
        """Fit to inputs X (n, d) and classes or targets y (n,).

        Parameters
        ----------
        X, y : inputs, and classes or targets.
        sensitive_features : (n,) labels of the groups, several columns, or `SoftGroups`; without
            them the model is trained without regard to groups, with a warning.
        legitimate_features : (n,) labels of the levels, or several columns.
        sample_weight : (n,) numbers >= 0.
        """
        with _all_or_nothing(self):
            refuse_masked(X, "X")
            refuse_masked(y, "y")
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=self._numeric)  # noqa: N806
            targets, loss, outputs = self._learned(y)
            layout = self._layout(len(X), sensitive_features, legitimate_features)
            table = Table(X, targets, _weights(sample_weight, X), layout)
            self._fit(table, loss, outputs)
        return self

    def _fit(self, table: Table, loss: Loss, outputs: int) -> None:
        """Train, then set the fitted attributes, all at once."""
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        table = self._prepared(_counted(table))
        fitted = self._fit_table(table, loss, outputs, seed)
        self._fitted = fitted
        self.strength_ = 0.0 if table.layout is None else fitted.strength
        self.disparity_ = fitted.disparity
        self.coverage_ = None if table.penalised is None else table.penalised.coverage()
        unit = Scale(size=fitted.scale.target_spread)
        self.loss_curve_ = [unit.powered(float(epoch.loss.mean()), 2.0) for epoch in fitted.curve]
        self.n_iter_ = len(fitted.curve)

    def _scores(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Scores of new rows, (n,) or (n, c), in the unit of the target."""
        check_is_fitted(self)
        refuse_masked(X, "X")
        X = validate_data(self, X, reset=False, dtype=np.float64)  # noqa: N806
        return self._fitted.scores(X)


class NetworkClassifier(ClassifierMixin, NetworkEstimator):
    """`predict_proba` and `predict` of a classifier."""

    classes_: npt.NDArray[Any]

    def _learned(self, y: npt.NDArray[Any]) -> Learned:
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size < 2:
            raise InputError(f"y has one class only, {classes[0]!r}; a classifier needs two.")
        self.classes_ = classes
        targets = codes.astype(np.int64)
        if classes.size == 2:
            return Learned(targets, "logistic", 1)
        return Learned(targets, "softmax", classes.size)

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Probability of every class for the rows of X (n, d), shape (n, c)."""
        scores = self._scores(X)
        return np.column_stack([1.0 - scores, scores]) if scores.ndim == 1 else scores

    def predict(self, X: Any) -> Any:  # noqa: N803, ANN401
        """The most probable class for the rows of X (n, d), shape (n,)."""
        most_probable = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[most_probable]


class NetworkRegressor(RegressorMixin, NetworkEstimator):
    """`predict` of a regressor."""

    _numeric = True

    def _learned(self, y: npt.NDArray[Any]) -> Learned:
        return Learned(y.astype(np.float64), "squared", 1)

    def predict(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Predicted targets for the rows of X (n, d), shape (n,)."""
        return self._scores(X)


def _groups(sensitive: Column, size: int) -> Codes | SoftGroups:
    """Groups of the rows, as they are told: by labels, or by probabilities."""
    if not isinstance(sensitive, SoftGroups):
        return encode_columns(sensitive, "sensitive_features", size)
    same_length(size, len(sensitive), "sensitive_features")
    return sensitive


def check_count(name: str, value: object) -> None:
    """Raise unless a setting is an integer of 1 or more."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be an integer of 1 or more, not {value!r}.")


def check_sizes(name: str, sizes: object) -> None:
    """Raise unless a setting lists integers of 1 or more, which may be none."""
    if not isinstance(sizes, Sequence | np.ndarray) or isinstance(sizes, str | bytes):
        raise InputError(f"{name} must list the sizes of layers, as (50, 20), not {sizes!r}.")
    for place, size in enumerate(sizes):
        check_count(f"{name}[{place}]", size)


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
    refuse_masked(sample_weight, "sample_weight")
    return weights(np.asarray(sample_weight), "sample_weight", len(X))
