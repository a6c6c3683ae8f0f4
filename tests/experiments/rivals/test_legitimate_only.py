"""A model of the legitimate features alone: parity to the last bit, and what it costs."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold, cross_val_predict, cross_val_score
from sklearn.naive_bayes import BernoulliNB
from sklearn.utils.estimator_checks import check_estimator

import likeforlike as lfl
from likeforlike import FairClassifier, FairRegressor
from likeforlike.datasets import Dataset, load_law_school, make_loans
from likeforlike.errors import InputError
from likeforlike.experiments.rivals import LegitimateOnly

pytestmark = pytest.mark.training


@pytest.fixture(scope="module")
def loans() -> Dataset:
    return make_loans(3000, gap=0.2)


@pytest.fixture(scope="module")
def law_school() -> Dataset:
    return load_law_school()


# Ridge with almost no shrinkage: the mean target of every level.
MEANS = Ridge(alpha=1e-9)


def disparities(scores: Any, data: Dataset) -> list[float]:
    found = [
        lfl.cdd_lp(scores, data.groups, data.levels, distance=distance, p=np.inf)
        for distance in ("wasserstein", "ks", "tv")
    ]
    return [float(disparity) for disparity in found]


def test_conditional_disparity_is_exactly_0(loans: Dataset) -> None:
    model = LegitimateOnly(LogisticRegression(), columns=["income"])
    scores = model.fit(loans.frame, loans.targets).predict_proba(loans.frame)[:, 1]
    assert disparities(scores, loans) == [0.0, 0.0, 0.0]
    # It is not for want of a score: levels differ, and groups therefore do overall.
    assert np.unique(scores).size == len(model.levels_) > 2
    assert float(lfl.dd(scores, loans.groups)) > 0.01


def test_without_an_estimator_classes_get_a_classifier(loans: Dataset) -> None:
    model = LegitimateOnly(columns=["income"]).fit(loans.frame[:1000], loans.targets[:1000])
    assert isinstance(model.estimator_, FairClassifier)
    assert model.estimator_.strength == 0.0
    assert disparities(model.predict_proba(loans.frame)[:, 1], loans) == [0.0, 0.0, 0.0]


def test_without_an_estimator_numbers_get_a_regressor(law_school: Dataset) -> None:
    model = LegitimateOnly(columns=["lsat_decile"]).fit(
        law_school.frame[:1000], law_school.targets[:1000]
    )
    assert isinstance(model.estimator_, FairRegressor)
    assert model.estimator_.strength == 0.0
    scores = model.predict(law_school.frame)
    assert np.unique(scores).size == 10
    assert disparities(scores, law_school) == [0.0, 0.0, 0.0]


def test_predictions_are_the_means_of_levels(law_school: Dataset) -> None:
    model = LegitimateOnly(MEANS, columns="lsat_decile").fit(law_school.frame, law_school.targets)
    means = law_school.frame.group_by("lsat_decile").agg(pl.col("zfygpa").mean())
    expected = law_school.frame.join(means, on="lsat_decile", maintain_order="left")["zfygpa_right"]
    np.testing.assert_allclose(model.predict(law_school.frame), expected, rtol=0, atol=1e-9)


def test_law_school_on_rows_held_out(law_school: Dataset) -> None:
    """The paper reports a squared error of 0.81 with a spread of 0.01; here it is 0.795."""
    model = LegitimateOnly(MEANS, columns=["lsat_decile"])
    folds = KFold(5, shuffle=True, random_state=0)
    scores = cross_val_predict(model, law_school.frame, law_school.targets, cv=folds)
    errors = (scores - law_school.targets) ** 2
    by_fold = [errors[rows].mean() for _, rows in folds.split(errors)]
    assert np.mean(by_fold) == pytest.approx(0.795, abs=0.002)
    assert np.mean(by_fold) == pytest.approx(0.81, abs=0.02)
    # Rows of a fold have the score of their level in that fold, whatever their group.
    for _, rows in folds.split(errors):
        found = lfl.cdd_lp(scores[rows], law_school.groups[rows], law_school.levels[rows])
        assert float(found) == 0.0


def test_a_network_predicts_law_school_as_well(law_school: Dataset) -> None:
    held = np.arange(len(law_school.targets)) % 5 == 0
    network = FairRegressor(strength=0.0, max_epochs=8, random_state=0)
    model = LegitimateOnly(network, columns=["lsat_decile"])
    model.fit(law_school.frame.filter(~held), law_school.targets[~held])
    error = np.mean((model.predict(law_school.frame.filter(held)) - law_school.targets[held]) ** 2)
    assert error == pytest.approx(0.80, abs=0.02)


def test_levels_that_were_not_there_get_the_base_rate() -> None:
    table = np.array([["a"], ["a"], ["b"], ["b"], ["b"]], dtype=object)
    new = np.array([["c"], ["a"]], dtype=object)
    numbers = LegitimateOnly(MEANS).fit(table, [0.0, 2.0, 4.0, 4.0, 5.0])
    assert numbers.base_rate_ == 3.0
    np.testing.assert_allclose(numbers.predict(new), [3.0, 1.0], atol=1e-6)
    classes = LegitimateOnly(BernoulliNB()).fit(table, ["n", "n", "y", "y", "y"])
    np.testing.assert_allclose(classes.base_rate_, [0.4, 0.6])
    assert classes.predict(new).tolist() == ["y", "n"]
    np.testing.assert_allclose(classes.predict_proba(new)[0], [0.4, 0.6])
    assert classes.predict_proba(new)[1, 0] > 0.5


def test_weights_count_in_the_base_rate_and_in_the_fit() -> None:
    table = np.array([[1], [1], [2], [3]])
    model = LegitimateOnly(MEANS).fit(table, [0.0, 4.0, 8.0, 9.0], sample_weight=[1, 3, 4, 0])
    assert model.base_rate_ == pytest.approx((12 + 32) / 8)
    np.testing.assert_allclose(model.predict(table), [3.0, 3.0, 8.0, 5.5], atol=1e-6)
    assert model.levels_ == (1, 2)


def test_several_columns_make_one_level_of_each_combination() -> None:
    frame = pl.DataFrame({"x": [0.1, 0.2, 0.3], "city": ["Rome", "Oslo", "Rome"], "n": [1, 1, 2]})
    target = [5.0, 6.0, 7.5]
    model = LegitimateOnly(MEANS, columns=["city", 2]).fit(frame, target)
    assert model.levels_ == (("Oslo", 1), ("Rome", 1), ("Rome", 2))
    np.testing.assert_allclose(model.predict(frame), target, atol=1e-6)
    assert list(model.feature_names_in_) == ["x", "city", "n"]
    as_pandas = frame.to_pandas()
    assert (model.predict(as_pandas) == model.predict(frame)).all()


def test_other_columns_play_no_part(loans: Dataset) -> None:
    model = LegitimateOnly(LogisticRegression(), columns=["income"])
    scores = model.fit(loans.frame, loans.targets).predict_proba(loans.frame)
    scrambled = loans.frame.with_columns(debt=pl.lit(None, pl.Float64), sex=pl.lit("other"))
    assert (model.predict_proba(scrambled) == scores).all()
    alone = LegitimateOnly(LogisticRegression()).fit(loans.frame.select("income"), loans.targets)
    assert (alone.predict_proba(loans.frame.select("income")) == scores).all()


def test_it_is_what_it_wraps(loans: Dataset) -> None:
    assert is_classifier(LegitimateOnly(LogisticRegression()))
    assert is_regressor(LegitimateOnly(Ridge()))
    assert not hasattr(LegitimateOnly(RidgeClassifier()), "predict_proba")
    model = LegitimateOnly(LogisticRegression(), columns=["income"])
    model.fit(loans.frame, loans.targets)
    right = (model.predict(loans.frame) == loans.targets).mean()
    assert model.score(loans.frame, loans.targets) == pytest.approx(right)
    assert get_scorer("roc_auc")(model, loans.frame, loans.targets) > 0.5
    found = cross_val_score(model, loans.frame, loans.targets, scoring="neg_log_loss", cv=3)
    assert (found > -np.log(2.0)).all()
    constant = LegitimateOnly(DummyRegressor(), columns=["income"]).fit(loans.frame, loans.targets)
    assert constant.score(loans.frame, loans.targets) == pytest.approx(0.0)


@pytest.mark.parametrize("inner", [BernoulliNB(), Ridge(alpha=1e-3)], ids=["classes", "numbers"])
def test_the_contract_of_scikit_learn(inner: Any) -> None:
    check_estimator(LegitimateOnly(inner), on_skip=None)


def test_bad_input(loans: Dataset) -> None:
    with pytest.raises(InputError, match="columns has 'wealth', but X has"):
        LegitimateOnly(Ridge(), columns=["wealth"]).fit(loans.frame, loans.targets)
    with pytest.raises(InputError, match="X income has 3000 missing value"):
        LegitimateOnly(Ridge(), columns=["income"]).fit(
            loans.frame.with_columns(income=pl.lit(None, pl.String)), loans.targets
        )
    with pytest.raises(ValueError, match="at least one"):
        LegitimateOnly(Ridge()).fit([[1], [2]], [1.0, 2.0], sample_weight=[0, 0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LegitimateOnly(Ridge(), columns=["income"]).fit(loans.frame, loans.targets[:7])
