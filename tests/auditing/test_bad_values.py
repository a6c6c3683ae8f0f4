"""Bad values of every argument are an `InputError`, or they work; nothing else gets through."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest

import likeforlike as lfl

SCORES, GROUPS, LEVELS = [0.1, 0.2, 0.3, 0.4], ["f", "m", "f", "m"], [1, 1, 2, 2]
# Text in the place of numbers, which type checkers would not let pass.
TWO, WORD, PERCENT = (cast("Any", text) for text in ("2", "a", "5 percent"))


def table(rows: int = 400) -> pl.DataFrame:
    k = np.arange(rows)
    return pl.DataFrame(
        {
            "score": (7 * k % 41) / 41,
            "sex": ["f", "m"] * (rows // 2),
            "band": k // 2 % 2,
            "age": 20 + k // 2 % 40,
        }
    )


def audit(**change: Any) -> lfl.Audit:
    roles: dict[str, Any] = {
        "score": "score",
        "sensitive": "sex",
        "legitimate": "band",
        "permutations": 9,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lfl.errors.BinnedLevelWarning)
        return lfl.audit(table(), **{**roles, **change})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lfl.cdd_lp(SCORES, GROUPS, LEVELS, order=TWO), "order must be a finite number"),
        (lambda: lfl.cdd_wass(SCORES, GROUPS, LEVELS, order=TWO), "order must be a finite number"),
        (lambda: lfl.cdd_lp(SCORES, GROUPS, LEVELS, p=TWO), "p must be a number of at least 1"),
        (lambda: lfl.cdd_wass(SCORES, GROUPS, LEVELS, level_cost=WORD), "level_cost must be"),
        (
            lambda: lfl.cdd_wass(SCORES, GROUPS, LEVELS, level_metric=[[0], [1, 2]]),
            "level_metric must be a square array of numbers",
        ),
        (lambda: lfl.FairLeap(order=TWO), "order must be a finite number"),
        (lambda: lfl.FairBiT(level_cost=TWO), "level_cost must be a finite number"),
        (lambda: lfl.cdd_lp([[1], [2, 3]], GROUPS), "scores .* lists of different lengths"),
        (lambda: lfl.cdd_lp(SCORES, [["a"], ["b", "c"]]), "groups must be one-dimensional"),
        (lambda: lfl.cdd_lp([10**400, 1, 2, 3], GROUPS), "scores must hold numbers"),
        (lambda: lfl.cdd_lp([0.1, pd.NA, 0.3, 0.4], GROUPS), "scores must hold numbers"),
        (lambda: lfl.cdd_lp(SCORES, ["f", pd.NA, "f", "m"]), "groups has 1 missing .* row 1"),
        (
            lambda: lfl.cdd_lp(SCORES, GROUPS, LEVELS, measure={1: WORD, 2: 1}),
            "measure gives level 1 the weight 'a'",
        ),
        (lambda: audit(measure={0: "a", 1: 1}), "measure gives level 0 the weight 'a'"),
        (lambda: audit(bins=5), "bins must say which column to cut, as .* not 5"),
        (lambda: audit(legitimate="age", bins={"age": "a"}), "a whole number of parts, at a list"),
        (lambda: audit(legitimate="age", bins={"age": 2.5}), "a whole number of parts, at a list"),
        (lambda: audit(legitimate="age", bins={"age": [3, 2]}), "must rise from edge to edge"),
        (lambda: audit(legitimate="age", bins={"age": ["x"]}), "bins of 'age' must hold numbers"),
        (lambda: audit(legitimate=5), "legitimate must be a column or a list of columns, not 5"),
        (lambda: audit(legitimate=[5]), "legitimate must be the name of a column, not 5"),
        (lambda: audit(sensitive=["sex", 5]), "sensitive must be the name of a column, not 5"),
        (lambda: audit(sensitive=[]), "sensitive must be a column or a list of columns, not"),
        (lambda: audit(sensitive=None), "sensitive must be a column or a list of columns, not"),
        (lambda: audit(score=["score"]), "score must be the name of a column"),
        (lambda: audit(weight=3), "weight must be the name of a column, not 3"),
        (lambda: audit(resolution="a"), "resolution must be more than 0, not 'a'"),
        (lambda: audit(confidence="95%"), "confidence must lie between 0 and 1, not '95%'"),
        (lambda: audit(confidence=None), "confidence must lie between 0 and 1, not None"),
        (lambda: audit(adjustment="x", permutations=0), "adjustment must be one of"),
        (lambda: audit(random_state=None), "random_state must be a whole number, not None"),
        (lambda: audit(random_state=2**70), "random_state must fit into 64 bits"),
        (lambda: audit(permutations=10**400), "permutations must lie between 0 and 10,000,000"),
        (lambda: audit(measure=np.ones(2)), "measure must be one of"),
        (
            lambda: lfl.cdd_wass(SCORES, GROUPS, LEVELS, level_metric=-(10**400)),
            "level_metric must be a square array of numbers",
        ),
        (
            lambda: lfl.FairLeap(measure={1: 1e308, 2: 1.0}, summed=True).value_and_grad(
                SCORES, GROUPS, LEVELS
            ),
            "these are too large or too small",
        ),
        (lambda: audit().gate(PERCENT), "or a percentage such as '5%', not '5 percent'"),
        (lambda: audit().gate(None), "threshold must be a finite number of 0 or more"),  # type: ignore[arg-type]
    ],
)
def test_bad_values_are_refused_with_a_reason(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(lfl.errors.InputError, match=message):
        call()


@pytest.mark.parametrize(
    "groups",
    [
        np.array([2**64 - 1, 2**64 - 2] * 2, dtype=np.uint64),
        pl.Series([2**64 - 1, 2**64 - 2] * 2, dtype=pl.UInt64),
        pl.Series([2**100, 2] * 2, dtype=pl.Int128),
        [10**400, 1] * 2,
    ],
    ids=["uint64", "polars uint64", "int128", "huge"],
)
def test_whole_numbers_of_any_size_are_groups(groups: Any) -> None:
    found = lfl.cdd_lp(SCORES, groups, LEVELS)
    assert found.groups == tuple(sorted({int(group) for group in groups}))
    assert found.value == pytest.approx(0.1)


def test_scores_of_128_bits_are_numbers() -> None:
    assert lfl.cdd_lp(pl.Series([1, 2, 3, 4], dtype=pl.Int128), GROUPS, LEVELS).value == 1.0


def test_settings_of_numpy_make_a_document() -> None:
    found = audit(min_cell=np.int64(20), confidence=np.float32(0.5), permutations=np.int32(9))
    assert '"min_cell": 20' in found.to_json()
    assert "<html" in found.to_html()


def test_no_legitimate_columns_can_be_said_in_three_ways() -> None:
    ways: tuple[Any, ...] = (None, (), [])
    values = {audit(legitimate=none).conditional.value for none in ways}
    assert len(values) == 1


def test_bins_may_have_edges() -> None:
    found = audit(legitimate="age", bins={"age": np.array([30, 45])})
    assert found.table.edges == {"age": (30.0, 45.0)}
    rows = {level.name: sum(level.rows.values()) for level in found.levels}
    ages = table()["age"].to_numpy()
    assert rows == {
        "age up to 30": int((ages <= 30).sum()),
        "age above 30 up to 45": int(((ages > 30) & (ages <= 45)).sum()),
        "age above 45": int((ages > 45).sum()),
    }


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame])
def test_a_table_in_the_place_of_a_column_is_named(kind: Any) -> None:
    frame = kind({"race": GROUPS, "male": GROUPS})
    for columns in ((SCORES, frame, LEVELS), (SCORES, GROUPS, frame), (frame, GROUPS, LEVELS)):
        with pytest.raises(
            lfl.errors.InputError, match=r"must be one column, but it is a table of 2: "
        ):
            lfl.cdd_lp(*columns)


def test_a_nested_disparity_is_its_value_as_a_number() -> None:
    found = lfl.cdd_wass(SCORES, GROUPS, LEVELS)
    assert float(found) == found.value
    assert found.root == pytest.approx(found.value**0.5)


def test_seven_columns_of_a_thousand_levels_are_told_apart() -> None:
    """Their product is larger than 64 bits can hold."""
    rng = np.random.default_rng(0)
    people = 4000
    columns = {f"l{j}": np.repeat(rng.permutation(people // 2), 2) // 2 for j in range(7)}
    rows = pl.DataFrame({"s": np.arange(people), "g": ["f", "m"] * (people // 2), **columns})
    found = lfl.audit(rows, score="s", sensitive="g", legitimate=list(columns), permutations=0)
    assert len(found.levels) == rows.select(*columns).n_unique() == people // 2
    assert found.conditional.value == pytest.approx(1.0)


def many_groups(groups: int) -> pl.DataFrame:
    k = np.arange(30 * groups)
    return pl.DataFrame({"s": k % 7, "g": [f"g{each % groups}" for each in k]})


def test_many_groups_need_a_reference() -> None:
    roles: dict[str, Any] = {"score": "s", "sensitive": "g", "permutations": 0}
    with pytest.raises(
        lfl.errors.InputError, match=r"42 groups would be 861 comparisons.*reference='g"
    ):
        lfl.audit(many_groups(42), **roles)
    assert len(lfl.audit(many_groups(42), **roles, reference="g7").contrasts) == 41
    assert len(lfl.audit(many_groups(20), **roles).contrasts) == 190


@pytest.mark.parametrize("resolution", [None, 0.5])
def test_an_identifier_is_no_legitimate_column(resolution: float | None) -> None:
    rows = table().with_row_index("person").with_columns(pair=pl.int_range(pl.len()) // 2)
    roles: dict[str, Any] = {
        "score": "score",
        "sensitive": "sex",
        "permutations": 0,
        "resolution": resolution,
    }
    with pytest.raises(
        lfl.errors.InputError, match=r"column 'person' has 400 different values in 400"
    ):
        lfl.audit(rows, **roles, legitimate=["band", "person"])
    # Pairs of people are equals, and some may have lost their other half.
    for paired in (rows, rows[3:]):
        assert len(lfl.audit(paired, **roles, legitimate="pair").levels) >= 198


def test_numbers_without_bins_get_a_hint() -> None:
    roles: dict[str, Any] = {"score": "score", "sensitive": "sex", "permutations": 0}
    rows = table().with_columns(exact=pl.int_range(pl.len()) // 2 % 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lfl.errors.BinnedLevelWarning)
        hints = [
            " ".join(lfl.audit(rows, **roles, **levels).to_dict()["finding"]["cautions"])
            for levels in (
                {"legitimate": "exact"},
                {"legitimate": "exact", "bins": {"exact": 5}},
                {"legitimate": "band"},
            )
        ]
    assert "exact has 60 different values" in hints[0]
    assert "--smooth exact" in hints[0]
    assert "--bins exact=10" in hints[0]
    assert "different values" not in hints[1] + hints[2]


WITHOUT_TORCH = """
from importlib.machinery import PathFinder
real = PathFinder.find_spec
def hidden(name, path=None, target=None):
    return None if name.partition(".")[0] == "torch" else real(name, path, target)
