"""Levels of a document of which none is about few people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from likeforlike.auditing._coarse import (
    Grid,
    coarse_count,
    coarse_p,
    coarse_share,
    noise_grid,
    round_step,
    significant,
)
from likeforlike.document._names import OTHER_LEVELS
from likeforlike.document._results import ContrastAudit, LevelAudit


def coarse_levels(
    contrast: ContrastAudit, merged: Sequence[bool], whole: Grid, limit: int
) -> list[LevelAudit]:
    """The levels of a contrast with rounded figures; those that are merged come last, as one.

    `whole` is what averages over all levels are rounded to.
    """
    rows = sum(contrast.rows)
    pairs = list(zip(contrast.levels, merged, strict=True))
    levels = [_level(each, rows, limit) for each, together in pairs if not together]
    others = [each for each, together in pairs if together]
    return [*levels, _other_levels(others, rows, whole, limit)] if others else levels


def thin_shares(
    levels: Sequence[LevelAudit], contrast: ContrastAudit, totals: Sequence[int], limit: int
) -> dict[str, float]:
    """Share of each group in levels that are shown as thin."""
    shares = {}
    for group, rows in zip(contrast.groups, totals, strict=True):
        thin = sum(each.rows[group] for each in levels if each.thin)
        most = coarse_share(contrast.coverage[group], rows, limit)
        shares[group] = min(coarse_share(thin / max(rows, 1), rows, limit), most)
    return shares


def _level(level: LevelAudit, rows: int, limit: int) -> LevelAudit:
    ends = level.gap_interval
    grid = noise_grid(0.0 if ends is None else (ends[1] - ends[0]) / 4.0, [level.distance])
    chance, p_value, adjusted = level.null_distance, level.p_value, level.p_adjusted
    return replace(
        level,
        rows={group: coarse_count(n, limit) for group, n in level.rows.items()},
        weight=coarse_share(level.weight, rows, limit),
        distance=grid.nearest(level.distance),
        null_distance=None if chance is None else significant(chance),
        gap=grid.nearest(level.gap),
        gap_interval=None if ends is None else (grid.below(ends[0]), grid.above(ends[1])),
        contribution=round(level.contribution, 2),
        p_value=None if p_value is None else coarse_p(p_value),
        p_adjusted=None if adjusted is None else coarse_p(adjusted),
    )


def _other_levels(levels: Sequence[LevelAudit], rows: int, whole: Grid, limit: int) -> LevelAudit:
    """Levels with small cells as one: averages by their weights."""
    weight = sum(each.weight for each in levels)
    # No finer than subtracting the levels shown from the average of all would give.
    grid = Grid(round_step(whole.step / weight) if weight > 0.0 else 0.0)
    chances = [each.null_distance for each in levels]
    known = [chance for chance in chances if chance is not None]

    def average(figures: Sequence[float]) -> float:
        paid = sum(each.weight * x for each, x in zip(levels, figures, strict=True))
        return paid / weight if weight > 0.0 else 0.0

    return LevelAudit(
        level=OTHER_LEVELS,
        name=OTHER_LEVELS,
        rows={
            group: coarse_count(sum(each.rows[group] for each in levels), limit)
            for group in levels[0].rows
        },
        weight=coarse_share(weight, rows, limit),
        distance=grid.nearest(average([each.distance for each in levels])),
        null_distance=significant(average(known)) if len(known) == len(chances) else None,
        gap=grid.nearest(average([each.gap for each in levels])),
        gap_interval=None,
        contribution=round(sum(each.contribution for each in levels), 2),
        p_value=None,
        p_adjusted=None,
        thin=True,
    )
