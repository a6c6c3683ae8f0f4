"""Disparity against power for many methods: a panel or a grid of panels, with their frontiers.

The figure is a file of its own: it needs nothing from outside and follows its reader's light or
dark mode. Better is always up and to the left.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from textwrap import wrap
from typing import Literal

from markupsafe import Markup

from likeforlike.errors import InputError
from likeforlike.report import svg
from likeforlike.report.format import counted, fixed, listed, number, shortened, tick
from likeforlike.report.labels import Box
from likeforlike.report.markers import (
    STYLE,
    Look,
    Point,
    Series,
    Span,
    arrow,
    error_bars,
    looks_of,
    mark,
)
from likeforlike.report.scale import Scale, ticks

__all__ = ["Panel", "Point", "Series", "frontier_figure"]


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot.

    Attributes
    ----------
    title, note : its name, and a line below it (how many runs of how many rows).
    power : name of the axis upwards.
    better : whether more or less of it is better; better is drawn upwards.
    disparity : name of the axis to the right.
    series : the methods.
    worst, most : the power and the disparity up to which points are shown, and beyond which they
        are arrows at the border; `None` shows all.
    """

    title: str
    note: str
    power: str
    better: Literal["more", "less"]
    disparity: str
    series: tuple[Series, ...]
    worst: float | None = None
    most: float | None = None

    @property
    def points(self) -> list[Point]:
        """All points of the panel."""
        return [point for series in self.series for point in series.points]


_WIDTH, _EDGE, _GAP = 1000.0, 10.0, 18.0
_INNER = _WIDTH - 2.0 * _EDGE
# Height of a line, and width of a letter of the widest common type, in pixels.
_LINE, _LETTER = 17.0, 6.8
_WAYS = {"more": "higher", "less": "lower"}
# Height of the plots and radius of their marks, by how many panels stand in a row.
_SIZES = {1: (470.0, 5.0), 2: (330.0, 4.4), 3: (280.0, 3.8), 4: (270.0, 3.7)}


def frontier_figure(panels: Sequence[Panel], *, title: str, columns: int | None = None) -> str:
    """Panels with a shared key as an SVG of its own, 1,000 wide.

    Parameters
    ----------
    panels : row by row.
    title : of the whole figure.
    columns : panels in a row, from 1 to 4; as many as there are, up to 4, if `None`.

    Examples
    --------
    >>> from likeforlike.report.frontiers import Panel, Point, Series, frontier_figure
    >>> held = Series("FairLeap", (Point(1.0, 0.04, 0.83, 0.01, 0.02, best=True),))
    >>> free = Series("no regularisation", (Point(0.0, 0.16, 0.84, 0.01, 0.02, best=True),))
    >>> panel = Panel("Loans", "5 runs", "AUC", "more", "disparity among equals", (free, held))
    >>> frontier_figure([panel], title="Loans").startswith("<svg xmlns=")
    True
    """
    wide = min(len(panels), 4) if columns is None else columns
    _check(panels, wide)
    given = {s.method: s.look for panel in panels for s in panel.series if s.look is not None}
    looks = looks_of((s.method for panel in panels for s in panel.series), given)
    heading = wrap(title, 85)
    drawn, bottom = _grid(panels, looks, wide, _EDGE + 24.0 * len(heading) + 16.0)
    key, height = _key(panels, looks, bottom)
    figure = svg.element(
        "svg",
        svg.element("title", title),
        svg.element("desc", " ".join(_told(panel) for panel in panels)),
        svg.element("style", Markup(STYLE)),
        svg.rect(0.0, 0.0, _WIDTH, height, class_="paper"),
        *_lines(_EDGE, _EDGE + 18.0, heading, "heading", 24.0),
        *drawn,
        key,
        xmlns="http://www.w3.org/2000/svg",
        class_="frontiers",
        role="img",
        viewBox=f"0 0 {_WIDTH:g} {height:g}",
        width=_WIDTH,
        height=height,
    )
    return str(figure)


def _check(panels: Sequence[Panel], columns: int) -> None:
    if not panels or columns not in _SIZES:
        raise InputError(f"panels must be at least one in 1 to 4 columns, not {columns} columns.")
    for panel in panels:
        figures = [value for point in panel.points for value in (point.disparity, point.power)]
        if not (figures and all(map(math.isfinite, figures))):
            raise InputError(f"panels has {panel.title!r} without points, or with one not finite.")


