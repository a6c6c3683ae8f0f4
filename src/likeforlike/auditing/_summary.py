"""Summaries: what an audit needs of a table, in a file that others can be merged with.

A day, a region or a machine is counted where its rows are. What leaves is one line for each (level,
group, bin of scores); many of these files together give the audit of all their rows, to the last
bit: labels, names and counts of a merged table are those that all rows together have.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from likeforlike._settings import Engine
from likeforlike.auditing._audit import Audit
from likeforlike.auditing._audit_table import audit_cells, column_names
from likeforlike.auditing._comparisons import families, name_group
from likeforlike.auditing._reading import Bins, Calendar
from likeforlike.auditing._tables import (
    TableCells,
    check_groups,
    check_levels,
    holds_numbers,
    level_names,
    parse_exactly,
    read_cells,
    refuse_unknown,
)
from likeforlike.disparity import Cells, Codes, encode_labels
from likeforlike.document import LostRows, Roles, Settings
from likeforlike.errors import InputError
from likeforlike.files import csv_options

Labels = tuple[Hashable, ...]
Convert = Callable[[Hashable], Hashable]


def merge_tables(tables: Sequence[TableCells], roles: Roles) -> TableCells:
    """Merge the tables of parts into the table of all rows."""
    text = any(table.text for table in tables)
    parts = _align_label_types([table.cells for table in tables], text=text)
    first, *others = parts
    group_rows: Counter[Hashable] = Counter()
    words: dict[str, Counter[str]] = {}
    for table, cells in zip(tables, parts, strict=True):
        for own, shared in zip(table.cells.groups, cells.groups, strict=True):
            group_rows[shared] += table.group_rows[own]
        for column, counts in table.nulls.items():
            words.setdefault(column, Counter()).update(counts)
    merged = replace(
        tables[0],
        cells=first.merge(*others),
        rows=sum(table.rows for table in tables),
        used=sum(table.used for table in tables),
        missing={
            column: sum(table.missing[column] for table in tables) for column in tables[0].missing
        },
        engine=", ".join(dict.fromkeys(table.engine for table in tables)),
        # Words that were read as missing values, the most frequent first.
        nulls={
            column: dict(sorted(words[column].items(), key=lambda each: (-each[1], each[0])))
            for column in tables[0].missing
            if column in words
        },
        lost=_merge_lost(tables, parts, roles),
        group_rows=dict(group_rows),
        text=text,
        notes=tuple(dict.fromkeys(note for table in tables for note in table.notes)),
    )
    return refresh_metadata(merged, roles)


def refresh_metadata(table: TableCells, roles: Roles) -> TableCells:
    """Derive names of levels and numbers of values anew from the labels of a table."""
    levels = Codes(np.empty(0, np.int64), table.cells.levels) if roles.legitimate else None
    columns = _level_columns(table.cells, roles)
    return replace(
        table,
        level_names=level_names(levels, roles.legitimate, table.edges, table.calendar),
        values={
            column: len(codes.labels)
            for column, codes in columns.items()
            if column not in {*table.edges, *table.calendar} and holds_numbers(codes)
        },
    )


def check_table(table: TableCells, roles: Roles) -> None:
    """Refuse what no audit can compare, as it is refused in a table of rows."""
    rows_of_level = table.cells.counts.sum(axis=1)
    for column, codes in _level_columns(table.cells, roles).items():
        if column not in {*table.edges, *table.calendar}:
            check_levels(codes, table.used, rows_of_level, column)
    groups = table.cells.groups
    for place, column in enumerate(roles.all_sensitive):
        values = [
            group[place] if roles.also_sensitive and isinstance(group, tuple) else group
            for group in groups
        ]
        known = dict.fromkeys(value for value in values if value is not None)
        if not known:
            refuse_unknown(column)
        check_groups(Codes(np.arange(len(known)), tuple(known)), table.used, column)


def _level_columns(cells: Cells, roles: Roles) -> dict[str, Codes]:
    """Encode the value of every level in each legitimate column."""
    if len(roles.legitimate) < 2:
        return {column: encode_labels(cells.levels, column) for column in roles.legitimate}
    values = zip(*(label for label in cells.levels if isinstance(label, tuple)), strict=True)
    return {
        column: encode_labels(labels, column)
        for column, labels in zip(roles.legitimate, values, strict=True)
    }


def _align_label_types(parts: Sequence[Cells], *, text: bool) -> list[Cells]:
    """Give labels of cells the types that a table of all rows would give them.

    A day may hold whole numbers only, or only numbers where others hold words.
    """
    levels = _harmonize_labels([cells.levels for cells in parts], text=text)
    groups = _harmonize_labels([cells.groups for cells in parts], text=text)
    clusters = _harmonize_labels([cells.cluster_labels for cells in parts], text=text)
    return [
        replace(cells, levels=levels[k], groups=groups[k], cluster_labels=clusters[k])
        for k, cells in enumerate(parts)
    ]


def _harmonize_labels(parts: Sequence[Labels], *, text: bool) -> list[Labels]:
    """Give labels of several summaries one type in every column."""
    flat = [label for labels in parts for label in labels]
    if flat and all(isinstance(label, tuple) for label in flat):
        columns = zip(*(label for label in flat if isinstance(label, tuple)), strict=True)
        converts = [_convert(column, text=text) for column in columns]
        return [
            tuple(
                tuple(convert(value) for convert, value in zip(converts, label, strict=True))
                for label in labels
                if isinstance(label, tuple)
            )
            for labels in parts
        ]
    convert = _convert(flat, text=text)
    return [tuple(map(convert, labels)) for labels in parts]


def _convert(labels: Sequence[Hashable], *, text: bool) -> Convert:
    """Choose how a label of a column is read once all labels of the column are known."""
    known = [label for label in labels if label is not None]
    read: Callable[..., Hashable] = _keep
    if text:
        numbers = all(parse_exactly(str(label)) is not None for label in known)
        read = (lambda label: parse_exactly(str(label))) if numbers else str
    elif any(isinstance(each, bool) for each in known):
        pass
    elif all(isinstance(each, int | float) for each in known):
        # Whole numbers are integers where all are whole.
        broken = any(isinstance(each, float) and not each.is_integer() for each in known)
        read = float if broken else _keep
    elif all(isinstance(each, int | Decimal) for each in known):
        read = Decimal
    return lambda label: None if label is None else read(label)


def _keep(label: Hashable) -> Hashable:
    return label


def _merge_lost(
    tables: Sequence[TableCells], parts: Sequence[Cells], roles: Roles
) -> tuple[LostRows, ...]:
    """Add up rows left out by group, those of unknown group last; nothing if no group lost any."""
    if not any(table.lost for table in tables):
        return ()
    every, merged = roles.all_sensitive, []
    for columns in families(every):
        rows: Counter[str | None] = Counter()
        lost: Counter[str | None] = Counter()
        for table, cells in zip(tables, parts, strict=True):
            names = {
                name_group(own, columns, every): name_group(shared, columns, every)
                for own, shared in zip(table.cells.groups, cells.groups, strict=True)
            }
            found = [each for each in table.lost if each.columns == columns]
            if not table.lost:  # a table that lacks nothing
                found = [
                    LostRows(name_group(group, columns, every), n, 0)
                    for group, n in table.group_rows.items()
                ]
            for each in found:
                # A group that lost all rows is in no cell.
                name = names.get(each.group, each.group)
                rows[name] += each.rows
                lost[name] += each.lost
        order: list[str | None] = [*sorted(group for group in rows if group is not None)]
        order += [None] if rows[None] else []
        merged += [LostRows(group, rows[group], lost[group], columns) for group in order]
    return tuple(merged)


# Lines that are read before they are merged.
_WAITING_LINES = 1_000_000
# What a summary keeps of a table with its cells; the rest follows from the labels.
_KEPT = (
    *("rows", "used", "missing", "edges", "engine", "nulls", "text", "calendar", "notes", "unit"),
)


@dataclass(frozen=True, slots=True)
class Part:
    """What a summary was made of.

    Attributes
    ----------
    name : what the part is called, such as "monday"; `None` if not given.
    fingerprint : of its cells.
    """

    name: str | None
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Summary:
    """Cells of a table with the roles of its columns, to be written, merged and audited.

    Attributes
    ----------
    roles : which column plays which part.
    table : cells, rows and missing values.
    dataset : name of the data set it is of; `None` if not given.
    parts : what it was made of, one entry for every summary that was merged.

    Examples
    --------
    >>> from likeforlike.auditing import summarize
    >>> from likeforlike.datasets import make_loans
    >>> loans = make_loans(2000).frame
    >>> roles = {"score": "score", "sensitive": "sex", "legitimate": "income"}
    >>> monday = summarize(loans[:1000], **roles, resolution=0.01)
    >>> tuesday = summarize(loans[1000:], **roles, resolution=0.01)
    >>> both = monday.merge(tuesday)
    >>> both.table.rows, len(both.parts)
    (2000, 2)
    >>> both.audit(permutations=99).gate(0.9)
    'pass'
    """

    roles: Roles
    table: TableCells
    dataset: str | None
    parts: tuple[Part, ...]

    def write(self, path: str | Path) -> None:
        """Write the summary to a Parquet file, whole or not at all; `Cells.read` reads it, too.

        Parameters
        ----------
        path : of the file, by custom with the ending .cells.
        """
        about = {
            "roles": asdict(self.roles),
            "table": {name: getattr(self.table, name) for name in _KEPT},
            "lost": [asdict(each) for each in self.table.lost],
            "group_rows": [self.table.group_rows[group] for group in self.table.cells.groups],
            "dataset": self.dataset,
            "parts": [asdict(part) for part in self.parts],
        }
        self.table.cells.write(path, about=about)

    @classmethod
    def read(cls, path: str | Path, *more: str | Path) -> Summary:
        """Read summaries; several are merged.

        Parameters
        ----------
        path, more : of the files.
        """
        merged, *waiting = [_read(path)]
        for each in more:
            waiting.append(_read(each))
            # Lines of the same cell and bin become one, so that a year needs no more than a month.
            if sum(map(_count_lines, waiting)) > max(_WAITING_LINES, _count_lines(merged)):
                merged, waiting = merged.merge(*waiting), []
        return merged.merge(*waiting) if waiting else merged

    def merge(self, *others: Summary) -> Summary:
        """Merge summaries into one of all rows; refuse those of other roles, bins or data sets.

        Parameters
        ----------
        others : summaries of other rows of the same data set.
        """
        summaries = (self, *others)
        for other in others:
            _refuse_other(self, other)
        parts = tuple(part for each in summaries for part in each.parts)
        _refuse_twice(parts)
        table = merge_tables([each.table for each in summaries], self.roles)
        return Summary(self.roles, table, self.dataset, parts)

    def audit(self, **arguments: object) -> Audit:
        """Audit all rows behind the summary.

        Parameters
        ----------
        arguments : of `audit`. Settings are taken; roles and resolution may be named again, and
            must be those of the summary; how to read a file can no longer be said.
        """
        # Numbers to compare along are not in a summary.
        known = {field.name for field in fields(Settings)} - {"smooth", "windows"}
        besides = arguments.keys() & {"progress", "salt"}
        self._refuse_other_roles(
            {name: arguments[name] for name in arguments.keys() - known - besides}
        )
        chosen = {name: arguments[name] for name in arguments.keys() & known}
        settings = Settings(**chosen)  # type: ignore[arg-type]  # each is checked there
        check_table(self.table, self.roles)
        return audit_cells(
            self.roles,
            settings,
            self.table,
            cast("Callable[[int], None] | None", arguments.get("progress")),
            cast("str | None", arguments.get("salt")),
        )

    def _refuse_other_roles(self, given: Mapping[str, object]) -> None:
        """Refuse what was said about columns and bins, unless the summary has just that."""
        own: dict[str, object] = {
            **_by_argument(self.roles),
            "resolution": self.table.cells.resolution or None,
            "bins": {
                **self.table.edges,
                **{c: cut for c, cut in self.table.calendar.items() if cut != "day"},
            },
        }
        for name in sorted(given):
            if name not in own:
                raise InputError(f"{name} cannot be said of a summary; leave it out.")
            if not alike(given[name], own[name]):
                raise InputError(
                    f"{name} is {own[name]!r} in the summary, not {given[name]!r}; summarize the "
                    "rows again."
                )


def summarize(
    data: object,
    *,
    score: str,
    sensitive: str | Sequence[str],
    legitimate: str | Sequence[str] | None = (),
    bins: Bins | None = None,
    resolution: float | None = None,
    dataset: str | None = None,
    part: str | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    engine: Engine = "auto",
    csv: Mapping[str, object] | None = None,
) -> Summary:
    """Summarize a table for an audit, where its rows are.

    With several sensitive columns every combination of their values is counted, so that the audit
    can ask about each of them and about all of them crossed.

    Parameters
    ----------
    data, score, sensitive, legitimate, weight, cluster : as for `audit`.
    bins : {column: edges}; quantiles would cut every part elsewhere, so that parts do not merge.
    resolution : width of the bins of scores. Without it every score that occurs is kept.
    dataset : name of the data set; summaries of another one do not merge with this.
    part : what these rows are called, such as "monday", so that none is merged twice.
    engine, csv : as for `audit`.

    Examples
    --------
    >>> import tempfile
    >>> from likeforlike.auditing import Summary, summarize
    >>> from likeforlike.datasets import load_loans
    >>> loans = load_loans(1000).frame
    >>> roles = {"score": "approved", "sensitive": "sex", "legitimate": "income"}
    >>> file = f"{tempfile.mkdtemp()}/monday.cells"
    >>> summarize(loans, **roles, part="monday").write(file)
    >>> Summary.read(file).audit(permutations=99).gate(0.05)
    'fail'
    """
    first, *others = column_names(sensitive, "sensitive")
    levels = column_names(legitimate, "legitimate")
    roles = Roles(score, first, levels, weight, cluster, tuple(others))
    options = csv_options(csv)
    # A part may hold one group only, or every row in a level of its own.
    table = read_cells(
        data, roles, bins=bins, resolution=resolution, engine=engine, options=options, part=True
    )
    return Summary(roles, table, dataset, (Part(part, table.cells.fingerprint),))


def alike(given: object, own: object) -> bool:
    """Whether two values say the same: a list and a tuple, or one column by itself."""
    if isinstance(given, Mapping) and isinstance(own, Mapping):
        return given.keys() == own.keys() and all(alike(given[name], own[name]) for name in own)
    one, other = (
        [each] if isinstance(each, str) else list(each) if isinstance(each, list | tuple) else each
        for each in (given, own)
    )
    return one == other or (given in (None, ()) and own in (None, (), ""))


def _read(path: str | Path) -> Summary:
    """Read one summary, and check what the file says of its cells."""
    cells, about = Cells.read_about(path)
    try:
        roles = Roles(**{name: _tuple(each) for name, each in about["roles"].items()})
        kept = dict(about["table"])
        table = TableCells(
            cells=cells,
            level_names=(),
            rows=_count(kept["rows"]),
            used=_count(kept["used"]),
            missing={_text(column): _count(n) for column, n in kept["missing"].items()},
            edges={column: _edges(edges) for column, edges in kept["edges"].items()},
            engine=_text(kept["engine"]),
            nulls={
                _text(column): {_text(word): _count(n) for word, n in words.items()}
                for column, words in kept["nulls"].items()
            },
            lost=tuple(
                LostRows(**{name: _tuple(value) for name, value in each.items()})
                for each in about["lost"]
            ),
            group_rows=dict(zip(cells.groups, map(_count, about["group_rows"]), strict=True)),
            text=bool(kept["text"]),
            calendar={c: _calendar(part) for c, part in kept.get("calendar", {}).items()},
            notes=tuple(_text(note) for note in kept.get("notes", ())),
            unit=_text_or_none(kept.get("unit")),
        )
        parts = tuple(
            Part(_text_or_none(each["name"]), _text(each["fingerprint"])) for each in about["parts"]
        )
        _check_about(table, roles)
        return Summary(
            roles, refresh_metadata(table, roles), _text_or_none(about["dataset"]), parts
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise InputError(
            f"{path} holds cells, but no summary of a table; likeforlike summarize writes one."
        ) from error


def _check_about(table: TableCells, roles: Roles) -> None:
    """Raise if what a file says of its cells cannot be: it may have been changed."""
    single = (roles.score, roles.sensitive)
    several = (roles.legitimate, roles.also_sensitive)
    optional = [each for each in (roles.weight, roles.cluster) if each is not None]
    if not all(isinstance(each, tuple) for each in several):
        raise TypeError("several columns are no list")
    for column in (*single, *roles.legitimate, *roles.also_sensitive, *optional):
        _text(column)
    asked = 1 + len(roles.all_sensitive) + len(roles.legitimate) + len(optional)
    known = set(roles.columns)
    if len(known) < asked or table.missing.keys() != known or table.used > table.rows:
        raise ValueError("columns or rows do not fit")
    if not {*table.edges, *table.calendar} <= set(roles.legitimate):
        raise ValueError("a column was cut that is not legitimate")
    if not set(table.nulls) <= known or sum(table.group_rows.values()) > table.used:
        raise ValueError("rows of groups do not fit")
    for labels, width in (
        (table.cells.levels, len(roles.legitimate)),
        (table.cells.groups, len(roles.all_sensitive)),
    ):
        if width > 1 and any(not isinstance(k, tuple) or len(k) != width for k in labels):
            raise ValueError("labels do not fit their columns")
    for lost in table.lost:
        _check_lost(lost, roles)


def _check_lost(lost: LostRows, roles: Roles) -> None:
    _text_or_none(lost.group)
    if _count(lost.lost) > _count(lost.rows) or not lost.rows:
        raise ValueError("more rows are lost than there are")
    if lost.columns not in families(roles.all_sensitive):
        raise ValueError("rows are lost in columns that are not sensitive")


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**63:
        raise ValueError("a count is none")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a name is none")
    return value


def _text_or_none(value: object) -> str | None:
    return None if value is None else _text(value)


def _edges(values: Sequence[float]) -> tuple[float, ...]:
    edges = tuple(float(value) for value in values if type(value) in (int, float))
    if len(edges) != len(values) or list(edges) != sorted(set(edges)):
        raise ValueError("edges do not rise")
    if not all(math.isfinite(edge) for edge in edges):
        raise ValueError("an edge is infinite")
    return edges


def _calendar(part: object) -> str:
    if part not in ("day", *get_args(Calendar)):
        raise ValueError("no part of a calendar")
    return str(part)


def _tuple(plain: Any) -> Any:  # noqa: ANN401
    """Convert a plain value to a field of a dataclass."""
    return tuple(plain) if isinstance(plain, list) else plain


def _count_lines(summary: Summary) -> int:
    return summary.table.cells.atoms.values.size


def _refuse_other(first: Summary, other: Summary) -> None:
    """Refuse a summary that cannot be merged with the first."""
    for what, mine, theirs in (
        ("data set", first.dataset, other.dataset),
        ("resolution", first.table.cells.resolution, other.table.cells.resolution),
        *(
            (f"{name} column", mine, _by_argument(other.roles)[name])
            for name, mine in _by_argument(first.roles).items()
        ),
        ("edges of bins", first.table.edges, other.table.edges),
        ("calendar", first.table.calendar, other.table.calendar),
        ("unit", first.table.unit, other.table.unit),
    ):
        if mine != theirs:
            names = [part.name for part in other.parts if part.name is not None]
            which = f" ({', '.join(names[:3])})" if names else ""
            raise InputError(
                f"summaries of another {what} do not merge: {mine!r} and {theirs!r}{which}. "
                "Summarize both by the same options (--resolution, --bins, ...)."
            )


def _by_argument(roles: Roles) -> dict[str, object]:
    """List the roles by the names of the arguments that give them."""
    given: dict[str, object] = asdict(roles)
    if given.pop("also_sensitive"):
        given["sensitive"] = roles.all_sensitive
    return given


def _refuse_twice(parts: Sequence[Part]) -> None:
    """Refuse to count rows twice."""
    seen: set[Hashable] = set()
    for part in parts:
        if part.name is not None and part.name in seen:
            raise InputError(f"the part {part.name!r} is there twice; its rows would count twice.")
        if (part.name, part.fingerprint) in seen:
            raise InputError(
                "two summaries have the same scores in every cell, so the same rows would count "
                "twice. If they are other rows, say so by their names: part='monday' (--part)."
            )
        seen |= {part.name, (part.name, part.fingerprint)}
