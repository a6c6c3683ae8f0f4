"""Penalties for torch: a loss, batches, stacked networks and the loop that trains them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from likeforlike._extras import extra
from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.nn._batches import CellBatchSampler
    from likeforlike.nn._field_loss import SlopeFieldLoss
    from likeforlike.nn._loss import PenaltyLoss
    from likeforlike.nn._stacked import StackedMLP
    from likeforlike.nn._training import Recipe

__all__ = ["CellBatchSampler", "PenaltyLoss", "Recipe", "SlopeFieldLoss", "StackedMLP"]

with extra("train"):  # asked for once, here, for all modules of this package
    import_module("torch")

lazy_package(
    __name__,
    {
        "_batches": ["CellBatchSampler"],
        "_field_loss": ["SlopeFieldLoss"],
        "_loss": ["PenaltyLoss"],
        "_stacked": ["StackedMLP"],
        "_training": ["Recipe"],
    },
)
