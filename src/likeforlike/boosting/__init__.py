"""Objectives and metrics for gradient boosting: LightGBM and XGBoost with a penalty.

Plain callables: neither library is imported here. Both the training functions and the scikit-learn
estimators take them.
"""

from likeforlike.boosting.lightgbm import LightGBMMetric, lightgbm_metric, lightgbm_objective
from likeforlike.boosting.losses import LossName, probabilities
from likeforlike.boosting.objective import FairObjective
from likeforlike.boosting.xgboost import XGBoostMetric, xgboost_metric, xgboost_objective

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
