"""Drawings with matplotlib, from plain values: what `plot` methods and figures are made of.

matplotlib comes with the extra `plot` and is imported when something is drawn. Nothing here changes
its settings: with `ax` drawings use and return that axes, and without one a new figure is opened.

Levels of an audit or a disparity are drawn with their gaps and intervals, their distances or their
scores. Power is drawn against disparity, as points of methods with their frontier, in one panel or
a grid of them: better is always up and to the left, and disparity is on a square-root scale, which
sets points near parity apart. Marks tell many methods apart by shape and fill, then by color;
shapes alone do it, so that a figure can be read in gray.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal
from warnings import catch_warnings, filterwarnings

import numpy as np

from likeforlike._lazy import extra
from likeforlike.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLORS = {
    "blue": "#0072b2",
    "vermilion": "#c24e00",
    "green": "#00795c",
    "purple": "#a03a7c",
    "ochre": "#b58900",
    "ink": "#1b2430",
    "gray": "#7d8893",
}
"""Near those of Okabe and Ito (2008), darker: contrast 3 with white, apart for all eyes."""


def axes_or_new(ax: Axes | None, **size: Any) -> Axes:  # noqa: ANN401
    """Return the axes given, or those of a new figure, as scikit-learn's displays do."""
    if ax is not None:
        return ax
    with extra("plot"):
        import matplotlib.pyplot as plt
    figure = plt.figure(layout="constrained", **size)
    return figure.add_subplot()


