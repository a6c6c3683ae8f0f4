"""A model of the legitimate features and nothing else: parity among equals by construction.

With e(l) the one-hot code of level l, scores are f(X) = g(e(L)). All rows of a level have one
score, so the conditional disparity is 0, for any g, any groups and any data. What it costs is the
loss that another model avoids by using more inputs. Columns are those of a dataframe of any kind,
or of an array.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Self, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import NarwhalsError

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._extras import extra
from likeforlike.disparity._columns import Codes, Column, encode_columns, refuse_masked, weights
from likeforlike.errors import InputError
from likeforlike.training._base import BaseEstimator, MetaEstimatorMixin

with extra("train"):
    from sklearn.base import clone, is_classifier
    from sklearn.metrics import accuracy_score, r2_score
    from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
    from sklearn.utils import get_tags as tags_of
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import type_of_target
    from sklearn.utils.validation import check_is_fitted, validate_data


Chosen: TypeAlias = str | int | Sequence[str | int] | None
"""Columns by name or by position; `None` leaves the choice to who asks."""

Table: TypeAlias = nw.DataFrame[Any] | npt.NDArray[Any]


def check_table(
    estimator: Any,  # noqa: ANN401
    X: Any,  # noqa: N803, ANN401
    *,
    reset: bool,
    dtype: str | None,
) -> Table:
    """X as a dataframe if it is one, or else as a checked array of shape (n, d)."""
    refuse_masked(X, "X")
    try:
        table = nw.from_native(X, pass_through=True)
    except NarwhalsError as error:
        raise InputError(f"X cannot be read: {' '.join(str(error).split())}.") from error
    if isinstance(table, nw.LazyFrame):
        raise InputError("X is a lazy table; collect its rows first.")
    if not isinstance(table, nw.DataFrame):
        # What is infinite is refused there; on the way its signs may meet in a sum.
        with np.errstate(invalid="ignore"):
            array: npt.NDArray[Any] = validate_data(estimator, X, reset=reset, dtype=dtype)
        return array
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    if 0 in table.shape:
        raise InputError(
            f"X has the shape {table.shape}; it needs at least one row and one column."
        )
    return table


def select_columns(columns: Chosen, table: Table) -> list[int]:
    """Return positions of columns given by name or position, each once, in the order given."""
    width = table.shape[1]
    if columns is None:
        return list(range(width))
    names = list(table.columns) if isinstance(table, nw.DataFrame) else []
    wanted = [columns] if isinstance(columns, str | int | np.integer) else list(columns)
    if not wanted:
        raise InputError("columns is empty; name at least one column, or leave it out for all.")
    return list(dict.fromkeys(_place(column, names, width) for column in wanted))


def _place(column: object, names: list[str], width: int) -> int:
    if isinstance(column, str):
        if column in names:
            return names.index(column)
        known = f"X has {names}" if names else "X is an array, whose columns have positions only"
        raise InputError(f"columns has {column!r}, but {known}.")
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if 0 <= column < width:
            return int(column)
        raise InputError(f"columns has {column}, but X has the positions 0 to {width - 1}.")
    raise InputError(f"columns must hold names or positions, not {column!r}.")


def _has_probabilities(model: LegitimateOnly) -> bool:
    inner = getattr(model, "estimator_", model.estimator)
    # Without an estimator the task is not known before fit, and the default classifier has them.
    return inner is None or hasattr(inner, "predict_proba")


class LegitimateOnly(MetaEstimatorMixin, BaseEstimator):
    """Fit any model to the levels of the legitimate features alone.

    A level is a combination of values of the chosen columns, and the model sees it as one column
    of zeros and ones for each level found in `fit`. It is asked for every level once and rows get
    the answer of their level, so that rows of one level have the same score to the last bit.
    A level that was not there in `fit` gets the base rate: the mean target, the shares of the
    classes, the most frequent class.

    Parameters
    ----------
    estimator : classifier or regressor; `None` is a `FairClassifier` without penalty if y holds
        classes, and a `FairRegressor` without penalty if it has values with decimals. Give one
        where targets are whole numbers but not classes.
    columns : names or positions of the legitimate features in X; `None` means that X holds
        nothing else.

    Attributes
    ----------
    estimator_ : what was fitted.
    levels_ : labels of the K levels, in the order of the columns the model saw.
    base_rate_ : what levels that were not there get: a number, or the share of each class.
    classes_ : labels, of a classifier.
    n_features_in_, feature_names_in_ : of X.

    References
    ----------
    Ghassemi et al. (2025), experiments, *legitimate only*.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from sklearn.linear_model import LogisticRegression
    >>> from likeforlike.experiments.rivals import LegitimateOnly
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(1000)
    >>> model = LegitimateOnly(LogisticRegression(), columns=["income"])
    >>> scores = model.fit(loans.frame, loans.targets).predict_proba(loans.frame)[:, 1]
    >>> float(lfl.cdd_lp(scores, loans.groups, loans.levels))
    0.0
    """

    estimator_: Any
    levels_: tuple[Hashable, ...]
    base_rate_: float | FloatArray
    classes_: npt.NDArray[Any]

    def __init__(self, estimator: Any = None, *, columns: Chosen = None) -> None:  # noqa: ANN401
        self.estimator = estimator
        self.columns = columns

    def fit(self, X: Any, y: Any, *, sample_weight: Column | None = None) -> Self:  # noqa: N803, ANN401
        """Fit to the legitimate columns of X (n, d) and targets y (n,).

        Parameters
        ----------
        X, y : dataframe or array, and targets.
        sample_weight : (n,) numbers >= 0, if the estimator takes them.
        """
        validate_data(self, X, y, skip_check_array=True)
        table = check_table(self, X, reset=True, dtype=None)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(table, y)
        weight = None
        if sample_weight is not None:
            table, y, weight = _counted(table, y, sample_weight)
        places = select_columns(self.columns, table)
        levels = _levels(table, places)
        estimator = _default(y) if self.estimator is None else clone(self.estimator)
        seen = np.eye(len(levels.labels))[levels.codes]
        estimator.fit(seen, y, **({} if weight is None else {"sample_weight": weight}))
        if is_classifier(estimator):
            self.classes_ = estimator.classes_
        self.base_rate_ = _base_rate(estimator, y, weight)
        self.estimator_, self.levels_, self._places = estimator, levels.labels, places
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803, ANN401
        """Compute predicted classes or targets of the rows of X (n, d), shape (n,)."""
        place = self._looked_up(X)
        answers = self.estimator_.predict(np.eye(len(self.levels_)))
        base = self.base_rate_
        if is_classifier(self.estimator_):
            base = self.classes_[np.argmax(base)]
        return np.where(place >= 0, answers[place], base)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Compute the probability of every class for the rows of X (n, d), shape (n, c)."""
        place = self._looked_up(X)
        answers = self.estimator_.predict_proba(np.eye(len(self.levels_)))
        return np.where((place >= 0)[:, None], answers[place], self.base_rate_)

    def score(self, X: Any, y: Any, *, sample_weight: Column | None = None) -> float:  # noqa: N803, ANN401
        """Compute accuracy of a classifier, R² of a regressor, on X (n, d) with the targets y (n,).

        Rows count by `sample_weight` (n,), or all the same.
        """
        predicted = self.predict(X)
        metric = accuracy_score if is_classifier(self.estimator_) else r2_score
        return float(metric(y, predicted, sample_weight=sample_weight))

    def _looked_up(self, X: Any) -> IntArray:  # noqa: N803, ANN401
        """Position of each row's level among those of `fit`, -1 for one that was not there."""
        check_is_fitted(self, "estimator_")
        levels = _levels(check_table(self, X, reset=False, dtype=None), self._places)
        known = {label: k for k, label in enumerate(self.levels_)}
        places: IntArray = np.array([known.get(label, -1) for label in levels.labels])[levels.codes]
        return places

    def __sklearn_tags__(self) -> Any:  # noqa: ANN401
        tags = super().__sklearn_tags__()
        inner = getattr(self, "estimator_", self.estimator)
        if inner is not None:
            inner_tags = tags_of(inner)
            tags.estimator_type = inner_tags.estimator_type
            tags.classifier_tags, tags.regressor_tags = (
                inner_tags.classifier_tags,
                inner_tags.regressor_tags,
            )
        tags.target_tags.required = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags


