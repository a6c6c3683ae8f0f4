"""Repair of finished scores and decisions: moved towards what equals would have got."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.postprocess._barycenter import ConditionalBarycenter, Fallback
    from likeforlike.postprocess._decisions import Decisions
    from likeforlike.postprocess._guess_quality import GuessQuality
    from likeforlike.postprocess._held_out import Moved, Parity
    from likeforlike.postprocess._repaired_model import RepairedClassifier, RepairedRegressor
    from likeforlike.postprocess._saved_repair import read_repair, write_repair
    from likeforlike.postprocess._told import Told
    from likeforlike.postprocess._unaware import UnawareRepair

__all__ = [
    "ConditionalBarycenter",
    "Decisions",
    "Fallback",
    "GuessQuality",
    "Moved",
    "Parity",
    "RepairedClassifier",
    "RepairedRegressor",
    "Told",
    "UnawareRepair",
    "read_repair",
    "write_repair",
]

lazy_package(
    __name__,
    {
        "_barycenter": ["ConditionalBarycenter", "Fallback"],
        "_decisions": ["Decisions"],
        "_guess_quality": ["GuessQuality"],
        "_held_out": ["Moved", "Parity"],
        "_repaired_model": ["RepairedClassifier", "RepairedRegressor"],
        "_saved_repair": ["read_repair", "write_repair"],
        "_told": ["Told"],
        "_unaware": ["UnawareRepair"],
    },
)