def plain_figure(width: float, height: float) -> Figure:
    """Make a figure in inches that no window and no list of open figures knows: for files."""
    with extra("plot"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")


def without_box(ax: Axes) -> None:
    """Only the axes below and to the left, with a light grid."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(visible=True, color="#e3e7ec", linewidth=0.8)
    ax.set_axisbelow(True)


@dataclass(frozen=True, slots=True)
class Look:
    """How the points of one method are drawn.

    Attributes
    ----------
    marker : of matplotlib.
    fill : "full" or "hollow"; `+`, `x` and `2` are strokes, and hollow.
    color : of `COLORS`.
    """

    marker: str
    fill: Literal["full", "hollow"]
    color: str

    @property
    def form(self) -> tuple[str, str]:
        """What is left of a look in gray."""
        return self.marker, self.fill

    @property
    def style(self) -> dict[str, Any]:
        """Keywords for matplotlib's `plot`."""
        color = COLORS[self.color]
        inside = color if self.fill == "full" else "none"
        return {"marker": self.marker, "color": color, "markerfacecolor": inside}


LOOKS = (
    Look("o", "full", "blue"),
    Look("s", "hollow", "vermilion"),
    Look("^", "full", "green"),
    Look("D", "hollow", "purple"),
    Look("x", "hollow", "ink"),
    Look("v", "full", "ochre"),
    Look("o", "hollow", "gray"),
    Look("*", "full", "vermilion"),
    Look("^", "hollow", "blue"),
    Look("s", "full", "green"),
    Look("+", "hollow", "purple"),
    Look("p", "full", "ink"),
    Look("v", "hollow", "vermilion"),
    Look("D", "full", "ochre"),
    Look("<", "full", "blue"),
    Look(">", "hollow", "green"),
    Look("2", "hollow", "gray"),
    Look("h", "full", "purple"),
    Look("*", "hollow", "ink"),
    Look("<", "hollow", "ochre"),
    Look(">", "full", "gray"),
    Look("p", "hollow", "blue"),
    Look("h", "hollow", "vermilion"),
)
"""Looks in the order in which methods get them; no two have the same form."""


def looks_of(methods: Iterable[str], given: Mapping[str, Look]) -> dict[str, Look]:
    """Choose a look for every method, in the order of the methods; those given are kept."""
    names = list(dict.fromkeys(methods))
    settled = {name: look for name, look in given.items() if name in names}
    taken = [look.form for look in settled.values()]
    if len(set(taken)) < len(taken):
        raise InputError(f"given has two methods of the same shape and fill: {settled}.")
    if len(names) > len(LOOKS):
        raise InputError(
            f"methods are {len(names)}, and a figure tells at most {len(LOOKS)} apart; draw fewer."
        )
    free = iter(look for look in LOOKS if look.form not in taken)
    return {name: settled[name] if name in settled else next(free) for name in names}


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
    """Draw one gap per line with its interval, the first level on top, and a line at 0."""
    rows = _rows(ax, levels, label)
    for y, level in zip(rows, levels, strict=False):
        if level.interval is not None:
            ax.plot(level.interval, (y, y), color=COLORS["blue"], linewidth=1.6)
    _dots(ax, rows, levels)
    ax.axvline(0.0, color=COLORS["ink"], linewidth=1.0)


def draw_distances(ax: Axes, levels: Sequence[LevelFigures], *, label: str) -> None:
    """Draw one distance per line from 0, with a tick at what chance alone would give."""
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


_WAYS = {"more": "higher", "less": "lower"}
_PANEL = 4.2
"""Width of a panel in inches; it is as high as it is wide."""
_LEAST_WIDTH, _NAME = 7.0, 3.4
"""Of a figure, and of a name in its key, in inches."""
_LINE = 42
"""Letters that fit below a panel."""
_TITLE_LETTERS = 7.5
"""Letters of a title that fit into an inch."""


@dataclass(frozen=True, slots=True)
class PlottedPoint:
    """A method at one strength: means over runs.

    Attributes
    ----------
    strength : of the method.
    disparity, performance : their means.
    disparity_error, performance_error : standard errors of the means; `None` for a single run.
    best : whether it is on the frontier of its panel.
    """

    strength: float
    disparity: float
    performance: float
    disparity_error: float | None = None
    performance_error: float | None = None
    best: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one method, in the order of its strengths.

    Attributes
    ----------
    method : its name, in the key.
    points : one for each strength.
    look : how it is drawn; `None` takes one that is free.
    """

    method: str
    points: tuple[PlottedPoint, ...]
    look: Look | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One plot.

    Attributes
    ----------
    title, note : its name, and a line below it (how many runs of how many rows).
    performance : name of the axis upwards.
    better : whether more or less of it is better; better is drawn upwards.
    disparity : name of the axis to the right.
    series : the methods.
    worst, most : the performance and the disparity up to which points are shown, and beyond which
        they are arrows at the border; `None` shows all.
    """

    title: str
    note: str
    performance: str
    better: Literal["more", "less"]
    disparity: str
    series: tuple[Series, ...]
    worst: float | None = None
    most: float | None = None

    @property
    def points(self) -> list[PlottedPoint]:
        """All points of the panel."""
        return [point for series in self.series for point in series.points]

    def shows(self, point: PlottedPoint) -> bool:
        """Whether a point lies within the limits."""
        sign = 1.0 if self.better == "more" else -1.0
        strong = self.worst is None or sign * point.performance >= sign * self.worst
        return strong and (self.most is None or point.disparity <= self.most)


def draw_panel(ax: Axes, panel: Panel, looks: Mapping[str, Look] | None = None) -> None:
    """Draw a panel on axes; without looks every method takes one, and the axes get a key."""
    _check(panel)
    chosen = panel_looks([panel]) if looks is None else looks
    shown = [point for point in panel.points if panel.shows(point)]
    for series in reversed(panel.series):  # those named first lie on top
        _draw_series(ax, series, chosen[series.method], panel)
    _limits(ax, panel, shown)
    _draw_frontier(ax, panel)
    _draw_beyond(ax, panel, chosen)
    ax.set_title(f"{panel.title}\n{panel.note}" if panel.title else panel.note, loc="left")
    ax.set_xlabel(fill(f"← better: lower {panel.disparity} (square-root scale)", _LINE), loc="left")
    ax.set_ylabel(f"better: {_WAYS[panel.better]} {panel.performance} →", loc="top")
    without_box(ax)
    if looks is None and len(panel.series) > 1:
        ax.legend(frameon=False, fontsize="small")


def panel_looks(panels: Sequence[Panel]) -> dict[str, Look]:
    """Choose looks for all methods of some panels; one method looks the same everywhere."""
    given = {s.method: s.look for panel in panels for s in panel.series if s.look is not None}
    return looks_of((s.method for panel in panels for s in panel.series), given)


def tradeoff_svg(panels: Sequence[Panel], *, title: str, columns: int | None = None) -> str:
    """Draw a grid of panels with one key as an SVG whose description tells every figure."""
    figure = tradeoff_figure(panels, title=title, columns=columns)
    with extra("plot"):
        from matplotlib import rc_context
    metadata = {"Title": title, "Description": describe(panels), "Date": None}
    text = io.StringIO()
    # Text stays text, and the same figure gives the same file.
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "likeforlike"}), catch_warnings():
        # Where names leave panels no room, matplotlib keeps its plain layout and warns.
        filterwarnings("ignore", "constrained_layout not applied", UserWarning)
        figure.savefig(text, format="svg", metadata=metadata)
    return text.getvalue()


