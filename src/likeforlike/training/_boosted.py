"""scikit-learn estimators with boosted trees inside, whichever library grows them.

    minimize  loss(f) + strength * V(f),        or        loss(f)  with  disparity(f) <= limit,

with boosted trees f (`_trees`). Groups and levels are needed to fit, never to predict.

Inputs are numbers, missing values and categories, dense, sparse or in a table. Categories of a
table (pandas, polars) keep the codes of the fit, and unseen ones are missing. Missing numbers are
nan.
"""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike._settings import real
from likeforlike._text import epochs_bar
from likeforlike.disparity import Column, numbers, refuse_masked
from likeforlike.errors import InputError, UnderfitWarning, UnmetLimitWarning
from likeforlike.inference import DistanceEstimate
from likeforlike.penalties import Layout, Penalty
from likeforlike.training._base import (
    Aim,
    AimedEstimator,
    ClassifierMixin,
    FitColumns,
    Inputs,
    RegressorMixin,
    Tags,
    Targets,
    check_count,
    compute_class_factors,
    draw_seed,
    encode_classes,
)
from likeforlike.training._limits import (
    Limit,
    LimitResult,
    Table,
    Trial,
    require_rows,
    select_within_limit,
)
from likeforlike.training._trees import (
    Boosted,
    BoostedRows,
    BoostingProblem,
    Library,
    LossName,
    Matrix,
    Model,
    MonitoredRows,
    TrainingRows,
    boost,
    make_monitor,
    probabilities,
)
from likeforlike.transport import is_moderate, moderate

with extra("boost"):
    from sklearn.utils.multiclass import type_of_target
    from sklearn.utils.validation import check_is_fitted, validate_data


_NUMBERS: dict[str, Any] = {
    "dtype": np.float64,
    "accept_sparse": "csr",
    "ensure_all_finite": "allow-nan",
}


@dataclass(frozen=True)
class TreeInputs:
    """How the inputs of a fitted model are read.

    Attributes
    ----------
    categories : by column, the categories in the order of their codes.
    """

    categories: dict[int, tuple[Any, ...]]

    @property
    def categorical(self) -> tuple[int, ...]:
        """Columns that hold categories."""
        return tuple(self.categories)

    @classmethod
    def fitted(
        cls,
        estimator: object,
        given: Inputs,
        y: Column,
        *,
        numeric: bool,
    ) -> tuple[TreeInputs, Inputs, npt.NDArray[Any]]:
        """How to read the X (n, d) that is `given`, the inputs as numbers, and the targets y."""
        inputs = cls(_categories(given))
        matrix = inputs._to_numbers(given) if inputs.categories else given
        try:
            with np.errstate(invalid="ignore", over="ignore"):
                matrix, y = validate_data(estimator, matrix, y, y_numeric=numeric, **_NUMBERS)
        except (OverflowError, TypeError) as error:
            # Of what is no number at all scikit-learn itself has the words.
            if isinstance(error, TypeError) and "NA" not in str(error):
                raise
            raise InputError(f"X and y must be numbers that can be held: {error}.") from error
        if inputs.categories:
            # Names of columns are those of the table.
            validate_data(estimator, given, skip_check_array=True)
        return inputs, matrix, y

    def read(self, estimator: object, given: Inputs) -> Inputs:
        """Return inputs (n, d) of new rows as numbers."""
        refuse_masked(given, "X")
        if not self.categories:
            return validate_data(estimator, given, reset=False, **_NUMBERS)
        if not hasattr(given, "columns"):
            raise InputError(
                "X must be a table with the columns the model was fitted to, since some of them "
                f"hold categories, not {type(given).__name__}."
            )
        validate_data(estimator, given, reset=False, skip_check_array=True)
        return self._to_numbers(given)

    def _to_numbers(self, given: Inputs) -> FloatArray:
        """Return a table as numbers (n, d), with codes for categories."""
        table = nw.from_native(given, eager_only=True)
        columns = [
            _codes(table.get_column(name), self.categories[place], name)
            if place in self.categories
            else _plain(table.get_column(name), name)
            for place, name in enumerate(table.columns)
        ]
        return np.column_stack(columns)


