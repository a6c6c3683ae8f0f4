"""Boosted estimators: the contract, inputs of all kinds, limits, warnings, errors."""

from __future__ import annotations

import io
import pickle
import warnings
from typing import Any

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import estimator_checks_generator

import likeforlike as lfl
from likeforlike.datasets import Dataset, make_loans
from likeforlike.penalties import Layout, SoftGroups
from likeforlike.training import disparity_scorer, estimate_level_disparity
from likeforlike.training._limits import distance_or_inf

pytestmark = pytest.mark.training

CLASSIFIERS: list[Any] = [
    lfl.FairLGBMClassifier,
    lfl.FairXGBClassifier,
    lfl.FairCatBoostClassifier,
]
REGRESSORS: list[Any] = [
    lfl.FairLGBMRegressor,
    lfl.FairXGBRegressor,
    lfl.FairCatBoostRegressor,
]
QUICK: dict[str, Any] = {"n_estimators": 40, "patience": 10, "learning_rate": 0.2, "max_depth": 3}


def checks() -> list[tuple[Any, Any]]:
    """All checks of scikit-learn but one, which concerns estimators of array-API arrays."""
    return [
        (model, check)
        for kind in CLASSIFIERS + REGRESSORS
        for model, check in estimator_checks_generator(kind(n_estimators=10, random_state=0))
        if check.func.__name__ != "check_array_api_input"
    ]


@pytest.mark.parametrize(
    ("model", "check"),
    checks(),
    ids=lambda part: getattr(getattr(part, "func", part), "__name__", type(part).__name__),
)
@pytest.mark.filterwarnings("ignore")
def test_the_contract_of_scikit_learn(model: object, check: Any) -> None:
    check(model)


@pytest.fixture(scope="module")
def loans() -> Dataset:
    return make_loans(3000, gap=0.15, random_state=1)


@pytest.fixture(scope="module")
def fresh() -> Dataset:
    return make_loans(3000, gap=0.15, random_state=2)


def who(data: Dataset) -> dict[str, Any]:
    return {"sensitive_features": data.groups, "legitimate_features": data.levels}


def disparity(scores: Any, data: Dataset) -> float:
    return distance_or_inf(
        estimate_level_disparity(scores, Layout.from_columns(data.groups, data.levels))
    )


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_strength_lowers_the_disparity_of_new_rows(
    kind: Any, loans: Dataset, fresh: Dataset
) -> None:
    X, found, losses = fresh.inputs().matrix, [], []
    for strength in (0.0, 10.0, 100.0):
        model = kind(strength=strength, random_state=0, **{**QUICK, "n_estimators": 200})
        model.fit(loans.inputs().matrix, loans.targets, **who(loans))
        scores = model.predict_proba(X)[:, 1]
        found.append(disparity(scores, fresh))
        losses.append(log_loss(fresh.targets, scores))
        assert model.strength_ == strength
        assert model.n_trees_ <= model.n_iter_ == len(model.loss_curve_)
        assert set(model.coverage_) == {"female", "male"}
    assert found[1] < 0.3 * found[0]
    # A strong penalty costs what parity costs, not what stopping too early does.
    assert max(losses) < min(losses) + 0.02


@pytest.mark.parametrize("kind", REGRESSORS)
def test_regression_keeps_the_unit_of_the_target(kind: Any, loans: Dataset) -> None:
    X, y = loans.inputs().matrix, loans.frame["score"].to_numpy()
    free, held, large = (
        kind(strength=strength, random_state=0, **QUICK).fit(X, factor * y + shift, **who(loans))
        for strength, factor, shift in ((0.0, 1.0, 0.0), (10.0, 1.0, 0.0), (10.0, 1024.0, -5.0))
    )
    np.testing.assert_allclose(large.predict(X), 1024.0 * held.predict(X) - 5.0, rtol=1e-3)
    assert disparity(held.predict(X), loans) < 0.3 * disparity(free.predict(X), loans)
    assert large.disparity_.value == pytest.approx(1024.0 * held.disparity_.value, rel=0.02)


def test_a_limit_is_kept_and_reported(loans: Dataset) -> None:
    model = lfl.FairLGBMClassifier(max_disparity=0.08, random_state=0, **QUICK)
    model.fit(loans.inputs().matrix, loans.targets, **who(loans))
    assert model.disparity_ is not None
    assert model.disparity_.interval[1] <= 0.08
    chosen = [tried for tried in model.path_ if tried.strength == model.strength_]
    assert chosen[0].held
    assert chosen[0].loss == pytest.approx(model.loss_curve_[model.n_trees_ - 1])


