"""Stratified orders of rows, and rows held back from training.

In a stratified order each cell is spread evenly: the r-th row of a cell of n rows (in random order)
goes to place (r + u) / n, with u uniform and the same for the cell. So every block of it is a
stratified sample. Batches are blocks of such an order, and so are rows held back.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.penalties._layout import Layout

_SHORT = 1 << 16


def stratified_order(cells: IntArray, rng: np.random.Generator) -> IntArray:
    """Return a random order of the rows in which every cell is spread evenly, shape (n,)."""
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


SMALL = 100
"""Fewer rows than this are too few to hold any back."""


def split_holdout(
    layout: Layout,
    classes: IntArray | FloatArray | None,
    shares: tuple[float, float],
    seed: int,
    marked: BoolArray | None = None,
) -> list[IntArray]:
    """Return rows that stop training, and rows that judge a limit; none of fewer than `SMALL` rows.

    Parameters
    ----------
    layout : of all rows.
    classes : (n,) codes of their classes, or `None` where targets are numbers.
    shares : of the first part and of the second.
    seed : of the draw.
    marked : (n,) truth values that name the first part.
    """
    size, cells = layout.size, layout.cell_codes[0]
    if size < SMALL and marked is None:
        return [np.empty(0, np.int64), np.empty(0, np.int64)]
    if classes is not None:
        codes = classes.astype(np.int64)
        cells = np.unique(cells * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    order = stratified_order(cells, np.random.default_rng([seed, 2]))
    second = int(shares[1] * size)
    if marked is not None:
        return [np.flatnonzero(marked), np.sort(order[~marked[order]][:second])]
    first = max(1, int(shares[0] * size))
    return [np.sort(order[:first]), np.sort(order[first : first + second])]
