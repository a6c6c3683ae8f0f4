"""The conditional demographic disparity in the Wasserstein sense, by the bi-causal distance.

As the paper defines it, CDD-wass is infinite as soon as the two groups are spread differently
over the levels, which is always. What is computed here is the bi-causal distance with a finite
level cost C (see `transport.nested`), and it is never shown without its split:

    value = diagonal            scores that differ among equals
          + off_diagonal        scores that differ between people who had to change level
          + level_transport     C times the change of level itself

With the discrete metric and a safe C, `diagonal` is the overlap-weighted conditional disparity
Σ_l min(p_0(l), p_1(l)) W_p^p(P_0^l, P_1^l). With equal level shares the other two parts vanish and
value = (CDD in the l_p sense)^p for the Wasserstein distance of the same order.

Reference: Ghassemi et al. (2025), definition of CDD in the Wasserstein sense, Proposition 1.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from likeforlike.cells import Cells
from likeforlike.columns import Column
from likeforlike.contrasts import Comparison, Contrast, contrasts, measure_contrasts
from likeforlike.disparity import as_cells
from likeforlike.distances import check_distance
from likeforlike.errors import InputError
from likeforlike.transport import nested
from likeforlike.transport.atoms import FloatArray, IntArray
from likeforlike.transport.level_cost import (
    choose_level_cost,
    discrete_ground,
    metric_ground,
    safe_level_cost,
)
from likeforlike.transport.line import Plan

__all__ = ["LevelMetric", "NestedDisparity", "cdd_wass", "level_ground"]

LevelMetric = Literal["discrete", "ordinal", "numeric"] | npt.ArrayLike
"""Ground metric between levels: a name, or a K x K array in the order of the sorted levels."""


@dataclass(frozen=True, slots=True)
class NestedDisparity:
    """A bi-causal distance between two groups and how it splits; `float()` gives the root.

    Attributes
    ----------
    value : the distance on the scale of W_p^p, un-rooted.
    root : value^{1/p}.
    diagonal, off_diagonal, level_transport : the parts of `value`.
    excess : value minus what the levels alone would cost, C min Σ π G: the paper's "normalised"
        CDD-wass. It charges legitimate dependence on the level too, so read it with the split.
    plan : moves between levels and their mass.
    diagonal_mass : mass that stays in its level; `overlap` is the most that could,
        Σ_l min(p_0(l), p_1(l)).
    level_cost, level_cost_bound : C, and the bound above which like is compared with like
        (`inf` where there is none).
    order, groups, levels, counts : p, the groups compared, all K levels, and the rows of each
        level and group, shape (K, 2).
    coverage : share of each group in the levels where both occur.
    resolution : width of the bins of the scores; 0 means exact.
    comparisons, incomparable : as for `Disparity`, when there are more than two groups.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> found = lfl.cdd_wass([0.0, 1.0, 0.0, 0.5], ["f", "m", "f", "m"], [1, 1, 2, 2])
    >>> found.value, found.diagonal, found.level_transport
    (0.625, 0.625, 0.0)
    """

    value: float
    diagonal: float
    off_diagonal: float
    level_transport: float
    excess: float
    plan: Plan
    diagonal_mass: float
    overlap: float
    level_cost: float
    level_cost_bound: float
    order: float
    groups: tuple[Hashable, ...]
    levels: tuple[Hashable, ...]
    counts: IntArray
    coverage: dict[Hashable, float]
    resolution: float = 0.0
    comparisons: tuple[NestedDisparity, ...] = ()
    incomparable: tuple[tuple[Hashable, ...], ...] = ()

    @property
    def root(self) -> float:
        """value^{1/p}."""
        return float(self.value ** (1.0 / self.order))

    def __float__(self) -> float:
        return self.root

    def __repr__(self) -> str:
        rows = ", ".join(
            f"{group}: {count} rows, {self.coverage[group]:.0%} in shared levels"
            for group, count in zip(self.groups, self.counts.sum(axis=0), strict=True)
        )
        return (
            f"<NestedDisparity {self.value:.6g} = diagonal {self.diagonal:.6g} + off-diagonal "
            f"{self.off_diagonal:.6g} + level transport {self.level_transport:.6g}, order "
            f"{self.order:g}, {len(self.levels)} level(s); {rows}>"
        )


def cdd_wass(
    scores: Column | Cells,
    groups: Column | None = None,
    levels: Column | None = None,
    *,
    order: float = 2,
    level_metric: LevelMetric = "discrete",
    level_cost: float | None = None,
    comparison: Comparison = "pairwise",
    sample_weight: Column | None = None,
) -> NestedDisparity:
    """Conditional demographic disparity in the Wasserstein sense (bi-causal distance).

    min_π Σ π(l, l') [ W_p^p(P_0^l, P_1^l') + C d(l, l')^p ] over plans π between the level shares
    of the two groups.

    Parameters
    ----------
    scores : (n,) finite numbers, or `Cells`, which hold groups, levels and weights already.
    groups : (n,) labels of the sensitive feature.
    levels : (n,) labels of the legitimate features; `None` means one level.
    order : p >= 1, of the inner and the outer distance.
    level_metric : d, `"discrete"` (every other level is equally far), `"ordinal"` (levels are
        numbered in their order, |l - l'|), `"numeric"` (the same for levels that are numbers) or a
        K x K array in the order of the sorted levels.
    level_cost : C >= 0; `None` picks the smallest that is safe, and a smaller one warns.
    comparison : for more than two groups, `"pairwise"` or `"one-vs-rest"`; the largest is
        returned.
    sample_weight : (n,) numbers >= 0.

    References
    ----------
    Ghassemi et al. (2025), definition of CDD in the Wasserstein sense, and of the bi-causal
    distance with its nested form.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> loans = load_loans().frame
    >>> found = lfl.cdd_wass(loans["approved"], loans["sex"], loans["income"])
    >>> round(found.diagonal, 12), round(found.diagonal_mass, 12)
    (0.1, 0.5)
    """
    check_distance("wasserstein", order)
    if level_cost is not None and not (np.isfinite(level_cost) and level_cost >= 0.0):
        raise InputError(f"level_cost must be a finite number of 0 or more, not {level_cost!r}.")
    if comparison == "barycentre":
        raise InputError("cdd_wass compares two groups at a time; comparison='barycentre' cannot.")
    cells = as_cells(scores, groups, levels, sample_weight)
    ground = level_ground(level_metric, cells.levels, float(order))

    def measured(contrast: Contrast) -> NestedDisparity:
        return _nested(contrast, ground, float(order), level_cost)

    found = measure_contrasts(contrasts(cells, comparison), measured)
    return (
        found.largest
        if found.alone
        else replace(found.largest, comparisons=found.measured, incomparable=found.incomparable)
    )


def _nested(
    contrast: Contrast, ground: FloatArray, order: float, level_cost: float | None
) -> NestedDisparity:
    cells = contrast.cells
    shares = contrast.shares
    reach = cells.reach**order
    source, target = shares[:, 0].copy(), shares[:, 1].copy()
    cost = choose_level_cost(level_cost, ground, source, target, reach)
    left, right = (cells.segments(g) for g in contrast.positions)
    bound = safe_level_cost(ground, source, target, reach)
    solved = nested.nested_transport(
        cells.atoms,
        left,
        right,
        ground,
        order=order,
        level_cost=cost,
        keep_diagonal=cost > bound,
    )
    least = nested.least_level_transport(source, target, ground)
    return NestedDisparity(
        value=solved.value,
        diagonal=solved.diagonal,
        off_diagonal=solved.off_diagonal,
        level_transport=solved.level_transport,
        excess=max(0.0, solved.value - cost * least),
        plan=solved.plan,
        diagonal_mass=solved.diagonal_mass,
        overlap=float(shares.min(axis=1).sum()),
        level_cost=cost,
        level_cost_bound=bound,
        order=order,
        groups=contrast.groups,
        levels=cells.levels,
        counts=contrast.counts,
        coverage=contrast.coverage,
        resolution=cells.resolution,
    )


def level_ground(
    level_metric: LevelMetric, levels: tuple[Hashable, ...], order: float
) -> FloatArray:
    """Ground cost d(l, l')^p between the levels, shape (K, K).

    Parameters
    ----------
    level_metric : d, `"discrete"`, `"ordinal"`, `"numeric"` or a (K, K) array.
    levels : labels of the K levels, in order.
    order : p >= 1.

    Examples
    --------
    >>> from likeforlike.nested_disparity import level_ground
    >>> level_ground("numeric", (1, 4), 2.0)
    array([[0., 9.],
           [9., 0.]])
    """
    if isinstance(level_metric, str):
        if level_metric == "discrete":
            return discrete_ground(len(levels))
        if level_metric in ("ordinal", "numeric"):
            ranks = np.arange(len(levels), dtype=np.float64)
            position = ranks if level_metric == "ordinal" else _positions(levels)
            return metric_ground(np.abs(position[:, None] - position[None, :]), order)
        raise InputError(
            "level_metric must be 'discrete', 'ordinal', 'numeric' or a K x K array, not "
            f"{level_metric!r}."
        )
    metric = np.asarray(level_metric, dtype=np.float64)
    if metric.shape != (len(levels), len(levels)):
        raise InputError(
            f"level_metric has shape {metric.shape}, but there are {len(levels)} levels: "
            f"{list(levels[:10])}."
        )
    if not np.isfinite(metric).all() or (metric < 0.0).any():
        raise InputError("level_metric must hold finite distances of 0 or more.")
    if np.diag(metric).any() or not np.array_equal(metric, metric.T):
        raise InputError("level_metric must be symmetric with zeros on its diagonal.")
    return metric_ground(metric, order)


def _positions(levels: tuple[Hashable, ...]) -> FloatArray:
    for level in levels:
        if not isinstance(level, int | float | np.number):
            raise InputError(
                f"level_metric='numeric' needs levels that are numbers, but one is {level!r}; "
                "use 'discrete', 'ordinal' or a K x K array."
            )
    return np.array(levels, dtype=np.float64)