def test_a_limit_out_of_reach_warns(loans: Dataset) -> None:
    X = (loans.groups == "male").astype(float)[:400, None]
    model = lfl.FairXGBRegressor(max_disparity=1e-12, n_estimators=2, random_state=0)
    with pytest.warns(lfl.errors.UnmetLimitWarning, match="no strength was shown"):
        model.fit(X, X[:, 0], sensitive_features=loans.groups[:400])


@pytest.mark.filterwarnings("ignore::likeforlike.errors.ThinLevelsWarning")
def test_a_vacuous_limit_is_refused(loans: Dataset) -> None:
    model = lfl.FairLGBMClassifier(max_disparity=0.05, n_estimators=2, random_state=0)
    levels = np.append(np.arange(2700), np.full(300, -1))
    with pytest.raises(lfl.errors.InputError, match="max_disparity would say little"):
        model.fit(
            loans.inputs().matrix,
            loans.targets,
            sensitive_features=loans.groups,
            legitimate_features=levels,
        )


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_too_few_trees_are_told(kind: Any, loans: Dataset) -> None:
    X, y = loans.inputs().matrix, loans.targets
    model = kind(strength=10.0, n_estimators=5, learning_rate=0.05, random_state=0)
    with pytest.warns(lfl.errors.UnderfitWarning, match="5 trees were not enough"):
        model.fit(X, y, **who(loans))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(strength=0.0, n_estimators=5, learning_rate=0.05, random_state=0).fit(X, y)


