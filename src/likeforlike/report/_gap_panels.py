"""Gaps of the same levels in several audits: a panel each, in one order and along one scale."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from likeforlike.document._types import AuditFigures, LevelPart
from likeforlike.report import _svg as svg
from likeforlike.report._axes import axis_across, upright
from likeforlike.report._format import (
    count,
    decimals,
    fixed,
    interval,
    number,
    p_value,
    shortened,
)
from likeforlike.report._scale import Scale, ticks

SHOWN = 12
"""At most so many levels are drawn."""

_WIDTH, _HEAD, _ROW, _FOOT = 440.0, 30.0, 50.0, 26.0
# An adjusted p-value up to this is marked, as in the chart of one audit.
_EVIDENCE = 0.05


def gap_panels(sides: Sequence[tuple[str, AuditFigures]]) -> list[Markup]:
    """Gap by level with intervals, one panel an audit."""
    names = [level["name"] for level in sides[0][1]["contrasts"][0]["levels"][:SHOWN]]
    drawn = []
    for _, document in sides:
        levels = {level["name"]: level for level in document["contrasts"][0]["levels"]}
        drawn.append([levels[name] for name in names])
    scale = _scale([level for levels in drawn for level in levels])
    return [
        _panel(title, document, levels, scale)
        for (title, document), levels in zip(sides, drawn, strict=True)
    ]


def _scale(levels: Sequence[LevelPart]) -> Scale:
    """Hold every gap and the intervals of levels that are not thin, on both sides of 0."""
    bounds = [0.0, *(level["gap"] for level in levels)]
    for level in [level for level in levels if not level["thin"]] or levels:
        bounds += level["gap_interval"] or ()
    low, high = min(bounds), max(bounds)
    widest = max(high, -low) or 1.0
    low, high = min(low, -0.3 * widest), max(high, 0.3 * widest)
    room = 0.03 * (high - low)
    return Scale(low - room, high + room, 4.0, _WIDTH - 4.0)


def _panel(title: str, document: AuditFigures, levels: Sequence[LevelPart], scale: Scale) -> Markup:
    first, second = document["contrasts"][0]["groups"]
    height = _HEAD + _ROW * len(levels) + _FOOT
    head = [
        svg.text(0.0, 14.0, f"← {shortened(first, 12)} scores higher", class_="a word"),
        svg.text(_WIDTH, 14.0, f"{shortened(second, 12)} scores higher →", class_="b word end"),
    ]
    rows = [_row(level, scale, _HEAD + _ROW * k) for k, level in enumerate(levels)]
    score = document["roles"]["score"]
    figures = "; ".join(_told(level, (first, second)) for level in levels)
    return svg.chart(
        "panel",
        f"Gap by level: {title}",
        f"Mean {score} of {second} minus that of {first}. {figures}.",
        (_WIDTH, height),
        *head,
        _axis(scale, len(levels)),
        *rows,
    )


def _axis(scale: Scale, rows: int) -> Markup:
    """Lines of the axis run beside the intervals only, where they cross no words."""
    middles = [_HEAD + _ROW * k + 33.0 for k in range(rows)]
    stretches = [(middle - 10.0, middle + 10.0) for middle in middles]
    values, below = ticks(scale.low, scale.high, 5), _HEAD + _ROW * rows + 16.0
    marks = axis_across(values, scale, stretches, below=below, room=(0.0, _WIDTH))
    return svg.group(*marks, upright(scale(0.0), stretches, class_="zero"))


def _row(level: LevelPart, scale: Scale, top: float) -> Markup:
    gap, bounds = level["gap"], level["gap_interval"]
    color = "b" if gap > 0.0 else "a" if gap < 0.0 else "c"
    places = decimals((scale.low, scale.high))
    figure, middle = fixed(gap, places), top + 33.0
    pieces = [
        svg.line(0.0, top, _WIDTH, top, class_="rule"),
        svg.text(0.0, top + 17.0, shortened(level["name"], 26), class_="name", full=level["name"]),
    ]
    if bounds is not None:
        figure += f"  [{', '.join(fixed(bound, places) for bound in bounds)}]"
        dashed = " dashed" if level["thin"] else ""
        low, high = (scale.clipped(bound) for bound in bounds)
        pieces.append(svg.line(low, middle, high, middle, class_=f"{color} span{dashed}"))
    marked = level["p_adjusted"] is not None and level["p_adjusted"] <= _EVIDENCE
    if marked:
        pieces.append(svg.diamond(scale(gap), middle, 6.5, class_=f"{color} full"))
    else:
        pieces.append(svg.circle(scale(gap), middle, 4.5, class_=f"{color} hollow"))
    return svg.group(*pieces, svg.text(_WIDTH, top + 17.0, figure, class_="figure end"))


def _told(level: LevelPart, groups: Sequence[str]) -> str:
    parts = [f"{shortened(level['name'], 80)}: gap {number(level['gap'])}"]
    if level["gap_interval"] is not None:
        parts.append(f"interval {interval(level['gap_interval'])}")
    if level["p_adjusted"] is not None:
        parts.append(f"adjusted p {p_value(level['p_adjusted'])}")
    parts += [f"{count(level['rows'][group])} rows of {shortened(group, 40)}" for group in groups]
    return ", ".join([*parts, "thin"] if level["thin"] else parts)
