"""Derivatives against finite differences of the total objective, and what bounds promise."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.penalties import Penalty
from likeforlike.training import (
    lightgbm_metric,
    lightgbm_objective,
    probabilities,
    xgboost_metric,
    xgboost_objective,
)
from likeforlike.training._objectives import FairObjective
from likeforlike.training._trees import LossName
from tests.support.oracles import slopes

PENALTIES: list[Penalty] = [
    lfl.FairLeap(),
    lfl.FairBiT(),
    lfl.WassersteinPenalty(),
    lfl.FairLeap("uniform", 1.5),
    lfl.FairBiT(3.0),
]
LOSSES: list[LossName] = ["logistic", "squared"]


class Rows(NamedTuple):
    raw: FloatArray
    targets: FloatArray
    groups: IntArray
    levels: IntArray
    weight: FloatArray | None


def rows(seed: int, loss: LossName, *, weighted: bool, size: int = 50, n_groups: int = 2) -> Rows:
    """Unequal cells, a level with one group only, a singleton, and a row of weight 0."""
    rng = np.random.default_rng(seed)
    groups = rng.choice(n_groups, size, p=np.arange(1, n_groups + 1) / math.comb(n_groups + 1, 2))
    levels = rng.integers(0, 3, size)
    levels[:3], groups[:3] = 3, 0
    levels[3:5], groups[3:5] = 4, [0, 1]
    targets = rng.standard_normal(size)
    if loss == "logistic":
        targets = (targets > 0.0).astype(np.float64)
    weight = rng.random(size) + 0.1 if weighted else None
    if weight is not None:
        weight[7] = 0.0
    return Rows(1.5 * rng.standard_normal(size), targets, groups, levels, weight)


def mean_loss_and_penalty(
    penalty: Penalty, strength: float, loss: LossName, data: Rows, raw: FloatArray
) -> float:
    """Mean loss + strength * V, row by row from the formulas."""
    weight = np.ones(raw.size) if data.weight is None else data.weight
    total, scores = 0.0, np.empty(raw.size)
    for i, (z, y) in enumerate(zip(raw.tolist(), data.targets.tolist(), strict=True)):
        if loss == "squared":
            total += weight[i] * (z - y) ** 2
            scores[i] = z
        else:
            scores[i] = 1.0 / (1.0 + math.exp(-z))
            total -= weight[i] * math.log(scores[i] if y == 1.0 else 1.0 - scores[i])
    value, _ = penalty.value_and_grad(scores, data.groups, data.levels, data.weight)
    return float(total / weight.sum() + strength * value)


def objective_of(
    penalty: Penalty, strength: float, loss: LossName, data: Rows, learning_rate: float = 1.0
) -> FairObjective:
    return lightgbm_objective(
        penalty,
        strength,
        data.groups,
        data.levels,
        loss=loss,
        sample_weight=data.weight,
        learning_rate=learning_rate,
    )


def handed_over(loss: LossName, data: Rows) -> float:
    """n_w times the mean, halved for the squared loss."""
    mass = data.raw.size if data.weight is None else data.weight.sum()
    return float(mass * (0.5 if loss == "squared" else 1.0))


@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_gradients_equal_finite_differences(
    penalty: Penalty, loss: LossName, weighted: bool, n_groups: int
) -> None:
    data = rows(1, loss, weighted=weighted, n_groups=n_groups)
    gradient, hessian = objective_of(penalty, 3.0, loss, data)(data.targets, data.raw)

    def total(raw: FloatArray) -> float:
        return handed_over(loss, data) * mean_loss_and_penalty(penalty, 3.0, loss, data, raw)

    np.testing.assert_allclose(gradient, slopes(total, data.raw, 1e-6), rtol=1e-6, atol=2e-6)
    assert (hessian > 0.0).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_strength_zero_leaves_the_loss(loss: LossName, weighted: bool) -> None:
    data = rows(2, loss, weighted=weighted)
    gradient, hessian = objective_of(lfl.FairLeap(), 0, loss, data)(data.targets, data.raw)
    weight = np.ones(data.raw.size) if data.weight is None else data.weight
    chance = 1.0 / (1.0 + np.exp(-data.raw))
    slope = data.raw - data.targets if loss == "squared" else chance - data.targets
    bend = np.ones(data.raw.size) if loss == "squared" else chance * (1.0 - chance)
    np.testing.assert_allclose(gradient, weight * slope, rtol=1e-12)
    np.testing.assert_allclose(hessian, np.maximum(weight * bend, 1e-16), rtol=1e-12)


@pytest.mark.parametrize("strength", [0.5, 20.0])
@pytest.mark.parametrize("penalty", PENALTIES[:3], ids=repr)
def test_second_derivatives_are_a_bound(penalty: Penalty, strength: float) -> None:
    data = rows(3, "squared", weighted=True)
    gradient, hessian = objective_of(penalty, strength, "squared", data)(data.targets, data.raw)
    scale = handed_over("squared", data)

    def total(raw: FloatArray) -> float:
        return scale * mean_loss_and_penalty(penalty, strength, "squared", data, raw)

    at, rng = total(data.raw), np.random.default_rng(4)
    for size in (0.01, 0.3, 3.0):
        for apart in (False, True):
            for _ in range(20):
                step = size * rng.standard_normal(data.raw.size)
                if apart:
                    step = size * np.where(data.groups == 0, -1.0, 1.0) * rng.random(data.raw.size)
                limit = at + gradient @ step + 0.5 * hessian @ step**2
                assert total(data.raw + step) <= limit + 1e-9 * abs(limit)


@pytest.mark.parametrize("learning_rate", [0.1, 0.3, 1.0])
@pytest.mark.parametrize("strength", [1.0, 100.0])
@pytest.mark.parametrize("penalty", PENALTIES[:3], ids=repr)
def test_no_step_of_trees_makes_the_objective_worse(
    penalty: Penalty, strength: float, learning_rate: float
) -> None:
    """Steps -η ΣG / ΣH over leaves drawn at random, as boosting takes them."""
    data = rows(5, "squared", weighted=True)
    objective = objective_of(penalty, strength, "squared", data, learning_rate)
    rng, raw = np.random.default_rng(6), data.raw.copy()
    before = mean_loss_and_penalty(penalty, strength, "squared", data, raw)
    for _ in range(60):
        gradient, hessian = objective(data.targets, raw)
        leaves = rng.integers(0, rng.integers(1, raw.size + 1), raw.size)
        sums = [np.bincount(leaves, column) for column in (gradient, hessian)]
        raw -= learning_rate * (sums[0] / np.maximum(sums[1], 1e-16))[leaves]
        after = mean_loss_and_penalty(penalty, strength, "squared", data, raw)
        assert after <= before * (1.0 + 1e-12)
        before = after


def test_the_learning_rate_scales_the_penalty_alone() -> None:
    data = rows(7, "squared", weighted=False)
    first, full = objective_of(lfl.FairLeap(), 4.0, "squared", data)(data.targets, data.raw)
    same, part = objective_of(lfl.FairLeap(), 4.0, "squared", data, 0.25)(data.targets, data.raw)
    np.testing.assert_array_equal(first, same)
    np.testing.assert_allclose(part - 1.0, 0.25 * (full - 1.0), rtol=1e-12)


def test_far_raw_scores_keep_their_derivatives() -> None:
    raw = np.array([-800.0, -40.0, 40.0, 800.0])
    objective = lightgbm_objective(lfl.FairLeap(), 1.0, [0, 1, 0, 1])
    gradient, hessian = objective(np.array([0.0, 0.0, 1.0, 0.0]), raw)
    assert np.isfinite(gradient).all()
    assert (hessian >= 1e-16).all()
    metric = lightgbm_metric(lfl.FairLeap(), 0.0, [0, 1, 0, 1])
    assert metric([0.0, 0.0, 1.0, 0.0], raw)[1] == pytest.approx(200.0, rel=1e-12)
    np.testing.assert_allclose(
        probabilities(raw), [0.0, math.exp(-40.0), 1.0 - math.exp(-40.0), 1.0], rtol=1e-14
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
def test_metrics_are_mean_loss_and_penalty(
    penalty: Penalty, loss: LossName, weighted: bool
) -> None:
    data = rows(8, loss, weighted=weighted)
    expected = mean_loss_and_penalty(penalty, 3.0, loss, data, data.raw)
    given = penalty, 3.0, data.groups, data.levels
    name, value, higher = lightgbm_metric(*given, loss=loss, sample_weight=data.weight)(
        data.targets, data.raw
    )
    assert (name, higher) == (f"penalized_{loss}", False)
    assert value == pytest.approx(expected, rel=1e-9)
    # Weights that come with the data mean the same.
    metric = xgboost_metric(*given, loss=loss)
    assert metric.__name__ == name
    assert metric(data.targets, data.raw, sample_weight=data.weight) == pytest.approx(value)


def test_weights_of_the_data_and_given_weights_mean_the_same() -> None:
    data = rows(9, "logistic", weighted=True)
    given = objective_of(lfl.FairBiT(), 2.0, "logistic", data)
    bare = lightgbm_objective(lfl.FairBiT(), 2.0, data.groups, data.levels, learning_rate=1.0)
    expected = given(data.targets, data.raw)
    assert data.weight is not None
    for found in (
        bare(data.targets, data.raw, data.weight),
        given(data.targets, data.raw, data.weight.astype(np.float32)),
    ):
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)
    with pytest.raises(
        lfl.errors.InputError, match="sample_weight differs from the weights of the data"
    ):
        given(data.targets, data.raw, data.weight + 0.1)


def test_labels_may_be_columns_of_any_kind() -> None:
    groups, levels = ["f", "m", "f", "m"], ["a", "a", "b", "b"]
    targets, raw = [0.0, 1.0, 1.0, 0.0], [0.1, 0.2, 0.3, -0.4]
    first, _ = lightgbm_objective(lfl.FairLeap(), 1.0, groups, levels)(targets, raw)
    again, _ = lightgbm_objective(lfl.FairLeap(), 1.0, np.array([0, 1, 0, 1]), [5, 5, 7, 7])(
        np.array(targets, np.float32), np.array(raw)[:, None]
    )
    np.testing.assert_allclose(first, again, rtol=1e-12)


@pytest.mark.parametrize("make", [lightgbm_objective, xgboost_objective])
def test_objectives_are_pickled_and_copied(make: Callable[..., FairObjective]) -> None:
    data = rows(10, "squared", weighted=True)
    objective = make(lfl.FairLeap(), 2.0, data.groups, data.levels, loss="squared")
    expected = objective(data.targets, data.raw)
    for other in (pickle.loads(pickle.dumps(objective)), copy.deepcopy(objective)):
        np.testing.assert_array_equal(other(data.targets, data.raw), expected)
    assert "FairLeap" in repr(objective)
    assert len(repr(objective)) < 200


def test_metrics_are_pickled() -> None:
    for make in (lightgbm_metric, xgboost_metric):
        metric = make(lfl.FairLeap(), 2.0, [0, 1], loss="squared")
        again = pickle.loads(pickle.dumps(metric))
        assert again([0.0, 1.0], [0.5, 0.5]) == metric([0.0, 1.0], [0.5, 0.5])


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((lfl.FairLeap(), -1.0, [0, 1]), {}, "strength must be a finite number >= 0, not -1.0"),
        ((lfl.FairLeap(), math.nan, [0, 1]), {}, "strength"),
        ((lfl.FairLeap(), math.inf, [0, 1]), {}, "strength"),
        ((lfl.FairLeap(), "1", [0, 1]), {}, "strength"),
        ((lfl.FairLeap, 1.0, [0, 1]), {}, r"penalty must be a penalty such as FairLeap\(\)"),
        ((lfl.FairLeap(), 1.0, [0, 1]), {"loss": "hinge"}, "loss must be one of"),
        ((lfl.FairLeap(), 1.0, [0, 0]), {}, "single value 0"),
        ((lfl.FairLeap(), 1.0, [0, 1], [0, 1]), {}, "no level holds two"),
        ((lfl.FairLeap(), 1.0, [0, 1, 1], [0, 1]), {}, r"levels has 2 row\(s\)"),
        ((lfl.FairLeap(), 1.0, [0, None]), {}, "groups has 1 missing"),
        ((lfl.FairLeap(), 1.0, [0, 1]), {"sample_weight": [1.0, -1.0]}, "sample_weight"),
    ],
)
def test_bad_settings(arguments: tuple[Any, ...], settings: dict[str, Any], message: str) -> None:
    for make in (lightgbm_objective, xgboost_objective, lightgbm_metric, xgboost_metric):
        with pytest.raises(lfl.errors.InputError, match=message):
            make(*arguments, **settings)


@pytest.mark.parametrize("learning_rate", [0.0, -0.1, math.nan, "fast"])
def test_bad_learning_rate(learning_rate: float) -> None:
    with pytest.raises(lfl.errors.InputError, match="learning_rate must be a finite number > 0"):
        lightgbm_objective(lfl.FairLeap(), 1.0, [0, 1], learning_rate=learning_rate)


@pytest.mark.parametrize(
    ("targets", "raw", "weight", "message"),
    [
        ([0.0, 1.0], [0.1, 0.2], None, r"groups has 3 row\(s\), but the data have 2"),
        ([0.0, 1.0], [0.1, 0.2, 0.3], None, r"the target has 2 row\(s\)"),
        ([0.0, 1.0, 2.0], [0.1, 0.2, 0.3], None, "must be 0 or 1.*row 2 has 2"),
        ([0.0, 1.0, math.nan], [0.1, 0.2, 0.3], None, "the target has 1 value.*row 2"),
        ([0.0, 1.0, 1.0], [0.1, math.inf, 0.3], None, "raw score of row 1 is inf.*diverged"),
        ([0.0, 1.0, 1.0], np.zeros((3, 3)), None, r"shape \(3, 3\): several classes"),
        ([0.0, 1.0, 1.0], [0.1, 0.2, 0.3], [1.0, 1.0], r"the weight of the data has 2 row\(s\)"),
        ([0.0, 1.0, 1.0], [0.1, 0.2, 0.3], [1.0, 0.0, 0.0], "no level holds two"),
    ],
)
def test_bad_data(targets: list[float], raw: FloatArray, weight: list[float], message: str) -> None:
    for make in (lightgbm_objective, lightgbm_metric, xgboost_metric):
        with pytest.raises(lfl.errors.InputError, match=message):
            make(lfl.FairLeap(), 1.0, ["f", "m", "m"])(targets, raw, weight)


def test_bad_raw_scores_for_probabilities() -> None:
    with pytest.raises(lfl.errors.InputError, match="raw has 1 value"):
        probabilities([0.0, math.nan])


@pytest.mark.parametrize("make", [lightgbm_metric, xgboost_metric, xgboost_objective])
def test_complex_raw_scores_are_refused_and_not_cut(make: Callable[..., Any]) -> None:
    handed = make(lfl.FairLeap(), 1.0, ["f", "m"], loss="squared")
    with pytest.raises(lfl.errors.InputError, match="the raw scores must be numbers"):
        handed(np.array([0.0, 2.0]), np.array([1.0 + 1.0j, 2.0]))


def test_a_strength_of_numpy_holds_any_disparity() -> None:
    handed = lightgbm_metric(lfl.FairLeap(), np.float32(1.5), ["f", "m"], loss="squared")  # type: ignore[arg-type]  # a narrow type
    _, value, _ = handed(np.array([0.0, 1.0]), np.array([0.0, 1e50]))
    assert 1e90 < value < math.inf