def tradeoff_figure(panels: Sequence[Panel], *, title: str, columns: int | None = None) -> Figure:
    """Draw a grid of panels with one key below all of them."""
    if not panels or (columns is not None and columns < 1):
        raise InputError("a figure needs at least one panel and one column.")
    wide = min(len(panels), 4) if columns is None else columns
    looks = panel_looks(panels)
    rows = math.ceil(len(panels) / wide)
    width = max(_PANEL * wide, _LEAST_WIDTH)
    columns_of_key = int(width / _NAME)
    lines = 0.25 * math.ceil((len(looks) + 1) / columns_of_key)
    figure = plain_figure(width, _PANEL * rows + 1.2 + lines)
    grid = figure.subplots(rows, wide, squeeze=False).ravel()
    for ax, panel in zip(grid, panels, strict=False):
        draw_panel(ax, panel, looks)
    for ax in grid[len(panels) :]:
        ax.remove()
    _draw_key(figure, looks, columns_of_key)
    lines_of_title = fill(title, int(_TITLE_LETTERS * width))
    figure.suptitle(lines_of_title, x=0.01, ha="left", fontsize="x-large", fontweight="bold")
    return figure


def describe(panels: Sequence[Panel]) -> str:
    """Every point of some panels in words, those of the frontier first."""
    return " ".join(_describe_panel(panel) for panel in panels)


def _describe_panel(panel: Panel) -> str:
    named = [(point, series.method) for series in panel.series for point in series.points]
    named.sort(key=lambda entry: entry[0].disparity)
    frontier = "; ".join(_point_words(panel, *entry) for entry in named if entry[0].best)
    rest = "; ".join(_point_words(panel, *entry) for entry in named if not entry[0].best)
    beyond = sum(not panel.shows(point) for point in panel.points)
    return (
        f"{panel.title} ({panel.note}): {panel.performance} against {panel.disparity}. "
        f"On the frontier: {frontier or 'none'}. Others: {rest or 'none'}. "
        f"Beyond the limits: {beyond}."
    )


def _point_words(panel: Panel, point: PlottedPoint, method: str) -> str:
    performance, disparity = (
        f"{value:.4g}" if error is None else f"{value:.4g} ± {error:.2g}"
        for value, error in (
            (point.performance, point.performance_error),
            (point.disparity, point.disparity_error),
        )
    )
    words = f"{panel.performance} {performance}, disparity {disparity}"
    return f"{method}, strength {point.strength:g}: {words}"


def _check(panel: Panel) -> None:
    figures = [value for point in panel.points for value in (point.disparity, point.performance)]
    if not (figures and all(map(math.isfinite, figures))):
        raise InputError(f"panels has {panel.title!r} without points, or with one not finite.")
    if not any(panel.shows(point) for point in panel.points):
        raise InputError(f"panels has {panel.title!r} without a point within its limits.")


