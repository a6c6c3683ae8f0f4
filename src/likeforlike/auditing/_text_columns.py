"""Columns of a table of text, as CSV files are: which text is missing, which is a number.

Where nothing is odd a table is passed over twice. The first pass counts combinations of values,
which are few, and sees whether every number is one; the second fetches rows. Only words for missing
values, lines without anything in them and texts that are no numbers need another look.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw

from likeforlike.auditing._missing import unknown_as_null
from likeforlike.auditing._reading import (
    COUNT,
    ReadColumns,
    all_of,
    check_columns,
    complete_rows,
    count_rows,
    lost_by_group,
    needed,
    needed_columns,
)
from likeforlike.errors import InputError
from likeforlike.files._csv import NUMBER, SAY_ENCODING, TextTable, number_column

# How many of the values that are no numbers an error shows.
_SHOWN = 3
_UNREADABLE = "\ufffd"
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]*,[0-9]+")


def read_text_columns(
    source: TextTable,
    named: Sequence[str],
    numbers: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
) -> ReadColumns:
    """Read columns of text, of which some must hold numbers."""
    table: nw.LazyFrame[Any] = nw.from_native(source.table).lazy()
    parsed = [number_column(column) for column in numbers]
    columns = [name for name in table.collect_schema().names() if name not in parsed]
    check_columns(named, columns)
    values = {column: nw.col(number_column(column)) for column in numbers}
    frame = _gathered(table, named, numbers)
    lines = _combinations(frame, named, values)
    if lines.filter(all_of(_lacks(column, values) for column in named)).shape[0]:
        # A line without anything in it is no row. To know them takes all columns.
        table = table.filter(~all_of(nw.col(name).is_null() for name in columns))
        frame = _gathered(table, named, numbers)
        lines = _combinations(frame, named, values)
    nulls = {}
    for column in numbers:
        if lines[_no_number(column)].any():
            values[column], nulls[column] = _read_numbers(frame, column, source.nulls)
    if nulls:
        lines = _combinations(frame, named, values)
    for column in named:
        if column not in values:
            nulls[column] = _null_texts(lines, column, source.nulls)
            if table.implementation.is_pyspark():
                _refuse_foreign(lines, column)
    counted = count_rows(
        lines.lazy(),
        {c: _lacks(c, values, nulls.get(c)) for c in named},
        nw.col(COUNT),
        needed=needed_columns(named, sensitive),
    )
    lacking = {
        column: values[column].is_null() if column in values else _lacks(column, {}, nulls[column])
        for column in named
    }
    complete = complete_rows(frame, needed(lacking, sensitive), counted)
    read = {column: values.get(column, nw.col(column)).alias(column) for column in named}
    if len(sensitive) > 1:
        read |= zip(sensitive, unknown_as_null(lacking, sensitive), strict=True)
    return ReadColumns(
        complete.select(*read.values()),
        *counted,
        str(table.implementation),
        {column: words for column in named if (words := _words(nulls.get(column, {})))},
        text=True,
        lost=lost_by_group(frame, lacking, counted, sensitive),
    )


def _gathered(
    table: nw.LazyFrame[Any], named: Sequence[str], numbers: Sequence[str]
) -> nw.LazyFrame[Any]:
    """The columns named. polars works in memory, so it reads them once and for all."""
    chosen = table.select(*named, *map(number_column, numbers))
    return chosen.collect().lazy() if table.implementation.is_polars() else chosen


def _no_number(column: str) -> str:
    return f"likeforlike null {column}"


def _combinations(
    frame: nw.LazyFrame[Any], named: Sequence[str], values: Mapping[str, nw.Expr]
) -> nw.DataFrame[Any]:
    """How often texts occur together, and beside which numbers that are none."""
    keys = [values[c].is_null().alias(_no_number(c)) if c in values else nw.col(c) for c in named]
    names = [_no_number(c) if c in values else c for c in named]
    return frame.select(*keys).group_by(*names).agg(nw.len().alias(COUNT)).collect()


def _lacks(
    column: str, values: Collection[str], nulls: Iterable[str | None] | None = None
) -> nw.Expr:
    """Whether a combination lacks a value in a column."""
    if column in values:
        return nw.col(_no_number(column))
    words = [word for word in nulls or () if word is not None]
    missing = nw.col(column).is_null()
    return missing | nw.col(column).is_in(words) if words else missing


def _read_numbers(
    frame: nw.LazyFrame[Any], column: str, nulls: Collection[str]
) -> tuple[nw.Expr, dict[str | None, int]]:
    """The numbers in a column, and the texts that stand for missing ones."""
    value = nw.col(number_column(column))
    texts = _texts(frame.filter(value.is_null()), column)
    if any(not _is_null(text, nulls) for text in texts):
        value = _forgiving(column)
        texts = _texts(frame.filter(value.is_null()), column)
        _refuse(column, {str(t): n for t, n in texts.items() if not _is_null(t, nulls)})
    return value, texts


def _texts(frame: nw.LazyFrame[Any], column: str) -> dict[str | None, int]:
    """How often a column has each of its texts."""
    counted = frame.group_by(column).agg(nw.len().alias(COUNT)).collect()
    return {text: int(times) for text, times in counted.select(column, COUNT).rows()}


def _null_texts(
    lines: nw.DataFrame[Any], column: str, nulls: Collection[str]
) -> dict[str | None, int]:
    """Texts of a column that stand for a missing value, and how often they do."""
    found = [text for text in lines[column].unique().to_list() if _is_null(text, nulls)]
    if not found:
        return {}
    those = lines.filter(_lacks(column, (), found)).group_by(column).agg(nw.col(COUNT).sum())
    return {text: int(times) for text, times in those.select(column, COUNT).rows()}


def _refuse_foreign(lines: nw.DataFrame[Any], column: str) -> None:
    """Raise on what Spark puts in the place of letters that are not UTF-8; others complain."""
    for text in lines[column].unique().to_list():
        if text is not None and _UNREADABLE in text:
            raise InputError(f"column {column!r} is not utf-8, as in {text!r}; {SAY_ENCODING}")


def _is_null(text: str | None, nulls: Collection[str]) -> bool:
    return text is None or not text.strip() or text.strip() in nulls


def _words(texts: Mapping[str | None, int]) -> dict[str, int]:
    """Words for missing values, without the spaces around them, the most frequent first."""
    found: Counter[str] = Counter()
    for text, times in texts.items():
        if text is not None and text.strip():
            found[text.strip()] += times
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def _forgiving(column: str) -> nw.Expr:
    """Numbers in text that has spaces around them, or truth values in their place."""
    text = nw.col(column).str.strip_chars().str.to_lowercase()
    for word, number in (("true", "1"), ("false", "0")):
        text = nw.when(text == word).then(nw.lit(number)).otherwise(text)
    return nw.when(text.str.contains(NUMBER)).then(text).cast(nw.Float64)


def _refuse(column: str, unread: Mapping[str, int]) -> None:
    """Raise if a column holds what is neither a number nor a missing value, and show some of it."""
    if not unread:
        return
    shown = ", ".join(repr(text) for text in sorted(unread)[:_SHOWN])
    what_to_do = (
        "Write decimals with a point."
        if all(_DECIMAL_COMMA.fullmatch(text.strip()) for text in unread)
        else "If that is a missing value, say so: null_values=[...] (--null-value)."
    )
    raise InputError(
        f"column {column!r} must hold numbers, but {sum(unread.values()):,} of its values are "
        f"none: {shown}{', ...' if len(unread) > _SHOWN else ''}. {what_to_do}"
    )
