"""Transport between points with given costs: the plan between levels, and what levels cost.

One solver for all sizes, a primal network simplex on the transportation problem, compiled: audits
solve one problem, training thousands, one for every model of a stack at every step. The basis is a
spanning tree of the S + T points and an artificial root, to which each point is tied by an
artificial arc at first; since every source reaches every target, an artificial arc may cost as much
as the dearest real one. Arcs are priced in blocks of √(S T), the cheapest of a block enters, and
the last arc that blocks the cycle leaves, so that the tree stays strongly feasible and no pivot
repeats.

Reference: Ahuja, Magnanti and Orlin (1993), *Network Flows*, sections 11.5 to 11.7.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.errors import LevelCostWarning
from likeforlike.transport._jit import compiled

# A reduced cost this small, as a share of the dearest arc, is rounding.
_ROUNDING = 1e-12


@compiled
def _entering_arc(
    cost: FloatArray, price: FloatArray, start: int, least: float
) -> tuple[int, int, float]:
    """Price arcs in blocks from `start` on; return where the search ended, arc or -1, and cost."""
    n_sources, n_targets = cost.shape
    n_arcs, block = cost.size, max(10, int(math.sqrt(cost.size)))
    i, j = start // n_targets, start % n_targets
    arc = -1
    for seen in range(1, n_arcs + 1):
        reduced = cost[i, j] + price[i] - price[n_sources + j]
        if reduced < least:
            least, arc = reduced, i * n_targets + j
        j += 1
        if j == n_targets:
            i, j = (i + 1) % n_sources, 0
        if arc >= 0 and seen % block == 0:
            break
    return i * n_targets + j, arc, least


@compiled
def _push(
    source: int, target: int, above: IntArray, upward: IntArray, amount: FloatArray, depth: IntArray
) -> tuple[int, float]:
    """Augment the cycle of an entering arc; return the leaving arc's lower end and the amount."""
    u, v = source, target
    while u != v:
        if depth[u] >= depth[v]:
            u = above[u]
        else:
            v = above[v]
    meeting, leaving, fits = u, -1, np.inf
    u, v = source, target
    while u != meeting:
        if upward[u] and amount[u] < fits:
            leaving, fits = u, amount[u]
        u = above[u]
    while v != meeting:
        if not upward[v] and amount[v] <= fits:
            leaving, fits = v, amount[v]
        v = above[v]
    u, v = source, target
    while u != meeting:
        amount[u] += -fits if upward[u] else fits
        u = above[u]
    while v != meeting:
        amount[v] += fits if upward[v] else -fits
        v = above[v]
    return leaving, fits


@compiled
def _move_node(
    node: int, parent: int, above: IntArray, child: IntArray, siblings: IntArray
) -> None:
    """Move a node to another parent; children are doubly linked lists."""
    after, before = siblings[node, 0], siblings[node, 1]
    if before >= 0:
        siblings[before, 0] = after
    else:
        child[above[node]] = after
    if after >= 0:
        siblings[after, 1] = before
    above[node] = parent
    siblings[node, 0], siblings[node, 1] = child[parent], -1
    if child[parent] >= 0:
        siblings[child[parent], 1] = node
    child[parent] = node


@compiled
def _reverse(
    node: int,
    parent: int,
    leaving: int,
    moved: float,
    up: int,
    above: IntArray,
    upward: IntArray,
    amount: FloatArray,
    child: IntArray,
    siblings: IntArray,
) -> None:
    """Reverse the path from `node` to `leaving`, so that `node` becomes a child of `parent`."""
    while True:
        next_node, next_up, next_moved = above[node], 1 - upward[node], amount[node]
        _move_node(node, parent, above, child, siblings)
        upward[node], amount[node] = up, moved
        if node == leaving:
            return
        parent, node, up, moved = node, next_node, next_up, next_moved


@compiled
def _update_prices(
    top: int,
    change: float,
    above: IntArray,
    price: FloatArray,
    depth: IntArray,
    child: IntArray,
    siblings: IntArray,
    stack: IntArray,
) -> None:
    """Add to the prices of a node and of all below it, and recompute their depths."""
    stack[0], size = top, 1
    while size > 0:
        size -= 1
        node = stack[size]
        price[node] += change
        depth[node] = depth[above[node]] + 1
        node = child[node]
        while node >= 0:
            stack[size] = node
            size += 1
            node = siblings[node, 0]


