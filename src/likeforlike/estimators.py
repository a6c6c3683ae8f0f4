"""scikit-learn estimators that are trained under a penalty or under a limit.

    minimise  loss(f) + strength * V(f),        or        loss(f)  with  disparity(f) <= limit,

with a multi-layer perceptron f. Groups and levels are needed to fit, never to predict.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np

from likeforlike.columns import Column, encode_columns
from likeforlike.errors import InputError, UnpenalisedWarning
from likeforlike.files import extra
from likeforlike.penalties import FairLeap, Layout, Penalty
from likeforlike.transport.atoms import FloatArray, IntArray

extra("torch", "train")
extra("sklearn", "train")

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin  # noqa: E402
from sklearn.utils import check_random_state  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import (  # noqa: E402
    _check_sample_weight,
    check_is_fitted,
    validate_data,
)

from likeforlike.nn.fit import Table, fit_network  # noqa: E402
from likeforlike.nn.objectives import Loss  # noqa: E402
from likeforlike.nn.training import Recipe  # noqa: E402
from likeforlike.progress import epochs_bar  # noqa: E402

__all__ = ["FairClassifier", "FairRegressor"]


class _FairEstimator(BaseEstimator):  # type: ignore[misc]
    """What classifier and regressor have in common."""

    def __init__(
        self,
        *,
        penalty: Penalty | None = None,
        strength: float | None = None,
        max_disparity: float | None = None,
        hidden_layer_sizes: tuple[int, ...] = (50, 20),
        learning_rate: float = 1e-3,
        max_epochs: int = 500,
        patience: int = 50,
        batch_size: int = 256,
        penalty_rows: int | None = 4096,
        validation_fraction: float = 0.2,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.penalty = penalty
        self.strength = strength
        self.max_disparity = max_disparity
        self.hidden_layer_sizes = hidden_layer_sizes
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.patience = patience
        self.batch_size = batch_size
        self.penalty_rows = penalty_rows
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.verbose = verbose

    def _check_settings(self) -> None:
        if self.penalty is not None and not isinstance(self.penalty, Penalty):
            raise InputError(f"penalty must be a penalty such as FairLeap(), not {self.penalty!r}.")
        if self.strength is not None and self.max_disparity is not None:
            raise InputError(
                "give either strength or max_disparity: a limit finds its own strength."
            )
        for name in ("strength", "max_disparity"):
            given = getattr(self, name)
            if given is not None and not (np.isfinite(given) and given >= 0.0):
                raise InputError(f"{name} must be a finite number of 0 or more, not {given!r}.")
        for name in ("max_epochs", "patience", "batch_size"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)!r}.")
        if self.penalty_rows is not None and self.penalty_rows < 1:
            raise InputError(f"penalty_rows must be at least 1 or None, not {self.penalty_rows!r}.")
        if not 0.0 < self.validation_fraction < 1.0:
            raise InputError(
                f"validation_fraction must lie between 0 and 1, not {self.validation_fraction!r}."
            )
        if not self.learning_rate > 0.0:
            raise InputError(f"learning_rate must be more than 0, not {self.learning_rate!r}.")

    def _layout(
        self, size: int, sensitive: Column | None, legitimate: Column | None
    ) -> Layout | None:
        """Layout of the rows; `None`, with a warning, where nobody said who is in which group."""
        wanted = self.max_disparity is not None or self.strength != 0.0
        if sensitive is None:
            if legitimate is not None:
                raise InputError("legitimate_features are of no use without sensitive_features.")
            if wanted:
                warnings.warn(
                    "fit was called without sensitive_features, so the model is trained without "
                    "its penalty.",
                    UnpenalisedWarning,
                    stacklevel=4,
                )
            return None
        group = encode_columns(sensitive, "sensitive_features", size)
        level = None
        if legitimate is not None:
            level = encode_columns(legitimate, "legitimate_features", size)
        layout = Layout.of_codes(group, level)
        self._penalty().check(layout)
        return layout

    def _penalty(self) -> Penalty:
        return FairLeap() if self.penalty is None else self.penalty

    def _fit(
        self,
        inputs: FloatArray,
        targets: FloatArray | IntArray,
        weight: FloatArray | None,
        layout: Layout | None,
        loss: Loss,
        outputs: int,
    ) -> None:
        """Train on checked arrays, then set the fitted attributes, all at once."""
        table = Table(inputs, targets, weight, layout)
        if weight is not None:
            table = table.take(np.flatnonzero(weight))
            if table.layout is not None and table.weight is not None:
                table = replace(table, layout=table.layout.weighted(table.weight))
        recipe = Recipe(
            loss=loss,
            penalty=None if layout is None else self._penalty(),
            learning_rate=self.learning_rate,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batch_size=self.batch_size,
            penalty_rows=self.penalty_rows,
        )
        with epochs_bar(self.max_epochs, self.verbose) as tick:
            fitted = fit_network(
                table,
                recipe,
                (inputs.shape[1], *self.hidden_layer_sizes, outputs),
                strength=1.0 if self.strength is None else float(self.strength),
                limit=self.max_disparity,
                validation_fraction=self.validation_fraction,
                seed=int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
                follow=lambda epoch: tick(epoch.number),
            )
        self._fitted = fitted
        self.strength_ = 0.0 if layout is None else fitted.strength
        self.path_ = fitted.path
        self.disparity_ = fitted.disparity
        self.coverage_ = None if layout is None else layout.coverage()
        self.loss_curve_ = [
            float(epoch.loss.mean()) * fitted.scale.target_spread**2 for epoch in fitted.curve
        ]
        self.n_iter_ = len(fitted.curve)

    def _scores(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Scores of new rows, (n,) or (n, c), in the unit of the target."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)  # noqa: N806
        return self._fitted.scores(X)


class FairClassifier(ClassifierMixin, _FairEstimator):  # type: ignore[misc]
    """Classifier whose scores are alike for all groups among equals.

    A multi-layer perceptron that minimises log loss + strength * penalty; the penalty acts on the
    probability of the second class, or on those of all classes and is summed. Inputs are
    standardised inside. A fifth of the rows, with its share of every cell, is held back to stop
    training early; below 100 rows none is.

    Parameters
    ----------
    penalty : `FairLeap()` if `None`; any `Penalty`.
    strength : of the penalty, 1 if `None`; 0 trains without it.
    max_disparity : instead of a strength, the largest conditional disparity allowed on the
        validation rows (W_2 without small-sample bias, in units of the score): the smallest loss
        within it is sought, see `path_`.
    hidden_layer_sizes : of the network.
    learning_rate, max_epochs, patience, batch_size : of Adam, when to stop at the latest, after
        how many epochs without improvement, and rows of a batch.
    penalty_rows : rows of the sample on which the penalty is evaluated every few steps; `None`
        evaluates it on each batch, as the paper does.
    validation_fraction : share of rows held back.
    random_state : seed.
    verbose : show a progress bar on a terminal.

    Attributes
    ----------
    classes_ : labels.
    strength_ : the strength trained with.
    disparity_ : what the audit's estimate says on the validation rows, with its interval; `None`
        without sensitive features.
    coverage_ : share of each group in levels where groups meet.
    path_ : strengths tried for `max_disparity`, with loss and disparity on the validation rows.
    loss_curve_, n_iter_ : validation loss after every epoch, and how many there were.
    n_features_in_, feature_names_in_ : of X.

    Notes
    -----
    An interrupted fit leaves the estimator as it was before.

    Examples
    --------
    >>> from likeforlike import FairClassifier
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(2000, gap=0.15)
    >>> model = FairClassifier(strength=10.0, max_epochs=20, random_state=0).fit(
    ...     loans.inputs().matrix,
    ...     loans.targets,
    ...     sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict_proba(loans.inputs().matrix).shape
    (2000, 2)
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
            is trained unpenalised, with a warning.
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
            loss: Loss = "logistic" if classes.size == 2 else "softmax"
            outputs = 1 if classes.size == 2 else classes.size
            weight = _weights(sample_weight, X)
            self._fit(X, codes.astype(np.int64), weight, layout, loss, outputs)
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


class FairRegressor(RegressorMixin, _FairEstimator):  # type: ignore[misc]
    """Regressor whose scores are alike for all groups among equals.

    A multi-layer perceptron that minimises squared error + strength * penalty. Parameters,
    attributes and notes are those of `FairClassifier`; the disparity is in the unit of the target.

    Examples
    --------
    >>> from likeforlike import FairRegressor
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(2000, gap=0.15)
    >>> model = FairRegressor(strength=10.0, max_epochs=20, random_state=0).fit(
    ...     loans.inputs().matrix,
    ...     loans.frame["score"].to_numpy(),
    ...     sensitive_features=loans.groups,
    ...     legitimate_features=loans.levels,
    ... )
    >>> model.predict(loans.inputs().matrix).shape
    (2000,)
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
        """Fit to inputs X (n, d) and targets y (n,); arguments as for `FairClassifier.fit`."""
        with _all_or_nothing(self):
            X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)  # noqa: N806
            layout = self._layout(len(X), sensitive_features, legitimate_features)
            weight = _weights(sample_weight, X)
            self._fit(X, y.astype(np.float64), weight, layout, "squared", 1)
        return self

    def predict(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Predicted targets, shape (n,)."""
        return self._scores(X)


@contextmanager
def _all_or_nothing(estimator: _FairEstimator) -> Iterator[None]:
    """Check the settings; a fit that fails or is interrupted leaves the estimator as it was."""
    before = dict(vars(estimator))
    estimator._check_settings()
    try:
        yield
    except BaseException:
        estimator.__dict__.clear()
        estimator.__dict__.update(before)
        raise


def _weights(sample_weight: Column | None, X: FloatArray) -> FloatArray | None:  # noqa: N803
    if sample_weight is None:
        return None
    weight: FloatArray = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return weight
