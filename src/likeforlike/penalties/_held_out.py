"""Rows held back from training, each part with its share of every cell and of the classes in it."""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.penalties._even_order import even_order
from likeforlike.penalties._layout import Layout

SMALL = 100
"""Fewer rows than this are too few to hold any back."""


def held_out(
    layout: Layout,
    classes: IntArray | FloatArray | None,
    shares: tuple[float, float],
    seed: int,
    marked: BoolArray | None = None,
) -> list[IntArray]:
    """Rows that stop training, and rows that judge a limit; none of fewer than `SMALL` rows.

    Parameters
    ----------
    layout : of all rows.
    classes : (n,) codes of their classes, or `None` where targets are numbers.
    shares : of the first part and of the second.
    seed : of the draw.
    marked : (n,) truth values that name the first part.
    """
    size, cells = layout.size, layout.strata[0]
    if size < SMALL and marked is None:
        return [np.empty(0, np.int64), np.empty(0, np.int64)]
    if classes is not None:
        codes = classes.astype(np.int64)
        cells = np.unique(cells * (int(codes.max()) + 1) + codes, return_inverse=True)[1]
    order = even_order(cells, np.random.default_rng([seed, 2]))
    second = int(shares[1] * size)
    if marked is not None:
        return [np.flatnonzero(marked), np.sort(order[~marked[order]][:second])]
    first = max(1, int(shares[0] * size))
    return [np.sort(order[:first]), np.sort(order[first : first + second])]
