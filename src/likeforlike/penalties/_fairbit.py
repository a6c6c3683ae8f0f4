"""FairBiT: conditional fairness by the bi-causal transport distance.

    V(f) = min_π Σ_{l,l'} π(l, l') [ W_p^p(P_0^l, P_1^l') + C G(l, l') ] - C min_π Σ π G,

where π has the level shares of the two groups as marginals and G is the ground cost between levels
(`transport.nested`). What the change of levels costs at the least is taken off: it does not depend
on the scores, and what is left is 0 for equal scores. The gradient is that of the moves the plan
makes. With more than two groups V is the mean over pairs of groups, weighted by ω_a ω_b.

With the discrete metric and a safe C all mass that can stay in a level stays, whatever C is:

    V(f) = Σ_l min(p_0(l), p_1(l)) W_p^p(P_0^l, P_1^l) + what those pay who had to change level.

The second part compares people of different levels, so it also charges scores that depend on the
level as they may. By default it is left out; the paper has it.

Reference: Ghassemi et al. (2025), FairBiT and Proposition 4.2.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, NamedTuple

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
    evaluate_scaled,
    group_transported_mass,
    pair_weights,
)
from likeforlike.transport import (
    Packed,
    Scale,
    Stack,
    add_pair,
    balanced,
    cheapest_flow,
    compiled,
    entropic_flow,
    entropic_pair,
    least_level_transport,
    level_cost_factor,
    mass_of,
    of_model,
    over_models,
    row_slopes,
    sorted_atoms,
)

# Mass that is moved between two levels below this makes no difference to the value.
_NOT_MOVED = 1e-14


class _BicausalProblem(NamedTuple):
    """What is solved between two groups.

    Attributes
    ----------
    ground : (K, K) ground cost between levels.
    level_cost, factor : C of every model (1,) or (m,), or nan for factor * R^p with R the reach of
        the scores.
    keep : whether those who can stay in a level do.
    change : whether those count who cannot.
    order : p.
    reg : strength of the entropic term for every model (1,) or (m,), or 0.
    """

    ground: FloatArray
    level_cost: FloatArray
    factor: float
    keep: bool
    change: bool
    order: float
    reg: FloatArray


class _Sides(NamedTuple):
    """Which segments are compared: level l of the two groups is l * G + left and l * G + right."""

    left: int
    right: int
    n_groups: int


@compiled
def _optimal_flow(
    packed: Packed,
    sides: _Sides,
    supply: FloatArray,
    demand: FloatArray,
    problem: _BicausalProblem,
    level_cost: float,
) -> tuple[FloatArray, float]:
    """Optimal flow (K, K) between levels, and C Σ flow G minus its least possible value."""
    size = supply.size
    cost, levels = np.zeros((size, size)), np.zeros((size, size))
    none = np.empty(0)
    for i in range(size):
        for j in range(size):
            if supply[i] > 0.0 and demand[j] > 0.0:
                left, right = i * sides.n_groups + sides.left, j * sides.n_groups + sides.right
                levels[i, j] = level_cost * problem.ground[i, j]
                inner = add_pair(packed, left, right, problem.order, 0.0, none)
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
    totals: FloatArray, sides: _Sides, keep: bool, supply: FloatArray, demand: FloatArray
) -> tuple[float, float, FloatArray]:
    """Fill in what each level of either side has to move; says the whole, that, and what stays."""
    n_levels = supply.size
    of_left, of_right = 0.0, 0.0
    for level in range(n_levels):
        of_left += totals[level * sides.n_groups + sides.left]
        of_right += totals[level * sides.n_groups + sides.right]
    times_left, times_right = balanced(of_left, of_right)
    stay, moving = np.zeros(n_levels), 0.0
    for level in range(n_levels):
        # Scaled by the other side's total: whole numbers stay whole numbers.
        supply[level] = totals[level * sides.n_groups + sides.left] * times_right
        demand[level] = totals[level * sides.n_groups + sides.right] * times_left
        if keep:
            stay[level] = min(supply[level], demand[level])
            supply[level] -= stay[level]
            demand[level] -= stay[level]
        moving += supply[level]
    return of_left * times_right, moving, stay


@compiled
def _transport_groups(
    packed: Packed,
    sides: _Sides,
    problem: _BicausalProblem,
    level_cost: float,
    weight: float,
    slopes: FloatArray,
) -> float:
    """V between two groups; adds weight * ∂V to the slopes of the atoms."""
    size = problem.ground.shape[0]
    supply, demand = np.empty(size), np.empty(size)
    whole, moving, stay = _split_marginals(packed.totals, sides, problem.keep, supply, demand)
    flow, extra = np.zeros((size, size)), 0.0
    if problem.change and moving > 0.0:
        flow, extra = _optimal_flow(packed, sides, supply, demand, problem, level_cost)
    value = extra / whole
    for i in range(size):
        flow[i, i] += stay[i]
        for j in range(size):
            share = flow[i, j] / whole
            if share > 0.0:
                left, right = i * sides.n_groups + sides.left, j * sides.n_groups + sides.right
                value += share * add_pair(
                    packed, left, right, problem.order, weight * share, slopes
                )
    return float(value)


@compiled
def _entropic_inside_levels(
    packed: Packed,
    sides: _Sides,
    problem: _BicausalProblem,
    reg: float,
    weight: float,
    slopes: FloatArray,
) -> float:
    """Compute Σ_l min(p_0(l), p_1(l)) V(l), the entropic costs of those who stay in their level."""
    size, value = problem.ground.shape[0], 0.0
    supply, demand = np.empty(size), np.empty(size)
    whole, _, stay = _split_marginals(packed.totals, sides, keep=True, supply=supply, demand=demand)
    for i in range(size):
        if stay[i] > 0.0:
            left, right = i * sides.n_groups + sides.left, i * sides.n_groups + sides.right
            share = stay[i] / whole
            value += share * entropic_pair(
                packed, left, right, problem.order, reg, weight * share, slopes, slopes
            )
    return value


@compiled
def _entropic_between_groups(
    packed: Packed,
    sides: _Sides,
    problem: _BicausalProblem,
    level_cost: float,
    reg: float,
    weight: float,
    slopes: FloatArray,
) -> float:
    """Return the same with both stages entropic, as in Algorithm 1 of the paper."""
    size, order = problem.ground.shape[0], problem.order
    supply, demand = np.empty(size), np.empty(size)
    whole, _, _ = _split_marginals(packed.totals, sides, keep=False, supply=supply, demand=demand)
    sources, targets = _positive(supply), _positive(demand)
    shape = sources.size, targets.size
    cost, levels, outer = np.empty(shape), np.empty(shape), np.empty(shape)
    share_left, share_right = np.empty(sources.size), np.empty(targets.size)
    none, solved = np.empty(0), np.zeros(shape, np.int64)
    for i, at in enumerate(sources):
        share_left[i] = supply[at] / whole
        for j, to in enumerate(targets):
            share_right[j] = demand[to] / whole
            left, right = at * sides.n_groups + sides.left, to * sides.n_groups + sides.right
            levels[i, j] = level_cost * problem.ground[at, to]
            cost[i, j] = levels[i, j] + add_pair(packed, left, right, order, 0.0, none)
    # Exact costs are below entropic ones, so what is not worth moving at them never is.
    inner = np.zeros((size, packed.values.size))
    moves = entropic_flow(share_left, share_right, cost, reg, outer)
    while _blur_moves(
        packed, sides, problem, reg, moves, sources, targets, levels, cost, solved, inner
    ):
        moves = entropic_flow(share_left, share_right, cost, reg, outer)
    least = cheapest_flow(share_left, share_right, levels)
    value = 0.0
    for i, at in enumerate(sources):
        for j, to in enumerate(targets):
            value += moves[i, j] * cost[i, j] - least[i, j] * levels[i, j]
            if not solved[i, j]:
                continue
            left, right = at * sides.n_groups + sides.left, to * sides.n_groups + sides.right
            for atom in range(packed.offsets[left], packed.offsets[left + 1]):
                slopes[atom] += weight * outer[i, j] * inner[to, atom]
            for atom in range(packed.offsets[right], packed.offsets[right + 1]):
                slopes[atom] += weight * outer[i, j] * inner[at, atom]
    return float(value)


@compiled
def _blur_moves(
    packed: Packed,
    sides: _Sides,
    problem: _BicausalProblem,
    reg: float,
    moves: FloatArray,
    sources: IntArray,
    targets: IntArray,
    levels: FloatArray,
    cost: FloatArray,
    solved: IntArray,
    inner: FloatArray,
) -> bool:
    """Put entropic costs in the place of exact ones wherever mass is moved; whether any was new.

    Slopes go to `inner` (K, atoms): atoms of the left side have a line for each level of the
    right one, and the other way round.
    """
    new = False
    for i, at in enumerate(sources):
        for j, to in enumerate(targets):
            if not solved[i, j] and moves[i, j] > _NOT_MOVED:
                left, right = at * sides.n_groups + sides.left, to * sides.n_groups + sides.right
                cost[i, j] = levels[i, j] + entropic_pair(
                    packed, left, right, problem.order, reg, 1.0, inner[to], inner[at]
                )
                solved[i, j] = 1
                new = True
    return new


@compiled
def _positive(amounts: FloatArray) -> IntArray:
    """Return where amounts are positive."""
    places, found = np.empty(amounts.size, np.int64), 0
    for k in range(amounts.size):
        if amounts[k] > 0.0:
            places[found] = k
            found += 1
    return places[:found]


@compiled
def _reach(scores: FloatArray) -> float:
    """R, the largest difference between two scores."""
    low, high = np.inf, -np.inf
    for score in scores:
        low, high = min(low, score), max(high, score)
    return float(high - low)


@compiled
def _level_cost(problem: _BicausalProblem, stack: Stack, k: int) -> float:
    """C of model k."""
    cost = of_model(problem.level_cost, k)
    if np.isnan(cost):
        return float(problem.factor * _reach(stack.scores[k]) ** problem.order)
    return cost


@compiled
def _pair_weights(totals: FloatArray, n_groups: int) -> FloatArray:
    """Weight (G, G) of each pair of groups a < b, ω_a ω_b / Σ ω_a ω_b; 0 elsewhere."""
    of_group = moderate_mass(group_mass(totals, n_groups))
    pairs, shares = pair_mass(of_group), np.zeros((n_groups, n_groups))
    for g in range(n_groups):
        for h in range(g + 1, n_groups):
            shares[g, h] = of_group[g] * of_group[h] / pairs if pairs > 0.0 else 0.0
    return shares


@compiled
def _bicausal(stack: Stack, problem: _BicausalProblem, first: int, last: int) -> None:
    """Fill in values and gradients of some models."""
    for k in range(first, last):
        packed, rows, atom_of = sorted_atoms(stack, k)
        cost = _level_cost(problem, stack, k)
        shares = _pair_weights(packed.totals, stack.n_groups)
        slopes, value = np.zeros(packed.values.size), 0.0
        for g in range(stack.n_groups):
            for h in range(g + 1, stack.n_groups):
                share, sides = shares[g, h], _Sides(g, h, stack.n_groups)
                if share > 0.0:
                    value += share * _transport_groups(packed, sides, problem, cost, share, slopes)
        stack.values[k] = value
        row_slopes(slopes, packed.mass, atom_of, rows, mass_of(stack, k), stack.gradients[k])


@compiled
def _entropic_bicausal(stack: Stack, problem: _BicausalProblem, first: int, last: int) -> None:
    """Return the same by entropic transport."""
    for k in range(first, last):
        packed, rows, atom_of = sorted_atoms(stack, k)
        cost, reg = _level_cost(problem, stack, k), of_model(problem.reg, k)
        shares = _pair_weights(packed.totals, stack.n_groups)
        slopes, value = np.zeros(packed.values.size), 0.0
        for g in range(stack.n_groups):
            for h in range(g + 1, stack.n_groups):
                share, sides = shares[g, h], _Sides(g, h, stack.n_groups)
                if share > 0.0 and problem.keep and not problem.change:
                    value += share * _entropic_inside_levels(
                        packed, sides, problem, reg, share, slopes
                    )
                elif share > 0.0:
                    value += share * _entropic_between_groups(
                        packed, sides, problem, cost, reg, share, slopes
                    )
        stack.values[k] = value
        row_slopes(slopes, packed.mass, atom_of, rows, mass_of(stack, k), stack.gradients[k])


def _level_shares(layout: Layout) -> tuple[FloatArray, FloatArray]:
    """Compute shares (K,) of the levels in each of two groups."""
    mass = layout.cell_mass()
    left, right = (mass / np.maximum(mass.sum(axis=0), np.finfo(float).tiny)).T
    return np.ascontiguousarray(left), np.ascontiguousarray(right)


class Ground(NamedTuple):
    """Cost between levels (K, K), and which level cost to take with it (`level_cost_factor`)."""

    cost: FloatArray
    factor: float
    safe: bool


def level_cost_matrix(
    level_metric: LevelMetric, levels: tuple[Hashable, ...], order: float
) -> Ground:
    """Ground cost between levels; remembered, since training asks for it at every step."""
    if isinstance(level_metric, str):
        return _named_level_cost(level_metric, levels, order)
    cost = level_ground(level_metric, levels, order)
    return Ground(cost, *level_cost_factor(cost))


@lru_cache(maxsize=32)
def _named_level_cost(
    level_metric: Literal["discrete", "ordinal", "numeric"],
    levels: tuple[Hashable, ...],
    order: float,
) -> Ground:
    cost = level_ground(level_metric, levels, order)
    return Ground(cost, *level_cost_factor(cost))


def bicausal_cost(
    scores: FloatArray,
    layout: Layout,
    ground: Ground,
    *,
    order: float,
    level_cost: float | None = None,
    off_diagonal: bool = True,
    reg: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Bi-causal cost of m models less what the levels alone cost, and its gradient."""

    def evaluate(scaled: FloatArray, rows: Layout, scale: Scale) -> tuple[FloatArray, FloatArray]:
        stack = rows.stack(scaled)
        cost = np.full(1, np.nan)
        if level_cost is not None:
            # For scores that small any level cost looks infinite, and one that large will do.
            cost = np.minimum(rows.convert_constant(level_cost, scale, order), LARGEST_COST)
        problem = _BicausalProblem(
            ground.cost,
            cost,
            ground.factor,
            level_cost is None and ground.safe,
            off_diagonal,
            float(order),
            rows.convert_constant(reg, scale, order),
        )
        kernel, size = _bicausal, scaled.shape[1] * len(layout.levels)
        if reg > 0.0:
            kernel, size = _entropic_bicausal, scaled.shape[1] ** 2
        over_models(partial(kernel, stack, problem), len(scaled), size)
        return stack.values, stack.gradients

    return evaluate_scaled(evaluate, scores, layout.with_moderate_weights(), order)


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
    off_diagonal : whether to charge also those who have to change level, for scores that differ
        between levels. `None` does so only where it cannot be separated: where a level cost is
        given, or where the metric has no safe one.
    reg : 0 is exact. Above 0 both stages are entropic, as in Algorithm 1 of the paper: for
        comparison with it, since the blur rewards scores that do not vary at all.
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
        """Return rows whose groups differ by chance alone inside their levels.

        `None` where those are charged who change level: that is no matter of chance.

        Parameters
        ----------
        layout : prepared.
        rng : generator of the permutation.
        """
        return None if self._moves_all(layout) else super().permute_under_parity(layout, rng)

    def evaluate(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Values (m,) and gradients (m, n) of the scores (m, n) of m models on rows of a layout."""
        ground = level_cost_matrix(self.level_metric, layout.levels, self.order)
        values, gradients = bicausal_cost(
            scores,
            layout,
            ground,
            order=self.order,
            level_cost=self.level_cost,
            off_diagonal=self._moves_all(layout),
            reg=self.reg,
        )
        return self._rooted(values, gradients, layout, ground) if self.root else (values, gradients)

    def _rooted(
        self, values: FloatArray, gradients: FloatArray, layout: Layout, ground: Ground
    ) -> tuple[FloatArray, FloatArray]:
        """From V to (V + C least)^{1/p} - (C least)^{1/p}, and its gradient; 0 where both are."""
        if len(layout.groups) != 2 or self.level_cost is None:
            raise InputError("root=True needs two groups and a level_cost.")
        shares = [_level_shares(layout.select_model(k)) for k in range(len(layout.segments))]
        least = np.array([least_level_transport(*of_split, ground.cost) for of_split in shares])
        levels = layout.convert_constant(self.level_cost, Scale(), self.order) * least
        whole = values + levels
        root = whole ** (1.0 / self.order)
        factor = np.divide(root, self.order * whole, out=np.zeros(len(whole)), where=whole > 0.0)
        return root - levels ** (1.0 / self.order), gradients * factor[:, None]

    def hessian_diagonal(self, scores: FloatArray, layout: Layout) -> FloatArray:
        """Return a diagonal (n,) that bounds the second derivative; the root has none.

        Parameters
        ----------
        scores, layout : as for every penalty.
        """
        if self.root:
            raise InputError("root=True bends without bound, and trees need one; leave it out.")
        return super().hessian_diagonal(scores, layout)

    def transported_mass(self, layout: Layout) -> FloatArray:
        """Compute the mass that the plan moves to or from each row of a layout, shape (n,).

        For two groups that is 1 / n_a where all rows count, and min(p_0(l), p_1(l)) / n_al where
        those do who stay in their level.
        """
        if self._moves_all(layout):
            return group_transported_mass(layout)
        mass = layout.cell_mass()
        shares = mass / np.maximum(mass.sum(axis=0), np.finfo(float).tiny)
        stays = np.minimum(shares[:, :, None], shares[:, None, :])
        of_cell = (stays * pair_weights(mass.sum(axis=0))).sum(axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            per_mass = np.where(mass > 0.0, of_cell / mass, 0.0)
        return layout.cell_values_by_row(per_mass)

    def _moves_all(self, layout: Layout) -> bool:
        """Return whether those count who have to change level."""
        ground = level_cost_matrix(self.level_metric, layout.levels, self.order)
        apart = self.level_cost is None and ground.safe
        if self.off_diagonal is False and not apart:
            raise InputError(
                "off_diagonal=False needs level_cost=None and a level_metric with a safe level "
                "cost, such as 'discrete'."
            )
        return not apart if self.off_diagonal is None else self.off_diagonal
