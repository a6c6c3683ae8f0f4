"""Rows of one model, sorted into atoms inside a kernel: what stacked penalties start from.

`atoms` sorts one large table at a time from Python. A stack of models needs the same for each of
them, thousands of times a second, so here the steps are put together inside a kernel.
"""

from __future__ import annotations

import numpy as np

from likeforlike.transport.atoms import (
    FloatArray,
    IntArray,
    _atom_of_rows,
    _atom_offsets,
    _deal,
    _sort_small,
)
from likeforlike.transport.compiled import compiled
from likeforlike.transport.pairs import _sweep

__all__ = ["add_pair", "row_slopes", "sorted_atoms"]


@compiled
def sorted_atoms(
    values: FloatArray, segments: IntArray, mass: FloatArray, n_segments: int
) -> tuple[FloatArray, FloatArray, IntArray, FloatArray, IntArray, IntArray]:
    """Sort rows into atoms.

    Parameters
    ----------
    values : (n,) finite floats.
    segments : (n,) integers in [0, n_segments).
    mass : (n,) floats >= 0, or empty for one each.

    Returns
    -------
    values, mass of the m atoms; offsets (S + 1,) and total mass (S,) of the segments; the original
    row and the atom of each sorted position.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.transport.rows import sorted_atoms
    >>> atoms, mass, *_ = sorted_atoms(np.array([2.0, 1.0, 2.0]), np.zeros(3, int), np.empty(0), 1)
    >>> atoms, mass
    (array([1., 2.]), array([1., 2.]))
    """
    offsets = np.zeros(n_segments + 1, np.int64)
    for segment in segments:
        offsets[segment + 1] += 1
    for s in range(n_segments):
        offsets[s + 1] += offsets[s]
    dealt = np.empty(values.size)
    rows = np.empty(values.size, np.int64)
    _deal(values, segments, offsets, dealt, rows)
    _sort_small(dealt.view(np.uint64), rows, offsets, values.size + 1, 0, n_segments)
    begins = _atom_offsets(dealt, offsets)
    atom_of = np.empty(values.size, np.int64)
    _atom_of_rows(dealt, offsets, atom_of)
    atoms = np.empty(begins[n_segments])
    atom_mass = np.zeros(atoms.size)
    for i in range(rows.size):
        atoms[atom_of[i]] = dealt[i]
        atom_mass[atom_of[i]] += mass[rows[i]] if mass.size else 1.0
    totals = np.zeros(n_segments)
    for s in range(n_segments):
        for i in range(begins[s], begins[s + 1]):
            totals[s] += atom_mass[i]
    return atoms, atom_mass, begins, totals, rows, atom_of


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
    >>> from likeforlike.transport.rows import add_pair
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
    >>> from likeforlike.transport.rows import row_slopes
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
