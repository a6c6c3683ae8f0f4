"""What all scikit-learn estimators with trees inside have in common.

    minimize  loss(f) + strength * V(f),        or        loss(f)  with  disparity(f) <= limit,

with boosted trees f. Groups and levels are needed to fit, never to predict. Trees are grown by a
library; how their leaves are fitted is in `boosting`.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, real
from likeforlike._extras import extra
from likeforlike._progress import epochs_bar
from likeforlike.boosting._fit import (
    FittedTrees,
    Fractions,
    TreeRecipe,
    TreeTable,
    fit_trees,
    scores_of,
)
from likeforlike.boosting._losses import LossName
from likeforlike.boosting._rounds import Library, Model
from likeforlike.disparity._columns import numbers
from likeforlike.errors import InputError, UnderfitWarning, UnmetLimitWarning
from likeforlike.estimators._aim import Aim, AimedEstimator
from likeforlike.estimators._checks import check_count, class_factors, classes_of, seed_of
from likeforlike.estimators._grouped import Inputs, Targets, Told
from likeforlike.estimators._sklearn import ClassifierMixin, RegressorMixin, Tags
from likeforlike.estimators._tree_inputs import TreeInputs
from likeforlike.penalties import Layout
from likeforlike.transport._scale import is_moderate, moderate

with extra("boost"):
    from sklearn.utils.multiclass import type_of_target
    from sklearn.utils.validation import check_is_fitted

# Leaves are fitted here: what a library would do with them itself must not be asked for.
_OURS = {
    "alpha",
    "base_score",
    "boosting",
    "boosting_type",
    "booster",
    "eta",
    "lambda_l1",
    "lambda_l2",
    "linear_tree",
    "max_delta_step",
    "metric",
    "monotone_constraints",
    "num_class",
    "objective",
    "reg_alpha",
    "scale_pos_weight",
}


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedEstimator(AimedEstimator):
    """An estimator with trees inside: what does not depend on the library."""

    n_estimators: int = 500
    learning_rate: float = 0.1
    patience: int = 30
    subsample: float = 1.0
    colsample_bytree: float = 1.0
    reg_lambda: float = 0.0
    settings: Mapping[str, Any] | None = None
    n_jobs: int | None = None
    n_trees_: int = field(init=False)
    booster_: Model = field(init=False)
    start_: float = field(init=False)
    _inputs: TreeInputs = field(init=False)
    _trees: Library = field(init=False)
    _loss: ClassVar[LossName]
    _numeric: ClassVar[bool] = False

    @abstractmethod
    def _library(self, categorical: tuple[int, ...], seed: int) -> Library:
        """What grows the trees, with the settings of this estimator."""

    @abstractmethod
    def _learned(self, y: npt.NDArray[Any]) -> FloatArray:
        """What is learned of the checked targets y (n,)."""

    def _named(self, names: Mapping[str, str], seed: int) -> dict[str, Any]:
        """Settings of the library: those given, our own under their `names` there, and a seed."""
        given = {theirs: getattr(self, name) for name, theirs in names.items()}
        # Libraries write numbers as text, and fractions are no text they can read.
        ours = {name: one if isinstance(one, int) else real(one) for name, one in given.items()}
        return {**(self.settings or {}), **ours, "seed": seed}

    def _loss_weight(self, y: npt.NDArray[Any]) -> FloatArray:
        """By how much the loss of each row counts besides its weight."""
        return np.ones(len(y))

    def _fit_told(self, inputs: Inputs, targets: Targets, told: Told) -> None:
        reader, matrix, y = TreeInputs.fitted(self, inputs, targets, numeric=self._numeric)
        learned, size = self._learned(y), matrix.shape[0]
        layout = told.layout(size, needed=Aim.of(self).needs_groups)
        table = self._table(matrix, learned, told, self._loss_weight(y), layout)
        self._inputs = reader
        self._fit(table)

    def _table(
        self,
        inputs: Inputs,
        targets: FloatArray,
        told: Told,
        loss_weight: FloatArray,
        layout: Layout | None,
    ) -> TreeTable:
        """The rows that count, with their weights."""
        rows, weight = np.arange(targets.size), told.weights(targets.size)
        if weight is not None:
            rows = np.flatnonzero(weight)
            loss_weight = loss_weight * moderate(weight)
            layout = None if layout is None else layout.weighted(weight)
        held = told.held(targets.size)
        table = TreeTable(inputs, targets, loss_weight, layout, None, held)
        if rows.size < targets.size:
            table = table.take(rows)
        known = table.layout
        return table if known is None else replace(table, prepared=Aim.of(self).prepared(known))

    def _fit(self, table: TreeTable) -> None:
        """Train, then set the fitted attributes, all at once."""
        aim = Aim.of(self)
        seed = seed_of(self.random_state)
        self._trees = self._library(self._inputs.categorical, seed)
        recipe = TreeRecipe(
            self._loss,
            None if table.layout is None else aim.penalty_for(table.layout),
            float(self.learning_rate),
            float(self.reg_lambda),
            int(self.n_estimators),
            int(self.patience),
        )
        with epochs_bar(self.n_estimators, self.verbose) as tick:
            fitted = fit_trees(
                table,
                recipe,
                self._trees,
                strength=aim.strength,
                limit=None if table.layout is None else aim.limit,
                fractions=Fractions(self.validation_fraction, self.limit_fraction),
                seed=seed,
                follow=lambda number: tick(number - 1),
            )
        self._tell(fitted, penalized=table.layout is not None)

    def _tell(self, fitted: FittedTrees, *, penalized: bool) -> None:
        """Set what was found, and warn of what was not reached."""
        boosted, kept = fitted.boosted, fitted.kept
        self.strength_ = fitted.strength if penalized else 0.0
        self.disparity_, self.coverage_ = fitted.disparity, fitted.coverage
        self.path_ = () if kept is None else kept.candidates
        self.loss_curve_, self.n_iter_ = list(boosted.losses), len(boosted.losses)
        self.n_trees_, self.booster_ = boosted.trees, boosted.model
        self.start_ = boosted.start
        if kept is not None and not kept.met:
            warnings.warn(kept.complaint(), UnmetLimitWarning, stacklevel=5)
        if self.strength_ > 0.0 and boosted.unsettled:
            warnings.warn(
                f"{self.n_estimators} trees were not enough: the last tenth of them still made the "
                f"objective smaller by {boosted.late_fall:.3g}, so the loss is larger than it has "
                "to be. Allow more n_estimators, or a larger learning_rate.",
                UnderfitWarning,
                stacklevel=5,
            )

    def _check_settings(self) -> None:
        """Raise if a setting makes no sense."""
        Aim.of(self)
        for name in ("n_estimators", "patience"):
            check_count(name, getattr(self, name))
        for name in ("learning_rate", "subsample", "colsample_bytree"):
            if not 0.0 < real(getattr(self, name)) <= 1.0:
                raise InputError(
                    f"{name} must be more than 0 and at most 1, not {getattr(self, name)!r}."
                )
        if not real(self.reg_lambda) >= 0.0:
            raise InputError(f"reg_lambda must be 0 or more, not {self.reg_lambda!r}.")
        ours = sorted(_OURS & set(self.settings or {}))
        if ours:
            raise InputError(
                f"settings has {ours}, but how leaves are fitted is not up to the library here; "
                "leave that out."
            )

    def _scores(self, given: Inputs) -> FloatArray:
        """Scores (n,) of new rows."""
        check_is_fitted(self)
        inputs = self._inputs.read(self, given)
        raw = np.full(inputs.shape[0], self.start_)
        if self.booster_ is not None:
            raw = raw + self._trees.raw(self.booster_, self._trees.rows(inputs))
        return scores_of(self._loss, raw)

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn should know: missing values and sparse inputs are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedClassifier(ClassifierMixin, BoostedEstimator):
    """`predict_proba` and `predict` of a classifier of two classes."""

    class_weight: Mapping[Any, float] | str | None = None
    classes_: npt.NDArray[Any] = field(init=False)
    _loss = "logistic"

    def _learned(self, y: npt.NDArray[Any]) -> FloatArray:
        classes, codes = classes_of(y)
        if classes.size > 2:
            # scikit-learn looks for the first words.
            raise InputError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}: y has {classes.size} classes. FairClassifier takes several."
            )
        self.classes_ = classes
        return codes.astype(np.float64)

    def _loss_weight(self, y: npt.NDArray[Any]) -> FloatArray:
        factors = class_factors(self.class_weight, y)
        return super()._loss_weight(y) if factors is None else factors

    def predict_proba(self, X: Inputs) -> FloatArray:  # noqa: N803
        """Probability of both classes for the rows of X (n, d), shape (n, 2)."""
        scores = self._scores(X)
        return np.column_stack([1.0 - scores, scores])

    def predict(self, X: Inputs) -> npt.NDArray[Any]:  # noqa: N803
        """The more probable class for the rows of X (n, d), shape (n,)."""
        second = self._scores(X) > 0.5
        return self.classes_[second.astype(np.int64)]

    def __sklearn_tags__(self) -> Tags:
        """What scikit-learn should know: two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedRegressor(RegressorMixin, BoostedEstimator):
    """`predict` of a regressor."""

    _loss = "squared"
    _numeric = True

    def _learned(self, y: npt.NDArray[Any]) -> FloatArray:
        targets = numbers(y, "y")
        lowest, highest = float(targets.min()), float(targets.max())
        order = max(2.0, Aim.of(self).penalty.order)
        if not np.isfinite(highest - lowest) or not is_moderate(highest - lowest, order):
            raise InputError(
                f"y reaches from {lowest:g} to {highest:g}, with which squares and penalties of "
                f"order {order:g} cannot be held; scale y."
            )
        return targets

    def predict(self, X: Inputs) -> FloatArray:  # noqa: N803
        """Predicted targets for the rows of X (n, d), shape (n,)."""
        return self._scores(X)
