"""The four interfaces: the library's own objective at strength 0, early stopping, estimators."""

from __future__ import annotations

import pickle
from importlib import import_module
from typing import Any

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import likeforlike as lfl
from likeforlike.training import lightgbm_objective, probabilities, xgboost_objective
from likeforlike.training._trees import LossName
from tests.training.interfaces import INTERFACES, Fitted, Interface, Table, table

pytestmark = pytest.mark.training

LOSSES: list[LossName] = ["logistic", "squared"]
WAYS = pytest.mark.parametrize("way", INTERFACES.values(), ids=INTERFACES)
ESTIMATORS = pytest.mark.parametrize(
    "way", [INTERFACES["LGBM"], INTERFACES["XGB"]], ids=["LGBM", "XGB"]
)


def fitted(way: Interface, loss: LossName, strength: float, data: Table, rounds: int) -> Fitted:
    objective = way.make_objective(
        lfl.FairLeap(), strength, data.groups, data.levels, loss=loss, learning_rate=0.2
    )
    return way.fit(data, loss, objective, rounds=rounds)


def disparity(model: Fitted, loss: LossName, data: Table) -> float:
    raw = model.raw(data.inputs)
    scores = probabilities(raw) if loss == "logistic" else raw
    return float(lfl.cdd_lp(scores, data.groups, data.levels))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@WAYS
def test_strength_zero_is_the_objective_of_the_library(
    way: Interface, loss: LossName, weighted: bool
) -> None:
    data = table(1, loss=loss, weighted=weighted)
    ours = fitted(way, loss, 0.0, data, rounds=30).raw(data.inputs)
    theirs = way.fit(data, loss, rounds=30).raw(data.inputs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    assert np.ptp(ours) > 1.0


@pytest.mark.parametrize("loss", LOSSES)
@WAYS
def test_a_penalty_lowers_the_disparity_of_unseen_rows(way: Interface, loss: LossName) -> None:
    data, unseen = table(2, 2000, loss=loss), table(3, 2000, loss=loss)
    free, fair = (fitted(way, loss, strength, data, rounds=100) for strength in (0.0, 20.0))
    assert disparity(fair, loss, unseen) < 0.3 * disparity(free, loss, unseen)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@WAYS
def test_early_stopping_by_the_metric(way: Interface, loss: LossName, weighted: bool) -> None:
    data, watched = (table(seed, 300, loss=loss, weighted=weighted) for seed in (4, 5))
    objective = way.make_objective(
        lfl.FairBiT(), 1.0, data.groups, data.levels, loss=loss, learning_rate=0.2
    )
    metric = way.make_metric(lfl.FairBiT(), 1.0, watched.groups, watched.levels, loss=loss)
    model = way.fit(data, loss, objective, watched=watched, metric=metric, rounds=200, patience=10)
    values = model.history[f"penalized_{loss}"]
    assert len(values) < 200
    assert model.best == int(np.argmin(values))
    # The raw scores at the best round, measured anew: the library handed raw scores over.
    found = metric(watched.targets, model.raw(watched.inputs), watched.weight)
    value = found[1] if isinstance(found, tuple) else found
    assert value == pytest.approx(min(values), abs=1e-6)


@WAYS
def test_a_metric_of_other_rows_says_so(way: Interface) -> None:
    data, watched = table(6, 200, loss="logistic"), table(7, 100, loss="logistic")
    objective = way.make_objective(lfl.FairLeap(), 1.0, data.groups, data.levels)
    metric = way.make_metric(lfl.FairLeap(), 1.0, watched.groups, watched.levels)
    with pytest.raises(
        lfl.errors.InputError, match="leave other sets, such as the training rows, out"
    ):
        way.fit(data, "logistic", objective, watched=data, metric=metric, rounds=5)


@WAYS
def test_an_objective_of_other_rows_says_so(way: Interface) -> None:
    data = table(8, 200, loss="logistic")
    objective = way.make_objective(lfl.FairLeap(), 1.0, data.groups[1:], data.levels[1:])
    with pytest.raises(
        lfl.errors.InputError, match=r"groups has 199 row\(s\), but the data have 200"
    ):
        way.fit(data, "logistic", objective)


@WAYS
def test_a_number_is_no_class(way: Interface) -> None:
    data = table(9, 200, loss="squared")
    objective = way.make_objective(lfl.FairLeap(), 1.0, data.groups, data.levels)
    with pytest.raises(lfl.errors.InputError, match="must be 0 or 1 for the logistic loss"):
        way.fit(data, "squared", objective)


@ESTIMATORS
def test_three_classes_are_refused(way: Interface) -> None:
    data = table(10, 200, loss="logistic")
    data = data._replace(targets=np.tile([0.0, 1.0, 2.0, 1.0], 50))
    objective = way.make_objective(lfl.FairLeap(), 1.0, data.groups, data.levels)
    with pytest.raises(lfl.errors.InputError, match="several classes or targets are not supported"):
        way.fit(data, "logistic", objective)


@pytest.mark.parametrize("loss", LOSSES)
@ESTIMATORS
def test_estimators_are_cloned_and_pickled(way: Interface, loss: LossName) -> None:
    data = table(11, 300, loss=loss)
    model = fitted(way, loss, 2.0, data, rounds=10).model
    expected = model.predict(data.inputs, **_raw_only(way))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(data.inputs, **_raw_only(way)), expected)
    clone = import_module("sklearn.base").clone(model).fit(data.inputs, data.targets)
    np.testing.assert_array_equal(clone.predict(data.inputs, **_raw_only(way)), expected)


