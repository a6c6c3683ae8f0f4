"""Penalties and what uses them: torch, boosting, estimators, repair, rivals, sweeps."""

from __future__ import annotations

import tempfile
import warnings
from typing import Any

import numpy as np
import polars as pl
import torch
from sklearn.tree import DecisionTreeClassifier

from tools.record.case import Case, columns, loans, pair, people
from tools.record.library import (
    ConditionalBarycenter,
    StackedMLP,
    experiments,
    lfl,
    penalties,
    rivals,
    training,
)

__all__ = ["CASES"]

_MEASURES: tuple[Any, ...] = ("marginal", "average", "uniform", "overlap")
_QUICK: dict[str, Any] = {"max_epochs": 3, "batch_size": 64, "random_state": 0}


def _every_penalty() -> list[penalties.Penalty]:
    return [
        *(lfl.FairLeap(measure=measure) for measure in _MEASURES),
        lfl.FairLeap(measure={0: 1.0, 1: 2.0, 2: 0.0, 3: 4.0, 4: 1.0}),
        *(lfl.FairLeap(order=order) for order in (1, 3)),
        *(lfl.FairBiT(order=order) for order in (1, 2)),
        lfl.FairBiT(level_metric="numeric"),
        lfl.FairBiT(level_cost=0.5, off_diagonal=True),
        *(lfl.WassersteinPenalty(order=order) for order in (1, 2)),
        *(lfl.FairLeap.paper(measure) for measure in ("marginal", "average", "uniform")),
        lfl.FairBiT.paper(),
        lfl.WassersteinPenalty.paper(),
    ]


def _penalties() -> object:
    layout = penalties.Layout.from_columns(people()["group"], people()["level"])
    found = {}
    for k, penalty in enumerate(_every_penalty()):
        several = np.column_stack([pair()["score"], pair()["score"] ** 2])
        found[f"{k}, {type(penalty).__name__}"] = {
            "two groups": penalty.value_and_grad(**columns(pair())),
            "three groups": penalty.value_and_grad(**columns(people())),
            "weighted": penalty.value_and_grad(**columns(pair(), weighted=True)),
            "two columns": penalty.value_and_grad(several, pair()["group"], pair()["level"]),
            "curvature": penalty.hessian_diagonal(people()["score"].to_numpy(), layout),
        }
    return found


def _slope_field() -> object:
    sample = penalties.Layout.from_columns(pair()["group"], pair()["level"])
    scores = pair()["score"].to_numpy()[None]
    field = penalties.SlopeField.fit(lfl.FairLeap(), scores, sample)
    return field.values, field.gradient(scores + 0.003, sample)


def _torch() -> object:
    scores = torch.tensor(pair()["score"].to_numpy(), requires_grad=True)
    loss = training.PenaltyLoss(lfl.FairBiT())(scores, pair()["group"], pair()["level"])
    loss.backward()
    batches = training.CellBatchSampler(
        pair()["group"], pair()["level"], batch_size=32, random_state=5
    )
    return {
        "loss": loss.item(),
        "gradient": None if scores.grad is None else scores.grad.numpy(),
        "batches": [np.array(batch) for batch in batches],
    }


def _stacked() -> object:
    network = StackedMLP(seeds=[1, 2, 1], sizes=(4, 5, 3, 1))
    inputs = torch.tensor(loans().inputs().matrix[:20], dtype=torch.float32)
    return network(inputs[None]).detach().double().numpy()


def _boosting() -> object:
    scores, groups, levels = columns(pair()).values()
    raw, weight = 4.0 * scores.to_numpy() - 2.0, pair()["weight"].to_numpy()
    targets = np.arange(raw.size) % 3 == 0
    found = {}
    for loss in ("logistic", "squared"):
        for penalty in (lfl.FairLeap(), lfl.FairBiT(order=1), lfl.WassersteinPenalty(order=3)):
            who: Any = (penalty, 2.5, groups, levels)
            light = training.lightgbm_objective(*who, loss=loss)
            extreme = training.xgboost_objective(*who, loss=loss, learning_rate=0.05)
            found[f"{type(penalty).__name__}, {loss}"] = {
                "lightgbm": light(targets, raw),
                "lightgbm, weighted": light(targets, raw, weight),
                "xgboost": extreme(targets, raw),
                "lightgbm metric": training.lightgbm_metric(*who, loss=loss)(targets, raw),
                "xgboost metric": training.xgboost_metric(*who, loss=loss)(targets, raw),
            }
    return found, training.probabilities(raw)


def _who() -> dict[str, Any]:
    return {"sensitive_features": loans().groups, "legitimate_features": loans().levels}


def _fitted(model: Any, **settings: Any) -> dict[str, object]:  # noqa: ANN401
    """What an estimator with a network inside has learned."""
    inputs = loans().inputs().matrix
    regression = hasattr(model, "predict_proba") is False
    targets = loans().frame["score"].to_numpy() if regression else loans().targets
    model.fit(inputs, targets, **_who(), **settings)
    scores = model.predict(inputs) if regression else model.predict_proba(inputs)
    disparity = model.disparity_
    return {
        "scores": np.asarray(scores, dtype=np.float64),
        "losses": np.asarray(model.loss_curve_, dtype=np.float64),
        "epochs": model.n_iter_,
        "strength": model.strength_,
        "coverage": model.coverage_,
        "disparity": None if disparity is None else (disparity.value, disparity.interval),
    }


