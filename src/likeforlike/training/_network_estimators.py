"""scikit-learn estimators with networks inside.

    minimize  loss(f) + strength * V(f),        or        loss(f)  with  disparity(f) <= limit,

with a multi-layer perceptron f, or another torch module. Groups and levels are needed to fit, never
to predict. `NetworkEstimator` checks inputs, sets fitted attributes and predicts; how a network is
trained is left to its subclasses, here `FairClassifier` and `FairRegressor`.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike._text import epochs_bar
from likeforlike.disparity import Column, numbers, refuse_mask
from likeforlike.errors import InputError
from likeforlike.inference import DistanceEstimate
from likeforlike.penalties import Layout
from likeforlike.training._base import (
    ClassifierMixin,
    GroupedEstimator,
    Inputs,
    PenalizedEstimator,
    RegressorMixin,
    Tags,
    Targets,
    check_count,
    check_sizes,
    check_validation,
    check_weights,
    compute_class_factors,
    draw_integer,
    encode_classes,
    make_layout,
    refuse_unknown,
)
from likeforlike.training._limits import (
    LimitResult,
    Table,
    require_rows,
    select_within_limit,
)
from likeforlike.training._networks import (
    Loss,
    Module,
    StackedMLP,
    StackedModule,
    check_device,
    fork_generator,
    to_scores,
)
from likeforlike.training._saved_model import refuse_lost_rows
from likeforlike.training._training import (
    Epoch,
    Follow,
    Prepared,
    Recipe,
    Standardization,
    Trained,
    prepare,
    strength_unit,
    train,
)
from likeforlike.transport import Scale

with extra("train"):
    import torch
    from sklearn.utils.validation import check_is_fitted, validate_data


@dataclass(frozen=True, slots=True)
class Fitted:
    """A network that predicts in the unit of the target.

    Attributes
    ----------
    network : a stack of one.
    scale, loss : what surrounds it.
    strength : what it was trained with.
    curve : loss on the validation rows after every epoch of its training.
    disparity : on the validation rows, or on the limit rows; `None` without groups.
    coverage : share of each group that could be compared there; `None` without groups.
    """

    network: StackedMLP
    scale: Standardization
    loss: Loss
    strength: float
    curve: tuple[float, ...]
    disparity: DistanceEstimate | None
    coverage: dict[Hashable, float] | None

    @torch.no_grad()
    def scores(self, inputs: FloatArray) -> FloatArray:
        """Compute scores (n,) or (n, c) of inputs (n, d)."""
        with np.errstate(over="ignore"):
            scaled = (inputs - self.scale.mean) / self.scale.spread
        dtype = self.network.weights[0].dtype
        outputs = self.network.eval()(torch.tensor(scaled, dtype=dtype)[None])
        scores = self.scale.restore(to_scores(outputs, self.loss)[0])
        refuse_lost_rows(scores, " of X")
        return scores


@dataclass(frozen=True, slots=True)
class Member:
    """One network of a stack that was trained."""

    trained: Trained
    place: int

    def network(self) -> StackedMLP:
        """Return the network alone, as a stack of one."""
        return self.trained.network.select(torch.tensor([self.place]))

    def curve(self, patience: int | None = None) -> tuple[float, ...]:
        """Return the loss after every epoch until it stopped; others may have gone on."""
        last = np.inf if patience is None else int(self.trained.best_epoch[self.place]) + patience
        return tuple(
            float(epoch.loss[epoch.members == self.place][0])
            for epoch in self.trained.curve
            if epoch.number <= last and self.place in epoch.members
        )


def finish_fit(
    ready: Prepared, member: Member, strength: float, patience: int | None = None
) -> Fitted:
    """Return a trained network, with its disparity on the validation rows."""
    network, curve = member.network(), member.curve(patience)
    disparity, coverage = None, None
    if ready.held is not None:
        disparity, coverage = ready.held.measure(ready.scores(network, ready.validation)[0])
    return Fitted(network.cpu(), ready.scale, ready.loss, strength, curve, disparity, coverage)


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
    class_weight: Mapping[Any, float] | str | None = None
    _numeric = False

    @abstractmethod
    def _fit_table(self, table: Table, loss: Loss, outputs: int, seed: int) -> Fitted:
        """Train a network on checked rows."""

    @abstractmethod
    def _needs_groups(self) -> bool:
        """Return whether training without groups is worth a warning."""

    def _check_layout(self, layout: Layout) -> None:
        """Raise unless there is something to compare in rows, some of which may have no weight."""

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
    def _prepare_targets(self, y: npt.NDArray[Any]) -> tuple[FloatArray | IntArray, Loss, int]:
        """Return targets (n,) as networks take them, the loss, and its number of outputs."""

    def _fit_columns(self, inputs: Inputs, targets: Targets, *columns: Column | None) -> None:
        sensitive, legitimate, weight, validation = columns
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
        learned, loss, outputs = self._prepare_targets(y)
        layout = make_layout(size, sensitive, legitimate, needed=self._needs_groups())
        if layout is not None:
            self._check_layout(layout)
        held = check_validation(validation, size)
        row_weight = check_weights(weight, size)
        table = Table(_dense(given), learned, row_weight, layout, held)
        if row_weight is not None:
            rows = np.flatnonzero(row_weight)
            table, y = table.take(rows), y[rows]
            if table.layout is not None:
                table = replace(table, layout=table.layout.with_weights(row_weight[rows]))
        # The disparity counts people, whatever their class.
        factors = compute_class_factors(self.class_weight, y)
        if factors is not None:
            table = replace(
                table, weight=factors if table.weight is None else table.weight * factors
            )
        fitted = self._fit_table(table, loss, outputs, draw_integer(self.random_state))
        self._fitted = fitted
        self.strength_ = 0.0 if table.layout is None else fitted.strength
        self.disparity_ = fitted.disparity
        self.coverage_ = fitted.coverage
        unit = Scale(size=fitted.scale.target_spread)
        self.loss_curve_ = [unit.powered(loss, 2.0) for loss in fitted.curve]
        self.n_iter_ = len(fitted.curve)

    def _scores(self, X: Inputs) -> FloatArray:  # noqa: N803
        """Compute scores of new rows, (n,) or (n, c), in the unit of the target."""
        check_is_fitted(self)
        refuse_mask(X, "X")
        given = validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")
        return self._fitted.scores(_dense(given))

    def __sklearn_tags__(self) -> Tags:
        """Return what scikit-learn should know: sparse inputs are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class NetworkClassifier(ClassifierMixin, NetworkEstimator):
    """`predict_proba` and `predict` of a classifier."""

    classes_: npt.NDArray[Any]

    def _prepare_targets(self, y: npt.NDArray[Any]) -> tuple[FloatArray | IntArray, Loss, int]:
        classes, targets = encode_classes(y)
        self.classes_ = classes
        if classes.size == 2:
            return targets, "logistic", 1
        return targets, "softmax", classes.size

    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Compute the probability of every class for the rows of X (n, d), shape (n, c)."""
        scores = self._scores(X)
        return np.column_stack([1.0 - scores, scores]) if scores.ndim == 1 else scores

    def predict(self, X: Any) -> Any:  # noqa: N803, ANN401
        """Return the most probable class for the rows of X (n, d), shape (n,)."""
        most_probable = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[most_probable]


class NetworkRegressor(RegressorMixin, NetworkEstimator):
    """`predict` of a regressor."""

    _numeric = True

    def _prepare_targets(self, y: npt.NDArray[Any]) -> tuple[FloatArray | IntArray, Loss, int]:
        try:
            targets = y.astype(np.float64)
        except ValueError as error:
            raise InputError(f"y must hold numbers: {error}.") from error
        return targets, "squared", 1

    def predict(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Compute predicted targets for the rows of X (n, d), shape (n,)."""
        return self._scores(X)


