"""Anchors: places along a number at which groups are compared, and how much rows count there.

A row with the number L stands between two anchors and counts at both, by *hat functions* that are 1
at their anchor, 0 at the next ones, and add up to 1. People near one anchor are not equals yet:
groups may be spread differently around it. So a row of group a also carries the overlap weight

    r_a(L) = h(L) / e_a(L),        h(L) = 1 / Σ_b 1 / e_b(L),        e_a(L) = P(A = a | L),

with which the spread of L around an anchor is the same, φ h, in all groups; for two groups the
weight is the chance of belonging to the other. Anchors stand in the rank of L, closer where groups
meet more: their density is that of h^(1/3), so that none of them rests on a handful of rows.

A group with fewer than ten effective rows at an anchor, (Σ w)² / Σ w², is left out there. What it
would have counted is put apart, in levels of one group each: nothing is compared in them, and
`Layout.coverage` tells how much that is. Everything here depends on L and A, never on scores.

References: Li, Morgan & Zaslavsky (2018), *Balancing covariates via propensity score weighting*;
Li & Li (2019), *Propensity score weighting for causal inference with multiple treatments*.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.disparity._numbered_levels import Numbered, numbered_levels
from likeforlike.errors import InputError
from likeforlike.penalties._layout import Layout, NoCommonSupportError
from likeforlike.smoothing._fine_cells import FineCells, fine_cells
from likeforlike.smoothing._overlap import arrange_cells, find_overlap, restrict_smoothers
from likeforlike.smoothing._propensity import propensity
from likeforlike.smoothing._ranking import Ranking
from likeforlike.smoothing._windows import window_counts, windows_of_cells

LEAST_ROWS = 10.0
"""Effective rows that a group needs at an anchor."""

_DENSITY = 1.0 / 3.0
_WHO = "SmoothFairLeap"


class _AnchorPosition(NamedTuple):
    """Where levels stand: between which anchors, and the chances of the groups there.

    Attributes
    ----------
    position : (K,) floats from 0 to m - 1.
    category : (K,) integers; -1 where no row was seen.
    chances : (K, G) floats, e_a(L).
    """

    position: FloatArray
    category: IntArray
    chances: FloatArray


class _Shares(NamedTuple):
    """What the cells (level, group) have at the anchor below and above them, (2, K, G) each."""

    segment: IntArray
    share: FloatArray


@dataclass(frozen=True, slots=True)
class Anchors:
    """Anchors that were learned from rows, and who counts at each of them.

    Attributes
    ----------
    number : m, the anchors of every category.
    groups, categories : labels.
    segment : (C,) integers, the place of every category in the ranking; -1 where no row was seen.
    ranking : the numbers that were seen.
    position : (v,) floats, where each of them stands, from 0 to m - 1.
    chances : (v, G) floats, e_a there.
    present : (C m, G), which groups are compared at each anchor.
    scale : (C m, G) floats that give every group the mass at an anchor that it has by its hat.
    """

    number: int
    groups: tuple[Hashable, ...]
    categories: tuple[Hashable, ...]
    segment: IntArray
    ranking: Ranking
    position: FloatArray
    chances: FloatArray
    present: BoolArray
    scale: FloatArray

    def assign(self, layout: Layout) -> Layout:
        """Return the rows of a layout of one model or more, each at two anchors."""
        if layout.groups != self.groups:
            raise InputError(
                f"groups are {list(layout.groups)}, but the anchors were learned from "
                f"{list(self.groups)}; learn them from rows of all groups."
            )
        return self._assign(layout, self._locate(numbered_levels(layout.levels, _WHO)))

    def _locate(self, levels: Numbered) -> _AnchorPosition:
        known = {
            label: code for code, label in enumerate(self.categories) if self.segment[code] >= 0
        }
        codes = np.array([known.get(label, -1) for label in levels.categories])
        category = codes[levels.category]
        segment = np.maximum(self.segment[category], 0)
        below, above, share = self.ranking.between(levels.numbers, segment)
        position = (1.0 - share) * self.position[below] + share * self.position[above]
        part = share[:, None]
        chances = (1.0 - part) * self.chances[below] + part * self.chances[above]
        return _AnchorPosition(position, category, chances)

    def _assign(self, layout: Layout, standing: _AnchorPosition) -> Layout:
        shares = _shares(self.number, self.present, self.scale, standing)
        level = layout.segments // len(self.groups)
        below = _below(standing.position, self.number)
        beyond = (standing.position - below)[level]
        mass = shares.share.reshape(2, -1)[:, layout.segments]
        if layout.mass.size:
            mass = mass * layout.mass
        labels = [(label, k) for label in self.categories for k in range(self.number)]
        return Layout(
            np.concatenate(list(shares.segment.reshape(2, -1)[:, layout.segments]), axis=1),
            (*labels, *(("apart", group) for group in self.groups)),
            self.groups,
            np.concatenate(list(mass), axis=1),
            np.concatenate([beyond, beyond - 1.0], axis=1),
        )


def fit_anchors(layout: Layout, number: int) -> tuple[Anchors, Layout]:
    """Learn anchors from the rows of one model; those rows, each at two anchors."""
    levels = numbered_levels(layout.levels, _WHO)
    size = len(layout.levels), len(layout.groups)
    cells = layout.segments[0]
    rows = np.bincount(cells, minlength=size[0] * size[1]).reshape(size).astype(np.float64)
    weight = layout.with_moderate_weights().mass[0] if layout.mass.size else np.ones(cells.size)
    mass = layout.cell_mass()
    squares = np.bincount(cells, np.square(weight), rows.size).reshape(size).astype(np.float64)
    seen = np.flatnonzero(mass.sum(axis=1) > 0.0)
    category = levels.category[seen]
    there, segment = np.unique(category, return_inverse=True)
    fine = fine_cells(
        levels.numbers[seen], segment, mass=mass[seen].sum(axis=1), rows=rows[seen].sum(axis=1)
    )
    fine, apart = _overlapping(fine, levels.numbers[seen], segment, rows[seen])
    chances = _chances(fine, mass[seen])
    position = _positions(fine, chances, number)
    standing = _AnchorPosition(position, category, chances)
    segments = np.full(len(levels.categories), -1)
    segments[there] = np.arange(there.size)
    silent = np.zeros(len(levels.categories), bool)
    silent[there] = apart
    present, scale = _compared(
        standing, mass[seen], squares[seen], number, np.repeat(silent, number)
    )
    order = np.lexsort((levels.numbers[seen], segment))
    learned = Anchors(
        number,
        layout.groups,
        levels.categories,
        segments,
        fine.ranking,
        position[order],
        chances[order],
        present,
        scale,
    )
    everywhere = learned._locate(levels) if seen.size < size[0] else standing
    return learned, learned._assign(layout, everywhere)


def _overlapping(
    fine: FineCells, numbers: FloatArray, segment: IntArray, rows: FloatArray
) -> tuple[FineCells, BoolArray]:
    """Cells of levels as their groups can be compared, and the segments (S,) where they cannot.

    Where rows with nearly the same number are of one group, a curve of chances that follows single
    numbers would leave no row with equals. It is one that leaves enough of the groups, as in an
    audit (`smoothing`), and numbers count as one.

    Parameters
    ----------
    rows : (K, G) floats, of every level and group.
    """
    level, group = np.nonzero(rows)
    many = rows[level, group]
    cells = fine_cells(numbers[level], segment[level], rows=many)
    overlap = find_overlap(cells, group)
    window = windows_of_cells(cells, window_counts(cells))[cells.cell]
    fine = arrange_cells(fine, overlap)
    cells, overlap = restrict_smoothers(cells, window, group, overlap)
    if cells.held is not None and cells.allowed is not None:
        usual = np.ones(cells.allowed.shape, bool) if fine.allowed is None else fine.allowed
        allowed = np.where(cells.held[:, None, None], cells.allowed, usual)
        fine = replace(fine, allowed=allowed, held=cells.held, cluster=np.arange(numbers.size))
    return fine, overlap.unit == "apart"


def _chances(fine: FineCells, mass: FloatArray) -> FloatArray:
    """e_a(L) of every level, (K, G), with sum one."""
    shares = mass / mass.sum(axis=1, keepdims=True)
    if mass.shape[1] == 2:
        second, _ = propensity(fine, shares[:, 1])
        return np.column_stack([1.0 - second, second])
    chances = np.column_stack([propensity(fine, of_group)[0] for of_group in shares.T])
    whole: FloatArray = chances / chances.sum(axis=1, keepdims=True)
    return whole


def _positions(fine: FineCells, chances: FloatArray, number: int) -> FloatArray:
    """Return where levels stand among the anchors of their category, (K,), from 0 to m - 1."""
    overlap = 1.0 / (1.0 / chances).sum(axis=1)
    dense = fine.rows * overlap**_DENSITY
    order = np.lexsort((fine.position, fine.segment))
    whole = np.bincount(fine.segment, dense)
    before = np.r_[0.0, np.cumsum(whole)]
    position = np.empty(dense.size)
    position[order] = np.cumsum(dense[order]) - dense[order] / 2.0
    position -= before[fine.segment]
    position *= (number - 1) / whole[fine.segment]
    return np.clip(position, 0.0, number - 1.0)


def _below(position: FloatArray, number: int) -> IntArray:
    """Return the anchor below, (K,); the last but one for rows at the last."""
    return np.minimum(position.astype(np.int64), number - 2)


def _shares(
    number: int, present: BoolArray, scale: FloatArray, standing: _AnchorPosition
) -> _Shares:
    """Return segments of the cells at both of their anchors, and what a row counts there."""
    n_groups = standing.chances.shape[1]
    below = _below(standing.position, number)
    beyond = standing.position - below
    hats = np.stack([1.0 - beyond, beyond])[:, :, None]
    anchor = np.maximum(standing.category, 0) * number + below + np.array([[0], [1]])
    counted = present[anchor] & (standing.category >= 0)[:, None]
    rare = 1.0 / standing.chances
    overlap = rare / np.maximum((rare * counted).sum(axis=2, keepdims=True), 1.0)
    share = hats * np.where(counted, overlap * scale[anchor], 1.0)
    group = np.arange(n_groups)
    level = np.where(counted, anchor[:, :, None], len(present) + group)
    return _Shares(level * n_groups + group, share)


def _compared(
    standing: _AnchorPosition, mass: FloatArray, squares: FloatArray, number: int, silent: BoolArray
) -> tuple[BoolArray, FloatArray]:
    """Return which groups are compared at each anchor, and the scale of their weights there.

    Without a group the others overlap differently, so they are weighed anew until all have enough.

    Parameters
    ----------
    silent : (C m,) anchors of categories in which groups lie apart along the number.
    """
    n_groups, anchors = mass.shape[1], silent.size
    present: BoolArray = np.repeat(~silent[:, None], n_groups, axis=1)
    ones = np.ones((anchors, n_groups))
    below = _below(standing.position, number)
    beyond = standing.position - below
    hats = np.stack([1.0 - beyond, beyond])[:, :, None]
    size = (anchors + n_groups) * n_groups
    while True:
        segment, share = _shares(number, present, ones, standing)
        whole = np.bincount(segment.ravel(), (share * mass).ravel(), size)
        square = np.bincount(segment.ravel(), (share * share * squares).ravel(), size)
        effective = whole**2 / np.maximum(square, np.finfo(float).tiny)
        enough = effective[: anchors * n_groups].reshape(present.shape) >= LEAST_ROWS
        kept = present & enough
        kept &= (kept.sum(axis=1) > 1)[:, None]
        if (kept == present).all():
            break
        present = kept
    by_hat = np.bincount(segment.ravel(), (hats * mass).ravel(), size)
    scale = by_hat / np.where(whole > 0.0, whole, 1.0)
    return present, scale[: anchors * n_groups].reshape(present.shape)


def check_anchored(layout: Layout) -> None:
    """Raise unless two groups are compared at some anchor."""
    if len(layout.groups) > 1 and not any(layout.coverage().values()):
        raise NoCommonSupportError(
            f"no anchor has {LEAST_ROWS:g} effective rows of two of the groups "
            f"{list(layout.groups)}, or they lie apart along the number, so nothing can be "
            "compared; take fewer anchors or more rows, bins with FairLeap, or learn "
            "the anchors from all rows first, by SmoothFairLeap().fit_anchors(groups, levels)."
        )
    layout.check_common_support()
