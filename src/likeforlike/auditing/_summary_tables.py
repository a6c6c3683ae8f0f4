"""Tables of several summaries as one: labels, names and counts as all rows together have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from decimal import Decimal

import numpy as np

from likeforlike._text import crossed_name
from likeforlike.auditing._missing import families
from likeforlike.auditing._tables import (
    TableCells,
    check_groups,
    check_levels,
    holds_numbers,
    level_names,
    number_in,
    refuse_unknown,
)
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Codes, encode_labels
from likeforlike.document._request import Roles
from likeforlike.document._results import LostRows

Labels = tuple[Hashable, ...]
Convert = Callable[[Hashable], Hashable]


def merged_table(tables: Sequence[TableCells], roles: Roles) -> TableCells:
    """The table of all rows."""
    text = any(table.text for table in tables)
    alike = _one_kind([table.cells for table in tables], text=text)
    first, *others = alike
    merged = replace(
        tables[0],
        cells=first.merge(*others),
        rows=sum(table.rows for table in tables),
        used=sum(table.used for table in tables),
        missing={
            column: sum(table.missing[column] for table in tables) for column in tables[0].missing
        },
        engine=", ".join(dict.fromkeys(table.engine for table in tables)),
        nulls=_added_words(tables),
        lost=_added_lost(tables, alike, roles),
        group_rows=_added_groups(tables, alike),
        text=text,
        notes=tuple(dict.fromkeys(note for table in tables for note in table.notes)),
    )
    return retold(merged, roles)


def retold(table: TableCells, roles: Roles) -> TableCells:
    """The same table with what its labels tell: names of levels, and how many values there are."""
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
    for place, column in enumerate(roles.all_sensitive):
        known = {_values(group, roles)[place]: None for group in table.cells.groups}
        known.pop(None, None)
        if not known:
            refuse_unknown(column)
        check_groups(Codes(np.arange(len(known)), tuple(known)), table.used, column)


def _values(group: Hashable, roles: Roles) -> tuple[Hashable, ...]:
    """The values of a group in the sensitive columns."""
    return group if roles.also_sensitive and isinstance(group, tuple) else (group,)


def _level_columns(cells: Cells, roles: Roles) -> dict[str, Codes]:
    """The value of every level in each legitimate column."""
    if len(roles.legitimate) < 2:
        return {column: encode_labels(cells.levels, column) for column in roles.legitimate}
    values = zip(*(label for label in cells.levels if isinstance(label, tuple)), strict=True)
    return {
        column: encode_labels(labels, column)
        for column, labels in zip(roles.legitimate, values, strict=True)
    }


def _one_kind(parts: Sequence[Cells], *, text: bool) -> list[Cells]:
    """Cells whose labels have the types that a table of all rows would give them.

    A day may hold whole numbers only, or only numbers where others hold words.
    """
    levels = _harmonized([cells.levels for cells in parts], text=text)
    groups = _harmonized([cells.groups for cells in parts], text=text)
    clusters = _harmonized([cells.cluster_labels for cells in parts], text=text)
    return [
        replace(cells, levels=levels[k], groups=groups[k], cluster_labels=clusters[k])
        for k, cells in enumerate(parts)
    ]


def _harmonized(parts: Sequence[Labels], *, text: bool) -> list[Labels]:
    """Labels of several summaries with one type in every column."""
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
    """How a label of a column is read once all labels of the column are known."""
    known = [label for label in labels if label is not None]
    if text:
        number = all(number_in(str(label)) is not None for label in known)
        read: Convert = (lambda label: number_in(str(label))) if number else str
        return _unless_unknown(read)
    if any(isinstance(each, bool) for each in known):
        return _unless_unknown(lambda label: label)
    if all(isinstance(each, int | float) for each in known):
        # Whole numbers are integers where all are whole.
        broken = any(isinstance(each, float) and not each.is_integer() for each in known)
        return _unless_unknown(float) if broken else _unless_unknown(lambda label: label)
    if all(isinstance(each, int | Decimal) for each in known):
        return _unless_unknown(Decimal)
    return _unless_unknown(lambda label: label)


def _unless_unknown(read: Callable[..., Hashable]) -> Convert:
    """Leave alone what is not known."""
    return lambda label: None if label is None else read(label)


def _added_words(tables: Sequence[TableCells]) -> dict[str, dict[str, int]]:
    """Words that were read as missing values, the most frequent first."""
    columns = dict.fromkeys(column for table in tables for column in table.nulls)
    order = [column for column in tables[0].missing if column in columns]
    added: dict[str, Counter[str]] = {column: Counter() for column in order}
    for table in tables:
        for column, words in table.nulls.items():
            added[column].update(words)
    return {
        column: dict(sorted(words.items(), key=lambda each: (-each[1], each[0])))
        for column, words in added.items()
    }


def _added_groups(tables: Sequence[TableCells], alike: Sequence[Cells]) -> dict[Hashable, int]:
    """Rows used of every group, by the labels that all summaries share."""
    added: Counter[Hashable] = Counter()
    for table, cells in zip(tables, alike, strict=True):
        for own, shared in zip(table.cells.groups, cells.groups, strict=True):
            added[shared] += table.group_rows[own]
    return dict(added)


def _added_lost(
    tables: Sequence[TableCells], alike: Sequence[Cells], roles: Roles
) -> tuple[LostRows, ...]:
    """Rows left out by group, those of unknown group last; nothing if no group lost any."""
    if not any(table.lost for table in tables):
        return ()
    return tuple(
        lost
        for columns in families(roles.all_sensitive)
        for lost in _added_lost_in(columns, tables, alike, roles)
    )


def _added_lost_in(
    columns: tuple[str, ...], tables: Sequence[TableCells], alike: Sequence[Cells], roles: Roles
) -> list[LostRows]:
    """The same for the groups of one sensitive column, or of all of them crossed."""
    rows: Counter[str | None] = Counter()
    lost: Counter[str | None] = Counter()
    for table, cells in zip(tables, alike, strict=True):
        names = {
            _name(own, columns, roles): _name(shared, columns, roles)
            for own, shared in zip(table.cells.groups, cells.groups, strict=True)
        }
        found = [each for each in table.lost if each.columns == columns]
        for each in found if table.lost else _complete(columns, table, roles):
            # A group that lost all rows is in no cell.
            name = names.get(each.group, each.group)
            rows[name] += each.rows
            lost[name] += each.lost
    known = sorted(group for group in rows if group is not None)
    order: list[str | None] = [*known, *([None] if rows[None] else [])]
    return [LostRows(group, rows[group], lost[group], columns) for group in order]


def _complete(columns: tuple[str, ...], table: TableCells, roles: Roles) -> list[LostRows]:
    """The groups of a table that lacks nothing."""
    return [
        LostRows(_name(group, columns, roles), rows, 0) for group, rows in table.group_rows.items()
    ]


def _name(group: Hashable, columns: tuple[str, ...], roles: Roles) -> str | None:
    """What the group is called by some of the sensitive columns; `None` if it lacks one."""
    values = _values(group, roles)
    own = [values[roles.all_sensitive.index(column)] for column in columns]
    return None if None in own else crossed_name(own, columns)
