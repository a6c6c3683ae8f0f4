"""Figures by convention as text: one line a convention, tables by level and by contrast."""

from __future__ import annotations

from dataclasses import dataclass

from likeforlike.classical import NOTES
from likeforlike.classical._local_law_144 import Category
from likeforlike.document._results import (
    AuditDocument,
    ClassicalFigures,
    ClassicalLevel,
    ContrastAudit,
)
from likeforlike.report._format import (
    NONE,
    count,
    interval,
    number,
    open_interval,
    p_equals,
    p_value,
    percent,
)

Row = list[str]


@dataclass(frozen=True, slots=True)
class Convention:
    """One convention.

    Attributes
    ----------
    title, figure : what it is called, and its value.
    says, misleads : what it tells, and where it misleads.
    """

    title: str
    figure: str
    says: str
    misleads: str


def convention_lines(document: AuditDocument) -> list[Convention]:
    """The conventions of the first contrast, next to the transport estimate."""
    if not document.classical:
        return []
    part, contrast = document.classical[0], document.contrasts[0]
    overall = part.overall
    figures = {
        "gap": f"{number(overall.gap)} overall{_among_equals(document, part, contrast)}",
        "ratio": _with_interval(overall.ratio, overall.ratio_interval, "overall"),
        "smd": "" if overall.smd is None else f"{number(overall.smd)} overall",
        "mantel_haenszel": _mantel_haenszel(part),
        "breslow_day": _breslow_day(part),
        "van_elteren": _van_elteren(part),
        "wachter": "" if part.wachter is None else number(part.wachter),
        "transport": _transport(contrast),
    }
    return [
        Convention(NOTES[name].title, figure, NOTES[name].says, NOTES[name].misleads)
        for name, figure in figures.items()
        if figure
    ]


def _among_equals(document: AuditDocument, part: ClassicalFigures, contrast: ContrastAudit) -> str:
    """The gap within levels, if there are any, with the sign of the convention."""
    if not document.roles.legitimate:
        return ""
    same = part.groups[0] == contrast.groups[1]
    gap = contrast.gap.value if same else -contrast.gap.value
    return f", {number(gap)} among equals"


def _with_interval(value: float | None, ends: tuple[float, float] | None, where: str) -> str:
    if value is None:
        return ""
    return f"{number(value)} {where}" + (f" ({interval(ends)})" if ends else "")


def _mantel_haenszel(part: ClassicalFigures) -> str:
    found = part.mantel_haenszel
    if found is None or found.p_value is None:
        return ""
    odds = _with_interval(found.odds_ratio, found.interval, "odds ratio")
    return f"{odds}{', ' if odds else ''}{p_equals(found.p_value)}"


def _breslow_day(part: ClassicalFigures) -> str:
    found = part.breslow_day
    if found is None:
        return ""
    chi = f"χ² {number(found.statistic)} with {count(found.degrees)} degrees of freedom"
    return f"{chi}, {p_equals(found.p_value)}"


def _van_elteren(part: ClassicalFigures) -> str:
    found = part.van_elteren
    if found is None or found.p_value is None:
        return ""
    return f"z {number(found.z)}, {p_equals(found.p_value)}"


def _transport(contrast: ContrastAudit) -> str:
    distance = contrast.estimate
    if distance is None:
        return f"{number(contrast.conditional.value)} as observed"
    return f"{number(distance.value)} ({open_interval(distance.interval)})"


def level_convention_rows(document: AuditDocument, most: int) -> list[Row]:
    """By cell the rows, mean or rate and median; by level the gap, ratio and standardized one."""
    if not document.classical:
        return []
    part = document.classical[0]
    return [_level_row(entry, part) for entry in (part.overall, *part.levels[:most])]


def _level_row(entry: ClassicalLevel, part: ClassicalFigures) -> Row:
    of = percent if part.decisions else number
    groups = part.groups
    return [
        entry.name,
        " and ".join(count(entry.rows[group]) for group in groups),
        " and ".join(of(entry.mean[group]) for group in groups),
        " and ".join(number(entry.median[group]) for group in groups),
        number(entry.gap),
        number(entry.ratio),
        interval(entry.ratio_interval),
        number(entry.smd),
    ]


def contrast_convention_rows(document: AuditDocument) -> list[Row]:
    """The same conventions of every contrast, one row each."""
    return [_contrast_row(part) for part in document.classical]


def _contrast_row(part: ClassicalFigures) -> Row:
    overall, odds, ranks = part.overall, part.mantel_haenszel, part.van_elteren
    return [
        " compared with ".join(part.groups),
        number(overall.gap),
        number(overall.ratio),
        interval(overall.ratio_interval),
        number(overall.smd),
        number(None if odds is None else odds.odds_ratio),
        NONE if odds is None else p_value(odds.p_value),
        NONE if ranks is None else p_value(ranks.p_value),
        number(part.wachter),
    ]


def category_rows(document: AuditDocument) -> list[Row]:
    """The summary of Local Law 144, one row a category."""
    return [_category_row(part) for part in document.local_law_144]


def _category_row(part: Category) -> Row:
    return [
        f"{' × '.join(part.columns)}: {part.category or 'unknown'}",
        count(part.rows),
        percent(part.share),
        percent(part.rate),
        NONE if part.ratio is None else f"{part.ratio:.2f}",
        "below 2%" if part.small and part.category is not None else "",
    ]


def group_rows(document: AuditDocument) -> list[Row]:
    """Where the rows of every group are."""
    return [
        [
            f"{' × '.join(part.columns)}: {part.group or 'unknown'}",
            *(count(n) for n in (part.rows, part.compared, part.not_compared, part.missing)),
        ]
        for part in document.data.groups
    ]
