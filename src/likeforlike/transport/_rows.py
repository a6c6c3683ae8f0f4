"""Rows of one model, sorted into atoms inside a kernel: what stacked penalties start from.

`atoms` sorts one large table at a time from Python. A stack of models needs the same for each of
them, thousands of times a second, so here the steps are put together inside a kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.transport._atoms import Packed
from likeforlike.transport._compiled import compiled
from likeforlike.transport._sorting import deal, sort_small


class Stack(NamedTuple):
    """Rows of m models as kernels take them, and the places of what they find.

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
def of_model(constants: FloatArray, k: int) -> float:
    """What model k has of constants (m,), or (1,) where all have the same. A kernel."""
    return float(constants[min(k, constants.size - 1)])


@compiled
def mass_of(stack: Stack, k: int) -> FloatArray:
    """Mass of the rows of model k, empty if they all count one. A kernel."""
    return stack.mass[min(k, stack.mass.shape[0] - 1)] if stack.mass.size else np.empty(0)


@compiled
def sorted_atoms(stack: Stack, k: int) -> tuple[Packed, IntArray, IntArray]:
    """Atoms of model k, its rows in their order, and the atom of each of these. A kernel."""
    values, mass = stack.scores[k], mass_of(stack, k)
    segments = stack.segments[min(k, stack.segments.shape[0] - 1)]
    n_segments = stack.n_levels * stack.n_groups
    offsets = np.zeros(n_segments + 1, np.int64)
    for segment in segments:
        offsets[segment + 1] += 1
    for s in range(n_segments):
        offsets[s + 1] += offsets[s]
    grouped = np.empty(values.size)
    rows = np.empty(values.size, np.int64)
    deal(values, segments, offsets, grouped, rows)
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
    return Packed(atoms, atom_mass, begins, totals), rows, atom_of
