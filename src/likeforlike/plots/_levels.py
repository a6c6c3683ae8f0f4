"""Levels of an audit or a disparity: their gaps with intervals, their distances, their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from likeforlike.plots._axes import COLORS, without_box

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LEVELS = 40
"""At most this many levels are drawn."""


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """What is drawn of one level.

    Attributes
    ----------
    name : of the level.
    value : its gap or its distance.
    interval : lower and upper end; `None` where there is none.
    chance : what the distance averages to at equal treatment; `None` if unknown.
    thin : whether a group has few rows; drawn hollow.
    """

    name: str
    value: float
    interval: tuple[float, float] | None = None
    chance: float | None = None
    thin: bool = False


def draw_gaps(ax: Axes, levels: Sequence[LevelFigures], *, label: str) -> None:
    """A gap a line with its interval, the first level on top, and a line at 0."""
    rows = _rows(ax, levels, label)
    for y, level in zip(rows, levels, strict=False):
        if level.interval is not None:
            ax.plot(level.interval, (y, y), color=COLORS["blue"], linewidth=1.6)
    _dots(ax, rows, levels)
    ax.axvline(0.0, color=COLORS["ink"], linewidth=1.0)


def draw_distances(ax: Axes, levels: Sequence[LevelFigures], *, label: str) -> None:
    """A distance a line from 0, with a tick at what chance alone would give."""
    rows = _rows(ax, levels, label)
    shown = levels[:MOST_LEVELS]
    ax.hlines(rows, 0.0, [level.value for level in shown], color=COLORS["blue"], linewidth=1.2)
    _dots(ax, rows, levels)
    pairs = zip(shown, rows, strict=True)
    known = [(level.chance, y) for level, y in pairs if level.chance is not None]
    if known:
        ax.plot(
            *zip(*known, strict=True),
            linestyle="none",
            marker="|",
            markersize=11.0,
            color=COLORS["ink"],
            label="by chance alone",
        )
        ax.legend(frameon=False)
    ax.set_xlim(left=0.0)


def draw_histograms(
    ax: Axes, edges: Sequence[float], shares: Mapping[str, Sequence[float]], *, label: str
) -> None:
    """Scores of groups over the same bins, as steps that differ in gray."""
    for (group, heights), (color, line) in zip(
        shares.items(), (("blue", "-"), ("vermilion", "--")), strict=False
    ):
        ax.stairs(heights, edges, color=COLORS[color], linestyle=line, linewidth=1.8, label=group)
    ax.set_xlabel(label)
    ax.set_ylabel("share of the group")
    ax.legend(frameon=False)
    without_box(ax)


def _rows(ax: Axes, levels: Sequence[LevelFigures], label: str) -> list[int]:
    """Heights of the levels, with their names and what is left out said below."""
    shown = levels[:MOST_LEVELS]
    rows = list(range(len(shown)))[::-1]
    ax.set_yticks(rows, [level.name for level in shown])
    hidden = len(levels) - len(shown)
    ax.set_xlabel(label if not hidden else f"{label}\n({hidden:,} more levels are not drawn)")
    without_box(ax)
    ax.grid(visible=False, axis="y")
    return rows


def _dots(ax: Axes, rows: Sequence[int], levels: Sequence[LevelFigures]) -> None:
    for y, level in zip(rows, levels, strict=False):
        inside = "white" if level.thin else COLORS["blue"]
        ax.plot(level.value, y, marker="o", color=COLORS["blue"], markerfacecolor=inside)
