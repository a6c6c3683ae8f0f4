"""Charts of figures over periods, and of differences one below the other, as SVG.

- `time_chart`: a figure of every period with its interval, and marks: a limit, an alarm.
- `difference_chart`: differences with their intervals, one row each, wide enough for a phone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from likeforlike.report import _svg as svg
from likeforlike.report._charts import (
    LETTER,
    NARROW,
    WIDE,
    Frame,
    axis_across,
    axis_up,
    height_labels,
    upright,
)
from likeforlike.report._format import interval, number, shorten
from likeforlike.report._svg import AxisScale, ticks

Ends = tuple[float, float] | None
FRAMES: Mapping[str, Frame] = {
    "wide": WIDE,
    "narrow": NARROW,
    "small": Frame("small", 280.0, 150.0, 46.0, 274.0, 10.0, 122.0),
}
"""Charts for desks, for phones, and for one of many."""

_ROOM, _ROW, _WIDTH = 0.06, 46.0, 440.0


def time_chart(
    kind: str,
    title: str,
    periods: Sequence[str],
    figures: Sequence[float | None],
    bands: Sequence[Ends],
    *,
    heights: tuple[float, float] | None = None,
    labels: Mapping[float, str] | None = None,
    limit: float | None = None,
    alarm: int | None = None,
) -> Markup:
    """Draw a figure of every period, with its interval and where the alarm was.

    Parameters
    ----------
    kind : "wide", "narrow" or "small".
    title : of the drawing.
    periods, figures, bands : one entry each; `None` where there is none.
    heights : that the axis holds; by default what the figures and bands need.
    labels : of the axis, by height.
    limit : a height to be marked.
    alarm : the place of the period with the alarm.
    """
    frame = FRAMES[kind]
    low, high = heights or chart_heights(figures, bands)
    across = AxisScale(-0.5, len(periods) - 0.5, frame.left, frame.right)
    up = AxisScale(low, high, frame.bottom, frame.top)
    pieces = axis_up(labels or height_labels(low, high), up, frame.left, frame.right)
    pieces += _period_labels(periods, across, frame)
    if up.holds(0.0) and labels is None:
        pieces.append(svg.line(frame.left, up(0.0), frame.right, up(0.0), class_="zero"))
    if limit is not None:
        pieces.append(svg.line(frame.left, up(limit), frame.right, up(limit), class_="b limit"))
    if alarm is not None:
        whole = [(frame.top, frame.bottom)]
        pieces.append(upright(across(alarm), whole, class_="b span dashed"))
        if kind != "small":
            right = across(alarm) > 0.5 * (frame.left + frame.right)
            x = across(alarm) + (-6.0 if right else 6.0)
            side = "b word end" if right else "b word"
            pieces.append(svg.text(x, frame.top - 10.0, "alarm", class_=side))
    known = [(across(k), up.clipped(x)) for k, x in enumerate(figures) if x is not None]
    if len(known) > 1:
        pieces.append(svg.path(known, class_="e steps"))
    radius = 4.0 if len(periods) <= 24 and kind != "small" else 2.5
    words = []
    for k, (period, value, ends) in enumerate(zip(periods, figures, bands, strict=True)):
        if value is None:
            continue
        if ends is not None:
            top, bottom = up.clipped(ends[1]), up.clipped(ends[0])
            pieces.append(svg.line(across(k), bottom, across(k), top, class_="e span"))
        pieces.append(svg.circle(across(k), up.clipped(value), radius, class_="e full"))
        words.append(f"{period}: {number(value)}" + ("" if ends is None else f", {interval(ends)}"))
    return svg.chart(
        f"time {frame.kind}", title, "; ".join(words) + ".", (frame.width, frame.height), *pieces
    )


def chart_heights(figures: Sequence[float | None], bands: Sequence[Ends]) -> tuple[float, float]:
    """Return heights that hold 0, all figures and all bands, with some room."""
    ends = [0.0, *(x for x in figures if x is not None)]
    ends += [x for band in bands if band is not None for x in band]
    low, high = min(ends), max(ends)
    room = _ROOM * (high - low) or 1.0
    return low - room, high + room


def _period_labels(periods: Sequence[str], across: AxisScale, frame: Frame) -> list[Markup]:
    """Name as many periods below the axis as there is room for, the first among them."""
    letters = min(max(map(len, periods)), 12)
    fitting = max(1, int((frame.right - frame.left) / (LETTER * letters + 14.0)))
    step = -(-len(periods) // fitting)
    pieces = []
    for k in range(0, len(periods), step):
        half = LETTER * letters / 2.0
        x = min(max(across(k), frame.left + half - 20.0), frame.width - half)
        word = shorten(periods[k], 12)
        pieces.append(svg.text(x, frame.bottom + 18.0, word, class_="tick mid", full=periods[k]))
    return pieces


def difference_chart(
    title: str, rows: Sequence[tuple[str, float | None, Ends]], *, better: str
) -> Markup:
    """Draw differences with their intervals; `better` says what lies to the left of 0."""
    scale_low, scale_high = chart_heights([x for _, x, _ in rows], [ends for *_, ends in rows])
    scale = AxisScale(scale_low, scale_high, 4.0, _WIDTH - 4.0)
    bottom = 26.0 + _ROW * len(rows)
    stretches = [(26.0 + _ROW * k + 22.0, 26.0 + _ROW * k + 42.0) for k in range(len(rows))]
    pieces = [svg.text(4.0, 14.0, f"← {better}", class_="word")]
    values = ticks(scale_low, scale_high, 4)
    pieces += axis_across(values, scale, stretches, below=bottom + 18.0, room=(0.0, _WIDTH))
    pieces.append(upright(scale(0.0), stretches, class_="zero"))
    words = []
    for k, (name, value, ends) in enumerate(rows):
        top = 26.0 + _ROW * k
        figure = number(value) + ("" if ends is None else f"  [{interval(ends)}]")
        short = shorten(name, 28)
        pieces.append(svg.text(0.0, top + 14.0, short, class_="name", full=name))
        pieces.append(svg.text(_WIDTH, top + 14.0, figure, class_="figure end"))
        if ends is not None:
            low, high = scale.clipped(ends[0]), scale.clipped(ends[1])
            pieces.append(svg.line(low, top + 32.0, high, top + 32.0, class_="e span"))
        if value is not None:
            pieces.append(svg.diamond(scale.clipped(value) - 6.0, top + 32.0, 6.0, class_="e full"))
        words.append(f"{name}: {figure}")
    return svg.chart("differences", title, "; ".join(words) + ".", (_WIDTH, bottom + 26.0), *pieces)
