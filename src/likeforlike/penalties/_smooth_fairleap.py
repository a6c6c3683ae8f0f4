"""SmoothFairLeap: conditional fairness along a number, without bins.

    V(f) = Σ_k Q(k) W_p^p(P_0^k, P_1^k)

over anchors k along the legitimate number L. P_a^k is the distribution of f - b_k x among the rows
of group a, with x the distance of a row from the anchor and b_k the slope of the line through all
scores there. A row between two anchors counts at both, by *hat functions* that are 1 at their
anchor, 0 at the next ones and add up to 1, times the overlap weight r_a(L) = h(L) / e_a(L) with
h(L) = 1 / Σ_b 1 / e_b(L) and e_a(L) = P(A = a | L): for two groups the probability of the other.
Then the spread of L around an anchor is the same, φ h, in all groups, and scores that depend on L
alone cost nothing; without the line they would still make V noisy. Q is P(L) seen through the hats.
Anchors stand in the rank of L with density h^(1/3), closer where groups overlap more.

Lines are fitted by weighted least squares, b_k = Σ_i ω_i (x_i - x̄) f_i / S_k with ω the moved mass
and S_k = Σ ω (x - x̄)². By the chain rule, with g_i the slope of the transport cost,

    ∂V / ∂f_i = g_i - ω_i (x_i - x̄) D_k,        D_k = Σ_j g_j x_j / S_k.

A group with fewer than ten effective rows at an anchor, (Σ w)² / Σ w², is left out there. Its rows
go to levels of one group each: nothing is compared in them, and `Layout.coverage` reports their
share. Everything here but b_k depends on L and A, never on scores.

References: Li, Morgan & Zaslavsky (2018), *Balancing covariates via propensity score weighting*;
Li & Li (2019), *Propensity score weighting for causal inference with multiple treatments*.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Self

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.disparity import Column, NumericLevels, check_cost_order, split_levels
from likeforlike.errors import InputError
from likeforlike.penalties._fairleap import FairLeap, levelwise_cost
from likeforlike.penalties._layout import Layout, NoCommonSupportError
from likeforlike.penalties._penalty import AnchorSlopes, Penalty
from likeforlike.smoothing import (
    Grid,
    Ranking,
    arrange_cells,
    assign_windows,
    find_overlap,
    make_grid,
    propensity,
    restrict_smoothers,
    window_counts,
)
from likeforlike.transport import compiled, run_models

LEAST_ROWS = 10.0
"""Effective rows that a group needs at an anchor."""

_DENSITY = 1.0 / 3.0
_WHO = "SmoothFairLeap"


@dataclass(frozen=True, slots=True)
class Anchors:
    """Anchors that were learned from rows, and the weights of groups at each of them.

    Attributes
    ----------
    number : m, the anchors of every category.
    groups, categories : labels.
    segment : (C,) integers, the place of every category in the ranking; -1 where no row was seen.
    ranking : the numbers that were seen.
    position : (v,) floats, where each of them stands, from 0 to m - 1.
    chances : (v, G) floats, e_a there.
    present : (C m, G), whether a group is compared at an anchor.
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
        return self._assign(layout, *self._locate(split_levels(layout.levels, _WHO)))

    def _locate(self, levels: NumericLevels) -> tuple[FloatArray, IntArray, FloatArray]:
        """Return position (0 to m - 1), category (-1 if unseen) and chances (K, G) of levels."""
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
        return position, category, chances

    def _assign(
        self, layout: Layout, position: FloatArray, category: IntArray, chances: FloatArray
    ) -> Layout:
        segment, share = _weigh_cells(
            self.number, self.present, self.scale, position, category, chances
        )
        level = layout.segments // len(self.groups)
        beyond = _split_position(position, self.number)[1][level]
        mass = share.reshape(2, -1)[:, layout.segments]
        if layout.mass.size:
            mass = mass * layout.mass
        labels = [(label, k) for label in self.categories for k in range(self.number)]
        return Layout(
            np.concatenate(list(segment.reshape(2, -1)[:, layout.segments]), axis=1),
            (*labels, *(("apart", group) for group in self.groups)),
            self.groups,
            np.concatenate(list(mass), axis=1),
            np.concatenate([beyond, beyond - 1.0], axis=1),
        )


