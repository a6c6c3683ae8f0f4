"""Which columns of a table a baseline looks at: a dataframe of any kind, or an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
import numpy.typing as npt
from narwhals.exceptions import NarwhalsError

from likeforlike._extras import extra
from likeforlike.disparity._columns import refuse_masked
from likeforlike.errors import InputError

with extra("train"):
    from sklearn.utils.validation import validate_data

Chosen: TypeAlias = str | int | Sequence[str | int] | None
"""Columns by name or by position; `None` leaves the choice to who asks."""

Table: TypeAlias = nw.DataFrame[Any] | npt.NDArray[Any]


def checked_table(
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


def chosen(columns: Chosen, table: Table) -> list[int]:
    """Positions of columns given by name or position, each once, in the order given."""
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
