"""The page about pay: one sheet in front, and what it rests on behind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from likeforlike.payroll import _words as words
from likeforlike.payroll._results import PayBands, PayDocument, PayGap
from likeforlike.report import AxisScale, chart, count, element, label, sentence, ticks

_WIDTH, _ROW, _LEFT = 440.0, 34.0, 150.0


def page(document: PayDocument) -> str:
    """Write the page."""
    return _template("pay.html.j2").render(
        document=document,
        request=document.request,
        staff=document.staff,
        finding=document.finding,
        words=words,
        overall=[gap for gap in document.gaps if not gap.receivers],
        receivers=[gap for gap in document.gaps if gap.receivers],
        fifths=_draw_fifths(document.fifths) if document.fifths else None,
        bands=[(bands, _draw_bands(bands)) for bands in document.bands],
    )


def summary(document: PayDocument) -> str:
    """Write a short fragment for notebooks."""
    said = Markup("").join(Markup("<p>{}</p>").format(each) for each in document.finding.sentences)
    return Markup("<div><h3>{}</h3>{}</div>").format(document.finding.headline, said)


@cache
def _template(name: str) -> Template:
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("likeforlike.payroll"), PackageLoader("likeforlike.report")]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(label=label, sentence=sentence, count=count)
    return environment.get_template(name)


def _text(x: float, y: float, said: str, kind: str = "") -> Markup:
    return element("text", said, x=x, y=y, class_=kind or None)


def _draw_fifths(fifths: Sequence[PayGap]) -> Markup:
    """Draw the gap of every fifth with its range."""
    ends = [end for gap in fifths for end in (gap.interval or (0.0, 0.0))]
    scale = AxisScale(min(*ends, 0.0), max(*ends, 0.0), _LEFT, _WIDTH - 14.0)
    bottom = _ROW * len(fifths)
    marks = [
        element(
            "line",
            x1=scale(at),
            y1=0,
            x2=scale(at),
            y2=bottom,
            class_="zero" if at == 0.0 else "grid",
        )
        for at in ticks(scale.low, scale.high, 4)
    ]
    marks += [
        _text(scale(at), bottom + 18.0, words.percent(at, 0), "tick mid")
        for at in ticks(scale.low, scale.high, 4)
    ]
    for row, gap in enumerate(fifths):
        y = (row + 0.5) * _ROW
        low, high = gap.interval or (0.0, 0.0)
        marks += [
            _text(0.0, y + 4.0, gap.note or ""),
            element("line", x1=scale(low), y1=y, x2=scale(high), y2=y, class_="a span"),
            element("circle", cx=scale(gap.percent or 0.0), cy=y, r=5.5, class_="a full"),
        ]
    described = "; ".join(f"{gap.note}: {words.percent(gap.percent)}" for gap in fifths)
    return chart(
        "fifths", "Gap within categories by fifth", described, (_WIDTH, bottom + 26.0), *marks
    )


def _draw_bands(bands: PayBands) -> Markup:
    """Draw women, men and others in every quarter, the highest-paid on top."""
    scale = AxisScale(0.0, 100.0, _LEFT, _WIDTH)
    marks, described = [], []
    for row, quarter in enumerate(reversed(range(4))):
        y, x = row * _ROW + 4.0, _LEFT
        marks.append(_text(0.0, y + 17.0, words.QUARTERS[quarter]))
        shares = (bands.women[quarter], bands.men[quarter], bands.others[quarter])
        for share, kind in zip(shares, ("a", "b", "c"), strict=True):
            wide = min(scale(share) - _LEFT, _WIDTH - x)
            if wide <= 0.0:
                continue
            marks.append(
                element("rect", x=x, y=y, width=wide, height=_ROW - 10.0, class_=f"{kind} area")
            )
            if wide > 46.0:
                marks.append(_text(x + wide / 2.0, y + 17.0, words.percent(share, 0), "mid"))
            x += wide
        described.append(f"{words.QUARTERS[quarter]}: {words.percent(shares[0])} women")
    return chart(
        "bands",
        f"Quarters by pay per {bands.per}",
        "; ".join(described),
        (_WIDTH, 4 * _ROW),
        *marks,
    )