def fit_anchors(layout: Layout, number: int) -> tuple[Anchors, Layout]:
    """Learn anchors from the rows of one model; return them and the rows, each at two anchors."""
    levels = split_levels(layout.levels, _WHO)
    size = len(layout.levels), len(layout.groups)
    cells = layout.segments[0]
    rows = np.bincount(cells, minlength=size[0] * size[1]).reshape(size).astype(np.float64)
    weight = layout.with_moderate_weights().mass[0] if layout.mass.size else np.ones(cells.size)
    mass = layout.cell_mass()
    squares = np.bincount(cells, np.square(weight), rows.size).reshape(size).astype(np.float64)
    seen = np.flatnonzero(mass.sum(axis=1) > 0.0)
    category = levels.category[seen]
    there, segment = np.unique(category, return_inverse=True)
    fine = make_grid(
        levels.numbers[seen], segment, mass=mass[seen].sum(axis=1), rows=rows[seen].sum(axis=1)
    )
    fine, apart = _restrict_overlap(fine, levels.numbers[seen], segment, rows[seen])
    chances = _estimate_propensities(fine, mass[seen])
    position = _place_levels(fine, chances, number)
    segments = np.full(len(levels.categories), -1)
    segments[there] = np.arange(there.size)
    excluded = np.zeros(len(levels.categories), bool)
    excluded[there] = apart
    standing = position, category, chances
    present, scale = _select_groups(
        *standing, mass[seen], squares[seen], number, np.repeat(excluded, number)
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
    return learned, learned._assign(layout, *everywhere)


def _restrict_overlap(
    fine: Grid, numbers: FloatArray, segment: IntArray, rows: FloatArray
) -> tuple[Grid, BoolArray]:
    """Restrict bandwidths so that groups overlap; return segments (S,) where they cannot, too.

    Where rows with nearly the same number are of one group, a propensity that follows single
    numbers would leave no row with equals. As in an audit (`smoothing`), it is a smooth one that
    leaves enough of the groups. `rows` (K, G) are the counts of every level and group.
    """
    level, group = np.nonzero(rows)
    many = rows[level, group]
    cells = make_grid(numbers[level], segment[level], rows=many)
    overlap = find_overlap(cells, group)
    window = assign_windows(cells, window_counts(cells))[cells.cell]
    fine = arrange_cells(fine, overlap)
    cells, overlap = restrict_smoothers(cells, window, group, overlap)
    if cells.held is not None and cells.allowed is not None:
        usual = np.ones(cells.allowed.shape, bool) if fine.allowed is None else fine.allowed
        allowed = np.where(cells.held[:, None, None], cells.allowed, usual)
        fine = replace(fine, allowed=allowed, held=cells.held, cluster=np.arange(numbers.size))
    return fine, overlap.unit == "apart"


def _estimate_propensities(fine: Grid, mass: FloatArray) -> FloatArray:
    """Estimate e_a(L) of every level, (K, G), with sum one."""
    shares = mass / mass.sum(axis=1, keepdims=True)
    if mass.shape[1] == 2:
        second, _ = propensity(fine, shares[:, 1])
        return np.column_stack([1.0 - second, second])
    chances = np.column_stack([propensity(fine, share)[0] for share in shares.T])
    whole: FloatArray = chances / chances.sum(axis=1, keepdims=True)
    return whole


def _place_levels(fine: Grid, chances: FloatArray, number: int) -> FloatArray:
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


def _split_position(position: FloatArray, number: int) -> tuple[IntArray, FloatArray]:
    """Return the anchor below (K,), the last but one at the last, and the distance from it (K,)."""
    below = np.minimum(position.astype(np.int64), number - 2)
    return below, position - below


def _weigh_cells(
    number: int,
    present: BoolArray,
    scale: FloatArray,
    position: FloatArray,
    category: IntArray,
    chances: FloatArray,
) -> tuple[IntArray, FloatArray]:
    """Return segments and weights of the cells at both of their anchors, (2, K, G) each."""
    n_groups = chances.shape[1]
    below, beyond = _split_position(position, number)
    hats = np.stack([1.0 - beyond, beyond])[:, :, None]
    anchor = np.maximum(category, 0) * number + below + np.array([[0], [1]])
    counted = present[anchor] & (category >= 0)[:, None]
    rare = 1.0 / chances
    overlap = rare / np.maximum((rare * counted).sum(axis=2, keepdims=True), 1.0)
    share = hats * np.where(counted, overlap * scale[anchor], 1.0)
    group = np.arange(n_groups)
    level = np.where(counted, anchor[:, :, None], len(present) + group)
    return level * n_groups + group, share


def _select_groups(
    position: FloatArray,
    category: IntArray,
    chances: FloatArray,
    mass: FloatArray,
    squares: FloatArray,
    number: int,
    excluded: BoolArray,
) -> tuple[BoolArray, FloatArray]:
    """Return the groups that are compared at each anchor, and the scale of their weights there.

    Without a group the others overlap differently, so weights are recomputed until all have enough
    rows. `excluded` (C m,) are the anchors of categories in which groups lie apart.
    """
    n_groups, anchors = mass.shape[1], excluded.size
    present: BoolArray = np.repeat(~excluded[:, None], n_groups, axis=1)
    ones = np.ones((anchors, n_groups))
    _, beyond = _split_position(position, number)
    hats = np.stack([1.0 - beyond, beyond])[:, :, None]
    size = (anchors + n_groups) * n_groups
    while True:
        segment, share = _weigh_cells(number, present, ones, position, category, chances)
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


def check_anchors(layout: Layout) -> None:
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


# Kernels below take rows at their anchors: segments, weight and away (1, 2 n) or (m, 2 n) each.


@compiled
def _line_moments(
    scores: FloatArray,
    segments: IntArray,
    weight: FloatArray,
    away: FloatArray,
    n_levels: int,
    n_groups: int,
) -> FloatArray:
    """Compute Σ ω, Σ ω x, Σ ω y, Σ ω x², Σ ω x y of every level, (K, 5), with y = f - f_0."""
    by_cell = np.zeros((n_levels * n_groups, 5))
    size, middle = scores.size, scores[0]
    for place in range(2):
        for i in range(size):
            at = place * size + i
            of_cell = by_cell[segments[at]]
            # Differences from one of the scores keep the digits of scores far from 0.
            x, y, w = away[at], scores[i] - middle, weight[at]
            of_cell[0] += w
            of_cell[1] += w * x
            of_cell[2] += w * y
            of_cell[3] += w * x * x
            of_cell[4] += w * x * y
    by_level = np.zeros((n_levels, 5))
    for cell in range(by_cell.shape[0]):
        for part in range(5):
            by_level[cell // n_groups, part] += by_cell[cell, part]
    return by_level


@compiled
def _fit_lines(
    scores: FloatArray,
    segments: IntArray,
    weight: FloatArray,
    away: FloatArray,
    n_groups: int,
    residuals: FloatArray,
    lines: FloatArray,
    spread: FloatArray,
    first: int,
    last: int,
) -> None:
    """Fit the line of every level, and compute the scores without it.

    Fills in `residuals` (m, 2 n), `lines` (m, K, 3) but for their adjoint, and the `spread` S.
    """
    size, n_levels = scores.shape[1], lines.shape[1]
    for k in range(first, last):
        split = min(k, segments.shape[0] - 1)
        moments = _line_moments(
            scores[k], segments[split], weight[split], away[split], n_levels, n_groups
        )
        slopes = np.zeros(n_levels * n_groups)
        for level in range(n_levels):
            whole, x, y, xx, xy = moments[level]
            for part in range(3):
                lines[k, level, part] = 0.0
            spread[k, level] = 0.0
            if whole > 0.0 and xx - x * x / whole > _FLAT * whole:
                spread[k, level] = xx - x * x / whole
                lines[k, level, 0] = (xy - x * y / whole) / spread[k, level]
                lines[k, level, 1] = x / whole
            for cell in range(level * n_groups, (level + 1) * n_groups):
                slopes[cell] = lines[k, level, 0]
        for place in range(2):
            for i in range(size):
                at = place * size + i
                slope = slopes[segments[split, at]]
                residuals[k, at] = scores[k, i] - slope * away[split, at]


@compiled
def _line_adjoint(
    slopes: FloatArray,
    segments: IntArray,
    away: FloatArray,
    n_groups: int,
    lines: FloatArray,
    spread: FloatArray,
    first: int,
    last: int,
) -> None:
    """Fill in D of every line."""
    for k in range(first, last):
        split = min(k, segments.shape[0] - 1)
        pull = np.zeros(lines.shape[1] * n_groups)
        for i in range(slopes.shape[1]):
            pull[segments[split, i]] += slopes[k, i] * away[split, i]
        for cell in range(pull.size):
            level = cell // n_groups
            if spread[k, level] > 0.0:
                lines[k, level, 2] += pull[cell] / spread[k, level]


@compiled
def _row_gradient(
    slopes: FloatArray,
    segments: IntArray,
    weight: FloatArray,
    away: FloatArray,
    n_groups: int,
    lines: FloatArray,
    gradients: FloatArray,
    first: int,
    last: int,
) -> None:
    """Fill in ∂V / ∂f of every row: the slopes at its places less the adjoint of the lines."""
    size = gradients.shape[1]
    for k in range(first, last):
        split = min(k, segments.shape[0] - 1)
        of_cell = np.empty((lines.shape[1] * n_groups, 2))
        for cell in range(of_cell.shape[0]):
            of_cell[cell, 0] = lines[k, cell // n_groups, 1]
            of_cell[cell, 1] = lines[k, cell // n_groups, 2]
        for i in range(size):
            gradients[k, i] = 0.0
        for place in range(2):
            for i in range(size):
                at = place * size + i
                center, pull = of_cell[segments[split, at]]
                turned = weight[split, at] * (away[split, at] - center) * pull
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
    learned : anchors from other rows, by `fit_anchors`; `None` learns them from the rows it is
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
        """Learn anchors from these rows, and return the penalty for batches of them or other rows.

        A batch is too small to know how groups are spread along the number. Estimators, sweeps and
        boosting do this by themselves; a torch loop of your own should, once.

        Parameters
        ----------
        sensitive_features, legitimate_features, sample_weight : (n,) each, as for `value_and_grad`.
        """
        layout = Layout.from_columns(sensitive_features, legitimate_features, sample_weight)
        rows = layout.expand_soft_groups().separate_copies()
        learned, placed = fit_anchors(rows, int(self.anchors))
        check_anchors(placed)
        return replace(self, learned=learned)

    def prepare(self, layout: Layout) -> Layout:
        """Assign rows of a layout to anchors, which are learned from them unless learned before."""
        if layout.away.size:
            return layout
        copies = layout.expand_soft_groups().copies
        rows = layout.expand_soft_groups().separate_copies()
        if self.learned is not None:
            return replace(self.learned.assign(rows), copies=copies)
        splits = [rows.select_model(k) for k in range(len(rows.segments))]
        placed = [fit_anchors(split, int(self.anchors))[1] for split in splits]
        segments, mass, away = (
            np.concatenate([getattr(one, name) for one in placed])
            for name in ("segments", "mass", "away")
        )
        return replace(placed[0], segments=segments, mass=mass, away=away, copies=copies)

    def check(self, layout: Layout) -> None:
        """Raise unless two groups have enough rows of the layout at some anchor."""
        check_anchors(self.prepare(layout))

    def evaluate(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Compute values (m,) and gradients (m, n) of the scores (m, n) of m models on a layout."""
        placed = self.prepare(layout)
        weight = self._split_weights(placed)
        copied = placed.repeat_copies(scores)
        values, _, slopes, lines = self._evaluate_lines(copied, placed, weight)
        gradients = np.empty(copied.shape)
        kernel = partial(
            _row_gradient, slopes, placed.segments, weight, placed.away, len(placed.groups), lines
        )
        run_models(partial(kernel, gradients), *slopes.shape)
        return values, placed.sum_copies(gradients)

    def evaluate_at_anchors(self, scores: FloatArray, layout: Layout) -> AnchorSlopes:
        """Evaluate scores on a layout; slopes are at anchors, without the adjoint of the lines."""
        placed = self.prepare(layout)
        weight = self._split_weights(placed)
        return self._evaluate_lines(placed.repeat_copies(scores), placed, weight)

    def transported_mass(self, layout: Layout) -> FloatArray:
        """Compute mass (2 n,) moved to or from rows of a layout at first and at second anchors."""
        return FairLeap(order=self.order).transported_mass(self.prepare(layout))

    def _split_weights(self, placed: Layout) -> FloatArray:
        splits = range(len(placed.segments))
        return np.stack([self.transported_mass(placed.select_model(k)) for k in splits])

    def _evaluate_lines(
        self, scores: FloatArray, placed: Layout, weight: FloatArray
    ) -> AnchorSlopes:
        shape, n_groups = (len(scores), len(placed.levels)), len(placed.groups)
        residuals = np.empty((len(scores), placed.segments.shape[1]))
        lines, spread = np.empty((*shape, 3)), np.empty(shape)
        rows = placed.segments, weight, placed.away, n_groups
        run_models(partial(_fit_lines, scores, *rows, residuals, lines, spread), *residuals.shape)
        values, slopes = levelwise_cost(residuals, placed.separate_copies(), self.order)
        adjoint = partial(_line_adjoint, slopes, placed.segments, placed.away, n_groups)
        run_models(partial(adjoint, lines, spread), *residuals.shape)
        return AnchorSlopes(values, residuals, slopes, lines)
