"""Rows of one model, sorted into atoms inside a kernel: what stacked penalties start from.

`atoms` sorts one large table at a time from Python. A stack of models needs the same for each of
them, thousands of times a second, so here the steps are put together inside a kernel.
"""

from __future__ import annotations

import numpy as np

from likeforlike.transport.atoms import FloatArray, IntArray, atom_offsets, number_atoms
from likeforlike.transport.compiled import compiled
from likeforlike.transport.sorting import deal, sort_small

__all__ = ["sorted_atoms"]


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
    deal(values, segments, offsets, dealt, rows)
    sort_small(dealt.view(np.uint64), rows, offsets, values.size + 1, 0, n_segments)
    begins = atom_offsets(dealt, offsets)
    atom_of = np.empty(values.size, np.int64)
    number_atoms(dealt, offsets, atom_of)
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
