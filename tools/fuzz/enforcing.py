"""Penalties, objectives of boosting, repairs, estimators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

import likeforlike as lfl
from likeforlike.experiments.rivals import QuantileRepair
from likeforlike.penalties import Penalty
from likeforlike.repair import ConditionalBarycenter
from likeforlike.training import (
    PenaltyLoss,
    lightgbm_metric,
    lightgbm_objective,
    probabilities,
    xgboost_metric,
    xgboost_objective,
)
from tools.fuzz import settings
from tools.fuzz.columns import hostile, labels, plain_scores, scores, weights
from tools.fuzz.draw import Draw
from tools.fuzz.measuring import rows
from tools.fuzz.runner import Target

__all__ = ["TARGETS"]


def _penalty(draw: Draw, levels: Any) -> Penalty:  # noqa: ANN401
    kind = draw.pick(("leap", "bit", "all"))
    if kind == "leap":
        return draw.call(
            lfl.FairLeap,
            measure=settings.measure(draw, levels),
            order=settings.order(draw),
            summed=draw.happens(0.2),
        )
    if kind == "all":
        return draw.call(lfl.WassersteinPenalty, order=settings.order(draw))
    return draw.call(
        lfl.FairBiT,
        order=settings.order(draw),
        level_metric=settings.any_of(draw, "discrete", "ordinal", "numeric"),
        level_cost=None if draw.happens(0.6) else settings.number(draw, 0.0, 1.0),
        off_diagonal=draw.pick((None, True, False)),
    )


def _reach(values: Any) -> float:  # noqa: ANN401
    plain = np.asarray(values, dtype=np.float64)
    return float(plain.max() - plain.min())


def _check_penalty(value: float, gradient: Any, order: float, reach: float) -> None:  # noqa: ANN401
    """Raise unless a value and a gradient can be those of scores of this reach."""
    power = math.log10(reach) if reach > 0.0 else -math.inf
    assert not math.isnan(value), value
    assert value >= -1e-9, value
    assert math.isfinite(value) or order * power > 290.0, (value, order, reach)
    if (order - 1.0) * power > 290.0:
        return
    assert np.isfinite(gradient).all(), gradient
    # Whoever adds the same to all scores changes nothing.
    rounding = 1e-12 * order * 10.0 ** (power * (order - 1.0)) if reach > 0.0 else 0.0
    # The smallest numbers there are have no digits left to round to.
    rounding += gradient.size * float(np.finfo(np.float64).smallest_subnormal)
    assert abs(gradient.sum()) <= 1e-6 * np.abs(gradient).sum() + rounding, gradient


def _penalties(draw: Draw) -> None:
    given = rows(draw)
    if draw.happens(0.15):
        size = draw.pick((2, 6, 12))
        given |= {"scores": draw.numpy.random((size, draw.randint(0, 3)))}
    penalty = _penalty(draw, given["legitimate_features"])
    value, gradient = draw.call(penalty.value_and_grad, **given)
    if gradient.ndim == 1:
        _check_penalty(value, gradient, penalty.order, _reach(given["scores"]))


def _penalty_loss(draw: Draw) -> None:
    given = rows(draw)
    loss = PenaltyLoss(_penalty(draw, given["legitimate_features"]))
    try:
        made = torch.tensor(np.asarray(given["scores"], dtype=np.float64))
    except Exception:  # noqa: BLE001
        made = torch.rand(4)
    kind = draw.pick((torch.float64, torch.float32, torch.float16, torch.int64))
    tensor = made.to(kind)
    if tensor.is_floating_point():
        tensor.requires_grad_()
    value = draw.call(
        loss,
        tensor,
        given["sensitive_features"],
        given["legitimate_features"],
        given["sample_weight"],
    )
    value.backward()
    assert not torch.isnan(value), value
    assert tensor.grad is not None
    assert torch.isfinite(tensor.grad).all(), tensor.grad


def _objectives(draw: Draw) -> None:
    given = rows(draw)
    penalty = _penalty(draw, given["legitimate_features"])
    make = draw.pick((lightgbm_objective, xgboost_objective, lightgbm_metric, xgboost_metric))
    loss = settings.any_of(draw, "squared", "logistic")
    more: dict[str, Any] = {"loss": loss, "sample_weight": given["sample_weight"]}
    strength = settings.number(draw, 0.0, 1.0, 100.0)
    if make in (lightgbm_objective, xgboost_objective):
        more["learning_rate"] = settings.number(draw, 0.1, 1.0)
    maker: Any = make
    made: Any = draw.call(
        maker, penalty, strength, given["sensitive_features"], given["legitimate_features"], **more
    )
    size = len(given["sensitive_features"])
    target: Any = draw.numpy.integers(0, 2, size) if loss == "logistic" else scores(draw, size)
    found = draw.call(made, target, given["scores"])
    if make in (lightgbm_objective, xgboost_objective):
        gradient, hessian = found
        assert np.isfinite(gradient).all(), gradient
        assert np.isfinite(hessian).all(), hessian
        assert (hessian > 0.0).all(), hessian
    else:
        assert not math.isnan(found[1] if isinstance(found, tuple) else found), found


def _probabilities(draw: Draw) -> None:
    size = draw.pick((1, 5))
    made = scores(draw, size) if draw.happens(0.7) else hostile(draw, size)
    found = draw.call(probabilities, made)
    assert ((found >= 0.0) & (found <= 1.0)).all(), found


def _repair(draw: Draw) -> None:
    given = rows(draw)
    repair = draw.call(
        ConditionalBarycenter,
        repair_level=settings.number(draw, 0.0, 0.5, 1.0),
        min_cell=settings.count(draw, 1, 2, 5),
        random_state=settings.count(draw, 0, 7),
    )
    columns = {
        "sensitive_features": given["sensitive_features"],
        "legitimate_features": given["legitimate_features"],
        "sample_weight": given["sample_weight"],
    }
    found = draw.call(repair.fit_transform, given["scores"], **columns)
    plain = np.asarray(given["scores"], dtype=np.float64)
    slack = 1e-9 * np.abs(plain).max()
    assert np.isfinite(found).all(), found
    assert (found >= plain.min() - slack).all(), found
    assert (found <= plain.max() + slack).all(), found
    assert np.isfinite(repair.distances_).all(), repair.distances_
    assert not math.isnan(repair.predicted_risk_), repair.predicted_risk_
    other = scores(draw, len(plain))
    again = draw.call(repair.transform, other, **columns)
    assert np.isfinite(again).all(), again


def _quantile_repair(draw: Draw) -> None:
    given = rows(draw, weighted=False)
    try:
        size = len(given["sensitive_features"])
    except TypeError:  # a number, or an array without a dimension
        size = 4
    table: Any = np.column_stack([plain_scores(draw, size) for _ in range(2)])
    if draw.happens(0.1):
        table = hostile(draw, size)
    repair = draw.call(
        QuantileRepair,
        settings.number(draw, 0.0, 0.5, 1.0),
        within_levels=draw.happens(0.3),
        min_cell=settings.count(draw, 1, 2, 5),
    )
    found = draw.call(
        repair.fit_transform,
        table,
        sensitive_features=given["sensitive_features"],
        legitimate_features=given["legitimate_features"],
    )
    assert np.isfinite(np.asarray(found, dtype=np.float64)).all(), found


def _estimators(draw: Draw) -> None:
    size = draw.pick((30, 120))
    inputs: Any = draw.numpy.normal(size=(size, 2)) * 10.0 ** draw.uniform(-200.0, 200.0)
    target: Any = draw.numpy.integers(0, 2, size)
    make = draw.pick((lfl.FairClassifier, lfl.FairRegressor))
    if make is lfl.FairRegressor:
        target = scores(draw, size)
    if draw.happens(0.15):
        inputs = hostile(draw, size)
    if draw.happens(0.1):
        target = hostile(draw, size)
    limited = draw.happens(0.2)
    model: Any = draw.call(
        make,
        strength=None if limited else settings.number(draw, 0.0, 1.0, 10.0),
        max_disparity=settings.number(draw, 0.1) if limited else None,
        hidden_layer_sizes=settings.any_of(draw, (4,), (), (3, 2)),
        max_epochs=settings.count(draw, 1, 2),
        batch_size=settings.count(draw, 16, 64),
        penalty_rows=draw.pick((None, 64)),
        random_state=settings.count(draw, 0, 3),
    )
    _fit_and_predict(draw, model, inputs, target, size)


def _fit_and_predict(draw: Draw, model: Any, inputs: Any, target: Any, size: int) -> None:  # noqa: ANN401
    """Fit a model to some groups and levels; what it predicts is finite."""
    draw.call(
        model.fit,
        inputs,
        target,
        sensitive_features=labels(draw, size)
        if draw.happens(0.5)
        else draw.numpy.integers(0, 2, size),
        legitimate_features=labels(draw, size) if draw.happens(0.3) else None,
        sample_weight=weights(draw, size) if draw.happens(0.3) else None,
    )
    found = draw.call(model.predict, inputs)
    if hasattr(model, "predict_proba"):
        found = model.predict_proba(inputs)
    assert np.isfinite(found).all(), found


def _trees(draw: Draw) -> None:
    size = draw.pick((30, 120, 300))
    inputs: Any = draw.numpy.normal(size=(size, 2)) * 10.0 ** draw.uniform(-200.0, 200.0)
    inputs[draw.numpy.random((size, 2)) < draw.pick((0.0, 0.2))] = np.nan
    makers: tuple[Any, ...] = (
        lfl.FairLGBMClassifier,
        lfl.FairXGBClassifier,
        lfl.FairCatBoostClassifier,
    )
    classify = draw.happens(0.5)
    if not classify:
        makers = (lfl.FairLGBMRegressor, lfl.FairXGBRegressor, lfl.FairCatBoostRegressor)
    target: Any = draw.numpy.integers(0, 2, size) if classify else scores(draw, size)
    if draw.happens(0.15):
        inputs = hostile(draw, size)
    if draw.happens(0.1):
        target = hostile(draw, size)
    limited = draw.happens(0.2)
    model: Any = draw.call(
        draw.pick(makers),
        penalty=_penalty(draw, None) if draw.happens(0.5) else None,
        strength=None if limited else settings.number(draw, 0.0, 1.0, 1000.0),
        max_disparity=settings.number(draw, 0.1) if limited else None,
        n_estimators=settings.count(draw, 1, 5),
        learning_rate=settings.number(draw, 0.1, 1.0),
        reg_lambda=settings.number(draw, 0.0, 1.0),
        random_state=settings.count(draw, 0, 3),
    )
    _fit_and_predict(draw, model, inputs, target, size)


TARGETS = {
    "penalties": Target(_penalties, 2200),
    "PenaltyLoss": Target(_penalty_loss, 500),
    "boosting": Target(_objectives, 900),
    "probabilities": Target(_probabilities, 300),
    "ConditionalBarycenter": Target(_repair, 900),
    "QuantileRepair": Target(_quantile_repair, 250, scikit_learn=True),
    "estimators": Target(_estimators, 25, scikit_learn=True),
    "trees": Target(_trees, 50, scikit_learn=True),
}
