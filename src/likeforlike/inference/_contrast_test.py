"""The test that fits the data: permuted labels where units are exchangeable, else jackknife errors.

Labels may be permuted within levels if every row counts the same and rows are independent, or if
the rows of a person (a cluster) stay in one level and group; then clusters are permuted, as long as
those of both groups have about as many rows: a mean over few people with many rows each varies by
more than one over many with one row each, which permuted people would hide. Weights, clusters that
lie in several levels or groups, and clusters of other sizes in each group would look like a
disparity to a permutation test. There figures that are sums of means are compared with their
jackknife errors (`_sample`), by Student's t: the signed `gap`; that of the `ranks` inside levels;
that of the distances from the median of the level (`spread`); and the `level` with the smallest
p-value, times the number of levels. Each has a fixed share of the error allowed,
p = min p_c / share_c; with heavy weights only the first two count.

Each contrast is tested by permuting the labels of its own two groups only: permuting all groups
together would let a difference between two groups, in spread say, change the null distribution of a
contrast between others. p-values are continued below 1 / (B + 1) along their tail, since 66
contrasts could not be significant with 999 permutations otherwise.

Reference: Holm (1979), *A simple sequentially rejective multiple test procedure*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity import Contrast
from likeforlike.errors import InputError
from likeforlike.inference._bootstrap import merge_levels
from likeforlike.inference._gap import contrast_coefficients, contrast_variance
from likeforlike.inference._headline import HeadlineTest, headline_test
from likeforlike.inference._omnibus import OmnibusTest, omnibus_test
from likeforlike.inference._random import Progress
from likeforlike.inference._rank_scores import Clusters
from likeforlike.inference._sample import Jackknife, Sample, singleton_variances, take_sample
from likeforlike.inference._tails import t_tail


def adjust(p_values: FloatArray, adjustment: Literal["holm", "bh"]) -> FloatArray:
    """Adjust the p-values of several tests.

    `"holm"`: the chance of any false alarm stays below the level. `"bh"`: the share of false
    alarms among all alarms does.

    Parameters
    ----------
    p_values : (k,) floats.
    adjustment : `"holm"` or `"bh"` (Benjamini-Hochberg).

    References
    ----------
    Holm (1979); Benjamini and Hochberg (1995).

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.inference import adjust
    >>> adjust(np.array([0.01, 0.04, 0.03]), "holm")
    array([0.03, 0.06, 0.06])
    >>> adjust(np.array([0.01, 0.04, 0.03]), "bh")
    array([0.03, 0.04, 0.04])
    """
    size = p_values.size
    order = np.argsort(p_values, kind="stable")
    ordered = p_values[order]
    if adjustment == "holm":
        stepped = np.maximum.accumulate(ordered * (size - np.arange(size)))
    elif adjustment == "bh":
        stepped = np.minimum.accumulate((ordered * size / np.arange(1, size + 1))[::-1])[::-1]
    else:
        raise InputError(f"adjustment must be 'holm' or 'bh', not {adjustment!r}.")
    adjusted = np.empty(size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


DesignComponent = Literal["gap", "ranks", "spread", "level"]
"""A component of the test."""

_SHARES: dict[DesignComponent, float] = {"gap": 0.70, "ranks": 0.15, "spread": 0.05, "level": 0.10}


@dataclass(frozen=True, slots=True)
class DesignTest:
    """Whether two groups differ among equals, for weighted rows and clusters in several levels.

    Attributes
    ----------
    p_value : the smallest p-value of a component over its share of the error allowed.
    leading_component : the component it comes from.
    components : the p-value of each component that was computed.
    level_p_values, level_adjusted : (k,) floats, of the gap of each level, before and after Holm's
        adjustment; 1 where the error of a level is not known.
    method : always "design".
    """

    p_value: float
    leading_component: DesignComponent
    components: dict[DesignComponent, float]
    level_p_values: FloatArray
    level_adjusted: FloatArray
    method: Literal["design"] = "design"


def jackknife_test(contrast: Contrast, measure: FloatArray) -> DesignTest:
    """Test whether two groups differ among equals, by jackknife errors.

    Parameters
    ----------
    contrast : two groups; k levels hold both.
    measure : (k,) floats, Q(l).

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import jackknife_test
    >>> person, groups = np.repeat(np.arange(40), 5), np.repeat(np.arange(40) % 2, 5)
    >>> cells = Cells.from_rows(np.sin(person), groups, cluster=person)
    >>> jackknife_test(contrasts(cells, "pairwise")[0], np.ones(1)).p_value > 0.1
    True
    """
    sample = take_sample(contrast)
    components: dict[DesignComponent, float] = {"gap": _gap_p_value(sample.scores, measure)}
    if not sample.rates:
        merged = merge_levels(sample)
        components["ranks"] = _gap_p_value(sample.jackknife(merged.ranks), measure)
        if not sample.heavy:
            deviations = sample.jackknife(merged.deviations_from_median)
            components["spread"] = _gap_p_value(deviations, measure)
    levels = _level_p_values(sample)
    if sample.n_levels > 1 and not sample.heavy:
        clear = levels[~(sample.units.single_levels | sample.dominant_row_levels)]
        components["level"] = min(1.0, clear.size * float(clear.min(initial=1.0)))
    allowed = sum(_SHARES[name] for name in components)
    scaled = {name: p * allowed / _SHARES[name] for name, p in components.items()}
    leading_component = min(scaled, key=scaled.__getitem__)
    return DesignTest(
        p_value=min(1.0, scaled[leading_component]),
        leading_component=leading_component,
        components=components,
        level_p_values=levels,
        level_adjusted=adjust(levels, "holm"),
    )


def _gap_p_value(means: Jackknife, measure: FloatArray) -> float:
    """Compute the p-value of a gap; if weighted means may be biased, of the value nearer to 0."""
    singles, coefficients = singleton_variances(means, measure), contrast_coefficients(measure)
    variance, df, *_ = contrast_variance(means, coefficients, singles)
    if not (singles[2] and variance > 0.0):
        return 1.0
    value = float(measure @ means.gaps)
    moved = value + float(coefficients @ means.bias)
    nearest = min(abs(value), abs(moved)) if value * moved > 0.0 else 0.0
    return min(1.0, 2.0 * float(t_tail(nearest / math.sqrt(variance), df)))


def _level_p_values(sample: Sample) -> FloatArray:
    """Compute p-values of the gaps of the levels; 1 where the error is not known. Shape (k,)."""
    means = sample.scores
    # A bias that is not small compared with the error would make a p-value too small.
    variances = means.level_variances + (means.bias**2).reshape(-1, 2).sum(axis=1)
    unknown = sample.units.single_levels | (variances <= 0.0)
    ratio = np.abs(means.gaps) / np.sqrt(np.where(unknown, 1.0, variances))
    p_values: FloatArray = np.where(unknown, 1.0, 2.0 * t_tail(ratio, means.welch_df))
    return np.minimum(p_values, 1.0)


# Weights that differ by less than this, relatively, are equal.
_SAME_WEIGHT = 1e-9
# How much larger Σ size² / Σ size of the clusters of one group may be than that of another.
_SAME_SIZE = 1.25


def conditional_parity_test(
    contrast: Contrast,
    measure: FloatArray,
    *,
    permutations: int,
    random_state: int,
    contrasts: int = 1,
    progress: Progress | None = None,
) -> HeadlineTest | DesignTest:
    """Test two groups for conditional parity in the way that their rows allow."""
    units = exchangeable_units(contrast)
    if units is None:
        return jackknife_test(contrast, measure)
    return headline_test(
        units,
        measure,
        permutations=permutations,
        random_state=random_state,
        contrasts=contrasts,
        progress=progress,
    )


def joint_parity_test(
    contrast: Contrast, *, permutations: int, random_state: int, progress: Progress | None = None
) -> OmnibusTest | None:
    """Test several groups at once; `None` if their labels may not be permuted."""
    units = exchangeable_units(contrast)
    if units is None:
        return None
    return omnibus_test(
        units, permutations=permutations, random_state=random_state, progress=progress
    )


def exchangeable_units(contrast: Contrast) -> Contrast | Clusters | None:
    """Return what may be permuted within levels: rows, clusters of rows, or nothing."""
    mass, counts = contrast.cells.atoms.mass, contrast.cells.atoms.counts
    if contrast.cells.weighted:
        weight = mass / counts
        if np.ptp(weight) > _SAME_WEIGHT * weight.max():
            return None
    return contrast if contrast.cells.cluster is None else _clusters(contrast)


def _clusters(contrast: Contrast) -> Clusters | None:
    """Return the clusters of the supported levels, if they may be permuted; else `None`."""
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


def adjust_contrasts(tests: Sequence[HeadlineTest]) -> FloatArray:
    """Adjust the p-values of the headline tests of several contrasts by Holm, shape (m,).

    A single test keeps its exact p-value.

    Parameters
    ----------
    tests : one for each contrast.

    References
    ----------
    Holm (1979), *A simple sequentially rejective multiple test procedure*.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts
    >>> from likeforlike.inference import headline_test
    >>> from likeforlike.inference._contrast_test import adjust_contrasts
    >>> scores = np.tile(np.arange(50.0), 3) + np.repeat([0.0, 0.0, 40.0], 50)
    >>> cells = Cells.from_rows(scores, np.repeat(["a", "b", "c"], 50))
    >>> tests = [headline_test(two, np.ones(1)) for two in contrasts(cells, "pairwise")]
    >>> adjust_contrasts(tests) < 0.05
    array([False,  True,  True])
    """
    if len(tests) == 1:
        return np.array([tests[0].p_value])
    return adjust(np.array([test.tail_p_value for test in tests]), "holm")
