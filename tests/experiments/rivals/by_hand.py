"""Repairs of one column by hand: by the definition, and as AIF360 does it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray


def slow_repair(values: FloatArray, groups: IntArray) -> dict[int, FloatArray]:
    """Repaired values of each group in order, with every row copied to a common size."""
    ordered = {int(g): np.sort(values[groups == g]) for g in np.unique(groups)}
    common = math.lcm(*(cell.size for cell in ordered.values()))
    copies = np.array([np.repeat(cell, common // cell.size) for cell in ordered.values()])
    middle = np.median(copies, axis=0)
    return {g: middle.reshape(cell.size, -1).mean(axis=1) for g, cell in ordered.items()}


def bucket_repair(values: FloatArray, groups: npt.NDArray[Any], level: float = 1.0) -> FloatArray:
    """What AIF360's `DisparateImpactRemover` does, described in the docstring of `QuantileRepair`.

    Compared once with version 0.6.1 on Adult: equal in all 46,033 rows of age, education-num and
    hours-per-week, at levels 0.5 and 1.
    """
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    distinct = [np.unique(values[rows]) for rows in members]
    observed, buckets = np.unique(values), min(map(len, distinct))
    # Bounds are summed up one by one there, and rounding decides where they fall.
    bounds = np.concatenate([[0.0], np.cumsum(np.full(buckets, 1.0 / buckets))])
    cuts = [np.rint(bounds * own.size).astype(int) for own in distinct]
    repaired = values.copy()
    for k in range(buckets):
        held = [own[cut[k] : cut[k + 1]] for own, cut in zip(distinct, cuts, strict=True)]
        goal = np.searchsorted(observed, lower_median([lower_median(own) for own in held]))
        for rows, own in zip(members, held, strict=True):
            inside = rows[np.isin(values[rows], own)]
            here = np.searchsorted(observed, values[inside])
            repaired[inside] = observed[here + np.rint((goal - here) * level).astype(int)]
    return repaired


def lower_median(values: Any) -> Any:
    return np.sort(values)[(len(values) - 1) // 2]
