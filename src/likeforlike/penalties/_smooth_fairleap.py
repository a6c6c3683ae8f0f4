"""SmoothFairLeap: conditional fairness along a number, without bins.

    V(f) = Σ_k Q(k) W_p^p(P_0^k, P_1^k)

over anchors k along the legitimate number. P_a^k is the distribution of f - b_k x among the rows of
group a, which count by their hat and overlap weight there (`penalties._anchors`); x is how far a
row is from the anchor, and b_k the slope of the line through all scores at the anchor. Overlap
weights give all groups the same spread of x, so scores that depend on the number alone cost
nothing; without the line they would still make the distributions wide and V noisy. Q is P(L) seen
through the hats. With more than two groups, means over pairs are taken as in `FairLeap`.

The line is fitted by weighted least squares, b_k = Σ_i ω_i (x_i - x̄) f_i / S_k with ω the mass that
is moved and S_k = Σ ω (x - x̄)². By the chain rule, with g_i the slope of the transport cost,

    ∂V / ∂f_i = g_i - ω_i (x_i - x̄) D_k,        D_k = Σ_j g_j x_j / S_k.

Anchors: places along a number at which groups are compared, and how much rows count there.

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
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.disparity import Column, Numbered, check_cost_order, numbered_levels
from likeforlike.errors import InputError
from likeforlike.penalties._fairleap import FairLeap, levelwise_cost
from likeforlike.penalties._layout import Layout, NoCommonSupportError
from likeforlike.penalties._penalty import AnchorSlopes, Penalty
from likeforlike.smoothing import (
    FineCells,
    Ranking,
    arrange_cells,
    find_overlap,
    fine_cells,
    propensity,
    restrict_smoothers,
    window_counts,
    windows_of_cells,
)
from likeforlike.transport import compiled, over_models

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


# Rows that are all equally far from an anchor have no slope; rounding must not give them one.
_FLAT = 1e-12


class _Placed(NamedTuple):
    """Rows at their anchors as kernels take them, (1, 2 n) or (m, 2 n) each; K and G."""

    segments: IntArray
    weight: FloatArray
    away: FloatArray
    n_levels: int
    n_groups: int


@compiled
def _moments(scores: FloatArray, rows: _Placed, split: int) -> FloatArray:
    """Σ ω, Σ ω x, Σ ω y, Σ ω x², Σ ω x y of every level, (K, 5); y are scores less the first."""
    by_cell = np.zeros((rows.n_levels * rows.n_groups, 5))
    size, middle = scores.size, scores[0]
    for place in range(2):
        for i in range(size):
            at = place * size + i
            of_cell = by_cell[rows.segments[split, at]]
            # Differences from one of the scores: where they all lie must not cost digits.
            x, y, w = rows.away[split, at], scores[i] - middle, rows.weight[split, at]
            of_cell[0] += w
            of_cell[1] += w * x
            of_cell[2] += w * y
            of_cell[3] += w * x * x
            of_cell[4] += w * x * y
    by_level = np.zeros((rows.n_levels, 5))
    for cell in range(by_cell.shape[0]):
        for part in range(5):
            by_level[cell // rows.n_groups, part] += by_cell[cell, part]
    return by_level


@compiled
def _fit_lines(
    scores: FloatArray,
    rows: _Placed,
    carried: FloatArray,
    lines: FloatArray,
    spread: FloatArray,
    first: int,
    last: int,
) -> None:
    """Compute the slope and center of the line of every level, and the scores without it.

    Fills in `carried` (m, 2 n), `lines` (m, K, 3) but for what pulls at them, and the `spread` S.
    """
    size = scores.shape[1]
    for k in range(first, last):
        split = min(k, rows.segments.shape[0] - 1)
        moments = _moments(scores[k], rows, split)
        slopes = np.zeros(rows.n_levels * rows.n_groups)
        for level in range(rows.n_levels):
            whole, x, y, xx, xy = moments[level]
            for part in range(3):
                lines[k, level, part] = 0.0
            spread[k, level] = 0.0
            if whole > 0.0 and xx - x * x / whole > _FLAT * whole:
                spread[k, level] = xx - x * x / whole
                lines[k, level, 0] = (xy - x * y / whole) / spread[k, level]
                lines[k, level, 1] = x / whole
            for cell in range(level * rows.n_groups, (level + 1) * rows.n_groups):
                slopes[cell] = lines[k, level, 0]
        for place in range(2):
            for i in range(size):
                at = place * size + i
                slope = slopes[rows.segments[split, at]]
                carried[k, at] = scores[k, i] - slope * rows.away[split, at]


@compiled
def _line_adjoint(
    slopes: FloatArray, rows: _Placed, lines: FloatArray, spread: FloatArray, first: int, last: int
) -> None:
    """Fill in D of every line."""
    for k in range(first, last):
        split = min(k, rows.segments.shape[0] - 1)
        pull = np.zeros(rows.n_levels * rows.n_groups)
        for i in range(slopes.shape[1]):
            pull[rows.segments[split, i]] += slopes[k, i] * rows.away[split, i]
        for cell in range(pull.size):
            level = cell // rows.n_groups
            if spread[k, level] > 0.0:
                lines[k, level, 2] += pull[cell] / spread[k, level]


@compiled
def _row_gradient(
    slopes: FloatArray,
    rows: _Placed,
    lines: FloatArray,
    gradients: FloatArray,
    first: int,
    last: int,
) -> None:
    """Compute ∂V / ∂f of every row: what its places have, with what the lines give back."""
    size = gradients.shape[1]
    for k in range(first, last):
        split = min(k, rows.segments.shape[0] - 1)
        of_cell = np.empty((rows.n_levels * rows.n_groups, 2))
        for cell in range(of_cell.shape[0]):
            of_cell[cell, 0] = lines[k, cell // rows.n_groups, 1]
            of_cell[cell, 1] = lines[k, cell // rows.n_groups, 2]
        for i in range(size):
            gradients[k, i] = 0.0
        for place in range(2):
            for i in range(size):
                at = place * size + i
                center, pull = of_cell[rows.segments[split, at]]
                turned = rows.weight[split, at] * (rows.away[split, at] - center) * pull
                gradients[k, i] += slopes[k, at] - turned


@dataclass(frozen=True)
class SmoothFairLeap(Penalty):
    """Penalty on the distances between groups along a number, without bins.

    Like `FairLeap` with levels that are numbers, such as income or a test score. Groups are
    compared at `anchors` places along its rank, where rows count the more the closer they are, and
    so that every group has the same spread of the number there. Scores that depend on the number
    alone cost next to nothing, which bins do not manage. Levels may also be combinations of one
    number and categories, given as text: every category then has anchors of its own.

    Parameters
    ----------
    anchors : m, how many places there are, at least 2. Each row counts at the two around it.
    order : p from 1 to 32. Order 2 is smooth; order 1 has kinks.
    learned : anchors from other rows, as `on` makes them; `None` learns them from the rows it is
        given. They depend on groups and levels only.

    References
    ----------
    Li, Morgan & Zaslavsky (2018), *Balancing covariates via propensity score weighting*.

    Examples
    --------
    The score depends on income, which is spread unequally over the groups; equals are treated
    alike.

    >>> import numpy as np
    >>> import likeforlike as lfl
    >>> rng = np.random.default_rng(0)
    >>> income = rng.random(4000)
    >>> group = np.where(rng.random(4000) < income, "m", "f")
    >>> score = income**2 + 0.02 * rng.standard_normal(4000)
    >>> value, gradient = lfl.SmoothFairLeap().value_and_grad(score, group, income)
    >>> binned, _ = lfl.FairLeap().value_and_grad(score, group, np.floor(5 * income))
    >>> bool(value**0.5 < 0.01), bool(binned**0.5 > 0.02)
    (True, True)
    """

    anchors: int = 10
    order: float = 2.0
    learned: Anchors | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", check_cost_order(self.order))
        anchors: object = self.anchors
        if not (isinstance(anchors, int | np.integer) and anchors >= 2):
            raise InputError(f"anchors must be a whole number of 2 or more, not {self.anchors!r}.")

    def fit_anchors(
        self,
        sensitive_features: Column,
        legitimate_features: Column,
        sample_weight: Column | None = None,
    ) -> Self:
        """The same penalty with anchors learned from these rows, for batches of them or other rows.

        A batch is too small to know how groups are spread along the number. Estimators, sweeps and
        boosting do this by themselves; a torch loop of your own should, once.

        Parameters
        ----------
        sensitive_features, legitimate_features, sample_weight : (n,) each, as for `value_and_grad`.

        Examples
        --------
        >>> import numpy as np
        >>> import likeforlike as lfl
        >>> income = np.arange(200.0)
        >>> group = np.tile(["f", "m"], 100)
        >>> penalty = lfl.SmoothFairLeap(anchors=4).fit_anchors(group, income)
        >>> penalty.value_and_grad([0.5, 0.7], ["f", "m"], [80.0, 90.0])[0] > 0.0
        True
        """
        layout = (
            Layout.from_columns(sensitive_features, legitimate_features, sample_weight)
            .expand_soft_groups()
            .separate_copies()
        )
        learned, placed = fit_anchors(layout, int(self.anchors))
        check_anchored(placed)
        return replace(self, learned=learned)

    def prepare(self, layout: Layout) -> Layout:
        """The rows of a layout at their anchors, which are learned from them unless they were."""
        if layout.away.size:
            return layout
        copies = layout.expand_soft_groups().copies
        rows = layout.expand_soft_groups().separate_copies()
        if self.learned is not None:
            return replace(self.learned.assign(rows), copies=copies)
        splits = [rows.select_model(k) for k in range(len(rows.segments))]
        placed = [fit_anchors(split, int(self.anchors))[1] for split in splits]
        together = placed[0] if len(placed) == 1 else _concatenate(placed)
        return replace(together, copies=copies)

    def check(self, layout: Layout) -> None:
        """Raise unless two groups have enough rows of the layout at some anchor."""
        check_anchored(self.prepare(layout))

    def evaluate(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Values (m,) and gradients (m, n) of the scores (m, n) of m models on rows of a layout."""
        placed = self.prepare(layout)
        rows = self._rows(placed)
        copied = placed.repeat_copies(scores)
        found = self._evaluate_lines(copied, placed.separate_copies(), rows)
        gradients = np.empty(copied.shape)
        over_models(
            partial(_row_gradient, found.slopes, rows, found.lines, gradients), *found.slopes.shape
        )
        return found.values, placed.sum_copies(gradients)

    def evaluate_at_anchors(self, scores: FloatArray, layout: Layout) -> AnchorSlopes:
        """Compute values, and slopes at the anchors, before lines give back their part.

        Parameters
        ----------
        scores, layout : as for `evaluate`.
        """
        placed = self.prepare(layout)
        return self._evaluate_lines(
            placed.repeat_copies(scores), placed.separate_copies(), self._rows(placed)
        )

    def transported_mass(self, layout: Layout) -> FloatArray:
        """Mass (2 n,) moved to or from the rows of a layout, at first and at second anchors."""
        return FairLeap(order=self.order).transported_mass(self.prepare(layout))

    def _rows(self, placed: Layout) -> _Placed:
        splits = range(len(placed.segments))
        moved = np.stack([self.transported_mass(placed.select_model(k)) for k in splits])
        return _Placed(placed.segments, moved, placed.away, len(placed.levels), len(placed.groups))

    def _evaluate_lines(self, scores: FloatArray, placed: Layout, rows: _Placed) -> AnchorSlopes:
        carried = np.empty((len(scores), placed.segments.shape[1]))
        lines = np.empty((len(scores), rows.n_levels, 3))
        spread = np.empty((len(scores), rows.n_levels))
        over_models(partial(_fit_lines, scores, rows, carried, lines, spread), *carried.shape)
        values, slopes = levelwise_cost(carried, placed, self.order)
        over_models(partial(_line_adjoint, slopes, rows, lines, spread), *carried.shape)
        return AnchorSlopes(values, carried, slopes, lines)


def _concatenate(placed: list[Layout]) -> Layout:
    """Return layouts of models that have the same levels and groups, as one."""
    return replace(
        placed[0],
        segments=np.concatenate([one.segments for one in placed]),
        mass=np.concatenate([one.mass for one in placed]),
        away=np.concatenate([one.away for one in placed]),
    )
