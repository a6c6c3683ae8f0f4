"""The bi-causal distance, computed exactly as a nested transport problem.

A pair (L, f) is a *level* and a score inside it. The bi-causal distance moves mass between the
two joint distributions P_0, P_1 of (L, f) without letting the level of one side look at the score
of the other. It is a transport problem between levels whose cost is itself a transport cost (nested
form):

    V = min_π Σ_{l,l'} π(l, l') [ W_p^p(P_0^l, P_1^l') + C G(l, l') ],

where π has the level shares p_0, p_1 as marginals, G is the ground cost between levels and C the
*level cost*. The inner costs are exact by sorting (`line`), the outer plan is exact too
(`outer`), and by the envelope theorem ∂V = Σ π*(l, l') ∂W_p^p(P_0^l, P_1^l').

With `reg` > 0 both stages are entropic, which is Algorithm 1 of the paper: the cost of the blurred
inner plan is passed up, and the plan between levels is blurred too (`entropic`). In its notation
reg = 1/λ. It lacks C in its cost and has the sign of the entropy reversed; both are corrected.

References: Ghassemi et al. (2025), definition of the bi-causal distance and its nested form;
Backhoff-Veraguas et al. (2017), *Causal transport in discrete time*.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport._atoms import Atoms, atoms_of_rows, moderate
from likeforlike.transport._entropic import entropic_costs, entropic_flow
from likeforlike.transport._flow import is_discrete, outer_plan
from likeforlike.transport._line import Plan
from likeforlike.transport._sorting import sort_rows
from likeforlike.transport._sweeps import pair_costs, pair_gradient, row_gradient

# Shares that differ by less than this differ by rounding.
_ROUNDING = 1e-15


class Masses(NamedTuple):
    """Mass of the K levels on either side, times the total of the other side.

    Both sum to `whole`, and counts of rows stay whole numbers: equal shares are equal exactly.

    Attributes
    ----------
    supply, demand : (K,) floats.
    whole : the sum of either.
    """

    supply: FloatArray
    demand: FloatArray
    whole: float


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

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.transport import nested_transport
    >>> from likeforlike.transport import discrete_ground
    >>> cells = Cells.from_rows([0.0, 1.0, 1.0], ["f", "f", "m"], ["low", "high", "low"])
    >>> solved = nested_transport(
    ...     cells.atoms, cells.segments(0), cells.segments(1), discrete_ground(2),
    ...     order=2, level_cost=2.01,
    ... )
    >>> solved.diagonal, solved.off_diagonal, solved.diagonal_mass
    (0.5, 0.0, 0.5)
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
    >>> import numpy as np
    >>> from likeforlike.transport import nested_transport
    >>> from likeforlike.transport import Atoms
    >>> from likeforlike.transport import discrete_ground
    >>> atoms = Atoms(np.array([0.0, 1.0]), np.ones(2), np.ones(2, np.int64), np.arange(3))
    >>> ground = discrete_ground(1)
    >>> nested_transport(
    ...     atoms, np.array([0]), np.array([1]), ground, order=2, level_cost=2.01
    ... ).value
    1.0
    """
    solve = _solve_excess if keep_diagonal and reg == 0.0 else _solve
    masses = _masses(atoms, left, right)
    plan, inner = solve(_NestedProblem(atoms, left, right, ground, order, level_cost, reg), masses)
    stays = plan.source == plan.target
    inner_paid = plan.mass * inner
    diagonal = float(inner_paid[stays].sum())
    off_diagonal = float(inner_paid[~stays].sum())
    level_transport = level_cost * float((plan.mass * ground[plan.source, plan.target]).sum())
    return Nested(
        value=diagonal + off_diagonal + level_transport,
        plan=plan,
        diagonal=diagonal,
        off_diagonal=off_diagonal,
        level_transport=level_transport,
        diagonal_mass=float(plan.mass[stays].sum()),
    )


class _NestedProblem(NamedTuple):
    """What `nested_transport` is given."""

    atoms: Atoms
    left: IntArray
    right: IntArray
    ground: FloatArray
    order: float
    level_cost: float
    reg: float

    def inner_costs(self, sources: IntArray, targets: IntArray) -> FloatArray:
        """W_p^p between levels of the left side and levels of the right side, or V with `reg`."""
        left, right = self.left[sources], self.right[targets]
        if self.reg > 0.0:
            return entropic_costs(self.atoms, left, right, self.order, self.reg)
        return pair_costs(self.atoms, left, right, self.order)


