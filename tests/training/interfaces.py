"""The four ways to train: LightGBM and XGBoost, each by its training function and its estimators.

Each trains on some rows, may watch others and stop early, and gives raw scores afterwards. A run
without an objective of ours uses the library's own, started from the same raw score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import lightgbm as lgb
import numpy as np
import numpy.typing as npt
import xgboost as xgb

from likeforlike._arrays import FloatArray
from likeforlike.training import (
    lightgbm_metric,
    lightgbm_objective,
    xgboost_metric,
    xgboost_objective,
)
from likeforlike.training._objectives import FairObjective, LightGBMMetric, XGBoostMetric
from likeforlike.training._trees import LossName

Library = Literal["lightgbm", "xgboost"]
ROUNDS = 60


class Table(NamedTuple):
    inputs: FloatArray
    targets: FloatArray
    groups: npt.NDArray[Any]
    levels: npt.NDArray[Any]
    weight: FloatArray | None = None


def table(seed: int, size: int = 600, *, loss: LossName, weighted: bool = False) -> Table:
    """Group 1 has larger inputs, and larger targets in level 1 for no other reason."""
    rng = np.random.default_rng(seed)
    groups, levels = rng.integers(0, 2, size), rng.integers(0, 3, size)
    inputs = rng.standard_normal((size, 4))
    inputs[:, 0] += groups
    inputs[:, 3] = levels
    raw = inputs[:, 0] + 0.5 * inputs[:, 1] * inputs[:, 2] + groups * (levels == 1)
    if loss == "squared":
        targets = raw + 0.5 * rng.standard_normal(size)
    else:
        targets = (raw + rng.logistic(size=size) > 0.5).astype(np.float64)
    weight = rng.random(size) + 0.5 if weighted else None
    return Table(inputs, targets, groups, levels, weight)


@dataclass(frozen=True)
class Fitted:
    """A model: raw scores of inputs, the metric by round, and the round to stop at, from 0."""

    raw: Callable[[FloatArray], FloatArray]
    history: dict[str, list[float]]
    best: int
    model: Any


@dataclass(frozen=True)
class Interface:
    """One way to train. `None` as the objective stands for the library's own."""

    library: Library
    train: Callable[..., Fitted]

    @property
    def make_objective(self) -> Callable[..., FairObjective]:
        return lightgbm_objective if self.library == "lightgbm" else xgboost_objective

    @property
    def make_metric(self) -> Callable[..., LightGBMMetric | XGBoostMetric]:
        return lightgbm_metric if self.library == "lightgbm" else xgboost_metric

    def fit(
        self,
        data: Table,
        loss: LossName,
        objective: FairObjective | None = None,
        *,
        watched: Table | None = None,
        metric: LightGBMMetric | XGBoostMetric | None = None,
        rounds: int = ROUNDS,
        patience: int | None = None,
    ) -> Fitted:
        return self.train(data, loss, objective, watched, metric, rounds, patience)


def _lightgbm_settings(loss: LossName) -> dict[str, Any]:
    own = "binary" if loss == "logistic" else "regression"
    return {
        "objective": own,
        "boost_from_average": False,
        "learning_rate": 0.2,
        "num_leaves": 7,
        "verbose": -1,
        "n_jobs": 1,
    }


def lightgbm_native(
    data: Table,
    loss: LossName,
    objective: FairObjective | None,
    watched: Table | None,
    metric: Any,
    rounds: int,
    patience: int | None,
) -> Fitted:
    settings = _lightgbm_settings(loss)
    if objective is not None:
        settings["objective"] = objective
    history: dict[str, dict[str, list[float]]] = {}
    callbacks: list[Any] = [lgb.record_evaluation(history)]
    if patience is not None:
        callbacks.append(lgb.early_stopping(patience, verbose=False))
    train = lgb.Dataset(data.inputs, data.targets, weight=data.weight)
    sets = []
    if watched is not None:
        sets = [
            lgb.Dataset(watched.inputs, watched.targets, weight=watched.weight, reference=train)
        ]
    model = lgb.train(settings, train, rounds, valid_sets=sets, feval=metric, callbacks=callbacks)
    return Fitted(
        lambda inputs: np.asarray(model.predict(inputs, raw_score=True)),
        history.get("valid_0", {}),
        model.best_iteration - 1,
        model,
    )


