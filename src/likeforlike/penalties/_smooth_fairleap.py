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
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity._columns import Column
from likeforlike.disparity._distances import check_cost_order
from likeforlike.errors import InputError
from likeforlike.penalties._anchors import Anchors, check_anchored, fit_anchors
from likeforlike.penalties._fairleap import FairLeap, levelwise_cost
from likeforlike.penalties._layout import Layout
from likeforlike.penalties._penalty import AnchorSlopes, Penalty
from likeforlike.transport._compiled import compiled
from likeforlike.transport._threads import over_models

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
