"""Points of methods, and marks that tell many methods apart: by shape and fill, then by colour.

Shapes alone do it, so that a figure can be read in grey. The colours are near those of Okabe and
Ito, darker on white and lighter on black: they stand out from either by a contrast of 3 at least,
and from each other also for the colour-blind.

Reference: Okabe & Ito (2008), Color Universal Design.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from likeforlike.errors import InputError
from likeforlike.report import svg

__all__ = [
    "COLOURS",
    "LOOKS",
    "STYLE",
    "Colour",
    "Fill",
    "Look",
    "Point",
    "Series",
    "Shape",
    "Span",
    "arrow",
    "error_bars",
    "looks_of",
    "mark",
]

Shape = Literal[
    "circle", "square", "diamond", "up", "down", "left", "right", "star", "hourglass", "bowtie",
    "plus", "cross", "asterisk",
]  # fmt: skip
"""Triangles are named by where they point."""
Fill = Literal["full", "hollow"]
"""Shapes that are strokes only are hollow."""
Colour = Literal["blue", "vermilion", "green", "purple", "ochre", "ink", "grey"]

COLOURS: dict[Colour, tuple[str, str]] = {
    "blue": ("#0072b2", "#56b4e9"),
    "vermilion": ("#c24e00", "#ff9a5c"),
    "green": ("#00795c", "#1fae80"),
    "purple": ("#a03a7c", "#e29ac4"),
    "ochre": ("#b58900", "#f0d860"),
    "ink": ("#1b2430", "#e8ecf0"),
    "grey": ("#7d8893", "#7c8894"),
}
"""Each colour on white and on black."""


@dataclass(frozen=True, slots=True)
class Look:
    """How the points of one method are drawn.

    Attributes
    ----------
    shape, fill : what tells a method from all others.
    colour : says the same again, or which methods are of one family.
    """

    shape: Shape
    fill: Fill
    colour: Colour

    @property
    def form(self) -> tuple[Shape, Fill]:
        """What is left of a look in grey."""
        return self.shape, self.fill


@dataclass(frozen=True, slots=True)
class Point:
    """A method at one strength: means over runs.

    Attributes
    ----------
    strength : of the method.
    disparity, power : their means.
    disparity_error, power_error : standard errors of the means; `None` for a single run.
    best : whether it is on the frontier of its panel.
    """

    strength: float
    disparity: float
    power: float
    disparity_error: float | None = None
    power_error: float | None = None
    best: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one method, in the order of its strengths.

    Attributes
    ----------
    method : its name, in the key.
    points : one for each strength.
    look : how it is drawn; `None` takes one that is free.
    """

    method: str
    points: tuple[Point, ...]
    look: Look | None = None


LOOKS: tuple[Look, ...] = (
    Look("circle", "full", "blue"),
    Look("square", "hollow", "vermilion"),
    Look("up", "full", "green"),
    Look("diamond", "hollow", "purple"),
    Look("cross", "hollow", "ink"),
    Look("down", "full", "ochre"),
    Look("circle", "hollow", "grey"),
    Look("star", "full", "vermilion"),
    Look("up", "hollow", "blue"),
    Look("square", "full", "green"),
    Look("plus", "hollow", "purple"),
    Look("hourglass", "full", "ink"),
    Look("down", "hollow", "vermilion"),
    Look("diamond", "full", "ochre"),
    Look("left", "full", "blue"),
    Look("right", "hollow", "green"),
    Look("asterisk", "hollow", "grey"),
    Look("bowtie", "full", "purple"),
    Look("star", "hollow", "ink"),
    Look("left", "hollow", "ochre"),
    Look("right", "full", "grey"),
    Look("hourglass", "hollow", "blue"),
    Look("bowtie", "hollow", "vermilion"),
)
"""Looks in the order in which methods get them; no two have the same form."""


def looks_of(methods: Iterable[str], given: Mapping[str, Look] | None = None) -> dict[str, Look]:
    """A look for every method, in the order of the methods.

    Parameters
    ----------
    methods : their names; repeated ones count once.
    given : looks that are settled. The others get what is left.

    Examples
    --------
    >>> from likeforlike.report.markers import Look, looks_of
    >>> found = looks_of(["a", "b"], {"b": Look("circle", "full", "ink")})
    >>> found["a"].form, found["b"].form
    (('square', 'hollow'), ('circle', 'full'))
    """
    names = list(dict.fromkeys(methods))
    settled = {name: look for name, look in (given or {}).items() if name in names}
    taken = [look.form for look in settled.values()]
    if len(set(taken)) < len(taken):
        raise InputError(f"given has two methods of the same shape and fill: {settled}.")
    free = iter(look for look in LOOKS if look.form not in taken)
    if len(names) > len(LOOKS):
        raise InputError(
            f"methods are {len(names)}, and a figure tells at most {len(LOOKS)} apart; draw fewer."
        )
    return {name: settled[name] if name in settled else next(free) for name in names}


