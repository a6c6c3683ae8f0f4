"""scikit-learn estimators for models that are trained against an adversary: what they share."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch

from likeforlike.baselines.adversary import check_two_groups
from likeforlike.baselines.contest import Optimiser, Schedule
from likeforlike.columns import Column, encode_columns
from likeforlike.errors import InputError, UnpenalisedWarning
from likeforlike.files import extra
from likeforlike.nn.data import Rows
from likeforlike.nn.fit import (
    Fitted,
    Table,
    held_out,
    scale_of,
    tensors,
    validation_disparity,
)
from likeforlike.nn.objectives import Loss
from likeforlike.nn.training import Follow, Trained
from likeforlike.penalties import Layout
from likeforlike.progress import epochs_bar
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

__all__ = [
    "ContestClassifier",
    "ContestEstimator",
    "ContestRegressor",
    "Task",
    "check_choice",
    "check_count",
]


@dataclass(frozen=True, slots=True)
class Task:
    """What there is to train: scaled rows, and what is asked of the outputs.

    Attributes
    ----------
    rows, validation : one data set each; the same one if none could be held back.
    loss : of the outputs.
    outputs : how many there are.
    """

    rows: Rows
    validation: Rows
    loss: Loss
    outputs: int


class ContestEstimator(BaseEstimator, ABC):  # type: ignore[misc]
    """An estimator that is trained against an adversary: checks, scaling, fitted attributes."""

    strength: float
    learning_rate: float | None
    max_epochs: int
    patience: int
    batch_size: int
    validation_fraction: float
    random_state: int | np.random.RandomState | None
    verbose: bool

    @abstractmethod
    def _train(self, task: Task, strengths: FloatArray, seed: int, follow: Follow) -> Trained:
        """Train a stack of one."""

    def _check_settings(self) -> None:
        if not (np.isfinite(self.strength) and self.strength >= 0.0):
            raise InputError(
                f"strength must be a finite number of 0 or more, not {self.strength!r}."
            )
        for name in ("max_epochs", "patience", "batch_size"):
            check_count(name, getattr(self, name))
        if not 0.0 < self.validation_fraction < 1.0:
            raise InputError(
                f"validation_fraction must lie between 0 and 1, not {self.validation_fraction!r}."
            )
        if self.learning_rate is not None and not self.learning_rate > 0.0:
            raise InputError(f"learning_rate must be more than 0, not {self.learning_rate!r}.")

    def _schedule(self, optimiser: Optimiser) -> Schedule:
        usual = 1.0 if optimiser == "adadelta" else 1e-3
        return Schedule(
            learning_rate=usual if self.learning_rate is None else self.learning_rate,
            optimiser=optimiser,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batch_size=self.batch_size,
        )

    def _layout(
        self, size: int, sensitive: Column | None, legitimate: Column | None
    ) -> Layout | None:
        """Layout of the rows; `None`, with a warning, where nobody said who is in which group."""
        if sensitive is None:
            if legitimate is not None:
                raise InputError("legitimate_features are of no use without sensitive_features.")
            if self.strength > 0.0:
                warnings.warn(
                    "fit was called without sensitive_features, so the model is trained without "
                    "an adversary.",
                    UnpenalisedWarning,
                    stacklevel=3,
                )
            return None
        group = encode_columns(sensitive, "sensitive_features", size)
        level = None
        if legitimate is not None:
            level = encode_columns(legitimate, "legitimate_features", size)
        layout = Layout.of_codes(group, level)
        check_two_groups(layout)
        return layout

    def _fit(self, table: Table, loss: Loss, outputs: int) -> None:
        """Train on checked arrays, then set the fitted attributes, all at once."""
        table = _counted(table)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        held = held_out(table, loss, self.validation_fraction, seed)
        seen = table.take(np.setdiff1d(np.arange(len(table.inputs)), held))
        kept = table.take(held) if held.size else seen
        scale = scale_of(seen, loss)
        # So few rows that none are held back afford double precision.
        dtype = torch.float32 if held.size else torch.float64
        rows, validation = (tensors(part, scale, loss, dtype) for part in (seen, kept))
        strength = 0.0 if table.layout is None else float(self.strength)
        with epochs_bar(self.max_epochs, self.verbose) as tick:
            trained = self._train(
                Task(rows, validation, loss, outputs),
                np.array([strength]),
                seed,
                lambda epoch: tick(epoch.number % self.max_epochs),
            )
        curve = tuple(trained.curve)
        fitted = Fitted(trained.network, scale, loss, strength, (), curve, None)
        disparity = None
        if kept.layout is not None and any(kept.layout.coverage().values()):
            disparity = validation_disparity(fitted.scores(kept.inputs), kept.layout)
        self._fitted = replace(fitted, disparity=disparity)
        self.strength_ = strength
        self.disparity_ = disparity
        self.coverage_ = None if table.layout is None else table.layout.coverage()
        unit = scale.target_spread**2
        self.loss_curve_ = [float(epoch.loss.mean()) * unit for epoch in curve]
        self.n_iter_ = len(curve)

    def _scores(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Scores of new rows, (n,) or (n, c), in the unit of the target."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)  # noqa: N806
        return self._fitted.scores(X)


class ContestClassifier(ClassifierMixin, ContestEstimator):  # type: ignore[misc]
    """`fit` and `predict` of a classifier that is trained against an adversary."""

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
        sensitive_features : (n,) labels of two groups; without them the model is trained without
            an adversary, with a warning.
        legitimate_features : (n,) labels of the levels, or several columns.
        sample_weight : (n,) numbers >= 0.
        """
        self._check_settings()
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
        """Probability of every class, shape (n, c)."""
        scores = self._scores(X)
        return np.column_stack([1.0 - scores, scores]) if scores.ndim == 1 else scores

    def predict(self, X: Any) -> Any:  # noqa: N803, ANN401
        """The most probable class, shape (n,)."""
        most_probable = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[most_probable]


class ContestRegressor(RegressorMixin, ContestEstimator):  # type: ignore[misc]
    """`fit` and `predict` of a regressor that is trained against an adversary."""

    def fit(
        self,
        X: Any,  # noqa: N803, ANN401
        y: Any,  # noqa: ANN401
        *,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
        sample_weight: Column | None = None,
    ) -> Self:
        """Fit to inputs X (n, d) and targets y (n,); the rest as for a classifier."""
        self._check_settings()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)  # noqa: N806
        layout = self._layout(len(X), sensitive_features, legitimate_features)
        table = Table(X, y.astype(np.float64), _weights(sample_weight, X), layout)
        self._fit(table, "squared", 1)
        return self

    def predict(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Predicted targets, shape (n,)."""
        return self._scores(X)


def check_count(name: str, value: object) -> None:
    """Raise unless a setting is an integer of 1 or more.

    Examples
    --------
    >>> from likeforlike.baselines.estimator import check_count
    >>> check_count("width", 60)
    """
    if not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be an integer of 1 or more, not {value!r}.")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise unless a setting is one of the choices.

    Examples
    --------
    >>> from likeforlike.baselines.estimator import check_choice
    >>> check_choice("optimiser", "adam", ("adam", "adadelta"))
    """
    if value not in choices:
        raise InputError(f"{name} must be one of {choices}, not {value!r}.")


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
