"""Tables of any kind become cells: pandas, polars, Arrow, DuckDB, Spark, CSV and Parquet.

Work is pushed into the engine that holds the data, through narwhals, and only what is needed comes
back: the columns named, without rows that lack a value, or, with a `resolution`, one line for each
(level, group, bin of scores) from a single `group by`. Rows with missing values are counted and
reported.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from likeforlike.cells import Cells
from likeforlike.columns import Codes, encode, numbers
from likeforlike.errors import BinnedLevelWarning, InputError
from likeforlike.files import open_file, readable
from likeforlike.transport.atoms import FloatArray, IntArray

__all__ = ["Roles", "TableCells", "read_cells"]

_BIN, _COUNT, _MASS = "likeforlike bin", "likeforlike count", "likeforlike mass"


@dataclass(frozen=True, slots=True)
class Roles:
    """Which column plays which part.

    Attributes
    ----------
    score, sensitive : one column each.
    legitimate : columns whose combinations are the levels; none means one level.
    weight : column of sample weights, or `None`.

    Examples
    --------
    >>> from likeforlike.tables import Roles
    >>> Roles("approved", "sex", ("income",)).columns
    ('approved', 'sex', 'income')
    """

    score: str
    sensitive: str
    legitimate: tuple[str, ...] = ()
    weight: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns named, each once."""
        named = (self.score, self.sensitive, *self.legitimate)
        return tuple(dict.fromkeys(named if self.weight is None else (*named, self.weight)))


@dataclass(frozen=True, slots=True)
class TableCells:
    """Cells of a table, and what happened on the way.

    Attributes
    ----------
    cells : sorted scores of every level and group.
    level_names : how to call each level in front of people, in the order of `cells.levels`.
    rows, used : rows of the table, and rows without a missing value in the columns named.
    missing : how many values each of these columns lacks.
    edges : inner edges of the bins of each binned column; a value equal to an edge lies below it.
    engine : who held the data.

    Examples
    --------
    >>> from likeforlike.datasets import load_loans
    >>> from likeforlike.tables import Roles, read_cells
    >>> table = read_cells(load_loans(1000).frame, Roles("approved", "sex", ("income",)))
    >>> table.used, table.engine, table.level_names
    (1000, 'polars', ('income high', 'income low', 'income medium'))
    """

    cells: Cells
    level_names: tuple[str, ...]
    rows: int
    used: int
    missing: dict[str, int]
    edges: dict[str, tuple[float, ...]]
    engine: str


def read_cells(
    data: Any,  # noqa: ANN401
    roles: Roles,
    *,
    bins: Mapping[str, int] | None = None,
    resolution: float | None = None,
) -> TableCells:
    """Read the cells of a table.

    Parameters
    ----------
    data : pandas, polars (eager or lazy), pyarrow, DuckDB relation, PySpark DataFrame, or a path
        to a .csv or .parquet file.
    roles : which column plays which part.
    bins : {column: how many} legitimate columns to be cut at quantiles. Ties stay together.
    resolution : width of the bins scores are rounded to by the engine; `None` keeps them exact.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.tables import Roles, read_cells
    >>> table = pl.DataFrame({"f": [0.1, None, 0.3], "sex": ["f", "m", "m"]})
    >>> found = read_cells(table, Roles("f", "sex"))
    >>> found.used, found.missing
    (2, {'f': 1, 'sex': 0})
    """
    source = open_file(data) if isinstance(data, str | Path) else data
    with readable(data):
        opened = _opened(source)
        frame, engine = opened.lazy(), str(opened.implementation)
        schema = frame.collect_schema()
        _check_columns(schema, roles, bins or {}, resolution)
        if isinstance(opened, nw.DataFrame) and len(opened) and _is_complete(opened, roles):
            rows = used = len(opened)
            missing = dict.fromkeys(roles.columns, 0)
        else:
            rows, used, missing = _count_missing(frame, schema, roles)
        complete = frame
        if used < rows:
            complete = frame.filter(*(~_is_missing(schema, column) for column in missing))
        edges = {
            column: _inner_edges(complete, column, how_many)
            for column, how_many in (bins or {}).items()
        }
        if edges:
            complete = complete.with_columns(*(_binned(c, edges[c]) for c in edges))
        if resolution is None:
            collected = complete.select(*roles.columns).collect()
        else:
            collected = _counted(complete, roles, resolution)
    level, names = _levels(collected, roles.legitimate, edges)
    cells = _cells(collected, roles, level, resolution)
    return TableCells(cells, names, rows, used, missing, edges, engine)


