"""Transport between a few points with given costs: the plan between levels.

POT's network simplex solves one such problem at a time from Python, and importing POT loads every
array library it can find, for seconds. Audits solve a small one (as many sources and targets as
there are levels), training solves thousands, one for every model of a stack at every step, so they
are solved here, compiled, by successive cheapest paths: supply is sent along the cheapest path of
the residual graph until none is left. Prices of the nodes keep reduced costs at 0 or more, so
Dijkstra's search finds each path in O((S + T)²) at most. Beyond a few hundred points the simplex
gains more than its import costs, and `outer_plan` asks for it.

Reference: Ahuja, Magnanti and Orlin (1993), *Network Flows*, section 9.7.

Ground costs between levels, and the level cost C that keeps like compared with like.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.errors import LevelCostWarning
from likeforlike.transport._jit import compiled

# Up to this many points on either side our own solver takes a fraction of a second, which is less
# than importing POT; it slows down with their cube, the simplex does not.
_FEW = 200
_SIMPLEX_STEPS = 10**9


@compiled
def _nearest(distance: FloatArray, done: IntArray) -> int:
    """The nearest node that is not done yet; -1 if none can be reached."""
    node, least = -1, np.inf
    for k in range(distance.size):
        if not done[k] and distance[k] < least:
            node, least = k, distance[k]
    return node


@compiled
def _relax(
    node: int,
    cost: FloatArray,
    prices: FloatArray,
    flow: FloatArray,
    distance: FloatArray,
    before: IntArray,
) -> None:
    """Shorten the way to the neighbors of a node."""
    n_sources, n_targets = cost.shape
    if node < n_sources:
        for j in range(n_targets):
            # Below 0 there is only rounding.
            reduced = max(0.0, cost[node, j] + prices[node] - prices[n_sources + j])
            reached = distance[node] + reduced
            if reached < distance[n_sources + j]:
                distance[n_sources + j] = reached
                before[n_sources + j] = node
        return
    for i in range(n_sources):
        # An arc that carries flow has reduced cost 0, and so has its reverse.
        if flow[i, node - n_sources] > 0.0 and distance[node] < distance[i]:
            distance[i] = distance[node]
            before[i] = node


@compiled
def _search(
    supply: FloatArray,
    demand: FloatArray,
    cost: FloatArray,
    prices: FloatArray,
    flow: FloatArray,
    distance: FloatArray,
    before: IntArray,
    done: IntArray,
) -> int:
    """Dijkstra from all sources with supply to the nearest target with demand; -1 if none.

    Nodes 0, ..., S - 1 are sources and S, ..., S + T - 1 targets.
    """
    n_sources = supply.size
    distance[:] = np.inf
    before[:] = -1
    done[:] = 0
    for i in range(n_sources):
        if supply[i] > 0.0:
            distance[i] = 0.0
    node = _nearest(distance, done)
    while node >= 0:
        if node >= n_sources and demand[node - n_sources] > 0.0:
            return node
        done[node] = 1
        _relax(node, cost, prices, flow, distance, before)
        node = _nearest(distance, done)
    return -1


@compiled
def _send(
    supply: FloatArray, demand: FloatArray, flow: FloatArray, before: IntArray, last: int
) -> None:
    """Send as much as fits along the path that ends in the target `last`."""
    n_sources = supply.size
    amount, node = demand[last - n_sources], last
    while before[node] >= 0:
        if node < n_sources:
            amount = min(amount, flow[node, before[node] - n_sources])
        node = before[node]
    amount = min(amount, supply[node])
    supply[node] -= amount
    demand[last - n_sources] -= amount
    node = last
    while before[node] >= 0:
        if node < n_sources:
            flow[node, before[node] - n_sources] -= amount
        else:
            flow[before[node], node - n_sources] += amount
        node = before[node]


@compiled
def priced_flow(
    supply: FloatArray, demand: FloatArray, cost: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Optimal plan (S, T) between two small distributions, and prices (S + T,). A kernel.

    cost + price of the source >= price of the target, with equality wherever the plan moves mass.
    """
    n_sources, n_targets = cost.shape
    supply, demand = supply.copy(), demand.copy()
    flow = np.zeros((n_sources, n_targets))
    prices = np.zeros(n_sources + n_targets)
    distance = np.empty(n_sources + n_targets)
    before = np.empty(n_sources + n_targets, np.int64)
    done = np.empty(n_sources + n_targets, np.int64)
    # Every path uses something up for good, or would but for rounding: this many are never needed.
    for _ in range(8 * prices.size * prices.size + 64):
        last = _search(supply, demand, cost, prices, flow, distance, before, done)
        if last < 0:
            break
        _send(supply, demand, flow, before, last)
        # What is nearer than the target found moves closer to it by the difference.
        for k in range(prices.size):
            prices[k] += min(distance[k], distance[last])
    return flow, prices


