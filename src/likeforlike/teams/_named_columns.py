"""Columns of a file by name, whole: no row may lack a value."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from likeforlike.errors import InputError
from likeforlike.files._csv import CsvOptions, TextTable, number_column
from likeforlike.files._files import open_file, readable


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
    opened = open_file(file, "polars", options, named=wanted, numbers=[number] if number else ())
    with readable(file):
        table = opened.table if isinstance(opened, TextTable) else opened
        there = table.collect_schema().names()
        lacking = next((name for name in wanted if name not in there), None)
        if lacking is not None:
            raise InputError(f"{file} has no column {lacking!r}; it has {list(there)}.")
        nulls = ["", *opened.nulls] if isinstance(opened, TextTable) else []
        read = {name: number_column(name) if name == number and nulls else name for name in wanted}
        frame = table.select(list(read.values())).collect()
    columns = {}
    for name, stored in read.items():
        series = frame[stored]
        if nulls and series.dtype == pl.String:
            series = series.set(series.is_in(nulls), None)
        empty = series.is_null() | (series.is_nan() if series.dtype.is_float() else False)
        if empty.any():
            row = int(empty.arg_max() or 0)
            raise InputError(
                f"{name} has {int(empty.sum())} missing value(s), the first at row {row}; leave "
                "those rows out, or give them a value of their own."
            )
        columns[name] = series
    return columns
