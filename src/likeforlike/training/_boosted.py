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
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl

from likeforlike._arrays import FloatArray
from likeforlike._lazy import extra
from likeforlike._settings import real
from likeforlike._text import epochs_bar
from likeforlike.disparity import Column, numbers, refuse_mask
from likeforlike.errors import InputError, UnderfitWarning
from likeforlike.penalties import FairLeap, Penalty
from likeforlike.training._base import (
    ClassifierMixin,
    Inputs,
    PenalizedEstimator,
    RegressorMixin,
    Tags,
    Targets,
    check_count,
    check_validation,
    check_weights,
    compute_class_factors,
    draw_integer,
    encode_classes,
    make_layout,
)
from likeforlike.training._limits import Table, require_rows, select_within_limit
from likeforlike.training._trees import (
    Boosted,
    BoostingProblem,
    Library,
    LossName,
    Matrix,
    Model,
    boost,
    probabilities,
)
from likeforlike.transport import is_moderate, moderate_weights

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
    """How the inputs of a model are read: by column, its categories in the order of their codes."""

    categories: dict[int, tuple[Any, ...]]

    @classmethod
    def fit(
        cls, estimator: object, given: Inputs, y: Column, *, numeric: bool
    ) -> tuple[TreeInputs, Inputs, npt.NDArray[Any]]:
        """Return how to read the X (n, d) that is `given`, its numbers, and the targets y."""
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
        refuse_mask(given, "X")
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
    """Return the categories of the columns of a table that have any, in an order of their own."""
    table = nw.from_native(given, eager_only=True, pass_through=True)
    found: dict[int, tuple[Any, ...]] = {}
    for place, name in enumerate(table.columns if isinstance(table, nw.DataFrame) else ()):
        series = table.get_column(name)
        if isinstance(series.dtype, nw.Categorical | nw.Enum):
            native = series.to_native()
            if _is_pandas(native):
                found[place] = tuple(native.cat.categories)
            else:
                texts = series.to_polars().cast(pl.String)
                found[place] = tuple(texts.drop_nulls().unique().sort())
    return found


def _is_pandas(native: Column) -> bool:
    """Return whether a column of categories keeps their list, which may hold more than occur."""
    return hasattr(native, "cat") and hasattr(native.cat, "set_categories")


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


def check_single_precision(inputs: Matrix, library: str) -> None:
    """Raise where a library that keeps inputs in single precision cannot hold them."""
    largest = float(np.finfo(np.float32).max)
    values = inputs if isinstance(inputs, np.ndarray) else inputs.data
    if np.fmax.reduce(np.abs(values), axis=None, initial=0.0) > largest:
        raise InputError(
            f"X has values beyond {largest:.2g}, which {library} cannot hold; scale them."
        )


# The smallest share of a class at the start.
_LEAST_SHARE = 1e-9
_Judged = tuple[list[Boosted], list[float], list[FloatArray], list[FloatArray]]


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
    "booster",
    "boosting",
    "boosting_type",
    "eta",
    "l2_leaf_reg",
    "lambda_l1",
    "lambda_l2",
    "linear_tree",
    "loss_function",
    "max_delta_step",
    "metric",
    "monotone_constraints",
    "num_class",
    "objective",
    "reg_alpha",
    "scale_pos_weight",
}