@compiled
def cheapest_flow(supply: FloatArray, demand: FloatArray, cost: FloatArray) -> FloatArray:
    """Optimal plan between two small distributions: min Σ flow * cost with the given marginals."""
    return priced_flow(supply, demand, cost)[0]


def outer_plan(supply: FloatArray, demand: FloatArray, cost: FloatArray) -> FloatArray:
    """Optimal plan between discrete distributions: few points here, many by POT's simplex."""
    # Either solver would read outside of its arrays, or never end, with numbers that are none.
    whole_supply, whole_demand = float(supply.sum()), float(demand.sum())
    if not math.isfinite(whole_supply + whole_demand + float(cost.sum())):
        raise ArithmeticError("Masses and costs of a plan between levels must be finite.")
    if min(cost.shape) == 1:  # everything comes from one point or goes to one
        return demand[None, :].copy() if supply.size == 1 else supply[:, None].copy()
    if max(cost.shape) <= _FEW:
        flow = cheapest_flow(supply, demand, np.ascontiguousarray(cost))
        if not math.isclose(flow.sum(), min(whole_supply, whole_demand), rel_tol=1e-6):
            raise ArithmeticError("The plan between levels was not found in as many steps.")
        return flow
    from ot import emd

    plan, log = emd(
        supply / whole_supply,
        demand / whole_demand,
        np.ascontiguousarray(cost),
        numItermax=_SIMPLEX_STEPS,
        log=True,
        center_dual=False,
        check_marginals=False,
    )
    if log["warning"] is not None:
        raise ArithmeticError(f"The plan between levels was not found: {log['warning']}")
    scaled: FloatArray = plan * whole_supply
    return scaled


# The bounds are strict inequalities; this much above them is safely inside.
_MARGIN = 1.005


def discrete_ground(n_levels: int) -> FloatArray:
    """Ground cost 1{l ≠ l'}: every other level is equally far. Shape (K, K).

    Parameters
    ----------
    n_levels : K.

    Examples
    --------
    >>> from likeforlike.transport import discrete_ground
    >>> discrete_ground(2)
    array([[0., 1.],
           [1., 0.]])
    """
    return 1.0 - np.eye(n_levels)


def metric_ground(metric: FloatArray, order: float) -> FloatArray:
    """Ground cost d(l, l')^p from a metric between levels. Shape (K, K).

    Parameters
    ----------
    metric : (K, K) floats, d.
    order : p >= 1.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import metric_ground
    >>> metric_ground(np.array([[0.0, 3.0], [3.0, 0.0]]), 2.0)
    array([[0., 9.],
           [9., 0.]])
    """
    ground: FloatArray = metric**order
    return ground


@compiled
def _least_slack(ground: FloatArray) -> float:
    """min over l and k, m ≠ l of G(k, l) + G(l, m) - G(k, m); stops once it is not positive."""
    least = np.inf
    size = ground.shape[0]
    for middle in range(size):
        for k in range(size):
            if k == middle:
                continue
            for m in range(size):
                if m == middle:
                    continue
                slack = ground[k, middle] + ground[middle, m] - ground[k, m]
                least = min(least, slack)
        if least <= 0.0:
            return 0.0
    return least


