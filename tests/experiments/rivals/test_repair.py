"""Repair of inputs: against its definition, against AIF360's scheme, and in a pipeline."""

import pickle
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy.stats import ks_2samp
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

import likeforlike as lfl
from likeforlike import FairClassifier
from likeforlike._arrays import FloatArray
from likeforlike.datasets import load_adult, make_loans
from likeforlike.errors import InputError, MissingGroupsWarning
from likeforlike.experiments.rivals import QuantileRepair
from tests.experiments.rivals.by_hand import bucket_repair, slow_repair

SIZES = [(5, 5), (4, 6), (1, 5), (3, 4, 6), (2, 3, 4, 6), (7, 7, 7)]


def sample(
    *sizes: int, digits: int | None = None, seed: int = 0
) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    values = rng.normal(size=groups.size) * (1.0 + groups) + groups
    return (values if digits is None else np.round(values, digits)), groups


def ks(values: Any, groups: npt.NDArray[Any]) -> float:
    column = np.asarray(values)
    first, *others = (column[groups == g] for g in np.unique(groups))
    return max(float(ks_2samp(first, other).statistic) for other in others)


def people(rows: int = 20_000, seed: int = 0) -> tuple[pl.DataFrame, npt.NDArray[Any]]:
    """Numbers of all kinds, each of which tells the groups apart, and two columns of no numbers."""
    rng = np.random.default_rng(seed)
    male = rng.random(rows) < 0.7
    frame = pl.DataFrame(
        {
            "income": np.exp(rng.normal(10.0 + 0.3 * male, 0.5)),
            "city": rng.choice(["Rome", "Oslo", "Bern"], rows),
            "years": rng.poisson(3 + 2 * male),
            "hours": np.round(rng.normal(36 + 6 * male, 8), -1),
            "flag": (rng.random(rows) < 0.3 + 0.3 * male).astype(np.int8),
            "owner": rng.random(rows) < 0.5,
        }
    )
    return frame, np.where(male, "m", "f")


NUMERIC = ("income", "years", "hours", "flag")


