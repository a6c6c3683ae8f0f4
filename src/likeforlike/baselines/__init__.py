"""The rivals the paper compares with, each a scikit-learn estimator or transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.baselines._adversarial import AdversarialClassifier, AdversarialRegressor
    from likeforlike.baselines._dcfr import DCFRClassifier, DCFRRegressor
    from likeforlike.baselines._legitimate_only import LegitimateOnly
    from likeforlike.baselines._repair import QuantileRepair

__all__ = [
    "AdversarialClassifier",
    "AdversarialRegressor",
    "DCFRClassifier",
    "DCFRRegressor",
    "LegitimateOnly",
    "QuantileRepair",
]

lazy_package(
    __name__,
    {
        "_adversarial": ["AdversarialClassifier", "AdversarialRegressor"],
        "_dcfr": ["DCFRClassifier", "DCFRRegressor"],
        "_legitimate_only": ["LegitimateOnly"],
        "_repair": ["QuantileRepair"],
    },
)