def _solve(problem: _NestedProblem, masses: Masses) -> tuple[Plan, FloatArray]:
    """Optimal plan between levels, and the inner cost of each of its moves."""
    sources, targets = np.flatnonzero(masses.supply), np.flatnonzero(masses.demand)
    pairs = np.repeat(sources, targets.size), np.tile(targets, sources.size)
    inner = problem.inner_costs(*pairs).reshape(sources.size, targets.size)
    cost = inner + problem.level_cost * problem.ground[sources][:, targets]
    supply, demand = masses.supply[sources], masses.demand[targets]
    if problem.reg > 0.0:
        shares = supply / masses.whole, demand / masses.whole
        moves = entropic_flow(*shares, cost, problem.reg, np.empty((0, 0)))
    else:
        moves = outer_plan(supply, demand, cost) / masses.whole
    i, j = np.nonzero(moves)
    return Plan(sources[i], targets[j], moves[i, j]), inner[i, j]


def _solve_excess(problem: _NestedProblem, masses: Masses) -> tuple[Plan, FloatArray]:
    """The same where all mass that can stay in a level does: only the rest has to move."""
    kept = np.minimum(masses.supply, masses.demand)
    stay = np.flatnonzero(kept)
    at_home = problem.inner_costs(stay, stay)
    rest = Masses(masses.supply - kept, masses.demand - kept, masses.whole)
    if float(rest.supply.sum()) <= _ROUNDING * masses.whole:
        return Plan(stay, stay, kept[stay] / masses.whole), at_home
    moves, inner = _solve(problem, rest)
    plan = Plan(
        np.concatenate([stay, moves.source]),
        np.concatenate([stay, moves.target]),
        np.concatenate([kept[stay] / masses.whole, moves.mass]),
    )
    return plan, np.concatenate([at_home, inner])


def least_level_transport(source: FloatArray, target: FloatArray, ground: FloatArray) -> float:
    """What changing levels costs at the least, min_π Σ π G, whatever the scores.

    Parameters
    ----------
    source, target : (K,) level shares of the two sides; zero where a side lacks the level.
    ground : (K, K) ground cost between levels.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import discrete_ground
    >>> from likeforlike.transport import least_level_transport
    >>> least_level_transport(np.array([1.0, 0.0]), np.array([0.5, 0.5]), discrete_ground(2))
    0.5
    """
    if is_discrete(ground):  # mass that can stay stays, and all other mass pays one
        return float(np.maximum(source - target, 0.0).sum())
    sources, targets = np.flatnonzero(source), np.flatnonzero(target)
    cost = ground[np.ix_(sources, targets)]
    return float((outer_plan(source[sources], target[targets], cost) * cost).sum())


def _masses(atoms: Atoms, left: IntArray, right: IntArray) -> Masses:
    """Mass of the levels of either side, on a scale that keeps whole numbers whole."""
    of_left, of_right = moderate(atoms.totals[left]), moderate(atoms.totals[right])
    whole_left, whole_right = float(of_left.sum()), float(of_right.sum())
    return Masses(of_left * whole_right, of_right * whole_left, whole_left * whole_right)


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
    """Nested cost V of rows and its gradient with respect to their values.

    Only the pairs of levels that the outer plan uses are differentiated.

    Parameters
    ----------
    values : (n,) finite floats.
    sides : (n,) integers, 0 or 1.
    levels : (n,) integers in [0, K).
    ground : (K, K) ground cost between levels.
    order : p >= 1.
    level_cost : C >= 0.
    mass : (n,) positive floats, or `None` for one each.

    Returns
    -------
    value : V.
    gradient : (n,) floats.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import discrete_ground
    >>> from likeforlike.transport._nested import nested_cost_and_gradient
    >>> nested_cost_and_gradient(
    ...     np.array([0.0, 1.0]),
    ...     np.array([0, 1]),
    ...     np.array([0, 0]),
    ...     discrete_ground(1),
    ...     order=2,
    ...     level_cost=2.01,
    ... )
    (1.0, array([-2.,  2.]))
    """
    n_levels = ground.shape[0]
    ordered = sort_rows(values, 2 * levels + sides, 2 * n_levels)
    atoms = atoms_of_rows(ordered, mass)
    left = 2 * np.arange(n_levels)
    solved = nested_transport(atoms, left, left + 1, ground, order=order, level_cost=level_cost)
    plan = solved.plan
    by_atom = pair_gradient(atoms, left[plan.source], left[plan.target] + 1, plan.mass, order)
    return solved.value, row_gradient(by_atom, atoms, ordered, mass)


def rooted(value: float, gradient: FloatArray, order: float) -> tuple[float, FloatArray]:
    """From V and ∂V to V^{1/p} and its gradient V^{1/p - 1} ∂V / p, taken as 0 where V = 0."""
    if value == 0.0:
        return 0.0, np.zeros_like(gradient)
    root = value ** (1.0 / order)
    return root, gradient * (root / (value * order))
