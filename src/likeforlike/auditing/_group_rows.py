"""Where the rows of every group are: compared, not compared, or missing. No row is dropped."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from likeforlike._text import crossed_name
from likeforlike.auditing._comparisons import Chosen
from likeforlike.auditing._contrast_audit import Examination
from likeforlike.auditing._missing import families
from likeforlike.auditing._tables import TableCells
from likeforlike.document._request import Roles
from likeforlike.document._results import GroupRows


def group_rows(
    table: TableCells,
    roles: Roles,
    chosen: Sequence[Chosen],
    examined: Sequence[Examination] = (),
) -> tuple[GroupRows, ...]:
    """The rows of every group, column after column, those of crossed columns last.

    Along numbers every two groups have windows of their own, so that only those `examined` know
    which rows were compared.
    """

    def along(columns: tuple[str, ...]) -> dict[str, int] | None:
        return None if table.lines is None else _compared_along(examined, columns)

    return tuple(
        each
        for columns in families(roles.all_sensitive)
        for each in _rows_in(columns, table, roles, chosen, along(columns))
    )


def _compared_along(examined: Sequence[Examination], columns: tuple[str, ...]) -> dict[str, int]:
    """Rows of every group in the comparison that most of them are in."""
    compared: dict[str, int] = {}
    for contrast in examined:
        for group in contrast.groups if contrast.columns == columns else ():
            rows = sum(level.rows[group] for level in contrast.levels)
            compared[group] = max(rows, compared.get(group, 0))
    return compared


def _rows_in(
    columns: tuple[str, ...],
    table: TableCells,
    roles: Roles,
    chosen: Sequence[Chosen],
    along: dict[str, int] | None,
) -> list[GroupRows]:
    compared = along
    if compared is None:
        compared = _compared([each for each in chosen if each.columns == columns])
    own = [each for each in table.lost if each.columns == columns]
    lost = {each.group: each.lost for each in own if each.group is not None}
    used = _used(columns, table, roles)
    found = []
    for name in sorted(used | lost):
        gone = lost.get(name, 0)
        rows = gone + used.get(name, 0)
        found.append(_count_rows(columns, name, rows, compared.get(name, 0), gone))
    unknown = sum(each.rows for each in own if each.group is None)
    return [*found, _count_rows(columns, None, unknown, 0, unknown)] if unknown else found


def _count_rows(
    columns: tuple[str, ...], group: str | None, rows: int, compared: int, missing: int
) -> GroupRows:
    return GroupRows(columns, group, rows, compared, rows - compared - missing, missing)


def _used(columns: tuple[str, ...], table: TableCells, roles: Roles) -> dict[str, int]:
    """Rows of every group that lack nothing."""
    places = [roles.all_sensitive.index(column) for column in columns]
    used: dict[str, int] = {}
    for group, rows in table.group_rows.items():
        values: list[Hashable] = [group]
        if roles.also_sensitive:
            assert isinstance(group, tuple)
            values = [group[place] for place in places]
        if None not in values:
            name = crossed_name(values, columns)
            used[name] = used.get(name, 0) + rows
    return used


def _compared(chosen: Sequence[Chosen]) -> dict[str, int]:
    """Rows of every group in levels where it meets one that it is compared with."""
    if not chosen:
        return {}
    cells = chosen[0].contrast.cells
    held = {}
    for position, group in enumerate(cells.groups):
        met = [each.contrast.support for each in chosen if position in each.contrast.positions]
        if met:
            somewhere = sum(met) > 0
            held[str(group)] = int(cells.counts[somewhere, position].sum())
    return held
