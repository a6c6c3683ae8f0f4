"""Sweeps between sorted atoms: cost W_p^p and gradient of many pairs of distributions.

On the line the cheapest plan keeps the order: the lowest goes to the lowest. With quantile
functions Q_0, Q_1 the transport cost of order p is

    W_p^p = ∫_0^1 |Q_0(t) - Q_1(t)|^p dt = Σ_k m_k |u_{i_k} - v_{j_k}|^p,

where the k-th piece of mass m_k lies between two neighbouring values of the merged cumulative
masses, and i_k, j_k are the atoms that hold it. The plan is locally constant, so by the envelope
theorem the gradient falls out of the same sweep:

    ∂W_p^p / ∂u_i = Σ_{k: i_k = i} m_k p sgn(d_k) |d_k|^{p-1},   d_k = u_{i_k} - v_{j_k}.

Rows that share an atom share its gradient by mass, and sgn(0) = 0.

Reference: Santambrogio (2015), *Optimal Transport for Applied Mathematicians*, chapter 2.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from likeforlike.transport.atoms import Atoms, FloatArray, IntArray, atom_of_rows
from likeforlike.transport.compiled import compiled
from likeforlike.transport.sorting import SortedRows
from likeforlike.transport.threads import in_parts

__all__ = [
    "add_pair",
    "pair_costs",
    "pair_gradient",
    "pair_sizes",
    "row_gradient",
    "row_slopes",
]


@compiled
def _power(distance: float, order: float) -> float:
    """distance^order, without `pow` for the orders everybody uses."""
    if order == 1.0:
        return distance
    if order == 2.0:
        return distance * distance
    return float(distance**order)


@compiled
def _slope(difference: float, order: float) -> float:
    """d/dx |x|^order at x = difference, with 0 at 0."""
    if difference == 0.0:
        return 0.0
    if order == 2.0:
        return 2.0 * difference
    return float(np.sign(difference) * order * abs(difference) ** (order - 1.0))


# A sweep compares cumulative masses scaled by the other side's total, c_i * total_v
# against c_j * total_u: whole numbers stay whole numbers, so equal shares meet exactly and no
# splinter of mass is invented by a division.


@compiled
def _sweep(
    u: FloatArray,
    a: FloatArray,
    total_u: float,
    v: FloatArray,
    b: FloatArray,
    total_v: float,
    order: float,
    weight: float,
    grad_u: FloatArray,
    grad_v: FloatArray,
) -> float:
    """W_p^p between sorted atoms u with mass a and v with mass b, whose sums are given; adds
    weight * ∂W_p^p to the gradients unless they are empty.
    """
    scale = 1.0 / (total_u * total_v)
    i, j = 0, 0
    reached, cost = 0.0, 0.0
    sum_u, sum_v = a[0], b[0]
    while i < u.size and j < v.size:
        end_u, end_v = sum_u * total_v, sum_v * total_u
        end = min(end_u, end_v)
        moved = end - reached
        cost += moved * _power(abs(u[i] - v[j]), order)
        if grad_u.size:
            step = moved * scale * weight * _slope(u[i] - v[j], order)
            grad_u[i] += step
            grad_v[j] -= step
        reached = end
        if end_u <= end_v:
            i += 1
            if i < u.size:
                sum_u += a[i]
        if end_v <= end_u:
            j += 1
            if j < v.size:
                sum_v += b[j]
    return cost * scale


@compiled
def add_pair(
    atoms: FloatArray,
    mass: FloatArray,
    offsets: IntArray,
    totals: FloatArray,
    left: int,
    right: int,
    order: float,
    weight: float,
    slopes: FloatArray,
) -> float:
    """W_p^p between two segments; adds weight * ∂W_p^p to the slopes of their atoms, unless those
    are empty.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.pairs import add_pair
    >>> slopes = np.zeros(2)
    >>> offsets, ones = np.arange(3), np.ones(2)
    >>> add_pair(np.array([0.0, 3.0]), ones, offsets, ones, 0, 1, 2.0, 1.0, slopes), slopes
    (9.0, array([-6.,  6.]))
    """
    u0, u1 = offsets[left], offsets[left + 1]
    v0, v1 = offsets[right], offsets[right + 1]
    return _sweep(
        atoms[u0:u1],
        mass[u0:u1],
        totals[left],
        atoms[v0:v1],
        mass[v0:v1],
        totals[right],
        order,
        weight,
        slopes[u0:u1] if slopes.size else slopes,
        slopes[v0:v1] if slopes.size else slopes,
    )


@compiled
def _pair_costs(
    values: FloatArray,
    mass: FloatArray,
    offsets: IntArray,
    totals: FloatArray,
    left: IntArray,
    right: IntArray,
    order: float,
    costs: FloatArray,
    first: int,
    last: int,
) -> None:
    none = np.empty(0)
    for k in range(first, last):
        costs[k] = add_pair(values, mass, offsets, totals, left[k], right[k], order, 0.0, none)


@compiled
def _pair_gradient(
    values: FloatArray,
    mass: FloatArray,
    offsets: IntArray,
    totals: FloatArray,
    left: IntArray,
    right: IntArray,
    weight: FloatArray,
    order: float,
) -> FloatArray:
    gradient = np.zeros(values.size)
    for k in range(left.size):
        add_pair(values, mass, offsets, totals, left[k], right[k], order, weight[k], gradient)
    return gradient


def pair_costs(atoms: Atoms, left: IntArray, right: IntArray, order: float) -> FloatArray:
    """W_p^p between segment `left[k]` and segment `right[k]`, for every k.

    One sweep a pair: O(size of left + size of right). All K x K pairs of n rows cost O(K n).

    Parameters
    ----------
    atoms : packed distributions; the segments named must not be empty.
    left, right : (k,) integers, segments.
    order : p >= 1.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import Atoms
    >>> from likeforlike.transport.pairs import pair_costs
    >>> atoms = Atoms(np.array([0.0, 3.0]), np.ones(2), np.ones(2, np.int64), np.arange(3))
    >>> pair_costs(atoms, np.array([0]), np.array([1]), 2.0)
    array([9.])
    """
    costs = np.empty(left.size)
    # Columns of a table have strides of their own, for which the kernel would be compiled again.
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    sweeps = partial(_pair_costs, *atoms.line, atoms.totals, left, right, float(order), costs)
    in_parts(sweeps, pair_sizes(atoms, left, right))
    return costs


def pair_sizes(atoms: Atoms, left: IntArray, right: IntArray) -> IntArray:
    """How many atoms a sweep of each pair of segments passes, shape (k,).

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import Atoms
    >>> from likeforlike.transport.pairs import pair_sizes
    >>> atoms = Atoms(np.zeros(3), np.ones(3), np.ones(3, np.int64), np.array([0, 1, 3]))
    >>> pair_sizes(atoms, np.array([0]), np.array([1]))
    array([3])
    """
    sizes = np.diff(atoms.offsets)
    return sizes[left] + sizes[right]


def pair_gradient(
    atoms: Atoms, left: IntArray, right: IntArray, weight: FloatArray, order: float
) -> FloatArray:
    """Gradient of Σ_k weight[k] W_p^p(left[k], right[k]) with respect to every atom's value.

    Parameters
    ----------
    atoms : packed distributions with m atoms.
    left, right : (k,) integers, segments; none of them empty.
    weight : (k,) floats.
    order : p >= 1.

    Returns
    -------
    (m,) floats; an atom in no pair has gradient 0.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import Atoms
    >>> from likeforlike.transport.pairs import pair_gradient
    >>> atoms = Atoms(np.array([0.0, 3.0]), np.ones(2), np.ones(2, np.int64), np.arange(3))
    >>> pair_gradient(atoms, np.array([0]), np.array([1]), np.ones(1), 2.0)
    array([-6.,  6.])
    """
    return _pair_gradient(*atoms.line, atoms.totals, left, right, weight, float(order))


@compiled
def row_slopes(
    slopes: FloatArray,
    atom_mass: FloatArray,
    atom_of: IntArray,
    rows: IntArray,
    mass: FloatArray,
    gradient: FloatArray,
) -> None:
    """Hand the slope of each atom to its rows in proportion to their mass.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.pairs import row_slopes
    >>> gradient = np.empty(2)
    >>> zeros, rows = np.zeros(2, int), np.arange(2)
    >>> row_slopes(np.array([1.0]), np.array([2.0]), zeros, rows, np.empty(0), gradient)
    >>> gradient
    array([0.5, 0.5])
    """
    for i in range(rows.size):
        row, atom = rows[i], atom_of[i]
        own = mass[row] if mass.size else 1.0
        gradient[row] = slopes[atom] * own / atom_mass[atom] if own > 0.0 else 0.0


def row_gradient(
    gradient: FloatArray, atoms: Atoms, ordered: SortedRows, mass: FloatArray | None = None
) -> FloatArray:
    """Hand the gradient of each atom to its rows, in proportion to their mass.

    Parameters
    ----------
    gradient : (m,) floats, one for each atom.
    atoms : made of the rows by `atoms_of_rows`.
    ordered : the n sorted rows.
    mass : (n,) floats in the original order, or `None` for one each.

    Returns
    -------
    (n,) floats in the original row order.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.atoms import atoms_of_rows
    >>> from likeforlike.transport.sorting import sort_rows
    >>> from likeforlike.transport.pairs import row_gradient
    >>> ordered = sort_rows(np.array([5.0, 5.0]), np.array([0, 0]), 1)
    >>> row_gradient(np.array([1.0]), atoms_of_rows(ordered), ordered)
    array([0.5, 0.5])
    """
    own = np.empty(0) if mass is None else mass
    by_row = np.empty(ordered.rows.size)
    row_slopes(gradient, atoms.mass, atom_of_rows(ordered), ordered.rows, own, by_row)
    return by_row
