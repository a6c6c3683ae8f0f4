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
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

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
        """Share of each group that is mapped by the map of its own level."""
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
        """Find the level whose map each label and group takes, (labels, G); K is pooled."""
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

    def map_scores(
        self,
        scores: FloatArray,
        group: IntArray,
        level: Codes,
        mass: FloatArray | None = None,
        *,
        rest: FloatArray | None = None,
        seed: int | None,
    ) -> FloatArray:
        """Map scores (n,) of groups (n,), positions among those of the maps: T(f, a, l), (n,).

        The maps need not know the labels of levels. Tied rows of a cell share the interval of their
        score by `mass` (n,), or evenly, in an order drawn with `seed`; rows that only rounding tied
        are in order of `rest` (n,), what it took off.
        """
        n_groups = len(self.cells.groups)
        source = self.sources(level.labels)
        segments = (source * n_groups + np.arange(n_groups)).ravel()
        lot = np.random.default_rng(seed).permutation(scores.size)
        if rest is not None:
            lot = lot[np.argsort(rest[lot], kind="stable")]
        cell = level.codes * n_groups + group
        ordered = sort_rows(scores[lot], cell[lot], segments.size)
        own = None if mass is None else mass[lot]
        mapped = np.empty(scores.size)
        mapped[lot] = carry(ordered, self.ranks, self.curves, segments, source.ravel(), own)
        return mapped


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


def level_costs(cells: Cells) -> FloatArray:
    """W_2² between every two groups in every level, shape (K, G, G); 0 where one is absent."""
    n_levels, n_groups = cells.counts.shape
    squares = np.zeros((n_levels, n_groups, n_groups))
    here = cells.counts > 0
    level, left, right = np.nonzero(np.triu(here[:, :, None] & here[:, None, :], 1))
    costs = pair_costs(cells.atoms, level * n_groups + left, level * n_groups + right, 2.0)
    squares[level, left, right] = costs
    squares[level, right, left] = costs
    return squares


def mean_square_change(maps: LevelMaps, squares: FloatArray) -> float:
    """Compute how far the maps move the scores they are made of, Σ P(f, a, l) (T(f, a, l) - f)².

    In a level with a map of its own Σ_a π_a W_2²(P_a, barycenter) = ½ Σ_{ab} π_a π_b W_2²(P_a, P_b)
    with π_a = P(a | l); rows of other cells are carried by the map they borrow.
    """
    cells, shares = maps.cells, maps.shares[:-1]
    spread = 0.5 * np.einsum("ka,kb,kab->k", shares, shares, squares)
    held = np.where(maps.own, cells.mass, 0.0).sum(axis=1)
    atoms = cells.atoms
    cell = np.repeat(np.arange(maps.own.size), np.diff(atoms.offsets))
    borrowing = np.flatnonzero(~maps.own.ravel()[cell])
    # An atom stands for rows that share its mass, and may be carried to different places.
    rows = np.repeat(borrowing, atoms.counts[borrowing])
    level, group = np.divmod(cell[rows], len(cells.groups))
    values, mass = atoms.values[rows], atoms.mass[rows] / atoms.counts[rows]
    change = maps.map_scores(values, group, Codes(level, cells.levels), mass, seed=0) - values
    return float(((held * spread).sum() + float((mass * change**2).sum())) / cells.mass.sum())


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


def select_rows(column: Codes, rows: IntArray) -> Codes:
    """Return some rows of a column, with the labels that occur in them."""
    there, codes = np.unique(column.codes[rows], return_inverse=True)
    return Codes(codes, tuple(column.labels[k] for k in there.tolist()))


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


def check_part(name: str, value: Any) -> None:  # noqa: ANN401
    """Raise unless a setting is a number from 0 to 1."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not (isinstance(plain, int | float) and 0.0 <= plain <= 1.0) or isinstance(plain, bool):
        raise InputError(f"{name} must be a number from 0 to 1, not {plain!r}.")


def check_whole(name: str, value: Any, least: int) -> None:  # noqa: ANN401
    """Raise unless a setting is a whole number of at least `least`."""
    if isinstance(value, bool) or not (isinstance(value, int | np.integer) and value >= least):
        raise InputError(f"{name} must be a whole number of at least {least}, not {value!r}.")


def check_switch(name: str, value: Any) -> None:  # noqa: ANN401
    """Raise unless a setting is a truth value."""
    if not isinstance(value, bool | np.bool):
        raise InputError(f"{name} must be True or False, not {value!r}.")


def check_random_state(value: Any) -> None:  # noqa: ANN401
    """Raise unless a setting is a seed."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (value is None or (whole and value >= 0)):
        raise InputError(f"random_state must be a whole number >= 0 or None, not {value!r}.")


def check_width(label: Hashable, known: Hashable) -> None:
    """Raise unless a level is made of as many columns as those of `fit`."""
    found, had = (len(one) if isinstance(one, tuple) else 1 for one in (label, known))
    if found != had:
        raise InputError(f"legitimate_features has {found} column(s), but had {had} in fit.")


# Two-sided, of which the lower end is used; and how often noise is drawn for it.
_CONFIDENCE, _DRAWS = 0.8, 50


