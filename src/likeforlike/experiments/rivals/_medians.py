"""Medians of quantile functions: the law that Feldman et al. (2015) send every group to.

    Q(u) = median_a Q_a(u),

a step function like the Q_a themselves. The median of an even number is the mean of the two in the
middle, so two groups meet half way whatever their sizes, while a barycenter leans to the larger.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.disparity._cells import Cells
from likeforlike.repair._quantile_maps import LevelMaps, level_maps
from likeforlike.transport._quantiles import Curves, Ranks, mean_curves


def median_maps(cells: Cells, min_cell: int) -> LevelMaps:
    """Maps that carry each group of a level to the median law of that level."""
    maps = level_maps(cells, min_cell)
    return replace(maps, curves=median_curves(maps.ranks, maps.shares > 0.0))


def median_curves(known: Ranks, present: BoolArray) -> Curves:
    """Median quantile functions of k sets of up to G distributions."""
    n_sets, n_groups = present.shape
    laws = [_median(known, k * n_groups + np.flatnonzero(present[k])) for k in range(n_sets)]
    values, ends = (np.concatenate(parts) for parts in zip(*laws, strict=True))
    offsets = np.concatenate([[0], np.cumsum([law[0].size for law in laws])])
    # As the mean of a single law each median gets its integrals; the size of steps plays no part.
    alone = Ranks(values, ends, np.zeros(values.size), offsets)
    return mean_curves(alone, np.where(present.any(axis=1), 1.0, 0.0)[:, None])


def _median(known: Ranks, members: IntArray) -> tuple[FloatArray, FloatArray]:
    """Values and ends of the pieces of one median quantile function."""
    if not members.size:
        return np.empty(0), np.empty(0)
    spans = [slice(known.offsets[s], known.offsets[s + 1]) for s in members]
    ends = np.unique(np.concatenate([known.ends[span] for span in spans]))
    quantiles = [known.values[span][np.searchsorted(known.ends[span], ends)] for span in spans]
    middle: FloatArray = np.median(quantiles, axis=0)
    last = np.flatnonzero(np.diff(middle, append=np.inf) > 0.0)
    return middle[last], ends[last]
