"""Entropic transport: regularized plans, their cost, and its gradient.

    γ = argmin ⟨γ, M⟩ + reg Σ γ log γ,   V = ⟨γ, M⟩,

over plans γ with given marginals. V is what POT's `sinkhorn2` returns: the transport cost of the
regularized plan, without the entropy and not debiased. It is larger than the exact cost, also
between equal distributions, and falls to it with `reg`.

The plan has the form γ_ij = exp((f_i + g_j - M_ij) / reg). Sinkhorn sweeps scale rows and columns
to their marginals in turn; Newton steps on both at once end what sweeps would take hundreds of
passes for (Brauer et al., 2017). The search starts at the potentials of the *exact* problem, which
sorting gives on the line and the prices of the flow between levels: f_i + g_j <= M_ij, with
equality along the exact plan. So every row and column of the first kernel has an entry of 1, and
every `reg` works.

V has no envelope gradient, since the plan does not minimize it. Differentiating the marginal
constraints gives what automatic differentiation through the sweeps converges to:

    ∂V / ∂M_ij = γ_ij [1 + (α_i + β_j - M_ij) / reg],

where (α, β) solves  Σ_j γ_ij (α_i + β_j) = Σ_j γ_ij M_ij,  Σ_i γ_ij (α_i + β_j) = Σ_i γ_ij M_ij.
Newton's step solves the same equations with another right-hand side.

References: Cuturi (2013), *Sinkhorn distances*; Brauer, Clason, Lorenz and Wirth (2017), *A
Sinkhorn-Newton method for entropic optimal transport*.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport._atoms import Atoms, PackedAtoms
from likeforlike.transport._flow import solve_flow
from likeforlike.transport._jit import compiled
from likeforlike.transport._sweeps import pair_sizes, power, slope
from likeforlike.transport._threads import run_in_threads

# Σ |row sums - marginal| at which a plan counts as found.
_TOLERANCE = 1e-12
# ... and above which it has not been found after all rounds.
_FAILED = 1e-7
# A plan is recomputed from its potentials when they have changed by this much, in units of reg.
_FAR = 30.0
# Rounds of sweeps or of a Newton step, and sweeps in a round of sweeps.
_ROUNDS, _SWEEPS = 1000, 8


@compiled
def _dot(left: FloatArray, right: FloatArray) -> float:
    """Compute an inner product in four running sums, which processors add in parallel."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = left.size - left.size % 4
    for i in range(0, whole, 4):
        a += left[i] * right[i]
        b += left[i + 1] * right[i + 1]
        c += left[i + 2] * right[i + 2]
        d += left[i + 3] * right[i + 3]
    for i in range(whole, left.size):
        a += left[i] * right[i]
    return float((a + b) + (c + d))


@compiled
def _largest(values: FloatArray) -> float:
    """Find max |value|."""
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    return float(largest)


@compiled
def _apply(
    plan: FloatArray,
    rows: FloatArray,
    columns: FloatArray,
    direction: FloatArray,
    image: FloatArray,
) -> None:
    """Fill in image = (diag(columns) - γ' diag(1/rows) γ) direction."""
    for j in range(columns.size):
        image[j] = columns[j] * direction[j]
    for i in range(rows.size):
        share = _dot(plan[i], direction) / rows[i]
        for j in range(columns.size):
            image[j] -= share * plan[i, j]


@compiled
def _eliminate_rows(
    plan: FloatArray,
    rows: FloatArray,
    wanted_rows: FloatArray,
    wanted_columns: FloatArray,
    residual: FloatArray,
) -> None:
    """Fill in residual = wanted columns - γ' (wanted rows / rows)."""
    for j in range(residual.size):
        residual[j] = wanted_columns[j]
    for i in range(rows.size):
        share = wanted_rows[i] / rows[i]
        for j in range(residual.size):
            residual[j] -= plan[i, j] * share


@compiled
def _solve_marginals(
    plan: FloatArray,
    rows: FloatArray,
    columns: FloatArray,
    wanted_rows: FloatArray,
    wanted_columns: FloatArray,
    accuracy: float,
    alpha: FloatArray,
    beta: FloatArray,
) -> None:
    """Solve Σ_j γ_ij (α_i + β_j) = wanted row i and the same for columns, up to a constant.

    Conjugate gradients on the Schur complement of β, preconditioned by `columns`; `rows` and
    `columns` are the marginals of the plan.
    """
    m = columns.size
    residual, direction, image = np.empty(m), np.zeros(m), np.empty(m)
    _eliminate_rows(plan, rows, wanted_rows, wanted_columns, residual)
    for j in range(m):
        beta[j] = 0.0
    size, enough = 0.0, np.inf
    for step_number in range(2 * m + 10):
        before, size = size, 0.0
        for j in range(m):
            size += residual[j] * residual[j] / columns[j]
        if step_number == 0:
            before, enough = np.inf, max(accuracy * accuracy * size, 1e-31)
        if size <= enough:
            break
        for j in range(m):
            direction[j] = residual[j] / columns[j] + size / before * direction[j]
        _apply(plan, rows, columns, direction, image)
        curvature = _dot(direction, image)
        if curvature <= 0.0:  # nothing but rounding is left
            break
        step = size / curvature
        for j in range(m):
            beta[j] += step * direction[j]
            residual[j] -= step * image[j]
    for i in range(rows.size):
        alpha[i] = (wanted_rows[i] - _dot(plan[i], beta)) / rows[i]


