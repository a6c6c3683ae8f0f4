"""Measures Q(L): how much each level counts when level-wise distances become one number.

With p_a(l) = P(L = l | A = a), on the levels where the groups meet and scaled to sum to one:

- `"marginal"`: Q(l) ∝ P(L = l), every row counts the same;
- `"average"`: Q(l) ∝ mean of p_a(l) over groups, every group counts the same;
- `"uniform"`: Q(l) = 1 / K, every level counts the same, however small;
- `"overlap"`: Q(l) ∝ min of p_a(l) over groups, levels count by how well they compare;
- a mapping {level: weight} of your own.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike._settings import MEASURES, Measure, is_one_of, real
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._contrasts import Contrast
from likeforlike.errors import InputError
from likeforlike.transport._scale import moderate

_LEAST = float(np.nextafter(0.0, 1.0))


def level_weights(contrast: Contrast, measure: Measure) -> FloatArray:
    """Q(l) on the levels where the groups meet, summing to one. Shape (k,).

    Parameters
    ----------
    contrast : the groups compared.
    measure : a name, or a weight for each level.

    Examples
    --------
    >>> from likeforlike import Cells
    >>> from likeforlike.disparity import contrasts, level_weights
    >>> cells = Cells.from_rows([0.1, 0.2, 0.3, 0.4], ["f", "m", "f", "m"], [0, 0, 1, 1])
    >>> level_weights(contrasts(cells, "pairwise")[0], "uniform")
    array([0.5, 0.5])
    """
    raw = moderate(_raw_weights(contrast, measure))
    total = raw.sum()
    if not total > 0.0:
        raise InputError("measure gives weight 0 to every level where the groups meet.")
    # A level that counts at all does not become one that does not: the worst may be looked for.
    weights: FloatArray = np.where(raw > 0.0, np.maximum(raw / total, _LEAST), 0.0)
    return weights


def _raw_weights(contrast: Contrast, measure: Measure) -> FloatArray:
    support = contrast.support
    weights: FloatArray
    if isinstance(measure, Mapping):
        return _given_weights(contrast, measure)
    _check_name(measure)
    if measure == "marginal":
        weights = contrast.mass[support].sum(axis=1)
    elif measure == "average":
        weights = contrast.shares[support].mean(axis=1)
    elif measure == "uniform":
        weights = np.ones(int(support.sum()))
    else:
        weights = contrast.shares[support].min(axis=1)
    return weights


def _check_name(measure: object) -> None:
    if not is_one_of(measure, MEASURES):
        raise InputError(
            f"measure must be one of {MEASURES} or a mapping from level to weight, not {measure!r}."
        )


def check_measure(cells: Cells, measure: Measure) -> None:
    """Refuse a measure that is none, and a given one that names a level which no row has."""
    if not isinstance(measure, Mapping):
        _check_name(measure)
        return
    known = set(cells.levels)
    unknown = [level for level in measure if level not in known]
    if unknown:
        shown = list(cells.levels[:10])
        raise InputError(f"measure names the level {unknown[0]!r}, which no row has; e.g. {shown}.")


def _given_weights(contrast: Contrast, measure: Mapping[Hashable, float]) -> FloatArray:
    check_measure(contrast.cells, measure)
    levels = contrast.cells.levels
    compared = [levels[k] for k in np.flatnonzero(contrast.support)]
    absent = [level for level in compared if level not in measure]
    if absent:
        raise InputError(
            f"measure has no weight for level {absent[0]!r}; give it 0 to leave it out."
        )
    weights = np.array([real(measure[level]) for level in compared])
    bad = ~(np.isfinite(weights) & (weights >= 0.0))
    if bad.any():
        level = compared[int(np.argmax(bad))]
        raise InputError(
            f"measure gives level {level!r} the weight {measure[level]!r}; weights must be finite "
            "numbers of 0 or more."
        )
    return weights
