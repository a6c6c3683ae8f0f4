"""Models under a penalty or a limit: estimators, losses and objectives for your own loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._base import disparity_scorer as disparity_scorer
    from ._custom_loops import CellBatchSampler as CellBatchSampler
    from ._custom_loops import PenaltyLoss as PenaltyLoss
    from ._custom_loops import SlopeFieldLoss as SlopeFieldLoss
    from ._lightgbm import FairLGBMClassifier as FairLGBMClassifier
    from ._lightgbm import FairLGBMRegressor as FairLGBMRegressor
    from ._network_estimators import FairClassifier as FairClassifier
    from ._network_estimators import FairRegressor as FairRegressor
    from ._objectives import lightgbm_metric as lightgbm_metric
    from ._objectives import lightgbm_objective as lightgbm_objective
    from ._objectives import xgboost_metric as xgboost_metric
    from ._objectives import xgboost_objective as xgboost_objective
    from ._saved_model import SavedModel as SavedModel
    from ._trees import probabilities as probabilities
    from ._xgboost import FairXGBClassifier as FairXGBClassifier
    from ._xgboost import FairXGBRegressor as FairXGBRegressor

attach(__name__)