def tables(loans: Dataset) -> dict[str, Any]:
    """The same inputs as a table with a category and missing values, and without its rows."""
    rng = np.random.default_rng(3)
    house = rng.choice(["own", "rent", "other"], 3000)
    debt = np.where(rng.random(3000) < 0.1, np.nan, loans.frame["debt"].to_numpy())
    frame = pd.DataFrame({"debt": debt, "house": house, "history": loans.frame["history"]})
    return {
        "pandas": frame.astype({"house": "category"}),
        "polars": pl.from_pandas(frame).with_columns(pl.col("house").cast(pl.Categorical)),
        "numbers": frame.assign(house=pd.Categorical(house).codes.astype(float)),
    }


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_categories_and_missing_values_of_tables(kind: Any, loans: Dataset) -> None:
    given = tables(loans)
    targets = (given["pandas"]["house"] == "other").to_numpy() ^ (loans.targets > 0.5)
    model = kind(strength=2.0, random_state=0, **QUICK)
    of_pandas = clone(model).fit(given["pandas"], targets, **who(loans))
    of_polars = clone(model).fit(given["polars"], targets, **who(loans))
    assert of_pandas.feature_names_in_.tolist() == ["debt", "house", "history"]
    np.testing.assert_allclose(
        of_pandas.predict_proba(given["pandas"]).mean(axis=0),
        of_polars.predict_proba(given["polars"]).mean(axis=0),
        atol=0.02,
    )
    # Categories keep their codes, whatever the order in a new table; unknown ones are missing.
    new = given["pandas"].head(6).copy()
    swapped = new.assign(house=new["house"].cat.reorder_categories(["rent", "own", "other"]))
    np.testing.assert_array_equal(of_pandas.predict_proba(swapped), of_pandas.predict_proba(new))
    strange = new.assign(house=pd.Categorical(["boat"] * 6))
    nothing = new.assign(house=pd.Categorical([None] * 6, ["own"]))
    np.testing.assert_array_equal(
        of_pandas.predict_proba(strange), of_pandas.predict_proba(nothing)
    )
    with pytest.raises(lfl.errors.InputError, match="column 'house' of X held categories"):
        of_pandas.predict(given["numbers"])
    with pytest.raises(lfl.errors.InputError, match="X must be a table"):
        of_pandas.predict(given["numbers"].to_numpy())
    with pytest.raises(lfl.errors.InputError, match="column 'debt' of X has the type String"):
        clone(model).fit(given["polars"].with_columns(pl.col("debt").cast(pl.String)), targets)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_sparse_inputs_are_taken_as_they_are(kind: Any, loans: Dataset) -> None:
    X = np.where(np.abs(loans.inputs().matrix) < 0.5, 0.0, loans.inputs().matrix)
    dense = X if kind is not lfl.FairXGBClassifier else np.where(X == 0.0, np.nan, X)
    model = kind(strength=5.0, random_state=0, **QUICK)
    expected = clone(model).fit(dense, loans.targets, **who(loans)).predict_proba(dense)
    for convert in (sp.csr_matrix, sp.csc_matrix, sp.csr_array):
        found = clone(model).fit(convert(X), loans.targets, **who(loans)).predict_proba(convert(X))
        np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_metadata_travels_through_grids(kind: Any, loans: Dataset) -> None:
    X, y = loans.inputs().matrix[:1000], loans.targets[:1000]
    given = {name: values[:1000] for name, values in who(loans).items()}
    with sklearn.config_context(enable_metadata_routing=True):
        model = kind(**{**QUICK, "n_estimators": 10}, random_state=0).set_fit_request(
            sensitive_features=True, legitimate_features=True
        )
        grid = GridSearchCV(model, {"strength": [0.0, 30.0]}, scoring=disparity_scorer(), cv=2)
        with warnings.catch_warnings(action="ignore", category=lfl.errors.UnderfitWarning):
            grid.fit(X, y, **given)
    assert grid.best_params_ == {"strength": 30.0}


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_a_seed_gives_the_same_model_and_survives_being_kept(kind: Any, loans: Dataset) -> None:
    X = loans.inputs().matrix
    model = kind(strength=3.0, subsample=0.7, colsample_bytree=0.8, random_state=7, **QUICK)
    first = model.fit(X, loans.targets, **who(loans)).predict(X)
    again = clone(model).fit(X, loans.targets, **who(loans)).predict(X)
    np.testing.assert_array_equal(first, again)
    kept = io.BytesIO()
    joblib.dump(model, kept)
    kept.seek(0)
    for other in (pickle.loads(pickle.dumps(model)), joblib.load(kept)):
        np.testing.assert_array_equal(first, other.predict(X))
    # Nothing about anybody's group is kept with it.
    assert b"female" not in pickle.dumps(model.booster_)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_the_library_alone_predicts_the_same(kind: Any, loans: Dataset) -> None:
    X = loans.inputs().matrix
    model = kind(strength=3.0, random_state=0, **QUICK).fit(X, loans.targets, **who(loans))
    if kind is not lfl.FairXGBClassifier:
        raw = model.booster_.predict(X)
    else:
        import xgboost

        raw = model.booster_.predict(xgboost.DMatrix(X, feature_types=["q"] * X.shape[1]))
    from likeforlike.training import probabilities

    np.testing.assert_allclose(
        probabilities(model.start_ + raw), model.predict_proba(X)[:, 1], rtol=1e-6
    )


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_class_weights_are_weights_of_the_loss(kind: Any, loans: Dataset) -> None:
    X, y = loans.inputs().matrix, loans.targets
    weight = np.where(y > 0.5, 5.0, 1.0)
    by_class = kind(strength=0.0, class_weight={0: 1.0, 1: 5.0}, random_state=0, **QUICK)
    by_row = kind(strength=0.0, random_state=0, **QUICK)
    np.testing.assert_array_equal(
        by_class.fit(X, y).predict_proba(X), by_row.fit(X, y, sample_weight=weight).predict_proba(X)
    )
    rare = np.flatnonzero((y < 0.5) | (np.arange(3000) % 10 == 0))
    balanced = kind(class_weight="balanced", strength=1.0, random_state=0, **QUICK)
    balanced.fit(X[rare], y[rare], **{name: column[rare] for name, column in who(loans).items()})
    assert balanced.predict_proba(X[rare])[:, 1].mean() == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_several_groups_soft_groups_and_numbers(kind: Any, loans: Dataset) -> None:
    X, y, rng = loans.inputs().matrix, loans.targets, np.random.default_rng(4)
    male = loans.groups == "male"
    races = np.where(male, "a", rng.choice(["b", "c"], 3000))
    free = disparity(kind(strength=0.0, random_state=0, **QUICK).fit(X, y).predict(X), loans)
    given: list[tuple[dict[str, Any], Any]] = [
        ({}, {"sensitive_features": races, "legitimate_features": loans.levels}),
        (
            {},
            {
                "sensitive_features": SoftGroups(np.where(male, 0.95, 0.05), ("f", "m")),
                "legitimate_features": loans.levels,
            },
        ),
        (
            {"penalty": lfl.SmoothFairLeap()},
            {
                "sensitive_features": loans.groups,
                "legitimate_features": loans.frame["debt"].to_numpy(),
            },
        ),
    ]
    for settings, groups in given:
        model = kind(strength=30.0, random_state=0, **settings, **QUICK).fit(X, y, **groups)
        assert disparity(model.predict_proba(X)[:, 1], loans) < 0.5 * free
        assert model.disparity_ is not None


