"""The columns an audit uses: what is missing, and which rows are left. The engine does the work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import and_
from typing import Any, NamedTuple

import narwhals as nw

from likeforlike._forks import refuse_polars_after_fork
from likeforlike.auditing._bins import days
from likeforlike.auditing._loose_columns import read_loose_columns
from likeforlike.auditing._missing import lost_rows, unknown_as_null
from likeforlike.document._results import LostRows
from likeforlike.errors import InputError
from likeforlike.files._columns import (
    column_key,
    column_names_of,
    is_polars,
    keyed,
    places_of,
    take_columns,
    without_repeated,
)
from likeforlike.files._number_texts import Decimal

COUNT = "likeforlike count"
"""What a column is called that says how many rows a line stands for."""


@dataclass(frozen=True, slots=True)
class ReadColumns:
    """Rows that have a value in every column asked for, and what was left out.

    Attributes
    ----------
    frame : those rows; a table in memory, or one that is not read yet.
    rows, used : rows of the table, and rows in `frame`.
    missing : how many values each column lacks.
    engine : who holds the data.
    nulls : {column: {word: how often}} for words that were taken for a missing value.
    text : whether the table had no types, as a CSV file.
    lost : rows left out, by group, if they were asked for.
    dates : columns of dates that became numbers, days since 1970.
    notes : how columns were read where that is not plain, one sentence each.
    units : {column: unit} for columns whose numbers were written with one.
    in_memory : whether the rows are.
    """

    frame: nw.LazyFrame[Any]
    rows: int
    used: int
    missing: dict[str, int]
    engine: str
    nulls: dict[str, dict[str, int]] = field(default_factory=dict)
    text: bool = False
    lost: tuple[LostRows, ...] = ()
    dates: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    units: dict[str, str] = field(default_factory=dict)
    in_memory: bool = False


class Counted(NamedTuple):
    """Rows, rows that lack nothing, and missing values by column."""

    rows: int
    used: int
    missing: dict[str, int]


def read_columns(
    source: Any,  # noqa: ANN401
    named: Sequence[str],
    numbers: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    along: Sequence[str] = (),
    decimal: Decimal | None = None,
) -> ReadColumns:
    """Read columns of a table with types, of which some must hold numbers, or dates (`along`).

    Columns are called by their keys in the frame. Rows that are left out are counted by the values
    of the sensitive columns. With several of these a row may lack some of them: it has a group in
    the others.
    """
    opened, notes = _opened(source, named)
    engine = str(opened.implementation)
    texts = read_loose_columns(opened, named, numbers, along, decimal)
    opened, schema = texts.frame, texts.frame.collect_schema()
    # Dates are numbers along time; a score or a weight is none.
    dates = tuple(c for c in along if schema[column_key(c)] in (nw.Date, nw.Datetime))
    if dates:
        opened = opened.with_columns(*(days(c, schema[column_key(c)]) for c in dates))
        schema = opened.collect_schema()
    made = partial(
        ReadColumns,
        engine=engine,
        nulls=texts.nulls,
        dates=(*dates, *texts.dates),
        notes=(*notes, *texts.notes),
        units=texts.units,
        in_memory=isinstance(opened, nw.DataFrame),
    )
    frame = opened.lazy()
    if isinstance(opened, nw.DataFrame) and len(opened) and _is_complete(opened, named):
        missing = dict.fromkeys(named, 0)
        return made(frame, len(opened), len(opened), missing)
    lacking = {column: _is_missing(schema, column) for column in named}
    counted = count_rows(frame, lacking, needed=needed_columns(named, sensitive))
    lost = lost_by_group(frame, lacking, counted, sensitive)
    complete = complete_rows(frame, needed(lacking, sensitive), counted)
    if len(sensitive) > 1:
        complete = complete.with_columns(*unknown_as_null(lacking, sensitive))
    return made(complete, *counted, lost=lost)


def _opened(
    source: Any,  # noqa: ANN401
    named: Sequence[str],
) -> tuple[nw.DataFrame[Any] | nw.LazyFrame[Any], list[str]]:
    """The columns named, called by their keys, and what is to be said about them."""
    if is_polars(nw.to_native(source, pass_through=True)):
        refuse_polars_after_fork()
    try:
        names = column_names_of(source)
        places, again = places_of(named, names)
        frame = take_columns(source, {**places, **again})
    except (AttributeError, TypeError) as error:
        raise InputError(
            f"data must be a table (pandas, polars, pyarrow, DuckDB, PySpark) or a path, not "
            f"{type(source).__name__}."
        ) from error
    return without_repeated(frame, named, again)


def _is_missing(schema: nw.Schema, column: str) -> nw.Expr:
    missing = keyed(column).is_null()
    return missing | keyed(column).is_nan() if schema[column_key(column)].is_float() else missing


def _is_complete(frame: nw.DataFrame[Any], named: Sequence[str]) -> bool:
    """Whether a table in memory lacks nothing, which is quickly seen."""
    return not any(
        column.null_count() or (column.dtype.is_float() and column.is_nan().any())
        for column in (frame[column_key(name)] for name in named)
    )


def needed_columns(named: Sequence[str], sensitive: Sequence[str]) -> list[str]:
    """Columns without which a row says nothing; of several sensitive columns none is."""
    return [name for name in named if len(sensitive) < 2 or name not in sensitive]


def needed(lacking: Mapping[str, nw.Expr], sensitive: Sequence[str]) -> dict[str, nw.Expr]:
    """What is missing, of the columns without which a row says nothing."""
    return {name: lacking[name] for name in needed_columns(list(lacking), sensitive)}


def count_rows(
    frame: nw.LazyFrame[Any],
    lacking: Mapping[str, nw.Expr],
    times: nw.Expr | None = None,
    *,
    needed: Sequence[str],
) -> Counted:
    """Count what is missing; with `times` a line stands for as many rows."""
    asked = [*lacking.values(), all_of(~lacking[name] for name in needed)]
    rows = nw.lit(1) if times is None else times
    sums = [(each.cast(nw.Int64) * rows).sum() for each in asked]
    sums.append(nw.len() if times is None else times.sum())
    counted = frame.select(*(each.alias(f"{COUNT} {k}") for k, each in enumerate(sums))).collect()
    *lacked, used, whole = (int(number or 0) for number in counted.rows()[0])
    missing = dict(zip(lacking, lacked, strict=True))
    if used == 0:
        raise InputError(f"no row has a value in every column; of {whole} rows missing: {missing}.")
    return Counted(whole, used, missing)


def complete_rows(
    frame: nw.LazyFrame[Any], lacking: Mapping[str, nw.Expr], counted: Counted
) -> nw.LazyFrame[Any]:
    """The rows that lack nothing."""
    if counted.used == counted.rows:
        return frame
    return frame.filter(all_of(~each for each in lacking.values()))


def lost_by_group(
    frame: nw.LazyFrame[Any],
    lacking: Mapping[str, nw.Expr],
    counted: Counted,
    sensitive: Sequence[str],
) -> tuple[LostRows, ...]:
    """Rows that are left out, by group."""
    if not sensitive or not any(counted.missing.values()):
        return ()
    return lost_rows(frame, sensitive, lacking)


def all_of(expressions: Iterable[nw.Expr]) -> nw.Expr:
    """Whether all hold."""
    return reduce(and_, expressions)
