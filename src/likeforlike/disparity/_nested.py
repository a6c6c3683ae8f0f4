"""The conditional demographic disparity in the Wasserstein sense, by the bi-causal distance.

As the paper defines it, CDD-wass is infinite as soon as the two groups are distributed differently
over the levels, which is always. Computed here is the bi-causal distance with a finite level cost C
(see `transport.nested`), and it is always returned with its split:

    value = diagonal            scores that differ within levels
          + off_diagonal        scores that differ between rows that had to change level
          + level_transport     C times the change of level itself

With the discrete metric and a safe C, `diagonal` is the overlap-weighted conditional disparity
Σ_l min(p_0(l), p_1(l)) W_p^p(P_0^l, P_1^l). With equal level shares the other two parts vanish and
value = (CDD in the l_p sense)^p for the Wasserstein distance of the same order.

Reference: Ghassemi et al. (2025), definition of CDD in the Wasserstein sense, Proposition 4.2.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Literal

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray
from likeforlike._settings import is_one_of, real
from likeforlike._text import visible
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Column
from likeforlike.disparity._contrasts import (
    Comparison,
    Contrast,
    split_contrasts,
)
from likeforlike.disparity._distances import check_cost_order
from likeforlike.disparity._lp import as_cells
from likeforlike.disparity._numeric_levels import bin_levels
from likeforlike.errors import InputError
from likeforlike.transport import (
    Plan,
    Scale,
    choose_level_cost,
    discrete_ground,
    least_level_transport,
    metric_ground,
    nested_transport,
    safe_level_cost,
)

# Products of level costs and of powers of distances between levels must not overflow.
LARGEST_COST = 1e150

LevelMetric = Literal["discrete", "ordinal", "numeric"] | npt.ArrayLike
"""Ground metric between levels: a name, or a K x K array in the order of the sorted levels.

