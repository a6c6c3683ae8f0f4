"""A model and a repair as one estimator: scikit-learn's contract, pipelines, the usual models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sklearn
from lightgbm import LGBMClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import likeforlike as lfl
from likeforlike import FairClassifier
from likeforlike.datasets import make_loans
from likeforlike.errors import InputError
from likeforlike.repair import (
    FairDecisions,
    RepairedClassifier,
    RepairedRegressor,
    UnawareRepair,
)

LOANS = make_loans(3000, gap=0.3)
X, Y = LOANS.inputs(with_sensitive=True).matrix, LOANS.targets
WHO = {"sensitive_features": LOANS.groups, "legitimate_features": LOANS.levels}
LEVELS = {"legitimate_features": LOANS.levels}

pytestmark = pytest.mark.training


CHECKS = [
    (estimator, check)
    for one in (RepairedClassifier(cv=2), RepairedRegressor(cv=2))
    for estimator, check in estimator_checks_generator(one)
    if check.func.__name__ != "check_array_api_input"
]


@pytest.mark.filterwarnings("ignore::likeforlike.errors.MissingGroupsWarning")
@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_is_content(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def gap(scores: Any) -> float:
    return lfl.cdd_lp(scores, LOANS.groups, LOANS.levels).value


@pytest.mark.parametrize(
    "model",
    [
        LGBMClassifier(n_estimators=30, num_leaves=7, n_jobs=1, verbose=-1),
        FairClassifier(strength=0.0, max_epochs=8, learning_rate=0.01, random_state=0),
    ],
    ids=["LightGBM", "FairClassifier"],
)
@pytest.mark.filterwarnings("ignore::likeforlike.errors.MissingGroupsWarning")
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_models_are_repaired_in_a_pipeline(model: Any) -> None:
    plain = make_pipeline(StandardScaler(), model).fit(X, Y).predict_proba(X)[:, 1]
    pipe = make_pipeline(StandardScaler(), RepairedClassifier(model, cv=2))
    pipe.fit(X, Y, **{f"repairedclassifier__{name}": column for name, column in WHO.items()})
    repaired = pipe.predict_proba(X, **LEVELS)[:, 1]
    assert gap(repaired) < 0.4 * gap(plain)
    assert pipe[-1].repair_.report_.rows == 3000


def test_decisions_are_repaired() -> None:
    model = RepairedClassifier(repair=FairDecisions(max_disparity=0.02)).fit(X, Y, **WHO)
    decided = model.predict(X, **LEVELS)
    np.testing.assert_array_equal(decided, model.predict_proba(X, **LEVELS)[:, 1])
    plain = model.estimator_.predict_proba(X)[:, 1] > 0.5
    assert gap(decided) < 0.4 * gap(plain)
    words = RepairedClassifier(repair=FairDecisions(max_disparity=0.02)).fit(
        X, np.where(Y, "yes", "no"), **WHO
    )
    np.testing.assert_array_equal(words.predict(X, **LEVELS) == "yes", decided == 1)


def test_groups_travel_through_a_search() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        model = RepairedClassifier(repair=UnawareRepair(values=20), cv=2)
        model.set_fit_request(sensitive_features=True, legitimate_features=True)
        search = GridSearchCV(
            model,
            {"repair__repair_level": [0.5]},
            cv=2,
            scoring=lambda m, x, y: 1.0,  # noqa: ARG005
        )
        search.fit(X, Y, **WHO)
    assert search.best_estimator_.repair_.repair_level == 0.5


def test_a_regression_is_repaired() -> None:
    score = LOANS.frame["score"].to_numpy()
    model = RepairedRegressor(repair=UnawareRepair(repair_level=0.9)).fit(X, score, **WHO)
    assert gap(model.predict(X, **LEVELS)) < 0.4 * gap(model.estimator_.predict(X))
    weighted = RepairedRegressor().fit(X, score, **WHO, sample_weight=np.ones(3000))
    assert weighted.repair_ is not None


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="decisions are for classifiers"):
        RepairedRegressor(repair=FairDecisions()).fit(X, Y, **WHO)
    with pytest.raises(InputError, match="two classes"):
        RepairedClassifier().fit(X, np.arange(3000) % 3, **WHO)
    with pytest.raises(InputError, match="of no use without"):
        RepairedClassifier().fit(X, Y, legitimate_features=LOANS.levels)