def _grid(
    panels: Sequence[Panel], looks: dict[str, Look], columns: int, top: float
) -> tuple[list[Markup], float]:
    """The panels, and where they end."""
    width = (_INNER - (columns - 1) * _GAP) / columns
    height, radius = _SIZES[columns]
    letters = int(width / _LETTER)
    drawn, y = [], top
    for first in range(0, len(panels), columns):
        row = panels[first : first + columns]
        ups = [wrap(f"↑ better: {_WAYS[panel.better]} {panel.power}", letters) for panel in row]
        acrosses = [wrap(f"← better: lower {panel.disparity}", letters) for panel in row]
        names = y + (14.0 if any(panel.title for panel in row) else -_LINE + 14.0)
        start = names + _LINE * (1 + max(map(len, ups))) + 12.0
        for k, (panel, up, across) in enumerate(zip(row, ups, acrosses, strict=True)):
            left = _EDGE + k * (width + _GAP)
            view = _View.of(panel, Box(left, start, left + width, start + height))
            pieces = [
                *_lines(left, names, [shortened(panel.title, int(0.8 * letters))], "name"),
                *_lines(left, names + _LINE, [shortened(panel.note, letters)], "quiet"),
                *_lines(left, start - 9.0 - _LINE * (len(up) - 1), up, "axis"),
                *_lines(left, start + height + 36.0, across, "axis"),
                *_plot(view, looks, radius),
            ]
            drawn.append(svg.group(*pieces, class_="panel"))
        y = start + height + 46.0 + _LINE * max(map(len, acrosses))
    return drawn, y


def _lines(x: float, y: float, said: Sequence[str], kind: str, high: float = _LINE) -> list[Markup]:
    return [svg.text(x, y + high * k, words, class_=kind) for k, words in enumerate(said) if words]


@dataclass(frozen=True, slots=True)
class _Reach:
    """Lowest and highest power and largest disparity that are shown."""

    low: float
    high: float
    right: float

    @classmethod
    def of(cls, panel: Panel) -> _Reach:
        """All points within the limits, with their bars and some room, and nothing beyond them."""
        sign = 1.0 if panel.better == "more" else -1.0
        worst = -math.inf if panel.worst is None else sign * panel.worst
        most = math.inf if panel.most is None else panel.most
        shown = [p for p in panel.points if sign * p.power >= worst and p.disparity <= most]
        if not shown:
            raise InputError(f"panels has {panel.title!r} without a point within its limits.")
        errors = [(sign * p.power, p.power_error or 0.0) for p in shown]
        low, high = min(v - e for v, e in errors), max(v + e for v, e in errors)
        room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
        ends = sorted((sign * max(low - room, worst), sign * (high + room)))
        right = 1.05 * max(p.disparity + (p.disparity_error or 0.0) for p in shown)
        return cls(ends[0], ends[1], min(right, most) if right > 0.0 else 1.0)

    def holds(self, point: Point) -> bool:
        return self.low <= point.power <= self.high and point.disparity <= self.right

    def heights(self) -> dict[float, str]:
        """Round values of the power and their labels."""
        values = ticks(self.low, self.high, 5)
        places = max(len(tick(value).partition(".")[2]) for value in values)
        return {value: fixed(value, places) for value in values}


@dataclass(frozen=True, slots=True)
class _View:
    """A panel, the frame of its plot, and where values lie in it."""

    panel: Panel
    reach: _Reach
    frame: Box
    roots: Scale
    up: Scale

    @classmethod
    def of(cls, panel: Panel, space: Box) -> _View:
        """The plot takes what labels leave of a space."""
        reach = _Reach.of(panel)
        room = 10.0 + _LETTER * max(map(len, reach.heights().values()))
        frame = Box(space.left + room, space.top, space.right, space.bottom)
        roots = Scale(0.0, math.sqrt(reach.right), frame.left, frame.right)
        ends = (space.bottom, space.top) if panel.better == "more" else (space.top, space.bottom)
        return cls(panel, reach, frame, roots, Scale(reach.low, reach.high, *ends))

    def across(self, disparity: float) -> float:
        """Where a disparity lies; what is below 0 by chance or rounding lies at 0."""
        return self.roots.clipped(math.sqrt(max(disparity, 0.0)))

    def place(self, point: Point) -> tuple[float, float]:
        """Where a point lies, or the place at the border nearest to it."""
        return self.across(point.disparity), self.up.clipped(point.power)

    def bars(self, point: Point) -> tuple[Span, Span]:
        """Where its bars end: one standard error to each side, as far as the panel goes."""
        return (
            _span(self.across, point.disparity, point.disparity_error),
            _span(self.up.clipped, point.power, point.power_error),
        )


