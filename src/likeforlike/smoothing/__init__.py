"""Smoothing along a number: ranks, fine cells, local lines, propensities, and quantile maps.

Mathematics only: no tables and no words of fairness. Not public itself; audits, penalties and
repairs are built on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._carry import Carried as Carried
    from ._carry import ScaleCarry as ScaleCarry
    from ._carry import ValueCarry as ValueCarry
    from ._carry import cdf_at as cdf_at
    from ._carry import fit_carry as fit_carry
    from ._carry import scale_carry as scale_carry
    from ._comparison import Comparison as Comparison
    from ._comparison import common_gaps as common_gaps
    from ._comparison import compare_along as compare_along
    from ._gcm import companion_p_value as companion_p_value
    from ._grid import FineCells as FineCells
    from ._grid import Place as Place
    from ._grid import Ranking as Ranking
    from ._grid import Windows as Windows
    from ._grid import fine_cells as fine_cells
    from ._grid import number_at as number_at
    from ._grid import window_counts as window_counts
    from ._grid import windows as windows
    from ._grid import windows_of_cells as windows_of_cells
    from ._jumps import jumps as jumps
    from ._local_linear import Choice as Choice
    from ._overlap import REASONS as REASONS
    from ._overlap import Overlap as Overlap
    from ._overlap import arrange_cells as arrange_cells
    from ._overlap import find_overlap as find_overlap
    from ._overlap import restrict_smoothers as restrict_smoothers
    from ._propensity import FOLDS as FOLDS
    from ._propensity import SplineBasis as SplineBasis
    from ._propensity import chance_at as chance_at
    from ._propensity import cross_fit as cross_fit
    from ._propensity import propensity as propensity
    from ._propensity import propensity_curve as propensity_curve

attach(__name__)
