"""Smoothing along a number: ranks, fine cells, local lines, propensities, and quantile maps.

Mathematics only: no tables and no words of fairness. Not public itself; audits, penalties and
repairs are built on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._carry import DiscreteMap as DiscreteMap
    from ._carry import LocationScaleMap as LocationScaleMap
    from ._carry import MappedValues as MappedValues
    from ._carry import fit_location_scale_map as fit_location_scale_map
    from ._carry import fit_quantile_map as fit_quantile_map
    from ._carry import interpolate_cdf as interpolate_cdf
    from ._comparison import Comparison as Comparison
    from ._comparison import common_gaps as common_gaps
    from ._comparison import compare_along as compare_along
    from ._comparison import detect_jumps as detect_jumps
    from ._gcm import gcm_test as gcm_test
    from ._grid import Grid as Grid
    from ._grid import GridPosition as GridPosition
    from ._grid import Ranking as Ranking
    from ._grid import Windows as Windows
    from ._grid import assign_windows as assign_windows
    from ._grid import make_grid as make_grid
    from ._grid import quantile as quantile
    from ._grid import window_counts as window_counts
    from ._grid import windows as windows
    from ._local_linear import Bandwidth as Bandwidth
    from ._overlap import REASONS as REASONS
    from ._overlap import Overlap as Overlap
    from ._overlap import arrange_cells as arrange_cells
    from ._overlap import find_overlap as find_overlap
    from ._overlap import restrict_smoothers as restrict_smoothers
    from ._propensity import FOLDS as FOLDS
    from ._propensity import SplineBasis as SplineBasis
    from ._propensity import cross_fit as cross_fit
    from ._propensity import fit_propensity as fit_propensity
    from ._propensity import interpolate_propensity as interpolate_propensity
    from ._propensity import propensity as propensity

attach(__name__)