def _categories(given: Inputs) -> dict[int, tuple[Any, ...]]:
    """Return the categories of the columns of a table that have any."""
    table = nw.from_native(given, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        return {}
    return {
        place: _kinds(table.get_column(name))
        for place, name in enumerate(table.columns)
        if isinstance(table.get_column(name).dtype, nw.Categorical | nw.Enum)
    }


def _is_pandas(native: Column) -> bool:
    """Return whether a column of categories keeps their list, which may hold more than occur."""
    return hasattr(native, "cat") and hasattr(native.cat, "set_categories")


def _kinds(series: nw.Series[Any]) -> tuple[Any, ...]:
    """Return the categories of a column, in an order that does not depend on its rows."""
    native = series.to_native()
    if _is_pandas(native):
        return tuple(native.cat.categories)
    return tuple(series.to_polars().cast(pl.String).drop_nulls().unique().sort())


def _codes(series: nw.Series[Any], categories: tuple[Any, ...], name: str) -> FloatArray:
    """Return codes of the categories of a column; nan where there is none, or one never seen."""
    if not isinstance(series.dtype, nw.Categorical | nw.Enum):
        raise InputError(
            f"column {name!r} of X held categories when the model was fitted, and now has the type "
            f"{series.dtype}; make it categorical."
        )
    native = series.to_native()
    if _is_pandas(native):
        codes = np.asarray(native.cat.set_categories(list(categories)).cat.codes, np.float64)
        return np.where(codes < 0.0, np.nan, codes)
    known = pl.Enum([str(category) for category in categories])
    texts = series.to_polars().cast(pl.String)
    numbered = texts.cast(known, strict=False).to_physical().cast(pl.Float64)
    return numbered.fill_null(np.nan).to_numpy().astype(np.float64)


def _plain(series: nw.Series[Any], name: str) -> FloatArray:
    """Return a column of numbers; nan where there is none."""
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        raise InputError(
            f"column {name!r} of X has the type {series.dtype}; give numbers, or make it "
            "categorical (in pandas, astype('category'))."
        )
    numbers = series.cast(nw.Float64).to_numpy()
    return np.asarray(numbers, np.float64)


# A share of one class never starts beyond this one of the other.
_LEAST_SHARE = 1e-9


@dataclass(frozen=True, slots=True)
class TreeRecipe:
    """How to boost.

    Attributes
    ----------
    loss, penalty : what is made small; `None` is no penalty.
    learning_rate, regularization : η and λ.
    rounds, patience : trees at the most, and trees without improvement after which to stop.
    """

    loss: LossName
    penalty: Penalty | None
    learning_rate: float
    regularization: float
    rounds: int
    patience: int


@dataclass(frozen=True, slots=True)
class FittedTrees:
    """Trees that were fitted.

    Attributes
    ----------
    boosted : the model.
    strength : what it was trained with.
    disparity, coverage : on the validation rows, or on the limit rows; `None` without groups.
    kept : what was tried for a limit, or `None`.
    """

    boosted: Boosted
    strength: float
    disparity: DistanceEstimate | None
    coverage: dict[Hashable, float] | None
    kept: LimitResult[Boosted] | None = None


def to_scores(loss: LossName, raw: FloatArray) -> FloatArray:
    """Compute probabilities, or predictions, of raw scores (n,)."""
    return probabilities(raw) if loss == "logistic" else raw


def predict_scores(
    library: Library, loss: LossName, boosted: Boosted, inputs: Matrix, size: int
) -> FloatArray:
    """Compute scores (n,) of rows as the library takes them."""
    raw = np.full(size, boosted.start)
    if boosted.model is not None:
        raw = raw + library.raw(boosted.model, inputs)
    return to_scores(loss, raw)


class _Parts:
    """Rows to learn from, rows that stop training, and rows that judge a limit."""

    def __init__(
        self, table: Table, recipe: TreeRecipe, library: Library, held: list[IntArray]
    ) -> None:
        self._recipe, self._library = recipe, library
        others = np.setdiff1d(np.arange(table.targets.size), np.concatenate(held))
        self.seen, self.back, self.last = (table.take(rows) for rows in (others, *held))
        self._inputs, self._held_inputs, self._last_inputs = (
            library.rows(part.inputs) if part.targets.size else None
            for part in (self.seen, self.back, self.last)
        )
        self.start = _initial_score(self.seen, recipe.loss)

    def boosted(self, strength: float, seed: int, follow: Callable[[int], None]) -> Boosted:
        """Return a model of one strength."""
        recipe = self._recipe
        problem = BoostingProblem(
            recipe.loss, recipe.penalty, strength, recipe.learning_rate, recipe.regularization
        )
        watching, held = None, _boosted_rows(self.back)
        if self.back.targets.size:
            seen = make_monitor(problem, held, seed)
            watching = MonitoredRows(self._held_inputs, held.targets.size, seen)
        return boost(
            problem,
            self._library.grower(self._inputs),
            TrainingRows(_boosted_rows(self.seen), self._inputs),
            watching,
            start=self.start,
            rounds=recipe.rounds,
            patience=recipe.patience,
            follow=follow,
        )

    def held_scores(self, boosted: Boosted) -> FloatArray:
        """Compute scores of the validation rows; of the rows to learn from if there are none."""
        part, inputs = self.seen, self._inputs
        if self.back.targets.size:
            part, inputs = self.back, self._held_inputs
        return self._scores(boosted, inputs, part.targets.size)

    def trial(self, boosted: Boosted, strength: float) -> Trial[Boosted]:
        """Return a model as it is judged."""
        loss = boosted.losses[boosted.trees - 1] if boosted.trees else math.inf
        judged = self._scores(boosted, self._last_inputs, self.last.targets.size)
        return Trial(boosted, strength, loss, self.held_scores(boosted), judged)

    def _scores(self, boosted: Boosted, inputs: Matrix, size: int) -> FloatArray:
        return predict_scores(self._library, self._recipe.loss, boosted, inputs, size)


def fit_trees(
    table: Table,
    recipe: TreeRecipe,
    library: Library,
    *,
    strength: float,
    limit: Limit | None,
    validation_fraction: float,
    limit_fraction: float,
    seed: int,
    follow: Callable[[int], None],
) -> FittedTrees:
    """Fit trees with a strength, or within a limit of their disparity."""
    shares = validation_fraction, limit_fraction if limit is not None else 0.0
    held = table.hold_out(shares, seed, by_class=recipe.loss == "logistic")
    parts = _Parts(table, recipe, library, held)
    validation = (parts.back if held[0].size else parts.seen).held_rows()
    if limit is None:
        boosted = parts.boosted(strength, seed, follow)
        if validation is None:
            return FittedTrees(boosted, strength, None, None)
        return FittedTrees(boosted, strength, *validation.measure(parts.held_scores(boosted)))
    judging = require_rows(parts.last.held_rows() if held[1].size else None, table.targets.size)

    def tried(strengths: FloatArray) -> list[Trial[Boosted]]:
        return [parts.trial(parts.boosted(one, seed, follow), one) for one in strengths.tolist()]

    kept = select_within_limit(limit, require_rows(validation, table.targets.size), judging, tried)
    return FittedTrees(
        kept.trial.model, kept.chosen.strength, kept.disparity, judging.coverage(), kept
    )


def _boosted_rows(table: Table) -> BoostedRows:
    """Return the rows as boosting takes them."""
    assert table.weight is not None
    targets = table.targets.astype(np.float64, copy=False)
    return BoostedRows(targets, table.weight, table.prepared)


def _initial_score(table: Table, loss: LossName) -> float:
    """Return the raw score that suits all rows best."""
    mean = float(np.average(table.targets, weights=table.weight))
    if loss == "squared":
        return mean
    share = min(max(mean, _LEAST_SHARE), 1.0 - _LEAST_SHARE)
    return math.log(share / (1.0 - share))


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
        """Return what grows the trees, with the settings of this estimator."""

    @abstractmethod
    def _prepare_targets(self, y: npt.NDArray[Any]) -> FloatArray:
        """Return what is learned of the checked targets y (n,)."""

    def _library_settings(self, names: Mapping[str, str], seed: int) -> dict[str, Any]:
        """Settings of the library: those given, our own under their `names` there, and a seed."""
        given = {theirs: getattr(self, name) for name, theirs in names.items()}
        # Libraries write numbers as text, and fractions are no text they can read.
        ours = {name: one if isinstance(one, int) else real(one) for name, one in given.items()}
        return {**(self.settings or {}), **ours, "seed": seed}

    def _loss_weight(self, y: npt.NDArray[Any]) -> FloatArray:
        """By how much the loss of each row counts besides its weight."""
        return np.ones(len(y))

    def _fit_columns(self, inputs: Inputs, targets: Targets, columns: FitColumns) -> None:
        reader, matrix, y = TreeInputs.fitted(self, inputs, targets, numeric=self._numeric)
        learned, size = self._prepare_targets(y), matrix.shape[0]
        layout = columns.layout(size, needed=Aim.of(self).needs_groups)
        table = self._make_table(matrix, learned, columns, self._loss_weight(y), layout)
        self._inputs = reader
        self._fit(table)

    def _make_table(
        self,
        inputs: Inputs,
        targets: FloatArray,
        columns: FitColumns,
        loss_weight: FloatArray,
        layout: Layout | None,
    ) -> Table:
        """Return the rows that count, with their weights."""
        rows, weight = np.arange(targets.size), columns.weights(targets.size)
        if weight is not None:
            rows = np.flatnonzero(weight)
            loss_weight = loss_weight * moderate(weight)
            layout = None if layout is None else layout.with_weights(weight)
        held = columns.held(targets.size)
        table = Table(inputs, targets, loss_weight, layout, held)
        if rows.size < targets.size:
            table = table.take(rows)
        known = table.layout
        return table if known is None else replace(table, prepared=Aim.of(self).prepare(known))

    def _fit(self, table: Table) -> None:
        """Train, then set the fitted attributes, all at once."""
        aim = Aim.of(self)
        seed = draw_seed(self.random_state)
        self._trees = self._library(self._inputs.categorical, seed)
        recipe = TreeRecipe(
            self._loss,
            None if table.layout is None else aim.choose_penalty(table.layout),
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
                validation_fraction=self.validation_fraction,
                limit_fraction=self.limit_fraction,
                seed=seed,
                follow=lambda number: tick(number - 1),
            )
        self._set_results(fitted, penalized=table.layout is not None)

    def _set_results(self, fitted: FittedTrees, *, penalized: bool) -> None:
        """Set what was found, and warn of what was not reached."""
        boosted, kept = fitted.boosted, fitted.kept
        self.strength_ = fitted.strength if penalized else 0.0
        self.disparity_, self.coverage_ = fitted.disparity, fitted.coverage
        self.path_ = () if kept is None else kept.candidates
        self.loss_curve_, self.n_iter_ = list(boosted.losses), len(boosted.losses)
        self.n_trees_, self.booster_ = boosted.trees, boosted.model
        self.start_ = boosted.start
        if kept is not None and not kept.met:
            warnings.warn(kept.describe_failure(), UnmetLimitWarning, stacklevel=5)
        if self.strength_ > 0.0 and boosted.is_underfitted:
            warnings.warn(
                f"{self.n_estimators} trees were not enough: the last tenth of them still made the "
                f"objective smaller by {boosted.late_improvement:.3g}, so the loss is larger than "
                "it has to be. Allow more n_estimators, or a larger learning_rate.",
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
        if not 0.0 <= real(self.reg_lambda) < float("inf"):
            raise InputError(f"reg_lambda must be a number of 0 or more, not {self.reg_lambda!r}.")
        ours = sorted(_OURS & set(self.settings or {}))
        if ours:
            raise InputError(
                f"settings has {ours}, but how leaves are fitted is not up to the library here; "
                "leave that out."
            )

    def _scores(self, given: Inputs) -> FloatArray:
        """Compute scores (n,) of new rows."""
        check_is_fitted(self)
        inputs = self._inputs.read(self, given)
        raw = np.full(inputs.shape[0], self.start_)
        if self.booster_ is not None:
            raw = raw + self._trees.raw(self.booster_, self._trees.rows(inputs))
        return to_scores(self._loss, raw)

    def __sklearn_tags__(self) -> Tags:
        """Return what scikit-learn should know: missing values and sparse inputs are welcome."""
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

    def _prepare_targets(self, y: npt.NDArray[Any]) -> FloatArray:
        classes, codes = encode_classes(y)
        if classes.size > 2:
            # scikit-learn looks for the first words.
            raise InputError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}: y has {classes.size} classes. FairClassifier takes several."
            )
        self.classes_ = classes
        return codes.astype(np.float64)

    def _loss_weight(self, y: npt.NDArray[Any]) -> FloatArray:
        factors = compute_class_factors(self.class_weight, y)
        return super()._loss_weight(y) if factors is None else factors

    def predict_proba(self, X: Inputs) -> FloatArray:  # noqa: N803
        """Compute the probability of both classes for the rows of X (n, d), shape (n, 2)."""
        scores = self._scores(X)
        return np.column_stack([1.0 - scores, scores])

    def predict(self, X: Inputs) -> npt.NDArray[Any]:  # noqa: N803
        """Return the more probable class for the rows of X (n, d), shape (n,)."""
        second = self._scores(X) > 0.5
        return self.classes_[second.astype(np.int64)]

    def __sklearn_tags__(self) -> Tags:
        """Return what scikit-learn should know: two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedRegressor(RegressorMixin, BoostedEstimator):
    """`predict` of a regressor."""

    _loss = "squared"
    _numeric = True

    def _prepare_targets(self, y: npt.NDArray[Any]) -> FloatArray:
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
        """Compute predicted targets for the rows of X (n, d), shape (n,)."""
        return self._scores(X)
