"""Models under a penalty or a limit: estimators, losses and objectives for your own loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from likeforlike._lazy import attach

if TYPE_CHECKING:
    from ._base import disparity_scorer as disparity_scorer
    from ._catboost import FairCatBoostClassifier as FairCatBoostClassifier
    from ._catboost import FairCatBoostRegressor as FairCatBoostRegressor
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

if TYPE_CHECKING:  # what other packages use; it may change at any time
    from ._base import BaseEstimator as BaseEstimator
    from ._base import ClassifierMixin as ClassifierMixin
    from ._base import MetaEstimatorMixin as MetaEstimatorMixin
    from ._base import OneToOneFeatureMixin as OneToOneFeatureMixin
    from ._base import RegressorMixin as RegressorMixin
    from ._base import TransformerMixin as TransformerMixin
    from ._base import check_count as check_count
    from ._base import check_sizes as check_sizes
    from ._limits import Limit as Limit
    from ._limits import Table as Table
    from ._limits import estimate_level_disparity as estimate_level_disparity
    from ._limits import estimate_smooth_disparity as estimate_smooth_disparity
    from ._limits import make_score_cells as make_score_cells
    from ._network_estimators import Fitted as Fitted
    from ._network_estimators import Member as Member
    from ._network_estimators import NetworkClassifier as NetworkClassifier
    from ._network_estimators import NetworkEstimator as NetworkEstimator
    from ._network_estimators import NetworkRegressor as NetworkRegressor
    from ._network_estimators import finish_fit as finish_fit
    from ._networks import Adadelta as Adadelta
    from ._networks import Adam as Adam
    from ._networks import Loss as Loss
    from ._networks import Rows as Rows
    from ._networks import StackedMLP as StackedMLP
    from ._networks import limit_to_one_thread as limit_to_one_thread
    from ._networks import mean_losses as mean_losses
    from ._saved_model import InputColumn as InputColumn
    from ._saved_model import model_from_document as model_from_document
    from ._training import EarlyStopping as EarlyStopping
    from ._training import Epoch as Epoch
    from ._training import Follow as Follow
    from ._training import Recipe as Recipe
    from ._training import Trained as Trained
    from ._training import evaluate as evaluate
    from ._training import make_batches as make_batches
    from ._training import prepare as prepare
    from ._training import strength_unit as strength_unit
    from ._training import train as train

attach(__name__)
