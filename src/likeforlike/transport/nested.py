"""The bi-causal distance, computed exactly as a nested transport problem.

A pair (L, f) is a *level* and a score inside it. The bi-causal distance moves mass between the
two joint laws P_0, P_1 of (L, f) without letting the level of one side look at the score of the
other. It is a transport problem between levels whose cost is itself a transport cost (nested
form):

    V = min_π Σ_{l,l'} π(l, l') [ W_p^p(P_0^l, P_1^l') + C G(l, l') ],

where π has the level shares p_0, p_1 as marginals, G is the ground cost between levels and C the
*level cost*. The inner costs are exact by sorting (`line`), the outer plan comes from POT's
network simplex, and by the envelope theorem ∂V = Σ π*(l, l') ∂W_p^p(P_0^l, P_1^l').

References: Ghassemi et al. (2025), definition of the bi-causal distance and its nested form;
Backhoff-Veraguas et al. (2017), *Causal transport in discrete time*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from likeforlike.transport.atoms import Atoms, FloatArray, IntArray, atoms_of_rows
from likeforlike.transport.line import Plan
from likeforlike.transport.pairs import pair_costs, pair_gradient, row_gradient
from likeforlike.transport.sorting import sort_rows

__all__ = [
    "Nested",
    "cost_and_gradient",
    "least_level_transport",
    "nested_transport",
    "outer_plan",
    "rooted",
]

_OUTER_STEPS = 10**9


@dataclass(frozen=True, slots=True)
class Nested:
    """A solved nested transport problem.

    Attributes
    ----------
    value : V, on the scale of W_p^p: diagonal + off_diagonal + level_transport.
    plan : moves between levels (positions among the K levels) and their mass.
    inner : (m,) floats, W_p^p between the scores of the two levels of each move.
    diagonal : the part of V paid inside a level, Σ_l π(l, l) W_p^p(l, l).
    off_diagonal : the part paid for scores that differ across levels, Σ_{l≠l'} π W_p^p(l, l').
    level_transport : the part paid for changing level, C Σ π G.
    diagonal_mass : how much mass stays in its level.
    """

    value: float
    plan: Plan
    inner: FloatArray
    diagonal: float
    off_diagonal: float
    level_transport: float
    diagonal_mass: float


def outer_plan(source: FloatArray, target: FloatArray, cost: FloatArray) -> FloatArray:
    """Optimal transport plan between two small discrete laws, by POT's network simplex.

    Parameters
    ----------
    source, target : (K0,) and (K1,) positive shares, each summing to one.
    cost : (K0, K1) floats.

    Returns
    -------
    (K0, K1) floats with at most K0 + K1 - 1 positive entries.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.nested import outer_plan
    >>> outer_plan(np.array([0.5, 0.5]), np.array([0.5, 0.5]), 1 - np.eye(2))
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    # Importing POT loads every array library it can find, so it is imported where it is used.
    from ot import emd

    plan, log = emd(
        source,
        target,
        np.ascontiguousarray(cost),
        numItermax=_OUTER_STEPS,
        log=True,
        center_dual=False,
        check_marginals=False,
    )
    if log["warning"] is not None:
        raise ArithmeticError(f"The plan between levels was not found: {log['warning']}")
    found: FloatArray = plan
    return found


def nested_transport(
    atoms: Atoms,
    left: IntArray,
    right: IntArray,
    ground: FloatArray,
    *,
    order: float,
    level_cost: float,
    keep_diagonal: bool = False,
) -> Nested:
    """Solve the nested transport problem between two laws of (level, score).

    Costs O(K n) for the inner problems of n atoms in K levels and one network simplex on the
    levels.

    Parameters
    ----------
    atoms : packed scores, a segment for each side and level.
    left, right : (K,) integers, the segment of each level on either side; segments may be empty.
    ground : (K, K) ground cost between levels.
    order : p >= 1.
    level_cost : C >= 0.
    keep_diagonal : whether C is known to lie above `safe_level_cost`. Then min(p_0(l), p_1(l))
        stays in level l in any optimal plan, and only what is left is solved for: a quarter of
        the pairs of levels.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import Atoms
    >>> from likeforlike.transport.level_cost import discrete_ground
    >>> from likeforlike.transport.nested import nested_transport
    >>> atoms = Atoms(np.array([0.0, 1.0]), np.ones(2), np.ones(2, np.int64), np.arange(3))
    >>> ground = discrete_ground(1)
    >>> nested_transport(
    ...     atoms, np.array([0]), np.array([1]), ground, order=2, level_cost=2.01
    ... ).value
    1.0
    """
    shares = _shares(atoms, left), _shares(atoms, right)
    solve = _solve_excess if keep_diagonal else _solve
    plan, inner = solve(atoms, (left, right), shares, ground, order, level_cost)
    stays = plan.source == plan.target
    inner_paid = plan.mass * inner
    diagonal = float(inner_paid[stays].sum())
    off_diagonal = float(inner_paid[~stays].sum())
    level_transport = level_cost * float((plan.mass * ground[plan.source, plan.target]).sum())
    return Nested(
        value=diagonal + off_diagonal + level_transport,
        plan=plan,
        inner=inner,
        diagonal=diagonal,
        off_diagonal=off_diagonal,
        level_transport=level_transport,
        diagonal_mass=float(plan.mass[stays].sum()),
    )


