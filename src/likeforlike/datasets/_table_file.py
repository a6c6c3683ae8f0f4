"""A file of a user's own as a table with types, for models that need to know what is a number."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from likeforlike.errors import InputError
from likeforlike.files._columns import find_column, tell_apart
from likeforlike.files._csv import CsvOptions, TextTable, text_column
from likeforlike.files._files import open_file, readable
from likeforlike.files._number_texts import Decimal, are_numbers, decision_words, read_texts

_LEADING_ZERO = r"^\s*[+-]?0[0-9]"


class FileTable(NamedTuple):
    """A table that was read from a file.

    Attributes
    ----------
    frame : its rows.
    nulls : {column: {word: how often}} for words that were taken for a missing value.
    notes : how columns were read where that is not plain, one sentence each.
    """

    frame: pl.DataFrame
    nulls: dict[str, dict[str, int]]
    notes: tuple[str, ...] = ()


def read_table(
    path: str | Path,
    options: CsvOptions | None = None,
    *,
    named: Sequence[str] = (),
    groups: Collection[str] = (),
) -> FileTable:
    """Read a file whole.

    In a CSV or Excel file a column is one of numbers if all its values are, also as people write
    them. A column of `groups` is so only if no two of them are the same number, so that 01 and 1
    stay apart. Of columns with one name and the same values, one is taken.
    """
    with open_file(path, "polars", options, named=named) as source, readable(path):
        if not isinstance(source, TextTable):
            return FileTable(source.collect(), {})
        whole = source.table.collect()
    options = source.options
    # A line without anything in it is no row.
    whole = whole.filter(~pl.all_horizontal(pl.all().is_null()))
    columns: list[pl.Series] = []
    nulls: dict[str, dict[str, int]] = {}
    notes: list[str] = []
    for place, name in _single(whole, source.columns, named, notes):
        column = whole[text_column(place)]
        bare = column.str.strip_chars()
        words = bare.filter(bare.is_in(list(options.nulls)))
        if len(words):
            nulls[name] = dict(words.value_counts(sort=True).rows())
        present = column.set(bare.is_in(["", *options.nulls]), None)
        plain = place in source.typed
        typed = _typed(present, name, options.decimal, notes, name in groups, plain=plain)
        columns.append(typed.alias(name))
    return FileTable(pl.DataFrame(columns), nulls, tuple(notes))


def _single(
    whole: pl.DataFrame, columns: Sequence[str], named: Sequence[str], notes: list[str]
) -> list[tuple[int, str]]:
    """Place and name of every column, without those that repeat another of the same name."""
    for name in named:
        find_column(name, columns)
    found: list[tuple[int, str]] = []
    first: dict[str, int] = {}
    repeated: dict[str, int] = {}
    for place, (name, apart) in enumerate(zip(columns, tell_apart(columns), strict=True)):
        before = first.setdefault(name, place)
        if before == place:
            found.append((place, apart))
            continue
        differ = whole[text_column(before)].ne_missing(whole[text_column(place)])
        if not differ.any():
            repeated[name] = repeated.get(name, 1) + 1
        elif name in named:
            raise InputError(
                f"the table has {columns.count(name)} columns called {name!r}, which differ in "
                f"{int(differ.sum()):,} rows, the first in row {int(differ.arg_max() or 0) + 1:,}; "
                "rename all but one."
            )
        else:
            found.append((place, apart))
    notes += [
        f"{times} columns are called {name} and hold the same values; one of them was used."
        for name, times in repeated.items()
    ]
    return found


def _typed(
    texts: pl.Series,
    name: str,
    decimal: Decimal | None,
    notes: list[str],
    is_group: bool,
    *,
    plain: bool,
) -> pl.Series:
    """A column of text as numbers or truth values, if all of it is."""
    bare = texts.str.strip_chars()
    lower = bare.str.to_lowercase()
    if texts.null_count() < len(texts) and lower.drop_nulls().is_in(["true", "false"]).all():
        return lower == "true"
    for kind in (pl.Int64, pl.Float64) if plain or decimal != "," else ():
        numbers = bare.cast(kind, strict=False)
        if numbers.null_count() == texts.null_count() < len(texts):
            mixed = numbers.n_unique() < texts.n_unique() or texts.str.contains(_LEADING_ZERO).any()
            return texts if is_group and mixed else numbers
    return texts if is_group else _as_people_write(texts, name, decimal, notes)


def _as_people_write(
    texts: pl.Series, name: str, decimal: Decimal | None, notes: list[str]
) -> pl.Series:
    """The numbers in a column, if all texts are numbers in one way; else the texts."""
    counts = dict(texts.drop_nulls().value_counts().rows())
    if not counts or not are_numbers(counts) or decision_words(counts):
        return texts
    read = read_texts(counts, name, decimal)
    if read.note is not None:
        notes.append(f"{name} {read.note}.")
    return pl.Series([read.values.get(text) for text in texts.to_list()], dtype=pl.Float64)