@dataclass(frozen=True)
class ShrunkMaps:
    """Maps of levels, a map that all levels share, and how far rows go by each.

    Attributes
    ----------
    maps : of the levels.
    own, common : how far rows go by the maps of the levels, and by the one they share.
    pooled : that one, of scores less the mean of their level; `None` where it is not used.
    means, overall : mean score of every level, and of all rows, for levels that were not there.
    low, high : no score goes beyond those that were there.
    """

    maps: LevelMaps
    own: float = 1.0
    common: float = 0.0
    pooled: LevelMaps | None = None
    means: dict[Hashable, float] = field(default_factory=dict)
    overall: float = 0.0
    low: float = 0.0
    high: float = 0.0

    def map_scores(
        self,
        scores: FloatArray,
        group: IntArray,
        level: Codes,
        mass: FloatArray | None = None,
        *,
        seed: int | None,
    ) -> FloatArray:
        """Return T of every row, (n,); infinite where a score is and part of the way is not gone.

        Arguments are those of `LevelMaps.map_scores`.
        """
        if self.own == 1.0:
            return self.maps.map_scores(scores, group, level, mass, seed=seed)
        moved = scores.copy()
        near = np.isfinite(moved)
        if self.own > 0.0:
            mapped = self.maps.map_scores(scores, group, level, mass, seed=seed)
            moved[near] += self.own * (mapped - scores)[near]
        if self.common > 0.0 and self.pooled is not None:
            mapped = self.map_common(scores, group, level, mass, seed=seed)
            moved[near] += self.common * (mapped - scores)[near]
        return moved

    def map_common(
        self,
        scores: FloatArray,
        group: IntArray,
        level: Codes,
        mass: FloatArray | None,
        *,
        seed: int | None,
    ) -> FloatArray:
        """Return T_shared of every row, (n,)."""
        assert self.pooled is not None
        by_label = [self.means.get(label, self.overall) for label in level.labels]
        mean = np.array(by_label)[level.codes]
        # Rows of different levels are tied only by rounding; rows of one level that rounding ties
        # keep their order by what it took off, exactly (Knuth's two-sum).
        with np.errstate(invalid="ignore"):  # of infinite scores, which stay where they are
            centered = scores - mean
            minus = centered - scores
            rest = (scores - (centered - minus)) - (mean + minus)
        one = Codes(np.zeros(scores.size, np.int64), self.pooled.cells.levels)
        mapped: FloatArray = (
            self.pooled.map_scores(centered, group, one, mass, rest=rest, seed=seed) + mean
        )
        return np.minimum(np.maximum(mapped, self.low), self.high)

    def scale(self, part: float) -> ShrunkMaps:
        """Go only a part of the way, in [0, 1]."""
        return replace(self, own=self.own * part, common=self.common * part)


def shrink_maps(
    cells: Cells, scores: FloatArray, group: Codes, level: Codes, mass: FloatArray, min_cell: int
) -> ShrunkMaps:
    """Fit maps to cells that go as far as their rows support.

    Rows of mass 0, of the n given by scores, group, level and mass, are in no cell.
    """
    maps = fit_level_maps(cells, min_cell)
    squared, _, noise = _estimate_noise(cells)
    if 4.0 * noise <= squared:
        return ShrunkMaps(maps)
    held = np.flatnonzero(mass)
    places = locate_groups(group._replace(codes=group.codes[held]), cells.groups)
    scores, codes, mass = scores[held], level.codes[held], mass[held]
    by_group, by_level = Codes(places, cells.groups), Codes(codes, level.labels)
    weight = mass if cells.weighted else None
    total = np.bincount(codes, mass, minlength=len(level.labels))
    summed = np.bincount(codes, mass * scores, minlength=len(level.labels))
    overall = float(summed.sum() / total.sum())
    means = np.divide(summed, total, out=np.full(total.size, overall), where=total > 0.0)
    pooled = Cells.from_codes(
        Codes(np.zeros(codes.size, np.int64), ("all",)),
        by_group,
        scores - means[codes],
        sample_weight=weight,
    )
    shrunk = ShrunkMaps(
        maps,
        pooled=fit_level_maps(pooled, min_cell),
        means=dict(zip(level.labels, means.tolist(), strict=True)),
        overall=overall,
        low=float(scores.min()),
        high=float(scores.max()),
    )
    _, least, noise = _estimate_noise(pooled)
    first = 1.0 if least >= 2.0 * noise and least > 0.0 else _shrinkage(least, noise)
    mapped = shrunk.map_common(scores, places, by_level, mass, seed=0)
    moved = scores + first * (mapped - scores)
    _, least, noise = _estimate_noise(
        Cells.from_codes(by_level, by_group, moved, sample_weight=weight)
    )
    own = _shrinkage(least, noise)
    return replace(shrunk, own=own, common=(1.0 - own) * first)


def _shrinkage(least: float, noise: float) -> float:
    """Compute u = d² / (d² + c)."""
    return least / (least + noise) if least > 0.0 else 0.0


def _estimate_noise(cells: Cells) -> tuple[float, float, float]:
    """Estimate the squared disparity, the lower end of its interval, and what noise adds to it.

    All three are summed over the pairs of groups; the last is c of the module.
    """
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
    return squared, least, noise