@compiled
def _rescale(
    plan: FloatArray, x: FloatArray, y: FloatArray, f: FloatArray, g: FloatArray, reg: float
) -> float:
    """Scale rows of the plan by x and columns by y; return the largest change of potentials."""
    farthest = 0.0
    for j in range(y.size):
        step = np.log(y[j])
        g[j] += reg * step
        farthest = max(farthest, abs(step))
    for i in range(x.size):
        step = np.log(x[i])
        f[i] += reg * step
        farthest = max(farthest, abs(step))
        for j in range(y.size):
            plan[i, j] *= x[i] * y[j]
    return farthest


@compiled
def _sweep(
    plan: FloatArray,
    source: FloatArray,
    target: FloatArray,
    f: FloatArray,
    g: FloatArray,
    reg: float,
    times: int,
) -> float:
    """Scale rows to the source and then columns to the target, a number of times."""
    x, y, sums = np.empty(source.size), np.empty(target.size), np.empty(target.size)
    for j in range(target.size):
        y[j] = 1.0
    for _ in range(times):
        for j in range(target.size):
            sums[j] = 0.0
        for i in range(source.size):
            x[i] = source[i] / _dot(plan[i], y)
            for j in range(target.size):
                sums[j] += plan[i, j] * x[i]
        for j in range(target.size):
            y[j] = target[j] / sums[j]
    return _rescale(plan, x, y, f, g, reg)


@compiled
def _newton_step(
    plan: FloatArray,
    rows: FloatArray,
    source: FloatArray,
    target: FloatArray,
    f: FloatArray,
    g: FloatArray,
    reg: float,
    accuracy: float,
) -> float:
    """Take Newton's step of the potentials, shortened to `reg` where it is longer."""
    lacking, none = np.empty(f.size), np.zeros(g.size)
    by_row, by_column = np.empty(f.size), np.empty(g.size)
    for i in range(f.size):
        lacking[i] = source[i] - rows[i]
    _solve_marginals(plan, rows, target, lacking, none, accuracy, by_row, by_column)
    longest = max(1.0, _largest(by_row), _largest(by_column))
    for i in range(f.size):
        by_row[i] = np.exp(by_row[i] / longest)
    for j in range(g.size):
        by_column[j] = np.exp(by_column[j] / longest)
    return _rescale(plan, by_row, by_column, f, g, reg)


@compiled
def _row_sums(plan: FloatArray, source: FloatArray, rows: FloatArray) -> float:
    """Fill in the row sums; return their distance from the source."""
    error = 0.0
    for i in range(source.size):
        rows[i] = 0.0
        for j in range(plan.shape[1]):
            rows[i] += plan[i, j]
        error += abs(rows[i] - source[i])
    return float(error)


@compiled
def _regularize(
    cost: FloatArray,
    source: FloatArray,
    target: FloatArray,
    f: FloatArray,
    g: FloatArray,
    reg: float,
) -> FloatArray:
    """Find the entropic plan between two distributions from initial potentials; nan if not found.

    f_i + g_j must not exceed the cost, and must equal it somewhere in every row and column.
    """
    plan, rows = np.empty(cost.shape), np.empty(source.size)
    last, newton, traveled = np.inf, False, np.inf
    for _ in range(_ROUNDS):
        if traveled > _FAR:  # entries that underflowed may not do so any more
            for i in range(source.size):
                for j in range(target.size):
                    plan[i, j] = np.exp((f[i] + g[j] - cost[i, j]) / reg)
            traveled = 0.0
        traveled += _sweep(plan, source, target, f, g, reg, 1 if newton else _SWEEPS)
        error = _row_sums(plan, source, rows)
        if error <= _TOLERANCE or not error < np.inf:
            return plan
        # A Newton step that does not halve the error came too early: sweep on.
        newton = error < 0.1 and not (newton and error > 0.5 * last)
        last = error
        if newton:
            accuracy = 1e-3 if error > 1e-5 else 1e-8
            traveled += _newton_step(plan, rows, source, target, f, g, reg, accuracy)
    if not last <= _FAILED:
        for i in range(source.size):
            for j in range(target.size):
                plan[i, j] = np.nan
    return plan