def _dense(inputs: Inputs) -> FloatArray:
    """Return inputs (n, d) as an array: they are standardized, which leaves no zeros."""
    dense: FloatArray = inputs.toarray() if hasattr(inputs, "toarray") else inputs
    return dense


_LEARNING_RATE = 1e-3
_Judged = tuple[list[Member], FloatArray, FloatArray, FloatArray]
_LOG = logging.getLogger("likeforlike.training")
# Epochs between two lines of the log.
_LOGGED = 10


@dataclass(kw_only=True, eq=False, repr=False)
class _FairEstimator(PenalizedEstimator, NetworkEstimator):
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
        self._check_penalty_settings()
        if self.penalty_rows is not None:
            check_count("penalty_rows", self.penalty_rows)
        check_sizes("hidden_layer_sizes", self.hidden_layer_sizes)
        if self.module is not None and not callable(self.module):
            raise InputError(
                "module must be a torch module, or a function of the numbers of inputs and outputs "
                f"that makes one, not {self.module!r}."
            )
        check_device(self.device)

    def _fit_table(self, table: Table, loss: Loss, outputs: int, seed: int) -> Fitted:
        layout, limit = table.layout, None
        if layout is not None:
            limit = self._limit
            table = replace(table, prepared=self._prepare_layout(layout))
        recipe = Recipe(
            loss=loss,
            penalty=None if layout is None else self._choose_penalty(layout),
            learning_rate=self.learning_rate or _LEARNING_RATE,
            max_epochs=self.max_epochs,
            patience=self.patience,
            batch_size=self.batch_size,
            penalty_rows=self.penalty_rows,
            stopping="excess",
        )
        ready = prepare(
            table,
            loss,
            self.validation_fraction,
            seed,
            limit_fraction=0.0 if limit is None else self.limit_fraction,
            device=self.device,
        )
        sizes = (table.inputs.shape[1], *self.hidden_layer_sizes, outputs)
        kept = None
        with epochs_bar(self.max_epochs, self.verbose) as tick:

            def follow(epoch: Epoch) -> None:
                tick(epoch.number)
                if self.verbose and epoch.number % _LOGGED == 0:
                    _LOG.info(
                        "epoch %d: %d network(s) in training, validation loss %.5g, penalty %.5g",
                        epoch.number,
                        len(epoch.members),
                        epoch.loss.mean(),
                        epoch.value.mean(),
                    )

            if limit is None:
                strength = 1.0 if self.strength is None else float(self.strength)
                stack = self._train_stack(ready, recipe, sizes, np.array([strength]), seed, follow)
                fitted = finish_fit(ready, Member(stack, 0), strength, self.patience)
            else:
                held, judging = (
                    require_rows(one, ready.rows.size) for one in (ready.held, ready.judging)
                )

                def train_members(strengths: FloatArray) -> _Judged:
                    stack = self._train_stack(ready, recipe, sizes, strengths, seed, follow)
                    members = [Member(stack, k) for k in range(strengths.size)]
                    return members, *ready.assess(stack.network, recipe)

                kept = select_within_limit(limit, held, judging, train_members)
                fitted = Fitted(
                    kept.model.network().cpu(),
                    ready.scale,
                    loss,
                    kept.chosen.strength,
                    kept.model.curve(self.patience),
                    kept.disparity,
                    judging.coverage(),
                )
        if self.verbose:
            _log_fit(fitted, kept)
        self._report_limit(kept)
        return fitted

    def _train_stack(
        self,
        ready: Prepared,
        recipe: Recipe,
        sizes: tuple[int, ...],
        strengths: FloatArray,
        seed: int,
        follow: Follow,
    ) -> Trained:
        """Train a network for each strength (m,) in the unit of the target."""
        unit = 1.0
        if recipe.penalty is not None:
            unit = strength_unit(recipe.penalty.degree, ready.scale.target_spread)
        # A module may draw while it is trained, as layers that drop units do.
        with fork_generator(seed):
            if self.module is None:
                network = StackedMLP([seed] * strengths.size, sizes)
            else:
                network = StackedModule(self.module, strengths.size, sizes[0], sizes[-1], seed)
            return train(
                network.to(ready.rows.inputs),
                ready.rows,
                ready.validation,
                recipe,
                strengths=strengths * unit,
                seeds=np.array([seed]),
                follow=follow,
            )