def _counted(
    table: Table, y: npt.NDArray[Any], sample_weight: Column
) -> tuple[Table, npt.NDArray[Any], FloatArray]:
    """Return rows that have a weight; a level of rows without any has not been seen."""
    weight = weights(np.asarray(sample_weight), "sample_weight", len(y))
    rows = np.flatnonzero(weight)
    return table[rows, :], y[rows], weight[rows]


def _levels(table: Table, places: list[int]) -> Codes:
    """Return level of every row, as a combination of values of some columns."""
    size = len(table)
    if isinstance(table, nw.DataFrame):
        return encode_columns(table[:, places].to_native(), "X", size)
    return encode_columns(table[:, places], "X", size)


def _default(y: npt.NDArray[Any]) -> Any:  # noqa: ANN401
    """Return a network without penalty, for what y looks like."""
    from likeforlike.training import FairClassifier, FairRegressor

    kind = type_of_target(y, input_name="y")
    if kind == "continuous":
        return FairRegressor(strength=0.0)
    if kind in ("binary", "multiclass"):
        return FairClassifier(strength=0.0)
    raise InputError(f"y is {kind}; give an estimator that can predict it.")


def _base_rate(
    estimator: Any,  # noqa: ANN401
    y: npt.NDArray[Any],
    weight: FloatArray | None,
) -> float | FloatArray:
    """Compute the mean target, or the share of each class."""
    if not is_classifier(estimator):
        return float(np.average(y, weights=weight))
    shares: FloatArray = np.average(y[:, None] == estimator.classes_, axis=0, weights=weight)
    return shares
