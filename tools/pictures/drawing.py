"""What all pictures have in common: size, type, colors, axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from markupsafe import Markup

from likeforlike.report import AxisScale, tick
from likeforlike.report import _svg as svg

__all__ = ["WIDTH", "Axes", "key", "picture"]

WIDTH = 920.0
"""Of every picture, in pixels."""

# Pages show pictures at two thirds of their size, so type is larger than in a report.
_TYPE = """
.likeforlike .chart text { font-size: 16px; }
.likeforlike .chart text.small, .likeforlike .chart text.tick { font-size: 14.5px; }
.likeforlike .chart text.head { font-size: 18px; font-weight: 650; }
.likeforlike .paper { fill: var(--paper); }
.likeforlike .bubble { fill: var(--own); stroke: var(--own); }
.likeforlike .ring { fill: var(--paper); stroke: var(--own); stroke-width: 3; }
.likeforlike .dot { fill: var(--own); fill-opacity: .4; stroke: none; }
.likeforlike .flow { fill: var(--own); fill-opacity: .45; stroke: var(--own); stroke-width: 1; }
.likeforlike .move { stroke: var(--quiet); stroke-opacity: .7; fill: none; }
"""


def picture(title: str, told: str, height: float, *pieces: Markup) -> str:
    """A whole picture as a file: it needs nothing from outside and follows light and dark mode.

    Parameters
    ----------
    title, told : its name, and all it shows as text.
    height : in pixels.
    pieces : of SVG.

    Examples
    --------
    >>> from tools.pictures.drawing import picture
    >>> picture("A title", "What is seen.", 100.0).startswith("<svg xmlns=")
    True
    """
    style = files("likeforlike.report").joinpath("templates", "chart.css").read_text("utf-8")
    drawn = svg.element(
        "svg",
        svg.element("title", title),
        svg.element("desc", told),
        svg.element("style", Markup(style + _TYPE)),
        svg.rect(0.0, 0.0, WIDTH, height, class_="paper", rx=8.0),
        svg.group(*pieces, class_="chart"),
        xmlns="http://www.w3.org/2000/svg",
        class_="likeforlike",
        role="img",
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        width=WIDTH,
        height=height,
    )
    return f"{drawn}\n"


@dataclass(frozen=True, slots=True)
class Axes:
    """Two scales, and how their axes are drawn.

    Attributes
    ----------
    across, up : from values to places.
    """

    across: AxisScale
    up: AxisScale

    def __call__(self, x: float, y: float) -> tuple[float, float]:
        """Where a point lies."""
        return self.across(x), self.up(y)

    def drawn(
        self,
        names: tuple[str, str],
        marks: tuple[Sequence[float], Sequence[float]],
        said: Callable[[float], str] = tick,
    ) -> Markup:
        """Grid, values and names of the axes.

        Parameters
        ----------
        names : of the axis across, below its middle, and of the axis upwards, above its end.
        marks : values on each.
        said : how values of the axis upwards are written.
        """
        left, right = self.across.start, self.across.end
        bottom, top = self.up.start, self.up.end
        pieces = []
        for value in marks[0]:
            x = self.across(value)
            pieces.append(svg.line(x, top, x, bottom, class_="grid"))
            pieces.append(svg.text(x, bottom + 20.0, tick(value), class_="tick mid"))
        for value in marks[1]:
            y = self.up(value)
            pieces.append(svg.line(left, y, right, y, class_="grid"))
            pieces.append(svg.text(left - 8.0, y + 5.0, said(value), class_="tick end"))
        middle = (left + right) / 2.0
        return svg.group(
            *pieces,
            svg.line(left, bottom, right, bottom, class_="base"),
            svg.text(middle, bottom + 44.0, names[0], class_="small mid"),
            svg.text(left, top - 14.0, names[1], class_="small"),
        )


def key(x: float, y: float, mark: Callable[[float, float], Markup], words: str) -> Markup:
    """A mark and what it stands for; `y` is the foot of the words.

    Examples
    --------
    >>> from likeforlike.report import _svg as svg
    >>> from tools.pictures.drawing import key
    >>> print(key(0.0, 20.0, lambda x, y: svg.circle(x, y, 5.0), "women"))
    <g><circle cx="10" cy="15" r="5"/><text x="28" y="20">women</text></g>
    """
    return svg.group(mark(x + 10.0, y - 5.0), svg.text(x + 28.0, y, words))
