"""Mass of whole groups, from the mass of their cells: kernels that the penalties share."""

from __future__ import annotations

import math

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.transport._compiled import compiled


@compiled
def moderate_mass(mass: FloatArray) -> FloatArray:
    """Mass of groups in moderate units, so that products of two can be held. A kernel."""
    most = 0.0
    for part in mass:
        most = max(most, part)
    if most == 0.0 or 1e-100 < most < 1e100:
        return mass
    moderated = np.empty(mass.size)
    # A factor of more than two to the power of a thousand could not be held.
    exponent = max(math.frexp(most)[1], -1000)
    for group in range(mass.size):
        moderated[group] = math.ldexp(mass[group], -exponent)
    return moderated


@compiled
def group_mass(cells: FloatArray, n_groups: int) -> FloatArray:
    """Mass of each group over all levels, shape (G,). A kernel."""
    mass = np.zeros(n_groups)
    for cell in range(cells.size):
        mass[cell % n_groups] += cells[cell]
    return mass


@compiled
def pair_mass(mass: FloatArray) -> float:
    """Σ_{a<b} m_a m_b: what the shares of pairs of groups are taken of. A kernel."""
    whole, pairs = 0.0, 0.0
    for part in mass:
        pairs += whole * part
        whole += part
    return pairs
