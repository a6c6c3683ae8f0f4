"""The bi-causal distance, computed exactly as a nested transport problem.

A pair (L, f) is a *level* and a score inside it. The bi-causal distance moves mass between the
two joint distributions P_0, P_1 of (L, f) without letting the level of one side look at the score
of the other. It is a transport problem between levels whose cost is itself a transport cost (nested
form):

    V = min_π Σ_{l,l'} π(l, l') [ W_p^p(P_0^l, P_1^l') + C G(l, l') ],

where π has the level shares p_0, p_1 as marginals, G is the ground cost between levels and C the
*level cost*. Inner costs are exact by sorting (`_sweeps`), the plan between levels is exact
(`_flow`), and by the envelope theorem ∂V = Σ π*(l, l') ∂W_p^p(P_0^l, P_1^l').

Of many levels the plan uses few pairs, so inner costs are computed where it moves mass. With q̄_b
the mean of a quantile function over a part of [0, 1] of width w_b, and s_b its spread there,

    Σ_b w_b |q̄_b - q̄'_b|^p <= W_p^p,    and for p = 2 also with (s_b - s'_b)² added

(Jensen; Cauchy-Schwarz). A plan that is optimal for such bounds is solved for, its own pairs get
their true costs, and so on until it moves along true costs only. Then it is optimal: any other plan
pays at least what its bounds say. Parts halve towards both ends, where tails are.

With `reg` > 0 both stages are entropic, which is Algorithm 1 of the paper: the cost of the entropic
inner plan is passed up, and the plan between levels is entropic too (`_entropic`). In its notation
reg = 1/λ. It lacks C in its cost and has the sign of the entropy reversed; both are corrected.

References: Ghassemi et al. (2025), definition of the bi-causal distance and its nested form;
Backhoff-Veraguas et al. (2017), *Causal transport in discrete time*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport._atoms import Atoms, PackedAtoms, merge_ties, moderate_weights
from likeforlike.transport._entropic import entropic_costs, entropic_flow
from likeforlike.transport._flow import is_discrete, outer_plan, outer_plan_and_prices
from likeforlike.transport._jit import compiled
from likeforlike.transport._line import Plan
from likeforlike.transport._sorting import sort_rows
from likeforlike.transport._sweeps import pair_costs, pair_gradient, power, row_gradient

# Shares that differ by less than this differ by rounding.
_ROUNDING = 1e-15
# Bounds pay from this many levels on, and atoms in each of them; after a few turns all pairs are
# computed.
_FEW_LEVELS, _ATOMS_PER_LEVEL, _TURNS = 4, 300, 6
# Parts of [0, 1] at most, atoms in each of them, and halvings of the first and the last.
_PARTS, _ATOMS_PER_PART, _HALVINGS = 256, 8, 10
_BELOW = 1.0 - 1e-9  # the rounding of a bound


@dataclass(frozen=True, slots=True)
class Nested:
    """A solved nested transport problem.

    Attributes
    ----------
    value : V, on the scale of W_p^p: diagonal + off_diagonal + level_transport.
    plan : moves between levels (positions among the K levels) and their mass.
    diagonal : the part of V paid inside a level, Σ_l π(l, l) W_p^p(l, l).
    off_diagonal : the part paid for scores that differ across levels, Σ_{l≠l'} π W_p^p(l, l').
    level_transport : the part paid for changing level, C Σ π G.
    diagonal_mass : how much mass stays in its level.
    """

    value: float
    plan: Plan
    diagonal: float
    off_diagonal: float
    level_transport: float
    diagonal_mass: float


def nested_transport(
    atoms: Atoms,
    left: IntArray,
    right: IntArray,
    ground: FloatArray,
    *,
    order: float,
    level_cost: float,
    keep_diagonal: bool = False,
    reg: float = 0.0,
) -> Nested:
    """Solve the nested transport problem between two distributions of (level, score).

    Costs O(K n) for the inner problems of n atoms in K levels, and one problem between the levels;
    entropic, O(n²).

    Parameters
    ----------
    atoms : packed scores, a segment for each side and level.
    left, right : (K,) integers, the segment of each level on either side; segments may be empty.
    ground : (K, K) ground cost between levels.
    order : p >= 1.
    level_cost : C >= 0.
    keep_diagonal : whether C is known to lie above `safe_level_cost`. Then min(p_0(l), p_1(l))
        stays in level l in any optimal plan, and only what is left is solved for: a quarter of
        the pairs of levels. Not with `reg`.
    reg : strength of the entropic term, in the unit of the cost; 0 is exact.

    Examples
    --------
    Half of the first side changes its level, at the level cost:

    >>> from likeforlike import Cells
    >>> from likeforlike.transport import discrete_ground, nested_transport
    >>> cells = Cells.from_rows([0.0, 1.0, 1.0], ["f", "f", "m"], ["low", "high", "low"])
    >>> sides, ground = (cells.segments(0), cells.segments(1)), discrete_ground(2)
    >>> solved = nested_transport(cells.atoms, *sides, ground, order=2, level_cost=2.01)
    >>> solved.diagonal, solved.off_diagonal, solved.level_transport
    (0.5, 0.0, 1.005)
    """
    # Mass of each level times the total of the other side: counts of rows stay whole numbers, and
    # equal shares are equal exactly.
    supply, demand = moderate_weights(atoms.totals[left]), moderate_weights(atoms.totals[right])
    whole_left, whole_right = float(supply.sum()), float(demand.sum())
    supply, demand, whole = supply * whole_right, demand * whole_left, whole_left * whole_right
    kept = np.zeros(supply.size)
    if keep_diagonal and reg == 0.0:
        kept = np.minimum(supply, demand)
        supply, demand = supply - kept, demand - kept
    stay = np.flatnonzero(kept)
    plan = Plan(stay, stay, kept[stay] / whole)
    inner = _inner_costs(atoms, left[stay], right[stay], order, reg)
    if not stay.size or float(supply.sum()) > _ROUNDING * whole:
        sources, targets = np.flatnonzero(supply), np.flatnonzero(demand)
        if reg > 0.0:
            pairs = np.repeat(sources, targets.size), np.tile(targets, sources.size)
            costs = _inner_costs(atoms, left[pairs[0]], right[pairs[1]], order, reg)
            costs = costs.reshape(sources.size, targets.size)
            outer = costs + level_cost * ground[sources][:, targets]
            shares = supply[sources] / whole, demand[targets] / whole
            moves = entropic_flow(*shares, outer, reg, np.empty((0, 0)))
        else:
            outer = level_cost * ground[sources][:, targets]
            marginals = supply[sources], demand[targets]
            moves, costs = _solve(atoms, left[sources], right[targets], marginals, outer, order)
            moves = moves / whole
        i, j = np.nonzero(moves)
        rest = sources[i], targets[j], moves[i, j]
        plan = Plan(*(np.concatenate(parts) for parts in zip(plan, rest, strict=True)))
        inner = np.concatenate([inner, costs[i, j]])
    stays = plan.source == plan.target
    inner_paid = plan.mass * inner
    diagonal = float(inner_paid[stays].sum())
    off_diagonal = float(inner_paid[~stays].sum())
    level_transport = level_cost * float((plan.mass * ground[plan.source, plan.target]).sum())
    value, diagonal_mass = diagonal + off_diagonal + level_transport, float(plan.mass[stays].sum())
    return Nested(value, plan, diagonal, off_diagonal, level_transport, diagonal_mass)


def _inner_costs(
    atoms: Atoms, left: IntArray, right: IntArray, order: float, reg: float
) -> FloatArray:
    """Compute W_p^p between pairs of segments, or V with `reg`."""
    if reg > 0.0:
        return entropic_costs(atoms, left, right, order, reg)
    return pair_costs(atoms, left, right, order)


def _solve(
    atoms: Atoms,
    left: IntArray,
    right: IntArray,
    marginals: tuple[FloatArray, FloatArray],
    outer: FloatArray,
    order: float,
) -> tuple[FloatArray, FloatArray]:
    """Find the optimal plan (S, T) for inner costs plus `outer`; they are true where it moves."""
    n_pairs, n_levels = outer.size, sum(outer.shape)
    if min(outer.shape) < _FEW_LEVELS or atoms.values.size < _ATOMS_PER_LEVEL * n_levels:
        pairs = np.repeat(left, right.size), np.tile(right, left.size)
        costs = pair_costs(atoms, *pairs, order).reshape(outer.shape)
        return outer_plan(*marginals, costs + outer), costs
    costs, known = _bound_costs(atoms, left, right, order), np.zeros(outer.shape, np.bool_)
    outer = outer - outer.min()  # the same for every plan, and it would only hide digits
    for turn in range(_TURNS + 1):
        moves, prices = outer_plan_and_prices(*marginals, costs + outer)
        new = (moves > 0.0) & ~known
        if not new.any():
            break
        if turn == _TURNS - 1:
            new = ~known
        elif turn:  # pairs that are nearly as good come next: their bounds are low as well
            reduced = costs + outer + prices[: left.size, None] - prices[left.size :]
            reduced[known] = np.inf
            next_best = np.argpartition(reduced, min(turn * n_levels, n_pairs - 1), axis=None)
            new.ravel()[next_best[: turn * n_levels]] = True
            new &= ~known
        i, j = np.nonzero(new)
        costs[i, j] = pair_costs(atoms, left[i], right[j], order)
        known |= new
    return moves, costs


def _bound_costs(atoms: Atoms, left: IntArray, right: IntArray, order: float) -> FloatArray:
    """Bound W_p^p between each pair of segments from below, shape (S, T)."""
    sizes = np.diff(atoms.offsets)[np.concatenate([left, right])]
    parts = int(np.clip(sizes.mean() / _ATOMS_PER_PART, 1, _PARTS))
    tail = 0.5 ** np.arange(_HALVINGS, 0, -1) / parts
    inner = np.arange(1, parts) / parts
    edges = np.concatenate([[0.0], tail, inner, 1.0 - tail[::-1], [1.0]])
    (u, u_spread), (v, v_spread) = (np.empty((2, s.size, edges.size - 1)) for s in (left, right))
    _summarize_parts(atoms.light, left, edges, u, u_spread)
    _summarize_parts(atoms.light, right, edges, v, v_spread)
    bounds = np.empty((left.size, right.size))
    _pair_bounds(u, u_spread, v, v_spread, np.diff(edges), float(order), bounds)
    return bounds


@compiled
def _summarize_parts(
    packed: PackedAtoms,
    segments: IntArray,
    edges: FloatArray,
    means: FloatArray,
    spreads: FloatArray,
) -> None:
    """Compute mean and spread of quantile functions between the edges."""
    for row in range(segments.size):
        begin, last = packed.offsets[segments[row]], packed.offsets[segments[row] + 1] - 1
        total = packed.totals[segments[row]]
        at, reached, end = begin, 0.0, float(packed.mass[begin])
        for part in range(edges.size - 1):
            limit = edges[part + 1] * total
            base, mass, moment, squares = packed.values[at], 0.0, 0.0, 0.0
            while True:
                here = min(end, limit) - reached
                value = packed.values[at] - base
                mass += here
                moment += here * value
                squares += here * value * value
                if end > limit or at == last:
                    reached = limit
                    break
                reached = end
                at += 1
                end += packed.mass[at]
            mean = moment / mass if mass > 0.0 else 0.0
            means[row, part] = base + mean
            variance = squares / mass - mean * mean if mass > 0.0 else 0.0
            spreads[row, part] = np.sqrt(max(variance, 0.0))


@compiled
def _pair_bounds(
    left_means: FloatArray,
    left_spreads: FloatArray,
    right_means: FloatArray,
    right_spreads: FloatArray,
    widths: FloatArray,
    order: float,
    bounds: FloatArray,
) -> None:
    for i in range(bounds.shape[0]):
        for j in range(bounds.shape[1]):
            bound = 0.0
            for b in range(widths.size):
                difference = abs(left_means[i, b] - right_means[j, b])
                bound += widths[b] * power(difference, order)
                if order == 2.0:
                    apart = left_spreads[i, b] - right_spreads[j, b]
                    bound += widths[b] * apart * apart
            bounds[i, j] = bound * _BELOW


def least_level_transport(source: FloatArray, target: FloatArray, ground: FloatArray) -> float:
    """Compute what changing levels costs at the least, min_π Σ π G, whatever the scores.

    Parameters
    ----------
    source, target : (K,) level shares of the two sides; zero where a side lacks the level.
    ground : (K, K) ground cost between levels.
    """
    if is_discrete(ground):  # mass that can stay stays, and all other mass pays one
        return float(np.maximum(source - target, 0.0).sum())
    sources, targets = np.flatnonzero(source), np.flatnonzero(target)
    cost = ground[np.ix_(sources, targets)]
    return float((outer_plan(source[sources], target[targets], cost) * cost).sum())


def nested_cost_and_gradient(
    values: FloatArray,
    sides: IntArray,
    levels: IntArray,
    ground: FloatArray,
    *,
    order: float,
    level_cost: float,
    mass: FloatArray | None = None,
) -> tuple[float, FloatArray]:
    """Compute the nested cost V of rows and its gradient (n,) with respect to their values.

    Only the pairs of levels that the outer plan uses are differentiated.

    Parameters
    ----------
    values, sides, levels : (n,) floats, integers 0 or 1, and integers in [0, K).
    ground, order, level_cost : as for `nested_transport`.
    mass : (n,) positive floats, or `None` for one each.
    """
    n_levels = ground.shape[0]
    ordered = sort_rows(values, 2 * levels + sides, 2 * n_levels)
    atoms = merge_ties(ordered, mass)
    left = 2 * np.arange(n_levels)
    solved = nested_transport(atoms, left, left + 1, ground, order=order, level_cost=level_cost)
    sources, targets, moved = solved.plan
    by_atom = pair_gradient(atoms.packed, left[sources], left[targets] + 1, moved, float(order))
    return solved.value, row_gradient(by_atom, atoms, ordered, mass)
