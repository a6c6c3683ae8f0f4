"""The gap of each level with its interval: one row a level, one chart for desks, one for phones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from likeforlike._text import counted
from likeforlike.document._results import AuditDocument, LevelAudit
from likeforlike.report import _svg as svg
from likeforlike.report._axes import axis_across, upright
from likeforlike.report._format import (
    confidence,
    count,
    decimals,
    fixed,
    interval,
    number,
    p_value,
    shortened,
    wrapped,
)
from likeforlike.report._scale import AxisScale, ticks

DRAWN = 40
"""At most this many levels are drawn."""
SHOWN = 15
"""How many of them are seen at once; the others are folded."""

# An adjusted p-value up to this is marked.
_EVIDENCE = 0.05
_HEAD, _FOOT = 44.0, 30.0


@dataclass(frozen=True, slots=True)
class ChartLayout:
    """Where the pieces of a chart of gaps lie.

    Attributes
    ----------
    kind : class of the drawing.
    width : of the view box.
    row : height of a row.
    words, middle : how far below the top of a row its name is written and its interval drawn.
    letters : of a level's name; `direction`: of a group's name above the axis.
    together : letters of both names up to which the directions share a line.
    plot : left and right end of the axis.
    bars : whether rows are drawn as bars too, and figures stand in columns.
    """

    kind: str
    width: float
    row: float
    words: float
    middle: float
    letters: int
    direction: int
    together: int
    plot: tuple[float, float]
    bars: bool


WIDE = ChartLayout("wide", 920.0, 30.0, 20.0, 15.5, 28, 24, 16, (382.0, 742.0), bars=True)
NARROW = ChartLayout("narrow", 340.0, 62.0, 17.0, 32.0, 40, 18, 10, (4.0, 336.0), bars=False)

# On wide charts: the middle of the bars of rows, and the longest of them.
_BARS_AT, _BAR = 286.0, 34.0


def gap_chart(document: AuditDocument, layout: ChartLayout = WIDE, *, more: bool = False) -> Markup:
    """Gap by level with intervals, of the levels that are seen at once or of those folded."""
    contrast = document.contrasts[0]
    drawn = contrast.levels[:DRAWN]
    levels = drawn[SHOWN:] if more else drawn[:SHOWN]
    if any(len(wrapped(level.name, layout.letters)) > 1 for level in levels):
        layout = _roomier(layout)
    scale = _scale(drawn, layout)
    height = _HEAD + layout.row * len(levels) + _FOOT
    biggest = max((rows for level in levels for rows in level.rows.values()), default=1)
    rows = [
        _row(level, contrast.groups, layout, scale, _HEAD + layout.row * k, biggest)
        for k, level in enumerate(levels)
    ]
    return svg.chart(
        f"gaps {layout.kind}",
        "Gap of further levels with intervals" if more else "Gap by level with intervals",
        _in_words(document, levels),
        (layout.width, height),
        _axis(scale, layout, len(levels)),
        _head(document, layout),
        *rows,
    )


def _roomier(layout: ChartLayout) -> ChartLayout:
    """With room for names of two lines."""
    if layout.bars:
        return replace(layout, row=36.0, words=23.0, middle=18.5)
    return replace(layout, row=layout.row + 14.0, middle=layout.middle + 14.0)


def _scale(levels: Sequence[LevelAudit], layout: ChartLayout) -> AxisScale:
    """Hold every gap and the intervals of levels that are not thin, with room on both sides of 0.

    The interval of a cell of two rows would leave no room for the others; it is cut at the edge.
    """
    bounds = [0.0, *(level.gap for level in levels)]
    solid = [level for level in levels if not level.thin] or levels
    for level in solid:
        bounds += level.gap_interval or ()
    low, high = min(bounds), max(bounds)
    widest = max(high, -low) or 1.0
    low, high = min(low, -0.3 * widest), max(high, 0.3 * widest)
    room = 0.04 * (high - low)
    return AxisScale(low - room, high + room, *layout.plot)


def _axis(scale: AxisScale, layout: ChartLayout, rows: int) -> Markup:
    bottom = _HEAD + layout.row * rows + 4.0
    stretches = [(_HEAD - 8.0, bottom)]
    if not layout.bars:
        # Words stand above and below the intervals; the lines of the axis leave them alone.
        middles = [_HEAD + layout.row * k + layout.middle for k in range(rows)]
        stretches = [(middle - 9.0, middle + 9.0) for middle in middles]
    values, room = ticks(scale.low, scale.high, 5), (0.0, layout.width)
    marks = axis_across(values, scale, stretches, below=bottom + 16.0, room=room)
    return svg.group(*marks, upright(scale(0.0), stretches, class_="zero"))


def _head(document: AuditDocument, layout: ChartLayout) -> Markup:
    first, second = document.contrasts[0].groups
    left, right = layout.plot
    apart = len(first) + len(second) > layout.together
    here, there = (shortened(group, layout.direction) for group in (first, second))
    pieces = [
        svg.text(left, 12.0 if apart else 28.0, f"← {here} scores higher", class_="a word"),
        svg.text(right, 28.0, f"{there} scores higher →", class_="b word end"),
    ]
    if layout.bars:
        share = f"{confidence(document.settings.confidence)}"
        pieces += [
            svg.text(0.0, 28.0, "level", class_="small"),
            svg.text(_BARS_AT, 12.0, "rows of", class_="small mid"),
            svg.text(_BARS_AT - 4.0, 28.0, shortened(first, 9), class_="a small end", full=first),
            svg.text(_BARS_AT + 4.0, 28.0, shortened(second, 9), class_="b small", full=second),
            svg.text(layout.width, 28.0, f"gap, {share} interval", class_="small end"),
        ]
    return svg.group(*pieces, class_="head")


def _row(
    level: LevelAudit,
    groups: Sequence[str],
    layout: ChartLayout,
    scale: AxisScale,
    top: float,
    biggest: int,
) -> Markup:
    words, middle = top + layout.words, top + layout.middle
    pieces = [
        svg.line(0.0, top, layout.width, top, class_="rule"),
        *_name(level, layout, words),
        *_mark(level, scale, middle),
    ]
    if level.thin:
        place = _BARS_AT - 84.0 if layout.bars else layout.width
        pieces.append(svg.text(place, words, "thin", class_="thin-word end"))
    figure = _figure(level, scale)
    if layout.bars:
        pieces += [
            svg.text(layout.width, words, figure, class_="figure end"),
            *_sizes(level, groups, middle, biggest),
        ]
    else:
        rows = " · ".join(f"{count(level.rows[g])} {shortened(g, 6)}" for g in groups)
        pieces += [
            svg.text(0.0, middle + 21.0, figure, class_="small"),
            svg.text(layout.width, middle + 21.0, rows, class_="small end"),
        ]
    return svg.group(*pieces)


def _name(level: LevelAudit, layout: ChartLayout, y: float) -> list[Markup]:
    lines = wrapped(level.name, layout.letters - (5 if level.thin else 0))
    top = y - 7.0 * (len(lines) - 1) if layout.bars else y
    full = level.name if lines[-1].endswith("…") else None
    return [
        svg.text(0.0, top + 14.0 * k, line, class_="name", full=full)
        for k, line in enumerate(lines)
    ]


def _figure(level: LevelAudit, scale: AxisScale) -> str:
    places = decimals((scale.low, scale.high))
    gap = fixed(level.gap, places)
    if level.gap_interval is None:
        return gap
    return f"{gap}  [{', '.join(fixed(bound, places) for bound in level.gap_interval)}]"


def _sizes(level: LevelAudit, groups: Sequence[str], middle: float, biggest: int) -> list[Markup]:
    """Rows of both groups, as numbers and as bars that grow away from the middle."""
    pieces = []
    for group, side, color in zip(groups, (-1.0, 1.0), ("a", "b"), strict=True):
        rows = level.rows[group]
        long = _BAR * rows / biggest
        edge = _BARS_AT + side
        start = edge - long if side < 0.0 else edge
        pieces.append(svg.rect(start, middle - 5.0, long, 10.0, class_=f"{color} soft"))
        anchor = "small end" if side < 0.0 else "small"
        place = edge + side * (_BAR + 4.0)
        pieces.append(svg.text(place, middle + 4.0, count(rows), class_=anchor))
    return pieces


def _mark(level: LevelAudit, scale: AxisScale, y: float) -> list[Markup]:
    """The interval as a line, dashed if thin; the gap as a diamond on evidence, else a circle."""
    gap, bounds = level.gap, level.gap_interval
    color = "b" if gap > 0.0 else "a" if gap < 0.0 else "c"
    pieces = []
    if bounds is not None:
        low, high = (scale.clipped(bound) for bound in bounds)
        dashed = " dashed" if level.thin else ""
        pieces.append(svg.line(low, y, high, y, class_=f"{color} span{dashed}"))
        for bound, side in zip(bounds, (1.0, -1.0), strict=True):
            if not scale.holds(bound):
                edge = scale.clipped(bound)
                head = [(edge + side * 6.0, y - 4.0), (edge, y), (edge + side * 6.0, y + 4.0)]
                pieces.append(svg.path(head, class_=f"{color} span open"))
    if _is_marked(level):
        return [*pieces, svg.diamond(scale(gap), y, 6.5, class_=f"{color} full")]
    return [*pieces, svg.circle(scale(gap), y, 4.5, class_=f"{color} hollow")]


def _is_marked(level: LevelAudit) -> bool:
    return level.p_adjusted is not None and level.p_adjusted <= _EVIDENCE


def key(kind: str) -> Markup:
    """A mark of the chart on its own, to be explained: `"full"`, `"hollow"` or `"dashed"`."""
    marks = {
        "full": svg.diamond(14.0, 8.0, 6.5, class_="c full"),
        "hollow": svg.circle(14.0, 8.0, 4.5, class_="c hollow"),
        "dashed": svg.line(0.0, 8.0, 28.0, 8.0, class_="c span dashed"),
    }
    return svg.element("svg", marks[kind], class_="key", viewBox="0 0 28 16", aria_hidden="true")


def _in_words(document: AuditDocument, levels: Sequence[LevelAudit]) -> str:
    first, second = document.contrasts[0].groups
    rows = "; ".join(_level_in_words(level, (first, second)) for level in levels)
    share = confidence(document.settings.confidence)
    return (
        f"Mean {document.roles.score} of {second} minus that of {first}, with a {share} "
        f"interval, in {counted(len(levels), 'level')}. {rows}."
    )


def _level_in_words(level: LevelAudit, groups: Sequence[str]) -> str:
    parts = [f"{shortened(level.name, 80)}: gap {number(level.gap)}"]
    if level.gap_interval is not None:
        parts.append(f"interval {interval(level.gap_interval)}")
    parts += [f"{count(level.rows[group])} rows of {shortened(group, 40)}" for group in groups]
    if level.p_adjusted is not None:
        parts.append(f"adjusted p {p_value(level.p_adjusted)}")
    return ", ".join([*parts, "thin"] if level.thin else parts)