Examples
--------
>>> import likeforlike as lfl
>>> scores, sex, band = [0.0, 0.0, 1.0, 1.0], ["f", "f", "m", "m"], [1, 2, 1, 2]
>>> lfl.cdd_wass(scores, sex, band, level_metric=[[0.0, 3.0], [3.0, 0.0]]).value
1.0
"""


@dataclass(frozen=True, slots=True)
class NestedDisparity:
    """A bi-causal distance between two groups and how it splits; `float()` gives its value.

    Attributes
    ----------
    value : the distance on the scale of W_p^p, without the root. For extreme scores it overflows
        to infinity or underflows to 0, and so do its parts; `root` does not.
    root : value^{1/p}.
    diagonal, off_diagonal, level_transport : the parts of `value`.
    excess : value minus what the levels alone would cost, C min Σ π G: the paper's "normalized"
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
    reg : strength of the entropic term; 0 means exact.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> distance = lfl.cdd_wass([0.0, 1.0, 0.0, 0.5], ["f", "m", "f", "m"], [1, 1, 2, 2])
    >>> distance.value, distance.diagonal, distance.level_transport
    (0.625, 0.625, 0.0)
    """

    value: float
    root: float
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
    reg: float = 0.0

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        rows = ", ".join(
            f"{visible(str(group))}: {count} rows, {self.coverage[group]:.0%} in shared levels"
            for group, count in zip(self.groups, self.counts.sum(axis=0), strict=True)
        )
        return (
            f"<NestedDisparity {self.value:.6g} = diagonal {self.diagonal:.6g} + off-diagonal "
            f"{self.off_diagonal:.6g} + level transport {self.level_transport:.6g}, order "
            f"{self.order:g}{f', entropic with reg {self.reg:g}' if self.reg else ''}, "
            f"{len(self.levels)} level(s); {rows}>"
        )


def cdd_wass(
    scores: Column | Cells,
    sensitive_features: Column | None = None,
    legitimate_features: Column | None = None,
    *,
    order: float = 2,
    level_metric: LevelMetric = "discrete",
    level_cost: float | None = None,
    comparison: Comparison = "pairwise",
    sample_weight: Column | None = None,
    reg: float = 0.0,
) -> NestedDisparity:
    """Compute CDD in the Wasserstein sense, as the bi-causal distance.

    min_π Σ π(l, l') [ W_p^p(P_0^l, P_1^l') + C d(l, l')^p ] over plans π between the level shares
    of the two groups.

    Parameters
    ----------
    scores : (n,) finite numbers, or `Cells`, which hold groups, levels and weights already.
    sensitive_features : (n,) labels of the sensitive feature.
    legitimate_features : (n,) labels of the legitimate features; `None` means one level. Numbers
        with more than 50 different values are cut at quantiles into max(4, n^(1/3)) windows, with a
        `BinnedLevelWarning`; whole numbers only if `level_metric` is "numeric".
    order : p from 1 to 32, of the inner and the outer distance.
    level_metric : d, `"discrete"` (every other level is equally far), `"ordinal"` (levels are
        numbered in their order, |l - l'|), `"numeric"` (the same for levels that are numbers) or a
        K x K array in the order of the sorted levels.
    level_cost : C >= 0; `None` picks the smallest that is safe, and a smaller one warns.
    comparison : for more than two groups, `"pairwise"` or `"one-vs-rest"`; the largest is
        returned.
    sample_weight : (n,) numbers >= 0.
    reg : 0 is exact. Above 0 both stages are entropic, as in Algorithm 1 of the paper, whose 1/λ it
        is: the value is too large by an amount that does not vanish at parity, and takes O(n²).

    References
    ----------
    Ghassemi et al. (2025), Definition 3.1, the bi-causal distance of Definition 4.1 with its nested
    form, and Algorithm 1.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> loans = load_loans().frame
    >>> distance = lfl.cdd_wass(loans["approved"], loans["sex"], loans["income"])
    >>> round(distance.diagonal, 12), round(distance.diagonal_mass, 12)
    (0.1, 0.5)
    >>> scores, groups = [0.2, 0.4, 0.5, 0.7], ["f", "f", "m", "m"]
    >>> exact, blurred = (lfl.cdd_wass(scores, groups, reg=reg).value for reg in (0.0, 0.1))
    >>> round(exact, 4), round(blurred, 4)
    (0.09, 0.1061)
    """
    order, level_cost = check_cost_order(order), check_level_cost(level_cost)
    reg = check_reg(reg)
    if is_one_of(comparison, ["barycenter"]):
        raise InputError("cdd_wass compares two groups at a time; comparison='barycenter' cannot.")
    if legitimate_features is not None and isinstance(level_metric, str):
        legitimate_features = bin_levels(legitimate_features, numeric=level_metric == "numeric")
    cells = as_cells(scores, sensitive_features, legitimate_features, sample_weight)
    ground = level_ground(level_metric, cells.levels, order)
    compared, incomparable = split_contrasts(cells, comparison)
    results = [
        contrast_cdd_wass(contrast, ground, order=order, level_cost=level_cost, reg=reg)
        for contrast in compared
    ]
    # The root is finite where the cost is not.
    largest = max(results, key=attrgetter("root"))
    if len(results) + len(incomparable) == 1:
        return largest
    return replace(largest, comparisons=tuple(results), incomparable=incomparable)


def contrast_cdd_wass(
    contrast: Contrast,
    ground: FloatArray,
    *,
    order: float = 2.0,
    level_cost: float | None = None,
    reg: float = 0.0,
) -> NestedDisparity:
    """Measure a single contrast of two groups as `cdd_wass` does."""
    cells, scale = contrast.cells.scaled(order)
    grown = partial(scale.powered, order=order)
    shares = contrast.shares
    reach = cells.reach**order
    source, target = shares[:, 0].copy(), shares[:, 1].copy()
    inward = Scale(size=1.0 / scale.size)
    # Compared with very small scores any level cost is infinite, and the largest one will do.
    given = None if level_cost is None else min(inward.powered(level_cost, order), LARGEST_COST)
    cost = choose_level_cost(given, ground, source, target, reach, grown)
    left, right = (cells.segments(g) for g in contrast.positions)
    bound = safe_level_cost(ground, source, target, reach)
    solved = nested_transport(
        cells.atoms,
        left,
        right,
        ground,
        order=order,
        level_cost=cost,
        keep_diagonal=cost > bound,
        reg=inward.powered(reg, order),
    )
    least = least_level_transport(source, target, ground)
    parts = grown(solved.diagonal), grown(solved.off_diagonal), grown(solved.level_transport)
    return NestedDisparity(
        # Parts near overflow are rounded one by one; their sum is what is reported.
        value=sum(parts),
        root=scale.size * solved.value ** (1.0 / order),
        diagonal=parts[0],
        off_diagonal=parts[1],
        level_transport=parts[2],
        excess=grown(max(0.0, solved.value - cost * least)),
        plan=solved.plan,
        diagonal_mass=solved.diagonal_mass,
        overlap=float(shares.min(axis=1).sum()),
        level_cost=grown(cost) if level_cost is None else level_cost,
        level_cost_bound=grown(bound),
        order=order,
        groups=contrast.groups,
        levels=cells.levels,
        counts=contrast.counts,
        coverage=contrast.coverage,
        resolution=cells.resolution,
        reg=reg,
    )


def check_reg(reg: float) -> float:
    """Check the strength of an entropic term."""
    if not 0.0 <= real(reg) < np.inf:
        raise InputError(f"reg must be a finite number of 0 or more, not {reg!r}.")
    return real(reg)


def check_level_cost(level_cost: float | None) -> float | None:
    """Check a level cost; `None` stands for the smallest safe one."""
    if level_cost is None:
        return None
    if not 0.0 <= real(level_cost) <= LARGEST_COST:
        raise InputError(
            f"level_cost must be a finite number of 0 or more, up to {LARGEST_COST:g}, not "
            f"{level_cost!r}."
        )
    return real(level_cost)


def level_ground(
    level_metric: LevelMetric, levels: tuple[Hashable, ...], order: float
) -> FloatArray:
    """Compute the ground cost d(l, l')^p between the levels, shape (K, K)."""
    if isinstance(level_metric, str):
        if level_metric == "discrete":
            return discrete_ground(len(levels))
        if level_metric in ("ordinal", "numeric"):
            ranks = np.arange(len(levels), dtype=np.float64)
            position = ranks if level_metric == "ordinal" else _positions(levels)
            with np.errstate(over="ignore"):
                return _metric_powers(np.abs(position[:, None] - position[None, :]), order)
        raise InputError(
            "level_metric must be 'discrete', 'ordinal', 'numeric' or a K x K array, not "
            f"{level_metric!r}."
        )
    try:
        metric = np.asarray(level_metric, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            "level_metric must be a square array of numbers, with a row for each level: "
            f"{' '.join(str(error).split())}."
        ) from error
    if metric.shape != (len(levels), len(levels)):
        raise InputError(
            f"level_metric has shape {metric.shape}, but there are {len(levels)} levels: "
            f"{list(levels[:10])}."
        )
    if not np.isfinite(metric).all() or (metric < 0.0).any():
        raise InputError("level_metric must hold finite distances of 0 or more.")
    if np.diag(metric).any() or not np.array_equal(metric, metric.T):
        raise InputError("level_metric must be symmetric with zeros on its diagonal.")
    return _metric_powers(metric, order)


def _metric_powers(metric: FloatArray, order: float) -> FloatArray:
    """Raise distances between levels to the power of the order, and check the result."""
    with np.errstate(over="ignore", under="ignore"):
        ground = metric_ground(metric, order)
    apart = ground[metric > 0.0]
    if apart.size and not (apart.min() >= 1.0 / LARGEST_COST and apart.max() <= LARGEST_COST):
        raise InputError(
            f"level_metric has distances from {metric[metric > 0.0].min():g} to {metric.max():g}, "
            f"whose powers of order {order:g} cannot be held; use other units, or another metric."
        )
    return ground


def _positions(levels: tuple[Hashable, ...]) -> FloatArray:
    """Return levels as numbers, and refuse others."""
    for level in levels:
        if not isinstance(level, int | float | np.number):
            raise InputError(
                f"level_metric='numeric' needs levels that are numbers, but one is {level!r}; "
                "use 'discrete', 'ordinal' or a K x K array."
            )
    try:
        positions = np.array(levels, dtype=np.float64)
    except OverflowError:
        positions = np.array([np.inf])
    if not np.isfinite(positions).all():
        raise InputError("level_metric='numeric' needs levels that are finite numbers.")
    return positions
