"""Repair of finished scores and decisions: moved towards what equals would have got."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._barycenter import ConditionalBarycenter as ConditionalBarycenter
    from ._barycenter import Fallback as Fallback
    from ._decisions import FairDecisions as FairDecisions
    from ._guess_quality import GuessQuality as GuessQuality
    from ._held_out import Moved as Moved
    from ._held_out import Parity as Parity
    from ._repaired_model import RepairedClassifier as RepairedClassifier
    from ._repaired_model import RepairedRegressor as RepairedRegressor
    from ._told import Told as Told
    from ._unaware import UnawareRepair as UnawareRepair

attach(__name__)
