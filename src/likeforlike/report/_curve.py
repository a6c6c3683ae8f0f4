"""The gap along a number: a curve through the windows with its band, one chart a category."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from likeforlike.document._results import AuditDocument, LevelAudit, Smooth, Window
from likeforlike.report import _svg as svg
from likeforlike.report._axes import Frame, axis_across, axis_up, height_labels
from likeforlike.report._format import confidence, interval, number, shortened, tick
from likeforlike.report._scale import AxisScale, ticks

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
    """The gap along the number of the first contrast; empty if nothing was smoothed."""
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
        f"Gap along {_name(document, smooth)}",
        _in_words(points),
        (frame.width, frame.height),
        _axes(document, smooth, frame, across, up),
        *pieces,
    )


def _name(document: AuditDocument, smooth: Smooth) -> str:
    if smooth.method == "carry":
        return smooth.columns[0]
    return f"the estimated share of {document.contrasts[0].groups[1]}"


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
    gap = f"↑ {shortened(second, letters)} minus {shortened(first, letters)}"
    return svg.group(
        *marks,
        svg.line(frame.left, up(0.0), frame.right, up(0.0), class_="zero"),
        svg.text(0.0, 14.0, gap, class_="word", full=f"{second} minus {first}"),
        svg.text(
            frame.right,
            frame.bottom + 44.0,
            f"{shortened(_name(document, smooth), 40)} →",
            class_="word end",
        ),
    )


def _in_words(points: Sequence[_CurvePoint]) -> str:
    return "; ".join(
        f"at {tick(p.window.center)} a gap of {number(p.level.gap)}"
        + ("" if p.level.gap_interval is None else f", {interval(p.level.gap_interval)}")
        for p in points
    )


def band_words(document: AuditDocument) -> str:
    """What the band is, as a caption says it."""
    share = confidence(document.settings.confidence)
    return f"Band: {share} interval of the gap in each window by itself. Hollow points are thin."
