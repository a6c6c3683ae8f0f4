"""What all scikit-learn estimators with networks inside have in common.

Checks, groups and levels, all-or-nothing fitting, fitted attributes and predictions live here; how
a network is trained is left to `estimators` and `baselines`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._extras import extra
from likeforlike.disparity._columns import numbers, refuse_masked
from likeforlike.errors import InputError
from likeforlike.estimators._checks import (
    check_count,
    class_factors,
    classes_of,
    refuse_unknown,
    seed_of,
)
from likeforlike.estimators._grouped import GroupedEstimator, Inputs, Targets, Told
from likeforlike.estimators._sklearn import ClassifierMixin, RegressorMixin, Tags
from likeforlike.inference import DistanceEstimate
from likeforlike.nn._fit import Fitted
from likeforlike.nn._objectives import Loss
from likeforlike.nn._table import Table
from likeforlike.penalties import Layout
from likeforlike.transport._scale import Scale

with extra("train"):
    from sklearn.utils.validation import check_is_fitted, validate_data


class Learned(NamedTuple):
    """Targets (n,) as networks take them, the loss, and how many outputs that needs."""

    targets: FloatArray | IntArray
    loss: Loss
    outputs: int


class NetworkEstimator(GroupedEstimator):
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

    @abstractmethod
    def _learned(self, y: npt.NDArray[Any]) -> Learned:
        """What is learned of the checked targets y (n,)."""

    def _fit_told(self, inputs: Inputs, targets: Targets, told: Told) -> None:
        refuse_unknown(targets, "y")
        # Sums that scikit-learn tries first may overflow; it then looks at every value.
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                settings = {"y_numeric": self._numeric, "accept_sparse": "csr"}
                given, y = validate_data(self, inputs, targets, dtype=np.float64, **settings)
        except OverflowError as error:
            raise InputError("y has numbers too large to be held; use other units.") from error
        y = numbers(y, "y") if self._numeric else y
        size = len(y)
        learned, loss, outputs = self._learned(y)
        layout = told.layout(size, needed=self._needs_groups())
        if layout is not None:
            self._check_layout(layout)
        held = told.held(size)
        table = _counted(Table(_dense(given), learned, told.weights(size), layout, held))
        self._fit(self._loss_weighted(table), loss, outputs)

    def _fit(self, table: Table, loss: Loss, outputs: int) -> None:
        """Train, then set the fitted attributes, all at once."""
        seed = seed_of(self.random_state)
        table = self._prepared(table)
        fitted = self._fit_table(table, loss, outputs, seed)
        self._fitted = fitted
        self.strength_ = 0.0 if table.layout is None else fitted.strength
        self.disparity_ = fitted.disparity
        self.coverage_ = fitted.coverage
        unit = Scale(size=fitted.scale.target_spread)
        self.loss_curve_ = [unit.powered(loss, 2.0) for loss in fitted.curve]
        self.n_iter_ = len(fitted.curve)

    def _scores(self, X: Inputs) -> FloatArray:  # noqa: N803
        """Scores of new rows, (n,) or (n, c), in the unit of the target."""
        check_is_fitted(self)
        refuse_masked(X, "X")
        given = validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")
        return self._fitted.scores(_dense(given))

    def _loss_weighted(self, table: Table) -> Table:
        """The table with what the loss of its rows is multiplied by; people count as before."""
        return table

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn should know: sparse inputs are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class NetworkClassifier(ClassifierMixin, NetworkEstimator):
    """`predict_proba` and `predict` of a classifier."""

    classes_: npt.NDArray[Any]
    class_weight: Mapping[Any, float] | str | None = None

    def _loss_weighted(self, table: Table) -> Table:
        factors = class_factors(self.class_weight, self.classes_[table.targets.astype(np.int64)])
        if factors is None:
            return table
        return replace(table, weight=factors if table.weight is None else table.weight * factors)

    def _learned(self, y: npt.NDArray[Any]) -> Learned:
        classes, targets = classes_of(y)
        self.classes_ = classes
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
        try:
            targets = y.astype(np.float64)
        except ValueError as error:
            raise InputError(f"y must hold numbers: {error}.") from error
        return Learned(targets, "squared", 1)

    def predict(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Predicted targets for the rows of X (n, d), shape (n,)."""
        return self._scores(X)


def _dense(inputs: Inputs) -> FloatArray:
    """Inputs (n, d) as an array: they are standardized, which leaves no zeros."""
    dense: FloatArray = inputs.toarray() if hasattr(inputs, "toarray") else inputs
    return dense


def _counted(table: Table) -> Table:
    """The rows that count, with their weights in the layout as well."""
    if table.weight is None:
        return table
    table = table.take(np.flatnonzero(table.weight))
    if table.layout is None or table.weight is None:
        return table
    return replace(table, layout=table.layout.weighted(table.weight))
