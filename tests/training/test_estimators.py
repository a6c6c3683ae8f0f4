"""The scikit-learn estimators: contract, behavior, limits, metadata, errors."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import likeforlike as lfl
from likeforlike._arrays import FloatArray
from likeforlike.datasets import Dataset, make_loans
from likeforlike.penalties import Layout
from likeforlike.training import disparity_scorer, estimate_level_disparity
from likeforlike.training._limits import Candidate, distance_or_inf

pytestmark = pytest.mark.training

QUICK: dict[str, Any] = {"max_epochs": 60, "patience": 10, "learning_rate": 3e-3, "random_state": 0}
CHECKED = [
    lfl.FairClassifier(max_epochs=60, learning_rate=0.02, random_state=0),
    lfl.FairRegressor(max_epochs=60, learning_rate=0.02, random_state=0),
]


def checks() -> list[tuple[Any, Any]]:
    """All checks of scikit-learn but one, which concerns estimators of array-API arrays."""
    return [
        (model, check)
        for one in CHECKED
        for model, check in estimator_checks_generator(one)
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
    return make_loans(6000, gap=0.15, random_state=1)


def metadata(data: Dataset) -> dict[str, Any]:
    return {"sensitive_features": data.groups, "legitimate_features": data.levels}


def disparity(model: Any, data: Dataset) -> float:
    scores = model.predict_proba(data.inputs().matrix)[:, 1]
    return distance_or_inf(
        estimate_level_disparity(scores, Layout.from_columns(data.groups, data.levels))
    )


@pytest.mark.parametrize("penalty", [lfl.FairLeap(), lfl.FairBiT()], ids=["leap", "bit"])
def test_strength_lowers_the_disparity_of_new_rows(loans: Dataset, penalty: Any) -> None:
    fresh = make_loans(6000, gap=0.15, random_state=2)
    found, power = [], []
    for strength in (0.0, 1.0, 10.0):
        model = lfl.FairClassifier(penalty=penalty, strength=strength, **QUICK)
        model.fit(loans.inputs().matrix, loans.targets, **metadata(loans))
        found.append(disparity(model, fresh))
        power.append(roc_auc_score(fresh.targets, model.predict_proba(fresh.inputs().matrix)[:, 1]))
    assert found[0] > found[1] > found[2]
    assert found[2] < 0.2 * found[0]
    assert power[2] > power[0] - 0.02


def test_a_limit_is_met_and_reported(loans: Dataset) -> None:
    fresh = make_loans(6000, gap=0.15, random_state=3)
    model = lfl.FairClassifier(max_disparity=0.03, **QUICK)
    model.fit(loans.inputs().matrix, loans.targets, **metadata(loans))
    assert model.disparity_ is not None
    assert model.disparity_.interval[1] <= 0.03
    assert model.strength_ > 0.0
    assert {type(tried) for tried in model.path_} == {Candidate}
    within = [tried for tried in model.path_ if tried.held]
    assert min(within, key=lambda tried: tried.loss).strength == model.strength_
    scores = model.predict_proba(fresh.inputs().matrix)[:, 1]
    found = estimate_level_disparity(scores, Layout.from_columns(fresh.groups, fresh.levels))
    assert found.interval[0] <= 0.03
    # All that is reported of the fit is about the model that was chosen, alone.
    assert model.coverage_ == {"female": 1.0, "male": 1.0}
    assert model.n_iter_ == len(model.loss_curve_) <= 60
    chosen = next(tried for tried in model.path_ if tried.strength == model.strength_)
    assert min(abs(loss - chosen.loss) for loss in model.loss_curve_) < 1e-6


def test_a_limit_out_of_reach_warns(loans: Dataset) -> None:
    # Scores that must follow the group: the only input is the group itself.
    X = (loans.groups == "male").astype(float)[:, None]
    model = lfl.FairRegressor(max_disparity=1e-12, max_epochs=3, random_state=0)
    with pytest.warns(lfl.errors.UnmetLimitWarning, match="no strength was shown to keep"):
        model.fit(X, X[:, 0], sensitive_features=loans.groups)


def test_regression_keeps_the_unit_of_the_target(loans: Dataset) -> None:
    X, y = loans.inputs().matrix, loans.frame["score"].to_numpy()
    small, large = (
        lfl.FairRegressor(strength=3.0, **QUICK).fit(X, factor * y + shift, **metadata(loans))
        for factor, shift in ((1.0, 0.0), (1000.0, -5.0))
    )
    np.testing.assert_allclose(large.predict(X), 1000.0 * small.predict(X) - 5.0, rtol=1e-2)
    assert large.disparity_ is not None
    assert small.disparity_ is not None
    sizes = distance_or_inf(large.disparity_), distance_or_inf(small.disparity_)
    assert sizes[0] == pytest.approx(1000.0 * sizes[1], rel=0.05)


def test_several_classes_and_groups() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 3))
    groups = rng.choice(["a", "b", "c"], 1500)
    y = np.array(["low", "mid", "high"])[
        np.digitize(X[:, 0] + 0.8 * (groups == "a") + 0.3 * rng.standard_normal(1500), [-0.5, 0.8])
    ]
    inputs = np.column_stack([X, groups == "a", groups == "b"])
    free, held = (
        lfl.FairClassifier(strength=strength, **QUICK).fit(inputs, y, sensitive_features=groups)
        for strength in (0.0, 20.0)
    )
    assert held.predict_proba(inputs).shape == (1500, 3)
    assert set(held.predict(inputs)) <= {"low", "mid", "high"}
    assert held.disparity_ is not None
    assert free.disparity_ is not None
    assert distance_or_inf(held.disparity_) < 0.3 * distance_or_inf(free.disparity_)


def test_equalized_odds_lowers_both_rates_gaps(loans: Dataset) -> None:
    X, y, sex = loans.inputs().matrix, loans.targets, loans.groups
    X = np.column_stack([X, sex == "male"])

    def gaps(model: Any) -> list[float]:
        scores = model.predict_proba(X)[:, 1]
        return [
            abs(
                scores[(y == k) & (sex == "male")].mean()
                - scores[(y == k) & (sex == "female")].mean()
            )
            for k in (0, 1)
        ]

    free, held = (
        lfl.FairClassifier(strength=strength, **QUICK).fit(
            X, y, sensitive_features=sex, legitimate_features=y
        )
        for strength in (0.0, 30.0)
    )
    for with_penalty, without in zip(gaps(held), gaps(free), strict=True):
        assert with_penalty < 0.25 * without


def test_levels_of_several_columns(loans: Dataset) -> None:
    columns = loans.frame.select("income", (pl.col("tenure") > 5.0).alias("long"))
    model = lfl.FairClassifier(max_epochs=2, random_state=0).fit(
        loans.inputs().matrix,
        loans.targets,
        sensitive_features=loans.frame["sex"],
        legitimate_features=columns,
    )
    assert model.coverage_ is not None
    assert set(model.coverage_) == {"female", "male"}


def test_a_seed_gives_the_same_model_and_survives_pickling(loans: Dataset) -> None:
    X = loans.inputs().matrix
    model = lfl.FairClassifier(max_epochs=3, random_state=7)
    first = model.fit(X, loans.targets, **metadata(loans)).predict_proba(X)
    again = clone(model).fit(X, loans.targets, **metadata(loans))
    np.testing.assert_array_equal(first, again.predict_proba(X))
    np.testing.assert_array_equal(first, pickle.loads(pickle.dumps(model)).predict_proba(X))


def test_metadata_travels_through_pipelines_and_grids(loans: Dataset) -> None:
    X, y = loans.inputs().matrix[:1500], loans.targets[:1500]
    given = {name: values[:1500] for name, values in metadata(loans).items()}
    with sklearn.config_context(enable_metadata_routing=True):
        model = lfl.FairClassifier(max_epochs=3, random_state=0).set_fit_request(
            sensitive_features=True, legitimate_features=True
        )
        pipeline = make_pipeline(StandardScaler(), model)
        grid = GridSearchCV(
            pipeline,
            {"fairclassifier__strength": [0.0, 10.0]},
            scoring={"disparity": disparity_scorer(), "accuracy": "accuracy"},
            refit="disparity",
            cv=2,
        )
        grid.fit(X, y, **given)
        plain = cross_validate(
            LogisticRegression(), X, y, scoring=disparity_scorer(), cv=2, params=given
        )
    assert grid.best_params_["fairclassifier__strength"] in (0.0, 10.0)
    assert (grid.cv_results_["mean_test_disparity"] < 0.0).all()
    assert (plain["test_score"] < 0.0).all()


def test_the_scorer_is_minus_the_disparity(loans: Dataset) -> None:
    X = loans.inputs().matrix
    model = LogisticRegression(max_iter=1000).fit(X, loans.targets)
    with sklearn.config_context(enable_metadata_routing=True):
        found = disparity_scorer(order=1.0)(model, X, loans.targets, **metadata(loans))
    expected = lfl.cdd_lp(model.predict_proba(X)[:, 1], loans.groups, loans.levels, order=1)
    assert found == pytest.approx(-expected.value)


def test_names_of_features_are_kept(loans: Dataset) -> None:
    frame = loans.frame.select("debt", "history").to_pandas()
    model = lfl.FairClassifier(strength=0.0, max_epochs=2, random_state=0)
    model.fit(frame, loans.targets)
    assert model.feature_names_in_.tolist() == ["debt", "history"]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["history", "debt"]])


def test_without_groups_it_trains_unpenalized_and_warns(loans: Dataset) -> None:
    model = lfl.FairClassifier(max_epochs=2, random_state=0)
    with pytest.warns(lfl.errors.MissingGroupsWarning, match="without sensitive_features"):
        model.fit(loans.inputs().matrix, loans.targets)
    assert model.strength_ == 0.0
    assert model.disparity_ is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lfl.FairClassifier(strength=0.0, max_epochs=2).fit(loans.inputs().matrix, loans.targets)


def test_weights_count_as_repeated_rows_in_the_penalty() -> None:
    rng = np.random.default_rng(4)
    X, groups = rng.standard_normal((60, 2)), rng.choice(["f", "m"], 60)
    y = X[:, 0] + (groups == "m")
    weight = rng.integers(0, 4, 60)
    once = lfl.FairRegressor(strength=5.0, max_epochs=30, random_state=0).fit(
        X, y, sensitive_features=groups, sample_weight=weight
    )
    which = np.repeat(np.arange(60), weight)[:99]
    kept = np.bincount(which, minlength=60)
    again = lfl.FairRegressor(strength=5.0, max_epochs=30, random_state=0).fit(
        X, y, sensitive_features=groups, sample_weight=kept
    )
    repeated = lfl.FairRegressor(strength=5.0, max_epochs=30, random_state=0).fit(
        X[which], y[which], sensitive_features=groups[which]
    )
    np.testing.assert_allclose(again.predict(X), repeated.predict(X), rtol=1e-6, atol=1e-8)
    assert once.predict(X).shape == (60,)


def test_an_interrupt_leaves_the_estimator_as_it_was(
    loans: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    from likeforlike.training import EarlyStopping

    X = loans.inputs().matrix
    model = lfl.FairClassifier(max_epochs=2, random_state=0)
    model.fit(X, loans.targets, **metadata(loans))
    before = model.predict_proba(X)
    fresh = clone(model)

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(EarlyStopping, "update", interrupted)
    for one in (model, fresh):
        with pytest.raises(KeyboardInterrupt):
            one.fit(X, loans.targets, **metadata(loans))
    np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(sklearn.exceptions.NotFittedError):
        fresh.predict(X)


ROWS = np.random.default_rng(5).standard_normal((40, 2))
CLASSES = np.tile([0, 1], 20)


@pytest.mark.parametrize(
    ("settings", "given", "message"),
    [
        ({"strength": -1.0}, {}, "strength must be a finite number of 0 or more"),
        ({"strength": 1.0, "max_disparity": 0.1}, {}, "either strength or max_disparity"),
        ({"max_disparity": np.nan}, {}, "max_disparity must be"),
        ({"penalty": "leap"}, {}, "penalty must be a penalty such as FairLeap"),
        ({"batch_size": 0}, {}, "batch_size must be an integer of 1 or more"),
        ({"penalty_rows": 0}, {}, "penalty_rows must be an integer of 1 or more"),
        ({"validation_fraction": 1.0}, {}, "validation_fraction must lie between"),
        ({"limit_fraction": 0.9}, {}, "limit_fraction must be more than 0 and leave rows"),
        ({"limit_confidence": 0.5}, {}, "limit_confidence must lie between 0.5 and 1"),
        (
            {"max_disparity": 0.1},
            {"sensitive_features": ["f", "m"] * 20},
            "needs rows on which to judge it, and 40 are too few",
        ),
        ({"learning_rate": 0.0}, {}, "learning_rate must be more than 0"),
        ({}, {"sensitive_features": ["f"] * 40}, "single value 'f'"),
        ({}, {"sensitive_features": ["f", "m"] * 5}, r"sensitive_features has 10 row\(s\)"),
        ({}, {"sensitive_features": [None] * 40}, "sensitive_features is missing in all 40"),
        ({}, {"legitimate_features": [1] * 40}, "of no use without sensitive_features"),
        (
            {},
            {"sensitive_features": ["f", "m"] * 20, "legitimate_features": list(range(40))},
            "no level holds two",
        ),
    ],
)
def test_bad_input(settings: dict[str, Any], given: dict[str, Any], message: str) -> None:
    with pytest.raises(lfl.errors.InputError, match=message):
        lfl.FairClassifier(**settings).fit(ROWS, CLASSES, **given)


def test_missing_inputs_and_single_classes_are_refused() -> None:
    broken = ROWS.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        lfl.FairClassifier(strength=0.0).fit(broken, CLASSES)
    with pytest.raises(lfl.errors.InputError, match="one class only"):
        lfl.FairClassifier(strength=0.0).fit(ROWS, np.zeros(40))
    with pytest.raises(lfl.errors.InputError, match="sample_weight is zero for every row"):
        lfl.FairClassifier(strength=0.0).fit(ROWS, CLASSES, sample_weight=np.zeros(40))


@pytest.mark.training
def test_numbers_as_levels_are_warned_of_unless_they_are_compared_as_numbers() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((600, 3)), rng.integers(0, 2, 600)
    who = {"sensitive_features": rng.integers(0, 2, 600)}
    years = rng.integers(0, 200, 600)
    model = lfl.FairClassifier(max_epochs=1, random_state=0)
    with pytest.warns(lfl.errors.ThinLevelsWarning, match=r"penalty=SmoothFairLeap\(\)"):
        model.fit(X, y, **who, legitimate_features=years)
    smooth = lfl.FairClassifier(penalty=lfl.SmoothFairLeap(), max_epochs=1, random_state=0)
    smooth.fit(X, y, **who, legitimate_features=years.astype(float))
    all_alike = lfl.FairClassifier(penalty=lfl.WassersteinPenalty(), max_epochs=1)
    all_alike.fit(X, y, **who, legitimate_features=years)


@pytest.mark.training
def test_constants_of_a_penalty_are_in_the_unit_of_the_target() -> None:
    """A level cost of 1 for salaries in thousands is one of a million for salaries."""
    loans = make_loans(600, gap=0.3)
    y = 45.0 + 18.0 * loans.frame["score"].to_numpy()
    who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}

    def predicted(unit: float) -> FloatArray:
        penalty = lfl.FairBiT(level_metric="ordinal", level_cost=1.0 * unit**2, reg=0.5 * unit**2)
        model = lfl.FairRegressor(
            penalty=penalty, strength=3.0, max_epochs=3, random_state=0, penalty_rows=200
        )
        scores: FloatArray = model.fit(loans.inputs().matrix, unit * y, **who).predict(
            loans.inputs().matrix
        )
        return scores / unit

    np.testing.assert_allclose(predicted(1000.0), predicted(1.0), rtol=1e-3)
