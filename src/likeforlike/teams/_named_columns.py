"""Columns of a file by name, whole: no row may lack a value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likeforlike.errors import InputError
from likeforlike.files._columns import column_key, find_column
from likeforlike.files._csv import CsvOptions, TextTable
from likeforlike.files._files import open_file, readable
from likeforlike.files._number_texts import read_texts

if TYPE_CHECKING:
    import polars as pl


def read_named(
    file: Path,
    names: Sequence[str],
    *,
    number: str | None = None,
    options: CsvOptions | None = None,
) -> dict[str, Any]:
    """Columns as polars series, the one that is a number as numbers, all without missing values."""
    import polars as pl

    wanted = list(dict.fromkeys(names))
    with open_file(file, "polars", options, named=wanted) as opened, readable(file):
        is_text = isinstance(opened, TextTable)
        there = opened.columns if is_text else opened.collect_schema().names()
        places = {name: find_column(name, there, str(file))[0] for name in wanted}
        table = opened.table if is_text else opened
        frame = table.select(pl.nth(k).alias(column_key(name)) for name, k in places.items())
        frame = frame.collect()
    nulls = ["", *opened.options.nulls] if is_text else []
    columns = {}
    for name in wanted:
        series = frame[column_key(name)]
        if nulls:
            series = series.set(series.str.strip_chars().is_in(nulls), None)
        if name == number and series.dtype == pl.String:
            series = _numbers(series, name, options)
        empty = series.is_null() | (series.is_nan() if series.dtype.is_float() else False)
        if empty.any():
            row = int(empty.arg_max() or 0)
            raise InputError(
                f"{name} has {int(empty.sum())} missing value(s), the first at row {row}; leave "
                "those rows out, or give them a value of their own."
            )
        columns[name] = series.alias(name)
    return columns


def _numbers(texts: pl.Series, name: str, options: CsvOptions | None) -> pl.Series:
    """The numbers in a column of text, also as people write them."""
    import polars as pl

    decimal = None if options is None else options.decimal
    counts = dict(texts.drop_nulls().value_counts().rows())
    read = read_texts(counts, name, decimal) if counts else None
    values = [None if read is None else read.values.get(text) for text in texts.to_list()]
    return pl.Series(values, dtype=pl.Float64)
