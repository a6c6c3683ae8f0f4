"""Rows in an order of which any stretch is a proportional sample of all cells.

Each cell is spread evenly: the r-th row of a cell of n rows (in random order) goes to place
(r + u) / n, with u uniform and the same for the cell. Batches are stretches of such an order, and
so are rows held back.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import IntArray

_SHORT = 1 << 16


def even_order(cells: IntArray, rng: np.random.Generator) -> IntArray:
    """A random order of the rows in which every cell is spread evenly, shape (n,)."""
    mixed = rng.permutation(cells.size)
    sizes = np.bincount(cells)
    # numpy sorts short integers by their digits, which is several times as fast.
    named = cells.astype(np.uint16) if sizes.size <= _SHORT else cells
    by_cell = mixed[np.argsort(named[mixed], kind="stable")]
    begins = np.cumsum(sizes) - sizes
    in_order = cells[by_cell]
    place = (np.arange(cells.size) - begins[in_order] + rng.random(sizes.size)[in_order]) / sizes[
        in_order
    ]
    order: IntArray = by_cell[np.argsort(place, kind="stable")]
    return order
