"""What all resampling shares: how it is cut into blocks, and what counts as equal."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int], None]
"""Called with the number of replicates done since the last call."""

ROUNDING = 1e-9
"""Statistics that differ by less than this, relatively, are equal: with ties many of them are."""

# A block of replicates should take well under a second, so that an interrupt is obeyed at once.
_ATOMS_A_BLOCK = 2_000_000
_LARGEST_BLOCK = 32


def block_size(n_atoms: int) -> int:
    """How many replicates make a block; depends on the data only, never on the machine."""
    return max(1, min(_LARGEST_BLOCK, _ATOMS_A_BLOCK // n_atoms))