def lightgbm_estimator(
    data: Table,
    loss: LossName,
    objective: FairObjective | None,
    watched: Table | None,
    metric: Any,
    rounds: int,
    patience: int | None,
) -> Fitted:
    settings = _lightgbm_settings(loss)
    if objective is not None:
        settings["objective"] = objective
        # The estimators add a metric of their own, which takes raw scores for probabilities.
        settings["metric"] = "None"
    kind: Any = lgb.LGBMClassifier if loss == "logistic" else lgb.LGBMRegressor
    model = kind(n_estimators=rounds, **settings)
    watching: dict[str, Any] = {}
    if watched is not None:
        watching = {
            "eval_X": (watched.inputs,),
            "eval_y": (watched.targets,),
            "eval_sample_weight": [watched.weight],
            "eval_metric": metric,
        }
    if patience is not None:
        watching["callbacks"] = [lgb.early_stopping(patience, verbose=False)]
    model.fit(data.inputs, data.targets, sample_weight=data.weight, **watching)
    best = -1 if patience is None else model.best_iteration_ - 1
    history = model.evals_result_.get("valid_0", {}) if watched is not None else {}
    return Fitted(lambda inputs: model.predict(inputs, raw_score=True), history, best, model)


def _xgboost_settings(loss: LossName) -> dict[str, Any]:
    own = "binary:logistic" if loss == "logistic" else "reg:squarederror"
    return {
        "objective": own,
        "base_score": 0.5,
        "learning_rate": 0.2,
        "max_depth": 3,
        "n_jobs": 1,
    }


def xgboost_native(
    data: Table,
    loss: LossName,
    objective: FairObjective | None,
    watched: Table | None,
    metric: Any,
    rounds: int,
    patience: int | None,
) -> Fitted:
    history: dict[str, Any] = {}
    settings = _xgboost_settings(loss)
    settings["nthread"] = settings.pop("n_jobs")
    sets = []
    if watched is not None:
        sets = [(xgb.DMatrix(watched.inputs, watched.targets, weight=watched.weight), "valid")]
    model = xgb.train(
        settings,
        xgb.DMatrix(data.inputs, data.targets, weight=data.weight),
        rounds,
        evals=sets,
        obj=objective,
        custom_metric=metric,
        evals_result=history,
        early_stopping_rounds=patience,
        verbose_eval=False,
    )
    best = -1 if patience is None else model.best_iteration

    def raw(inputs: FloatArray) -> FloatArray:
        until = (0, best + 1) if patience is not None else (0, 0)
        data = xgb.DMatrix(inputs)
        found = model.predict(data, output_margin=True, iteration_range=until)
        return np.asarray(found, np.float64)

    return Fitted(raw, history.get("valid", {}), best, model)


def xgboost_estimator(
    data: Table,
    loss: LossName,
    objective: FairObjective | None,
    watched: Table | None,
    metric: Any,
    rounds: int,
    patience: int | None,
) -> Fitted:
    settings = _xgboost_settings(loss)
    if objective is not None:
        settings["objective"] = objective
    kind: Any = xgb.XGBClassifier if loss == "logistic" else xgb.XGBRegressor
    model = kind(
        n_estimators=rounds, eval_metric=metric, early_stopping_rounds=patience, **settings
    )
    watching: dict[str, Any] = {}
    if watched is not None:
        watching = {"eval_set": [(watched.inputs, watched.targets)]}
        if watched.weight is not None:
            watching["sample_weight_eval_set"] = [watched.weight]
    model.fit(data.inputs, data.targets, sample_weight=data.weight, verbose=False, **watching)
    history = model.evals_result()["validation_0"] if watched is not None else {}
    best = -1 if patience is None else model.best_iteration
    return Fitted(
        lambda inputs: np.asarray(model.predict(inputs, output_margin=True), np.float64),
        history,
        best,
        model,
    )


INTERFACES = {
    "lightgbm.train": Interface("lightgbm", lightgbm_native),
    "LGBM": Interface("lightgbm", lightgbm_estimator),
    "xgboost.train": Interface("xgboost", xgboost_native),
    "XGB": Interface("xgboost", xgboost_estimator),
}
