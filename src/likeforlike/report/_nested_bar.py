"""How the nested disparity is made up: one bar of three parts."""

from __future__ import annotations

from typing import Literal

from markupsafe import Markup

from likeforlike.document._results import NestedResult
from likeforlike.report import _svg as svg
from likeforlike.report._format import number, percent

_WIDTH = 440.0
_PARTS: tuple[tuple[Literal["diagonal", "off_diagonal", "level_transport"], str, str], ...] = (
    ("diagonal", "among equals", "e soft"),
    ("off_diagonal", "across levels", "e hatched"),
    ("level_transport", "for changing level", "c empty"),
)


def split_chart(nested: NestedResult) -> Markup:
    """The split of the bi-causal distance."""
    whole = nested.value or 1.0
    pieces, figures, left = [], [], 1.0
    for k, (part, words, look) in enumerate(_PARTS):
        share = getattr(nested, part) / whole
        wide = share * (_WIDTH - 2.0)
        if wide > 0.0:
            pieces.append(svg.rect(left, 2.0, wide, 30.0, class_=look))
        left += wide
        figure = f"{number(getattr(nested, part))} ({percent(share)})"
        figures.append(f"{words}: {figure}")
        line = 58.0 + 24.0 * k
        pieces.append(svg.rect(1.0, line - 11.0, 18.0, 12.0, class_=look))
        pieces.append(svg.text(28.0, line, words, class_="name"))
        pieces.append(svg.text(_WIDTH, line, figure, class_="figure end"))
    title = "Parts of the nested disparity"
    return svg.chart("split", title, "; ".join(figures) + ".", (_WIDTH, 112.0), *pieces)