@pytest.mark.parametrize("digits", [None, 0], ids=["continuous", "tied"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_against_the_definition(sizes: tuple[int, ...], digits: int | None) -> None:
    values, groups = sample(*sizes, digits=digits)
    repaired = QuantileRepair(min_cell=1).fit_transform(values[:, None], sensitive_features=groups)
    for group, expected in slow_repair(values, groups).items():
        found = repaired[groups == group, 0]
        np.testing.assert_allclose(np.sort(found), expected, rtol=0, atol=1e-13)
        # Rows keep their order; only tied rows may change places.
        order = np.lexsort((found, values[groups == group]))
        assert (np.diff(found[order]) >= 0.0).all()


def test_two_groups_meet_half_way_whatever_their_sizes() -> None:
    values = np.concatenate([np.full(10, 0.0), np.full(990, 1.0)])
    repair = QuantileRepair(min_cell=10)
    repaired = repair.fit_transform(values[:, None], sensitive_features=values)
    assert (repaired == 0.5).all()


def test_every_numeric_column_becomes_independent_of_the_group() -> None:
    frame, groups = people()
    assert all(ks(frame[name], groups) > 0.1 for name in NUMERIC)
    repair = QuantileRepair().fit(frame, sensitive_features=groups)
    repaired = repair.transform(frame, sensitive_features=groups)
    assert repair.repaired_ == NUMERIC
    assert repair.groups_ == ("f", "m")
    for name in NUMERIC:
        assert ks(repaired[name], groups) < 0.001
        assert repaired[name].dtype == pl.Float64
    assert repaired.select("city", "owner").equals(frame.select("city", "owner"))


def test_rows_that_were_not_there_are_repaired_too() -> None:
    frame, groups = people()
    others, their_groups = people(seed=1)
    repair = QuantileRepair().fit(frame, sensitive_features=groups)
    repaired = repair.transform(others, sensitive_features=their_groups)
    # What is left is the noise of two samples, the rows of fit and these.
    assert all(ks(repaired[name], their_groups) < 0.025 for name in NUMERIC)
    assert all(ks(others[name], their_groups) > 0.1 for name in NUMERIC)


def test_level_0_changes_nothing_bit_for_bit() -> None:
    frame, groups = people(500)
    repair = QuantileRepair(0.0).fit(frame, sensitive_features=groups)
    kept = repair.transform(frame, sensitive_features=groups)
    assert kept.equals(frame)
    assert kept.schema == frame.schema
    whole = np.arange(500).reshape(250, 2)
    kept = QuantileRepair(0.0).fit_transform(whole, sensitive_features=groups[:250])
    assert kept.dtype == whole.dtype
    assert (kept == whole).all()
    assert not np.shares_memory(kept, whole)


def test_every_distance_shrinks_with_the_level() -> None:
    values, groups = sample(300, 300)
    before = float(lfl.dd(values, groups, order=2))
    for level in (0.25, 0.5, 0.9):
        repair = QuantileRepair(level)
        repaired = repair.fit_transform(values[:, None], sensitive_features=groups)[:, 0]
        after = float(lfl.dd(repaired, groups, order=2))
        assert after == pytest.approx((1.0 - level) * before, rel=1e-12)


def test_the_level_may_change_after_fit() -> None:
    values, groups = sample(50, 60)
    repair = QuantileRepair(0.0).fit(values[:, None], sensitive_features=groups)
    at_once = QuantileRepair(0.7).fit_transform(values[:, None], sensitive_features=groups)
    later = repair.set_params(repair_level=0.7).transform(
        values[:, None], sensitive_features=groups
    )
    assert (later == at_once).all()


def test_inside_levels_columns_are_independent_among_equals() -> None:
    rng = np.random.default_rng(0)
    level, group = rng.integers(0, 5, 20_000), rng.integers(0, 2, 20_000)
    values = rng.normal(3.0 * level + group * (level - 1.5))
    roles = {"sensitive_features": group, "legitimate_features": level}
    repaired = QuantileRepair(within_levels=True).fit_transform(values[:, None], **roles)[:, 0]
    for k in range(5):
        inside = level == k
        assert ks(values[inside], group[inside]) > 0.1
        assert ks(repaired[inside], group[inside]) < 0.002
        # The level still says what it said: the mean of the two groups, each counted once.
        means = [values[inside & (group == g)].mean() for g in (0, 1)]
        assert repaired[inside & (group == 0)].mean() == pytest.approx(np.mean(means), abs=1e-12)


def test_repair_of_all_rows_takes_no_notice_of_levels() -> None:
    values, groups = sample(40, 50)
    alone = QuantileRepair().fit_transform(values[:, None], sensitive_features=groups)
    together = QuantileRepair().fit_transform(
        values[:, None], sensitive_features=groups, legitimate_features=np.arange(90) % 3
    )
    assert (alone == together).all()


def test_small_cells_and_new_levels_borrow_a_map() -> None:
    level = np.array([1] * 40 + [2] * 3 + [3] * 40)
    group = np.arange(83) % 2
    values = np.arange(83.0)[:, None]
    roles = {"sensitive_features": group, "legitimate_features": level}
    repair = QuantileRepair(within_levels=True).fit(values, **roles)
    assert repair.levels_ == (1, 2, 3)
    assert repair.coverage_ == {0: 40 / 42, 1: 40 / 41}
    with pytest.warns(UserWarning, match="fit has not seen the level 7"):
        moved = repair.transform(
            values[60:61], sensitive_features=[0], legitimate_features=np.array([7])
        )
    as_level_3 = repair.transform(
        values[60:61], sensitive_features=group[60:61], legitimate_features=[3]
    )
    assert moved == as_level_3


@pytest.mark.parametrize("groups", [3, 5])
def test_the_same_as_aif360_for_an_odd_number_of_equal_groups_without_ties(groups: int) -> None:
    values, labels = sample(*[80] * groups)
    ours = QuantileRepair().fit_transform(values[:, None], sensitive_features=labels)[:, 0]
    assert (ours == bucket_repair(values, labels)).all()


def test_two_groups_of_aif360_meet_at_the_lower() -> None:
    values, labels = sample(80, 80)
    ours = QuantileRepair().fit_transform(values[:, None], sensitive_features=labels)[:, 0]
    ordered = np.sort([values[labels == g] for g in (0, 1)], axis=1)
    lower, half = ordered.min(axis=0), ordered.mean(axis=0)
    for g in (0, 1):
        rank = np.argsort(np.argsort(values[labels == g]))
        np.testing.assert_array_equal(bucket_repair(values, labels)[labels == g], lower[rank])
        np.testing.assert_allclose(ours[labels == g], half[rank], rtol=0, atol=1e-13)


def test_beside_aif360_on_adult() -> None:
    """The figures of the docstring: difference in standard deviations, and KS distances."""
    expected = {
        "age": (0.09, 0.23, 0.104, 0.104),
        "education-num": (0.05, 0.39, 0.037, 0.037),
        "hours-per-week": (0.26, 0.79, 0.211, 0.355),
    }
    adult = load_adult()
    repair = QuantileRepair(columns=list(expected))
    repaired = repair.fit_transform(adult.frame, sensitive_features=adult.groups)
    assert repair.repaired_ == tuple(expected)
    for name, (mean, most, before, after) in expected.items():
        values = adult.frame[name].to_numpy().astype(float)
        theirs = bucket_repair(values, adult.groups)
        apart = np.abs(repaired[name].to_numpy() - theirs) / values.std()
        assert apart.mean() == pytest.approx(mean, abs=0.005)
        assert apart.max() == pytest.approx(most, abs=0.005)
        assert ks(values, adult.groups) == pytest.approx(before, abs=0.0005)
        assert ks(theirs, adult.groups) == pytest.approx(after, abs=0.0005)
        assert ks(repaired[name], adult.groups) < 0.0001


def test_tied_rows_draw_lots_for_every_column_anew() -> None:
    groups = np.repeat([0, 1], [400, 600])
    column = np.concatenate([np.zeros(400), np.random.default_rng(0).normal(size=600)])
    table = np.column_stack([column, column])
    repair = QuantileRepair().fit(table, sensitive_features=groups)
    first = repair.transform(table, sensitive_features=groups)
    assert (first == repair.transform(table, sensitive_features=groups)).all()
    tied = first[groups == 0]
    assert (np.sort(tied[:, 0]) == np.sort(tied[:, 1])).all()
    assert abs(np.corrcoef(tied.T)[0, 1]) < 0.15
    other = repair.set_params(random_state=1).transform(table, sensitive_features=groups)
    assert (other != first).any()
    # One row of many that share a value gets the mean of what they get.
    alone = repair.transform(table[:1], sensitive_features=groups[:1])
    assert alone[0, 0] == pytest.approx(tied[:, 0].mean(), abs=1e-12)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_dataframe_comes_back_as_what_it_was(kind: str) -> None:
    frame, groups = people(400)
    index = np.arange(400)[::-1] * 2
    columns = frame.to_dict(as_series=False)
    tables: dict[str, Any] = {
        "pandas": pd.DataFrame(columns, index=index),
        "polars": frame,
        "pyarrow": pa.table(columns),
    }
    given = tables[kind]
    repair = QuantileRepair(columns=["hours", 0])
    repaired = repair.fit_transform(given, sensitive_features=groups)
    expected = QuantileRepair(columns=["hours", 0]).fit_transform(frame, sensitive_features=groups)
    assert type(repaired) is type(given)
    assert repair.repaired_ == ("hours", "income")
    assert list(repair.get_feature_names_out()) == frame.columns
    for name in frame.columns:
        assert list(map(str, repaired[name])) == list(map(str, expected[name]))
    if kind == "pandas":
        assert (repaired.index == index).all()
        assert given["hours"].equals(pd.Series(frame["hours"].to_list(), index=index))


def test_set_output_and_arrays() -> None:
    values, groups = sample(40, 50)
    table = np.column_stack([values, values])
    repair = QuantileRepair(columns=1).set_output(transform="pandas")
    repaired = repair.fit_transform(table, sensitive_features=groups)
    assert list(repaired.columns) == ["x0", "x1"]
    assert repair.repaired_ == (1,)
    assert (repaired["x0"] == values).all()
    assert (repaired["x1"] != values).any()
    listed = QuantileRepair(columns=1).fit_transform(table.tolist(), sensitive_features=groups)
    assert (listed == repaired.to_numpy()).all()


def test_the_contract_of_scikit_learn() -> None:
    check_estimator(QuantileRepair(0.0), on_skip=None)


@pytest.mark.filterwarnings("ignore::likeforlike.errors.MissingGroupsWarning")
def test_the_contract_of_scikit_learn_without_groups() -> None:
    check_estimator(QuantileRepair(), on_skip=None)


def test_without_groups_nothing_changes_and_that_is_said() -> None:
    frame, groups = people(100)
    with pytest.warns(MissingGroupsWarning, match="nothing will be repaired"):
        repair = QuantileRepair().fit(frame)
    assert repair.groups_ == ()
    assert repair.transform(frame).equals(frame)
    with pytest.raises(InputError, match="were not given in fit"):
        repair.transform(frame, sensitive_features=groups)


def test_a_copy_and_a_pickle_repair_alike() -> None:
    frame, groups = people(300)
    repair = QuantileRepair().fit(frame, sensitive_features=groups)
    repaired = repair.transform(frame, sensitive_features=groups)
    again = pickle.loads(pickle.dumps(repair))
    assert again.transform(frame, sensitive_features=groups).equals(repaired)
    assert clone(repair).fit_transform(frame, sensitive_features=groups).equals(repaired)


ROWS = np.arange(60.0).reshape(30, 2)
GROUPS = np.arange(30) % 2


@pytest.mark.parametrize(
    ("settings", "features", "complaint"),
    [
        ({"repair_level": 1.5}, {}, "repair_level must be a number from 0 to 1, not 1.5"),
        ({"min_cell": 0}, {}, "min_cell must be a whole number of at least 1"),
        ({"min_cell": 16}, {}, "15 row.s. of 0, fewer than min_cell=16"),
        ({"columns": ["age"]}, {}, "columns has 'age', but X is an array"),
        ({"columns": [2]}, {}, "columns has 2, but X has the positions 0 to 1"),
        ({"columns": [True]}, {}, "columns must hold names or positions, not True"),
        ({"columns": []}, {}, "columns is empty"),
        ({"within_levels": True}, {}, "within_levels=True needs legitimate_features"),
        ({}, {"sensitive_features": np.zeros(30)}, "single value 0.0"),
        ({}, {"sensitive_features": GROUPS[:7]}, "sensitive_features has 7 row"),
    ],
)
def test_bad_input(settings: dict[str, Any], features: dict[str, Any], complaint: str) -> None:
    given = {"sensitive_features": GROUPS, **features}
    with pytest.raises(InputError, match=complaint):
        QuantileRepair(**{"min_cell": 1, **settings}).fit(ROWS, **given)


def test_bad_rows_to_transform() -> None:
    roles = {"sensitive_features": GROUPS, "legitimate_features": GROUPS}
    repair = QuantileRepair(min_cell=1).fit(ROWS, **roles)
    with pytest.raises(InputError, match="so transform needs them too"):
        repair.transform(ROWS)
    with pytest.raises(InputError, match="sensitive_features has 2, which fit has not seen"):
        repair.transform(ROWS, sensitive_features=GROUPS + 1)
    inside = QuantileRepair(min_cell=1, within_levels=True)
    inside.fit(ROWS, sensitive_features=GROUPS, legitimate_features=GROUPS // 2)
    with pytest.raises(InputError, match="legitimate_features has 2 column"):
        inside.transform(ROWS, sensitive_features=GROUPS, legitimate_features=ROWS)


def test_bad_tables() -> None:
    frame, groups = people(100)
    repair = QuantileRepair(columns=["city"])
    with pytest.raises(InputError, match="'city' of type String; only numbers can be repaired"):
        repair.fit(frame, sensitive_features=groups)
    with pytest.raises(InputError, match="X has no numeric column"):
        QuantileRepair().fit(frame.select("city"), sensitive_features=groups)
    with pytest.raises(InputError, match="X is a lazy table; collect its rows"):
        QuantileRepair().fit(frame.lazy(), sensitive_features=groups)
    twice = pd.DataFrame(np.zeros((100, 2)), columns=["age", "age"])
    with pytest.raises(InputError, match="X cannot be read"):
        QuantileRepair().fit(twice, sensitive_features=groups)
    with pytest.raises(InputError, match="needs at least one row and one column"):
        QuantileRepair().fit(frame.clear(), sensitive_features=groups)
    broken = frame.with_columns(income=pl.lit(None, pl.Float64))
    with pytest.raises(InputError, match="column 'income' of X has 100 value"):
        QuantileRepair().fit(broken, sensitive_features=groups)


def test_repair_then_penalized_training_in_a_pipeline() -> None:
    """Two methods together, which the paper leaves to future work."""
    loans = make_loans(2000, gap=0.2)
    table = loans.inputs().matrix
    roles = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    asked = dict.fromkeys(roles, True)
    settings: dict[str, Any] = {"strength": 20.0, "max_epochs": 25, "random_state": 0}
    with sklearn.config_context(enable_metadata_routing=True):
        repair = QuantileRepair(within_levels=True)
        model = FairClassifier(**settings).set_fit_request(**asked)
        both = Pipeline(
            [
                ("repair", repair.set_fit_request(**asked).set_transform_request(**asked)),
                ("model", model),
            ]
        )
        scores = both.fit(table, loans.targets, **roles).predict_proba(table, **roles)[:, 1]
    repaired = QuantileRepair(within_levels=True).fit_transform(table, **roles)
    by_hand = FairClassifier(**settings).fit(repaired, loans.targets, **roles)
    assert (scores == by_hand.predict_proba(repaired)[:, 1]).all()
    plain = FairClassifier(**{**settings, "strength": 0.0}).fit(table, loans.targets)
    free = plain.predict_proba(table)[:, 1]
    after, before = (
        float(lfl.cdd_lp(found, loans.groups, loans.levels)) for found in (scores, free)
    )
    assert after < 0.5 * before