def _opened(source: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:  # noqa: ANN401
    try:
        frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(source)
    except TypeError as error:
        raise InputError(
            f"data must be a table (pandas, polars, pyarrow, DuckDB, PySpark) or a path, not "
            f"{type(source).__name__}."
        ) from error
    return frame


def _check_columns(
    schema: nw.Schema, roles: Roles, bins: Mapping[str, int], resolution: float | None
) -> None:
    for column in roles.columns:
        if column not in schema:
            raise InputError(f"there is no column {column!r}; the table has {schema.names()}.")
    if len(roles.columns) < 2 + len(roles.legitimate) + (roles.weight is not None):
        raise InputError("score, sensitive, legitimate and weight must be different columns.")
    for column in filter(None, (roles.score, roles.weight, *bins)):
        if column in schema and not (schema[column].is_numeric() or schema[column] == nw.Boolean):
            raise InputError(
                f"column {column!r} must hold numbers, but its type is {schema[column]}."
            )
    _check_bins(bins, roles.legitimate)
    if resolution is not None and not (np.isfinite(resolution) and resolution > 0.0):
        raise InputError(f"resolution must be more than 0, not {resolution}.")
    if resolution is not None and roles.weight is not None:
        raise InputError(
            "weight and resolution do not go together: counts cannot say which row has which "
            "weight. Leave one of them out."
        )


def _check_bins(bins: Mapping[str, int], legitimate: Sequence[str]) -> None:
    for column, how_many in bins.items():
        if column not in legitimate:
            raise InputError(f"bins names {column!r}, which is not a legitimate column.")
        if how_many < 2:
            raise InputError(f"bins must cut {column!r} into at least 2 parts, not {how_many}.")


def _is_missing(schema: nw.Schema, column: str) -> nw.Expr:
    missing = nw.col(column).is_null()
    return missing | nw.col(column).is_nan() if schema[column].is_float() else missing


def _is_complete(frame: nw.DataFrame[Any], roles: Roles) -> bool:
    """Whether a table in memory lacks nothing, which is quickly told."""
    return not any(
        column.null_count() or (column.dtype.is_float() and column.is_nan().any())
        for column in (frame[name] for name in roles.columns)
    )


def _count_missing(
    frame: nw.LazyFrame[Any], schema: nw.Schema, roles: Roles
) -> tuple[int, int, dict[str, int]]:
    """Rows of the table, rows without a missing value, and missing values by column."""
    columns = roles.columns
    lacking = [_is_missing(schema, column) for column in columns]
    complete = ~lacking[0]
    for expression in lacking[1:]:
        complete = complete & ~expression
    counts = [e.cast(nw.Int64).sum().alias(f"{_COUNT} {k}") for k, e in enumerate(lacking)]
    counted = frame.select(
        *counts, complete.cast(nw.Int64).sum().alias(_BIN), nw.len().alias(_COUNT)
    ).collect()
    *missing, used, rows = (int(number or 0) for number in counted.rows()[0])
    if used == 0:
        found = dict(zip(columns, missing, strict=True))
        raise InputError(f"no row has a value in every column; of {rows} rows missing: {found}.")
    return rows, used, dict(zip(columns, missing, strict=True))


def _inner_edges(frame: nw.LazyFrame[Any], column: str, how_many: int) -> tuple[float, ...]:
    """Quantiles of a column (linear between order statistics), from its value counts."""
    counted = frame.group_by(column).agg(nw.len().alias(_COUNT)).collect()
    values = numbers(counted[column].to_numpy(), column)
    counts = counted[_COUNT].to_numpy().astype(np.int64)
    order = np.argsort(values)
    values, cumulative = values[order], np.cumsum(counts[order])
    place = np.arange(1, how_many) / how_many * (cumulative[-1] - 1)
    below = values[np.searchsorted(cumulative, np.floor(place), side="right")]
    above = values[np.searchsorted(cumulative, np.ceil(place), side="right")]
    edges = np.unique(below + (above - below) * (place - np.floor(place)))
    warnings.warn(
        f"{column!r} was cut into {how_many} bins. People in one bin are not equal, so a test "
        "inside bins can find a disparity that is only the spread of the bin; more bins make "
        "this smaller.",
        BinnedLevelWarning,
        stacklevel=4,
    )
    return tuple(edges[edges < values[-1]].tolist())


def _binned(column: str, edges: tuple[float, ...]) -> nw.Expr:
    """Number of the bin: how many edges lie below the value."""
    if not edges:
        return (nw.col(column) != nw.col(column)).cast(nw.Int64).alias(column)
    above = ((nw.col(column) > edge).cast(nw.Int64) for edge in edges)
    return nw.sum_horizontal(*above).alias(column)


def _counted(frame: nw.LazyFrame[Any], roles: Roles, resolution: float) -> nw.DataFrame[Any]:
    """One line for each (level, group, bin of scores), by one `group by` in the engine."""
    # Multiplying, not dividing: engines disagree on the last bit of a quotient.
    which = (nw.col(roles.score).cast(nw.Float64) * (1.0 / resolution)).floor()
    keys = (*roles.legitimate, roles.sensitive, _BIN)
    grouped = (
        frame.with_columns(which.cast(nw.Int64).alias(_BIN))
        .group_by(*keys)
        .agg(nw.len().alias(_COUNT))
    )
    return grouped.collect()


def _levels(
    collected: nw.DataFrame[Any],
    legitimate: Sequence[str],
    edges: Mapping[str, tuple[float, ...]],
) -> tuple[Codes | None, tuple[str, ...]]:
    """The level of every line, and a name for each level that occurs."""
    if not legitimate:
        return None, ("everybody",)
    parts = [_codes(collected, column) for column in legitimate]
    combined = parts[0].codes
    for part in parts[1:]:
        combined = combined * len(part.labels) + part.codes
    dense = encode(combined, "levels")
    places = np.unravel_index(
        np.array(dense.labels, dtype=np.int64), [len(part.labels) for part in parts]
    )
    labels = [[part.labels[k] for k in place] for part, place in zip(parts, places, strict=True)]
    names = [
        [f"{column} {_named(label, edges.get(column))}" for label in column_labels]
        for column, column_labels in zip(legitimate, labels, strict=True)
    ]
    shown = tuple(", ".join(parts_of) for parts_of in zip(*names, strict=True))
    level_labels = tuple(labels[0]) if len(parts) == 1 else tuple(zip(*labels, strict=True))
    return Codes(dense.codes, level_labels), shown


def _codes(collected: nw.DataFrame[Any], column: str) -> Codes:
    """Codes of a categorical column; whole numbers are integers, whatever the engine says."""
    codes = encode(collected[column].to_native(), column)
    # Spark has no unsigned integers: it reads them as decimals.
    numbers = [label for label in codes.labels if isinstance(label, float | Decimal)]
    if len(numbers) == len(codes.labels) and all(number == int(number) for number in numbers):
        return Codes(codes.codes, tuple(int(number) for number in numbers))
    return codes


def _named(label: Hashable, edges: tuple[float, ...] | None) -> str:
    if edges is None or not isinstance(label, int):
        return str(label)
    if not edges:
        return "(any)"
    if label == 0:
        return f"up to {edges[0]:.4g}"
    if label == len(edges):
        return f"above {edges[-1]:.4g}"
    return f"above {edges[label - 1]:.4g} up to {edges[label]:.4g}"


def _cells(
    collected: nw.DataFrame[Any], roles: Roles, level: Codes | None, resolution: float | None
) -> Cells:
    group = _codes(collected, roles.sensitive)
    if resolution is None:
        scores = numbers(collected[roles.score].to_native(), f"column {roles.score!r}")
        weight = None if roles.weight is None else collected[roles.weight].to_native()
        _check_groups(group, scores.size, roles.sensitive)
        return Cells.from_codes(level, group, scores, sample_weight=weight)
    middles, counts = _middles(collected, resolution)
    _check_groups(group, int(counts.sum()), roles.sensitive)
    return Cells.from_codes(level, group, middles, counts=counts, resolution=resolution)


def _middles(collected: nw.DataFrame[Any], resolution: float) -> tuple[FloatArray, IntArray]:
    which = collected[_BIN].to_numpy().astype(np.float64)
    return (which + 0.5) * resolution, collected[_COUNT].to_numpy().astype(np.int64)


def _check_groups(group: Codes, rows: int, column: str) -> None:
    if len(group.labels) == 1:
        raise InputError(
            f"column {column!r} has the single value {group.labels[0]!r}; comparing needs at "
            "least two groups."
        )
    if len(group.labels) > 20 and len(group.labels) > rows // 20:
        raise InputError(
            f"column {column!r} has {len(group.labels)} different values in {rows} rows; that "
            "looks like an identifier or a number, not like groups."
        )
