"""The rivals the paper compares with, each a scikit-learn estimator or transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._adversarial import AdversarialClassifier as AdversarialClassifier
    from ._adversarial import AdversarialRegressor as AdversarialRegressor
    from ._adversarial import DCFRClassifier as DCFRClassifier
    from ._adversarial import DCFRRegressor as DCFRRegressor
    from ._quantile_repair import LegitimateOnly as LegitimateOnly
    from ._quantile_repair import QuantileRepair as QuantileRepair

attach(__name__)