PathFinder.find_spec = hidden
import inspect
import likeforlike as lfl
assert not hasattr(lfl, "FairClassifier") and not hasattr(lfl.training, "PenaltyLoss")
assert getattr(lfl, "FairClassifier", "nothing") == "nothing"
assert "FairClassifier" in dir(lfl) and inspect.getmembers(lfl)
for code in (
    "from likeforlike import FairClassifier",
    "from likeforlike.training import FairRegressor",
    "from likeforlike.training import PenaltyLoss",
):
    for _ in range(2):
        try:
            exec(code)
            raise SystemExit(f"{code} should have failed")
        except ImportError as error:
            assert "torch is not installed; pip install 'likeforlike[train]'" in str(error), error
            assert isinstance(error, lfl.errors.MissingDependencyError)
            assert isinstance(error, lfl.errors.InputError)
            assert error.name == "torch"
try:
    lfl.FairClassifier
except AttributeError as error:
    assert "pip install 'likeforlike[train]'" in str(error)
try:
    from likeforlike import nonsense
except ImportError as error:
    assert not isinstance(error, lfl.errors.InputError)
"""


@pytest.mark.process
def test_what_needs_a_missing_library_is_not_there_and_says_so_when_imported() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.training
def test_settings_and_targets_without_a_value_are_refused_before_training() -> None:
    inputs, groups = np.arange(12.0).reshape(6, 2), ["f", "m"] * 3
    with pytest.raises(lfl.errors.InputError, match="hidden_layer_sizes must list the sizes"):
        lfl.FairClassifier(hidden_layer_sizes=np.array(2.0)).fit(  # type: ignore[arg-type]
            inputs, [0, 1] * 3, sensitive_features=groups
        )
    for targets in ([0, 1, pd.NA, 1, 0, 1], np.array([0, 1, pd.NA, 1, 0, 1], dtype=object)):
        with pytest.raises(lfl.errors.InputError, match="y has no value in row 2"):
            lfl.FairClassifier().fit(inputs, targets, sensitive_features=groups)


@pytest.mark.training
@pytest.mark.parametrize("huge", [10**400, Decimal("1e400")], ids=["whole", "decimal"])
def test_targets_too_large_to_be_held_are_refused(huge: object) -> None:
    inputs, groups = np.arange(24.0).reshape(12, 2), ["f", "m"] * 6
    for estimator in (lfl.FairRegressor(max_epochs=1), lfl.FairLGBMRegressor(n_estimators=1)):
        with pytest.raises(lfl.errors.InputError, match=r"y .*(too large|not finite|can be held)"):
            estimator.fit(inputs, [0, 1] * 5 + [1, huge], sensitive_features=groups)
        with pytest.raises(lfl.errors.InputError, match="y must hold numbers"):
            estimator.fit(inputs, np.zeros(12, [("a", float)]), sensitive_features=groups)


def test_a_level_whose_rows_weigh_nothing_is_no_level() -> None:
    weighed = table().with_columns(weight=pl.when(pl.col("band") == 0).then(0.0).otherwise(2.0))
    roles: dict[str, Any] = {"score": "score", "sensitive": "sex", "legitimate": "band"}
    found = lfl.audit(weighed, **roles, weight="weight", permutations=9)
    assert [level.name for level in found.levels] == ["band 1"]
    alone = lfl.audit(weighed.filter(pl.col("band") == 1), **roles, permutations=9)
    assert found.gap == pytest.approx(alone.gap, rel=1e-12)


def test_groups_that_weigh_next_to_nothing_have_a_gap() -> None:
    found = lfl.disparity.tv_overlap(
        [-2, -1, -4, 4], list("aabc"), sample_weight=[1e209, 1e-55, 1e-183, 1e-169]
    )
    assert all(np.isfinite([found.value, found.gap, *(each.gap for each in found.comparisons)]))
