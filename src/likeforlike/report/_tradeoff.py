"""Disparity against AUC: one point a network, with its interval, and a repair beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from markupsafe import Markup

from likeforlike.document._training_types import ModelPart, NetworkPart, TrainingFigures
from likeforlike.report import _svg as svg
from likeforlike.report._axes import Frame, axis_across, axis_up, height_labels
from likeforlike.report._format import confidence, fixed, interval, listed, number, tick
from likeforlike.report._labels import Box, place_labels
from likeforlike.report._scale import Scale, ticks
from likeforlike.report._training_finding import distance_of, estimate_of

Look = Literal["network", "chosen", "repair"]


WIDE = Frame("wide", 920.0, 430.0, 54.0, 908.0, 34.0, 372.0)
NARROW = Frame("narrow", 340.0, 400.0, 44.0, 334.0, 34.0, 340.0)
# What stands before the strength in a label.
_WORD = {"wide": "strength ", "narrow": ""}


@dataclass(frozen=True, slots=True)
class _Point:
    label: str
    sentence: str
    look: Look
    x: float
    y: float
    value: float
    bounds: tuple[float, float]


def tradeoff_chart(training: TrainingFigures, frame: Frame = WIDE) -> Markup:
    """Estimated disparity with its interval (to the right) against AUC (upwards).

    The frontier is drawn as steps: at each disparity the largest AUC among the networks that have
    no more than it.
    """
    across, up = _scales(training, frame)
    points = [
        *(
            _point(model, f"strength {tick(model['strength'])}", look, across, up)
            for model, look in _looks(training)
        ),
        _point(training["repair"], "repair", "repair", across, up),
    ]
    steps = _steps([points[k] for k in training["frontier"]], frame)
    return svg.chart(
        f"tradeoff {frame.kind}",
        "Disparity against AUC",
        _told(training, points),
        (frame.width, frame.height),
        _axes(training, frame, across, up),
        _limit(training["limit"], frame, across),
        svg.path(steps, class_="c steps"),
        *(_interval(point, across) for point in points),
        *(_mark(point.look, point.x, point.y) for point in points),
        *_labels(points, frame, steps, across),
    )


def _looks(training: TrainingFigures) -> list[tuple[NetworkPart, Look]]:
    return [
        (model, "chosen" if k == training["chosen"] else "network")
        for k, model in enumerate(training["models"])
    ]


def _scales(training: TrainingFigures, frame: Frame) -> tuple[Scale, Scale]:
    """Disparity from 0; AUC only where there are points, with room for labels."""
    shown = [*training["models"], training["repair"]]
    longest = max(_ends(model)[1] for model in shown)
    right = 1.04 * max(longest, training["limit"]) or 1.0
    low, high = min(model["auc"] for model in shown), max(model["auc"] for model in shown)
    room = 0.14 * (high - low) or 0.01
    return (
        Scale(0.0, right, frame.left, frame.right),
        Scale(low - room, high + room, frame.bottom, frame.top),
    )


def _point(model: ModelPart, label: str, look: Look, across: Scale, up: Scale) -> _Point:
    value, ends = distance_of(model), _ends(model)
    sentence = (
        f"{label}: AUC {fixed(model['auc'], 3)}, estimated disparity {number(value)}, "
        f"interval {interval(ends)}"
    )
    return _Point(label, sentence, look, across(value), up(model["auc"]), value, ends)


def _ends(model: ModelPart) -> tuple[float, float]:
    """Ends of the interval that is drawn; without an upper end it stops at the value."""
    low, high = estimate_of(model)["interval"]
    return low or 0.0, distance_of(model) if high is None else high


def _axes(training: TrainingFigures, frame: Frame, across: Scale, up: Scale) -> Markup:
    values = ticks(across.low, across.high, 6 if frame.kind == "wide" else 4)
    whole, room = [(frame.top, frame.bottom)], (0.0, frame.width)
    marks = axis_across(values, across, whole, below=frame.bottom + 18.0, room=room)
    marks += axis_up(height_labels(up.low, up.high), up, frame.left, frame.right)
    share = confidence(estimate_of(training["repair"])["confidence"])
    below = f"estimated disparity, {share} interval"
    return svg.group(
        *marks,
        svg.line(frame.left, frame.bottom, frame.right, frame.bottom, class_="base"),
        svg.line(frame.left, frame.top, frame.left, frame.bottom, class_="base"),
        svg.text(0.0, 14.0, "↑ AUC", class_="word"),
        svg.text(frame.right, frame.bottom + 44.0, f"{below} →", class_="word end"),
    )


def _limit(limit: float, frame: Frame, across: Scale) -> Markup:
    x, words = across(limit), f"limit {tick(limit)}"
    # Not over the name of the axis, and not out of the drawing.
    place = min(max(x, frame.left + 4.0 * len(words)), frame.right - 4.0 * len(words))
    return svg.group(
        svg.line(x, frame.top - 6.0, x, frame.bottom, class_="limit"),
        svg.text(place, frame.top - 11.0, words, class_="small mid"),
    )


def _steps(frontier: Sequence[_Point], frame: Frame) -> list[tuple[float, float]]:
    """To the right at the AUC reached so far, up where a network reaches more."""
    points: list[tuple[float, float]] = []
    for point in frontier:
        if points:
            points.append((point.x, points[-1][1]))
        points.append((point.x, point.y))
    return [*points, (frame.right, points[-1][1])]


def _interval(point: _Point, across: Scale) -> Markup:
    low, high = (across(bound) for bound in point.bounds)
    look = f"{_COLORS[point.look]} span"
    ends = [svg.line(x, point.y - 4.0, x, point.y + 4.0, class_=look) for x in (low, high)]
    return svg.group(svg.line(low, point.y, high, point.y, class_=look), *ends)


_COLORS: dict[Look, str] = {"network": "c", "chosen": "e", "repair": "b"}


def _mark(look: Look, x: float, y: float) -> Markup:
    """A circle for a network, a diamond for the chosen one, a triangle for the repair."""
    color = _COLORS[look]
    if look == "chosen":
        return svg.diamond(x, y, 7.5, class_=f"{color} full")
    if look == "network":
        return svg.circle(x, y, 4.5, class_=f"{color} hollow")
    corners = [(x - 6.5, y + 5.0), (x, y - 6.5), (x + 6.5, y + 5.0)]
    return svg.path(corners, closed=True, class_=f"{color} hollow")


def _labels(
    points: Sequence[_Point], frame: Frame, steps: Sequence[tuple[float, float]], across: Scale
) -> list[Markup]:
    taken = [Box(p.x - 8.0, p.y - 8.0, p.x + 8.0, p.y + 8.0) for p in points]
    taken += [Box(across(p.bounds[0]), p.y - 2.0, across(p.bounds[1]), p.y + 2.0) for p in points]
    for (x1, y1), (x2, y2) in pairwise(steps):
        taken.append(
            Box(min(x1, x2) - 1.0, min(y1, y2) - 1.0, max(x1, x2) + 1.0, max(y1, y2) + 1.0)
        )
    words = [p.label.replace("strength ", _WORD[frame.kind]) for p in points]
    inner = Box(frame.left + 3.0, frame.top, frame.right, frame.bottom - 2.0)
    boxes = place_labels([(p.x, p.y) for p in points], words, inner, taken)
    return [
        svg.text(
            (box.left + box.right) / 2.0,
            box.bottom - 4.0,
            word,
            class_="mid strong" if point.look == "chosen" else "mid",
        )
        for point, word, box in zip(points, words, boxes, strict=True)
    ]


def tradeoff_key(kind: str) -> Markup:
    """A mark of the chart on its own: `"network"`, `"chosen"`, `"repair"` or `"frontier"`."""
    marks = {
        "network": _mark("network", 14.0, 8.0),
        "chosen": _mark("chosen", 14.0, 8.0),
        "repair": _mark("repair", 14.0, 8.0),
        "frontier": svg.path(
            [(1.0, 13.0), (14.0, 13.0), (14.0, 3.0), (27.0, 3.0)], class_="c steps"
        ),
    }
    return svg.element("svg", marks[kind], class_="key", viewBox="0 0 28 16", aria_hidden="true")


def _told(training: TrainingFigures, points: Sequence[_Point]) -> str:
    best = listed([points[k].label for k in training["frontier"]])
    chosen = points[training["chosen"]].label
    return (
        f"{'; '.join(point.sentence for point in points)}. On the frontier: {best}. "
        f"Chosen: {chosen}, under a limit of {tick(training['limit'])}."
    )
