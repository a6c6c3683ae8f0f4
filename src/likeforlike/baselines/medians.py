"""Medians of quantile functions: the law that Feldman et al. (2015) send every group to.

    Q(u) = median_a Q_a(u),

a step function like the Q_a themselves. The median of an even number is the mean of the two in the
middle, so two groups meet half way whatever their sizes, while a barycentre leans to the larger.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from likeforlike.cells import Cells
from likeforlike.level_maps import LevelMaps, level_maps
from likeforlike.transport.atoms import FloatArray, IntArray
from likeforlike.transport.quantiles import Curves, Ranks, mean_curves

__all__ = ["median_curves", "median_maps"]


def median_maps(cells: Cells, min_cell: int) -> LevelMaps:
    """Maps that carry each group of a level to the median law of that level.

    Parameters
    ----------
    cells : sorted values of at least two groups.
    min_cell : the rows a cell needs to have a part in the map of its level.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.baselines.medians import median_maps
    >>> cells = Cells.from_rows([0.0, 4.0, 4.0, 4.0], ["f", "m", "m", "m"])
    >>> median_maps(cells, min_cell=1).curves.values[0]
    np.float64(2.0)
    """
    maps = level_maps(cells, min_cell)
    return replace(maps, curves=median_curves(maps.ranks, maps.shares > 0.0))


def median_curves(known: Ranks, present: npt.NDArray[np.bool_]) -> Curves:
    """Median quantile functions of k sets of up to G distributions.

    Parameters
    ----------
    known : k x G distribution functions; member g of set k is segment k * G + g.
    present : (k, G) which members count; a set without any has no curve.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.baselines.medians import median_curves
    >>> from likeforlike.transport.quantiles import ranks
    >>> cells = Cells.from_rows([0.0, 2.0, 3.0, 1.0, 9.0], [0, 0, 1, 2, 2])
    >>> curves = median_curves(ranks(cells.atoms), np.ones((1, 3), bool))
    >>> curves.values, curves.ends
    (array([1., 3.]), array([0.5, 1. ]))
    """
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
