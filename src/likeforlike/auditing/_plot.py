"""An audit drawn on matplotlib's axes, from its document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from likeforlike.document._names import mean_name
from likeforlike.document._results import AuditDocument, ContrastAudit, LevelAudit
from likeforlike.errors import InputError
from likeforlike.plots._levels import LevelFigures, draw_distances, draw_gaps, draw_histograms

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PlotKind = Literal["gaps", "levels", "distributions"]
"""What `Audit.plot` can draw."""


def draw_contrast(ax: Axes, document: AuditDocument, kind: PlotKind, level: str | None) -> None:
    """Draw the first contrast of an audit."""
    if kind not in get_args(PlotKind):
        raise InputError(f"kind must be one of {get_args(PlotKind)}, not {kind!r}.")
    contrast, score = document.contrasts[0], document.roles.score
    first, second = contrast.groups
    ax.set_title(document.finding.headline, loc="left", wrap=True)
    if kind == "gaps":
        label = f"{mean_name(document)}, {second} minus {first}"
        draw_gaps(ax, [_gap(part) for part in contrast.levels], label=label)
    elif kind == "levels":
        label = f"distance between the {score} of {first} and {second}"
        draw_distances(ax, [_distance(part) for part in contrast.levels], label=label)
    else:
        _draw_scores(ax, contrast, level, score)


def _gap(part: LevelAudit) -> LevelFigures:
    ends = part.gap_interval
    interval = None if ends is None else (ends[0], ends[1])
    return LevelFigures(part.name, part.gap, interval, thin=part.thin)


def _distance(part: LevelAudit) -> LevelFigures:
    return LevelFigures(part.name, part.distance, chance=part.null_distance, thin=part.thin)


def _draw_scores(ax: Axes, contrast: ContrastAudit, level: str | None, score: str) -> None:
    known = {part.level: part for part in contrast.distributions}
    if not known:
        raise InputError(
            'kind="distributions" has no level to draw: with suppress_below, every bar would '
            "stand for too few people."
        )
    name = next(iter(known)) if level is None else level
    if name not in known:
        raise InputError(f"level must be one of {list(known)}, not {level!r}.")
    draw_histograms(ax, known[name].edges, known[name].heights, label=f"{score}, {name}")
