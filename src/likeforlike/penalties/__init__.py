"""Penalties: differentiable disparities, the second narrow waist.

Plain arrays in, a number and an array out. Neural networks, gradient boosting and any other client
are thin adapters on `Penalty.value_and_grad`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._fairbit import FairBiT as FairBiT
    from ._fairleap import FairLeap as FairLeap
    from ._layout import Layout as Layout
    from ._layout import SoftGroups as SoftGroups
    from ._penalty import Penalty as Penalty
    from ._slope_field import SlopeField as SlopeField
    from ._smooth_fairleap import SmoothFairLeap as SmoothFairLeap
    from ._wasserstein import WassersteinPenalty as WassersteinPenalty

attach(__name__)
