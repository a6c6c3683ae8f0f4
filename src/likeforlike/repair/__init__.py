"""Repair of finished scores and decisions: moved towards what equals would have got."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._barycenter import ConditionalBarycenter as ConditionalBarycenter
    from ._repaired_model import FairDecisions as FairDecisions
    from ._repaired_model import RepairedClassifier as RepairedClassifier
    from ._repaired_model import RepairedRegressor as RepairedRegressor
    from ._report import RepairReport as RepairReport
    from ._unaware import UnawareRepair as UnawareRepair

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._quantile_maps import LevelMaps as LevelMaps
    from ._quantile_maps import check_groups as check_groups
    from ._quantile_maps import check_part as check_part
    from ._quantile_maps import check_whole as check_whole
    from ._quantile_maps import check_width as check_width
    from ._quantile_maps import fit_level_maps as fit_level_maps
    from ._quantile_maps import locate_groups as locate_groups

attach(__name__)
