"""All rows, among equals, by chance, and the estimate: four lengths on one scale."""

from __future__ import annotations

from dataclasses import dataclass

from markupsafe import Markup

from likeforlike.document._results import AuditDocument
from likeforlike.report import _svg as svg
from likeforlike.report._axes import axis_across, upright
from likeforlike.report._format import number, open_interval
from likeforlike.report._scale import AxisScale, ticks

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
        "Conditional against unconditional disparity",
        "; ".join(f"{bar.label}: {bar.figure}" for bar in bars) + ".",
        (_WIDTH, height),
        _axis(scale, height),
        *(_row(bar, scale, _ROW * k) for k, bar in enumerate(bars)),
    )


def _bars(document: AuditDocument) -> list[_Bar]:
    contrast = document.contrasts[0]
    equals = bool(document.roles.legitimate)
    overall = "All rows, whatever their level" if equals else "All rows, as observed"
    bars = [_Bar(overall, contrast.unconditional.value, "c soft")]
    if equals:
        bars.append(_Bar("Among equals, as observed", contrast.conditional.value, "e soft"))
    test = contrast.test
    if test is not None and test.null_distance is not None:
        chance = test.null_distance
        bars.append(_Bar("Expected by chance at equal treatment", chance, "c hatched"))
    distance = contrast.estimate
    if distance is not None and distance.value is not None:
        low, high = distance.interval
        bars.append(_Bar("Estimate, without chance", distance.value, "e", (low or 0.0, high)))
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