def test_a_limit_holds_for_the_worst_of_several_pairs() -> None:
    rng = np.random.default_rng(6)
    groups = rng.choice(["a", "b", "c"], 1800, p=[0.45, 0.4, 0.15])
    X = np.column_stack([rng.standard_normal(1800), groups == "c"])
    y = X[:, 0] + 0.6 * (groups == "c") + 0.3 * rng.standard_normal(1800)
    kind: Any = lfl.FairXGBRegressor
    aims: list[dict[str, float]] = [{"strength": 0.0}, {"max_disparity": 0.35}]
    free, held = (
        kind(**aim, random_state=0, **QUICK).fit(X, y, sensitive_features=groups) for aim in aims
    )
    assert distance_or_inf(free.disparity_) > 0.5
    assert held.disparity_.interval[1] <= 0.35
    scores = held.predict(X)
    worst = max(abs(scores[groups == "c"].mean() - scores[groups == one].mean()) for one in "ab")
    assert worst < 0.35


def test_rows_without_weight_are_not_there(loans: Dataset) -> None:
    X, y = loans.inputs().matrix, loans.targets
    weight = np.where(np.arange(3000) % 3 == 0, 0.0, 2.0)
    kept = np.flatnonzero(weight)
    model = lfl.FairLGBMClassifier(strength=5.0, random_state=0, **QUICK)
    some = {name: column[kept] for name, column in who(loans).items()}
    np.testing.assert_allclose(
        clone(model).fit(X, y, sample_weight=weight, **who(loans)).predict_proba(X),
        clone(model).fit(X[kept], y[kept], **some).predict_proba(X),
        atol=0.05,
    )


def test_without_groups_it_trains_unpenalized_and_warns(loans: Dataset) -> None:
    model = lfl.FairXGBClassifier(n_estimators=2, random_state=0)
    with pytest.warns(lfl.errors.MissingGroupsWarning, match="without sensitive_features"):
        model.fit(loans.inputs().matrix, loans.targets)
    assert model.strength_ == 0.0
    assert model.disparity_ is None


ROWS = np.random.default_rng(5).standard_normal((40, 2))
CLASSES = np.tile([0, 1], 20)


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({"strength": -1.0}, {}, "strength must be a finite number of 0 or more"),
        ({"strength": 1.0, "max_disparity": 0.1}, {}, "either strength or max_disparity"),
        ({"max_disparity": np.nan}, {}, "max_disparity must be"),
        ({"max_disparity": 0.1, "limit_confidence": 1.0}, {}, "limit_confidence must lie between"),
        ({"penalty": "leap"}, {}, "penalty must be a penalty such as FairLeap"),
        ({"n_estimators": 0}, {}, "n_estimators must be an integer of 1 or more"),
        ({"patience": 1.5}, {}, "patience must be an integer of 1 or more"),
        ({"learning_rate": 0.0}, {}, "learning_rate must be more than 0 and at most 1"),
        ({"subsample": 1.5}, {}, "subsample must be more than 0 and at most 1"),
        ({"reg_lambda": -1.0}, {}, "reg_lambda must be a number of 0"),
        ({"validation_fraction": 1.0}, {}, "validation_fraction must lie between"),
        ({"limit_fraction": 0.9}, {}, "limit_fraction must be more than 0 and leave rows"),
        ({"settings": {"objective": "binary"}}, {}, r"settings has \['objective'\]"),
        ({"class_weight": "even", "strength": 0.0}, {}, "class_weight"),
        ({}, {"sensitive_features": ["f"] * 40}, "single value 'f'"),
        ({}, {"sensitive_features": ["f", "m"] * 5}, r"sensitive_features has 10 row\(s\)"),
        ({}, {"legitimate_features": [1] * 40}, "of no use without sensitive_features"),
        (
            {"max_disparity": 0.1},
            {"sensitive_features": ["f", "m"] * 20},
            "max_disparity needs rows on which to judge it, and 40 are too few",
        ),
    ],
)
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_bad_input(
    kind: Any, settings: dict[str, Any], given: dict[str, Any], message: str
) -> None:
    model = kind(**settings)
    before = dict(vars(model))
    with pytest.raises(lfl.errors.InputError, match=message):
        model.fit(ROWS, CLASSES, **given)
    assert vars(model) == before


def test_several_classes_and_one_class_are_refused() -> None:
    model = lfl.FairLGBMClassifier(strength=0.0)
    with pytest.raises(
        lfl.errors.InputError, match=r"y has 3 classes\. FairClassifier takes several"
    ):
        model.fit(ROWS, np.arange(40) % 3)
    with pytest.raises(lfl.errors.InputError, match="one class only"):
        model.fit(ROWS, np.zeros(40))
