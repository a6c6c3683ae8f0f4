"""Van Elteren's test: Wilcoxon's rank sum in every level, added up.

With W the sum of the mid-ranks of a group of m among the n rows of a level,

    Σ (W - m (n + 1) / 2) / (n + 1)

is compared with its permutation variance, ties included. The weights 1 / (n + 1) are the best ones
where the groups are shifted by the same amount in every level.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from likeforlike.classical._mantel_haenszel import positions
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._contrasts import Contrast
from likeforlike.inference._scored_levels import atoms_of_contrast
from likeforlike.transport._sorting import sort_rows


@dataclass(frozen=True, slots=True)
class VanElteren:
    """A rank test within levels.

    Attributes
    ----------
    z : standard normal at parity; positive if the group asked about ranks higher.
    p_value : two-sided; `None` if no level can tell.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.classical import van_elteren
    >>> cells = Cells.from_rows([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], ["f", "f", "f", "m", "m", "m"])
    >>> found = van_elteren(cells, "f", "m")
    >>> round(found.z, 3), round(found.p_value, 4)
    (-1.964, 0.0495)
    """

    z: float
    p_value: float | None


def van_elteren(cells: Cells, group: Hashable, reference: Hashable) -> VanElteren:
    """Test whether one of two groups ranks higher within levels.

    Parameters
    ----------
    cells : scores of rows without weights.
    group, reference : labels of the group asked about and of its reference.

    References
    ----------
    van Elteren (1960), *On the combination of independent two-sample tests of Wilcoxon*.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.classical import van_elteren
    >>> cells = Cells.from_rows([1.0, 2.0, 2.0, 1.0], ["f", "f", "m", "m"])
    >>> van_elteren(cells, "f", "m").p_value
    1.0
    """
    contrast = Contrast(cells, positions(cells, group, reference))
    if not contrast.support.any():
        return VanElteren(0.0, None)
    place, level, of = atoms_of_contrast(contrast)
    ordered = sort_rows(cells.middles[place], level, int(contrast.support.sum()))
    rows = cells.atoms.counts[place][ordered.rows].astype(np.float64)
    first = of[ordered.rows] == 0
    level = level[ordered.rows]
    # Equal scores of both groups share a rank.
    new = np.concatenate([[True], (np.diff(ordered.values) != 0.0) | (np.diff(level) != 0)])
    tie = np.cumsum(new) - 1
    tied = np.bincount(tie, rows)
    n = np.bincount(level, rows)
    before = np.cumsum(tied) - tied - (np.cumsum(n) - n)[level[new]]
    # Mid-rank less its mean.
    rank = (before + 0.5 * (tied + 1.0) - 0.5 * (n[level[new]] + 1.0))[tie]
    m = np.bincount(level, rows * first)
    square = np.bincount(level, rows * rank**2)
    weight = 1.0 / (n + 1.0)
    excess = float((weight * np.bincount(level, rows * first * rank)).sum())
    variance = float((weight**2 * m * (n - m) * square / (n * (n - 1.0))).sum())
    if variance <= 0.0:
        return VanElteren(0.0, None)
    z = excess / math.sqrt(variance)
    return VanElteren(z, math.erfc(abs(z) / math.sqrt(2.0)))
