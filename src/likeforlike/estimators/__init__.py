"""Models under a penalty or a limit, in the manner of scikit-learn, and models kept as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import lazy_package

if TYPE_CHECKING:
    from likeforlike.estimators._estimators import FairClassifier, FairRegressor
    from likeforlike.estimators._saved_model import InputColumn, SavedModel, read_model
    from likeforlike.estimators._scoring import disparity_scorer

__all__ = [
    "FairClassifier",
    "FairRegressor",
    "InputColumn",
    "SavedModel",
    "disparity_scorer",
    "read_model",
]

lazy_package(
    __name__,
    {
        "_estimators": ["FairClassifier", "FairRegressor"],
        "_saved_model": ["InputColumn", "SavedModel", "read_model"],
        "_scoring": ["disparity_scorer"],
    },
)
