"""Disparities: how far apart groups are, level by level and over all levels.

Columns become `Cells`, cells become contrasts, and every contrast is measured: `dd` for all rows,
`cdd_lp` and `cdd_wass` among equals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._cells import Cells as Cells
    from ._contrasts import Contrast as Contrast
    from ._contrasts import contrasts as contrasts
    from ._contrasts import level_weights as level_weights
    from ._lp import Disparity as Disparity
    from ._lp import cdd_lp as cdd_lp
    from ._lp import dd as dd
    from ._lp import tv_overlap as tv_overlap
    from ._nested import NestedDisparity as NestedDisparity
    from ._nested import cdd_wass as cdd_wass

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._cells import HALF_BITS as HALF_BITS
    from ._cells import distance_bounds as distance_bounds
    from ._cells import inside_bins as inside_bins
    from ._columns import Codes as Codes
    from ._columns import Column as Column
    from ._columns import combine_codes as combine_codes
    from ._columns import encode as encode
    from ._columns import encode_columns as encode_columns
    from ._columns import encode_known as encode_known
    from ._columns import encode_labels as encode_labels
    from ._columns import is_nothing as is_nothing
    from ._columns import narrow as narrow
    from ._columns import numbers as numbers
    from ._columns import refuse_many_groups as refuse_many_groups
    from ._columns import refuse_mask as refuse_mask
    from ._columns import same_length as same_length
    from ._columns import use_codes_as_labels as use_codes_as_labels
    from ._columns import weights as weights
    from ._columns import with_unknown as with_unknown
    from ._contrasts import check_measure as check_measure
    from ._distances import check_cost_order as check_cost_order
    from ._distances import level_distances as level_distances
    from ._float_noise import find_float_noise as find_float_noise
    from ._float_noise import remove_float_noise as remove_float_noise
    from ._float_noise import replace_scores as replace_scores
    from ._lp import LevelTable as LevelTable
    from ._lp import contrast_cdd_lp as contrast_cdd_lp
    from ._nested import LARGEST_COST as LARGEST_COST
    from ._nested import LevelMetric as LevelMetric
    from ._nested import check_level_cost as check_level_cost
    from ._nested import check_reg as check_reg
    from ._nested import contrast_cdd_wass as contrast_cdd_wass
    from ._nested import level_ground as level_ground
    from ._numeric_levels import NumericLevels as NumericLevels
    from ._numeric_levels import split_levels as split_levels
    from ._numeric_levels import warn_of_thin_levels as warn_of_thin_levels

attach(__name__)
