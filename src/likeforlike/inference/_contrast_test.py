"""The test that fits the data: permuted labels where rows may be exchanged, else their design.

Labels may be permuted within levels if every row counts the same and rows are independent, or if
the rows of a person (a cluster) stay in one level and group; then clusters are permuted. Weights,
and clusters that lie in several levels or groups, need errors that know the design.
"""

from __future__ import annotations

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._contrasts import Contrast
from likeforlike.inference._design_test import DesignTest, jackknife_test
from likeforlike.inference._headline import HeadlineTest, headline_test
from likeforlike.inference._omnibus import OmnibusTest, omnibus_test
from likeforlike.inference._replicates import Progress
from likeforlike.inference._scored_levels import Clusters

# Weights that differ by less than this, relatively, are equal.
_SAME_WEIGHT = 1e-9


def contrast_test(
    contrast: Contrast,
    measure: FloatArray,
    *,
    permutations: int,
    seed: int,
    contrasts: int = 1,
    progress: Progress | None = None,
) -> HeadlineTest | DesignTest:
    """Test two groups for conditional parity in the way that their rows allow."""
    exchanged = exchangeable(contrast)
    if exchanged is None:
        return jackknife_test(contrast, measure)
    return headline_test(
        exchanged,
        measure,
        permutations=permutations,
        seed=seed,
        contrasts=contrasts,
        progress=progress,
    )


def groups_test(
    contrast: Contrast, *, permutations: int, seed: int, progress: Progress | None = None
) -> OmnibusTest | None:
    """One test over several groups; `None` if their labels may not be permuted."""
    exchanged = exchangeable(contrast)
    if exchanged is None:
        return None
    return omnibus_test(exchanged, permutations=permutations, seed=seed, progress=progress)


def exchangeable(contrast: Contrast) -> Contrast | Clusters | None:
    """What may be permuted within levels: rows, clusters of rows, or nothing."""
    mass, counts = contrast.cells.atoms.mass, contrast.cells.atoms.counts
    if contrast.cells.weighted and not _equal_weights(mass / counts):
        return None
    return contrast if contrast.cells.cluster is None else _clusters(contrast)


def _equal_weights(weight: FloatArray) -> bool:
    return bool(np.ptp(weight) <= _SAME_WEIGHT * weight.max())


def _clusters(contrast: Contrast) -> Clusters | None:
    """The clusters of the supported levels; `None` if one lies in several levels or groups."""
    cells = contrast.cells
    assert cells.cluster is not None
    n_groups = len(cells.groups)
    segment = np.repeat(np.arange(cells.atoms.totals.size), np.diff(cells.atoms.offsets))
    level, group = segment // n_groups, segment % n_groups
    kept = contrast.support[level] & np.isin(group, contrast.positions)
    number, codes = np.unique(cells.cluster[kept], return_inverse=True)
    first = np.full(number.size, -1)
    first[codes[::-1]] = segment[kept][::-1]
    if (first[codes] != segment[kept]).any():
        return None
    rows = np.bincount(level[kept], minlength=len(cells.levels))[contrast.support]
    position = np.full(n_groups, -1)
    position[list(contrast.positions)] = np.arange(len(contrast.positions))
    return Clusters(
        values=cells.atoms.values[kept],
        offsets=np.concatenate([[0], np.cumsum(rows)]),
        cluster=codes,
        groups=position[first % n_groups],
    )
