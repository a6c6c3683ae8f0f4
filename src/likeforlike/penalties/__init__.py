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
    from ._fairleap import WassersteinPenalty as WassersteinPenalty
    from ._layout import Layout as Layout
    from ._layout import SoftGroups as SoftGroups
    from ._penalty import Penalty as Penalty
    from ._slope_field import SlopeField as SlopeField
    from ._smooth_fairleap import SmoothFairLeap as SmoothFairLeap

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._layout import SMALL as SMALL
    from ._layout import NoCommonSupportError as NoCommonSupportError
    from ._layout import split_holdout as split_holdout
    from ._layout import stratified_order as stratified_order
    from ._penalty import worst_pair_penalty as worst_pair_penalty

attach(__name__)
