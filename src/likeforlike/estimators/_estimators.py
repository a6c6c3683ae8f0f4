"""scikit-learn estimators that are trained under a penalty or under a limit.

    minimise  loss(f) + strength * V(f),        or        loss(f)  with  disparity(f) <= limit,

with a multi-layer perceptron f. Groups and levels are needed to fit, never to predict.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from likeforlike._arrays import real
from likeforlike._progress import epochs_bar
from likeforlike.errors import InputError
from likeforlike.estimators._network_estimator import (
    NetworkClassifier,
    NetworkEstimator,
    NetworkRegressor,
    check_count,
    check_sizes,
)
from likeforlike.nn._fit import Fitted, Table, fit_network
from likeforlike.nn._limit_search import Candidate
from likeforlike.nn._objectives import Loss
from likeforlike.nn._training import Recipe
from likeforlike.penalties import FairLeap, Layout, Penalty

_LEARNING_RATE = 1e-3


class _FairEstimator(NetworkEstimator):
    """Trained under a penalty or under a limit."""

    path_: tuple[Candidate, ...]

    def __init__(
        self,
        *,
        penalty: Penalty | None = None,
        strength: float | None = None,
        max_disparity: float | None = None,
        hidden_layer_sizes: tuple[int, ...] = (50, 20),
        learning_rate: float | None = _LEARNING_RATE,
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
        super()._check_settings()
        if self.penalty is not None and not isinstance(self.penalty, Penalty):
            raise InputError(f"penalty must be a penalty such as FairLeap(), not {self.penalty!r}.")
        if self.strength is not None and self.max_disparity is not None:
            raise InputError(
                "give either strength or max_disparity: a limit finds its own strength."
            )
        for name in ("strength", "max_disparity"):
            given = getattr(self, name)
            if given is not None and not 0.0 <= real(given) < math.inf:
                raise InputError(f"{name} must be a finite number of 0 or more, not {given!r}.")
        if self.penalty_rows is not None:
            check_count("penalty_rows", self.penalty_rows)
        check_sizes("hidden_layer_sizes", self.hidden_layer_sizes)

    def _needs_groups(self) -> bool:
        return self.max_disparity is not None or self.strength != 0.0

    def _check_layout(self, layout: Layout) -> None:
        """Nothing yet: what can be compared is checked when rows without weight are out."""

    def _prepared(self, table: Table) -> Table:
        if table.layout is None:
            return table
        prepared = self._penalty().prepared(table.layout)
        self._penalty().check(prepared)
        return replace(table, prepared=prepared)

    def _penalty(self) -> Penalty:
        return FairLeap() if self.penalty is None else self.penalty

    def _fit_table(self, table: Table, loss: Loss, outputs: int, seed: int) -> Fitted:
        recipe = Recipe(
            loss=loss,
            penalty=None if table.layout is None else self._penalty(),
            learning_rate=self.learning_rate or _LEARNING_RATE,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batch_size=self.batch_size,
            penalty_rows=self.penalty_rows,
        )
        with epochs_bar(self.max_epochs, self.verbose) as tick:
            fitted = fit_network(
                table,
                recipe,
                (table.inputs.shape[1], *self.hidden_layer_sizes, outputs),
                strength=1.0 if self.strength is None else float(self.strength),
                limit=self.max_disparity,
                validation_fraction=self.validation_fraction,
                seed=seed,
                follow=lambda epoch: tick(epoch.number),
            )
        self.path_ = fitted.path
        return fitted


class FairClassifier(_FairEstimator, NetworkClassifier):
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
        validation rows (without small-sample bias, in units of the score; along the number, if the
        penalty is `SmoothFairLeap`): the smallest loss within it is sought, see `path_`.
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


class FairRegressor(_FairEstimator, NetworkRegressor):
    """Regressor whose scores are alike for all groups among equals.

    A multi-layer perceptron that minimises squared error + strength * penalty. Attributes and notes
    are those of `FairClassifier`; the disparity is in the unit of the target.

    Parameters
    ----------
    penalty, strength, max_disparity : as for `FairClassifier`.
    hidden_layer_sizes, learning_rate, max_epochs, patience, batch_size : as there.
    penalty_rows, validation_fraction, random_state, verbose : as there.

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