def _span(place: Callable[[float], float], value: float, error: float | None) -> Span:
    return None if error is None else (place(value - error), place(value + error))


def _plot(view: _View, looks: dict[str, Look], radius: float) -> list[Markup]:
    bars, marks, arrows, taken = [], [], [], []
    for series in view.panel.series:
        look = looks[series.method]
        for point in series.points:
            x, y = view.place(point)
            told = svg.element("title", _point_told(view.panel, series.method, point))
            if not view.reach.holds(point):
                aside = point.disparity > view.reach.right
                arrows.append(svg.group(told, arrow(x, y, aside=aside), class_=look.colour))
                continue
            bars.append(svg.group(*error_bars(x, y, *view.bars(point)), class_=look.colour))
            ring = [svg.circle(x, y, radius + 3.0, class_="ring")] if point.best else []
            marks.append(svg.group(told, *ring, mark(look, x, y, radius), class_=look.colour))
            taken.append(Box(x - radius, y - radius, x + radius, y + radius))
    steps = _steps(view)
    taken += [
        Box(min(x, p) - 1.0, min(y, q) - 1.0, p + 1.0, max(y, q) + 1.0) for x, y, p, q in steps
    ]
    strokes = "".join(f"M{x:.1f} {y:.1f}L{p:.1f} {q:.1f}" for x, y, p, q in steps)
    return [
        *_axes(view),
        svg.element("path", d=strokes, class_="steps"),
        svg.group(*bars, class_="bars"),
        # Methods named first lie on top: they are what others are compared with.
        svg.group(*reversed(marks), class_="marks"),
        svg.group(*arrows, class_="arrows"),
        *_count(len(arrows), view.frame, taken),
    ]


def _axes(view: _View) -> list[Markup]:
    frame, pieces = view.frame, []
    for value in _round_values(view):
        x, label = view.across(value), tick(value)
        inside = min(x, frame.right - _LETTER * len(label) / 2.0)
        pieces.append(svg.line(x, frame.top, x, frame.bottom, class_="grid"))
        pieces.append(svg.text(inside, frame.bottom + 18.0, label, class_="tick mid"))
    for value, label in view.reach.heights().items():
        y = view.up(value)
        pieces.append(svg.line(frame.left, y, frame.right, y, class_="grid"))
        pieces.append(svg.text(frame.left - 8.0, y + 4.0, label, class_="tick end"))
    corner = [(frame.left, frame.top), (frame.left, frame.bottom), (frame.right, frame.bottom)]
    return [*pieces, svg.path(corner, class_="base")]


def _round_values(view: _View) -> list[float]:
    """Disparities for the axis: 0, and those whose labels do not touch."""
    power = math.floor(math.log10(view.reach.right))
    kept = [0.0]
    for k in range(power - 4, power + 1):
        for value in (round(factor * 10.0**k, 9 - k) for factor in (1.0, 2.0, 5.0)):
            room = 12.0 + _LETTER * (len(tick(value)) + len(tick(kept[-1]))) / 2.0
            if value <= view.reach.right and view.across(value) - view.across(kept[-1]) >= room:
                kept.append(value)
    return kept


def _steps(view: _View) -> list[tuple[float, float, float, float]]:
    """To the right at the power reached so far, up where a point reaches more; what can be seen."""
    frame = view.frame
    best = sorted((p.disparity, p.power) for p in view.panel.points if p.best)
    corners: list[tuple[float, float]] = []
    for disparity, power in best:
        if disparity <= view.reach.right:
            x, y = view.across(disparity), view.up(power)
            corners += [(x, corners[-1][1]), (x, y)] if corners else [(x, y)]
    corners += [(frame.right, corners[-1][1])] if corners else []
    return [
        (x, min(y, frame.bottom), p, q) for (x, y), (p, q) in pairwise(corners) if q <= frame.bottom
    ]


