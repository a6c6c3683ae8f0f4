"""scikit-learn estimators that are trained under a penalty or under a limit.

    minimize  loss(f) + strength * V(f),        or        loss(f)  with  disparity(f) <= limit,

with a multi-layer perceptron f. Groups and levels are needed to fit, never to predict.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from likeforlike._progress import epochs_bar
from likeforlike.errors import InputError, UnmetLimitWarning
from likeforlike.estimators._aim import Aim, AimedEstimator
from likeforlike.estimators._checks import check_count, check_sizes
from likeforlike.estimators._network_estimator import (
    NetworkClassifier,
    NetworkEstimator,
    NetworkRegressor,
)
from likeforlike.nn._devices import check_device
from likeforlike.nn._fit import Fitted, fit_network
from likeforlike.nn._objectives import Loss
from likeforlike.nn._stacked_module import Module
from likeforlike.nn._table import Table
from likeforlike.nn._training import Epoch, Recipe
from likeforlike.penalties import Layout

_LEARNING_RATE = 1e-3
_LOG = logging.getLogger("likeforlike.estimators")
# Epochs between two lines of the log.
_LOGGED = 10


@dataclass(kw_only=True, eq=False, repr=False)
class _FairEstimator(AimedEstimator, NetworkEstimator):
    """Networks trained under a penalty or under a limit."""

    hidden_layer_sizes: tuple[int, ...] = (50, 20)
    module: Module | None = None
    learning_rate: float | None = _LEARNING_RATE
    max_epochs: int = 500
    patience: int = 50
    batch_size: int = 256
    penalty_rows: int | None = 4096
    device: str | None = None

    def _check_settings(self) -> None:
        super()._check_settings()
        Aim.of(self)
        if self.penalty_rows is not None:
            check_count("penalty_rows", self.penalty_rows)
        check_sizes("hidden_layer_sizes", self.hidden_layer_sizes)
        if self.module is not None and not callable(self.module):
            raise InputError(
                "module must be a torch module, or a function of the numbers of inputs and outputs "
                f"that makes one, not {self.module!r}."
            )
        check_device(self.device)

    def _needs_groups(self) -> bool:
        return Aim.of(self).needs_groups

    def _check_layout(self, layout: Layout) -> None:
        """Nothing yet: what can be compared is checked when rows without weight are out."""

    def _prepared(self, table: Table) -> Table:
        known = table.layout
        return table if known is None else replace(table, prepared=Aim.of(self).prepared(known))

    def _fit_table(self, table: Table, loss: Loss, outputs: int, seed: int) -> Fitted:
        aim = Aim.of(self)
        recipe = Recipe(
            loss=loss,
            penalty=None if table.layout is None else aim.penalty_for(table.layout),
            learning_rate=self.learning_rate or _LEARNING_RATE,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batch_size=self.batch_size,
            penalty_rows=self.penalty_rows,
            stopping="excess",
        )
        with epochs_bar(self.max_epochs, self.verbose) as tick:

            def follow(epoch: Epoch) -> None:
                tick(epoch.number)
                if self.verbose:
                    _log_epoch(epoch)

            fitted = fit_network(
                table,
                recipe,
                (table.inputs.shape[1], *self.hidden_layer_sizes, outputs),
                strength=aim.strength,
                limit=aim.limit,
                validation_fraction=self.validation_fraction,
                limit_fraction=self.limit_fraction,
                seed=seed,
                module=self.module,
                device=self.device,
                follow=follow,
            )
        if self.verbose:
            _log_fitted(fitted)
        self.path_ = fitted.path
        if fitted.complaint is not None:
            warnings.warn(fitted.complaint, UnmetLimitWarning, stacklevel=5)
        return fitted


def _log_epoch(epoch: Epoch) -> None:
    """One line every ten epochs; the means are those of the networks still in training."""
    if epoch.number % _LOGGED == 0:
        _LOG.info(
            "epoch %d: %d network(s) in training, validation loss %.5g, penalty %.5g",
            epoch.number,
            len(epoch.members),
            epoch.loss.mean(),
            epoch.value.mean(),
        )


def _log_fitted(fitted: Fitted) -> None:
    """What was tried for a limit, and what came out."""
    for tried in fitted.path:
        upper = "not judged" if tried.upper is None else f"up to {tried.upper:.4g}"
        _LOG.info(
            "strength %.4g: validation loss %.5g, disparity %.4g; on the limit rows %s",
            tried.strength,
            tried.loss,
            tried.disparity,
            upper,
        )
    _LOG.info("strength %.4g after %d epochs", fitted.strength, len(fitted.curve))


@dataclass(kw_only=True, eq=False, repr=False)
class FairClassifier(_FairEstimator, NetworkClassifier):
    """Classifier whose scores are alike for all groups among equals.

    A multi-layer perceptron that minimizes log loss + strength * penalty; the penalty acts on the
    probability of the second class, or on those of all classes and is summed. Inputs are
    standardized inside. A fifth of the rows, with its share of every cell, is held back to stop
    training early; below 100 rows none is.

    Parameters
    ----------
    penalty : `FairLeap()` if `None`; any `Penalty`.
    strength : of the penalty, 1 if `None`; 0 trains without it.
    max_disparity : instead of a strength, a limit on the conditional disparity, in units of the
        score (along the number, if the penalty is `SmoothFairLeap`; of the worst pair, if there are
        several groups): the smallest loss is sought among strengths that are shown to hold it.
    limit_confidence : how sure that must be, between 0.5 and 1.
    hidden_layer_sizes : of the network.
    module : instead of these a torch module, or a function that makes one of the numbers of inputs
        and outputs. It is given standardized rows (b, d) and returns raw outputs (b, c): one for
        two classes, before the logistic function. A module begins with the weights it has.
    learning_rate, max_epochs, patience, batch_size : of Adam, when to stop at the latest, after
        how many epochs without improvement, and rows of a batch.
    penalty_rows : rows of the sample on which the penalty is evaluated every few steps; `None`
        evaluates it on each batch, as the paper does.
    validation_fraction : share of rows held back to stop training.
    limit_fraction : share of rows held back, beside those, to judge a limit and for nothing else.
    device : where torch computes, such as `"cuda"`; penalties are evaluated on the processor, and
        the fitted network is kept there.
    random_state : seed.
    verbose : show a progress bar on a terminal, and tell the logger `likeforlike.estimators` every
        ten epochs how training goes.
    class_weight : `None`, `"balanced"` or {class: weight}, for the loss. The disparity counts
        people, whatever their class.

    Attributes
    ----------
    classes_ : labels.
    strength_ : the strength trained with.
    disparity_ : what the audit's estimate says on the validation rows, with its interval; `None`
        without sensitive features. Under a limit it is that of the limit rows, and its interval
        ends above at what was judged.
    coverage_ : share of each group in levels where groups meet, on the same rows.
    path_ : strengths tried for `max_disparity`: loss and disparity on the validation rows, the
        upper end on the limit rows where it was judged, and whether it held.
    loss_curve_, n_iter_ : validation loss after every epoch, and how many there were, of the model
        that was chosen.
    n_features_in_, feature_names_in_ : of X.

    Notes
    -----
    A limit holds for the model that is handed over with the probability `limit_confidence`: the
    disparity of one that breaks it is judged below it once in ten fits. Limits are refused
    (`InputError`) where less than half of a group can be compared on the limit rows; if no strength
    is shown to hold a limit, the surest model is taken and `UnmetLimitWarning` says what would
    help. An interrupted fit leaves the estimator as it was before.

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

    class_weight: Mapping[Any, float] | str | None = None


@dataclass(kw_only=True, eq=False, repr=False)
class FairRegressor(_FairEstimator, NetworkRegressor):
    """Regressor whose scores are alike for all groups among equals.

    A multi-layer perceptron that minimizes squared error + strength * penalty. Attributes and notes
    are those of `FairClassifier`; the disparity is in the unit of the target.

    Parameters
    ----------
    penalty, strength, max_disparity, limit_confidence : as for `FairClassifier`.
    hidden_layer_sizes, module, learning_rate, max_epochs, patience, batch_size : as there.
    penalty_rows, validation_fraction, limit_fraction, device, random_state, verbose : as there.

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
