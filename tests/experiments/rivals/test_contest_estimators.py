"""The four estimators that are trained against an adversary: contract, input, warnings."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils.estimator_checks import check_estimator

import likeforlike as lfl
from likeforlike.datasets import Dataset, make_loans
from likeforlike.errors import InputError, MissingGroupsWarning
from likeforlike.experiments.rivals import (
    AdversarialClassifier,
    AdversarialRegressor,
    DCFRClassifier,
    DCFRRegressor,
)

pytestmark = pytest.mark.training

DCFR = [DCFRClassifier, DCFRRegressor]
ADVERSARIAL = [AdversarialClassifier, AdversarialRegressor]
ESTIMATORS = [*DCFR, *ADVERSARIAL]
LOANS = make_loans(400, gap=0.15)


def quick(estimator: Any, **settings: Any) -> Any:
    """Few steps, but long ones."""
    short: dict[str, Any] = {"max_epochs": 3, "learning_rate": 0.02, "random_state": 0}
    if estimator in DCFR:
        short |= {"optimizer": "adam"}
    return estimator(**short | settings)


def data(estimator: Any, table: Dataset = LOANS) -> tuple[Any, Any]:
    target = table.targets if is_classifier(estimator()) else table.frame["score"].to_numpy()
    return table.inputs().matrix, target


def fitted(estimator: Any, table: Dataset = LOANS, **settings: Any) -> Any:
    return quick(estimator, **settings).fit(
        *data(estimator, table), sensitive_features=table.groups, legitimate_features=table.levels
    )


def scores(model: Any) -> Any:
    X = LOANS.inputs().matrix
    return model.predict_proba(X)[:, 1] if is_classifier(model) else model.predict(X)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_scikit_learn_contract(estimator: Any) -> None:
    with warnings.catch_warnings():
        # Checks call fit(X, y): no groups, no adversary.
        warnings.simplefilter("ignore", MissingGroupsWarning)
        results = check_estimator(quick(estimator, max_epochs=25), on_skip=None)
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    skipped = {result["check_name"] for result in results if result["status"] == "skipped"}
    assert skipped <= {"check_array_api_input"}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_what_is_fitted(estimator: Any) -> None:
    model = fitted(estimator)
    assert model.strength_ == 1.0
    assert model.disparity_.interval[0] <= model.disparity_.value <= model.disparity_.interval[1]
    assert set(model.coverage_) == {"female", "male"}
    assert model.n_iter_ == len(model.loss_curve_) == (6 if estimator in DCFR else 3)
    assert np.isfinite(scores(model)).all()
    assert np.array_equal(scores(model), scores(fitted(estimator)))
    assert not np.array_equal(scores(model), scores(fitted(estimator, random_state=1)))
    assert not np.array_equal(scores(model), scores(fitted(estimator, strength=0.0)))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clones_and_pickles(estimator: Any) -> None:
    model = fitted(estimator, strength=2.5)
    assert clone(model).get_params() == model.get_params()
    assert not hasattr(clone(model), "n_iter_")
    assert np.array_equal(scores(pickle.loads(pickle.dumps(model))), scores(model))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_without_groups_there_is_a_warning_and_no_adversary(estimator: Any) -> None:
    X, y = data(estimator)
    with pytest.warns(MissingGroupsWarning, match="as if there were no groups"):
        model = quick(estimator).fit(X, y)
    assert model.strength_ == 0.0
    assert model.disparity_ is None
    assert model.coverage_ is None
    silent = quick(estimator, strength=0.0).fit(X, y)
    assert np.array_equal(scores(model), scores(silent))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_any_table_and_any_labels(estimator: Any) -> None:
    """Columns of a polars table, groups named otherwise in the same order, several legitimate."""
    _, y = data(estimator)
    groups = pl.Series(LOANS.groups).replace({"female": "a", "male": "b"})
    levels = pl.DataFrame({"income": LOANS.levels, "same": LOANS.levels})
    model = quick(estimator).fit(
        LOANS.frame.select(LOANS.features),
        y,
        sensitive_features=groups,
        legitimate_features=levels,
    )
    assert list(model.feature_names_in_) == list(LOANS.features)
    with pytest.warns(UserWarning, match="valid feature names"):
        found = scores(model)
    assert np.array_equal(found, scores(fitted(estimator)))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weights_count(estimator: Any) -> None:
    X, y = data(estimator)
    labels = {"sensitive_features": LOANS.groups, "legitimate_features": LOANS.levels}
    plain = scores(fitted(estimator))
    ones = quick(estimator).fit(X, y, sample_weight=np.full(400, 3.0), **labels)
    assert np.allclose(scores(ones), plain, rtol=0.0, atol=1e-4)
    weight = np.where(np.arange(400) < 200, 1.0, 0.0)
    half = quick(estimator).fit(X, y, sample_weight=weight, **labels)
    first = {name: label[:200] for name, label in labels.items()}
    alone = quick(estimator).fit(X[:200], y[:200], sample_weight=np.ones(200), **first)
    assert np.array_equal(scores(half), scores(alone))
    assert not np.allclose(scores(half), plain, rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("estimator", [DCFRClassifier, AdversarialClassifier])
def test_several_classes(estimator: Any) -> None:
    X, _ = data(estimator)
    y = np.array(["low", "middle", "high"])[np.digitize(LOANS.frame["score"], [0.4, 0.6])]
    model = quick(estimator).fit(
        X, y, sensitive_features=LOANS.groups, legitimate_features=LOANS.levels
    )
    assert model.classes_.tolist() == ["high", "low", "middle"]
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("estimator", [DCFRRegressor, AdversarialRegressor])
def test_a_strength_means_the_same_in_any_unit(estimator: Any) -> None:
    X, y = data(estimator)
    labels = {"sensitive_features": LOANS.groups, "legitimate_features": LOANS.levels}
    plain = fitted(estimator, strength=2.0)
    scaled = quick(estimator, strength=2.0).fit(X, 1000.0 * y - 7.0, **labels)
    assert np.allclose(scores(scaled), 1000.0 * scores(plain) - 7.0, rtol=1e-3, atol=0.1)
    assert scaled.disparity_.value == pytest.approx(1000.0 * plain.disparity_.value, rel=1e-2)


@pytest.mark.parametrize(("optimizer", "rate"), [("adadelta", 1.0), ("adam", 1e-3)])
def test_each_optimizer_has_its_usual_rate(optimizer: str, rate: float) -> None:
    usual = fitted(DCFRRegressor, optimizer=optimizer, learning_rate=None)
    assert np.array_equal(
        scores(usual), scores(fitted(DCFRRegressor, optimizer=optimizer, learning_rate=rate))
    )


BAD = [
    ({"strength": -1.0}, "strength must be a finite number of 0 or more, not -1.0"),
    ({"strength": np.nan}, "strength must be a finite number"),
    ({"max_epochs": 0}, "max_epochs must be an integer of 1 or more"),
    ({"batch_size": 2.5}, "batch_size must be an integer of 1 or more, not 2.5"),
    ({"learning_rate": 0.0}, "learning_rate must be more than 0"),
    ({"validation_fraction": 1.0}, "validation_fraction must lie between 0 and 1"),
]
BAD_DCFR = [
    ({"width": 0}, "width must be an integer of 1 or more"),
    ({"adversary_steps": 0}, "adversary_steps must be an integer"),
    ({"adversary_loss": "log"}, r"adversary_loss must be one of \('squared', 'absolute'\)"),
    ({"optimizer": "sgd"}, "optimizer must be one of"),
]
BAD_ADVERSARIAL = [
    ({"criterion": "odds"}, r"criterion must be one of \('conditional', 'parity'\), not 'odds'"),
    ({"hidden_layer_sizes": (50, 0)}, r"hidden_layer_sizes\[1\] must be an integer of 1 or more"),
]


@pytest.mark.parametrize(
    ("estimator", "settings", "message"),
    [(one, *bad) for one in ESTIMATORS for bad in BAD]
    + [(one, *bad) for one in DCFR for bad in BAD_DCFR]
    + [(one, *bad) for one in ADVERSARIAL for bad in BAD_ADVERSARIAL],
)
def test_bad_settings(estimator: Any, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fitted(estimator, **settings)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_bad_columns(estimator: Any) -> None:
    X, y = data(estimator)
    three = np.array(["a", "b", "c", "a"] * 100)
    with pytest.raises(InputError, match=r"two groups apart, but sensitive_features has 3"):
        quick(estimator).fit(X, y, sensitive_features=three)
    with pytest.raises(InputError, match="sensitive_features has 1"):
        quick(estimator).fit(X, y, sensitive_features=["a"] * 400)
    with pytest.raises(InputError, match="sensitive_features"):
        quick(estimator).fit(X, y, sensitive_features=LOANS.groups[:-1])
    with pytest.raises(InputError, match="no level of the training rows holds both groups"):
        quick(estimator).fit(
            X, y, sensitive_features=LOANS.groups, legitimate_features=LOANS.groups
        )
    with pytest.raises(InputError, match="of no use without sensitive_features"):
        quick(estimator).fit(X, y, legitimate_features=LOANS.levels)
    plain = quick(estimator, strength=0.0)
    for weight in (np.zeros(400), [-1.0] + [1.0] * 399, np.ones(399), np.full(400, np.nan)):
        with pytest.raises(InputError, match="sample_weight"):
            plain.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_fit_that_fails_leaves_the_model_as_it_was(estimator: Any) -> None:
    model = fitted(estimator)
    before = scores(model)
    with pytest.raises(InputError, match="two groups"):
        model.fit(*data(estimator), sensitive_features=np.arange(400) % 3)
    assert np.array_equal(scores(model), before)


@pytest.mark.parametrize("estimator", [DCFRClassifier, DCFRRegressor])
def test_the_disparity_on_held_back_rows_is_an_audits(estimator: Any) -> None:
    """Groups far apart: the estimate of a model without adversary is near the plug-in."""
    loans = make_loans(3000, gap=0.3)
    model = fitted(estimator, loans, strength=0.0, max_epochs=10)
    X = loans.inputs().matrix
    found = model.predict_proba(X)[:, 1] if is_classifier(model) else model.predict(X)
    plug_in = float(lfl.cdd_lp(found, loans.groups, loans.levels, p=2))
    assert model.disparity_.value == pytest.approx(plug_in, rel=0.15)
