"""Axes to draw on: those that were given, or those of a new figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from likeforlike._extras import extra

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
    """The axes given, or one of a new figure, as scikit-learn's displays do."""
    if ax is not None:
        return ax
    with extra("plot"):
        import matplotlib.pyplot as plt
    figure = plt.figure(layout="constrained", **size)
    return figure.add_subplot()


def plain_figure(width: float, height: float) -> Figure:
    """A figure in inches that no window and no list of open figures knows: for files."""
    with extra("plot"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")


def without_box(ax: Axes) -> None:
    """Only the axes below and to the left, with a light grid."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    ax.grid(visible=True, color="#e3e7ec", linewidth=0.8)
    ax.set_axisbelow(True)