@dataclass(kw_only=True, eq=False, repr=False)
class BoostedEstimator(PenalizedEstimator):
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
        """Return settings of the library: those given, our own by their `names` there, a seed."""
        given = {theirs: getattr(self, name) for name, theirs in names.items()}
        # Libraries write numbers as text, and fractions are no text they can read.
        ours = {name: one if isinstance(one, int) else real(one) for name, one in given.items()}
        return {**(self.settings or {}), **ours, "seed": seed}

    def _loss_weight(self, y: npt.NDArray[Any]) -> FloatArray:
        """Return what the loss of each row is multiplied by besides its weight."""
        return np.ones(len(y))

    def _fit_columns(self, inputs: Inputs, targets: Targets, *columns: Column | None) -> None:
        sensitive, legitimate, weight, validation = columns
        reader, matrix, y = TreeInputs.fit(self, inputs, targets, numeric=self._numeric)
        learned, size = self._prepare_targets(y), matrix.shape[0]
        layout = make_layout(size, sensitive, legitimate, needed=self._needs_groups())
        rows, loss_weight = np.arange(size), self._loss_weight(y)
        row_weight = check_weights(weight, size)
        if row_weight is not None:
            rows = np.flatnonzero(row_weight)
            loss_weight = loss_weight * moderate_weights(row_weight)
            layout = None if layout is None else layout.with_weights(row_weight)
        table = Table(matrix, learned, loss_weight, layout, check_validation(validation, size))
        if rows.size < size:
            table = table.take(rows)
        if table.layout is not None:
            table = replace(table, prepared=self._prepare_layout(table.layout))
        self._inputs = reader
        self._fit_table(table)

    def _fit_table(self, table: Table) -> None:
        """Train, then set the fitted attributes."""
        limit, size = None if table.layout is None else self._limit, table.targets.size
        seed = draw_integer(self.random_state)
        self._trees = library = self._library(tuple(self._inputs.categories), seed)
        shares = self.validation_fraction, 0.0 if limit is None else self.limit_fraction
        held = table.hold_out(shares, seed, by_class=self._loss == "logistic")
        others = np.setdiff1d(np.arange(size), np.concatenate(held))
        seen, back, last = (table.take(rows) for rows in (others, *held))
        inputs, back_inputs, last_inputs = (
            library.rows(part.inputs) if part.targets.size else None for part in (seen, back, last)
        )
        penalty = None if table.layout is None else self._choose_penalty(table.layout)
        problem, watched = self._make_problem(seen, penalty), self._make_problem(back, penalty)
        start = _initial_score(seen, self._loss)
        rows, watched_inputs = (back, back_inputs) if held[0].size else (seen, inputs)
        validation = rows.hold_rows()

        def train(strength: float) -> Boosted:
            return boost(
                replace(problem, strength=strength),
                library.grower(inputs),
                inputs,
                (replace(watched, strength=strength), back_inputs) if held[0].size else None,
                start=start,
                rounds=int(self.n_estimators),
                patience=int(self.patience),
                seed=seed,
                follow=lambda number: tick(number - 1),
            )

        def train_all(strengths: FloatArray) -> _Judged:
            models = [train(one) for one in strengths.tolist()]
            losses = [one.losses[one.trees - 1] if one.trees else math.inf for one in models]
            scores = [
                self._predict(one.model, start, watched_inputs, rows.targets.size) for one in models
            ]
            judged = [
                self._predict(one.model, start, last_inputs, last.targets.size) for one in models
            ]
            return models, losses, scores, judged

        with epochs_bar(self.n_estimators, self.verbose) as tick:
            if limit is None:
                kept, chosen = None, 1.0 if self.strength is None else float(self.strength)
                boosted = train(chosen)
                self.disparity_, self.coverage_ = None, None
                if validation is not None:
                    scores = self._predict(boosted.model, start, watched_inputs, rows.targets.size)
                    self.disparity_, self.coverage_ = validation.measure(scores)
            else:
                judging = require_rows(last.hold_rows() if held[1].size else None, size)
                kept = select_within_limit(
                    limit, require_rows(validation, size), judging, train_all
                )
                boosted, chosen = kept.model, kept.chosen.strength
                self.disparity_, self.coverage_ = kept.disparity, judging.coverage()
        self.strength_ = 0.0 if table.layout is None else chosen
        self.loss_curve_, self.n_iter_ = list(boosted.losses), len(boosted.losses)
        self.n_trees_, self.booster_ = boosted.trees, boosted.model
        self.start_ = boosted.start
        self._report_limit(kept)
        if self.strength_ > 0.0 and boosted.needs_more_trees:
            warnings.warn(
                f"{self.n_estimators} trees were not enough: the last tenth of them still made the "
                f"objective smaller by {boosted.late_improvement:.3g}, so the loss is larger than "
                "it has to be. Allow more n_estimators, or a larger learning_rate.",
                UnderfitWarning,
                stacklevel=4,
            )

    def _make_problem(self, table: Table, penalty: Penalty | None) -> BoostingProblem:
        """Return what is minimized on some rows, for a strength to be set."""
        assert table.weight is not None
        return BoostingProblem(
            table.targets.astype(np.float64, copy=False),
            table.weight,
            table.prepared,
            self._loss,
            penalty,
            0.0,
            float(self.learning_rate),
            float(self.reg_lambda),
        )

    def _check_settings(self) -> None:
        """Raise if a setting makes no sense."""
        self._check_penalty_settings()
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
        matrix = None if self.booster_ is None else self._trees.rows(inputs)
        return self._predict(self.booster_, self.start_, matrix, inputs.shape[0])

    def _predict(self, model: Model, start: float, matrix: Matrix, size: int) -> FloatArray:
        """Compute scores (n,) of rows as the library takes them."""
        raw = np.full(size, start)
        if model is not None:
            raw = raw + self._trees.raw(model, matrix)
        return probabilities(raw) if self._loss == "logistic" else raw

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


class BoostedRegressor(RegressorMixin, BoostedEstimator):
    """`predict` of a regressor."""

    _loss = "squared"
    _numeric = True

    def _prepare_targets(self, y: npt.NDArray[Any]) -> FloatArray:
        targets = numbers(y, "y")
        lowest, highest = float(targets.min()), float(targets.max())
        order = max(2.0, FairLeap().order if self.penalty is None else self.penalty.order)
        if not np.isfinite(highest - lowest) or not is_moderate(highest - lowest, order):
            raise InputError(
                f"y reaches from {lowest:g} to {highest:g}, with which squares and penalties of "
                f"order {order:g} cannot be held; scale y."
            )
        return targets

    def predict(self, X: Inputs) -> FloatArray:  # noqa: N803
        """Compute predicted targets for the rows of X (n, d), shape (n,)."""
        return self._scores(X)