def _fair_classifier() -> object:
    weight = 1.0 + np.arange(400) % 3
    return {
        "default penalty": _fitted(lfl.FairClassifier(strength=2.0, **_QUICK)),
        "weighted": _fitted(lfl.FairClassifier(**_QUICK), sample_weight=weight),
        "no penalty": _fitted(lfl.FairClassifier(strength=0.0, **_QUICK)),
        "FairBiT": _fitted(lfl.FairClassifier(penalty=lfl.FairBiT(), strength=5.0, **_QUICK)),
        "limit": _limited(),
    }


def _limited() -> object:
    model = lfl.FairClassifier(max_disparity=0.05, learning_rate=0.01, **_QUICK)
    fitted = _fitted(model)
    return fitted, [(tried.strength, tried.loss, tried.disparity) for tried in model.path_]


def _fair_regressor() -> object:
    smaller: dict[str, Any] = {"hidden_layer_sizes": (8,), "penalty_rows": None}
    penalty = lfl.WassersteinPenalty()
    return {
        "default penalty": _fitted(lfl.FairRegressor(strength=2.0, **_QUICK)),
        "other settings": _fitted(lfl.FairRegressor(penalty=penalty, **smaller, **_QUICK)),
    }


def _rivals() -> object:
    return {
        "DCFRClassifier": _fitted(rivals.DCFRClassifier(**_QUICK)),
        "DCFRRegressor": _fitted(rivals.DCFRRegressor(strength=0.5, **_QUICK)),
        "AdversarialClassifier": _fitted(rivals.AdversarialClassifier(**_QUICK)),
        "AdversarialRegressor": _fitted(rivals.AdversarialRegressor(strength=3.0, **_QUICK)),
    }


def _rivals_without_networks() -> object:
    inputs, targets = loans().inputs().matrix, loans().targets
    repaired = {
        within: rivals.QuantileRepair(0.7, within_levels=within).fit(inputs, **_who())
        for within in (False, True)
    }
    only = rivals.LegitimateOnly(DecisionTreeClassifier(), columns=[0]).fit(inputs, targets)
    return {
        "QuantileRepair": [each.transform(inputs, **_who()) for each in repaired.values()],
        "LegitimateOnly": [only.levels_, only.base_rate_, only.predict_proba(inputs)],
    }


def _repair() -> object:
    scores, new = loans().frame["score"].to_numpy(), loans().frame["score"].to_numpy() + 0.01
    found = {}
    for t, decided in ((1.0, False), (0.5, False), (1.0, True)):
        own = (scores > 0.5).astype(np.float64) if decided else scores
        repair = ConditionalBarycenter(repair_level=t, min_cell=25).fit(own, **_who())
        found[f"t={t}, {'decisions' if decided else 'scores'}"] = {
            "repaired": repair.transform(own, **_who()),
            "new rows": repair.transform(own if decided else new, **_who()),
            "risk": repair.predicted_risk_,
            "distances": repair.distances_,
            "coverage": repair.coverage_,
            "fallbacks": repair.fallbacks_,
        }
    return found


# By name; newer methods of sweeps are not in the record.
_METHODS = (
    "none",
    "legitimate-only",
    "fairleap",
    "fairbit",
    "wasserstein",
    "repair",
    "adversarial",
    "dcfr",
)


def _sweep() -> object:
    task = experiments.Task(loans(), max_epochs=2, batch_size=64, with_sensitive=True)
    methods = [
        *experiments.named_methods(_METHODS, [1.0, 10.0]),
        experiments.PostProcessed(),
        experiments.WithoutSensitive("unaware", (0.0,), experiments.Plain()),
    ]
    with tempfile.TemporaryDirectory() as folder:
        journal = f"{folder}/runs.jsonl"
        with warnings.catch_warnings(action="ignore", category=lfl.errors.UnderfitWarning):
            found = experiments.sweep(task, methods, seeds=2, journal=journal, workers=0)
    frontier = found.frontier()
    return {
        "runs": _table(found.runs),
        "means": _table(_made_up(found).means()),
        "frontier": [(run["method"], run["strength"]) for run in frontier.best],
        "hypervolume": frontier.hypervolume(loss=1.0, disparity=1.0),
    }


def _made_up(found: experiments.Sweep) -> experiments.Sweep:
    """The same runs with figures that do not come from training, so that spreads are exact."""
    figures = [
        ((pl.int_range(pl.len()) + k) * 0.37 % 1.0).alias(name)
        for k, name in enumerate(found.runs.columns)
        if name not in ("method", "strength", "seed", "rows")
    ]
    return experiments.Sweep(found.runs.with_columns(figures), found.task)


def _table(frame: pl.DataFrame) -> dict[str, object]:
    return {column.name: column.to_list() for column in frame}


def _kept_model() -> object:
    task = experiments.Task(loans(), max_epochs=2)
    method = experiments.Penalized("FairLeap", (10.0,), lfl.FairLeap())
    model = experiments.fit_model(task, method, strength=10.0)
    parts = experiments.split(loans(), [3, 4])
    return model.scores(loans().frame), parts.train_rows, parts.test_rows


CASES = {
    "penalties": Case(_penalties),
    "slope field": Case(_slope_field),
    "torch": Case(_torch),
    "stacked networks": Case(_stacked, trains=True),
    "boosting": Case(_boosting),
    "FairClassifier": Case(_fair_classifier, trains=True),
    "FairRegressor": Case(_fair_regressor, trains=True),
    "rivals": Case(_rivals, trains=True),
    "rivals without networks": Case(_rivals_without_networks),
    "repair": Case(_repair),
    "sweep": Case(_sweep, trains=True),
    "model to keep": Case(_kept_model, trains=True),
}
