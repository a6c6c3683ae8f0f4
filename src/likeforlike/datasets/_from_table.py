"""A user's own table as a data set: roles checked, incomplete rows left out and counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import polars as pl

from likeforlike.datasets._dataset import Dataset
from likeforlike.errors import InputError
from likeforlike.files._columns import column_key, find_column


class OwnTable(NamedTuple):
    """A data set, and how many rows were left out because a value was missing.

    Attributes
    ----------
    data : the rows that are complete, with their roles.
    left_out : how many rows are not.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.datasets import dataset_of_table
    >>> frame = pl.DataFrame(
    ...     {"age": [1, None, 3, 4], "sex": ["f", "m", "f", "m"], "paid": [0.5, 0.7, 0.9, 0.1]}
    ... )
    >>> data, left_out = dataset_of_table(frame, target="paid", sensitive="sex")
    >>> data.frame.height, left_out
    (3, 1)
    """

    data: Dataset
    left_out: int


def dataset_of_table(
    frame: pl.DataFrame,
    *,
    target: str,
    sensitive: str,
    legitimate: Sequence[str] = (),
    features: Sequence[str] | None = None,
    smooth: str | None = None,
) -> OwnTable:
    """A table with roles.

    Parameters
    ----------
    frame : one row a person.
    target : column to be predicted. Two values make a classification, the second in sorted order
        being 1; more numbers make a regression.
    sensitive : column whose values are the groups.
    legitimate : columns whose combinations are the levels.
    features : columns a model may use; `None` means all but the target and the sensitive one.
    smooth : one of the legitimate columns that is a number and is compared without bins (see
        `experiments.Task`); the others are then taken for categories.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.datasets import dataset_of_table
    >>> frame = pl.DataFrame(
    ...     {"age": [1, 2, None], "sex": ["f", "m", "m"], "paid": ["no", "yes", "no"]}
    ... )
    >>> own_table = dataset_of_table(frame, target="paid", sensitive="sex")
    >>> own_table.data.task, own_table.data.targets.tolist(), own_table.left_out
    ('classification', [0, 1], 1)
    """
    for column in (target, sensitive, *legitimate, *(features or ())):
        find_column(column, frame.columns)
    used = tuple(features) if features is not None else _others(frame, target, sensitive)
    named = list(dict.fromkeys([target, sensitive, *legitimate, *used]))
    # Series of polars take a name for a pattern, too, in some of what they do.
    safe = pl.DataFrame([frame[name].alias(column_key(name)) for name in named])
    complete = safe.fill_nan(None).drop_nulls()
    if complete.height == 0:
        raise InputError(f"no row of {frame.height} has a value in every column of {named}.")
    if smooth is not None:
        complete = _along(complete, smooth, legitimate)
    numbered, task = _target(complete, target)
    numbered.columns = named
    data = Dataset(numbered, used, target, sensitive, tuple(legitimate), task)
    return OwnTable(data, frame.height - complete.height)


def _along(frame: pl.DataFrame, smooth: str, legitimate: Sequence[str]) -> pl.DataFrame:
    """The table with one legitimate number, and text for the other legitimate columns."""
    if smooth not in legitimate:
        raise InputError(f"smooth must be one of the legitimate columns, not {smooth!r}.")
    number = frame[column_key(smooth)]
    if not number.dtype.is_numeric():
        raise InputError(f"smooth names {smooth!r}, which is {number.dtype} and no number.")
    others = [frame[column_key(name)].cast(pl.String) for name in legitimate if name != smooth]
    return frame.with_columns(number.cast(pl.Float64), *others)


def _others(frame: pl.DataFrame, target: str, sensitive: str) -> tuple[str, ...]:
    return tuple(column for column in frame.columns if column not in (target, sensitive))


def _target(
    frame: pl.DataFrame, target: str
) -> tuple[pl.DataFrame, Literal["classification", "regression"]]:
    column = frame[column_key(target)]
    values = column.unique().sort()
    if len(values) == 2:
        return frame.with_columns((column == values[1]).cast(pl.Int64)), "classification"
    if len(values) > 2 and column.dtype.is_numeric():
        return frame.with_columns(column.cast(pl.Float64)), "regression"
    raise InputError(
        f"target {target!r} has {len(values)} different values; it must have two, or be a number."
    )
