"""Columns of any table, found by their place: no engine ever sees a name that a user gave.

polars takes `^score$` for a pattern and `*` for all columns, Spark takes `a.b` for a field, DuckDB
and Spark take `Score` for `score`. So columns are taken by their place in the table as it was
handed over, and are called by a key from then on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import count
from typing import TYPE_CHECKING, Any

from likeforlike.errors import InputError

if TYPE_CHECKING:
    import narwhals as nw


def column_key(name: str) -> str:
    """Return the name of a column inside an engine: the same harmless word whatever the engine."""
    return "c" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def pick_column(name: str) -> nw.Expr:
    """Select a column of a table that `take_columns` made, by the name the user gave."""
    import narwhals as nw

    return nw.col(column_key(name))


def tell_apart(names: Sequence[object]) -> tuple[str, ...]:
    """Names of columns, with a number behind those that were there before."""
    apart: dict[str, None] = {}
    for each in names:
        name = str(each)
        again = (f"{name} ({k})" for k in count(2))
        apart[name if name not in apart else next(n for n in again if n not in apart)] = None
    return tuple(apart)


def find_column(name: str, names: Sequence[object], where: str | None = None) -> list[int]:
    """Places of all columns of a name; one that no column has is refused, with the nearest."""
    places = [k for k, each in enumerate(names) if each == name]
    if places:
        return places
    apart = tell_apart(names)
    if name in apart:
        return [apart.index(name)]
    near = _nearest(name, [each for each in apart if each])
    hint = "" if near is None else f"did you mean {near!r}? "
    lacks, has = ("there is no", "the table") if where is None else (f"{where} has no", "it")
    has = has.capitalize() if near is not None else has
    raise InputError(f"{lacks} column {name!r}; {hint}{has} has {list(apart)}.")


def _nearest(name: str, names: Sequence[str]) -> str | None:
    """Find the name that was probably meant: equal up to case and spaces, else most similar."""

    def bare(text: str) -> str:
        return "".join(letter for letter in text.casefold() if letter.isalnum()) or text

    same = [each for each in names if bare(each) == bare(name)]
    by_bare = {bare(each): each for each in reversed(names)}
    similar = [by_bare[each] for each in get_close_matches(bare(name), by_bare, 1, 0.7)]
    return next(iter([*same, *similar]), None)


def column_names_of(table: Any) -> list[Any]:  # noqa: ANN401
    """Names of all columns of a table, in order; some may be equal."""
    if hasattr(table, "column_names"):  # Arrow
        return list(table.column_names)
    if is_polars(table):
        return list(table.collect_schema().names())
    return list(table.columns)


def take_columns(
    table: Any,  # noqa: ANN401
    places: Mapping[str, int],
) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """Take columns by their place, each called by the key it is listed under.

    Data stay where they are; what an engine holds is not read.
    """
    import narwhals as nw

    frame: nw.DataFrame[Any] | nw.LazyFrame[Any]
    if hasattr(table, "toDF"):  # Spark
        table = table.toDF(*(f"p{k}" for k in range(len(table.columns))))
        expressions = (nw.col(f"p{k}").alias(key) for key, k in places.items())
        frame = nw.from_native(table).select(*expressions)
    elif hasattr(table, "column_names"):
        frame = nw.from_native(table.select(list(places.values())).rename_columns(list(places)))
    elif hasattr(table, "query") and hasattr(table, "project"):  # DuckDB
        every = ", ".join(f"p{k}" for k in range(len(table.columns)))
        taken = ", ".join(f"p{k} AS {key}" for key, k in places.items())
        view = "likeforlike_table"
        frame = nw.from_native(table.query(view, f"SELECT {taken} FROM {view} AS t({every})"))
    elif hasattr(table, "iloc"):  # pandas and what is like it
        columns = {key: table.iloc[:, k] for key, k in places.items()}
        frame = nw.from_native(type(table)(columns, copy=False))
    else:
        expressions = (nw.nth(k).alias(key) for key, k in places.items())
        frame = nw.from_native(table).select(*expressions)
    return frame


def is_polars(table: object) -> bool:
    """Whether a table is one of polars, without importing it."""
    return type(table).__module__.partition(".")[0] == "polars"


def places_of(
    named: Sequence[str], names: Sequence[object]
) -> tuple[dict[str, int], dict[str, int]]:
    """Places of the columns named by their keys, and those of others with the same names."""
    found = {column: find_column(column, names) for column in named}
    places = {column_key(column): first for column, (first, *_) in found.items()}
    again = {
        _duplicate_key(column, k): place
        for column, (_, *others) in found.items()
        for k, place in enumerate(others)
    }
    return places, again


def _duplicate_key(column: str, number: int) -> str:
    """Return the name inside an engine of a further column of the same name."""
    return f"{column_key(column)}_{number}"


def drop_duplicate_columns(
    frame: nw.DataFrame[Any] | nw.LazyFrame[Any], named: Sequence[str], again: Mapping[str, int]
) -> tuple[nw.DataFrame[Any] | nw.LazyFrame[Any], list[str]]:
    """One column of each name; those that occur again must hold the same, which is noted."""
    notes = []
    for column in named:
        others = [key for key in again if key.startswith(f"{column_key(column)}_")]
        for key in others:
            differ, row = _rows_that_differ(frame, column_key(column), key)
            if differ:
                where = f", the first in row {row:,}" if row is not None else ""
                raise InputError(
                    f"the table has {len(others) + 1} columns called {column!r}, which differ in "
                    f"{differ:,} rows{where}; rename all but one."
                )
        if others:
            notes.append(
                f"{len(others) + 1} columns are called {column} and hold the same values; one of "
                "them was used."
            )
    return (frame.drop(*again) if again else frame), notes


def _rows_that_differ(
    frame: nw.DataFrame[Any] | nw.LazyFrame[Any], one: str, other: str
) -> tuple[int, int | None]:
    """How many rows differ between two columns, and the first of them if rows have an order.

    Rows are counted from 1. Two missing values are equal.
    """
    import narwhals as nw

    left, right = nw.col(one), nw.col(other)
    equal = ((left == right) & ~left.is_null() & ~right.is_null()) | (
        left.is_null() & right.is_null()
    )
    flags = frame.select((nw.when(equal).then(nw.lit(0)).otherwise(nw.lit(1))).alias("differs"))
    if isinstance(flags, nw.DataFrame) or flags.implementation.is_polars():
        column = flags.lazy().collect()["differs"].to_numpy()
        return int(column.sum()), int(column.argmax()) + 1 if column.any() else None
    return int(flags.select(nw.col("differs").sum()).collect().item() or 0), None
