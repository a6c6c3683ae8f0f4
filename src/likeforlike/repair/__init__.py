"""Repair of finished scores and decisions: moved towards what equals would have got."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._barycenter import ConditionalBarycenter as ConditionalBarycenter
    from ._decisions import FairDecisions as FairDecisions
    from ._repaired_model import RepairedClassifier as RepairedClassifier
    from ._repaired_model import RepairedRegressor as RepairedRegressor
    from ._report import RepairReport as RepairReport
    from ._unaware import UnawareRepair as UnawareRepair

attach(__name__)
