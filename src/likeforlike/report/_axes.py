"""Axes: a line for each round value with its label, which stays inside the drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from likeforlike.report import _svg as svg
from likeforlike.report._format import fixed, tick
from likeforlike.report._scale import ticks

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
    """An upright line for each value, and its label below."""
    marks = []
    for value in values:
        x, label = place(value), tick(value)
        half = LETTER * len(label) / 2.0
        middle = min(max(x, room[0] + half), room[1] - half)
        marks.append(upright(x, stretches, class_="grid"))
        marks.append(svg.text(middle, below, label, class_="tick mid"))
    return marks


def upright(x: float, stretches: Sequence[Stretch], *, class_: str) -> Markup:
    """An upright line in one part or several."""
    if len(stretches) == 1:
        return svg.line(x, stretches[0][0], x, stretches[0][1], class_=class_)
    strokes = "".join(f"M{x:.1f} {top:g}V{end:g}" for top, end in stretches)
    return svg.element("path", d=strokes, class_=class_)


def height_labels(low: float, high: float) -> dict[float, str]:
    """Round values between two heights and their labels, all with the same decimals."""
    values = ticks(low, high, 5)
    places = max(len(tick(value).partition(".")[2]) for value in values)
    return {value: fixed(value, places) for value in values}


def axis_up(labels: Mapping[float, str], place: Place, left: float, right: float) -> list[Markup]:
    """A level line for each value from `left` to `right`, and its label to the left."""
    marks = []
    for value, label in labels.items():
        y = place(value)
        marks.append(svg.line(left, y, right, y, class_="grid"))
        marks.append(svg.text(left - 8.0, y + 4.0, label, class_="tick end"))
    return marks
