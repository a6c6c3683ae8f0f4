"""Penalties for torch: a loss, batches, stacked networks and the loop that trains them."""

from likeforlike.files import extra

extra("torch", "train")

from likeforlike.nn.batches import CellBatchSampler  # noqa: E402
from likeforlike.nn.loss import PenaltyLoss  # noqa: E402
from likeforlike.nn.stacked import StackedMLP  # noqa: E402

__all__ = ["CellBatchSampler", "PenaltyLoss", "StackedMLP"]
