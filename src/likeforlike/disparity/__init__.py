"""Disparities: how far apart groups are, level by level and over all levels.

Columns become `Cells`, cells become contrasts, and every contrast is measured: `dd` for all rows,
`cdd_lp` and `cdd_wass` among equals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._cdd_lp import Disparity as Disparity
    from ._cdd_lp import cdd_lp as cdd_lp
    from ._cdd_lp import dd as dd
    from ._cdd_lp import tv_overlap as tv_overlap
    from ._cdd_wass import NestedDisparity as NestedDisparity
    from ._cdd_wass import cdd_wass as cdd_wass
    from ._cells import Cells as Cells
    from ._contrasts import Contrast as Contrast
    from ._contrasts import contrasts as contrasts
    from ._measures import level_weights as level_weights

attach(__name__)
