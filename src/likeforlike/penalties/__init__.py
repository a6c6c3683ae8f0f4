"""Penalties: differentiable disparities, the second narrow waist.

Plain arrays in, a number and an array out. Neural networks, gradient boosting and any other client
are thin adapters on `Penalty.value_and_grad`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.penalties._fairbit import FairBiT
    from likeforlike.penalties._fairleap import FairLeap
    from likeforlike.penalties._layout import Layout
    from likeforlike.penalties._penalty import Penalty
    from likeforlike.penalties._slope_field import SlopeField
    from likeforlike.penalties._smooth_fairleap import SmoothFairLeap
    from likeforlike.penalties._soft_groups import SoftGroups
    from likeforlike.penalties._wasserstein import WassersteinPenalty

__all__ = [
    "FairBiT",
    "FairLeap",
    "Layout",
    "Penalty",
    "SlopeField",
    "SmoothFairLeap",
    "SoftGroups",
    "WassersteinPenalty",
]

lazy_package(
    __name__,
    {
        "_fairbit": ["FairBiT"],
        "_fairleap": ["FairLeap"],
        "_layout": ["Layout"],
        "_penalty": ["Penalty"],
        "_slope_field": ["SlopeField"],
        "_smooth_fairleap": ["SmoothFairLeap"],
        "_soft_groups": ["SoftGroups"],
        "_wasserstein": ["WassersteinPenalty"],
    },
)