def _solve(
    atoms: Atoms,
    segments: tuple[IntArray, IntArray],
    shares: tuple[FloatArray, FloatArray],
    ground: FloatArray,
    order: float,
    level_cost: float,
) -> tuple[Plan, FloatArray]:
    """Optimal plan between levels, and the inner cost of each of its moves."""
    sources, targets = np.flatnonzero(shares[0]), np.flatnonzero(shares[1])
    inner = pair_costs(
        atoms,
        np.repeat(segments[0][sources], targets.size),
        np.tile(segments[1][targets], sources.size),
        order,
    ).reshape(sources.size, targets.size)
    cost = inner + level_cost * ground[np.ix_(sources, targets)]
    moves = outer_plan(shares[0][sources], shares[1][targets], cost)
    i, j = np.nonzero(moves)
    return Plan(sources[i], targets[j], moves[i, j]), inner[i, j]


def _solve_excess(
    atoms: Atoms,
    segments: tuple[IntArray, IntArray],
    shares: tuple[FloatArray, FloatArray],
    ground: FloatArray,
    order: float,
    level_cost: float,
) -> tuple[Plan, FloatArray]:
    """The same where everybody who can stay in a level does: only the rest has to move."""
    kept = np.minimum(*shares)
    stay = np.flatnonzero(kept)
    at_home = pair_costs(atoms, segments[0][stay], segments[1][stay], order)
    rest = (shares[0] - kept, shares[1] - kept)
    left = float(rest[0].sum())
    if left <= 1e-15:
        return Plan(stay, stay, kept[stay]), at_home
    scaled = (rest[0] / left, rest[1] / float(rest[1].sum()))
    moves, inner = _solve(atoms, segments, scaled, ground, order, level_cost)
    plan = Plan(
        np.concatenate([stay, moves.source]),
        np.concatenate([stay, moves.target]),
        np.concatenate([kept[stay], left * moves.mass]),
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
    >>> from likeforlike.transport.level_cost import discrete_ground
    >>> from likeforlike.transport.nested import least_level_transport
    >>> least_level_transport(np.array([1.0, 0.0]), np.array([0.5, 0.5]), discrete_ground(2))
    0.5
    """
    sources, targets = np.flatnonzero(source), np.flatnonzero(target)
    cost = ground[np.ix_(sources, targets)]
    return float((outer_plan(source[sources], target[targets], cost) * cost).sum())


def _shares(atoms: Atoms, segments: IntArray) -> FloatArray:
    """Share of each segment in the whole, 0 for an empty one."""
    mass = atoms.totals[segments]
    shares: FloatArray = mass / mass.sum()
    return shares


def cost_and_gradient(
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
    >>> from likeforlike.transport.level_cost import discrete_ground
    >>> from likeforlike.transport.nested import cost_and_gradient
    >>> cost_and_gradient(
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


def rooted(
    value: float, gradient: npt.NDArray[np.float64], order: float
) -> tuple[float, FloatArray]:
    """From V and ∂V to V^{1/p} and its gradient V^{1/p - 1} ∂V / p, taken as 0 where V = 0.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.nested import rooted
    >>> rooted(4.0, np.array([2.0]), 2.0)
    (2.0, array([0.5]))
    """
    if value == 0.0:
        return 0.0, np.zeros_like(gradient)
    root = value ** (1.0 / order)
    return root, gradient * (root / (value * order))
