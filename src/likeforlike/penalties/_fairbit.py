"""FairBiT: conditional fairness by the bi-causal transport distance.

    V(f) = min_π Σ_{l,l'} π(l, l') [ W_p^p(P_0^l, P_1^l') + C G(l, l') ] - C min_π Σ π G,

where π has the level shares of the two groups as marginals and G is the ground cost between levels
(`transport._nested`). The least cost of changing levels is subtracted: it does not depend on the
scores, and the difference is 0 for equal scores. The gradient is that of the moves of the plan.
With more than two groups V is the mean over pairs of groups, weighted by ω_a ω_b.

With the discrete metric and a safe C all mass that can stay in a level stays, whatever C is:

    V(f) = Σ_l min(p_0(l), p_1(l)) W_p^p(P_0^l, P_1^l) + the cost of mass that changes level.

The second part compares people of different levels, so it also charges scores that depend on the
level as they may. By default it is left out; the paper has it.

Reference: Ghassemi et al. (2025), FairBiT and Proposition 4.2.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import (
    LARGEST_COST,
    LevelMetric,
    check_cost_order,
    check_level_cost,
    check_reg,
    level_ground,
)
from likeforlike.errors import InputError
from likeforlike.penalties._fairleap import group_mass, moderate_mass, pair_mass
from likeforlike.penalties._layout import Layout
from likeforlike.penalties._penalty import (
    Penalty,
    mass_between_groups,
    pair_weights,
    restore_models,
    scale_models,
)
from likeforlike.transport import (
    PackedAtoms,
    Stack,
    add_pair,
    balance_totals,
    cheapest_flow,
    compiled,
    entropic_flow,
    entropic_pair,
    least_level_transport,
    level_cost_factor,
    model_constant,
    model_mass,
    run_models,
    sort_atoms,
    split_slopes,
)

# Mass that is moved between two levels below this makes no difference to the value.
_NOT_MOVED = 1e-14


# In the kernels below `left` and `right` (K,) are the segments of the levels of two groups, and
# `ground` (K, K) is the ground cost between levels.


@compiled
def _optimal_flow(
    packed: PackedAtoms,
    left: IntArray,
    right: IntArray,
    supply: FloatArray,
    demand: FloatArray,
    ground: FloatArray,
    level_cost: float,
    order: float,
) -> tuple[FloatArray, float]:
    """Find the optimal flow (K, K) between levels, and C Σ flow G minus its least value."""
    size = supply.size
    cost, levels = np.zeros((size, size)), np.zeros((size, size))
    none = np.empty(0)
    for i in range(size):
        for j in range(size):
            if supply[i] > 0.0 and demand[j] > 0.0:
                levels[i, j] = level_cost * ground[i, j]
                inner = add_pair(packed, left[i], right[j], order, 0.0, none)
                cost[i, j] = levels[i, j] + inner
    flow = cheapest_flow(supply, demand, cost)
    least = cheapest_flow(supply, demand, levels)
    extra = 0.0
    for i in range(size):
        for j in range(size):
            extra += (flow[i, j] - least[i, j]) * levels[i, j]
    return flow, extra


@compiled
def _split_marginals(
    totals: FloatArray,
    left: IntArray,
    right: IntArray,
    keep: bool,
    supply: FloatArray,
    demand: FloatArray,
) -> tuple[float, float, FloatArray]:
    """Fill in what each level has to move; return the mass in all, that which moves, and the rest.

    With `keep` all mass that can stay in its level (K,) does.
    """
    of_left, of_right = 0.0, 0.0
    for level in range(left.size):
        of_left += totals[left[level]]
        of_right += totals[right[level]]
    times_left, times_right = balance_totals(of_left, of_right)
    stay, moving = np.zeros(left.size), 0.0
    for level in range(left.size):
        # Scaled by the other side's total: whole numbers stay whole numbers.
        supply[level] = totals[left[level]] * times_right
        demand[level] = totals[right[level]] * times_left
        if keep:
            stay[level] = min(supply[level], demand[level])
            supply[level] -= stay[level]
            demand[level] -= stay[level]
        moving += supply[level]
    return of_left * times_right, moving, stay


@compiled
def _transport_groups(
    packed: PackedAtoms,
    left: IntArray,
    right: IntArray,
    ground: FloatArray,
    level_cost: float,
    keep: bool,
    change: bool,
    order: float,
    weight: float,
    slopes: FloatArray,
) -> float:
    """Return V between two groups; add weight * ∂V to the slopes of the atoms."""
    size = left.size
    supply, demand = np.empty(size), np.empty(size)
    whole, moving, stay = _split_marginals(packed.totals, left, right, keep, supply, demand)
    flow, extra = np.zeros((size, size)), 0.0
    if change and moving > 0.0:
        flow, extra = _optimal_flow(packed, left, right, supply, demand, ground, level_cost, order)
    value = extra / whole
    for i in range(size):
        flow[i, i] += stay[i]
        for j in range(size):
            share = flow[i, j] / whole
            if share > 0.0:
                value += share * add_pair(packed, left[i], right[j], order, weight * share, slopes)
    return float(value)


@compiled
def _entropic_inside_levels(
    packed: PackedAtoms,
    left: IntArray,
    right: IntArray,
    order: float,
    reg: float,
    weight: float,
    slopes: FloatArray,
) -> float:
    """Return Σ_l min(p_0(l), p_1(l)) V(l), entropic costs of mass that stays in its level."""
    value, supply, demand = 0.0, np.empty(left.size), np.empty(left.size)
    whole, _, stay = _split_marginals(packed.totals, left, right, True, supply, demand)  # noqa: FBT003
    for i in range(left.size):
        if stay[i] > 0.0:
            share = stay[i] / whole
            value += share * entropic_pair(
                packed, left[i], right[i], order, reg, weight * share, slopes, slopes
            )
    return value


@compiled
def _entropic_between_groups(
    packed: PackedAtoms,
    left: IntArray,
    right: IntArray,
    ground: FloatArray,
    level_cost: float,
    order: float,
    reg: float,
    weight: float,
    slopes: FloatArray,
) -> float:
    """Return V with both stages entropic, as in Algorithm 1 of the paper."""
    supply, demand = np.empty(left.size), np.empty(left.size)
    whole, _, _ = _split_marginals(packed.totals, left, right, False, supply, demand)  # noqa: FBT003
    sources, targets = _positive(supply), _positive(demand)
    shape = sources.size, targets.size
    cost, levels, outer = np.empty(shape), np.empty(shape), np.empty(shape)
    share_left, share_right = np.empty(sources.size), np.empty(targets.size)
    none, solved = np.empty(0), np.zeros(shape, np.int64)
    for i, at in enumerate(sources):
        share_left[i] = supply[at] / whole
        for j, to in enumerate(targets):
            share_right[j] = demand[to] / whole
            levels[i, j] = level_cost * ground[at, to]
            cost[i, j] = levels[i, j] + add_pair(packed, left[at], right[to], order, 0.0, none)
    # Exact costs are below entropic ones, so pairs that exact costs leave out stay out.
    inner = np.zeros((left.size, packed.values.size))
    moves = entropic_flow(share_left, share_right, cost, reg, outer)
    while _update_costs(
        packed, left, right, order, reg, moves, sources, targets, levels, cost, solved, inner
    ):
        moves = entropic_flow(share_left, share_right, cost, reg, outer)
    least = cheapest_flow(share_left, share_right, levels)
    value = 0.0
    for i, at in enumerate(sources):
        for j, to in enumerate(targets):
            value += moves[i, j] * cost[i, j] - least[i, j] * levels[i, j]
            if not solved[i, j]:
                continue
            for atom in range(packed.offsets[left[at]], packed.offsets[left[at] + 1]):
                slopes[atom] += weight * outer[i, j] * inner[to, atom]
            for atom in range(packed.offsets[right[to]], packed.offsets[right[to] + 1]):
                slopes[atom] += weight * outer[i, j] * inner[at, atom]
    return float(value)


@compiled
def _update_costs(
    packed: PackedAtoms,
    left: IntArray,
    right: IntArray,
    order: float,
    reg: float,
    moves: FloatArray,
    sources: IntArray,
    targets: IntArray,
    levels: FloatArray,
    cost: FloatArray,
    solved: IntArray,
    inner: FloatArray,
) -> bool:
    """Replace exact costs by entropic ones wherever mass is moved; return whether any was new.

    Slopes go to `inner` (K, atoms): atoms of the left side have a line for each level of the
    right one, and the other way round.
    """
    new = False
    for i, at in enumerate(sources):
        for j, to in enumerate(targets):
            if not solved[i, j] and moves[i, j] > _NOT_MOVED:
                cost[i, j] = levels[i, j] + entropic_pair(
                    packed, left[at], right[to], order, reg, 1.0, inner[to], inner[at]
                )
                solved[i, j] = 1
                new = True
    return new


@compiled
def _positive(amounts: FloatArray) -> IntArray:
    """Return the positions of positive amounts."""
    places, found = np.empty(amounts.size, np.int64), 0
    for k in range(amounts.size):
        if amounts[k] > 0.0:
            places[found] = k
            found += 1
    return places[:found]


@compiled
def _choose_level_cost(
    level_costs: FloatArray, factor: float, order: float, stack: Stack, k: int
) -> float:
    """Return C of model k; factor * R^p with R the reach of its scores where none is given."""
    cost = model_constant(level_costs, k)
    if np.isnan(cost):
        low, high = np.inf, -np.inf
        for score in stack.scores[k]:
            low, high = min(low, score), max(high, score)
        return float(factor * (high - low) ** order)
    return cost


@compiled
def _pair_weights(totals: FloatArray, n_groups: int) -> FloatArray:
    """Compute weights (G, G) of pairs of groups a < b, ω_a ω_b / Σ ω_a ω_b; 0 elsewhere."""
    of_group = moderate_mass(group_mass(totals, n_groups))
    pairs, shares = pair_mass(of_group), np.zeros((n_groups, n_groups))
    for g in range(n_groups):
        for h in range(g + 1, n_groups):
            shares[g, h] = of_group[g] * of_group[h] / pairs if pairs > 0.0 else 0.0
    return shares


@compiled
def _evaluate_bicausal(
    stack: Stack,
    ground: FloatArray,
    level_costs: FloatArray,
    factor: float,
    keep: bool,
    change: bool,
    order: float,
    first: int,
    last: int,
) -> None:
    """Fill in values and gradients of some models.

    `keep`: whether mass that can stay in its level does. `change`: whether the rest is charged.
    """
    groups, size = stack.n_groups, stack.n_levels * stack.n_groups
    for k in range(first, last):
        packed, rows, atom_of = sort_atoms(stack, k)
        cost = _choose_level_cost(level_costs, factor, order, stack, k)
        shares = _pair_weights(packed.totals, groups)
        slopes, value = np.zeros(packed.values.size), 0.0
        for g in range(groups):
            for h in range(g + 1, groups):
                share = shares[g, h]
                left, right = np.arange(g, size, groups), np.arange(h, size, groups)
                if share > 0.0:
                    value += share * _transport_groups(
                        packed, left, right, ground, cost, keep, change, order, share, slopes
                    )
        stack.values[k] = value
        split_slopes(slopes, packed.mass, atom_of, rows, model_mass(stack, k), stack.gradients[k])


@compiled
def _evaluate_entropic(
    stack: Stack,
    ground: FloatArray,
    level_costs: FloatArray,
    factor: float,
    keep: bool,
    change: bool,
    order: float,
    regs: FloatArray,
    first: int,
    last: int,
) -> None:
    """Fill in values and gradients of some models by entropic transport."""
    groups, size = stack.n_groups, stack.n_levels * stack.n_groups
    for k in range(first, last):
        packed, rows, atom_of = sort_atoms(stack, k)
        cost = _choose_level_cost(level_costs, factor, order, stack, k)
        shares, reg = _pair_weights(packed.totals, groups), model_constant(regs, k)
        slopes, value = np.zeros(packed.values.size), 0.0
        for g in range(groups):
            for h in range(g + 1, groups):
                share = shares[g, h]
                left, right = np.arange(g, size, groups), np.arange(h, size, groups)
                if share > 0.0 and keep and not change:
                    value += share * _entropic_inside_levels(
                        packed, left, right, order, reg, share, slopes
                    )
                elif share > 0.0:
                    value += share * _entropic_between_groups(
                        packed, left, right, ground, cost, order, reg, share, slopes
                    )
        stack.values[k] = value
        split_slopes(slopes, packed.mass, atom_of, rows, model_mass(stack, k), stack.gradients[k])


def _make_ground(
    level_metric: LevelMetric, levels: tuple[Hashable, ...], order: float
) -> tuple[FloatArray, float, bool]:
    """Return the ground cost (K, K), its level cost for reach 1, and whether that is safe."""
    cost = level_ground(level_metric, levels, order)
    return (cost, *level_cost_factor(cost))


# Training asks for the same ground cost at every step.
_reuse_ground = lru_cache(maxsize=32)(_make_ground)


def level_cost_matrix(
    level_metric: LevelMetric, levels: tuple[Hashable, ...], order: float
) -> tuple[FloatArray, float, bool]:
    """Return the ground cost (K, K), its level cost for reach 1, and whether that is safe."""
    if isinstance(level_metric, str):
        return _reuse_ground(level_metric, levels, order)
    return _make_ground(level_metric, levels, order)


@dataclass(frozen=True)
class FairBiT(Penalty):
    """Penalty on the bi-causal transport distance between distributions of (level, score).

    Parameters
    ----------
    order : p from 1 to 32.
    level_metric : `"discrete"` (levels are names), `"ordinal"` (levels are numbered in their order,
        |l - l'|^p, as in the paper), `"numeric"` (the same for levels that are numbers) or a
        K x K array in the order of the sorted levels.
    level_cost : C >= 0; `None` takes the smallest that keeps like compared with like.
    off_diagonal : whether to charge also mass that has to change level, for scores that differ
        between levels. `None` does so only where it cannot be separated: where a level cost is
        given, or where the metric has no safe one.
    reg : 0 is exact. Above 0 both stages are entropic, as in Algorithm 1 of the paper: for
        comparison with it, since the entropic term rewards scores that do not vary.
    root : whether to take the p-th root of the whole distance, the change of levels included, as
        Algorithm 1 returns it, less what it is for equal scores. For two groups.

    References
    ----------
    Ghassemi et al. (2025), FairBiT.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> value, gradient = lfl.FairBiT().value_and_grad(
    ...     [0.2, 0.6, 0.5, 0.5], ["f", "m", "f", "m"], ["low", "low", "high", "high"]
    ... )
    >>> round(value, 12), gradient
    (0.08, array([-0.4,  0.4,  0. ,  0. ]))
    """

    order: float = 2.0
    level_metric: LevelMetric = "discrete"
    level_cost: float | None = None
    off_diagonal: bool | None = None
    reg: float = 0.0
    root: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", check_cost_order(self.order))
        object.__setattr__(self, "reg", check_reg(self.reg))
        object.__setattr__(self, "level_cost", check_level_cost(self.level_cost))

    @classmethod
    def paper(cls, *, reg: float = 0.0, root: bool = False) -> FairBiT:
        """Return the paper's settings: p = 2, levels numbered, |l - l'|², C = 1.

        The paper trains with entropic costs and does not say how strong the entropic term is: give
        `reg`. It defines the distance without a root, and its Algorithm 1 returns the root.
        """
        return cls(2.0, "ordinal", 1.0, off_diagonal=True, reg=reg, root=root)

    @property
    def degree(self) -> float:
        """1 for the root, else p."""
        return 1.0 if self.root else self.order

    def permute_under_parity(self, layout: Layout, rng: np.random.Generator) -> Layout | None:
        """Permute groups of a layout by `rng`; `None` where changes of level are charged."""
        return None if self._moves_all(layout) else super().permute_under_parity(layout, rng)

    def evaluate(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Compute values (m,) and gradients (m, n) of the scores (m, n) of m models on a layout."""
        ground, factor, safe = level_cost_matrix(self.level_metric, layout.levels, self.order)
        change, weighed = self._moves_all(layout), layout.with_moderate_weights()
        scaled, sizes, rows = scale_models(scores, weighed, self.order)
        stack, (m, n) = rows.stack(scaled), scaled.shape
        costs, keep = np.full(1, np.nan), self.level_cost is None and safe
        if self.level_cost is not None:
            # For scores that small any level cost looks infinite, and the largest will do.
            costs = rows.convert_constant(self.level_cost, sizes, self.order)
            costs = np.minimum(costs, LARGEST_COST)
        settings = stack, ground, costs, factor, keep, change, float(self.order)
        if self.reg > 0.0:
            regs = rows.convert_constant(self.reg, sizes, self.order)
            run_models(partial(_evaluate_entropic, *settings, regs), m, n**2)
        else:
            run_models(partial(_evaluate_bicausal, *settings), m, n * len(layout.levels))
        values, gradients = restore_models(
            stack.values, stack.gradients, sizes, weighed, self.order
        )
        return self._take_root(values, gradients, layout) if self.root else (values, gradients)

    def _take_root(
        self, values: FloatArray, gradients: FloatArray, layout: Layout
    ) -> tuple[FloatArray, FloatArray]:
        """Return (V + C least)^{1/p} - (C least)^{1/p} and its gradient; 0 where both are."""
        if len(layout.groups) != 2 or self.level_cost is None:
            raise InputError("root=True needs two groups and a level_cost.")
        ground, _, _ = level_cost_matrix(self.level_metric, layout.levels, self.order)
        least = np.empty(len(layout.segments))
        for k in range(least.size):
            mass = layout.select_model(k).cell_mass()
            shares = mass / np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
            least[k] = least_level_transport(shares[:, 0], shares[:, 1], ground)
        levels = layout.convert_constant(self.level_cost, np.ones(1), self.order) * least
        whole = values + levels
        root = whole ** (1.0 / self.order)
        factor = np.divide(root, self.order * whole, out=np.zeros(len(whole)), where=whole > 0.0)
        return root - levels ** (1.0 / self.order), gradients * factor[:, None]

    def hessian_diagonal(self, scores: FloatArray, layout: Layout) -> FloatArray:
        """Bound the second derivative at scores on a layout by (n,); the root has no bound."""
        if self.root:
            raise InputError("root=True bends without bound, and trees need one; leave it out.")
        return super().hessian_diagonal(scores, layout)

    def transported_mass(self, layout: Layout) -> FloatArray:
        """Compute the mass that the plan moves to or from each row of a layout, shape (n,).

        For two groups that is 1 / n_a where changes of level are charged, else
        min(p_0(l), p_1(l)) / n_al.
        """
        if self._moves_all(layout):
            return mass_between_groups(layout)
        mass = layout.cell_mass()
        shares = mass / np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
        stays = np.minimum(shares[:, :, None], shares[:, None, :])
        of_cell = (stays * pair_weights(mass.sum(axis=0))).sum(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            per_mass = np.where(mass > 0.0, of_cell / mass, 0.0)
        return layout.cell_values_by_row(per_mass)

    def _moves_all(self, layout: Layout) -> bool:
        """Return whether mass that has to change level is charged."""
        _, _, safe = level_cost_matrix(self.level_metric, layout.levels, self.order)
        apart = self.level_cost is None and safe
        if self.off_diagonal is False and not apart:
            raise InputError(
                "off_diagonal=False needs level_cost=None and a level_metric with a safe level "
                "cost, such as 'discrete'."
            )
        return not apart if self.off_diagonal is None else self.off_diagonal