def mark(look: Look, x: float, y: float, radius: float) -> Markup:
    """The mark of a look with its middle at a place; about the same area for every shape.

    Examples
    --------
    >>> from likeforlike.report.markers import LOOKS, mark
    >>> print(mark(LOOKS[0], 10.0, 20.0, 4.0))
    <circle cx="10" cy="20" r="4" class="full"/>
    """
    if look.shape == "circle":
        return svg.circle(x, y, radius, class_=look.fill)
    if look.shape in _STROKES:
        strokes = (
            f"M{x + radius * a:.1f} {y + radius * b:.1f}L{x - radius * a:.1f} {y - radius * b:.1f}"
            for a, b in _STROKES[look.shape]
        )
        return svg.element("path", d="".join(strokes), class_="stroke")
    corners = [(x + radius * a, y + radius * b) for a, b in _CORNERS[look.shape]]
    return svg.path(corners, closed=True, class_=look.fill)


Span = tuple[float, float] | None
"""Ends of a bar, if there is one."""


def error_bars(x: float, y: float, across: Span, up: Span) -> list[Markup]:
    """Thin lines through a place, from end to end."""
    lines = []
    if across is not None:
        lines.append(svg.line(across[0], y, across[1], y, class_="bar"))
    if up is not None:
        lines.append(svg.line(x, up[0], x, up[1], class_="bar"))
    return lines


def arrow(x: float, y: float, *, aside: bool) -> Markup:
    """A small triangle with its tip at a border: the one to the right, or the one below."""
    wings = [(-7.0, -4.0), (-7.0, 4.0)] if aside else [(-4.0, -7.0), (4.0, -7.0)]
    return svg.path([(x, y), *((x + a, y + b) for a, b in wings)], closed=True, class_="full")


def _turned(corners: Iterable[tuple[float, float]], degrees: float) -> list[tuple[float, float]]:
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return [(a * cos - b * sin, a * sin + b * cos) for a, b in corners]


def _star(outer: float, inner: float) -> list[tuple[float, float]]:
    spokes = [(0.0, -(inner if k % 2 else outer)) for k in range(10)]
    return [_turned([spoke], 36.0 * k)[0] for k, spoke in enumerate(spokes)]


_UP = [(0.0, -1.2), (1.12, 0.82), (-1.12, 0.82)]
_GLASS = [(-1.0, -1.1), (1.0, -1.1), (-1.0, 1.1), (1.0, 1.1)]
# In multiples of the radius, y downwards as on the screen.
_CORNERS: dict[Shape, list[tuple[float, float]]] = {
    "square": [(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
    "diamond": [(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
    "up": _UP,
    "right": _turned(_UP, 90.0),
    "down": _turned(_UP, 180.0),
    "left": _turned(_UP, 270.0),
    "star": _star(1.45, 0.6),
    "hourglass": _GLASS,
    "bowtie": _turned(_GLASS, 90.0),
}
_PLUS = [(1.2, 0.0), (0.0, 1.2)]
_STROKES: dict[Shape, list[tuple[float, float]]] = {
    "plus": _PLUS,
    "cross": _turned(_PLUS, 45.0),
    "asterisk": [_turned([(1.25, 0.0)], degrees)[0] for degrees in (30.0, 90.0, 150.0)],
}

_TYPE = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def _rules(paper: str, ink: str, quiet: str, rule: str, shade: int) -> str:
    """Colours as rules without variables, which many programs that show SVG do not know."""
    own = "".join(
        f".frontiers .{name} {{ color: {pair[shade]}; }}" for name, pair in COLOURS.items()
    )
    return (
        f".frontiers .paper {{ fill: {paper}; }}"
        f".frontiers text {{ fill: {ink}; stroke: {paper}; }}"
        f".frontiers .quiet, .frontiers .tick, .frontiers .beyond {{ fill: {quiet}; }}"
        f".frontiers .grid {{ stroke: {rule}; }}"
        f".frontiers .base {{ stroke: {quiet}; }}"
        f".frontiers .steps, .frontiers .ring {{ stroke: {ink}; }}"
        f"{own}"
    )


STYLE = f"""
.frontiers text {{ font: 13px {_TYPE}; font-variant-numeric: tabular-nums; white-space: pre;
  stroke-width: 3px; stroke-linejoin: round; paint-order: stroke; }}
.frontiers .heading {{ font-size: 18px; font-weight: 600; }}
.frontiers .name {{ font-size: 15px; font-weight: 600; }}
.frontiers .axis, .frontiers .quiet, .frontiers .tick, .frontiers .beyond {{ font-size: 12px; }}
.frontiers .beyond {{ font-style: italic; }}
.frontiers .mid {{ text-anchor: middle; }}
.frontiers .end {{ text-anchor: end; }}
.frontiers .base, .frontiers .steps, .frontiers .ring {{ fill: none; }}
.frontiers .steps {{ stroke-width: 1.3; stroke-linecap: square; }}
.frontiers .ring {{ stroke-width: 1.1; }}
.frontiers .bar {{ stroke: currentColor; stroke-opacity: .5; }}
.frontiers .full {{ fill: currentColor; }}
.frontiers .hollow {{ fill: none; stroke: currentColor; stroke-width: 1.5; }}
.frontiers .stroke {{ stroke: currentColor; stroke-width: 1.9; stroke-linecap: round; }}
{_rules("#ffffff", "#1b2430", "#55606e", "#e3e7ec", 0)}
@media screen and (prefers-color-scheme: dark) {{
{_rules("#14181d", "#e8ecf0", "#a5b0bc", "#303841", 1)}
}}
"""
