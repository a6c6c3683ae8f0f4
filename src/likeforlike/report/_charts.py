"""The charts of an audit as SVG.

- `comparison_chart`: all rows, among equals, by chance, and the estimate: four lengths on one
  scale.
- `coverage_chart`: one bar per group, cut into compared, thin and not comparable.
- `gap_curves`: the gap along a number, a curve through the windows with its band, one chart per
  category.
- `distribution_charts`: scores of both groups in one level, the first filled, the second as an
  outline over it.
- `contrast_chart`: all contrasts in one picture, a line each or a square of groups.
- `gap_chart`: the gap of each level with its interval, one row per level, one chart for desks and
  one for phones.
- `split_chart`: how the nested disparity is made up, one bar of three parts.

Axes have a line for each round value with its label, which stays inside the drawing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from markupsafe import Markup

from likeforlike._text import plural
from likeforlike.document import (
    AuditDocument,
    ContrastAudit,
    Distribution,
    LevelAudit,
    NestedResult,
    Smooth,
    Window,
    is_evidence,
    list_words,
    say,
)
from likeforlike.report import _svg as svg
from likeforlike.report._format import (
    confidence,
    count,
    decimals,
    format_places,
    interval,
    number,
    open_interval,
    p_value,
    percent,
    shorten,
    tick,
    wrap_text,
)
from likeforlike.report._svg import AxisScale, ticks

LETTER = 6.8
"""Width of a letter of the widest common type in labels of axes, in pixels."""
Place = Callable[[float], float]
"""From a value to where it lies on the screen."""
Stretch = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frame:
    """Where the pieces of a chart with two axes lie.

    Attributes
    ----------
    kind : class of the drawing.
    width, height : of the view box.
    left, right, top, bottom : ends of the axes.
    """

    kind: str
    width: float
    height: float
    left: float
    right: float
    top: float
    bottom: float


def axis_across(
    values: Iterable[float],
    place: Place,
    stretches: Sequence[Stretch],
    *,
    below: float,
    room: tuple[float, float],
) -> list[Markup]:
    """Draw an upright line for each value, and its label below."""
    marks = []
    for value in values:
        x, label = place(value), tick(value)
        half = LETTER * len(label) / 2.0 + 2.0
        middle = min(max(x, room[0] + half), room[1] - half)
        marks.append(upright(x, stretches, class_="grid"))
        marks.append(svg.text(middle, below, label, class_="tick mid"))
    return marks


def upright(x: float, stretches: Sequence[Stretch], *, class_: str) -> Markup:
    """Draw an upright line in one part or several."""
    if len(stretches) == 1:
        return svg.line(x, stretches[0][0], x, stretches[0][1], class_=class_)
    strokes = "".join(f"M{x:.1f} {top:g}V{end:g}" for top, end in stretches)
    return svg.element("path", d=strokes, class_=class_)


def height_labels(low: float, high: float) -> dict[float, str]:
    """Round values between two heights and their labels, all with the same decimals."""
    values = ticks(low, high, 5)
    places = max(len(tick(value).partition(".")[2]) for value in values)
    return {value: format_places(value, places) for value in values}


def axis_up(labels: Mapping[float, str], place: Place, left: float, right: float) -> list[Markup]:
    """Draw a level line for each value from `left` to `right`, and its label to the left."""
    marks = []
    for value, label in labels.items():
        y = place(value)
        marks.append(svg.line(left, y, right, y, class_="grid"))
        marks.append(svg.text(left - 8.0, y + 4.0, label, class_="tick end"))
    return marks


_WIDTH, _ROW, _FOOT = 440.0, 48.0, 26.0


@dataclass(frozen=True, slots=True)
class _Bar:
    label: str
    value: float
    look: str
    bounds: tuple[float, float | None] | None = None

    @property
    def figure(self) -> str:
        between = "" if self.bounds is None else f"  [{open_interval(self.bounds)}]"
        return f"{number(self.value)}{between}"

    @property
    def ends(self) -> list[float]:
        """The value and the ends that there are."""
        return [self.value, *(end for end in self.bounds or () if end is not None)]


def comparison_chart(document: AuditDocument) -> Markup:
    """Conditional against unconditional disparity, what chance alone gives, and the estimate."""
    bars = _bars(document)
    longest = max(end for bar in bars for end in bar.ends)
    scale = AxisScale(0.0, longest or 1.0, 0.0, _WIDTH - 12.0)
    height = _ROW * len(bars) + _FOOT
    return svg.chart(
        "comparison",
        say("chart.comparison"),
        "; ".join(f"{bar.label}: {bar.figure}" for bar in bars) + ".",
        (_WIDTH, height),
        _axis(scale, height),
        *(_row(bar, scale, _ROW * k) for k, bar in enumerate(bars)),
    )


def _bars(document: AuditDocument) -> list[_Bar]:
    contrast = document.contrasts[0]
    equals = bool(document.roles.legitimate)
    overall = say("chart.all_rows" if equals else "chart.all_observed")
    bars = [_Bar(overall, contrast.unconditional.value, "c soft")]
    if equals:
        bars.append(_Bar(say("chart.equals"), contrast.conditional.value, "e soft"))
    test = contrast.test
    if test is not None and test.null_distance is not None:
        chance = test.null_distance
        bars.append(_Bar(say("chart.chance"), chance, "c hatched"))
    distance = contrast.estimate
    if distance is not None and distance.value is not None:
        low, high = distance.interval
        bars.append(_Bar(say("chart.estimate"), distance.value, "e", (low or 0.0, high)))
    return bars


def _axis(scale: AxisScale, height: float) -> Markup:
    bottom = height - _FOOT
    values, whole = ticks(scale.low, scale.high, 4), [(0.0, bottom)]
    marks = axis_across(values, scale, whole, below=bottom + 18.0, room=(0.0, _WIDTH))
    return svg.group(*marks, upright(0.0, whole, class_="zero"))


def _row(bar: _Bar, scale: AxisScale, top: float) -> Markup:
    words = svg.text(6.0, top + 15.0, bar.label, class_="name")
    figure = svg.text(_WIDTH, top + 15.0, bar.figure, class_="figure strong end")
    middle = top + 30.0
    if bar.bounds is None:
        mark = svg.rect(0.0, middle - 7.0, scale(bar.value), 14.0, class_=bar.look)
    else:
        low = scale(bar.bounds[0])
        # Without an upper end the line runs on to the border, and has no bar there.
        high = _WIDTH if bar.bounds[1] is None else scale(bar.bounds[1])
        mark = svg.line(low, middle, high, middle, class_="e span")
        mark += svg.line(low, middle - 5.0, low, middle + 5.0, class_="e span")
        if bar.bounds[1] is not None:
            mark += svg.line(high, middle - 5.0, high, middle + 5.0, class_="e span")
        mark += svg.diamond(scale(bar.value), middle, 7.0, class_="e full")
    return svg.group(words, figure, mark)


_COVERAGE_WIDTH, _COVERAGE_ROW = 440.0, 74.0


def coverage_chart(contrast: ContrastAudit) -> Markup:
    """Shares of each group that were compared, sit in thin levels, or could not be compared."""
    sentences, rows = [], []
    for k, group in enumerate(contrast.groups):
        covered, thin = contrast.coverage[group], contrast.thin_share[group]
        parts = (covered - thin, thin, 1.0 - covered)
        words = _words(parts)
        sentences.append(f"{shorten(group, 60)}: {words}, of {_total(contrast, k)} rows")
        head = svg.text(0.0, 18.0, shorten(group, 34), class_="name", full=group)
        of = svg.text(_COVERAGE_WIDTH, 18.0, f"{_total(contrast, k)} rows", class_="figure end")
        below = svg.text(0.0, 62.0, words, class_="small")
        bar = _bar(parts, "ab"[k])
        rows.append(
            svg.group(head, of, bar, below, transform=f"translate(0 {_COVERAGE_ROW * k:g})")
        )
    size = (_COVERAGE_WIDTH, _COVERAGE_ROW * len(rows))
    return svg.chart("coverage", say("chart.coverage"), "; ".join(sentences) + ".", size, *rows)


def _total(contrast: ContrastAudit, k: int) -> str:
    return count(contrast.unconditional.rows[k])


def _words(parts: tuple[float, float, float]) -> str:
    names = list_words("chart.coverage_parts")
    said = [f"{percent(p)} {name}" for p, name in zip(parts, names, strict=True) if p > 1e-12]
    return " · ".join(said)


def _bar(parts: tuple[float, float, float], color: str) -> Markup:
    looks = (f"{color} soft", f"{color} hatched", "c empty")
    pieces, left = [], 1.0
    for share, look in zip(parts, looks, strict=True):
        wide = share * (_COVERAGE_WIDTH - 2.0)
        if wide > 0.0:
            pieces.append(svg.rect(left, 27.0, wide, 18.0, class_=look))
            left += wide
    return svg.group(*pieces)


_SHOWN_CATEGORIES = 6
_ROOM = 0.08


WIDE = Frame("wide", 920.0, 330.0, 60.0, 908.0, 30.0, 276.0)
NARROW = Frame("narrow", 340.0, 300.0, 50.0, 334.0, 30.0, 246.0)


class Curve(NamedTuple):
    """One chart: the category it is about (empty without any), and the drawings."""

    category: str
    wide: Markup
    narrow: Markup


class _CurvePoint(NamedTuple):
    window: Window
    level: LevelAudit


def gap_curves(document: AuditDocument) -> list[Curve]:
    """Draw the gap along the number of the first contrast, or nothing if nothing was smoothed."""
    contrast = document.contrasts[0]
    smooth = contrast.smooth
    if smooth is None:
        return []
    levels = {level.name: level for level in contrast.levels}
    runs: dict[str, list[list[_CurvePoint]]] = {}
    for window in smooth.windows:
        own = runs.setdefault(window.category, [[]])
        if window.level in levels:
            own[-1].append(_CurvePoint(window, levels[window.level]))
        elif own[-1]:
            # Windows without one of the groups break the curve.
            own.append([])
    drawn = {name: [run for run in parts if run] for name, parts in runs.items()}
    most = sorted((name for name in drawn if drawn[name]), key=lambda name: -_rows(drawn[name]))
    up = _heights([point for name in most for run in drawn[name] for point in run])
    return [
        Curve(
            name,
            _chart(document, smooth, drawn[name], WIDE, up),
            _chart(document, smooth, drawn[name], NARROW, up),
        )
        for name in most[:_SHOWN_CATEGORIES]
    ]


def _rows(runs: Sequence[Sequence[_CurvePoint]]) -> int:
    return sum(sum(point.level.rows.values()) for run in runs for point in run)


def _heights(points: Sequence[_CurvePoint]) -> tuple[float, float]:
    """Hold every gap, 0, and the bands of windows that are not thin."""
    bounds = [0.0, *(point.level.gap for point in points)]
    solid = [point for point in points if not point.level.thin] or points
    for point in solid:
        bounds += point.level.gap_interval or ()
    low, high = min(bounds), max(bounds)
    room = _ROOM * (high - low) or 1.0
    return low - room, high + room


def _chart(
    document: AuditDocument,
    smooth: Smooth,
    runs: Sequence[Sequence[_CurvePoint]],
    frame: Frame,
    heights: tuple[float, float],
) -> Markup:
    points = [point for run in runs for point in run]
    centers = [point.window.center for point in points]
    low, high = min(centers), max(centers)
    room = 0.02 * (high - low) or 1.0
    across = AxisScale(low - room, high + room, frame.left, frame.right)
    up = AxisScale(*heights, frame.bottom, frame.top)
    pieces: list[Markup] = []
    for run in runs:
        pieces += _run(run, across, up)
    return svg.chart(
        f"curve {frame.kind}",
        say("chart.along", name=_name(document, smooth)),
        _describe_curve(points),
        (frame.width, frame.height),
        _axes(document, smooth, frame, across, up),
        *pieces,
    )


def _name(document: AuditDocument, smooth: Smooth) -> str:
    if smooth.method == "carry":
        return smooth.columns[0]
    return say("chart.propensity", group=document.contrasts[0].groups[1])


def _run(run: Sequence[_CurvePoint], across: AxisScale, up: AxisScale) -> list[Markup]:
    """Band, curve and points of neighboring windows."""
    places = [(across(p.window.center), up.clipped(p.level.gap)) for p in run]
    band = [(across(p.window.center), p.level.gap_interval) for p in run]
    known = [(x, ends) for x, ends in band if ends is not None]
    upper = [(x, up.clipped(ends[1])) for x, ends in known]
    lower = [(x, up.clipped(ends[0])) for x, ends in known]
    pieces = []
    if len(known) > 1:
        pieces.append(svg.path([*upper, *reversed(lower)], closed=True, class_="e area"))
    elif known:
        pieces.append(svg.line(*upper[0], *lower[0], class_="e span"))
    if len(places) > 1:
        pieces.append(svg.path(places, class_="e outline"))
    for point, (x, y) in zip(run, places, strict=True):
        look = "hollow" if point.level.thin else "full"
        pieces.append(svg.circle(x, y, 4.0, class_=f"e {look}"))
    return pieces


def _axes(
    document: AuditDocument, smooth: Smooth, frame: Frame, across: AxisScale, up: AxisScale
) -> Markup:
    first, second = document.contrasts[0].groups
    values = ticks(across.low, across.high, 7 if frame.kind == "wide" else 4)
    whole, room = [(frame.top, frame.bottom)], (0.0, frame.width)
    marks = axis_across(values, across, whole, below=frame.bottom + 18.0, room=room)
    marks += axis_up(height_labels(up.low, up.high), up, frame.left, frame.right)
    letters = 40 if frame.kind == "wide" else 16
    gap = f"↑ {shorten(second, letters)} minus {shorten(first, letters)}"
    return svg.group(
        *marks,
        svg.line(frame.left, up(0.0), frame.right, up(0.0), class_="zero"),
        svg.text(0.0, 14.0, gap, class_="word", full=f"{second} minus {first}"),
        svg.text(
            frame.right,
            frame.bottom + 44.0,
            f"{shorten(_name(document, smooth), 40)} →",
            class_="word end",
        ),
    )


def _describe_curve(points: Sequence[_CurvePoint]) -> str:
    return "; ".join(
        say("chart.at", place=tick(p.window.center), gap=number(p.level.gap))
        + ("" if p.level.gap_interval is None else f", {interval(p.level.gap_interval)}")
        for p in points
    )


_DISTRIBUTION_WIDTH, _HEIGHT, _TOP, _DISTRIBUTION_FOOT = 280.0, 150.0, 8.0, 24.0


def distribution_charts(contrast: ContrastAudit) -> list[tuple[str, Markup]]:
    """Draw the scores of each level that matters, with its name, all along one scale."""
    shown = contrast.distributions
    groups = contrast.groups
    draw = _columns if all(_has_two_values(entry) for entry in shown) else _histogram
    return [
        (
            entry.level,
            svg.chart(
                "distribution",
                say("chart.scores", level=shorten(entry.level, 80)),
                _describe_distributions(entry, groups),
                (_DISTRIBUTION_WIDTH, _HEIGHT),
                *draw(
                    entry,
                    groups,
                    AxisScale(0.0, _tallest(entry), _HEIGHT - _DISTRIBUTION_FOOT, _TOP),
                ),
            ),
        )
        for entry in shown
    ]


def _tallest(entry: Distribution) -> float:
    """Each level fills its own height: a cell of one row would flatten all others."""
    return max(height for heights in entry.heights.values() for height in heights) or 1.0


def _has_two_values(entry: Distribution) -> bool:
    """Whether only the first and the last bin hold anything, as with decisions."""
    between = [share for shares in entry.shares.values() for share in shares[1:-1]]
    return bool(between) and not any(share > 0.0 for share in between)


def _histogram(entry: Distribution, groups: Sequence[str], up: AxisScale) -> list[Markup]:
    edges = entry.edges
    along = AxisScale(edges[0], edges[-1], 2.0, _DISTRIBUTION_WIDTH - 2.0)
    first, second = (_steps(entry.heights[group], edges, along, up) for group in groups)
    values, whole = ticks(edges[0], edges[-1], 4), [(_TOP, up.start)]
    marks = axis_across(values, along, whole, below=_HEIGHT - 7.0, room=(0.0, _DISTRIBUTION_WIDTH))
    base = svg.line(0.0, up.start, _DISTRIBUTION_WIDTH, up.start, class_="base")
    fill = svg.path(first, closed=True, class_="a area")
    return [*marks, fill, svg.path(second, class_="b outline"), base]


def _steps(
    heights: Sequence[float], edges: Sequence[float], along: AxisScale, up: AxisScale
) -> list[tuple[float, float]]:
    points = [(along(edges[0]), up.start)]
    for height, left, right in zip(heights, edges[:-1], edges[1:], strict=True):
        points += [(along(left), up(height)), (along(right), up(height))]
    return [*points, (along(edges[-1]), up.start)]


def _columns(entry: Distribution, groups: Sequence[str], up: AxisScale) -> list[Markup]:
    """Two pairs of columns: a histogram of decisions would be all but empty."""
    edges, wide = entry.edges, 48.0
    # Shares of decisions are read against the whole, with room for a figure above a column.
    up = AxisScale(0.0, 1.18, up.start, up.end)
    pieces = []
    for k, (center, edge) in enumerate(((70.0, edges[0]), (210.0, edges[-1]))):
        for group, color, side in zip(groups, ("a", "b"), (-1.0, 0.0), strict=True):
            share = entry.shares[group][-k]
            left, top = center + side * (wide + 4.0) + 2.0, up(share)
            look = "a area" if color == "a" else "b outline"
            pieces.append(svg.rect(left, top, wide, up.start - top, class_=look))
            label = svg.text(left + wide / 2.0, top - 5.0, percent(share), class_="tick strong mid")
            pieces.append(label)
        near = svg.text(center, _HEIGHT - 7.0, f"{_end(k)} ({tick(edge)})", class_="tick mid")
        pieces.append(near)
    return [*pieces, svg.line(0.0, up.start, _DISTRIBUTION_WIDTH, up.start, class_="base")]


def _end(k: int) -> str:
    return say("chart.highest" if k else "chart.lowest")


def _describe_distributions(entry: Distribution, groups: Sequence[str]) -> str:
    edges = entry.edges
    parts = []
    for group in groups:
        bins = "; ".join(
            f"{number(left)} to {number(right)}: {percent(share)}"
            for share, left, right in zip(entry.shares[group], edges[:-1], edges[1:], strict=True)
            if share > 0.0
        )
        parts.append(say("chart.shares", group=shorten(group, 40), bins=bins))
    return " ".join(parts)


DRAWN = 40
"""At most this many levels are drawn."""
SHOWN = 15
"""How many of them are seen at once; the others are folded."""

# An adjusted p-value up to this is marked.
_EVIDENCE = 0.05
_HEAD, _GAPS_FOOT = 44.0, 30.0


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


WIDE_GAPS = ChartLayout("wide", 920.0, 30.0, 20.0, 15.5, 28, 24, 16, (382.0, 742.0), bars=True)
NARROW_GAPS = ChartLayout("narrow", 340.0, 62.0, 17.0, 32.0, 40, 18, 10, (4.0, 336.0), bars=False)

# On wide charts: the middle of the bars of rows, and the longest of them.
_BARS_AT, _BAR = 286.0, 34.0


def gap_chart(
    document: AuditDocument, layout: ChartLayout = WIDE_GAPS, *, first: int = 0, last: int = SHOWN
) -> Markup:
    """Gap by level with intervals, from the first to the last of the levels that are drawn."""
    contrast = document.contrasts[0]
    drawn = contrast.levels[:DRAWN]
    levels = drawn[first:last]
    if any(len(wrap_text(level.name, layout.letters)) > 1 for level in levels):
        layout = _roomier(layout)
    scale = _scale(drawn, layout)
    height = _HEAD + layout.row * len(levels) + _GAPS_FOOT
    biggest = max((rows for level in levels for rows in level.rows.values()), default=1)
    rows = [
        _gaps_row(level, contrast.groups, layout, scale, _HEAD + layout.row * k, biggest)
        for k, level in enumerate(levels)
    ]
    return svg.chart(
        f"gaps {layout.kind}",
        say("chart.further" if first else "chart.gaps"),
        _describe_gaps(document, levels),
        (layout.width, height),
        _gaps_axis(scale, layout, len(levels)),
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


def _gaps_axis(scale: AxisScale, layout: ChartLayout, rows: int) -> Markup:
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
    here, there = (shorten(group, layout.direction) for group in (first, second))
    pieces = [
        svg.text(
            left,
            12.0 if apart else 28.0,
            say("chart.first", name=here),
            class_="a word",
            full=first,
        ),
        svg.text(right, 28.0, say("chart.second", name=there), class_="b word end", full=second),
    ]
    if layout.bars:
        share = f"{confidence(document.settings.confidence)}"
        pieces += [
            svg.text(0.0, 28.0, say("chart.level"), class_="small"),
            svg.text(_BARS_AT, 12.0, say("chart.rows_of"), class_="small mid"),
            svg.text(_BARS_AT - 4.0, 28.0, shorten(first, 9), class_="a small end", full=first),
            svg.text(_BARS_AT + 4.0, 28.0, shorten(second, 9), class_="b small", full=second),
            svg.text(layout.width, 28.0, say("chart.gap_head", share=share), class_="small end"),
        ]
    return svg.group(*pieces, class_="head")


def _gaps_row(
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
        *_level_name(level, layout, words),
        *_mark(level, scale, middle),
    ]
    if level.thin:
        place = _BARS_AT - 84.0 if layout.bars else layout.width
        pieces.append(svg.text(place, words, say("chart.thin"), class_="thin-word end"))
    figure = _figure(level, scale)
    if layout.bars:
        pieces += [
            svg.text(layout.width, words, figure, class_="figure end"),
            *_sizes(level, groups, middle, biggest),
        ]
    else:
        rows = " · ".join(f"{count(level.rows[g])} {shorten(g, 6)}" for g in groups)
        pieces += [
            svg.text(0.0, middle + 21.0, figure, class_="small"),
            svg.text(layout.width, middle + 21.0, rows, class_="small end"),
        ]
    return svg.group(*pieces)


def _level_name(level: LevelAudit, layout: ChartLayout, y: float) -> list[Markup]:
    lines = wrap_text(level.name, layout.letters - (5 if level.thin else 0))
    top = y - 7.0 * (len(lines) - 1) if layout.bars else y
    full = level.name if lines[-1].endswith("…") else None
    return [
        svg.text(0.0, top + 14.0 * k, line, class_="name", full=full)
        for k, line in enumerate(lines)
    ]


def _figure(level: LevelAudit, scale: AxisScale) -> str:
    places = decimals((scale.low, scale.high))
    gap = format_places(level.gap, places)
    if level.gap_interval is None:
        return gap
    return f"{gap}  [{', '.join(format_places(bound, places) for bound in level.gap_interval)}]"


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
    """Draw the interval, dashed if thin, and the gap: a diamond on evidence, else a circle."""
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
    if _has_mark(level):
        return [*pieces, svg.diamond(scale(gap), y, 6.5, class_=f"{color} full")]
    return [*pieces, svg.circle(scale(gap), y, 4.5, class_=f"{color} hollow")]


_LINE, _NAME, _LABEL, _CELL = 25.0, 162.0, 104.0, 26.0
MOST_LINES = 14
"""Up to this many contrasts have a line each; more of one column are cells of a square."""


def contrast_chart(document: AuditDocument) -> Markup:
    """Draw all contrasts in one picture: a line each, or a square of groups where they are many."""
    if len(document.contrasts) > MOST_LINES and not document.roles.also_sensitive:
        return _contrast_square(document)
    contrasts, width = document.contrasts, NARROW_GAPS.width
    bounds = [0.0]
    for contrast in contrasts:
        bounds += [contrast.gap.value, *(contrast.gap.interval or ())]
    low, high = min(bounds), max(bounds)
    room = 0.05 * (high - low) or 1.0
    scale = AxisScale(low - room, high + room, _NAME, width - 44.0)
    rows = [_contrast_line(each, scale, _LINE * k) for k, each in enumerate(contrasts)]
    bottom = _LINE * len(contrasts)
    whole, across = [(0.0, bottom)], (_NAME, width)
    values = ticks(scale.low, scale.high, 3)
    marks = axis_across(values, scale, whole, below=bottom + 16.0, room=across)
    axis = svg.group(*marks, upright(scale(0.0), whole, class_="zero"))
    size = (width, bottom + 22.0)
    return svg.chart("pairs", say("chart.pairs"), _describe_contrasts(contrasts), size, axis, *rows)


def _contrast_line(contrast: ContrastAudit, scale: AxisScale, top: float) -> Markup:
    """Draw the gap of two groups with its interval, behind their names."""
    gap, y = contrast.gap.value, top + _LINE / 2.0
    first, second = contrast.groups
    words = say("chart.pair", first=first, second=second)
    lines = wrap_text(words, 25)
    start = y + 4.0 - 6.0 * (len(lines) - 1)
    full = words if lines[-1].endswith("…") else None
    pieces = [
        svg.text(0.0, start + 11.0 * k, line, class_="line", full=full)
        for k, line in enumerate(lines)
    ]
    pieces.append(svg.text(NARROW_GAPS.width, y + 4.0, number(gap), class_="small end"))
    color = "b" if gap > 0.0 else "a" if gap < 0.0 else "c"
    if contrast.gap.interval is not None:
        low, high = (scale(end) for end in contrast.gap.interval)
        pieces.append(svg.line(low, y, high, y, class_=f"{color} span"))
    if is_evidence(contrast):
        pieces.append(svg.diamond(scale(gap), y, 5.5, class_=f"{color} full"))
    else:
        pieces.append(svg.circle(scale(gap), y, 4.0, class_=f"{color} hollow"))
    return svg.group(*pieces)


def _contrast_square(document: AuditDocument) -> Markup:
    """Draw a square of groups: how much more the one in the row has than the one in the column."""
    gaps: dict[tuple[str, str], tuple[float, bool]] = {}
    for contrast in document.contrasts:
        first, second = contrast.groups
        gaps[second, first] = contrast.gap.value, is_evidence(contrast)
        gaps[first, second] = -contrast.gap.value, is_evidence(contrast)
    names = list(dict.fromkeys(name for pair in gaps for name in pair))
    level = {name: sum(gap for (row, _), (gap, _) in gaps.items() if row == name) for name in names}
    names.sort(key=lambda name: -level[name])
    cell = min(_CELL, (NARROW_GAPS.width - _LABEL) / len(names))
    widest = max(abs(gap) for gap, _ in gaps.values()) or 1.0
    pieces: list[Markup] = []
    for k, row in enumerate(names):
        top = 22.0 + cell * k
        label = f"{k + 1} {row}"
        pieces.append(svg.text(0.0, top + cell / 2.0 + 4.0, shorten(label, 15), full=label))
        x = _LABEL + cell * (k + 0.5)
        pieces.append(svg.text(x, 14.0, str(k + 1), class_="tick mid"))
        for j, column in enumerate(names):
            if (row, column) in gaps:
                gap, clear = gaps[row, column]
                color, left = "b" if gap > 0.0 else "a", _LABEL + cell * j
                shade = f"{max(0.06, abs(gap) / widest):.2f}"
                look = {"class_": f"{color} soft", "fill-opacity": shade}
                pieces.append(svg.rect(left + 0.5, top + 0.5, cell - 1.0, cell - 1.0, **look))
                if clear:
                    middle = left + cell / 2.0, top + cell / 2.0
                    pieces.append(svg.circle(*middle, 2.5, class_="dot"))
    size = (NARROW_GAPS.width, 26.0 + cell * len(names))
    words = _describe_contrasts(document.contrasts)
    return svg.chart("pairs square", say("chart.pairs"), words, size, *pieces)


def _describe_contrasts(contrasts: Sequence[ContrastAudit]) -> str:
    said = (
        f"{' and '.join(each.groups)}: {number(each.gap.value)}"
        + ("" if each.gap.interval is None else f", {interval(each.gap.interval)}")
        for each in contrasts
    )
    return "; ".join(said) + "."


def _has_mark(level: LevelAudit) -> bool:
    return level.p_adjusted is not None and level.p_adjusted <= _EVIDENCE


def key(kind: str) -> Markup:
    """Draw one mark of the chart, to be explained: `"full"`, `"hollow"` or `"dashed"`."""
    marks = {
        "full": svg.diamond(14.0, 8.0, 6.5, class_="c full"),
        "hollow": svg.circle(14.0, 8.0, 4.5, class_="c hollow"),
        "dashed": svg.line(0.0, 8.0, 28.0, 8.0, class_="c span dashed"),
    }
    return svg.element("svg", marks[kind], class_="key", viewBox="0 0 28 16", aria_hidden="true")


def _describe_gaps(document: AuditDocument, levels: Sequence[LevelAudit]) -> str:
    first, second = document.contrasts[0].groups
    rows = "; ".join(_level_in_words(level, (first, second)) for level in levels)
    share = confidence(document.settings.confidence)
    return (
        say("chart.described", score=document.roles.score, first=first, second=second, share=share)
        + f" {plural(len(levels), say('chart.level'))}. {rows}."
    )


def _level_in_words(level: LevelAudit, groups: Sequence[str]) -> str:
    parts = [f"{shorten(level.name, 80)}: gap {number(level.gap)}"]
    if level.gap_interval is not None:
        parts.append(f"interval {interval(level.gap_interval)}")
    parts += [f"{count(level.rows[group])} rows of {shorten(group, 40)}" for group in groups]
    if level.p_adjusted is not None:
        parts.append(f"adjusted p {p_value(level.p_adjusted)}")
    return ", ".join([*parts, "thin"] if level.thin else parts)


_NESTED_WIDTH = 440.0
_PARTS: tuple[tuple[Literal["diagonal", "off_diagonal", "level_transport"], str, str], ...] = (
    ("diagonal", "chart.diagonal", "e soft"),
    ("off_diagonal", "chart.across", "e hatched"),
    ("level_transport", "chart.changing", "c empty"),
)


def split_chart(nested: NestedResult) -> Markup:
    """Draw the split of the bi-causal distance."""
    whole = nested.value or 1.0
    pieces, figures, left = [], [], 1.0
    for k, (part, key, look) in enumerate(_PARTS):
        words = say(key)
        share = getattr(nested, part) / whole
        wide = share * (_NESTED_WIDTH - 2.0)
        if wide > 0.0:
            pieces.append(svg.rect(left, 2.0, wide, 30.0, class_=look))
        left += wide
        figure = f"{number(getattr(nested, part))} ({percent(share)})"
        figures.append(f"{words}: {figure}")
        line = 58.0 + 24.0 * k
        pieces.append(svg.rect(1.0, line - 11.0, 18.0, 12.0, class_=look))
        pieces.append(svg.text(28.0, line, words, class_="name"))
        pieces.append(svg.text(_NESTED_WIDTH, line, figure, class_="figure end"))
    title = say("chart.split")
    return svg.chart("split", title, "; ".join(figures) + ".", (_NESTED_WIDTH, 112.0), *pieces)
