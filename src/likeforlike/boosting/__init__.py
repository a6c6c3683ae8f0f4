"""Objectives and metrics for gradient boosting: LightGBM and XGBoost with a penalty.

Plain callables: neither library is imported here. Both the training functions and the scikit-learn
estimators take them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.boosting._lightgbm import LightGBMMetric, lightgbm_metric, lightgbm_objective
    from likeforlike.boosting._losses import LossName, probabilities
    from likeforlike.boosting._objective import FairObjective
    from likeforlike.boosting._xgboost import XGBoostMetric, xgboost_metric, xgboost_objective

__all__ = [
    "FairObjective",
    "LightGBMMetric",
    "LossName",
    "XGBoostMetric",
    "lightgbm_metric",
    "lightgbm_objective",
    "probabilities",
    "xgboost_metric",
    "xgboost_objective",
]

lazy_package(
    __name__,
    {
        "_lightgbm": ["LightGBMMetric", "lightgbm_metric", "lightgbm_objective"],
        "_losses": ["LossName", "probabilities"],
        "_objective": ["FairObjective"],
        "_xgboost": ["XGBoostMetric", "xgboost_metric", "xgboost_objective"],
    },
)