def safe_level_cost(
    ground: FloatArray, source: FloatArray, target: FloatArray, reach: float
) -> float:
    """Bound above which the level cost C keeps like compared with like.

    The mass min(p_0(l), p_1(l)) stays in level l when no detour pays. Undoing a detour k → l → m
    (mass that leaves l while other mass enters it) saves C [G(k,l) + G(l,m) - G(k,m)] and changes
    the inner costs by at most 2 R^p, so

        C > 2 R^p / min_{k,m≠l} [G(k,l) + G(l,m) - G(k,m)]

    suffices; for the discrete metric that is C > 2 R^p. With equal shares every detour is a cycle
    and Proposition 4.2 of the paper applies: C > R^p / min_{l≠l'} G(l, l'). Metrics along which
    detours are free, such as |l - l'|^p, have no finite bound unless the shares are equal.

    Parameters
    ----------
    ground : (K, K) ground cost, zero on the diagonal.
    source, target : (K,) level shares of the two sides; zero where a side lacks the level.
    reach : R^p, the largest |f - f'|^p.

    Returns
    -------
    The bound; `inf` where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import safe_level_cost
    >>> from likeforlike.transport import discrete_ground
    >>> shares = np.array([0.5, 0.3, 0.2])
    >>> safe_level_cost(discrete_ground(3), shares, shares[::-1].copy(), 1.0)
    2.0
    """
    if ground.shape[0] == 1:
        return 0.0
    if np.allclose(source, target, rtol=0.0, atol=1e-12):
        nearest = float(ground[~np.eye(ground.shape[0], dtype=bool)].min())
        return reach / nearest if nearest > 0.0 else np.inf
    slack = 1.0 if is_discrete(ground) else _least_slack(ground)
    return 2.0 * reach / slack if slack > 0.0 else np.inf


def is_discrete(ground: FloatArray) -> bool:
    """Whether a ground cost is that of `discrete_ground`."""
    return bool(np.array_equal(ground, discrete_ground(ground.shape[0])))


def choose_level_cost(
    given: float | None,
    ground: FloatArray,
    source: FloatArray,
    target: FloatArray,
    reach: float,
    grown: Callable[[float], float] = float,
) -> float:
    """Take the given level cost, or the smallest safe one; warn when the given one is too small.

    Where no level cost is safe the bound of Proposition 4.2 is taken instead. A constant score has
    no reach at all, and then any level cost does: 1.

    Parameters
    ----------
    given : C >= 0, or `None` to choose.
    ground, source, target, reach : as for `safe_level_cost`.
    grown : turns a cost into the one that a warning tells, where scores were scaled.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport import discrete_ground
    >>> from likeforlike.transport import choose_level_cost
    >>> shares = np.array([0.5, 0.3, 0.2])
    >>> round(choose_level_cost(None, discrete_ground(3), shares, shares[::-1].copy(), 1.0), 12)
    2.01
    """
    bound = safe_level_cost(ground, source, target, reach)
    if given is not None:
        if given < bound:
            advice = (
                f"at least {grown(bound):.6g} is needed"
                if np.isfinite(bound)
                else "no value is enough for this level_metric while level shares differ"
            )
            warnings.warn(
                f"level_cost={grown(given):.6g} does not keep like compared with like: {advice}.",
                LevelCostWarning,
                stacklevel=4,
            )
        return given
    if not np.isfinite(bound):
        bound = safe_level_cost(ground, source, source, reach)
    if not np.isfinite(bound) or bound == 0.0:
        return 1.0
    return _MARGIN * bound


def level_cost_factor(ground: FloatArray) -> tuple[float, bool]:
    """The level cost to take for scores of reach 1, whatever the shares, and whether it is safe.

    Costs grow like R^p, so C = factor * R^p for scores of reach R. Where detours are free no level
    cost is safe, and the bound of Proposition 4.2 is taken.
    """
    size = ground.shape[0]
    if size == 1:
        return 1.0, True
    slack = 1.0 if is_discrete(ground) else _least_slack(ground)
    if slack > 0.0:
        return _MARGIN * 2.0 / slack, True
    nearest = float(ground[~np.eye(size, dtype=bool)].min())
    return (_MARGIN / nearest if nearest > 0.0 else 1.0), False
