"""Inputs of trees: numbers, missing values and categories, dense, sparse or in a table.

Categories of a table (pandas, polars) are numbered as they were when the model was fitted; what it
has never seen is missing. Missing numbers are nan. Both libraries know what to do with either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import polars as pl

from likeforlike._arrays import FloatArray
from likeforlike._extras import extra
from likeforlike.disparity._columns import Column, refuse_masked
from likeforlike.errors import InputError
from likeforlike.estimators._grouped import Inputs

with extra("boost"):
    from sklearn.utils.validation import validate_data

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
        matrix = inputs._numbered(given) if inputs.categories else given
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
        """Inputs (n, d) of new rows as numbers."""
        refuse_masked(given, "X")
        if not self.categories:
            return validate_data(estimator, given, reset=False, **_NUMBERS)
        if not hasattr(given, "columns"):
            raise InputError(
                "X must be a table with the columns the model was fitted to, since some of them "
                f"hold categories, not {type(given).__name__}."
            )
        validate_data(estimator, given, reset=False, skip_check_array=True)
        return self._numbered(given)

    def _numbered(self, given: Inputs) -> FloatArray:
        """A table as numbers (n, d), with codes for categories."""
        table = nw.from_native(given, eager_only=True)
        columns = [
            _codes(table.get_column(name), self.categories[place], name)
            if place in self.categories
            else _plain(table.get_column(name), name)
            for place, name in enumerate(table.columns)
        ]
        return np.column_stack(columns)


def _categories(given: Inputs) -> dict[int, tuple[Any, ...]]:
    """The categories of the columns of a table that have any."""
    table = nw.from_native(given, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame):
        return {}
    return {
        place: _kinds(table.get_column(name))
        for place, name in enumerate(table.columns)
        if isinstance(table.get_column(name).dtype, nw.Categorical | nw.Enum)
    }


def _is_pandas(native: Column) -> bool:
    """Whether a column of categories keeps their list, which may hold more than occur."""
    return hasattr(native, "cat") and hasattr(native.cat, "set_categories")


def _kinds(series: nw.Series[Any]) -> tuple[Any, ...]:
    """The categories of a column, in an order that does not depend on its rows."""
    native = series.to_native()
    if _is_pandas(native):
        return tuple(native.cat.categories)
    return tuple(series.to_polars().cast(pl.String).drop_nulls().unique().sort())


def _codes(series: nw.Series[Any], categories: tuple[Any, ...], name: str) -> FloatArray:
    """Codes of the categories of a column; nan where there is none, or one never seen."""
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
    """A column of numbers; nan where there is none."""
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        raise InputError(
            f"column {name!r} of X has the type {series.dtype}; give numbers, or make it "
            "categorical (in pandas, astype('category'))."
        )
    numbers = series.cast(nw.Float64).to_numpy()
    return np.asarray(numbers, np.float64)
