"""Two sections of the page, where they were asked for: what would explain the finding, and drivers.

One chart for each, of rows with intervals around zero: the specification curve (sorted gaps, with
marks for the columns that are in), else the gap next to what a feature as strong as each legitimate
column can move; and the inputs of the model by what they carry, pale where chance may do so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

from likeforlike.document import AuditDocument
from likeforlike.report import _svg as svg
from likeforlike.report._charts import axis_across
from likeforlike.report._format import number, percent, shorten
from likeforlike.report._svg import AxisScale, ticks
from likeforlike.sensitivity import SHOWN_INPUTS, Drivers, Sensitivity, Specifications, largest_bias

_WIDTH, _ROW, _TOP, _FOOT = 720.0, 30.0, 26.0, 26.0
_LEFT, _RIGHT = 190.0, 520.0


class _Row(NamedTuple):
    name: str
    value: float
    ends: tuple[float, float] | None
    figures: tuple[str, ...]
    pale: bool = False


def doubt_sections(
    document: AuditDocument,
) -> list[tuple[str, str, list[str], Markup | None]]:
    """Return name, title, sentences and chart of the sections that were asked for."""
    parts: list[tuple[str, str, list[str], Markup | None]] = []
    if document.sensitivity or document.specifications is not None:
        words = [] if not document.sensitivity else document.sensitivity[0].sentences
        chart = None if not document.sensitivity else _strength_chart(document.sensitivity[0])
        if document.specifications is not None:
            words = [*words, *document.specifications.sentences]
            chart = _specification_chart(document.specifications)
        note = (
            "Nothing here says that there is such a feature, or what causes what. A legitimate "
            "column is a yardstick, not a bound."
        )
        parts.append(("doubt", "What would explain it away", [*words, note], chart))
    if document.drivers is not None:
        drivers = document.drivers
        note = (
            "Inputs are those of the model, as contributions to its score. An input that carries a "
            "gap need not be the reason for it, and a model without it would learn from others."
        )
        chart = _driver_chart(drivers)
        words = [*drivers.sentences, note]
        parts.append(("drivers", "What carries it", words, chart))
    return parts


def _strength_chart(found: Sensitivity) -> Markup | None:
    """Draw the gap next to what a feature as strong as each legitimate column can move it by."""
    rows = [_Row("gap", found.gap, found.interval, (number(found.gap),))]
    for each in found.benchmarks[:SHOWN_INPUTS]:
        bias = largest_bias(found.scale, each.outcome, each.group)
        rows.append(_Row(f"as strong as {each.column}", 0.0, (-bias, bias), (f"±{number(bias)}",)))
    return _row_chart("strength", "Gap, and what an omitted feature can move it by", rows, ("",))


def _specification_chart(found: Specifications) -> Markup:
    """Draw the specification curve: gaps from low to high, and which candidates are in."""
    heads = (*(shorten(each, 9) for each in found.candidates[:3]), "coverage")
    rows = []
    for each in sorted(found.entries, key=lambda entry: entry.gap):
        marks = tuple("●" if name in each.added else "·" for name in found.candidates[:3])
        share = percent(min(each.coverage.values()))
        name = " + ".join(each.added) or "none added"
        rows.append(_Row(name, each.gap, each.gap_interval, (*marks, share)))
    return _row_chart("curve", "Gap by choice of legitimate features", rows, heads)


def _driver_chart(found: Drivers) -> Markup:
    """Draw what each input carries, the largest first, and others together."""
    shown = found.inputs[:SHOWN_INPUTS]
    rows = [
        _Row(
            each.name,
            each.gap,
            each.interval,
            (percent(each.share) if each.share is not None else "", f"{each.proxy:.2f}"),
            each.interval is None or each.interval[0] <= 0.0 <= each.interval[1],
        )
        for each in shown
    ]
    if others := found.inputs[SHOWN_INPUTS:]:
        total, shares = sum(each.gap for each in others), [each.share or 0.0 for each in others]
        figures = (percent(sum(shares)), "")
        rows.append(_Row(f"{len(others)} others", total, None, figures, pale=True))
    return _row_chart("drivers", "Gap among equals by input", rows, ("of W₂²", "AUC"))


def _row_chart(kind: str, title: str, rows: Sequence[_Row], heads: Sequence[str]) -> Markup:
    """Draw a row for each entry: name, bar from zero with its interval, figures."""
    values = [0.0, *(end for row in rows for end in (row.value, *(row.ends or ())))]
    low, high = min(values), max(values)
    scale = AxisScale(low, high if high > low else low + 1.0, _LEFT + 10.0, _RIGHT - 10.0)
    bottom = _TOP + _ROW * len(rows)
    marks = axis_across(
        ticks(scale.low, scale.high, 5),
        scale,
        [(_TOP, bottom)],
        below=bottom + 18.0,
        room=(_LEFT, _RIGHT),
    )
    marks.append(svg.line(scale(0.0), _TOP, scale(0.0), bottom, class_="zero"))
    step = (_WIDTH - _RIGHT) / len(heads)
    places = [_RIGHT + step * (k + 1) for k in range(len(heads))]
    marks += [svg.text(x, 16.0, h, class_="small end") for x, h in zip(places, heads, strict=True)]
    for k, row in enumerate(rows):
        middle = _TOP + _ROW * (k + 0.5)
        marks.append(
            svg.text(0.0, middle + 4.0, shorten(row.name, 26), class_="name", full=row.name)
        )
        start, end = sorted((scale(0.0), scale(row.value)))
        look = "c empty" if row.pale else "e soft"
        marks.append(svg.rect(start, middle - 6.0, end - start, 12.0, class_=look))
        if row.ends is not None:
            ends = [scale(each) for each in row.ends]
            marks.append(svg.line(ends[0], middle, ends[1], middle, class_="c span"))
        for x, words in zip(places, row.figures, strict=True):
            marks.append(svg.text(x, middle + 4.0, words, class_="figure end"))
    words = "; ".join(
        f"{row.name}: {number(row.value)}"
        + ("" if row.ends is None else f" ({number(row.ends[0])} to {number(row.ends[1])})")
        for row in rows
    )
    return svg.chart(kind, title, f"{words}.", (_WIDTH, bottom + _FOOT), *marks)
