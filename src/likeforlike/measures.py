"""Measures Q(L): how much each level counts when level-wise distances become one number.

With p_a(l) = P(L = l | A = a), on the levels where the groups meet and scaled to sum to one:

- `"marginal"`: Q(l) ∝ P(L = l), everybody counts the same;
- `"average"`: Q(l) ∝ mean of p_a(l) over groups, every group counts the same;
- `"uniform"`: Q(l) = 1 / K, every level counts the same, however small;
- `"overlap"`: Q(l) ∝ min of p_a(l) over groups, levels count by how well they compare;
- a mapping {level: weight} of your own.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Literal, get_args

import numpy as np

from likeforlike.contrasts import Contrast
from likeforlike.errors import InputError
from likeforlike.transport.atoms import FloatArray

__all__ = ["Measure", "level_weights"]

MeasureName = Literal["marginal", "average", "uniform", "overlap"]
Measure = MeasureName | Mapping[Hashable, float]
"""A named measure over levels, or a weight for each level."""


def level_weights(contrast: Contrast, measure: Measure) -> FloatArray:
    """Q(l) on the levels where the groups meet, summing to one. Shape (k,).

    Parameters
    ----------
    contrast : the groups compared; they must meet somewhere.
    measure : see the head of this module.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.contrasts import contrasts
    >>> from likeforlike.measures import level_weights
    >>> cells = Cells.from_rows([0.0] * 5, list("fmfmm"), [1, 1, 2, 2, 2])
    >>> level_weights(contrasts(cells, "pairwise")[0], "marginal")
    array([0.4, 0.6])
    """
    raw = _raw_weights(contrast, measure)
    total = raw.sum()
    if not total > 0.0:
        raise InputError("measure gives weight 0 to every level where the groups meet.")
    weights: FloatArray = raw / total
    return weights


def _raw_weights(contrast: Contrast, measure: Measure) -> FloatArray:
    support = contrast.support
    weights: FloatArray
    if isinstance(measure, Mapping):
        return _given_weights(contrast, measure)
    if measure == "marginal":
        weights = contrast.mass[support].sum(axis=1)
    elif measure == "average":
        weights = contrast.shares[support].mean(axis=1)
    elif measure == "uniform":
        weights = np.ones(int(support.sum()))
    elif measure == "overlap":
        weights = contrast.shares[support].min(axis=1)
    else:
        raise InputError(
            f"measure must be one of {get_args(MeasureName)} or a mapping from level to weight, "
            f"not {measure!r}."
        )
    return weights


def _given_weights(contrast: Contrast, measure: Mapping[Hashable, float]) -> FloatArray:
    levels = contrast.cells.levels
    unknown = [level for level in measure if level not in set(levels)]
    if unknown:
        shown = list(levels[:10])
        raise InputError(f"measure names the level {unknown[0]!r}, which no row has; e.g. {shown}.")
    compared = [levels[k] for k in np.flatnonzero(contrast.support)]
    absent = [level for level in compared if level not in measure]
    if absent:
        raise InputError(
            f"measure has no weight for level {absent[0]!r}; give it 0 to leave it out."
        )
    weights = np.array([measure[level] for level in compared], dtype=np.float64)
    bad = ~(np.isfinite(weights) & (weights >= 0.0))
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"measure gives level {compared[first]!r} the weight {weights[first]}; "
            "weights must be finite and 0 or more."
        )
    return weights
