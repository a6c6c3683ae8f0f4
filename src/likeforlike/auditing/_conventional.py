"""Figures by convention of every contrast of an audit."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from likeforlike.auditing._comparisons import Chosen, chosen_contrasts
from likeforlike.auditing._tables import TableCells
from likeforlike.classical import conventions
from likeforlike.classical._conventions import Conventions, LevelConventions
from likeforlike.document._request import Roles, Settings
from likeforlike.document._results import ClassicalFigures, ClassicalLevel, LevelAudit

if TYPE_CHECKING:
    from likeforlike.auditing._contrast_audit import Examination


def classical_figures(
    contrasts: Sequence[Examination], roles: Roles, settings: Settings, table: TableCells
) -> tuple[ClassicalFigures, ...]:
    """Figures by convention of every contrast, in the same order.

    The reference of a contrast, or else its first group, is what the other is compared with.
    """
    chosen, _ = chosen_contrasts(table.cells, roles, settings.reference, settings.min_cell)
    known = {(each.columns, tuple(map(str, each.contrast.groups))): each for each in chosen}
    names = dict(zip(table.cells.levels, table.level_names, strict=True))
    return tuple(
        _figures(
            _found(known[each.columns, each.groups], settings), each.columns, each.levels, names
        )
        for each in contrasts
    )


def _found(chosen: Chosen, settings: Settings) -> Conventions:
    contrast = chosen.contrast.narrow()
    first, second = contrast.groups
    if str(second) == chosen.reference:
        first, second = second, first
    return conventions(contrast.cells, second, first, confidence=settings.confidence)


def _figures(
    found: Conventions,
    columns: tuple[str, ...],
    levels: Sequence[LevelAudit],
    names: Mapping[Hashable, str],
) -> ClassicalFigures:
    groups = str(found.group), str(found.reference)
    by_level = {entry.level: entry for entry in found.levels}
    return ClassicalFigures(
        groups=groups,
        columns=columns,
        decisions=found.decisions,
        confidence=found.confidence,
        overall=_entry(found.overall, "everybody", groups),
        levels=tuple(_entry(by_level[each.level], names[each.level], groups) for each in levels),
        mantel_haenszel=found.mantel_haenszel,
        breslow_day=found.breslow_day,
        van_elteren=found.van_elteren,
        wachter=found.wachter,
    )


def _entry(entry: LevelConventions, name: str, groups: tuple[str, str]) -> ClassicalLevel:
    return ClassicalLevel(
        name=name,
        rows=dict(zip(groups, entry.rows, strict=True)),
        mean=dict(zip(groups, entry.mean, strict=True)),
        median=dict(zip(groups, entry.median, strict=True)),
        gap=entry.gap,
        ratio=entry.ratio,
        ratio_interval=entry.ratio_interval,
        smd=entry.smd,
    )
