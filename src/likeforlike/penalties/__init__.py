"""Penalties: differentiable disparities, the second narrow waist.

Plain arrays in, a number and an array out. Neural networks, gradient boosting and any other client
are thin adapters on `Penalty.value_and_grad`.
"""

from likeforlike.penalties.fairbit import FairBiT
from likeforlike.penalties.fairleap import FairLeap
from likeforlike.penalties.field import SlopeField
from likeforlike.penalties.layout import Layout
from likeforlike.penalties.penalty import Penalty
from likeforlike.penalties.wasserstein import WassersteinPenalty

__all__ = ["FairBiT", "FairLeap", "Layout", "Penalty", "SlopeField", "WassersteinPenalty"]
