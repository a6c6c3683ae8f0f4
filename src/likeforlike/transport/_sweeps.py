"""Sweeps between sorted atoms: cost W_p^p and gradient of many pairs of distributions.

On the line the cheapest plan keeps the order: the lowest goes to the lowest. With quantile
functions Q_0, Q_1 the transport cost of order p is

    W_p^p = ∫_0^1 |Q_0(t) - Q_1(t)|^p dt = Σ_k m_k |u_{i_k} - v_{j_k}|^p,

where the k-th piece of mass m_k lies between two neighboring values of the merged cumulative
masses, and i_k, j_k are the atoms that hold it. The plan is locally constant, so by the envelope
theorem the gradient falls out of the same sweep:

    ∂W_p^p / ∂u_i = Σ_{k: i_k = i} m_k p sgn(d_k) |d_k|^{p-1},   d_k = u_{i_k} - v_{j_k}.

Rows that share an atom share its gradient by mass, and sgn(0) = 0.

`_atoms` sorts one large table at a time from Python. Penalties evaluate a `Stack` of models,
thousands of times per second, so `sort_atoms` does the same for one of them inside a kernel.

Reference: Santambrogio (2015), *Optimal Transport for Applied Mathematicians*, chapter 2.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray, plain
from likeforlike.transport._atoms import Atoms, PackedAtoms, SortedRows, atom_codes, balance_totals
from likeforlike.transport._jit import compiled
from likeforlike.transport._sorting import partition_rows, sort_small
from likeforlike.transport._threads import run_in_threads

# Products of the sizes of two groups of this many rows are exact as floats.
_EXACT_ROWS = 1 << 27
# Costs outside of this and its reciprocal may have lost digits to underflow or overflow.
_LEAST_COST = 1e-250


@compiled
def power(distance: float, order: float) -> float:
    """Compute distance^order, without `pow` for the usual orders. A kernel."""
    if order == 1.0:
        return distance
    if order == 2.0:
        return distance * distance
    return float(distance**order)


@compiled
def slope(difference: float, order: float) -> float:
    """Compute d/dx |x|^order at x = difference, with 0 at 0. A kernel."""
    if difference == 0.0:
        return 0.0
    if order == 2.0:
        return 2.0 * difference
    return float(np.sign(difference) * order * abs(difference) ** (order - 1.0))


# A sweep compares cumulative masses scaled by the other side's total, c_i * total_v
# against c_j * total_u: whole numbers stay whole numbers, so equal shares meet exactly and no
# splinter of mass arises from a division.


@compiled
def _mass_or_zero(mass: FloatArray, at: int) -> float:
    """Return the mass of an atom, 0 behind the last."""
    return float(mass[at]) if at < mass.size else 0.0


@compiled
def add_pair(
    packed: PackedAtoms, left: int, right: int, order: float, weight: float, slopes: FloatArray
) -> float:
    """Return W_p^p of two segments; add weight * ∂W_p^p to `slopes`, unless empty. A kernel."""
    of_left = slice(packed.offsets[left], packed.offsets[left + 1])
    of_right = slice(packed.offsets[right], packed.offsets[right + 1])
    u, a, total_u = packed.values[of_left], packed.mass[of_left], packed.totals[left]
    v, b, total_v = packed.values[of_right], packed.mass[of_right], packed.totals[right]
    slope_u = slopes[of_left] if slopes.size else slopes
    slope_v = slopes[of_right] if slopes.size else slopes
    times_u, times_v = balance_totals(total_u, total_v)
    scale = 1.0 / (total_u * times_v)
    i, j = 0, 0
    reached, cost = 0.0, 0.0
    sum_u, sum_v = a[0], b[0]
    while i < u.size and j < v.size:
        end_u, end_v = sum_u * times_v, sum_v * times_u
        end = min(end_u, end_v)
        moved = end - reached
        cost += moved * power(abs(u[i] - v[j]), order)
        if slopes.size:
            step = moved * scale * weight * slope(u[i] - v[j], order)
            slope_u[i] += step
            slope_v[j] -= step
        reached = end
        if end_u <= end_v:
            i += 1
            sum_u += _mass_or_zero(a, i)
        if end_v <= end_u:
            j += 1
            sum_v += _mass_or_zero(b, j)
    return float(cost * scale)


@compiled
def _pair_costs(
    packed: PackedAtoms,
    left: IntArray,
    right: IntArray,
    order: float,
    costs: FloatArray,
    first: int,
    last: int,
) -> None:
    none = np.empty(0)
    for k in range(first, last):
        costs[k] = add_pair(packed, left[k], right[k], order, 0.0, none)


@compiled
def _row_pair_costs(
    values: FloatArray,
    offsets: IntArray,
    left: IntArray,
    right: IntArray,
    order: float,
    costs: FloatArray,
    first: int,
    last: int,
) -> None:
    """Compute the same where every atom is a row: in whole numbers, without reading masses."""
    for k in range(first, last):
        u = values[offsets[left[k]] : offsets[left[k] + 1]]
        v = values[offsets[right[k]] : offsets[right[k] + 1]]
        i, j, reached, cost = 0, 0, 0, 0.0
        end_u, end_v = v.size, u.size
        while i < u.size and j < v.size:
            moves_u, moves_v = end_u <= end_v, end_v <= end_u
            end = end_u if moves_u else end_v
            cost += float(end - reached) * power(abs(u[i] - v[j]), order)
            reached = end
            i += int(moves_u)
            j += int(moves_v)
            end_u = end_u + v.size if moves_u else end_u
            end_v = end_v + u.size if moves_v else end_v
        costs[k] = cost * (1.0 / (float(u.size) * float(v.size)))


@compiled
def _relative_cost(packed: PackedAtoms, left: int, right: int, order: float, unit: float) -> float:
    """Compute W_p^p of differences divided by `unit`, or W_∞ if that is 0."""
    i, end_i = packed.offsets[left], packed.offsets[left + 1]
    j, end_j = packed.offsets[right], packed.offsets[right + 1]
    times_u, times_v = balance_totals(packed.totals[left], packed.totals[right])
    sum_u, sum_v = packed.mass[i], packed.mass[j]
    reached, cost, farthest = 0.0, 0.0, 0.0
    while i < end_i and j < end_j:
        end_u, end_v = sum_u * times_v, sum_v * times_u
        end = min(end_u, end_v)
        if end > reached:
            difference = abs(packed.values[i] - packed.values[j])
            farthest = max(farthest, difference)
            if unit > 0.0:
                cost += (end - reached) * (difference / unit) ** order
        reached = end
        if end_u <= end_v:
            i += 1
            sum_u += _mass_or_zero(packed.mass, i)
        if end_v <= end_u:
            j += 1
            sum_v += _mass_or_zero(packed.mass, j)
    return cost / (packed.totals[left] * times_v) if unit > 0.0 else farthest


@compiled
def _stable_distances(
    packed: PackedAtoms,
    left: IntArray,
    right: IntArray,
    order: float,
    distances: FloatArray,
    first: int,
    last: int,
) -> None:
    """Compute W_p as W_∞ times W_p of differences divided by W_∞, which avoids overflow."""
    for k in range(first, last):
        farthest = _relative_cost(packed, left[k], right[k], order, 0.0)
        distances[k] = farthest
        if farthest > 0.0:
            relative = _relative_cost(packed, left[k], right[k], order, farthest)
            distances[k] *= relative ** (1.0 / order)


def pair_distances(atoms: Atoms, left: IntArray, right: IntArray, order: float) -> FloatArray:
    """Compute W_p between segment `left[k]` and segment `right[k]`, also where W_p^p overflows."""
    costs = pair_costs(atoms, left, right, order)
    distances: FloatArray = costs ** (1.0 / order)
    odd = np.flatnonzero(~((costs > _LEAST_COST) & (costs < 1.0 / _LEAST_COST)))
    if odd.size:  # a cost of 0 may have underflowed, unless W_1 is 0 too
        odd = odd[pair_costs(atoms, left[odd], right[odd], 1.0) > 0.0]
    if odd.size:
        relative, left, right = np.empty(odd.size), left[odd], right[odd]
        sweeps = partial(_stable_distances, atoms.light, left, right, float(order), relative)
        run_in_threads(sweeps, pair_sizes(atoms, left, right))
        distances[odd] = relative
    return distances


def pair_costs(atoms: Atoms, left: IntArray, right: IntArray, order: float) -> FloatArray:
    """Compute W_p^p between segment `left[k]` and segment `right[k]`, for every k.

    One sweep per pair: O(size of left + size of right). All K x K pairs of n rows cost O(K n).
    """
    costs = np.empty(left.size)
    # Columns of a table have strides of their own, for which the kernel would be compiled again.
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    sizes = pair_sizes(atoms, left, right)
    if atoms.mass_kept.strides == (0,) and int(sizes.max(initial=0)) < _EXACT_ROWS:
        rows = atoms.values, atoms.offsets
        sweeps = partial(_row_pair_costs, *rows, left, right, float(order), costs)
    else:
        sweeps = partial(_pair_costs, atoms.light, left, right, float(order), costs)
    run_in_threads(sweeps, sizes)
    return costs


def pair_sizes(atoms: Atoms, left: IntArray, right: IntArray) -> IntArray:
    """Count the atoms that a sweep of each pair of segments passes, shape (k,)."""
    sizes = atoms.offsets[1:] - atoms.offsets[:-1]
    return sizes[left] + sizes[right]


@compiled
def pair_gradient(
    packed: PackedAtoms, left: IntArray, right: IntArray, weight: FloatArray, order: float
) -> FloatArray:
    """Compute the gradient of Σ_k weight[k] W_p^p(left[k], right[k]) for every atom. A kernel."""
    gradient = np.zeros(packed.values.size)
    for k in range(left.size):
        add_pair(packed, left[k], right[k], order, weight[k], gradient)
    return gradient


@compiled
def split_slopes(
    slopes: FloatArray,
    atom_mass: FloatArray,
    atom_of: IntArray,
    rows: IntArray,
    mass: FloatArray,
    gradient: FloatArray,
) -> None:
    """Split the slope of each atom among its rows in proportion to their mass. A kernel."""
    for i in range(rows.size):
        row, atom = rows[i], atom_of[i]
        weight = mass[row] if mass.size else 1.0
        gradient[row] = slopes[atom] * weight / atom_mass[atom] if weight > 0.0 else 0.0


def row_gradient(
    gradient: FloatArray, atoms: Atoms, ordered: SortedRows, mass: FloatArray | None = None
) -> FloatArray:
    """Split the gradient of each atom among its rows in proportion to their mass."""
    weight = np.empty(0) if mass is None else mass
    by_row = np.empty(ordered.rows.size)
    each = atoms.values.size == by_row.size  # is an atom of its own
    atom_of = np.arange(by_row.size) if each else atom_codes(ordered)
    split_slopes(gradient, plain(atoms.mass), atom_of, ordered.rows, weight, by_row)
    return by_row


class Stack(NamedTuple):
    """Rows of m models as kernels take them, with room for their results.

    Attributes
    ----------
    scores : (m, n) floats.
    segments : (m, n) integers, level * G + group, or (1, n) if all models see the same rows.
    mass : (m, n) or (1, n) floats; (0, 0) where every row counts one.
    n_levels, n_groups : K and G.
    values, gradients : (m,) and (m, n) floats, to be filled in.
    """

    scores: FloatArray
    segments: IntArray
    mass: FloatArray
    n_levels: int
    n_groups: int
    values: FloatArray
    gradients: FloatArray


@compiled
def model_constant(constants: FloatArray, k: int) -> float:
    """Return the constant of model k, from (m,) or from (1,) for all. A kernel."""
    return float(constants[min(k, constants.size - 1)])


@compiled
def model_mass(stack: Stack, k: int) -> FloatArray:
    """Return the mass of the rows of model k, empty if they all count one. A kernel."""
    return stack.mass[min(k, stack.mass.shape[0] - 1)] if stack.mass.size else np.empty(0)


@compiled
def sort_atoms(stack: Stack, k: int) -> tuple[PackedAtoms, IntArray, IntArray]:
    """Return atoms of model k, its rows in their order, and the atom of each row. A kernel."""
    values, mass = stack.scores[k], model_mass(stack, k)
    segments = stack.segments[min(k, stack.segments.shape[0] - 1)]
    n_segments = stack.n_levels * stack.n_groups
    offsets = np.zeros(n_segments + 1, np.int64)
    for segment in segments:
        offsets[segment + 1] += 1
    for s in range(n_segments):
        offsets[s + 1] += offsets[s]
    grouped = np.empty(values.size)
    rows = np.empty(values.size, np.int64)
    partition_rows(values, segments, offsets, grouped, rows)
    sort_small(grouped.view(np.uint64), rows, offsets, values.size + 1, 0, n_segments)
    begins = np.zeros(n_segments + 1, np.int64)
    atom_of = np.empty(values.size, np.int64)
    last = -1
    for s in range(n_segments):
        for i in range(offsets[s], offsets[s + 1]):
            last += int(i == offsets[s] or grouped[i] != grouped[i - 1])
            atom_of[i] = last
        begins[s + 1] = last + 1
    atoms = np.empty(begins[n_segments])
    atom_mass = np.zeros(atoms.size)
    for i in range(rows.size):
        atoms[atom_of[i]] = grouped[i]
        atom_mass[atom_of[i]] += mass[rows[i]] if mass.size else 1.0
    totals = np.zeros(n_segments)
    for s in range(n_segments):
        for i in range(begins[s], begins[s + 1]):
            totals[s] += atom_mass[i]
    return PackedAtoms(atoms, atom_mass, begins, totals), rows, atom_of