def _draw_series(ax: Axes, series: Series, look: Look, panel: Panel) -> None:
    shown = [point for point in series.points if panel.shows(point)]
    x, y = [max(point.disparity, 0.0) for point in shown], [point.performance for point in shown]
    bars: dict[str, Any] = {
        "xerr": [point.disparity_error or 0.0 for point in shown],
        "yerr": [point.performance_error or 0.0 for point in shown],
    }
    ax.errorbar(
        x,
        y,
        **bars,
        **look.style,
        linestyle="none",
        markersize=6.0,
        elinewidth=0.8,
        label=series.method,
    )
    best = [(a, b) for a, b, point in zip(x, y, shown, strict=True) if point.best]
    if best:
        ring: dict[str, Any] = {
            "marker": "o",
            "markersize": 11.0,
            "markerfacecolor": "none",
            "linestyle": "none",
        }
        ax.plot(*zip(*best, strict=True), color=COLORS["ink"], **ring)


def _limits(ax: Axes, panel: Panel, shown: Sequence[PlottedPoint]) -> None:
    """All points within the limits with their bars and some room; 0 on the left, better upwards."""
    with extra("plot"):
        from matplotlib.ticker import MaxNLocator
    right = 1.05 * max(p.disparity + (p.disparity_error or 0.0) for p in shown) or 1.0
    low = min(p.performance - (p.performance_error or 0.0) for p in shown)
    high = max(p.performance + (p.performance_error or 0.0) for p in shown)
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    ax.set_xscale("function", functions=(_root, np.square))
    ax.set_xlim(0.0, right if panel.most is None else min(right, panel.most) or 1.0)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ends = (low - room, high + room)
    ax.set_ylim(*(ends if panel.better == "more" else reversed(ends)))


def _root(values: np.typing.ArrayLike) -> np.typing.NDArray[np.float64]:
    return np.sqrt(np.maximum(np.asarray(values, dtype=np.float64), 0.0))


def _draw_frontier(ax: Axes, panel: Panel) -> None:
    """To the right at the performance reached so far, up where a point reaches more."""
    best = sorted((max(p.disparity, 0.0), p.performance) for p in panel.points if p.best)
    if best:
        x, y = zip(*best, strict=True)
        end = ax.get_xlim()[1]
        ax.step((*x, end), (*y, y[-1]), where="post", color=COLORS["ink"], linewidth=1.2)


def _draw_beyond(ax: Axes, panel: Panel, looks: Mapping[str, Look]) -> None:
    """Arrows at the border for what lies beyond it, and how many there are."""
    beyond = [(p, s.method) for s in panel.series for p in s.points if not panel.shows(p)]
    if not beyond:
        return
    right, (bottom, top) = ax.get_xlim()[1], ax.get_ylim()
    low, high = sorted((bottom, top))
    for point, method in beyond:
        aside = panel.most is not None and point.disparity > panel.most
        # Of what is beyond both ends the arrow sits in the corner, not far below the panel.
        within = min(max(point.performance, low), high)
        place = (right, within) if aside else (min(max(point.disparity, 0.0), right), bottom)
        mark: dict[str, Any] = {
            "marker": ">" if aside else "v",
            "color": COLORS[looks[method].color],
        }
        ax.plot(*place, **mark, markersize=7.0, clip_on=False)
    words = f"{len(beyond)} point{'' if len(beyond) == 1 else 's'} beyond"
    ax.text(0.98, 0.04, words, transform=ax.transAxes, ha="right", style="italic")


def _draw_key(figure: Figure, looks: Mapping[str, Look], columns: int) -> None:
    with extra("plot"):
        from matplotlib.lines import Line2D
    items = looks.items()
    marks = [Line2D([], [], linestyle="none", label=name, **look.style) for name, look in items]
    ink = COLORS["ink"]
    ring: dict[str, Any] = {"marker": "o", "markerfacecolor": "none", "markersize": 9.0}
    marks.append(Line2D([], [], color=ink, **ring, label="frontier: no other point beats these"))
    figure.legend(handles=marks, loc="outside lower left", ncols=columns, frameon=False)
