"""Slow, obvious ways to compute what the library computes fast.

Each works straight from a definition: a linear program, a dense cost matrix, a double loop, a
finite difference. None of them shares code with the library.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import ot
from scipy import sparse
from scipy.optimize import linprog

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport import Atoms


def normalized(mass: FloatArray) -> FloatArray:
    shares: FloatArray = mass / mass.sum()
    return shares


def transport_cost(
    x: FloatArray, a: FloatArray, y: FloatArray, b: FloatArray, order: float
) -> float:
    """W_p^p by the network simplex on the full cost matrix."""
    cost = np.abs(x[:, None] - y[None, :]) ** order
    return float(ot.emd2(normalized(a), normalized(b), cost, numItermax=10**6))


def largest_cdf_gap(x: FloatArray, a: FloatArray, y: FloatArray, b: FloatArray) -> float:
    """Kolmogorov-Smirnov distance, by looking at every value."""
    gaps = [
        abs(normalized(a)[x <= t].sum() - normalized(b)[y <= t].sum())
        for t in np.concatenate([x, y])
    ]
    return float(max(gaps))


def total_variation(x: FloatArray, a: FloatArray, y: FloatArray, b: FloatArray) -> float:
    """½ Σ |P(t) - Q(t)|, by looking at every value once."""
    gaps = [
        abs(normalized(a)[x == t].sum() - normalized(b)[y == t].sum())
        for t in set(x.tolist()) | set(y.tolist())
    ]
    return 0.5 * float(sum(gaps))


def nested_cost(
    scores: FloatArray,
    sides: IntArray,
    levels: IntArray,
    ground: FloatArray,
    order: float,
    level_cost: float,
    mass: FloatArray,
) -> float:
    """The nested form, both stages by the network simplex."""
    present = [np.unique(levels[sides == side]) for side in (0, 1)]
    cost = np.empty([p.size for p in present])
    shares = [
        np.array([mass[(sides == side) & (levels == k)].sum() for k in present[side]])
        for side in (0, 1)
    ]
    for i, k in enumerate(present[0]):
        for j, m in enumerate(present[1]):
            first, second = (sides == 0) & (levels == k), (sides == 1) & (levels == m)
            cost[i, j] = level_cost * ground[k, m] + transport_cost(
                scores[first], mass[first], scores[second], mass[second], order
            )
    return float(ot.emd2(normalized(shares[0]), normalized(shares[1]), cost))


def bicausal_program(
    scores: FloatArray,
    sides: IntArray,
    levels: IntArray,
    ground: FloatArray,
    order: float,
    level_cost: float,
    mass: FloatArray,
) -> float:
    """The bi-causal distance as the linear program of its definition, solved by HiGHS.

    Variables: a plan γ between rows of the two sides. Besides the marginals, causality in both
    directions: γ(i, L' = l') = q(i | l) γ(L = l, L' = l') for every row i of level l and level l'
    of the other side, and the mirror image.
    """
    first, second = np.flatnonzero(sides == 0), np.flatnonzero(sides == 1)
    n, m = first.size, second.size
    a, b = normalized(mass[first]), normalized(mass[second])
    cost = (
        np.abs(scores[first][:, None] - scores[second][None, :]) ** order
        + level_cost * ground[np.ix_(levels[first], levels[second])]
    )
    grid = np.arange(n * m).reshape(n, m)
    rows: list[FloatArray] = []
    bounds: list[float] = []

    def constrain(coefficients: FloatArray, total: float) -> None:
        rows.append(coefficients)
        bounds.append(total)

    for i in range(n):
        line = np.zeros(n * m)
        line[grid[i]] = 1.0
        constrain(line, a[i])
    for j in range(m):
        line = np.zeros(n * m)
        line[grid[:, j]] = 1.0
        constrain(line, b[j])
    for mine, theirs, own, transpose in (
        (levels[first], levels[second], a, False),
        (levels[second], levels[first], b, True),
    ):
        cells = grid.T if transpose else grid
        for i in range(mine.size):
            peers = np.flatnonzero(mine == mine[i])
            share = own[i] / own[peers].sum()
            for level in np.unique(theirs):
                others = np.flatnonzero(theirs == level)
                line = np.zeros(n * m)
                line[cells[i, others]] += 1.0
                line[cells[np.ix_(peers, others)].ravel()] -= share
                constrain(line, 0.0)
    solved = linprog(
        cost.ravel(),
        A_eq=sparse.csr_matrix(np.array(rows)),
        b_eq=np.array(bounds),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert solved.status == 0, solved.message
    return float(solved.fun)


def dcfr_regularizer(scores: FloatArray, groups: IntArray, levels: IntArray) -> float:
    """R_DCFR = E[(P(A=1 | f, L) - P(A=1 | L))_+] by counting."""
    total = 0.0
    for level in np.unique(levels):
        inside = levels == level
        share = groups[inside].mean()
        for score in np.unique(scores[inside]):
            same = inside & (scores == score)
            total += same.mean() * max(0.0, groups[same].mean() - share)
    return total


def slopes(function: Callable[[FloatArray], float], at: FloatArray, step: float) -> FloatArray:
    """Central finite differences."""
    gradient = np.empty_like(at)
    for i in range(at.size):
        up, down = at.copy(), at.copy()
        up[i] += step
        down[i] -= step
        gradient[i] = (function(up) - function(down)) / (2.0 * step)
    return gradient


def parts(atoms: Atoms) -> tuple[FloatArray | IntArray, ...]:
    """All arrays of packed distributions, to be compared one by one."""
    return (atoms.values, atoms.mass, atoms.offsets, atoms.counts)
