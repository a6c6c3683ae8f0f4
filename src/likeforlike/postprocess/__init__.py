"""Repair of finished scores: moved towards what equals would have got."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.postprocess._barycentre import ConditionalBarycentre, Fallback

__all__ = ["ConditionalBarycentre", "Fallback"]

lazy_package(
    __name__,
    {
        "_barycentre": ["ConditionalBarycentre", "Fallback"],
    },
)
