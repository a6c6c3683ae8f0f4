"""Figures by convention of an audit: computed when somebody asks, and as plain values."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

from likeforlike.auditing._comparisons import Chosen, chosen_contrasts
from likeforlike.auditing._settings import Settings
from likeforlike.auditing._tables import Roles, TableCells
from likeforlike.classical import (
    BreslowDay,
    Category,
    Conventions,
    LevelConventions,
    MantelHaenszel,
    VanElteren,
    conventions,
)
from likeforlike.document._convention_types import (
    BreslowDayPart,
    CategoryPart,
    ConventionalPart,
    ConventionsPart,
    MantelHaenszelPart,
    VanElterenPart,
)

if TYPE_CHECKING:
    from likeforlike.auditing._contrast_audit import ContrastAudit


def audit_conventions(
    contrasts: Sequence[ContrastAudit], roles: Roles, settings: Settings, table: TableCells
) -> tuple[Conventions, ...]:
    """Figures by convention of every contrast, in the same order.

    The reference of a contrast, or else its first group, is what the other is set beside.
    """
    chosen, _ = chosen_contrasts(table.cells, roles, settings.reference, settings.min_cell)
    known = {(each.columns, tuple(map(str, each.contrast.groups))): each for each in chosen}
    return tuple(
        _figures(known[contrast.columns, contrast.groups], settings) for contrast in contrasts
    )


def _figures(chosen: Chosen, settings: Settings) -> Conventions:
    contrast = chosen.contrast.narrow()
    first, second = contrast.groups
    if str(second) == chosen.reference:
        first, second = second, first
    return conventions(contrast.cells, second, first, confidence=settings.confidence)


def conventions_part(
    found: Conventions, contrast: ContrastAudit, names: Mapping[Hashable, str]
) -> ConventionsPart:
    """Figures by convention as plain values, levels in the order of the contrast."""
    groups = str(found.group), str(found.beside)
    by_level = {entry.level: entry for entry in found.levels}
    odds, homogeneous, ranks = found.mantel_haenszel, found.breslow_day, found.van_elteren
    return {
        "groups": list(groups),
        "columns": list(contrast.columns),
        "decisions": found.decisions,
        "confidence": found.confidence,
        "overall": _entry(found.overall, "everybody", groups),
        "levels": [
            _entry(by_level[level.level], names[level.level], groups) for level in contrast.levels
        ],
        "mantel_haenszel": None if odds is None else _odds(odds),
        "breslow_day": None if homogeneous is None else _homogeneous(homogeneous),
        "van_elteren": None if ranks is None else _ranks(ranks),
        "wachter": found.wachter,
    }


def _entry(entry: LevelConventions, name: str, groups: tuple[str, str]) -> ConventionalPart:
    return {
        "name": name,
        "rows": dict(zip(groups, entry.rows, strict=True)),
        "mean": dict(zip(groups, entry.mean, strict=True)),
        "median": dict(zip(groups, entry.median, strict=True)),
        "gap": entry.gap,
        "ratio": entry.ratio,
        "ratio_interval": None if entry.ratio_interval is None else list(entry.ratio_interval),
        "smd": entry.smd,
    }


def _odds(found: MantelHaenszel) -> MantelHaenszelPart:
    return {
        "odds_ratio": found.odds_ratio,
        "interval": None if found.interval is None else list(found.interval),
        "statistic": found.statistic,
        "p_value": found.p_value,
    }


def _homogeneous(found: BreslowDay) -> BreslowDayPart:
    return {"statistic": found.statistic, "degrees": found.degrees, "p_value": found.p_value}


def _ranks(found: VanElteren) -> VanElterenPart:
    return {"z": found.z, "p_value": found.p_value}


def category_part(category: Category) -> CategoryPart:
    """A line of the summary of Local Law 144 as plain values."""
    return {
        "columns": list(category.columns),
        "category": category.category,
        "rows": category.rows,
        "share": category.share,
        "rate": category.rate,
        "ratio": category.ratio,
        "small": category.small,
    }
