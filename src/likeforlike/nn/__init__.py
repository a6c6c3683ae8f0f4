"""Penalties for torch: a loss, batches, stacked networks and the loop that trains them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from likeforlike._extras import extra
from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._batches import CellBatchSampler as CellBatchSampler
    from ._field_loss import SlopeFieldLoss as SlopeFieldLoss
    from ._loss import PenaltyLoss as PenaltyLoss
    from ._stacked import StackedMLP as StackedMLP
    from ._training import Recipe as Recipe


with extra("train"):  # asked for once, here, for all modules of this package
    import_module("torch")

attach(__name__)
