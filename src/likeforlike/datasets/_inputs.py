"""Inputs: columns of a table as one matrix of numbers, with a name for each column of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from likeforlike._arrays import FloatArray
from likeforlike._settings import is_one_of
from likeforlike.disparity._columns import encode, numbers
from likeforlike.errors import InputError

Encoding = Literal["one-hot", "integer"]
"""How a nominal column becomes numbers: a column for each value, or the rank of the value."""


class Inputs(NamedTuple):
    """A matrix for a model and the names of its columns.

    Attributes
    ----------
    matrix : (n, d) floats.
    names : d names; `"column=value"` for a column that stands for one value.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> inputs = make_loans(100).inputs()
    >>> inputs.matrix.shape, inputs.names
    ((100, 4), ('income', 'debt', 'history', 'tenure'))
    """

    matrix: FloatArray
    names: tuple[str, ...]


def input_matrix(
    frame: pl.DataFrame, columns: Sequence[str], encoding: Encoding = "one-hot"
) -> Inputs:
    """Turn columns of a table into one matrix of floats.

    Numbers stay what they are. A nominal column (text, categories, booleans) with the values
    v_0 < ... < v_{k-1} becomes k columns 1{x = v_j} (`"one-hot"`), or the single column of the
    ranks j (`"integer"`, which lets a model read an order into the alphabet).
    """
    if not is_one_of(encoding, get_args(Encoding)):
        raise InputError(f"encoding must be one of {get_args(Encoding)}, not {encoding!r}.")
    if not columns:
        raise InputError("there are no features to make a matrix of; name at least one column.")
    blocks = [_block(frame[column], encoding) for column in columns]
    matrix = np.hstack([block.matrix for block in blocks])
    return Inputs(matrix, tuple(name for block in blocks for name in block.names))


def _block(column: pl.Series, encoding: Encoding) -> Inputs:
    """One column of the table as one or more columns of the matrix."""
    # Series of polars take a name for a pattern, too, in some of what they do.
    name, column = column.name, column.alias("column")
    label = f"column {name!r}"
    if column.dtype.is_numeric():
        # A null among numbers would turn into NaN; `numbers` then says which row it is.
        values = numbers(column.cast(pl.Float64).to_numpy(), label)
        return Inputs(values[:, None], (name,))
    if column.dtype not in (pl.String, pl.Boolean, pl.Categorical, pl.Enum):
        raise InputError(
            f"{label} has the type {column.dtype}; a model needs numbers, text or booleans."
        )
    codes, labels = encode(column.cast(pl.String), label)
    if encoding == "integer":
        return Inputs(codes.astype(np.float64)[:, None], (name,))
    matrix = np.zeros((codes.size, len(labels)))
    matrix[np.arange(codes.size), codes] = 1.0
    return Inputs(matrix, tuple(f"{name}={value}" for value in labels))
