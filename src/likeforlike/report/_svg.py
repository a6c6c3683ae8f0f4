"""Pieces of SVG, and the way from units of the score to lengths on the screen.

Text and attributes are escaped here, so no chart has to think of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from markupsafe import Markup, escape

from likeforlike.report._format import escape_hidden

Value = str | float | None
"""Of an attribute; `None` leaves it out."""


def element(name: str, *children: str, **attributes: Value) -> Markup:
    """Write an element of SVG; text among its children is escaped, markup is kept."""
    written = Markup("").join(
        Markup(' {}="{}"').format(Markup(key.rstrip("_").replace("_", "-")), _plain(value))
        for key, value in attributes.items()
        if value is not None
    )
    tag = Markup(name)
    if not children:
        return Markup("<{}{}/>").format(tag, written)
    inner = Markup("").join(escape(escape_hidden(child)) for child in children)
    return Markup("<{}{}>{}</{}>").format(tag, written, inner, tag)


def _plain(value: str | float) -> str:
    return escape_hidden(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")


def chart(kind: str, title: str, desc: str, size: tuple[float, float], *children: Markup) -> Markup:
    """Write a whole drawing, with its name and its figures in words for readers without sight."""
    return element(
        "svg",
        element("title", title),
        element("desc", desc),
        *children,
        class_=f"chart {kind}",
        role="img",
        viewBox=f"0 0 {_plain(size[0])} {_plain(size[1])}",
    )


def group(*children: Markup, **attributes: Value) -> Markup:
    """Pieces that belong together."""
    return element("g", *children, **attributes)


def rect(x: float, y: float, width: float, height: float, **attributes: Value) -> Markup:
    """Draw a rectangle; one of no width is still drawn as nothing, never as an error."""
    return element("rect", x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), **attributes)


def line(x1: float, y1: float, x2: float, y2: float, **attributes: Value) -> Markup:
    """Draw a straight line."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, **attributes)


def circle(x: float, y: float, radius: float, **attributes: Value) -> Markup:
    """Draw a circle."""
    return element("circle", cx=x, cy=y, r=radius, **attributes)


def diamond(x: float, y: float, radius: float, **attributes: Value) -> Markup:
    """Draw a square on its corner."""
    r = _plain(radius)
    corners = f"M{_plain(x - radius)} {_plain(y)}l{r} -{r} {r} {r} -{r} {r}z"
    return element("path", d=corners, **attributes)


def path(points: list[tuple[float, float]], *, closed: bool = False, **attributes: Value) -> Markup:
    """Straight strokes from point to point."""
    strokes = "L".join(f"{_plain(x)} {_plain(y)}" for x, y in points)
    return element("path", d=f"M{strokes}{'z' if closed else ''}", **attributes)


def text(x: float, y: float, words: str, *, full: str | None = None, **attributes: Value) -> Markup:
    """Words at a place; `full` is what a pointer over them shows, if they were shortened."""
    if full is None or full == words:
        return element("text", words, x=x, y=y, **attributes)
    return element("text", element("title", full), words, x=x, y=y, **attributes)


@dataclass(frozen=True, slots=True)
class AxisScale:
    """A linear map of [low, high] onto [start, end]."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a value lies."""
        wide = self.high - self.low
        share = (value - self.low) / wide if wide > 0.0 else 0.5
        return self.start + share * (self.end - self.start)

    def clipped(self, value: float) -> float:
        """Where a value lies, or the end of the scale it lies beyond."""
        return self(min(max(value, self.low), self.high))

    def holds(self, value: float) -> bool:
        """Whether a value lies on the scale."""
        return self.low <= value <= self.high


# Parts of anything narrower may be too small to be held.
_NARROWEST = 1e-300


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values inside [low, high], roughly this many."""
    wide = high - low
    if not (math.isfinite(wide) and wide > _NARROWEST):
        return [low]
    rough = wide / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = min(
        (power * factor for factor in (1.0, 2.0, 5.0, 10.0)), key=lambda s: abs(math.log(s / rough))
    )
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(k * step, digits) + 0.0 for k in range(first, last + 1)]
