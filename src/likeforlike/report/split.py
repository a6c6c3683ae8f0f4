"""How the nested disparity is made up: one bar of three parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from likeforlike.report import svg
from likeforlike.report.format import number, percent

__all__ = ["split_chart"]

Part = Mapping[str, Any]

_WIDTH = 440.0
_PARTS = (
    ("diagonal", "among equals", "e soft"),
    ("off_diagonal", "across levels", "e hatched"),
    ("level_transport", "for changing level", "c empty"),
)


def split_chart(nested: Part) -> Markup:
    """The split of the bi-causal distance.

    Parameters
    ----------
    nested : of a contrast in the document of `Audit.to_dict`.

    Examples
    --------
    >>> from likeforlike.report.split import split_chart
    >>> parts = {"value": 4.0, "diagonal": 1.0, "off_diagonal": 1.0, "level_transport": 2.0}
    >>> "among equals: 1.00 (25.0%)" in split_chart(parts)
    True
    """
    whole = nested["value"] or 1.0
    pieces, told, left = [], [], 1.0
    for k, (part, words, look) in enumerate(_PARTS):
        share = nested[part] / whole
        wide = share * (_WIDTH - 2.0)
        if wide > 0.0:
            pieces.append(svg.rect(left, 2.0, wide, 30.0, class_=look))
        left += wide
        figure = f"{number(nested[part])} ({percent(share)})"
        told.append(f"{words}: {figure}")
        line = 58.0 + 24.0 * k
        pieces.append(svg.rect(1.0, line - 11.0, 18.0, 12.0, class_=look))
        pieces.append(svg.text(28.0, line, words, class_="name"))
        pieces.append(svg.text(_WIDTH, line, figure, class_="figure end"))
    title = "Parts of the nested disparity"
    return svg.chart("split", title, "; ".join(told) + ".", (_WIDTH, 112.0), *pieces)