def _raw_only(way: Interface) -> dict[str, bool]:
    return {"raw_score" if way.library == "lightgbm" else "output_margin": True}


def test_classes_may_have_names_and_weights() -> None:
    data = table(12, 400, loss="logistic")
    names = np.where(data.targets == 1.0, "yes", "no")
    objective = lightgbm_objective(lfl.FairLeap(), 1.0, data.groups, data.levels)
    model = lgb.LGBMClassifier(
        objective=objective, class_weight="balanced", n_estimators=20, n_jobs=1, verbose=-1
    ).fit(data.inputs, names)
    balance = np.where(data.targets == 1.0, data.targets.mean(), 1.0 - data.targets.mean())
    other = lgb.LGBMClassifier(objective=objective, n_estimators=20, n_jobs=1, verbose=-1).fit(
        data.inputs, data.targets, sample_weight=0.5 / balance
    )
    np.testing.assert_allclose(
        model.predict(data.inputs, raw_score=True), other.predict(data.inputs, raw_score=True)
    )


def test_what_lightgbm_predicts_unasked() -> None:
    data = table(13, 300, loss="logistic")
    objective = lightgbm_objective(lfl.FairLeap(), 1.0, data.groups, data.levels)
    settings: dict[str, Any] = {"n_jobs": 1, "verbose": -1}
    train = lgb.Dataset(data.inputs, data.targets)
    native = lgb.train({"objective": objective, **settings}, train, 20)
    raw = native.predict(data.inputs, raw_score=True)
    np.testing.assert_array_equal(native.predict(data.inputs), raw)
    model = lgb.LGBMClassifier(objective=objective, n_estimators=20, **settings)
    model.fit(data.inputs, data.targets)
    np.testing.assert_allclose(model.predict(data.inputs, raw_score=True), raw)
    for predict in (model.predict, model.predict_proba):
        with pytest.warns(UserWarning, match="Returning raw scores instead"):
            np.testing.assert_allclose(predict(data.inputs), raw)


def test_what_xgboost_predicts_unasked() -> None:
    data = table(14, 300, loss="logistic")
    objective = xgboost_objective(lfl.FairLeap(), 1.0, data.groups, data.levels)
    train = xgb.DMatrix(data.inputs, data.targets)
    named = xgb.train({"objective": "binary:logistic", "nthread": 1}, train, 20, obj=objective)
    raw = named.predict(train, output_margin=True)
    np.testing.assert_allclose(named.predict(train), probabilities(raw), rtol=1e-5)
    model = xgb.XGBClassifier(objective=objective, n_estimators=20, n_jobs=1)
    model.fit(data.inputs, data.targets)
    np.testing.assert_allclose(model.predict(data.inputs, output_margin=True), raw, rtol=1e-5)
    chances = model.predict_proba(data.inputs)[:, 1]
    np.testing.assert_allclose(chances, probabilities(raw), rtol=1e-5)
    np.testing.assert_array_equal(model.predict(data.inputs), chances > 0.5)
    bare = xgb.train({"nthread": 1}, train, 20, obj=objective)
    np.testing.assert_array_equal(bare.predict(train), bare.predict(train, output_margin=True))


@pytest.mark.parametrize(("named", "start"), [({"objective": "binary:logistic"}, 0.0), ({}, 0.5)])
def test_where_xgboost_starts(named: dict[str, str], start: float) -> None:
    data = table(15, 100, loss="logistic")
    objective = xgboost_objective(lfl.FairLeap(), 1.0, data.groups, data.levels)
    train = xgb.DMatrix(data.inputs, data.targets)
    model = xgb.train({"nthread": 1, "learning_rate": 0.0, **named}, train, 1, obj=objective)
    np.testing.assert_array_equal(np.abs(model.predict(train, output_margin=True)), start)


@pytest.mark.parametrize("boost_from_average", [False, True])
def test_where_lightgbm_starts(boost_from_average: bool) -> None:
    data = table(16, 100, loss="logistic")
    objective = lightgbm_objective(lfl.FairLeap(), 1.0, data.groups, data.levels)
    settings = {"objective": objective, "boost_from_average": boost_from_average, "verbose": -1}
    train = lgb.Dataset(data.inputs, data.targets)
    model = lgb.train({"learning_rate": 1e-12, "n_jobs": 1, **settings}, train, 1)
    np.testing.assert_allclose(model.predict(data.inputs), 0.0, atol=1e-10)
