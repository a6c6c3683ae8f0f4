"""Levels, cells and measures: the same distances, counted in four ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import polars as pl
from markupsafe import Markup

from likeforlike import Cells, Disparity, cdd_lp
from likeforlike._arrays import FloatArray
from likeforlike._settings import MeasureName
from likeforlike.datasets import make_loans
from likeforlike.disparity import contrasts
from likeforlike.report import _svg as svg
from likeforlike.report import count
from tools.pictures.drawing import WIDTH, picture

__all__ = ["applicants", "measures"]

_GAPS = (0.02, 0.05, 0.05, 0.10, 0.30)
_WOMEN = (40, 160, 500, 700, 600)
_MEN = (1500, 1500, 800, 180, 20)

_HEIGHT, _TOP, _ROW = 470.0, 138.0, 52.0
_NAME, _SHARE, _DISTANCE = 24.0, 84.0, 392.0
_MEASURES = (452.0, 566.0, 680.0, 794.0)
# Pixels for a share of one.
_WIDE_SHARE, _WIDE_WEIGHT = 240.0, 150.0
_HEADS: dict[MeasureName, str] = {
    "marginal": "by people",
    "average": "by groups",
    "uniform": "by levels",
    "overlap": "by overlap",
}


def applicants() -> pl.DataFrame:
    """Applicants of `make_loans`, so many of each sex and income that no two measures agree."""
    drawn = make_loans(20_000, gap=_GAPS, tilt=0.8).frame
    return pl.concat(
        drawn.filter((pl.col("income") == level) & (pl.col("sex") == sex)).head(rows)
        for sex, sizes in (("female", _WOMEN), ("male", _MEN))
        for level, rows in enumerate(sizes)
    )


def measures() -> str:
    """Shares of both groups and distance in each level, and Q(l) by each measure."""
    frame = applicants()
    cells = Cells.from_rows(frame["score"], frame["sex"], frame["income"])
    found = {name: cdd_lp(cells, measure=name) for name in get_args(MeasureName)}
    shares = contrasts(cells, "pairwise")[0].shares
    return picture(
        "Four measures over the levels of one table",
        _told(found, shares),
        _HEIGHT,
        svg.text(24.0, 34.0, "The same cells, counted in four ways", class_="head"),
        *_heads(),
        *(_level(k, found["marginal"], shares) for k in range(len(cells.levels))),
        *(
            _measure(x, name, found[name].by_level.weight, float(found[name]))
            for x, name in zip(_MEASURES, found, strict=True)
        ),
    )


def _heads() -> list[Markup]:
    y = _TOP - 36.0
    return [
        svg.text(_NAME, y, "level", class_="small"),
        svg.text(_SHARE, y, "women", class_="a word"),
        svg.text(_SHARE + 80.0, y, "men", class_="b word"),
        svg.text(_SHARE, y - 22.0, "share of each group, and rows", class_="small"),
        svg.text(_DISTANCE, y, "W₁", class_="small end"),
        svg.text(_MEASURES[0], y - 44.0, "weight Q(l) of each level", class_="small"),
    ]


def _level(k: int, found: Disparity, shares: FloatArray) -> Markup:
    y = _TOP + k * _ROW
    table = found.by_level
    bars = []
    for g, (color, look) in enumerate((("a", "bubble"), ("b", "ring"))):
        top = y - 20.0 + 21.0 * g
        wide = _WIDE_SHARE * float(shares[k, g])
        rows = count(int(table.counts[k, g]))
        bars.append(svg.rect(_SHARE, top, wide, 15.0, class_=f"{color} {look}"))
        bars.append(svg.text(_SHARE + wide + 8.0, top + 13.0, rows, class_="tick"))
    return svg.group(
        svg.line(24.0, y + 26.0, WIDTH - 24.0, y + 26.0, class_="grid"),
        svg.text(_NAME, y + 6.0, str(table.level[k]), class_="word"),
        svg.text(_DISTANCE, y + 6.0, f"{table.distance[k]:.3f}", class_="end"),
        *bars,
    )


def _measure(x: float, name: MeasureName, weight: FloatArray, value: float) -> Markup:
    bars = []
    for k, share in enumerate(weight.tolist()):
        y = _TOP + k * _ROW
        bars.append(svg.rect(x, y - 18.0, _WIDE_WEIGHT * share, 12.0, class_="c area"))
        bars.append(svg.text(x, y + 14.0, f"{share:.1%}", class_="tick"))
    foot = _TOP + len(weight) * _ROW + 4.0
    return svg.group(
        svg.text(x, _TOP - 58.0, name, class_="word"),
        svg.text(x, _TOP - 36.0, _HEADS[name], class_="small"),
        *bars,
        svg.text(x, foot + 6.0, "Σ Q W₁ =", class_="small"),
        svg.text(x, foot + 30.0, f"{value:.3f}", class_="head"),
    )


def _told(found: dict[MeasureName, Disparity], shares: FloatArray) -> str:
    table = found["marginal"].by_level
    levels = "; ".join(
        f"level {level}: {_cell(table.groups, table.counts[k].tolist(), shares[k].tolist())}, W1 "
        f"{table.distance[k]:.3f}"
        for k, level in enumerate(table.level)
    )
    by_measure = "; ".join(
        f"{name}: weights {', '.join(f'{w:.3f}' for w in one.by_level.weight)}, disparity "
        f"{float(one):.3f}"
        for name, one in found.items()
    )
    return f"{levels}. {by_measure}."


def _cell(groups: Sequence[object], rows: list[int], shares: list[float]) -> str:
    return ", ".join(
        f"{row} rows of {group}, {share:.1%} of them"
        for group, row, share in zip(groups, rows, shares, strict=True)
    )
