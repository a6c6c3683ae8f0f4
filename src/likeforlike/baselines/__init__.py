"""The rivals the paper compares with, each a scikit-learn estimator or transformer."""

from likeforlike.files import extra

extra("torch", "train")
extra("sklearn", "train")

from likeforlike.baselines.adversarial import (  # noqa: E402
    AdversarialClassifier,
    AdversarialRegressor,
)
from likeforlike.baselines.dcfr import DCFRClassifier, DCFRRegressor  # noqa: E402
from likeforlike.baselines.illustration import dcfr_chart, dcfr_illustration  # noqa: E402
from likeforlike.baselines.legitimate_only import LegitimateOnly  # noqa: E402
from likeforlike.baselines.repair import QuantileRepair  # noqa: E402

__all__ = [
    "AdversarialClassifier",
    "AdversarialRegressor",
    "DCFRClassifier",
    "DCFRRegressor",
    "LegitimateOnly",
    "QuantileRepair",
    "dcfr_chart",
    "dcfr_illustration",
]
