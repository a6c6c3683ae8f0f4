"""The test that fits the data: permuted labels where rows may be exchanged, else their design.

Labels may be permuted within levels if every row counts the same and rows are independent, or if
the rows of a person (a cluster) stay in one level and group; then clusters are permuted, as long as
those of both groups have about as many rows: a mean over few people with many rows each varies by
more than one over many with a row each, which permuted people would hide. Weights, clusters that
lie in several levels or groups, and clusters of other sizes in each group need errors that know the
design.
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
# How much larger Σ size² / Σ size of the clusters of one group may be than that of another.
_SAME_SIZE = 1.25


def contrast_test(
    contrast: Contrast,
    measure: FloatArray,
    *,
    permutations: int,
    random_state: int,
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
        random_state=random_state,
        contrasts=contrasts,
        progress=progress,
    )


def groups_test(
    contrast: Contrast, *, permutations: int, random_state: int, progress: Progress | None = None
) -> OmnibusTest | None:
    """One test over several groups; `None` if their labels may not be permuted."""
    exchanged = exchangeable(contrast)
    if exchanged is None:
        return None
    return omnibus_test(
        exchanged, permutations=permutations, random_state=random_state, progress=progress
    )


def exchangeable(contrast: Contrast) -> Contrast | Clusters | None:
    """What may be permuted within levels: rows, clusters of rows, or nothing."""
    mass, counts = contrast.cells.atoms.mass, contrast.cells.atoms.counts
    if contrast.cells.weighted and not _equal_weights(mass / counts):
        return None
    return contrast if contrast.cells.cluster is None else _clusters(contrast)


def _equal_weights(weight: FloatArray) -> bool:
    return bool(np.ptp(weight) <= _SAME_WEIGHT * weight.max())


def _clusters(contrast: Contrast) -> Clusters | None:
    """The clusters of the supported levels, if they may be permuted; else `None`."""
    cells = contrast.cells
    assert cells.cluster is not None
    n_groups = len(cells.groups)
    segment = np.repeat(np.arange(cells.atoms.totals.size), np.diff(cells.atoms.offsets))
    level, group = segment // n_groups, segment % n_groups
    kept = contrast.support[level] & np.isin(group, contrast.positions)
    _, begins, codes = np.unique(cells.cluster[kept], return_index=True, return_inverse=True)
    first = segment[kept][begins]
    if (first[codes] != segment[kept]).any():
        return None
    position = np.full(n_groups, -1)
    position[list(contrast.positions)] = np.arange(len(contrast.positions))
    groups = position[first % n_groups]
    sizes = np.bincount(codes).astype(np.float64)
    there = np.unique(groups)  # a group may be in no level that is compared
    usual = np.bincount(groups, sizes**2)[there] / np.bincount(groups, sizes)[there]
    if usual.max() > _SAME_SIZE * usual.min():
        return None
    rows = np.bincount(level[kept], minlength=len(cells.levels))[contrast.support]
    return Clusters(
        values=cells.atoms.values[kept],
        offsets=np.concatenate([[0], np.cumsum(rows)]),
        cluster=codes,
        groups=groups,
    )
