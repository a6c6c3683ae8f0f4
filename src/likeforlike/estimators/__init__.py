"""Models under a penalty or a limit, in the manner of scikit-learn, and models kept as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.estimators._estimators import FairClassifier, FairRegressor
    from likeforlike.estimators._lightgbm import FairLGBMClassifier, FairLGBMRegressor
    from likeforlike.estimators._saved_model import InputColumn, SavedModel, read_model
    from likeforlike.estimators._scoring import disparity_scorer
    from likeforlike.estimators._xgboost import FairXGBClassifier, FairXGBRegressor

__all__ = [
    "FairClassifier",
    "FairLGBMClassifier",
    "FairLGBMRegressor",
    "FairRegressor",
    "FairXGBClassifier",
    "FairXGBRegressor",
    "InputColumn",
    "SavedModel",
    "disparity_scorer",
    "read_model",
]

lazy_package(
    __name__,
    {
        "_estimators": ["FairClassifier", "FairRegressor"],
        "_lightgbm": ["FairLGBMClassifier", "FairLGBMRegressor"],
        "_saved_model": ["InputColumn", "SavedModel", "read_model"],
        "_scoring": ["disparity_scorer"],
        "_xgboost": ["FairXGBClassifier", "FairXGBRegressor"],
    },
)
