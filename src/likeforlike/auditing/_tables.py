"""Tables of any kind become cells: pandas, polars, Arrow, DuckDB, Spark, CSV and Parquet.

Work is pushed into the engine that holds the data, through narwhals, and only what is needed comes
back: the columns named, without rows that lack a value, or, with a `resolution`, one line for each
(level, group, bin of scores) from a single `group by`. Rows with missing values are counted and
reported.

A bin of scores is floor(score / width). It stays a floating-point number on its way here: engines
differ in what they do with one that is too large for a whole number, and some of them say nothing.
Where in its bin a score lies is two whole numbers, whose sums are the same in any order and on any
engine (`Cells.sums`).

A number that people are compared along is cut into fine cells by the engine. A histogram of 4,096
bins says how many rows lie where; bins that hold too much are cut again, until every one holds
little or a single value: a few passes over the column, whatever its tails, and no more memory than
the bins. Neighboring bins are then put together to cells of about equal number.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._settings import Engine, real
from likeforlike._text import quote
from likeforlike.auditing._comparisons import refuse_unhashable
from likeforlike.auditing._reading import (
    Bins,
    ReadColumns,
    bin_names,
    bin_numbers,
    calendar_name,
    check_bins,
    cut_by_calendar,
    inner_edges,
    read_columns,
    read_text_columns,
)
from likeforlike.auditing._smooth import SmoothData, check_smooth, raw_cells
from likeforlike.disparity import (
    HALF_BITS,
    Cells,
    Codes,
    combine_codes,
    encode,
    find_float_noise,
    narrow,
    numbers,
    remove_float_noise,
    replace_scores,
    weights,
    with_unknown,
)
from likeforlike.document import LostRows, Roles
from likeforlike.errors import InputError
from likeforlike.files import CsvOptions, TextTable, column_key, open_file, pick_column, readable
from likeforlike.transport import compiled

# Up to here all whole numbers are floating-point numbers too, so no two bins are one.
_MOST_BINS = 2.0**53
_HALF = 2.0**HALF_BITS
# As a share of a bin.
_HAIR = 1e-9
_INSIDE, _HIGH, _LOW = "likeforlike inside", "likeforlike high", "likeforlike low"
_SUMS = ("likeforlike sum", "likeforlike squares", "likeforlike products")


def _per_unit(resolution: float) -> float:
    """Compute how many bins there are in one unit of the score."""
    per_unit = 1.0 / resolution
    if math.isinf(per_unit):
        raise InputError(
            f"resolution={resolution:g} is too small for any score; use a larger one, or leave it "
            "out to keep scores exact."
        )
    return per_unit


def score_bins(score: str, resolution: float) -> nw.Expr:
    """Compute the bin of every score, an expression for any engine."""
    # Multiplying, not dividing: engines disagree on the last bit of a quotient. A score that lies
    # below an edge by noise of a computation belongs to it, whatever its group.
    return (pick_column(score).cast(nw.Float64) * _per_unit(resolution) + _HAIR).floor()


def with_parts(
    frame: nw.LazyFrame[Any], score: str, column: str, resolution: float
) -> nw.LazyFrame[Any]:
    """Add a column with the bin of every score, and what is to be summed inside bins."""
    frame = frame.with_columns(score_bins(score, resolution).alias(column))
    inside = pick_column(score).cast(nw.Float64) * (1.0 / resolution) - nw.col(column)
    # A score that belongs to an edge lies there. An infinite one is refused with the bins.
    held = nw.when((inside >= 0.0) & (inside < 1.0)).then(inside * _HALF).otherwise(nw.lit(0.0))
    frame = frame.with_columns(held.alias(_INSIDE))
    frame = frame.with_columns(nw.col(_INSIDE).floor().alias(_HIGH))
    low = ((nw.col(_INSIDE) - nw.col(_HIGH)) * _HALF).floor()
    frame = frame.with_columns(low.alias(_LOW))
    parts = (
        nw.col(_HIGH) * _HALF + nw.col(_LOW),
        nw.col(_HIGH) * nw.col(_HIGH),
        nw.col(_HIGH) * nw.col(_LOW),
    )
    return frame.with_columns(
        *(part.cast(nw.Int64).alias(name) for part, name in zip(parts, _SUMS, strict=True))
    )


def bin_middles(bins: npt.NDArray[Any], resolution: float) -> FloatArray:
    """Return the middle of every bin; refuse scores that the bins cannot tell apart."""
    which = bins.astype(np.float64)
    largest = float(np.abs(which).max())
    with np.errstate(over="ignore"):
        middles: FloatArray = (which + 0.5) * resolution
    if largest >= _MOST_BINS:
        raise InputError(
            f"resolution={resolution:g} is too small: scores are infinite, or lie in bins with "
            f"numbers of up to {quote(largest)}, and whole numbers end at {_MOST_BINS:g}. Use a "
            "larger one, or leave it out to keep scores exact."
        )
    if not np.isfinite(middles).all():
        raise InputError(f"resolution={resolution:g} is too large; use a smaller one.")
    return middles


@compiled
def _add_up(
    places: FloatArray, segments: IntArray, first: float, n_bins: int, sums: IntArray
) -> None:
    """Add rows and what `with_parts` lets an engine add up to sums (segments * n_bins, 4).

    Places (n,) are scores in widths of a bin. Bins begin at `first`; all above the last are in it.
    """
    for i in range(places.size):
        which = np.floor(places[i] + _HAIR)
        inside = (places[i] - which) * _HALF
        if not 0.0 <= inside < _HALF:
            inside = 0.0
        high = int(inside)
        low = int((inside - high) * _HALF)
        line = segments[i] * n_bins + min(int(which - first), n_bins - 1)
        sums[line, 0] += 1
        sums[line, 1] += (high << HALF_BITS) + low
        sums[line, 2] += high * high
        sums[line, 3] += high * low


def round_rows(level: Codes, group: Codes, scores: FloatArray, resolution: float) -> Cells:
    """Round scores of rows in memory to bins, and make cells, in one pass over the rows."""
    with np.errstate(over="ignore"):
        places = scores * _per_unit(resolution)
    ends = np.floor(np.array([places.min(), places.max()]) + _HAIR)
    bin_middles(ends, resolution)
    n_groups, n_bins = len(group.labels), int(ends[1] - ends[0]) + 1
    n_segments = len(level.labels) * n_groups
    if n_segments * n_bins > 4 * scores.size + 1024:
        # Most bins would be empty, so every row is a line.
        bins, sums = np.floor(places + _HAIR), np.zeros((scores.size, 4), np.int64)
        _add_up(places, np.arange(scores.size), float(ends[0]), 1, sums)
    else:
        sums = np.zeros((n_segments * n_bins, 4), np.int64)
        segments = level.codes.astype(np.int64) * n_groups + group.codes
        _add_up(places, segments, float(ends[0]), n_bins, sums)
        filled = np.flatnonzero(sums[:, 0])
        sums, bins = sums[filled], filled % n_bins + ends[0]
        of_level, of_group = np.divmod(filled // n_bins, n_groups)
        level, group = Codes(of_level, level.labels), Codes(of_group, group.labels)
    middles = bin_middles(bins, resolution)
    return Cells.from_codes(
        level, group, middles, counts=sums[:, 0], resolution=resolution, sums=sums[:, 1:]
    )


NUMBER_CELLS = 256
"""Into how many cells a column is cut at most."""

_BINS = 4096
_PASSES = 8
_CELL, _LOWEST, _HIGHEST, _ROWS = (f"likeforlike {name}" for name in ("bin", "low", "high", "rows"))


def number_cells(
    frame: nw.LazyFrame[Any], column: str
) -> tuple[tuple[float, ...], FloatArray, FloatArray]:
    """Cut a column into at most 256 cells of about equal number; ties stay together.

    Returns the inner edges, rising, and the lowest and the highest number of each cell. A value
    equal to an edge lies below it.
    """
    number = pick_column(column).cast(nw.Float64)
    asked = frame.select(
        number.min().alias(_LOWEST), number.max().alias(_HIGHEST), nw.len().alias(_ROWS)
    ).collect()
    low, high, rows = asked.rows()[0]
    if not math.isfinite(high - low):
        raise InputError(
            f"column {column!r} reaches from {quote(low)} to {quote(high)}, too far to be "
            "smoothed along; leave out what is no value, or divide it by 10."
        )
    # Rows, lowest and highest number of each bin, in order.
    bins = np.array([[rows], [low], [high]], np.float64)
    for _ in range(_PASSES):
        heavy = (bins[0] > rows / (4 * NUMBER_CELLS)) & (bins[1] < bins[2])
        if not heavy.any():
            break
        parts = _cut_bins(frame, column, bins[1, heavy], bins[2, heavy])
        bins = np.concatenate([bins[:, ~heavy], parts], axis=1)
        bins = bins[:, np.argsort(bins[1])]
    below = np.cumsum(bins[0]) - bins[0] / 2
    cell = np.floor(below / rows * NUMBER_CELLS).astype(np.int64)
    first = np.flatnonzero(np.r_[True, np.diff(cell) > 0])
    highest = np.maximum.reduceat(bins[2], first)
    return tuple(highest[:-1].tolist()), bins[1, first], highest


def cell_number(column: str, edges: Sequence[float]) -> nw.Expr:
    """Count how many edges lie below every value, by bisection: its cell."""
    return _bisect(column, edges, list(range(len(edges) + 1)))


def _bisect(column: str, edges: Sequence[float], leaves: Sequence[float]) -> nw.Expr:
    """Choose a leaf for every value, by comparing it with as few edges as can be."""
    if not edges:
        return nw.lit(leaves[0])
    middle = len(edges) // 2
    return (
        nw.when(pick_column(column) <= edges[middle])
        .then(_bisect(column, edges[:middle], leaves[: middle + 1]))
        .otherwise(_bisect(column, edges[middle + 1 :], leaves[middle + 1 :]))
    )


def _cut_bins(
    frame: nw.LazyFrame[Any], column: str, low: FloatArray, high: FloatArray
) -> FloatArray:
    """Cut bins into up to 4,096 parts in all: rows, lowest and highest number of each, (3, m)."""
    parts = max(2, _BINS // low.size)
    inner, lowest = high[:-1].tolist(), low.tolist()
    # Two numbers may be so close that their difference times anything is not a number of parts.
    scale = np.minimum(parts / (high - low), np.finfo(np.float64).max).tolist()
    number = pick_column(column).cast(nw.Float64)
    part = ((number - _bisect(column, inner, lowest)) * _bisect(column, inner, scale)).floor()
    # The highest value of a bin would make a part of its own.
    number_of = nw.when(part >= parts).then(nw.lit(float(parts - 1))).otherwise(part)
    base = _bisect(column, inner, [float(parts * k) for k in range(low.size)])
    inside = _bisect(
        column,
        np.stack([np.nextafter(low, -np.inf), high], axis=1).ravel().tolist(),
        [float(k % 2) for k in range(2 * low.size + 1)],
    )
    counted = (
        frame.filter(inside > 0.5)
        .with_columns((base + number_of).alias(_CELL), number.alias(_LOWEST))
        .group_by(_CELL)
        .agg(nw.len().alias(_ROWS), nw.col(_LOWEST).min().alias(_HIGHEST), nw.col(_LOWEST).max())
        .collect()
    )
    names = (_ROWS, _HIGHEST, _LOWEST)
    found = np.stack([counted[name].to_numpy().astype(np.float64) for name in names])
    ordered: FloatArray = found[:, np.argsort(found[1])]
    return ordered


_BIN, _COUNT, _WIDTH = "likeforlike bin", "likeforlike count", "likeforlike width"
# A column with more values than this may be an identifier.
_MANY = 20


@dataclass(frozen=True, slots=True)
class TableCells:
    """Cells of a table, and what happened on the way.

    Attributes
    ----------
    cells : sorted scores of every level and group. With several sensitive columns a group is a
        combination of their values, with `None` for one that is not known.
    level_names : how readers see each level, in the order of `cells.levels`.
    rows, used : rows of the table, and rows without a missing value in the columns named. With
        several sensitive columns a row may lack some of these.
    missing : how many values each of these columns lacks.
    edges : inner edges of the bins of each binned column; a value equal to an edge lies below it.
    engine : who held the data.
    nulls : {column: {word: how often}} for words of a CSV file that were taken for missing values.
    values : how many different values each legitimate column of numbers has that was not binned.
    lost : rows left out for missing values, by group; empty if there are none.
    group_rows : rows used of every group, those of weight 0 among them.
    lines : rows with the numbers that people are compared along; `None` without any.
    text : whether the table had no types, as a CSV file.
    snapped : how many different scores were taken for others, from which they differ by noise of a
        computation; an audit does so, and reading does not.
    calendar : {column: "month", "quarter" or "year"} for dates that were cut by the calendar, and
        "day" for dates that are numbers, days since 1970.
    snapped_within : up to which share of their range, or of their size, scores were taken as equal.
    notes : how columns were read where that is not plain, one sentence each.
    unit : that the scores were written with, such as "EUR" or "%"; `None` without one.
    """

    cells: Cells
    level_names: tuple[str, ...]
    rows: int
    used: int
    missing: dict[str, int]
    edges: dict[str, tuple[float, ...]]
    engine: str
    nulls: dict[str, dict[str, int]] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    lost: tuple[LostRows, ...] = ()
    group_rows: dict[Hashable, int] = field(default_factory=dict)
    lines: SmoothData | None = None
    text: bool = False
    snapped: int = 0
    snapped_within: float = 0.0
    calendar: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    unit: str | None = None

    def without_float_noise(self) -> TableCells:
        """Take scores that differ by noise of a computation as equal."""
        if self.lines is not None and self.lines.counts is None:
            scores = self.lines.scores
            changed, within = find_float_noise(scores, None, self.lines.group.codes)
            if not changed:
                return self
            lines = replace(self.lines, scores=replace_scores(scores, changed))
            cells = self.cells.with_scores(replace_scores(self.cells.atoms.values, changed))
            found = replace(self, cells=cells, lines=lines)
        else:
            cells, changed, within = remove_float_noise(self.cells)
            if not changed:
                return self
            found = replace(self, cells=cells)
        return replace(found, snapped=len(changed), snapped_within=within)


def read_cells(
    data: Any,  # noqa: ANN401
    roles: Roles,
    *,
    bins: Bins | None = None,
    smooth: Sequence[str] = (),
    windows: int | None = None,
    resolution: float | None = None,
    engine: Engine = "auto",
    options: CsvOptions | None = None,
    part: bool = False,
) -> TableCells:
    """Read the cells of a table, or of a file that an engine opens.

    Parameters
    ----------
    data : pandas, polars (eager or lazy), pyarrow, DuckDB relation, PySpark DataFrame, or a path.
    roles : which column plays which part.
    bins : {column: how many} or {column: edges}, legitimate columns to be cut, numbers or dates;
        dates also by {column: "month", "quarter" or "year"}. Ties stay together.
    smooth : legitimate columns of numbers that people are compared along instead.
    windows : into how many windows each of them is cut at most; `None` leaves it to the rows.
    resolution : width of the bins scores are rounded to by the engine; `None` keeps them exact.
    engine : who opens a file.
    options : separator, encoding and words for missing values of a CSV file.
    part : whether the table is a part of a larger one, which may hold one group only.
    """
    cuts = check_bins({} if bins is None else bins, roles.legitimate)
    _check_roles(roles)
    width = _check_resolution(resolution, roles)
    along = check_smooth(smooth, windows, cut=list(cuts), counted=width is not None)
    calendar: dict[str, str] = {c: cut for c, cut in cuts.items() if isinstance(cut, str)}
    lines_along = [c for c in (*cuts, *along) if c not in calendar]
    numeric = [c for c in (roles.score, roles.weight, *lines_along) if c is not None]
    opened = _open_data(data, engine, options, roles, numeric)
    with opened as source, readable(data):
        read = (
            read_text_columns(
                source, roles.columns, numeric, sensitive=roles.all_sensitive, along=lines_along
            )
            if isinstance(source, TextTable)
            else read_columns(
                source,
                roles.columns,
                numeric,
                sensitive=roles.all_sensitive,
                along=lines_along,
                decimal=None if options is None else options.decimal,
            )
        )
        calendar |= dict.fromkeys(read.dates, "day")
        frame, edges = read.frame, {}
        for column, cut in cuts.items():
            if isinstance(cut, str):
                frame = cut_by_calendar(frame, column, cut)
                continue
            edges[column] = inner_edges(read.frame, column, cut)
            frame = frame.with_columns(bin_numbers(column, edges[column]))
        if width is None or (read.in_memory and not along):
            collected, counts = frame.select(*map(column_key, roles.columns)).collect(), None
        else:
            collected = _count_lines(frame, roles, width, along)
            counts = collected[_COUNT].to_numpy().astype(np.int64)
    columns = [column for column in roles.legitimate if column not in along]
    parts: dict[str, Codes] = {}
    for column in columns:
        codes = _encode_level(collected, column, read.text, calendar.get(column, "day"))
        # Cells only look codes up: of many rows, eight bytes each would fill the memory.
        parts[column] = codes if along else narrow(codes)
    for column in () if part else parts.keys() - edges.keys() - calendar.keys():
        check_levels(parts[column], read.used, counts, column)
    group = _encode_groups(collected, roles, read, part=part)
    level = combine_codes(list(parts.values())) if parts else None
    if not along:
        group, level = narrow(group), None if level is None else narrow(level)
    rows = np.bincount(group.codes, counts).astype(np.int64).tolist()
    names = level_names(level, list(parts), edges, calendar)
    lines = None
    if along:
        lines = _make_lines(collected, roles, read.text, along, level, names, group, counts, width)
        lines = replace(lines, windows=windows, dates=read.dates)
        cells = raw_cells(lines)
        names = tuple(map(str, cells.levels))
    else:
        cells = _make_cells(collected, roles, read.text, level, group, counts, width)
        if level is not None:  # one whose rows all weigh nothing is no level of the cells
            name_of = dict(zip(level.labels, names, strict=True))
            names = tuple(name_of[label] for label in cells.levels)
    return TableCells(
        cells,
        names,
        read.rows,
        read.used,
        read.missing,
        edges,
        read.engine,
        read.nulls,
        {c: len(parts[c].labels) for c in parts if c not in edges and holds_numbers(parts[c])},
        read.lost,
        dict(zip(group.labels, rows, strict=True)),
        lines,
        read.text,
        calendar=calendar,
        notes=read.notes,
        unit=read.units.get(roles.score),
    )


def _open_data(
    data: Any,  # noqa: ANN401
    engine: Engine,
    options: CsvOptions | None,
    roles: Roles,
    numeric: Sequence[str],
) -> AbstractContextManager[Any]:
    """Open a file; of a table refuse what was said on reading one."""
    if isinstance(data, str | Path):
        return open_file(data, engine, options, named=roles.columns, numbers=numeric)
    name = type(data).__name__
    if engine != "auto":
        raise InputError(f"engine says who opens a file, but data is a {name}; leave it out.")
    (options or CsvOptions()).refuse(f"data is a {name}")
    return nullcontext(data)


def _encode_level(collected: nw.DataFrame[Any], column: str, text: bool, cut: str) -> Codes:
    """Encode a legitimate column; dates that were cut by the calendar are named after it."""
    if cut == "day":
        return _encode(collected, column, text)
    codes = encode(collected[column_key(column)].cast(nw.Int64).to_native(), f"column {column!r}")
    return Codes(codes.codes, tuple(calendar_name(label, cut) for label in codes.labels))


def _encode_groups(
    collected: nw.DataFrame[Any], roles: Roles, read: ReadColumns, *, part: bool
) -> Codes:
    """Encode the group of every row: its value in the sensitive column, or in all of them.

    A part of a larger table may hold one group only, and lack a sensitive column in all rows.
    """
    if not roles.also_sensitive:
        group = _encode(collected, roles.sensitive, read.text)
        if not part:
            check_groups(group, read.used, roles.sensitive)
        return group
    parts = []
    for column in roles.all_sensitive:
        values = collected[column_key(column)]
        known = ~values.is_null()
        if values.dtype.is_float():
            known = known & ~values.is_nan()
        if not known.any():
            if not part:
                refuse_unknown(column)
            parts.append(Codes(np.zeros(len(known), np.int64), (None,)))
            continue
        codes = _encode(collected.select(column_key(column)).filter(known), column, read.text)
        if not part:
            check_groups(codes, read.used, column)
        parts.append(with_unknown(codes, known.to_numpy().astype(np.bool_)))
    return combine_codes(parts)


def refuse_unknown(column: str) -> NoReturn:
    """Refuse a sensitive column without any value."""
    raise InputError(f"column {column!r} has no value in any row that can be used.")


def _check_roles(roles: Roles) -> None:
    """Refuse names that are no text, and columns that play two parts."""
    for argument, column in (
        ("score", roles.score),
        *(("sensitive", column) for column in roles.all_sensitive),
        *(("legitimate", column) for column in roles.legitimate),
        *(() if roles.weight is None else (("weight", roles.weight),)),
        *(() if roles.cluster is None else (("cluster", roles.cluster),)),
    ):
        if not isinstance(column, str):
            raise InputError(f"{argument} must be the name of a column, not {column!r}.")
    optional = (roles.weight is not None) + (roles.cluster is not None)
    asked = 1 + len(roles.all_sensitive) + len(roles.legitimate) + optional
    if len(roles.columns) < asked:
        raise InputError(
            "score, sensitive, legitimate, weight and cluster must be different columns."
        )


def _check_resolution(resolution: float | None, roles: Roles) -> float | None:
    """Return the width of bins of scores as a number, if one is asked for."""
    if resolution is None:
        return None
    width = real(resolution)
    if not 0.0 < width < math.inf:
        raise InputError(f"resolution must be more than 0, not {resolution!r}.")
    for role, column in (("weight", roles.weight), ("cluster", roles.cluster)):
        if column is not None:
            raise InputError(
                f"{role} and resolution do not go together: counts cannot say which row has which "
                f"{role}. Leave one of them out."
            )
    return width


def _count_lines(
    frame: nw.LazyFrame[Any], roles: Roles, resolution: float, along: Sequence[str]
) -> nw.DataFrame[Any]:
    """Count one line for each (level, group, bin of scores), by one `group by` in the engine.

    It says how many rows there are, and adds up where in the bin they lie. A number that people are
    compared along is replaced by the middle of its fine cell, and nothing is added up.
    """
    keys = (*map(column_key, (*roles.legitimate, *roles.all_sensitive)), _BIN)
    sums: list[nw.Expr] = []
    if along:
        key, (edges, low, high) = column_key(along[0]), number_cells(frame, along[0])
        binned = frame.with_columns(
            cell_number(along[0], edges).alias(key),
            score_bins(roles.score, resolution).alias(_BIN),
        )
    else:
        binned = with_parts(frame, roles.score, _BIN, resolution)
        sums = [nw.col(name).sum() for name in _SUMS]
    with refuse_unhashable((*roles.legitimate, *roles.all_sensitive)):
        counted = binned.group_by(*keys).agg(nw.len().alias(_COUNT), *sums).collect()
    if not along:
        return counted
    cell = counted[key].to_numpy().astype(np.int64)
    return counted.with_columns(
        nw.new_series(key, (low / 2.0 + high / 2.0)[cell], backend=counted.implementation),
        nw.new_series(_WIDTH, (high - low)[cell], backend=counted.implementation),
    )


def level_names(
    level: Codes | None,
    legitimate: Sequence[str],
    edges: Mapping[str, tuple[float, ...]],
    calendar: Mapping[str, str],
) -> tuple[str, ...]:
    """Name each level as readers see it."""
    if level is None:
        return ("everybody",)
    bins = {
        column: bin_names(inner, dates=calendar.get(column) == "day")
        for column, inner in edges.items()
    }

    def name(label: Hashable) -> str:
        values = label if len(legitimate) > 1 and isinstance(label, tuple) else (label,)
        return ", ".join(
            f"{column} {bins[column][value] if column in bins else value}"
            for column, value in zip(legitimate, values, strict=True)
        )

    return tuple(name(label) for label in level.labels)


def _encode(collected: nw.DataFrame[Any], column: str, text: bool) -> Codes:
    """Encode a categorical column; whole numbers become integers, whatever the engine says."""
    codes = encode(collected[column_key(column)].to_native(), f"column {column!r}")
    if text:
        return _parse_labels(codes)
    # Spark has no unsigned integers: it reads them as decimals.
    labels = [label for label in codes.labels if isinstance(label, float | Decimal)]
    whole = all(math.isfinite(label) and label == int(label) for label in labels)
    if len(labels) == len(codes.labels) and whole:
        return Codes(codes.codes, tuple(int(label) for label in labels))
    return codes


def _parse_labels(codes: Codes) -> Codes:
    """Parse labels of a column of text as numbers, in their order, if all are written so.

    "01" is not: it would read as 1, which may be another label.
    """
    read = [parse_exactly(label) for label in codes.labels]
    labels = [number for number in read if number is not None]
    if len(labels) < len(read):
        return codes
    order = sorted(range(len(labels)), key=labels.__getitem__)
    return Codes(np.argsort(np.array(order))[codes.codes], tuple(labels[k] for k in order))


def parse_exactly(label: Hashable) -> int | float | None:
    """Parse the number that is written exactly like this, if there is one."""
    for kind in (int, float):
        try:
            number = kind(str(label))
        except ValueError:
            continue
        # A whole number may be larger than any float, and is finite all the same.
        if str(number) == label and (kind is int or math.isfinite(number)):
            return number
    return None


def holds_numbers(part: Codes) -> bool:
    """Whether all labels are numbers, text that reads as one, or dates."""
    if any(isinstance(label, date | complex) for label in part.labels):
        return all(isinstance(label, date) for label in part.labels)
    try:
        return all(math.isfinite(float(label)) for label in part.labels)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def _numbers(collected: nw.DataFrame[Any], column: str) -> FloatArray:
    """Read a column as numbers."""
    return numbers(collected[column_key(column)].to_native(), f"column {column!r}")


def _weights(collected: nw.DataFrame[Any], column: str | None) -> FloatArray | None:
    """Read a column of weights, if there is one."""
    if column is None:
        return None
    weight = collected[column_key(column)].to_native()
    return weights(weight, f"column {column!r}", len(collected))


def _make_cells(
    collected: nw.DataFrame[Any],
    roles: Roles,
    text: bool,
    level: Codes | None,
    group: Codes,
    counts: IntArray | None,
    resolution: float | None,
) -> Cells:
    """Make cells of rows, or of counts by bin of scores."""
    if counts is None or resolution is None:
        scores = _numbers(collected, roles.score)
        if resolution is not None:
            level = level or Codes(np.zeros(scores.size, np.int8), ("all",))
            return round_rows(level, group, scores, resolution)
        weight = _weights(collected, roles.weight)
        cluster = None if roles.cluster is None else _encode(collected, roles.cluster, text)
        return Cells.from_codes(level, group, scores, sample_weight=weight, cluster=cluster)
    middles = bin_middles(collected[_BIN].to_numpy(), resolution)
    columns = [collected[name].cast(nw.Int64).to_numpy() for name in _SUMS]
    sums = np.stack(columns, axis=1).astype(np.int64)
    return Cells.from_codes(level, group, middles, counts=counts, resolution=resolution, sums=sums)


def _make_lines(
    collected: nw.DataFrame[Any],
    roles: Roles,
    text: bool,
    along: tuple[str, ...],
    level: Codes | None,
    names: tuple[str, ...],
    group: Codes,
    counts: IntArray | None,
    resolution: float | None,
) -> SmoothData:
    """Collect the lines that people are compared along, in canonical order."""
    columns = [_numbers(collected, name) for name in along]
    if counts is None or resolution is None:
        scores = _numbers(collected, roles.score)
    else:
        scores = bin_middles(collected[_BIN].to_numpy(), resolution)
    return SmoothData(
        columns=along,
        numbers=np.stack(columns, axis=1),
        category=np.zeros(len(collected), np.int64) if level is None else level.codes,
        category_names=("",) if level is None else names,
        scores=scores,
        group=group,
        counts=counts,
        weight=_weights(collected, roles.weight),
        cluster=None if roles.cluster is None else _encode(collected, roles.cluster, text),
        resolution=resolution or 0.0,
        widths=None if counts is None else collected[_WIDTH].to_numpy().astype(np.float64),
    ).canonical_order()


def check_groups(group: Codes, rows: int, column: str) -> None:
    """Refuse a sensitive column of one group, or of far too many."""
    if len(group.labels) == 1:
        raise InputError(
            f"column {column!r} has the single value {group.labels[0]!r}; a comparison needs at "
            "least two groups."
        )
    if len(group.labels) > _MANY and len(group.labels) > rows // 20:
        raise InputError(
            f"column {column!r} has {len(group.labels)} different values in {rows} rows; that "
            "looks like an identifier or a number, not like groups."
        )


def check_levels(part: Codes, rows: int, counts: IntArray | None, column: str) -> None:
    """Refuse a legitimate column in which most people have a value of their own."""
    if len(part.labels) <= max(_MANY, rows // 2):
        return
    alone = int((np.bincount(part.codes, counts) == 1).sum())
    if 2 * alone > rows and all(isinstance(label, date) for label in part.labels):
        raise InputError(
            f"column {column!r} has {len(part.labels)} different dates in {rows} rows, and {alone} "
            f"rows share theirs with no other row. Cut them by the calendar, as bins={{{column!r}: "
            f"'month'}} (--bins {column}=month) does, or compare along time, as "
            f"smooth=[{column!r}] (--smooth {column}) does."
        )
    if 2 * alone > rows:
        raise InputError(
            f"column {column!r} has {len(part.labels)} different values in {rows} rows, and "
            f"{alone} rows share theirs with no other row; that looks like an identifier or a "
            f"number, and no row has an equal there. Compare along numbers, as smooth=[{column!r}] "
            f"(--smooth {column}) does, cut them into bins, as bins={{{column!r}: 10}} "
            f"(--bins {column}=10) does, or leave the column out."
        )