@compiled
def solve_flow(
    supply: FloatArray, demand: FloatArray, cost: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Find the optimal plan (S, T) between two distributions, and prices (S + T,). A kernel.

    cost + price of the source >= price of the target, with equality wherever the plan moves mass.
    """
    n_sources, n_targets = cost.shape
    root = n_sources + n_targets
    dearest = np.abs(cost).max()
    if dearest == 0.0:  # an artificial arc has to cost something
        dearest = 1.0
    above, child = np.full(root + 1, root), np.full(root + 1, -1)
    siblings = np.full((root + 1, 2), -1)
    upward, depth = np.zeros(root + 1, np.int64), np.ones(root + 1, np.int64)
    amount, price = np.zeros(root + 1), np.zeros(root + 1)
    depth[root], child[root] = 0, 0
    for node in range(root):
        siblings[node, 0], siblings[node, 1] = node + 1 if node + 1 < root else -1, node - 1
        is_source = node < n_sources
        upward[node] = is_source
        amount[node] = supply[node] if is_source else demand[node - n_sources]
        price[node] = -dearest if is_source else dearest
    stack = np.empty(root + 1, np.int64)
    start = 0
    while True:
        start, arc, reduced = _entering_arc(cost, price, start, -_ROUNDING * dearest)
        if arc < 0:
            break
        source, target = arc // n_targets, n_sources + arc % n_targets
        leaving, moved = _push(source, target, above, upward, amount, depth)
        # The part of the tree below the leaving arc hangs on the entering one.
        top = source if upward[leaving] else target
        parent, up = source + target - top, top == source
        _reverse(top, parent, leaving, moved, up, above, upward, amount, child, siblings)
        change = -reduced if up else reduced
        _update_prices(top, change, above, price, depth, child, siblings, stack)
    flow = np.zeros((n_sources, n_targets))
    for node in range(root):
        if above[node] != root and upward[node]:
            flow[node, above[node] - n_sources] = amount[node]
        elif above[node] != root:
            flow[above[node], node - n_sources] = amount[node]
    return flow, price[:root]


@compiled
def cheapest_flow(supply: FloatArray, demand: FloatArray, cost: FloatArray) -> FloatArray:
    """Find the plan that minimizes Σ flow * cost with the given marginals. A kernel."""
    return solve_flow(supply, demand, cost)[0]


def outer_plan(supply: FloatArray, demand: FloatArray, cost: FloatArray) -> FloatArray:
    """Find the optimal plan between two discrete distributions, and check it."""
    whole = float(supply.sum()) + float(demand.sum()) + float(cost.sum())
    if min(cost.shape) == 1 and math.isfinite(whole):
        return demand[None, :].copy() if supply.size == 1 else supply[:, None].copy()
    return outer_plan_and_prices(supply, demand, cost)[0]


def outer_plan_and_prices(
    supply: FloatArray, demand: FloatArray, cost: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Find the optimal plan and prices of `solve_flow`, and check them."""
    # With NaN the solver would not terminate.
    whole_supply, whole_demand = float(supply.sum()), float(demand.sum())
    if not math.isfinite(whole_supply + whole_demand + float(cost.sum())):
        raise ArithmeticError("Masses and costs of a plan between levels must be finite.")
    flow, prices = solve_flow(supply, demand, np.ascontiguousarray(cost))
    if not math.isclose(flow.sum(), min(whole_supply, whole_demand), rel_tol=1e-6):
        raise ArithmeticError("The plan between levels was not found.")
    return flow, prices


# The bounds are strict inequalities; this much above them is safely inside.
_MARGIN = 1.005


def discrete_ground(n_levels: int) -> FloatArray:
    """Return the ground cost 1{l ≠ l'}, with which all other levels are equally far; (K, K)."""
    return 1.0 - np.eye(n_levels)


def metric_ground(metric: FloatArray, order: float) -> FloatArray:
    """Return the ground cost d(l, l')^p of a metric between levels; (K, K)."""
    ground: FloatArray = metric**order
    return ground


@compiled
def _least_slack(ground: FloatArray) -> float:
    """Find min over l and k, m ≠ l of G(k, l) + G(l, m) - G(k, m), or 0 if it is not positive."""
    least = np.inf
    size = ground.shape[0]
    for middle in range(size):
        for k in range(size):
            if k == middle:
                continue
            for m in range(size):
                if m == middle:
                    continue
                least = min(least, ground[k, middle] + ground[middle, m] - ground[k, m])
        if least <= 0.0:
            return 0.0
    return least


def safe_level_cost(
    ground: FloatArray, source: FloatArray, target: FloatArray, reach: float
) -> float:
    """Compute the bound above which the level cost C keeps like compared with like.

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
    >>> from likeforlike.transport import discrete_ground, safe_level_cost
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
    """Return whether a ground cost is that of `discrete_ground`."""
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

    Where no level cost is safe the bound of Proposition 4.2 is taken instead. For a constant score,
    whose reach is 0, any level cost is safe, and 1 is taken.

    Parameters
    ----------
    given : C >= 0, or `None` to choose.
    ground, source, target, reach : as for `safe_level_cost`.
    grown : converts a cost to the one that a warning reports, where scores were scaled.
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
    """Return the level cost for scores of reach 1, whatever the shares, and whether it is safe.

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
