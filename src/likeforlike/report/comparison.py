"""Everybody, among equals, by chance, and the estimate: four lengths on one scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from likeforlike.report import svg
from likeforlike.report.format import interval, number, tick
from likeforlike.report.scale import Scale, ticks

__all__ = ["comparison_chart"]

Part = Mapping[str, Any]

_WIDTH, _ROW, _FOOT = 440.0, 48.0, 26.0


@dataclass(frozen=True, slots=True)
class _Bar:
    label: str
    value: float
    look: str
    bounds: tuple[float, float] | None = None

    @property
    def told(self) -> str:
        between = "" if self.bounds is None else f"  [{interval(self.bounds, ', ')}]"
        return f"{number(self.value)}{between}"


def comparison_chart(document: Part) -> Markup:
    """Conditional against unconditional disparity, what chance alone gives, and the estimate.

    Parameters
    ----------
    document : of `Audit.to_dict`; the first contrast is drawn.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> from likeforlike.report.comparison import comparison_chart
    >>> loans = load_loans().frame
    >>> audit = lfl.audit(loans, score="approved", sensitive="sex", legitimate="income")
    >>> "Among equals, as observed: 0.200" in comparison_chart(audit.to_dict())
    True
    """
    bars = _bars(document)
    longest = max([bar.value for bar in bars] + [bar.bounds[1] for bar in bars if bar.bounds])
    scale = Scale(0.0, longest or 1.0, 0.0, _WIDTH - 12.0)
    height = _ROW * len(bars) + _FOOT
    return svg.chart(
        "comparison",
        "Conditional against unconditional disparity",
        "; ".join(f"{bar.label}: {bar.told}" for bar in bars) + ".",
        (_WIDTH, height),
        _axis(scale, height),
        *(_row(bar, scale, _ROW * k) for k, bar in enumerate(bars)),
    )


def _bars(document: Part) -> list[_Bar]:
    contrast = document["contrasts"][0]
    equals = bool(document["roles"]["legitimate"])
    everybody = "Everybody, whatever their level" if equals else "Everybody, as observed"
    bars = [_Bar(everybody, contrast["unconditional"]["value"], "c soft")]
    if equals:
        bars.append(_Bar("Among equals, as observed", contrast["conditional"]["value"], "e soft"))
    if contrast["test"] is not None:
        chance = contrast["test"]["null_distance"]
        bars.append(_Bar("Expected by chance at equal treatment", chance, "c hatched"))
    sized = contrast["estimate"]
    if sized is not None:
        bounds = (sized["interval"][0], sized["interval"][1])
        bars.append(_Bar("Estimate", sized["value"], "e", bounds))
    return bars


def _axis(scale: Scale, height: float) -> Markup:
    bottom = height - _FOOT
    marks = []
    for value in ticks(scale.low, scale.high, 4):
        # Labels of the outermost ticks would stick out of the drawing if they were centred.
        place = min(scale(value), _WIDTH - 20.0)
        look = "tick mid" if place > 12.0 else "tick"
        marks.append(svg.line(scale(value), 0.0, scale(value), bottom, class_="grid"))
        marks.append(svg.text(place, bottom + 18.0, tick(value), class_=look))
    return svg.group(*marks, svg.line(0.0, 0.0, 0.0, bottom, class_="zero"))


def _row(bar: _Bar, scale: Scale, top: float) -> Markup:
    words = svg.text(6.0, top + 15.0, bar.label, class_="name")
    figure = svg.text(_WIDTH, top + 15.0, bar.told, class_="figure strong end")
    middle = top + 30.0
    if bar.bounds is None:
        mark = svg.rect(0.0, middle - 7.0, scale(bar.value), 14.0, class_=bar.look)
    else:
        low, high = (scale(bound) for bound in bar.bounds)
        mark = svg.line(low, middle, high, middle, class_="e span")
        mark += svg.line(low, middle - 5.0, low, middle + 5.0, class_="e span")
        mark += svg.line(high, middle - 5.0, high, middle + 5.0, class_="e span")
        mark += svg.diamond(scale(bar.value), middle, 7.0, class_="e full")
    return svg.group(words, figure, mark)
