"""Contrasts of made-up rows, and what a plain loop says of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from likeforlike import Cells
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Contrast, contrasts, level_weights


def contrast_of(*columns: Any, **settings: Any) -> Contrast:
    return contrasts(Cells.from_rows(*columns, **settings), "pairwise")[0]


def marginal(contrast: Contrast) -> FloatArray:
    return level_weights(contrast, "marginal")


def some_rows(
    seed: int, size: int = 60, levels: int = 3, digits: int = 1
) -> tuple[FloatArray, IntArray, IntArray]:
    """Rounded scores, groups and levels, with at least two rows in every cell."""
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.tile([0, 1], 2 * levels), rng.integers(0, 2, size - 4 * levels)])
    level = np.concatenate(
        [np.repeat(np.arange(levels), 4), rng.integers(0, levels, size - 4 * levels)]
    )
    return np.round(rng.normal(size=size) + 0.5 * groups + level, digits), groups, level


def standardized_gap(
    scores: FloatArray,
    groups: IntArray,
    levels: IntArray,
    weight: FloatArray,
    measure: FloatArray,
    kept: Callable[[int, int], Any] = lambda _level, _group: True,
) -> float:
    """Σ Q (m_1 - m_0) from the definition; `kept(level, group)` says which rows count."""
    gap = 0.0
    for k, q in enumerate(measure):
        means = []
        for g in (0, 1):
            here = (levels == k) & (groups == g) & kept(k, g)
            means.append(np.average(scores[here], weights=weight[here]))
        gap += q * (means[1] - means[0])
    return gap
