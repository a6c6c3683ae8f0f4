"""Models under a penalty or a limit, in the manner of scikit-learn, and models kept as files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._estimators import FairClassifier as FairClassifier
    from ._estimators import FairRegressor as FairRegressor
    from ._lightgbm import FairLGBMClassifier as FairLGBMClassifier
    from ._lightgbm import FairLGBMRegressor as FairLGBMRegressor
    from ._saved_model import InputColumn as InputColumn
    from ._saved_model import SavedModel as SavedModel
    from ._saved_model import read_model as read_model
    from ._scoring import disparity_scorer as disparity_scorer
    from ._xgboost import FairXGBClassifier as FairXGBClassifier
    from ._xgboost import FairXGBRegressor as FairXGBRegressor

attach(__name__)
