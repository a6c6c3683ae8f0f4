"""Columns of a table of text, as CSV files are: which text is missing, which is a number.

Where nothing is odd a table is passed over twice. The first pass counts combinations of values,
which are few, and sees whether every number is one; the second fetches rows. Only words for missing
values, lines without anything in them and texts that are no plain numbers need another look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import narwhals as nw

from likeforlike._text import quoted
from likeforlike.auditing._missing import unknown_as_null
from likeforlike.auditing._reading import (
    COUNT,
    ReadColumns,
    all_of,
    complete_rows,
    count_rows,
    lost_by_group,
    needed,
    needed_columns,
)
from likeforlike.errors import InputError
from likeforlike.files._columns import column_key, keyed, places_of, without_repeated
from likeforlike.files._csv import NUMBER, SAY_ENCODING, TextTable, number_column, text_column
from likeforlike.files._number_texts import (
    SAY_DECIMAL,
    ReadTexts,
    decision_note,
    decision_words,
    is_ambiguous,
    read_texts,
    refuse_texts,
)

_UNREADABLE = "\ufffd"
# Rows that are looked at before all are, for one that settles how numbers are written.
_FIRST = 100


def read_text_columns(
    source: TextTable,
    named: Sequence[str],
    numbers: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    along: Sequence[str] = (),
) -> ReadColumns:
    """Read columns of text, of which some must hold numbers, or dates (`along`)."""
    options = source.options
    table: nw.LazyFrame[Any] = nw.from_native(source.table).lazy()
    texts = [text_column(place) for place in range(len(source.columns))]
    places, again = places_of(named, source.columns)
    chosen = [nw.col(text_column(place)).alias(key) for key, place in (places | again).items()]
    chosen += [
        nw.col(number_column(places[column_key(column)])).alias(_number_key(column))
        for column in numbers
    ]
    frame = _gathered(table, chosen)
    lines = _combinations(frame, named, numbers)
    if lines.filter(all_of(_lacks(column, numbers) for column in named)).shape[0]:
        # A line without anything in it is no row. To know them takes all columns.
        table = table.filter(~all_of(nw.col(name).is_null() for name in texts))
        frame = _gathered(table, chosen)
        lines = _combinations(frame, named, numbers)
    single, notes = without_repeated(frame, named, again)
    frame = plain = single.lazy()
    nulls: dict[str, dict[str | None, int]] = {}
    dates: list[str] = []
    units: dict[str, str] = {}
    for column in numbers:
        is_typed = places[column_key(column)] in source.typed
        frame, nulls[column], read = _read_numbers(
            frame,
            column,
            source,
            odd=lines[_no_number(column)].any(),
            is_typed=is_typed,
            dates=column in along,
        )
        notes += [] if read.note is None else [f"{column} {read.note}."]
        units |= {} if read.unit is None else {column: read.unit}
        dates += [column] if read.dates else []
    if frame is not plain:
        lines = _combinations(frame, named, numbers)
    for column in named:
        if column not in numbers:
            nulls[column] = _null_texts(lines, column, options.nulls)
            if table.implementation.is_pyspark():
                _refuse_foreign(lines, column)
    counted = count_rows(
        lines.lazy(),
        {c: _lacks(c, numbers, nulls.get(c)) for c in named},
        nw.col(COUNT),
        needed=needed_columns(named, sensitive),
    )
    lacking = {
        column: nw.col(_number_key(column)).is_null()
        if column in numbers
        else _lacks(column, (), nulls[column])
        for column in named
    }
    complete = complete_rows(frame, needed(lacking, sensitive), counted)
    read_as = {
        column: nw.col(_number_key(column)).alias(column_key(column))
        if column in numbers
        else keyed(column)
        for column in named
    }
    if len(sensitive) > 1:
        read_as |= zip(sensitive, unknown_as_null(lacking, sensitive), strict=True)
    return ReadColumns(
        complete.select(*read_as.values()),
        *counted,
        str(table.implementation),
        {column: words for column in named if (words := _words(nulls.get(column, {})))},
        text=True,
        lost=lost_by_group(frame, lacking, counted, sensitive),
        dates=tuple(dates),
        notes=tuple(notes),
        units=units,
    )


def _gathered(table: nw.LazyFrame[Any], chosen: Sequence[nw.Expr]) -> nw.LazyFrame[Any]:
    """The columns named. polars works in memory, so it reads them once and for all."""
    taken = table.select(*chosen)
    return taken.collect().lazy() if table.implementation.is_polars() else taken


def _number_key(column: str) -> str:
    return f"{column_key(column)}_number"


def _no_number(column: str) -> str:
    return f"{column_key(column)}_null"


def _combinations(
    frame: nw.LazyFrame[Any], named: Sequence[str], numbers: Collection[str]
) -> nw.DataFrame[Any]:
    """How often texts occur together, and with which numbers that are none."""
    keys = [
        nw.col(_number_key(c)).is_null().alias(_no_number(c)) if c in numbers else keyed(c)
        for c in named
    ]
    names = [_no_number(c) if c in numbers else column_key(c) for c in named]
    return frame.select(*keys).group_by(*names).agg(nw.len().alias(COUNT)).collect()


def _lacks(
    column: str, numbers: Collection[str], nulls: Iterable[str | None] | None = None
) -> nw.Expr:
    """Whether a combination lacks a value in a column."""
    if column in numbers:
        return nw.col(_no_number(column))
    words = [word for word in nulls or () if word is not None]
    missing = keyed(column).is_null()
    return missing | keyed(column).is_in(words) if words else missing


def _read_numbers(
    frame: nw.LazyFrame[Any],
    column: str,
    source: TextTable,
    *,
    odd: bool,
    is_typed: bool,
    dates: bool,
) -> tuple[nw.LazyFrame[Any], dict[str | None, int], ReadTexts]:
    """The table with the numbers of a column, texts that stand for missing ones, and how it went.

    Plain numbers, with spaces around them or not, are read by any engine, and so are decisions.
    Numbers as people write them are read in memory, from all texts of the column together.
    """
    decimal, nulls = source.options.decimal, source.options.nulls
    plain, in_memory = ReadTexts({}), frame.implementation.is_polars()
    if decimal == "," and not in_memory and not is_typed:
        raise InputError(
            "csv={'decimal': ','} is read by engine 'polars', not by "
            f"{frame.implementation}; leave out engine, or write decimals with a point."
        )
    if decimal != "," or is_typed:
        value = nw.col(_number_key(column))
        texts = _texts(frame.filter(value.is_null()), column) if odd else {}
        unread = {str(t): n for t, n in texts.items() if not _is_null(t, nulls)}
        if unread and (pair := decision_words(unread)) and _others_are_decisions(frame, column):
            frame = frame.with_columns(_decisions(column, pair).alias(_number_key(column)))
            return frame, _nulls_among(frame, column, nulls), ReadTexts({}, decision_note(pair))
        if unread:
            frame = frame.with_columns(_stripped(column).alias(_number_key(column)))
            texts = _texts(frame.filter(value.is_null()), column)
            unread = {str(t): n for t, n in texts.items() if not _is_null(t, nulls)}
        if not unread:
            if decimal is None and not is_typed:
                _refuse_ambiguous(frame, column)
            return frame, texts, plain
    every = _texts(frame, column)
    absent = {text: n for text, n in every.items() if _is_null(text, nulls)}
    present = {str(t): n for t, n in every.items() if t not in absent}
    read = read_texts(present, column, decimal, dates=dates)
    if not in_memory:
        _refuse_elsewhere(column, unread, frame.implementation)
    numbers = [read.values.get(text) for text in frame.collect()[column_key(column)].to_list()]
    series = nw.new_series(_number_key(column), numbers, nw.Float64, backend=frame.implementation)
    return frame.collect().with_columns(series).lazy(), absent, read


def _others_are_decisions(frame: nw.LazyFrame[Any], column: str) -> bool:
    """Whether all numbers of a column are 0 or 1, so that words among them can be decisions."""
    number = nw.col(_number_key(column))
    return not len(frame.filter((number != 0.0) & (number != 1.0)).head(1).collect())


def _decisions(column: str, pair: tuple[str, str]) -> nw.Expr:
    """Decisions in text as 1 and 0."""
    text = keyed(column).str.strip_chars().str.to_lowercase()
    yes, no = (text == word for word in pair)
    other = nw.when(text.is_in(["1", "0"])).then(text).cast(nw.Float64)
    below = nw.when(no).then(nw.lit(0.0)).otherwise(other)
    return nw.when(yes).then(nw.lit(1.0)).otherwise(below)


def _nulls_among(
    frame: nw.LazyFrame[Any], column: str, nulls: Collection[str]
) -> dict[str | None, int]:
    """Texts that are no numbers, all of which stand for missing values."""
    texts = _texts(frame.filter(nw.col(_number_key(column)).is_null()), column)
    unread = {str(t): n for t, n in texts.items() if not _is_null(t, nulls)}
    if unread:
        refuse_texts(column, unread, ())
    return texts


def _refuse_ambiguous(frame: nw.LazyFrame[Any], column: str) -> None:
    """Refuse numbers of which each is one with a decimal point, and another without it."""
    number = nw.col(_number_key(column))
    known = frame.filter(~number.is_null()).select(column_key(column))
    first = known.head(_FIRST).collect()[column_key(column)].to_list()
    if not first or not all(map(is_ambiguous, first)):
        return
    if all(is_ambiguous(text or "") for text in _texts(known, column)):
        raise InputError(
            f"column {column!r} can be read in two ways: {quoted(first[0])} is one number with a "
            f"decimal point and another if the point separates thousands, and no other value "
            f"settles it; {SAY_DECIMAL}"
        )


def _refuse_elsewhere(column: str, unread: Mapping[str, int], engine: object) -> NoReturn:
    """Refuse numbers that an engine cannot read and polars can."""
    raise InputError(
        f"column {column!r} holds numbers as people write them, such as {quoted(min(unread))}, "
        f"which {engine} does not read: leave out engine, or write plain numbers."
    )


def _texts(frame: nw.LazyFrame[Any], column: str) -> dict[str | None, int]:
    """How often a column has each of its texts."""
    key = column_key(column)
    counted = frame.group_by(key).agg(nw.len().alias(COUNT)).collect()
    return {text: int(times) for text, times in counted.select(key, COUNT).rows()}


def _null_texts(
    lines: nw.DataFrame[Any], column: str, nulls: Collection[str]
) -> dict[str | None, int]:
    """Texts of a column that stand for a missing value, and how often they do."""
    key = column_key(column)
    found = [text for text in lines[key].unique().to_list() if _is_null(text, nulls)]
    if not found:
        return {}
    those = lines.filter(_lacks(column, (), found)).group_by(key).agg(nw.col(COUNT).sum())
    return {text: int(times) for text, times in those.select(key, COUNT).rows()}


def _refuse_foreign(lines: nw.DataFrame[Any], column: str) -> None:
    """Raise on what Spark puts in the place of letters that are not UTF-8; others complain."""
    for text in lines[column_key(column)].unique().to_list():
        if text is not None and _UNREADABLE in text:
            raise InputError(
                f"column {column!r} is not utf-8, as in {quoted(text)}; {SAY_ENCODING}"
            )


def _is_null(text: str | None, nulls: Collection[str]) -> bool:
    return text is None or not text.strip() or text.strip() in nulls


def _words(texts: Mapping[str | None, int]) -> dict[str, int]:
    """Words for missing values, without the spaces around them, the most frequent first."""
    found: Counter[str] = Counter()
    for text, times in texts.items():
        if text is not None and text.strip():
            found[text.strip()] += times
    return dict(sorted(found.items(), key=lambda each: (-each[1], each[0])))


def _stripped(column: str) -> nw.Expr:
    """Plain numbers in text that may have spaces around them."""
    text = keyed(column).str.strip_chars()
    return nw.when(text.str.contains(NUMBER)).then(text).cast(nw.Float64)
