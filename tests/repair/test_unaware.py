"""Repair without the group at prediction: what it equals, what it leaves, what it says."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression

import likeforlike as lfl
from likeforlike.datasets import make_loans
from likeforlike.errors import InputError, RepairWarning
from likeforlike.repair import ConditionalBarycenter, FairDecisions, UnawareRepair
from tests.repair.unaware import Drawn, drawn

pytestmark = pytest.mark.training  # the chance of a group is fitted


@pytest.fixture(scope="module")
def people() -> Drawn:
    return drawn(6000, levels=4)


@pytest.fixture(scope="module")
def fitted(people: Drawn) -> UnawareRepair:
    repair = UnawareRepair(propensity=LogisticRegression())
    return repair.fit(people.scores, people.inputs, **people.who)


def given(people: Drawn, chances: Any, **settings: Any) -> UnawareRepair:
    repair = UnawareRepair(propensity="given", **settings)
    return repair.fit(people.scores, chances, **people.who)


def known(people: Drawn) -> Any:
    return np.eye(people.chances.shape[1])[people.groups]


@pytest.mark.parametrize("n_groups", [2, 3])
def test_with_the_group_known_it_is_the_barycenter(n_groups: int) -> None:
    people = drawn(3000 * n_groups, n_groups=n_groups)
    repair = given(people, known(people))
    moved = repair.transform(people.scores, known(people), legitimate_features=people.levels)
    aware = ConditionalBarycenter().fit_transform(people.scores, **people.who)
    far = np.sqrt(np.mean((aware - people.scores) ** 2))
    assert np.sqrt(np.mean((moved - aware) ** 2)) < 0.02 * far
    assert np.abs(moved - aware).max() < 3 * np.ptp(people.scores) / 99
    assert repair.fitted_risk_ == pytest.approx(repair.aware_risk_, rel=0.03)
    assert repair.propensity_auc_ == 1.0
    assert repair.calibration_ == 0.0


def test_it_rises_with_the_score_at_equal_guess_and_level(people: Drawn) -> None:
    repair = given(people, people.chances)
    rising = np.linspace(-0.2, 1.2, 400)
    for chance in (0.05, 0.4, 0.9):
        for level in range(4):
            row = np.tile([1.0 - chance, chance], (400, 1))
            moved = repair.transform(rising, row, legitimate_features=np.full(400, level))
            assert (np.diff(moved) >= 0.0).all()


def test_it_makes_groups_alike_without_knowing_them(people: Drawn, fitted: UnawareRepair) -> None:
    other = drawn(6000, levels=4, seed=1)
    moved = fitted.transform(other.scores, other.inputs, legitimate_features=other.levels)
    before = lfl.cdd_lp(other.scores, other.groups, other.levels).value
    after = lfl.cdd_lp(moved, other.groups, other.levels).value
    assert after < 0.2 * before
    pair = fitted.parity_[0]
    assert pair.before.value == pytest.approx(before, rel=0.1)
    assert pair.after.interval[1] < 0.25 * before
    assert pair.gap_after.interval[0] < 0.01
    assert pair.gap_after.interval[1] > -0.01
    assert fitted.aware_risk_ < fitted.fitted_risk_
    assert fitted.residual_ < 2e-4


def test_the_guess_is_measured(people: Drawn, fitted: UnawareRepair) -> None:
    from sklearn.metrics import roc_auc_score

    truth = given(people, people.chances).guess_[0]
    by_level = [
        (roc_auc_score(people.groups[at], people.chances[at, 1]), a * (at.size - a))
        for at in (np.flatnonzero(people.levels == k) for k in range(4))
        for a in [people.groups[at].sum()]
    ]
    auc, pairs = np.transpose(by_level)
    assert truth.auc == pytest.approx(float(auc @ pairs / pairs.sum()), abs=1e-12)
    assert truth.calibration < 0.02
    assert not truth.weak
    assert not truth.miscalibrated
    assert fitted.propensity_auc_ == pytest.approx(truth.auc, abs=0.01)


def spoiled(people: Drawn, how: str) -> Any:
    chances = people.chances
    if how == "constant":
        return np.full_like(chances, 0.5)
    if how == "shuffled":
        return chances[np.random.default_rng(0).permutation(len(chances))]
    odds = np.log(chances[:, 1] / chances[:, 0])
    sure = 1.0 / (1.0 + np.exp(-4.0 * odds))
    return np.column_stack([1.0 - sure, sure])


@pytest.mark.parametrize(
    ("how", "word"),
    [("constant", "too weak"), ("shuffled", "badly calibrated"), ("sharpened", "badly calibrated")],
)
@pytest.mark.parametrize("kind", [UnawareRepair, FairDecisions])
def test_a_bad_guess_is_caught(people: Drawn, how: str, word: str, kind: Any) -> None:
    repair = kind(propensity="given")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RepairWarning)
        repair.fit(people.scores, spoiled(people, how), **people.who)
    assert any(word in str(one.message) for one in caught)
    assert all(one.filename == __file__ for one in caught)
    assert any(word in doubt for doubt in repair.report_.doubts)
    assert word in str(repair.report_)


@pytest.mark.parametrize("kind", [UnawareRepair, FairDecisions])
def test_a_good_guess_is_not(people: Drawn, kind: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RepairWarning)
        kind(propensity="given").fit(people.scores, people.chances, **people.who)


def test_a_score_that_knows_more_than_the_inputs_is_told() -> None:
    people = drawn(3000)
    noise = np.random.default_rng(0).normal(size=(3000, 2))
    scores = np.clip(0.5 + 0.3 * (people.groups - 0.5) + 0.1 * noise[:, 0], 0.0, 1.0)
    half = np.full((3000, 2), 0.5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", RepairWarning)
        repair = UnawareRepair(propensity="given").fit(scores, half, **people.who)
    assert any("the repair left" in str(one.message) for one in caught)
    assert repair.parity_[0].after.value == pytest.approx(repair.parity_[0].before.value, rel=1e-3)


def test_t_goes_part_of_the_way(people: Drawn, fitted: UnawareRepair) -> None:
    columns = (people.scores, people.inputs)
    whole = fitted.transform(*columns, legitimate_features=people.levels)
    half = clone(fitted).set_params(repair_level=0.5)
    with pytest.raises(Exception, match="not fitted"):
        half.transform(*columns, legitimate_features=people.levels)
    half.fit(*columns, **people.who)
    moved = half.transform(*columns, legitimate_features=people.levels)
    np.testing.assert_allclose(moved, 0.5 * (people.scores + whole), atol=1e-12)
    assert half.fitted_risk_ == pytest.approx(0.25 * fitted.fitted_risk_)
    left = half.parity_[0].after.value / half.parity_[0].before.value
    assert left == pytest.approx(0.5, abs=0.06)


def test_weights_count_as_rows_do() -> None:
    people = drawn(1500, levels=2)
    copies = np.random.default_rng(0).integers(0, 3, 1500)
    repeated_columns: list[Any] = [np.repeat(column, copies, axis=0) for column in people]
    many = Drawn(*repeated_columns)
    weighted = UnawareRepair(propensity="given").fit(
        people.scores, people.chances, **people.who, sample_weight=copies
    )
    repeated = given(many, many.chances)
    for repair in (weighted, repeated):
        assert repair.trust_ == 1.0
    moved, again = (
        repair.transform(people.scores, people.chances, legitimate_features=people.levels)
        for repair in (weighted, repeated)
    )
    np.testing.assert_allclose(moved, again, atol=2e-3)


def test_thin_and_unseen_levels_share_a_map(people: Drawn) -> None:
    level = people.levels.copy()
    level[:40] = 7
    thin = people._replace(levels=level)
    repair = given(thin, thin.chances)
    assert [one.level for one in repair.fallbacks_] == [7, 7]
    assert all(share < 1.0 for share in repair.coverage_.values())
    row = people.scores[:5], people.chances[:5]
    shared = repair.transform(*row, legitimate_features=[7] * 5)
    with pytest.warns(UserWarning, match="has not seen the level 9"):
        unseen = repair.transform(*row, legitimate_features=[9] * 5)
    np.testing.assert_array_equal(shared, unseen)


def test_a_group_that_is_rare_in_a_level_has_no_part_there() -> None:
    people = drawn(4000, n_groups=3, levels=2)
    chances = people.chances.copy()
    chances[people.levels == 1, 2] *= 1e-4
    chances /= chances.sum(axis=1, keepdims=True)
    group = people.groups.copy()
    group[(people.levels == 1) & (group == 2)] = 0
    rare = people._replace(groups=group, chances=chances)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        repair = given(rare, chances)
    assert repair.coverage_[2] == 1.0
    assert {pair.groups for pair in repair.parity_} == {(0, 1), (0, 2), (1, 2)}
    moved = repair.transform(rare.scores, chances, legitimate_features=rare.levels)
    before = lfl.cdd_lp(rare.scores, rare.groups, rare.levels).value
    assert lfl.cdd_lp(moved, rare.groups, rare.levels).value < 0.3 * before


def test_three_groups_without_knowing_them() -> None:
    people = drawn(6000, n_groups=3)
    repair = given(people, people.chances)
    other = drawn(6000, n_groups=3, seed=1)
    moved = repair.transform(other.scores, other.chances, legitimate_features=other.levels)
    before = lfl.cdd_lp(other.scores, other.groups, other.levels).value
    assert lfl.cdd_lp(moved, other.groups, other.levels).value < 0.25 * before
    assert [one.group for one in repair.guess_] == [0, 1, 2]
    rule = FairDecisions(propensity="given").fit(people.scores, people.chances, **people.who)
    decided = rule.predict(other.scores, other.chances, legitimate_features=other.levels)
    plain = lfl.cdd_lp(other.scores > 0.5, other.groups, other.levels).value
    assert lfl.cdd_lp(decided, other.groups, other.levels).value < 0.25 * plain


@pytest.mark.simulation
def test_few_rows_do_no_harm() -> None:
    other = drawn(10_000, levels=10, seed=99)

    def squared(scores: Any) -> float:
        return float(lfl.cdd_lp(scores, other.groups, other.levels, p=2).value ** 2)

    before, more = squared(other.scores), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        for seed in range(20):
            few = drawn(800, levels=10, seed=seed)
            repair = UnawareRepair(propensity=LogisticRegression())
            repair.fit(few.scores, few.inputs, **few.who)
            moved = repair.transform(other.scores, other.inputs, legitimate_features=other.levels)
            more.append(squared(moved) - before)
    assert max(more) < 0.0


def test_decisions_are_alike(people: Drawn) -> None:
    other = drawn(6000, levels=4, seed=1)
    rates = {}
    asked: dict[str, Any] = {
        "all": {},
        "half": {"repair_level": 0.5},
        "limit": {"max_disparity": 0.1},
    }
    for name, settings in asked.items():
        rule = FairDecisions(propensity=LogisticRegression(), **settings)
        rule.fit(people.scores, people.inputs, **people.who)
        decided = rule.predict(other.scores, other.inputs, legitimate_features=other.levels)
        assert set(np.unique(decided)) == {0, 1}
        by_level = lfl.cdd_lp(decided, other.groups, other.levels).by_level
        rates[name] = np.asarray(by_level.distance)
        low, high = rule.parity_[0].after.interval
        assert low - 0.03 < float(np.sqrt(np.mean(rates[name] ** 2))) < high + 0.03
    plain = np.asarray(lfl.cdd_lp(other.scores > 0.5, other.groups, other.levels).by_level.distance)
    assert rates["all"].mean() < 0.2 * plain.mean()
    np.testing.assert_allclose(rates["half"], 0.5 * plain, atol=0.05)
    assert rates["limit"].mean() < 0.125


def test_costs_move_the_bar(people: Drawn) -> None:
    nothing: Any = {"repair_level": 0.0, "propensity": "given"}
    for cost, bar in (((1, 1), 0.5), ((3, 1), 0.75), ((1, 4), 0.2)):
        rule = FairDecisions(cost=cost, **nothing).fit(people.scores, people.chances, **people.who)
        decided = rule.predict(people.scores, people.chances, legitimate_features=people.levels)
        np.testing.assert_array_equal(decided, people.scores > bar)


def test_the_report_says_what_was_done(people: Drawn, fitted: UnawareRepair) -> None:
    words = str(fitted.report_)
    assert "6,000 rows, 4 levels" in words
    assert "for a lawyer" in words
    assert "LogisticRegression from 3 input(s)" in words
    plain = fitted.report_.to_dict()
    assert plain["rows"] == 6000
    assert sum(cell["rows"] for cell in plain["moved"]) == 6000
    assert plain["parity"][0]["after"]["low"] <= plain["parity"][0]["after"]["value"]
    change = sum(cell.rows * cell.mean for cell in fitted.moved_) / 6000
    moved = fitted.transform(people.scores, people.inputs, legitimate_features=people.levels)
    assert change == pytest.approx(float((moved - people.scores).mean()), abs=5e-3)


def test_without_lightgbm_scikit_learn_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    loans = make_loans(1500, gap=0.2)
    X, scores = loans.inputs().matrix, loans.frame["score"]
    who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        usual = UnawareRepair().fit(scores, X, **who)
        monkeypatch.setitem(sys.modules, "lightgbm", None)
        without = UnawareRepair().fit(scores, X, **who)
    assert type(usual.propensity_).__name__ == "LGBMClassifier"
    assert type(without.propensity_).__name__ == "HistGradientBoostingClassifier"
    assert without.propensity_auc_ == pytest.approx(usual.propensity_auc_, abs=0.05)


def test_tables_are_read_as_arrays_are(people: Drawn, fitted: UnawareRepair) -> None:
    import polars as pl

    table = pl.DataFrame(people.inputs, schema=["a", "b", "c"])
    moved = fitted.transform(
        pl.Series(people.scores), table, legitimate_features=pl.Series(people.levels)
    )
    again = fitted.transform(people.scores, people.inputs, legitimate_features=people.levels)
    np.testing.assert_array_equal(moved, again)


class Weightless(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> Any:  # noqa: ARG002
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), self.classes_.size), 1.0 / self.classes_.size)


@pytest.mark.parametrize(
    ("settings", "columns", "words"),
    [
        ({"repair_level": 2}, {}, "repair_level must be a number from 0 to 1"),
        ({"values": 1}, {}, "values must be a whole number"),
        ({"cv": 1}, {}, "cv must be a whole number of at least 2"),
        ({"min_cell": 0}, {}, "min_cell must be"),
        ({"propensity": "guess"}, {}, "propensity must be"),
        ({"propensity": LogisticRegression}, {}, "propensity must be"),
        ({"random_state": -1}, {}, "random_state must be"),
        ({}, {"inputs": [["a"], ["b"]] * 50}, "inputs must hold numbers"),
        ({}, {"inputs": np.zeros((99, 1))}, "inputs has 99 row"),
        ({}, {"sensitive_features": ["f"] * 100}, "single value"),
        ({"propensity": "given"}, {"inputs": np.full((100, 3), 1 / 3)}, "chances of 2 groups"),
        ({"propensity": "given"}, {"inputs": np.full((100, 2), 0.7)}, "sum to 1"),
        ({"propensity": Weightless()}, {"sample_weight": np.ones(100)}, "takes no sample_weight"),
        ({}, {"scores": [np.nan] * 100}, "not finite"),
    ],
)
def test_what_makes_no_sense_is_refused(settings: Any, columns: Any, words: str) -> None:
    rng = np.random.default_rng(0)
    rows = {
        "scores": rng.random(100),
        "inputs": rng.normal(size=(100, 2)),
        "sensitive_features": ["f", "m"] * 50,
        **columns,
    }
    with pytest.raises(InputError, match=words):
        UnawareRepair(**settings).fit(rows.pop("scores"), rows.pop("inputs"), **rows)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"max_disparity": 2.0}, "max_disparity must be"),
        ({"cost": (1.0,)}, "cost must be two numbers"),
        ({"cost": (0.0, 0.0)}, "cost must be two numbers"),
    ],
)
def test_decisions_that_make_no_sense_are_refused(settings: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        FairDecisions(**settings).fit(
            [0.5] * 40, np.zeros((40, 1)), sensitive_features=["f", "m"] * 20
        )


def test_decisions_need_probabilities() -> None:
    with pytest.raises(InputError, match=r"between 0 and 1, but row 3 has 1\.5"):
        FairDecisions().fit(
            [0.5] * 3 + [1.5] * 37, np.zeros((40, 1)), sensitive_features=["f", "m"] * 20
        )


def test_levels_are_asked_for_as_in_fit(people: Drawn, fitted: UnawareRepair) -> None:
    with pytest.raises(InputError, match="needed here too"):
        fitted.transform(people.scores, people.inputs)
    with pytest.raises(InputError, match="had 3 in fit"):
        fitted.transform(people.scores, people.inputs[:, :2], legitimate_features=people.levels)


@pytest.mark.parametrize("repair", [UnawareRepair, FairDecisions])
def test_where_nothing_is_clear_of_noise_nothing_is_done(repair: Any) -> None:
    rng = np.random.default_rng(3)
    inputs, scores = rng.normal(size=(600, 2)), rng.random(600)
    group = rng.random(600) < 1.0 / (1.0 + np.exp(-2.0 * inputs[:, 0]))
    tried = repair(propensity=LogisticRegression())
    tried.fit(scores, inputs, sensitive_features=group, legitimate_features=rng.integers(0, 4, 600))
    assert tried.trust_ == 0.0
