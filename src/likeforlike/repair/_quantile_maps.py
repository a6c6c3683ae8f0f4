"""Quantile maps of levels to their barycenters, and their shrinkage towards a shared map.

A level has a map of its own if at least two of its cells are large enough, made of these cells. Any
other cell *borrows*: the map of the nearest level that has one for its group, if levels are
numbers, or else the map of all levels pooled.

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

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._settings import real
from likeforlike.disparity import Cells, Codes, contrasts, level_distances, level_weights
from likeforlike.errors import InputError
from likeforlike.inference import estimate_distance
from likeforlike.transport import (
    Atoms,
    Curves,
    Ranks,
    carry,
    mean_curves,
    pair_costs,
    ranks,
    sort_rows,
)


class MappedRows(NamedTuple):
    """Rows to be carried.

    Attributes
    ----------
    scores : (n,) finite floats.
    group : (n,) integers, positions among the groups of the maps.
    level : (n,) integers, positions among `labels`.
    labels : labels of levels, which the maps may or may not know.
    mass : (n,) floats >= 0, by which tied rows share; `None` means evenly.
    rest : (n,) floats, what rounding took off the scores, by which rows that it tied are in order.
    """

    scores: FloatArray
    group: IntArray
    level: IntArray
    labels: tuple[Hashable, ...]
    mass: FloatArray | None = None
    rest: FloatArray | None = None


@dataclass(frozen=True)
class LevelMaps:
    """The maps of K levels, and as one more level that of all levels pooled.

    Attributes
    ----------
    cells : the sorted scores they are made of.
    shares : (K + 1, G) floats, P(a | l) among the groups that have a part in the map of a level;
        all 0 where there is none.
    ranks : (K + 1) x G distribution functions F_al.
    curves : K + 1 quantile functions Σ_a P(a | l) Q_al.
    """

    cells: Cells
    shares: FloatArray
    ranks: Ranks
    curves: Curves

    @property
    def coverage(self) -> dict[Hashable, float]:
        """Share of each group that is carried by the map of its own level."""
        mass = self.cells.mass
        held = np.where(self.own, mass, 0.0).sum(axis=0) / mass.sum(axis=0)
        return dict(zip(self.cells.groups, held.tolist(), strict=True))

    @cached_property
    def own(self) -> BoolArray:
        """Cells that have a part in the map of their own level, shape (K, G)."""
        part: BoolArray = self.shares[:-1] > 0.0
        return part

    def positions(self, labels: Sequence[Hashable]) -> IntArray:
        """Return positions (k,) of k labels among the levels, -1 for one that is not there."""
        known = {label: k for k, label in enumerate(self.cells.levels)}
        return np.array([known.get(label, -1) for label in labels])

    def sources(self, labels: Sequence[Hashable]) -> IntArray:
        """Level whose map each label and group takes, shape (number of labels, G); K is pooled."""
        at = self.positions(labels)
        own = (at >= 0)[:, None] & self.own[at]
        chosen = np.where(own, at[:, None], len(self.cells.levels))
        known, wanted = _on_a_line(self.cells.levels), _on_a_line(labels)
        if np.isnan(known).any():
            return chosen
        for g in range(len(self.cells.groups)):
            candidates = np.flatnonzero(self.own[:, g])
            lacking = np.flatnonzero(~own[:, g] & ~np.isnan(wanted))
            if candidates.size:
                chosen[lacking, g] = candidates[_nearest(known[candidates], wanted[lacking])]
        return chosen

    def carried(self, rows: MappedRows, seed: int | None) -> FloatArray:
        """Carry rows to the barycenters: T(f, a, l) of every row, shape (n,).

        Tied rows of a cell share the interval of their score in an order drawn with `seed`.
        """
        n_groups = len(self.cells.groups)
        source = self.sources(rows.labels)
        segments = (source * n_groups + np.arange(n_groups)).ravel()
        lot = np.random.default_rng(seed).permutation(rows.scores.size)
        if rows.rest is not None:
            lot = lot[np.argsort(rows.rest[lot], kind="stable")]
        cell = rows.level * n_groups + rows.group
        ordered = sort_rows(rows.scores[lot], cell[lot], segments.size)
        mass = None if rows.mass is None else rows.mass[lot]
        drawn = carry(ordered, self.ranks, self.curves, segments, source.ravel(), mass)
        carried = np.empty(drawn.size)
        carried[lot] = drawn
        return carried


def fit_level_maps(cells: Cells, min_cell: int) -> LevelMaps:
    """Make the maps of cells: O(n G)."""
    large = cells.counts >= min_cell
    own = large & (large.sum(axis=1, keepdims=True) >= 2)
    parts = np.vstack([np.where(own, cells.mass, 0.0), cells.mass.sum(axis=0)])
    whole = parts.sum(axis=1, keepdims=True)
    shares = np.divide(parts, whole, out=np.zeros_like(parts), where=whole > 0.0)
    by_level, pooled = cells.atoms, cells.pool_levels().atoms
    known = ranks(
        Atoms(
            np.concatenate([by_level.values, pooled.values]),
            np.concatenate([by_level.mass, pooled.mass]),
            np.concatenate([by_level.counts, pooled.counts]),
            np.concatenate([by_level.offsets, by_level.offsets[-1] + pooled.offsets[1:]]),
        )
    )
    return LevelMaps(cells, shares, known, mean_curves(known, shares))


def squared_level_distances(cells: Cells) -> FloatArray:
    """W_2² between every two groups in every level, shape (K, G, G); 0 where one is absent."""
    n_levels, n_groups = cells.counts.shape
    squares = np.zeros((n_levels, n_groups, n_groups))
    here = cells.counts > 0
    level, left, right = np.nonzero(np.triu(here[:, :, None] & here[:, None, :], 1))
    costs = pair_costs(cells.atoms, level * n_groups + left, level * n_groups + right, 2.0)
    squares[level, left, right] = costs
    squares[level, right, left] = costs
    return squares


def mean_squared_change(maps: LevelMaps, squares: FloatArray) -> float:
    """Return how far the maps carry the scores they are made of, Σ P(f, a, l) (T(f, a, l) - f)².

    In a level with a map of its own Σ_a π_a W_2²(P_a, barycenter) = ½ Σ_{ab} π_a π_b W_2²(P_a, P_b)
    with π_a = P(a | l); rows of other cells are carried by the map they borrow.
    """
    cells, shares = maps.cells, maps.shares[:-1]
    spread = 0.5 * np.einsum("ka,kb,kab->k", shares, shares, squares)
    mass = np.where(maps.own, cells.mass, 0.0).sum(axis=1)
    return float(((mass * spread).sum() + _borrowed_change(maps)) / cells.mass.sum())


def _borrowed_change(maps: LevelMaps) -> float:
    """Compute squared change of the rows in cells that borrow a map, summed by weight."""
    cells, atoms = maps.cells, maps.cells.atoms
    cell = np.repeat(np.arange(maps.own.size), np.diff(atoms.offsets))
    borrowing = np.flatnonzero(~maps.own.ravel()[cell])
    # An atom stands for rows that share its mass, and may be carried to different places.
    rows = np.repeat(borrowing, atoms.counts[borrowing])
    level, group = np.divmod(cell[rows], len(cells.groups))
    values, mass = atoms.values[rows], atoms.mass[rows] / atoms.counts[rows]
    change = maps.carried(MappedRows(values, group, level, cells.levels, mass), 0) - values
    return float((mass * change**2).sum())


def _on_a_line(labels: Sequence[object]) -> FloatArray:
    """Return labels as numbers; NaN for those that are none, which truth values are not."""
    number = int, float, np.integer, np.floating
    places = np.array(
        [
            real(label) if isinstance(label, number) and not isinstance(label, bool) else np.nan
            for label in labels
        ]
    )
    return np.where(np.isfinite(places), places, np.nan)


def _nearest(known: FloatArray, wanted: FloatArray) -> IntArray:
    """Return position of the nearest of the increasing `known` numbers; of two, the lower."""
    above = np.minimum(np.searchsorted(known, wanted), known.size - 1)
    below = np.maximum(above - 1, 0)
    with np.errstate(over="ignore"):
        nearer = np.abs(known[above] - wanted) < np.abs(wanted - known[below])
    return np.where(nearer, above, below)


def check_groups(labels: Sequence[Hashable], rows: IntArray, min_cell: int) -> None:
    """Raise unless there are two groups or more, each with at least `min_cell` rows."""
    if len(labels) < 2:
        raise InputError(
            f"sensitive_features has the single value {labels[0]!r}; a repair needs at least two "
            "groups."
        )
    for label, count in zip(labels, rows.tolist(), strict=True):
        if count < min_cell:
            raise InputError(
                f"sensitive_features has {count} row(s) of {label!r}, fewer than min_cell="
                f"{min_cell}: merge this group with another, leave it out, or lower min_cell."
            )


def locate_groups(group: Codes, known: tuple[Hashable, ...]) -> IntArray:
    """Return groups of rows as positions among those of `fit`, shape (n,)."""
    position = {label: g for g, label in enumerate(known)}
    unknown = [label for label in group.labels if label not in position]
    if unknown:
        raise InputError(
            f"sensitive_features has {unknown[0]!r}, which fit has not seen; it knows "
            f"{list(known)}."
        )
    places: IntArray = np.array([position[label] for label in group.labels])[group.codes]
    return places


def check_width(label: Hashable, known: Hashable) -> None:
    """Raise unless a level is made of as many columns as those of `fit`."""
    found, had = (len(one) if isinstance(one, tuple) else 1 for one in (label, known))
    if found != had:
        raise InputError(f"legitimate_features has {found} column(s), but had {had} in fit.")


# Two-sided, of which the lower end is used; and how often noise is drawn for it.
_CONFIDENCE, _DRAWS = 0.8, 50


class Parts(NamedTuple):
    """What part of the way rows go by the maps of the levels, and by the one they share."""

    own: float = 1.0
    shared: float = 0.0

    def times(self, part: float) -> Parts:
        """Return both of them, less."""
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
    shared : the map they share; `None` where it is not used.
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
        """Return a part of the way, in [0, 1]."""
        return replace(self, parts=self.parts.times(part))


def shrink_maps(
    cells: Cells, scores: FloatArray, group: Codes, level: Codes, mass: FloatArray, min_cell: int
) -> ShrunkMaps:
    """Return maps of cells that go as far as their rows support.

    Parameters
    ----------
    cells : of the rows.
    scores, group, level, mass : the rows, (n,) each; those of mass 0 are in no cell.
    min_cell : rows that a cell needs.
    """
    maps, known = fit_level_maps(cells, min_cell), _known(cells)
    if 4.0 * known.noise <= known.squared:
        return ShrunkMaps(maps)
    held = np.flatnonzero(mass)
    places = locate_groups(group._replace(codes=group.codes[held]), cells.groups)
    rows = MappedRows(scores[held], places, level.codes[held], level.labels, mass[held])
    shared = _shared_map(rows, cells, min_cell)
    pooled = _known(shared.maps.cells)
    first = 1.0 if pooled.least >= 2.0 * pooled.noise and pooled.least > 0.0 else pooled.part
    moved = rows.scores + first * (shared.carried(rows, 0) - rows.scores)
    own = _known(_cells(moved, rows, cells)).part
    return ShrunkMaps(maps, shared, Parts(own, (1.0 - own) * first))


def _cells(scores: FloatArray, rows: MappedRows, known: Cells) -> Cells:
    """Return rows with other scores, in cells like those known."""
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
        fit_level_maps(cells, min_cell),
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
    """Return what is known of the disparity of cells, summed over the pairs of groups."""
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
