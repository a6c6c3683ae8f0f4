"""A file of a user's own as a table with types, for models that need to know what is a number."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from likeforlike.files._csv import CsvOptions, TextTable
from likeforlike.files._files import open_file, readable

_LEADING_ZERO = r"^\s*[+-]?0[0-9]"


class FileTable(NamedTuple):
    """A table that was read from a file.

    Attributes
    ----------
    frame : its rows.
    nulls : {column: {word: how often}} for words that were taken for a missing value.
    """

    frame: pl.DataFrame
    nulls: dict[str, dict[str, int]]


def read_table(
    path: str | Path,
    options: CsvOptions | None = None,
    *,
    named: Sequence[str] = (),
    groups: Collection[str] = (),
) -> FileTable:
    """Read a file whole.

    In a CSV file a column is one of numbers if all its values are. A column of `groups` is so only
    if no two of them are the same number, so that 01 and 1 stay apart.
    """
    source = open_file(path, "polars", options, named=named)
    with readable(path):
        whole: pl.DataFrame = (source.table if isinstance(source, TextTable) else source).collect()
    if not isinstance(source, TextTable):
        return FileTable(whole, {})
    columns, nulls = [], {}
    for column in whole.filter(~pl.all_horizontal(pl.all().is_null())):
        bare = column.str.strip_chars()
        words = bare.filter(bare.is_in(list(source.nulls)))
        if len(words):
            nulls[column.name] = dict(words.value_counts(sort=True).rows())
        present = column.set(bare.is_in(["", *source.nulls]), None)
        columns.append(_typed(present, is_group=column.name in groups))
    return FileTable(pl.DataFrame(columns), nulls)


def _typed(texts: pl.Series, *, is_group: bool) -> pl.Series:
    """A column of text as numbers or truth values, if all of it is."""
    bare = texts.str.strip_chars()
    lower = bare.str.to_lowercase()
    if texts.null_count() < len(texts) and lower.drop_nulls().is_in(["true", "false"]).all():
        return lower == "true"
    for kind in (pl.Int64, pl.Float64):
        numbers = bare.cast(kind, strict=False)
        if numbers.null_count() == texts.null_count() < len(texts):
            mixed = numbers.n_unique() < texts.n_unique() or texts.str.contains(_LEADING_ZERO).any()
            return texts if is_group and mixed else numbers
    return texts
