"""The loan example: equal rates overall, and men ahead at every income (Simpson's paradox)."""

from __future__ import annotations

import math
from typing import NamedTuple

from markupsafe import Markup

from likeforlike import Cells, cdd_lp, dd
from likeforlike.datasets import load_loans
from likeforlike.disparity import contrasts
from likeforlike.report import AxisScale
from likeforlike.report import _svg as svg
from tools.pictures.drawing import WIDTH, Axes, key, picture

__all__ = ["loans"]

_HEIGHT, _TOP, _BOTTOM = 560.0, 116.0, 488.0
_LEFT, _RIGHT, _APART = 72.0, 660.0, 706.0
_UP = AxisScale(0.0, 1.0, _BOTTOM, _TOP)
# Radius of a bubble that stands for a whole group; areas are in proportion.
_WHOLE = 44.0
_BANDS = {"low": 132.0, "medium": 330.0, "high": 528.0}
_EVERYBODY = 801.0
_LOOKS = {"female": ("women", "a"), "male": ("men", "b")}


class _Cell(NamedTuple):
    """Applicants of one sex and income: their share of that sex, and how many were approved."""

    band: str
    sex: str
    share: float
    rate: float

    @property
    def place(self) -> tuple[float, float]:
        return _BANDS[self.band], _UP(self.rate)


def loans() -> str:
    """Approval rates of men and women in each income band, beside their rates overall."""
    frame = load_loans().frame
    cells = Cells.from_rows(frame["approved"], frame["sex"], frame["income"])
    apart = float(cdd_lp(cells, distance="mean"))
    found = _cells(cells)
    pooled = cells.pool_levels().means[0].tolist()
    overall = dict(zip(cells.groups, pooled, strict=True))
    heads = (
        f"Overall: {_listed({str(sex): rate for sex, rate in overall.items()})} approved.",
        f"Among people of equal income: men {100.0 * apart:.0f} points ahead, everywhere.",
    )
    return picture(
        "Approval rates of men and women, by income and overall",
        _told(found, heads, float(dd(cells, distance="mean"))),
        _HEIGHT,
        svg.text(24.0, 34.0, heads[0], class_="head"),
        svg.text(24.0, 60.0, heads[1], class_="head"),
        _legend(),
        _axes(),
        *(_line(found, sex) for sex in _LOOKS),
        *(_apart(found, band) for band in _BANDS),
        *(_bubble(cell) for cell in found),
        *_everybody({str(sex): rate for sex, rate in overall.items()}),
    )


def _cells(cells: Cells) -> list[_Cell]:
    shares = contrasts(cells, "pairwise")[0].shares
    return [
        _Cell(str(band), str(sex), float(shares[k, g]), float(cells.means[k, g]))
        for k, band in enumerate(cells.levels)
        for g, sex in enumerate(cells.groups)
    ]


def _listed(overall: dict[str, float]) -> str:
    return " and ".join(f"{overall[sex]:.0%} of {_LOOKS[sex][0]}" for sex in _LOOKS)


def _axes() -> Markup:
    axes = Axes(AxisScale(0.0, 1.0, _LEFT, _RIGHT), _UP)
    names = [svg.text(x, _BOTTOM + 26.0, band, class_="word mid") for band, x in _BANDS.items()]
    return svg.group(
        axes.drawn(("income", "approved"), ((), (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)), _percent),
        svg.line(_APART, _BOTTOM, WIDTH - 24.0, _BOTTOM, class_="base"),
        *names,
        svg.text(_EVERYBODY, _BOTTOM + 26.0, "everybody", class_="word mid"),
    )


def _percent(value: float) -> str:
    return f"{value:.0%}"


def _line(found: list[_Cell], sex: str) -> Markup:
    own = {cell.band: cell.place for cell in found if cell.sex == sex}
    dashes = "8 5" if sex == "male" else None
    look = f"{_LOOKS[sex][1]} outline"
    return svg.path([own[band] for band in _BANDS], class_=look, stroke_dasharray=dashes)


def _apart(found: list[_Cell], band: str) -> Markup:
    """How far apart the two rates of a band are."""
    low, high = sorted(cell.rate for cell in found if cell.band == band)
    x = _BANDS[band]
    words = f"{100.0 * (high - low):.0f} points"
    return svg.group(
        svg.line(x, _UP(low), x, _UP(high), class_="zero"),
        svg.text(x - 12.0, _UP((low + high) / 2.0) + 5.0, words, class_="small end"),
    )


def _bubble(cell: _Cell) -> Markup:
    x, y = cell.place
    radius = _WHOLE * math.sqrt(cell.share)
    words = f"{cell.share:.0%} of {_LOOKS[cell.sex][0]}"
    color = _LOOKS[cell.sex][1]
    beside = x + radius + 7.0
    return svg.group(
        _round(cell.sex, x, y, radius),
        svg.text(beside, y - 2.0, f"{cell.rate:.0%}", class_=f"{color} word"),
        svg.text(beside, y + 16.0, words, class_="small"),
    )


def _round(sex: str, x: float, y: float, radius: float) -> Markup:
    look = "bubble" if sex == "female" else "ring"
    return svg.circle(x, y, radius, class_=f"{_LOOKS[sex][1]} {look}")


def _everybody(overall: dict[str, float]) -> list[Markup]:
    """A whole group each, side by side at the height of its rate."""
    pieces = []
    for sex, side in (("female", -1.0), ("male", 1.0)):
        words, color = _LOOKS[sex]
        x, y = _EVERYBODY + side * (_WHOLE + 2.0), _UP(overall[sex])
        below = y + _WHOLE + 22.0
        pieces += [
            _round(sex, x, y, _WHOLE),
            svg.text(x, below, f"{overall[sex]:.0%}", class_=f"{color} word mid"),
            svg.text(x, below + 18.0, f"of {words}", class_="small mid"),
        ]
    return pieces


def _legend() -> Markup:
    return svg.group(
        key(_APART, 124.0, lambda x, y: _round("female", x, y, 9.0), "women"),
        key(_APART + 104.0, 124.0, lambda x, y: _round("male", x, y, 8.0), "men"),
        svg.text(_APART, 152.0, "area: share of the group", class_="small"),
    )


def _told(found: list[_Cell], heads: tuple[str, ...], overall: float) -> str:
    cells = "; ".join(
        f"income {cell.band}, {_LOOKS[cell.sex][0]}: {cell.rate:.0%} approved, "
        f"{cell.share:.0%} of all {_LOOKS[cell.sex][0]}"
        for cell in found
    )
    return f"{' '.join(heads)} {cells}. Gap overall: {100.0 * overall:.0f} points."
