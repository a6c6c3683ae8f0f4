"""Bad input raises an error that names the argument and what is wrong with it."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.datasets import load_loans, make_loans

SCORES, GROUPS, LEVELS = [0.1, 0.2, 0.3, 0.4], ["f", "m", "f", "m"], [1, 1, 2, 2]
MEASURING: list[Callable[..., Any]] = [lfl.cdd_lp, lfl.cdd_wass, lfl.disparity.tv_overlap]

BAD_COLUMNS = [
    ([0.1, math.nan, 0.3, math.nan], GROUPS, LEVELS, None, r"scores has 2 .* first at row 1 \(nan"),
    ([0.1, 0.2, math.inf, 0.4], GROUPS, LEVELS, None, r"scores has 1 .* row 2 \(inf"),
    (["a", "b", "c", "d"], GROUPS, LEVELS, None, "scores must hold numbers"),
    (["0.1", "0.2", "0.3", "0.4"], GROUPS, LEVELS, None, "scores must hold numbers"),
    (np.array([0.1, None, {}, 1], dtype=object), GROUPS, LEVELS, None, "scores must hold numbers"),
    (np.ones((4, 2)), GROUPS, LEVELS, None, r"scores must be one-dimensional.*\(4, 2\)"),
    ("text", GROUPS, LEVELS, None, "scores must be a one-dimensional array"),
    (0.5, GROUPS, LEVELS, None, "scores must be a one-dimensional array"),
    ([], [], [], None, "scores is empty"),
    (SCORES, [], LEVELS, None, "groups is empty"),
    (SCORES, GROUPS[:3], LEVELS, None, r"groups has 3 row\(s\), but scores have 4"),
    (SCORES, GROUPS, LEVELS[:2], None, r"levels has 2 row\(s\), but scores have 4"),
    (SCORES, ["f", None, "f", "m"], LEVELS, None, "groups has 1 missing .* row 1"),
    (SCORES, GROUPS, [1.0, 2.0, math.nan, 1.0], None, "levels has 1 missing .* row 2"),
    (SCORES, [["f"], ["m"], ["f"], ["m"]], LEVELS, None, "groups must be one-dimensional"),
    (SCORES, ["f"] * 4, LEVELS, None, "groups has the single value 'f'"),
    (SCORES, GROUPS, [1, 2, 1, 2], None, r"two of the groups \['f', 'm'\].*legitimate_features"),
    (SCORES, GROUPS, LEVELS, [1, 1, -1, 1], "sample_weight has 1 negative .* row 2"),
    (SCORES, GROUPS, LEVELS, [0, 0, 0, 0], "sample_weight is zero for every row"),
    (SCORES, GROUPS, LEVELS, [1, 1], r"sample_weight has 2 row\(s\)"),
    (SCORES, GROUPS, LEVELS, [1, 1, math.nan, 1], "sample_weight has 1 .* not finite"),
    (SCORES, GROUPS, LEVELS, [1, 0, 1, 0], "groups has the single value 'f'"),
    (SCORES, None, LEVELS, None, "groups is missing"),
]


@pytest.mark.parametrize("measuring", MEASURING)
@pytest.mark.parametrize(("scores", "groups", "levels", "weight", "message"), BAD_COLUMNS)
def test_bad_columns(
    measuring: Callable[..., Any], scores: Any, groups: Any, levels: Any, weight: Any, message: str
) -> None:
    with pytest.raises(lfl.errors.InputError, match=message):
        measuring(scores, groups, levels, sample_weight=weight)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"p": 0.5}, "p must be a number of at least 1"),
        ({"p": math.nan}, "p must be a number of at least 1"),
        ({"order": 0.5}, "order must be a finite number of at least 1"),
        ({"order": math.inf}, "order must be a finite number of at least 1"),
        ({"distance": "emd"}, "distance must be one of"),
        ({"measure": "median"}, "measure must be one of"),
        ({"measure": {1: 1.0, 7: 1.0}}, "measure names the level 7, which no row has"),
        ({"measure": {1: 1.0}}, "measure has no weight for level 2"),
        ({"measure": {1: 1.0, 2: -1.0}}, "measure gives level 2 the weight -1.0"),
        ({"measure": {1: 0.0, 2: 0.0}}, "measure gives weight 0 to every level"),
        ({"comparison": "all"}, "comparison must be one of"),
        ({"comparison": "barycenter", "distance": "ks"}, "needs distance='wasserstein'"),
        ({"comparison": "barycenter", "order": 3}, "barycenter has order 1 or 2"),
    ],
)
def test_bad_settings_of_cdd_lp(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(lfl.errors.InputError, match=message):
        lfl.cdd_lp(SCORES, GROUPS, LEVELS, **settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"order": 0.0}, "order must be a finite number of at least 1"),
        ({"level_cost": -1.0}, "level_cost must be a finite number of 0 or more"),
        ({"level_cost": math.nan}, "level_cost must be a finite number of 0 or more"),
        ({"level_metric": "euclid"}, "level_metric must be 'discrete', 'ordinal', 'numeric'"),
        ({"level_metric": np.zeros((3, 3))}, r"level_metric has shape \(3, 3\), but there are 2"),
        ({"level_metric": [[0, -1], [-1, 0]]}, "finite distances of 0 or more"),
        ({"level_metric": [[0, math.nan], [1, 0]]}, "finite distances of 0 or more"),
        ({"level_metric": [[0, 1], [2, 0]]}, "symmetric with zeros on its diagonal"),
        ({"level_metric": [[1, 1], [1, 0]]}, "symmetric with zeros on its diagonal"),
        ({"comparison": "barycenter"}, "two groups at a time"),
    ],
)
def test_bad_settings_of_cdd_wass(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(lfl.errors.InputError, match=message):
        lfl.cdd_wass(SCORES, GROUPS, LEVELS, **settings)


def test_a_numeric_metric_needs_levels_that_are_numbers() -> None:
    with pytest.raises(
        lfl.errors.InputError, match="needs levels that are numbers, but one is 'high'"
    ):
        lfl.cdd_wass(SCORES, GROUPS, ["low", "low", "high", "high"], level_metric="numeric")


def test_cells_already_hold_their_columns() -> None:
    cells = lfl.Cells.from_rows(SCORES, GROUPS, LEVELS)
    with pytest.raises(lfl.errors.InputError, match="scores are Cells already"):
        lfl.cdd_lp(cells, GROUPS)


@pytest.mark.parametrize(
    ("columns", "settings", "message"),
    [
        ((None, ["f", "m"], [0.1, 0.2], [1.5, 1]), {}, "counts must be whole numbers"),
        ((None, ["f", "m"], [0.1, 0.2], [-1, 1]), {}, "counts has 1 negative"),
        ((None, ["f", "m"], [0.1, math.nan], [1, 1]), {}, "values has 1 .* not finite"),
        ((None, ["f", "m"], [0.1, 0.2], [1, 1]), {"resolution": -0.1}, "resolution must be 0"),
        (([1], ["f", "m"], [0.1, 0.2], [1, 1]), {}, r"levels has 1 row\(s\)"),
    ],
)
def test_bad_counts(columns: tuple[Any, ...], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(lfl.errors.InputError, match=message):
        lfl.Cells.from_counts(*columns, **settings)


def test_regrouping_an_unknown_group() -> None:
    with pytest.raises(lfl.errors.InputError, match="groups has no 'x'; there are"):
        lfl.Cells.from_rows(SCORES, GROUPS).regroup({"x": "y"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"applicants": 0}, "at least 1"),
        ({"levels": 0}, "at least 1"),
        ({"gap": 0.5}, r"gap must lie in \[-0.4, 0.4\]"),
        ({"gap": [0.1, 0.2]}, "one for each of 5 levels"),
        ({"tilt": 1.0}, r"tilt must lie in \[0, 1\)"),
    ],
)
def test_bad_settings_of_make_loans(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(lfl.errors.InputError, match=message):
        make_loans(**settings)


def test_table_1_needs_whole_people() -> None:
    with pytest.raises(lfl.errors.InputError, match="multiple of 100, not 150"):
        load_loans(150)


def test_labels_that_pandas_cannot_hash_are_refused_where_values_are_missing() -> None:
    groups = np.array([(0.0,), (1.0,)] * 4, dtype=[("x", "f8")])
    frame = pd.DataFrame({"score": [0.5, None] * 4, "sex": pd.Series(list(groups), dtype=object)})
    with pytest.raises(
        lfl.errors.InputError, match="a column among sex holds values that are no labels"
    ):
        lfl.audit(frame, score="score", sensitive="sex")


def test_infinite_groups_are_groups_where_values_are_missing() -> None:
    frame = pl.DataFrame({"score": [0.5, 0.1, 0.3, None] * 9, "sex": [np.inf, 1.0] * 18})
    audit = lfl.audit(frame, score="score", sensitive="sex", permutations=9)
    assert {each.group: each.rows for each in audit.data.lost} == {"1.0": 18, "inf": 18}