def _log_fit(fitted: Fitted, kept: LimitResult[Member] | None) -> None:
    """Log what was tried for a limit, and what came out."""
    for candidate in () if kept is None else kept.candidates:
        upper = "not judged" if candidate.upper is None else f"up to {candidate.upper:.4g}"
        _LOG.info(
            "strength %.4g: validation loss %.5g, disparity %.4g; on the limit rows %s",
            candidate.strength,
            candidate.loss,
            candidate.disparity,
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
    limit_fraction : share of rows held back, besides those, to judge a limit and for nothing else.
    device : where torch computes, such as `"cuda"`; penalties are evaluated on the processor, and
        the fitted network is kept there.
    random_state : seed.
    verbose : show a progress bar on a terminal, and tell the logger `likeforlike.training` every
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
    >>> who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    >>> model = FairClassifier(strength=10.0, max_epochs=20, random_state=0)
    >>> _ = model.fit(loans.inputs().matrix, loans.targets, **who)
    >>> model.predict_proba(loans.inputs().matrix).shape
    (2000, 2)
    """

    class_weight: Mapping[Any, float] | str | None = None


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
    >>> who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    >>> model = FairRegressor(strength=10.0, max_epochs=20, random_state=0)
    >>> _ = model.fit(loans.inputs().matrix, loans.frame["score"].to_numpy(), **who)
    >>> model.predict(loans.inputs().matrix).shape
    (2000,)
    """
