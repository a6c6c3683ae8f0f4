"""Disparities: how far apart groups are, level by level and over all levels.

Columns become `Cells`, cells become contrasts, and every contrast is measured: `dd` for everybody,
`cdd_lp` and `cdd_wass` among equals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.disparity._cdd_lp import Disparity, LevelTable, cdd_lp, dd, tv_overlap
    from likeforlike.disparity._cdd_wass import LevelMetric, NestedDisparity, cdd_wass
    from likeforlike.disparity._cells import Cells
    from likeforlike.disparity._columns import Column
    from likeforlike.disparity._contrasts import Comparison, Contrast, contrasts
    from likeforlike.disparity._distances import Distance
    from likeforlike.disparity._measures import Measure, level_weights

__all__ = [
    "Cells",
    "Column",
    "Comparison",
    "Contrast",
    "Disparity",
    "Distance",
    "LevelMetric",
    "LevelTable",
    "Measure",
    "NestedDisparity",
    "cdd_lp",
    "cdd_wass",
    "contrasts",
    "dd",
    "level_weights",
    "tv_overlap",
]

lazy_package(
    __name__,
    {
        "_cdd_lp": ["Disparity", "LevelTable", "cdd_lp", "dd", "tv_overlap"],
        "_cdd_wass": ["LevelMetric", "NestedDisparity", "cdd_wass"],
        "_cells": ["Cells"],
        "_columns": ["Column"],
        "_contrasts": ["Comparison", "Contrast", "contrasts"],
        "_distances": ["Distance"],
        "_measures": ["Measure", "level_weights"],
    },
)
