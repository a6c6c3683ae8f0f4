"""What all resampling shares: how it is cut into blocks, and what cannot be resampled."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from likeforlike.disparity._contrasts import Contrast
from likeforlike.errors import InputError

Progress = Callable[[int], None]
"""Called with the number of replicates done since the last call."""

# A block of replicates should take well under a second, so that an interrupt is obeyed at once.
_ATOMS_A_BLOCK = 2_000_000
_LARGEST_BLOCK = 32


def block_size(n_atoms: int) -> int:
    """How many replicates make a block; depends on the data only, never on the machine."""
    return max(1, min(_LARGEST_BLOCK, _ATOMS_A_BLOCK // n_atoms))


def refuse_weighted_counts(contrast: Contrast) -> None:
    """Raise for histograms with weights, which do not say which row has which weight."""
    atoms = contrast.cells.atoms
    if not contrast.cells.weighted and not np.array_equal(atoms.mass, atoms.counts):
        raise InputError(
            "weighted counts do not say which row has which weight, so they cannot be resampled; "
            "use rows (no resolution) or no weights."
        )
