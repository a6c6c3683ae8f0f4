"""Objectives and metrics for gradient boosting: LightGBM and XGBoost with a penalty.

Plain callables: neither library is imported here. Both the training functions and the scikit-learn
estimators take them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._lightgbm import LightGBMMetric as LightGBMMetric
    from ._lightgbm import lightgbm_metric as lightgbm_metric
    from ._lightgbm import lightgbm_objective as lightgbm_objective
    from ._losses import LossName as LossName
    from ._losses import probabilities as probabilities
    from ._objective import FairObjective as FairObjective
    from ._xgboost import XGBoostMetric as XGBoostMetric
    from ._xgboost import xgboost_metric as xgboost_metric
    from ._xgboost import xgboost_objective as xgboost_objective

attach(__name__)