@compiled
def _differentiate(cost: FloatArray, plan: FloatArray, reg: float) -> float:
    """Return V = ⟨γ, M⟩, and overwrite the plan by ∂V / ∂M."""
    n, m = cost.shape
    rows, columns = np.zeros(n), np.zeros(m)
    paid_by_row, paid_by_column = np.zeros(n), np.zeros(m)
    for i in range(n):
        for j in range(m):
            paid = plan[i, j] * cost[i, j]
            rows[i] += plan[i, j]
            columns[j] += plan[i, j]
            paid_by_row[i] += paid
            paid_by_column[j] += paid
    alpha, beta, value = np.empty(n), np.empty(m), 0.0
    _solve_marginals(plan, rows, columns, paid_by_row, paid_by_column, 1e-10, alpha, beta)
    for i in range(n):
        value += paid_by_row[i]
        for j in range(m):
            plan[i, j] *= 1.0 + (alpha[i] + beta[j] - cost[i, j]) / reg
    return float(value)


@compiled
def _atoms_with_mass(packed: PackedAtoms, segment: int) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the atoms of a segment that have mass, their values, and their shares of its mass."""
    begin, end = packed.offsets[segment], packed.offsets[segment + 1]
    atoms, found = np.empty(end - begin, np.int64), 0
    for atom in range(begin, end):
        if packed.mass[atom] > 0.0:
            atoms[found] = atom
            found += 1
    values, shares = np.empty(found), np.empty(found)
    for k in range(found):
        values[k] = packed.values[atoms[k]]
        shares[k] = packed.mass[atoms[k]] / packed.totals[segment]
    return atoms, values, shares


@compiled
def _start_on_the_line(
    cost: FloatArray, source: FloatArray, target: FloatArray, f: FloatArray, g: FloatArray
) -> None:
    """Fill in the potentials of the exact problem: M_ij = f_i + g_j along its plan."""
    i, j, last_i, last_j = 0, 0, f.size - 1, g.size - 1
    reached_i, reached_j = source[0], target[0]
    f[0], g[0] = 0.0, cost[0, 0]
    while i < last_i or j < last_j:
        if j == last_j or (i < last_i and reached_i <= reached_j):
            i += 1
            reached_i += source[i]
            f[i] = cost[i, j] - g[j]
        else:
            j += 1
            reached_j += target[j]
            g[j] = cost[i, j] - f[i]


@compiled
def entropic_pair(
    packed: PackedAtoms,
    left: int,
    right: int,
    order: float,
    reg: float,
    weight: float,
    slopes_left: FloatArray,
    slopes_right: FloatArray,
) -> float:
    """Return V of two segments of sorted atoms; add weight * ∂V to slopes, unless empty. A kernel.

    Slopes of the left and of the right atoms may be the same array.
    """
    atoms_left, u, source = _atoms_with_mass(packed, left)
    atoms_right, v, target = _atoms_with_mass(packed, right)
    cost = np.empty((u.size, v.size))
    for i in range(u.size):
        for j in range(v.size):
            cost[i, j] = power(abs(u[i] - v[j]), order)
    f, g = np.empty(u.size), np.empty(v.size)
    _start_on_the_line(cost, source, target, f, g)
    plan = _regularize(cost, source, target, f, g, reg)
    if not slopes_left.size:
        paid = 0.0
        for i in range(u.size):
            paid += _dot(plan[i], cost[i])
        return paid
    value = _differentiate(cost, plan, reg)
    for i in range(u.size):
        for j in range(v.size):
            change = weight * plan[i, j] * slope(u[i] - v[j], order)
            slopes_left[atoms_left[i]] += change
            slopes_right[atoms_right[j]] -= change
    return value


@compiled
def entropic_flow(
    supply: FloatArray, demand: FloatArray, cost: FloatArray, reg: float, slopes: FloatArray
) -> FloatArray:
    """Find the entropic plan (K, M) between positive amounts that sum to one. A kernel.

    `slopes` (K, M) are filled in with ∂V / ∂cost, unless they are empty.
    """
    prices = solve_flow(supply, demand, cost)[1]
    f, g = prices[: supply.size], prices[supply.size :]
    for i in range(supply.size):
        f[i] = -f[i]
    plan = _regularize(cost, supply, demand, f, g, reg)
    if slopes.size:
        for i in range(supply.size):
            for j in range(demand.size):
                slopes[i, j] = plan[i, j]
        _differentiate(cost, slopes, reg)
    return plan


@compiled
def _entropic_costs(
    packed: PackedAtoms,
    left: IntArray,
    right: IntArray,
    order: float,
    reg: float,
    costs: FloatArray,
    first: int,
    last: int,
) -> None:
    none = np.empty(0)
    for k in range(first, last):
        costs[k] = entropic_pair(packed, left[k], right[k], order, reg, 0.0, none, none)


def entropic_costs(
    atoms: Atoms, left: IntArray, right: IntArray, order: float, reg: float
) -> FloatArray:
    """Compute V between segment `left[k]` and segment `right[k]`, for every k."""
    costs = np.empty(left.size)
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    work = partial(_entropic_costs, atoms.packed, left, right, float(order), float(reg), costs)
    run_in_threads(work, pair_sizes(atoms, left, right) ** 2)
    if np.isnan(costs).any():
        raise ArithmeticError(f"An entropic plan was not found; reg={reg:g} may be too small.")
    return costs
