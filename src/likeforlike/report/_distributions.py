"""Scores of both groups in one level: the first filled, the second as an outline over it."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from likeforlike.document._results import ContrastAudit, Distribution
from likeforlike.report import _svg as svg
from likeforlike.report._axes import axis_across
from likeforlike.report._format import number, percent, shortened, tick
from likeforlike.report._scale import AxisScale, ticks

_WIDTH, _HEIGHT, _TOP, _FOOT = 280.0, 150.0, 8.0, 24.0


def distribution_charts(contrast: ContrastAudit) -> list[tuple[str, Markup]]:
    """The name of each level that matters and a chart of its scores, all along one scale."""
    shown = contrast.distributions
    groups = contrast.groups
    draw = _columns if all(_is_two_valued(entry) for entry in shown) else _histogram
    return [
        (
            entry.level,
            svg.chart(
                "distribution",
                f"Scores in level {shortened(entry.level, 80)}",
                _in_words(entry, groups),
                (_WIDTH, _HEIGHT),
                *draw(entry, groups, AxisScale(0.0, _tallest(entry), _HEIGHT - _FOOT, _TOP)),
            ),
        )
        for entry in shown
    ]


def _tallest(entry: Distribution) -> float:
    """Each level fills its own height: a cell of one row would flatten all others."""
    return max(height for heights in entry.heights.values() for height in heights) or 1.0


def _is_two_valued(entry: Distribution) -> bool:
    """Whether only the first and the last bin hold anything, as with decisions."""
    between = [share for shares in entry.shares.values() for share in shares[1:-1]]
    return bool(between) and not any(share > 0.0 for share in between)


def _histogram(entry: Distribution, groups: Sequence[str], up: AxisScale) -> list[Markup]:
    edges = entry.edges
    along = AxisScale(edges[0], edges[-1], 2.0, _WIDTH - 2.0)
    first, second = (_steps(entry.heights[group], edges, along, up) for group in groups)
    values, whole = ticks(edges[0], edges[-1], 4), [(_TOP, up.start)]
    marks = axis_across(values, along, whole, below=_HEIGHT - 7.0, room=(0.0, _WIDTH))
    base = svg.line(0.0, up.start, _WIDTH, up.start, class_="base")
    fill = svg.path(first, closed=True, class_="a area")
    return [*marks, fill, svg.path(second, class_="b outline"), base]


def _steps(
    heights: Sequence[float], edges: Sequence[float], along: AxisScale, up: AxisScale
) -> list[tuple[float, float]]:
    points = [(along(edges[0]), up.start)]
    for height, left, right in zip(heights, edges[:-1], edges[1:], strict=True):
        points += [(along(left), up(height)), (along(right), up(height))]
    return [*points, (along(edges[-1]), up.start)]


def _columns(entry: Distribution, groups: Sequence[str], up: AxisScale) -> list[Markup]:
    """Two pairs of columns: a histogram of decisions would be all but empty."""
    edges, wide = entry.edges, 48.0
    # Shares of decisions are read against the whole, with room for a figure above a column.
    up = AxisScale(0.0, 1.18, up.start, up.end)
    pieces = []
    for k, (center, edge) in enumerate(((70.0, edges[0]), (210.0, edges[-1]))):
        for group, color, side in zip(groups, ("a", "b"), (-1.0, 0.0), strict=True):
            share = entry.shares[group][-k]
            left, top = center + side * (wide + 4.0) + 2.0, up(share)
            look = "a area" if color == "a" else "b outline"
            pieces.append(svg.rect(left, top, wide, up.start - top, class_=look))
            label = svg.text(left + wide / 2.0, top - 5.0, percent(share), class_="tick strong mid")
            pieces.append(label)
        near = svg.text(center, _HEIGHT - 7.0, f"{_end(k)} ({tick(edge)})", class_="tick mid")
        pieces.append(near)
    return [*pieces, svg.line(0.0, up.start, _WIDTH, up.start, class_="base")]


def _end(k: int) -> str:
    return "highest score" if k else "lowest score"


def _in_words(entry: Distribution, groups: Sequence[str]) -> str:
    edges = entry.edges
    parts = []
    for group in groups:
        bins = "; ".join(
            f"{number(left)} to {number(right)}: {percent(share)}"
            for share, left, right in zip(entry.shares[group], edges[:-1], edges[1:], strict=True)
            if share > 0.0
        )
        parts.append(f"Share of {shortened(group, 40)} by score: {bins}.")
    return " ".join(parts)
