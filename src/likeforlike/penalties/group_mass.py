"""Mass of whole groups, from the mass of their cells: kernels that the penalties share."""

from __future__ import annotations

import numpy as np

from likeforlike.transport.atoms import FloatArray
from likeforlike.transport.compiled import compiled

__all__ = ["group_mass", "pair_mass"]


@compiled
def group_mass(cells: FloatArray, n_groups: int) -> FloatArray:
    """Mass of each group over all levels, shape (G,). A kernel.

    Parameters
    ----------
    cells : (K G,) floats, the mass of each cell, level after level.
    n_groups : G.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.penalties.group_mass import group_mass
    >>> group_mass(np.array([1.0, 2.0, 3.0, 4.0]), 2)
    array([4., 6.])
    """
    mass = np.zeros(n_groups)
    for cell in range(cells.size):
        mass[cell % n_groups] += cells[cell]
    return mass


@compiled
def pair_mass(mass: FloatArray) -> float:
    """Σ_{a<b} m_a m_b: what the shares of pairs of groups are taken of. A kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.penalties.group_mass import pair_mass
    >>> pair_mass(np.array([1.0, 2.0, 3.0]))
    11.0
    """
    whole, pairs = 0.0, 0.0
    for part in mass:
        pairs += whole * part
        whole += part
    return pairs
