"""The key figures: what a reader takes along after half a minute."""

from __future__ import annotations

from dataclasses import dataclass

from likeforlike._text import counted
from likeforlike.document._names import OTHER_LEVELS
from likeforlike.document._results import AuditDocument, ContrastAudit
from likeforlike.report._format import (
    confidence,
    contrast_p,
    count,
    interval,
    number,
    open_interval,
    percent,
)


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """A figure in large letters.

    Attributes
    ----------
    label : what it is.
    lines : figures, and what each belongs to.
    note : what to know about it.
    """

    label: str
    lines: list[tuple[str, str]]
    note: str


def key_figures(document: AuditDocument) -> list[KeyFigure]:
    """Direction and size, certainty, distances, rows and coverage, in the order of the page."""
    contrast = document.contrasts[0]
    return [
        _gap(document, contrast),
        _estimate(contrast),
        _p_value(document, contrast),
        _distances(document, contrast),
        _rows(contrast),
        _coverage(document, contrast),
    ]


def _gap(document: AuditDocument, contrast: ContrastAudit) -> KeyFigure:
    gap, (first, second) = contrast.gap, contrast.groups
    note = f"mean of {second} minus mean of {first}"
    if gap.interval is not None:
        note = f"{confidence(gap.confidence)} interval {interval(gap.interval)}; {note}"
    unit = document.settings.unit or f"in units of {document.roles.score}"
    label = "Gap among equals" if document.roles.legitimate else "Gap"
    return KeyFigure(label, [(number(gap.value), unit)], note)


def _estimate(contrast: ContrastAudit) -> KeyFigure:
    distance = contrast.estimate
    if distance is None:
        return KeyFigure(
            "Distance, either direction", [(number(None), "")], "nothing was resampled"
        )
    note = f"{confidence(distance.confidence)} interval {open_interval(distance.interval)}"
    return KeyFigure("Distance, either direction", [(number(distance.value), "")], note)


def _p_value(document: AuditDocument, contrast: ContrastAudit) -> KeyFigure:
    if contrast.test is None:
        note = "not tested"
    else:
        permutations = contrast.test.permutations
        note = (
            f"{count(permutations)} permutations within levels"
            if permutations
            else "from the spread between rows or clusters"
        )
        if len(document.contrasts) > 1:
            note += f", adjusted for {counted(len(document.contrasts), 'contrast')}"
    return KeyFigure("p-value", [(contrast_p(contrast), "")], note)


def _distances(document: AuditDocument, contrast: ContrastAudit) -> KeyFigure:
    lines = [(number(contrast.unconditional.value), "all rows")]
    if document.roles.legitimate:
        lines.insert(0, (number(contrast.conditional.value), "among equals"))
    test = contrast.test
    note = "as observed"
    if test is not None and test.null_distance is not None:
        note += f"; chance alone gives {number(test.null_distance)}"
    return KeyFigure("Average distance", lines, note)


def _rows(contrast: ContrastAudit) -> KeyFigure:
    lines = [
        (count(rows), group) for rows, group in zip(contrast.rows, contrast.groups, strict=True)
    ]
    shown = [level for level in contrast.levels if level.name != OTHER_LEVELS]
    others = " and others" if len(shown) < len(contrast.levels) else ""
    note = f"in {counted(len(shown), 'level')}{others} where both occur"
    return KeyFigure("Rows compared", lines, note)


def _coverage(document: AuditDocument, contrast: ContrastAudit) -> KeyFigure:
    lines = [(percent(contrast.coverage[group]), group) for group in contrast.groups]
    excluded = len(contrast.excluded)
    note = f"{counted(excluded, 'level')} left out" if excluded else "no level left out"
    if excluded and document.settings.suppress_below is not None:
        note = "some levels left out"
    return KeyFigure("Coverage", lines, note)