def _count(beyond: int, frame: Box, taken: Sequence[Box]) -> list[Markup]:
    """How many points lie beyond, where that covers least."""
    if not beyond:
        return []
    words = f"{counted(beyond, 'point')} beyond"
    wide, high = _LETTER * len(words) + 8.0, 18.0
    free = frame.right - frame.left - wide
    places = [
        Box(frame.left + share * free, top, frame.left + share * free + wide, top + high)
        for top in (*(frame.bottom - 26.0 - 20.0 * k for k in range(5)), frame.top + 2.0)
        for share in (1.0, 0.5, 0.0)
    ]
    box = min(places, key=lambda place: sum(place.shared(other) for other in taken))
    return [svg.text((box.left + box.right) / 2.0, box.top + 13.0, words, class_="beyond mid")]


def _key(panels: Sequence[Panel], looks: dict[str, Look], top: float) -> tuple[Markup, float]:
    """Marks with their methods, then what else is drawn; and where that ends."""
    pieces = [svg.line(_EDGE, top, _WIDTH - _EDGE, top, class_="grid")]
    longest = max(len(name) for name in looks)
    columns = max(1, min(5, int(_INNER / (34.0 + 1.15 * _LETTER * longest))))
    rows = -(-len(looks) // columns)
    for k, (name, look) in enumerate(looks.items()):
        column, row = divmod(k, rows)
        x, y = _EDGE + column * _INNER / columns, top + 26.0 + 22.0 * row
        pieces.append(svg.group(mark(look, x + 8.0, y - 4.5, 5.0), class_=look.colour))
        pieces.append(svg.text(x + 22.0, y, shortened(name, 110), full=name))
    y = top + 26.0 + 22.0 * rows + 8.0
    notes = _notes(panels)
    for k, (sample, words) in enumerate(notes):
        row, column = divmod(k, 2)
        x, line = _EDGE + column * _INNER / 2.0, y + 22.0 * row
        pieces.append(svg.group(sample, transform=f"translate({x:g} {line - 13.0:g})"))
        pieces.append(svg.text(x + 38.0, line, words, class_="quiet"))
    return svg.group(*pieces, class_="key"), y + 22.0 * ((len(notes) - 1) // 2) + 12.0


def _notes(panels: Sequence[Panel]) -> list[tuple[Markup, str]]:
    """Samples, 30 wide and 16 high, and what they mean."""
    points = [(_Reach.of(panel), point) for panel in panels for point in panel.points]
    stairs = svg.element("path", d="M0 15L13 15L13 7L30 7", class_="steps")
    ring = svg.circle(13.0, 7.0, 6.0, class_="ring")
    notes = [
        (svg.group(stairs, ring), "frontier: no other point of the panel beats these in both ways")
    ]
    if any(point.power_error is not None for _, point in points):
        bars = svg.group(*error_bars(15.0, 9.0, (4.0, 26.0), (1.0, 17.0)), class_="ink")
        notes.append((bars, "standard error of the mean over runs, to each side"))
    else:
        notes.append((Markup(""), "one run each, so there are no standard errors"))
    if any(not reach.holds(point) for reach, point in points):
        sample = svg.group(arrow(15.0, 13.0, aside=False), class_="ink")
        notes.append((sample, "a point beyond the limits of the panel"))
    scales = "Disparity is on a square-root scale. The axes of power do not begin at 0."
    return [*notes, (Markup(""), scales)]


def _told(panel: Panel) -> str:
    methods = listed([f"{s.method} ({counted(len(s.points), 'point')})" for s in panel.series])
    best = [(point, s.method) for s in panel.series for point in s.points if point.best]
    best.sort(key=lambda entry: entry[0].disparity)
    frontier = "; ".join(_point_told(panel, method, point) for point, method in best)
    reach = _Reach.of(panel)
    out = [s.method for s in panel.series for point in s.points if not reach.holds(point)]
    counts = listed([f"{out.count(name)} of {name}" for name in dict.fromkeys(out)])
    beyond = f" {counted(len(out), 'point')} beyond the limits: {counts}." if out else ""
    return (
        f"{panel.title}, {panel.note}: {panel.power} against {panel.disparity}, for {methods}. "
        f"On the frontier: {frontier or 'none'}.{beyond}"
    )


def _point_told(panel: Panel, method: str, point: Point) -> str:
    figures = ((point.power, point.power_error), (point.disparity, point.disparity_error))
    power, disparity = (
        number(value) if error is None else f"{number(value)} ± {number(error)}"
        for value, error in figures
    )
    strength = tick(point.strength)
    return f"{method}, strength {strength}: {panel.power} {power}, disparity {disparity}"
