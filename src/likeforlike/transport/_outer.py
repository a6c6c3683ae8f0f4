"""Transport between a few points with given costs: the plan between levels.

POT's network simplex solves one such problem at a time from Python, and importing POT loads every
array library it can find, for seconds. Audits solve a small one (as many sources and targets as
there are levels), training solves thousands, one for every model of a stack at every step, so they
are solved here, compiled, by successive cheapest paths: supply is sent along the cheapest path of
the residual graph until none is left. Prices of the nodes keep reduced costs at 0 or more, so
Dijkstra's search finds each path in O((S + T)²) at most. Beyond a few hundred points the simplex
gains more than its import costs, and `outer_plan` asks for it.

Reference: Ahuja, Magnanti and Orlin (1993), *Network Flows*, section 9.7.
"""

from __future__ import annotations

import math

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport._compiled import compiled

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
