"""Maps of levels, shrunk towards the one they share as far as their rows are too few.

Maps learned from few rows send new rows not to parity but to a disparity of the size of noise. With
T = Σ_l Q(l) Ŵ_1(l)², c its mean at parity and d² the disparity there is, a part u of the repair
leaves about

    (1 - u)² d² + u² c,

least at u = d² / (d² + c), and more than there was beyond twice that. So where a full repair leaves
at most half of the disparity, 4 c <= d² = T - c, it is done. Elsewhere the maps shrink, as
estimates of many means do (James and Stein, 1961). Groups first move by the map that all levels
*share*, made of scores less the mean of their level, whose noise is smaller the more levels there
are. From there they move towards the map of their own level by u = r² / (r² + c), where r² is what
is left:

    T = f + (1 - u) s (T_shared - f) + u (T_level - f).

s is the same for the shared map, and 1 where r² >= 2 c. These disparities are taken at the lower
end of their interval: at parity, nothing is done nine times in ten. T rises with f in every cell.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Codes
from likeforlike.disparity._contrasts import contrasts
from likeforlike.disparity._distances import level_distances
from likeforlike.disparity._measures import level_weights
from likeforlike.inference._distance import estimate_distance
from likeforlike.repair._level_maps import LevelMaps, MappedRows, known_groups, level_maps

# Two-sided, of which the lower end is used; and how often noise is drawn for it.
_CONFIDENCE, _DRAWS = 0.8, 50


class Parts(NamedTuple):
    """What part of the way rows go by the maps of the levels, and by the one they share."""

    own: float = 1.0
    shared: float = 0.0

    def times(self, part: float) -> Parts:
        """Both of them, less."""
        return Parts(self.own * part, self.shared * part)


_ALL = Parts()


class _Known(NamedTuple):
    """Squared disparity, estimated and at the lower end of its interval; and what noise adds, c."""

    squared: float
    least: float
    noise: float

    @property
    def part(self) -> float:
        """u = d² / (d² + c)."""
        return self.least / (self.least + self.noise) if self.least > 0.0 else 0.0


@dataclass(frozen=True)
class SharedMap:
    """The map that all levels share, of scores less the mean of their level.

    Attributes
    ----------
    maps : of one level.
    means : mean score of every level.
    overall : of all rows, for levels that were not there.
    low, high : no score is carried beyond those that were there.
    """

    maps: LevelMaps
    means: dict[Hashable, float]
    overall: float
    low: float
    high: float

    def carried(self, rows: MappedRows, seed: int | None) -> FloatArray:
        """T_shared of every row, (n,)."""
        of_label = np.array([self.means.get(label, self.overall) for label in rows.labels])
        mean = of_label[rows.level]
        # Rows of different levels are tied only by chance of rounding; rows of one level that
        # rounding ties keep their order by what it took off.
        scores, rest = _difference(rows.scores, mean)
        centered = MappedRows(
            scores,
            rows.group,
            np.zeros(rows.level.size, np.int64),
            self.maps.cells.levels,
            rows.mass,
            rest,
        )
        carried: FloatArray = self.maps.carried(centered, seed) + mean
        return np.minimum(np.maximum(carried, self.low), self.high)


@dataclass(frozen=True)
class ShrunkMaps:
    """Maps of levels, and how far rows go by them.

    Attributes
    ----------
    maps : of the levels.
    shared : the map they share; `None` where nobody goes by it.
    parts : how far rows go by each.
    """

    maps: LevelMaps
    shared: SharedMap | None = None
    parts: Parts = _ALL

    def carried(self, rows: MappedRows, seed: int | None) -> FloatArray:
        """T of every row, (n,); infinite where a score is and part of the way is not gone."""
        own, shared = self.parts
        if own == 1.0:
            return self.maps.carried(rows, seed)
        moved = rows.scores.copy()
        near = np.isfinite(moved)
        if own > 0.0:
            moved[near] += own * (self.maps.carried(rows, seed) - rows.scores)[near]
        if shared > 0.0 and self.shared is not None:
            moved[near] += shared * (self.shared.carried(rows, seed) - rows.scores)[near]
        return moved

    def times(self, part: float) -> ShrunkMaps:
        """A part of the way, in [0, 1]."""
        return replace(self, parts=self.parts.times(part))


def shrunk_maps(
    cells: Cells, scores: FloatArray, group: Codes, level: Codes, mass: FloatArray, min_cell: int
) -> ShrunkMaps:
    """Maps of cells that go as far as their rows support.

    Parameters
    ----------
    cells : of the rows.
    scores, group, level, mass : the rows, (n,) each; those of mass 0 are in no cell.
    min_cell : rows that a cell needs.
    """
    maps, known = level_maps(cells, min_cell), _known(cells)
    if 4.0 * known.noise <= known.squared:
        return ShrunkMaps(maps)
    held = np.flatnonzero(mass)
    places = known_groups(group._replace(codes=group.codes[held]), cells.groups)
    rows = MappedRows(scores[held], places, level.codes[held], level.labels, mass[held])
    shared = _shared_map(rows, cells, min_cell)
    pooled = _known(shared.maps.cells)
    first = 1.0 if pooled.least >= 2.0 * pooled.noise and pooled.least > 0.0 else pooled.part
    moved = rows.scores + first * (shared.carried(rows, 0) - rows.scores)
    own = _known(_cells(moved, rows, cells)).part
    return ShrunkMaps(maps, shared, Parts(own, (1.0 - own) * first))


def _cells(scores: FloatArray, rows: MappedRows, known: Cells) -> Cells:
    """Rows with other scores, in cells like those known."""
    return Cells.from_codes(
        Codes(rows.level, rows.labels),
        Codes(rows.group, known.groups),
        scores,
        sample_weight=rows.mass if known.weighted else None,
    )


def _shared_map(rows: MappedRows, known: Cells, min_cell: int) -> SharedMap:
    mass = np.ones(rows.scores.size) if rows.mass is None else rows.mass
    size = len(rows.labels)
    held = np.bincount(rows.level, mass, minlength=size)
    summed = np.bincount(rows.level, mass * rows.scores, minlength=size)
    overall = float(summed.sum() / held.sum())
    means = np.divide(summed, held, out=np.full(size, overall), where=held > 0.0)
    together = rows._replace(level=np.zeros(rows.level.size, np.int64), labels=("all",))
    cells = _cells(rows.scores - means[rows.level], together, known)
    return SharedMap(
        level_maps(cells, min_cell),
        dict(zip(rows.labels, means.tolist(), strict=True)),
        overall,
        float(rows.scores.min()),
        float(rows.scores.max()),
    )


def _difference(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """left - right as it is rounded, and what rounding took off, exactly (Knuth's two-sum)."""
    with np.errstate(invalid="ignore"):  # of infinite scores, which stay where they are
        rounded = left - right
        of_right = rounded - left
        rest = (left - (rounded - of_right)) - (right + of_right)
    return rounded, rest


def _known(cells: Cells) -> _Known:
    """What is known of the disparity of cells, summed over the pairs of groups."""
    squared = least = noise = 0.0
    for one in contrasts(cells, "pairwise"):
        if not one.support.any():
            continue
        measure = level_weights(one, "marginal")
        found = estimate_distance(one, measure, confidence=_CONFIDENCE, draws=_DRAWS)
        first, second = (
            np.flatnonzero(one.support) * len(cells.groups) + place for place in one.positions
        )
        distances = level_distances(cells, first, second, "wasserstein", 1.0)
        squared += found.squared
        least += found.interval[0] ** 2
        noise += max(float(measure @ distances**2) - found.squared, 0.0)
    return _Known(squared, least, noise)
