"""Transport between a few points with given costs, compiled: successive cheapest paths.

POT's network simplex solves one such problem at a time from Python. Training solves thousands of
small ones (as many sources and targets as there are levels), one for every model of a stack at
every step, so they are solved here inside the kernel. Supply is sent along the cheapest path of
the residual graph until none is left; potentials keep reduced costs at 0 or more, so Dijkstra's
search finds each path in O((S + T)²).

Reference: Ahuja, Magnanti and Orlin (1993), *Network Flows*, section 9.7.
"""

from __future__ import annotations

import numpy as np

from likeforlike.transport.atoms import FloatArray, IntArray
from likeforlike.transport.compiled import compiled

__all__ = ["cheapest_flow"]


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
    node: int, reduced: FloatArray, flow: FloatArray, distance: FloatArray, before: IntArray
) -> None:
    """Shorten the way to the neighbours of a node."""
    n_sources, n_targets = reduced.shape
    if node < n_sources:
        for j in range(n_targets):
            reached = distance[node] + reduced[node, j]
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
    reduced: FloatArray,
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
        _relax(node, reduced, flow, distance, before)
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
def cheapest_flow(supply: FloatArray, demand: FloatArray, cost: FloatArray) -> FloatArray:
    """Optimal plan between two small laws: min Σ flow * cost with the given marginals.

    Parameters
    ----------
    supply, demand : (S,) and (T,) floats >= 0 of equal sum. Whole numbers are handled exactly.
    cost : (S, T) floats >= 0.

    Returns
    -------
    (S, T) floats.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.outer import cheapest_flow
    >>> cheapest_flow(np.array([1.0, 2.0]), np.array([2.0, 1.0]), 1 - np.eye(2))
    array([[1., 0.],
           [1., 1.]])
    """
    n_sources, n_targets = cost.shape
    supply, demand = supply.copy(), demand.copy()
    flow = np.zeros((n_sources, n_targets))
    reduced = cost.copy()
    distance = np.empty(n_sources + n_targets)
    before = np.empty(n_sources + n_targets, np.int64)
    done = np.empty(n_sources + n_targets, np.int64)
    while True:
        last = _search(supply, demand, reduced, flow, distance, before, done)
        if last < 0:
            return flow
        _send(supply, demand, flow, before, last)
        # What is nearer than the target found moves closer to it by the difference.
        farthest = distance[last]
        for i in range(n_sources):
            for j in range(n_targets):
                change = min(distance[i], farthest) - min(distance[n_sources + j], farthest)
                reduced[i, j] = max(0.0, reduced[i, j] + change)
                if flow[i, j] > 0.0:
                    reduced[i, j] = 0.0
