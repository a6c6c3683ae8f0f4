import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.disparity._contrasts import Comparison


def test_aggregation_over_levels() -> None:
    scores = [0.0, 0.1, 0.0, 0.4]
    groups, levels = ["f", "m", "f", "m"], [1, 1, 2, 2]
    by_p = {1: 0.25, 2: math.sqrt((0.01 + 0.16) / 2), math.inf: 0.4}
    for p, expected in by_p.items():
        found = lfl.cdd_lp(scores, groups, levels, p=p)
        np.testing.assert_allclose(float(found), expected, rtol=1e-14)
    np.testing.assert_allclose(float(lfl.cdd_lp(scores, groups, levels, p=5000)), 0.4, rtol=1e-3)


def test_the_worst_level_ignores_levels_of_weight_zero() -> None:
    found = lfl.cdd_lp(
        [0.0, 0.1, 0.0, 0.4],
        ["f", "m", "f", "m"],
        [1, 1, 2, 2],
        p=math.inf,
        measure={1: 1.0, 2: 0.0},
    )
    assert float(found) == 0.1


def test_opposite_gaps_do_not_cancel_and_keep_their_sign() -> None:
    found = lfl.cdd_lp([0.1, 0.5, 0.9, 0.5], ["f", "m", "f", "m"], [1, 1, 2, 2])
    np.testing.assert_allclose(float(found), 0.4)
    np.testing.assert_allclose(found.by_level.gap, [0.4, -0.4])
    np.testing.assert_allclose(found.gap, 0.0, atol=1e-15)


def test_levels_that_lack_a_group_are_named_and_lower_coverage() -> None:
    found = lfl.cdd_lp(
        [0.1, 0.2, 0.3, 0.4, 0.5], ["f", "m", "f", "f", "m"], ["x", "x", "y", "y", "z"]
    )
    assert found.by_level.level == ("x",)
    assert found.coverage == {"f": pytest.approx(1 / 3), "m": 0.5}
    assert found.excluded == {"y": {"f": 2, "m": 0}, "z": {"f": 0, "m": 1}}
    np.testing.assert_allclose(float(found), 0.1)


def test_cells_once_measured_many_times() -> None:
    rng = np.random.default_rng(0)
    scores, groups, levels = rng.random(300), rng.integers(0, 2, 300), rng.integers(0, 5, 300)
    cells = lfl.Cells.from_rows(scores, groups, levels)
    assert float(lfl.cdd_lp(cells)) == float(lfl.cdd_lp(scores, groups, levels))
    assert float(lfl.dd(cells)) == pytest.approx(float(lfl.dd(scores, groups)), rel=1e-14)
    assert lfl.cdd_wass(cells).value == lfl.cdd_wass(scores, groups, levels).value


def test_integer_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(1)
    scores, groups, levels = rng.random(80), rng.integers(0, 2, 80), rng.integers(0, 3, 80)
    weight = rng.integers(0, 4, 80)
    repeated = [np.repeat(column, weight) for column in (scores, groups, levels)]
    for distance in ("wasserstein", "ks", "tv", "mean"):
        for measure in ("marginal", "average", "uniform", "overlap"):
            ours = lfl.cdd_lp(
                scores, groups, levels, distance=distance, measure=measure, sample_weight=weight
            )
            theirs = lfl.cdd_lp(*repeated, distance=distance, measure=measure)
            np.testing.assert_allclose(float(ours), float(theirs), rtol=1e-13, atol=1e-15)
    ours_nested = lfl.cdd_wass(scores, groups, levels, sample_weight=weight)
    np.testing.assert_allclose(ours_nested.value, lfl.cdd_wass(*repeated).value, rtol=1e-12)


def test_several_groups_pairwise_takes_the_largest_and_shows_all() -> None:
    scores, groups = [0.0, 0.1, 0.5], ["a", "b", "c"]
    found = lfl.dd(scores, groups)
    assert found.groups == ("a", "c")
    assert float(found) == 0.5
    assert [part.groups for part in found.comparisons] == [("a", "b"), ("a", "c"), ("b", "c")]
    np.testing.assert_allclose([float(part) for part in found.comparisons], [0.1, 0.5, 0.4])


def test_several_groups_one_against_the_rest() -> None:
    scores, groups = [0.0, 0.1, 0.5], ["a", "b", "c"]
    found = lfl.dd(scores, groups, comparison="one-vs-rest")
    assert found.groups == ("c", "not c")
    np.testing.assert_allclose(
        [float(part) for part in found.comparisons], [0.3, 0.25, 0.45], rtol=1e-14
    )
    np.testing.assert_allclose(found.gap, -0.45)


def test_several_groups_around_their_barycenter() -> None:
    scores, groups = [0.0, 0.3, 0.6], ["a", "b", "c"]
    found = lfl.dd(scores, groups, order=2, comparison="barycenter")
    np.testing.assert_allclose(float(found), np.std([0.0, 0.3, 0.6]))
    assert found.groups == ("a", "b", "c")
    first_order = lfl.dd(scores, groups, order=1, comparison="barycenter")
    np.testing.assert_allclose(float(first_order), 0.2)


def test_groups_that_never_meet_are_reported() -> None:
    found = lfl.cdd_lp(
        [0.1, 0.2, 0.3, 0.4], ["a", "b", "b", "c"], [1, 1, 2, 2], comparison="pairwise"
    )
    assert found.incomparable == (("a", "c"),)
    assert len(found.comparisons) == 2


@pytest.mark.parametrize("comparison", ["pairwise", "one-vs-rest"])
def test_two_groups_compare_the_same_way(comparison: Comparison) -> None:
    found = lfl.dd([0.0, 0.2], ["f", "m"], comparison=comparison)
    assert found.groups == ("f", "m")
    assert found.comparisons == ()


def test_dataframe_columns_come_in_and_lists_go_out() -> None:
    columns = {"score": [0.1, 0.4], "sex": ["f", "m"], "band": ["x", "x"]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        found = lfl.cdd_lp(frame["score"], frame["sex"], frame["band"])
        np.testing.assert_allclose(float(found), 0.3)
        table = pd.DataFrame(found.by_level.to_dict())
        assert table.loc[0, "rows f"] == 1


def test_results_speak_with_their_sample_sizes() -> None:
    found = lfl.cdd_lp([0.1, 0.4, 0.5], ["f", "m", "m"], [1, 1, 2])
    assert repr(found) == (
        "<Disparity 0.3, wasserstein (order 1), 1 level(s); "
        "f: 1 rows, 100% compared, m: 1 rows, 50% compared>"
    )
    nested = lfl.cdd_wass([0.1, 0.4], ["f", "m"], [1, 1])
    assert "f: 1 rows, 100% in shared levels" in repr(nested)
    assert float(nested) == nested.value == pytest.approx(0.09)
    assert nested.root == pytest.approx(0.3)


def test_five_thousand_levels() -> None:
    rng = np.random.default_rng(3)
    levels = np.repeat(np.arange(5000), 8)
    groups = np.tile([0, 1], 20_000)
    with pytest.warns(lfl.errors.ThinLevelsWarning, match="5,000 different numbers in 40,000 rows"):
        found = lfl.cdd_lp(rng.random(40_000) + 0.2 * groups, groups, levels)
    assert len(found.by_level) == 5000
    assert found.coverage == {0: pytest.approx(1.0), 1: pytest.approx(1.0)}


def test_numbers_that_hardly_anybody_shares_are_warned_of() -> None:
    rng = np.random.default_rng(0)
    scores, groups, years = rng.random(600), rng.integers(0, 2, 600), rng.integers(0, 200, 600)
    with pytest.warns(lfl.errors.ThinLevelsWarning, match=r"1\d\d different numbers in 600 rows"):
        lfl.cdd_lp(scores, groups, years)
    # Text is a category, few values are levels, and many rows make levels of many values.
    lfl.cdd_lp(scores, groups, years.astype(str))
    lfl.cdd_lp(scores, groups, years // 5)
    many = np.tile(np.arange(60), 100)
    lfl.cdd_lp(rng.random(6000), rng.integers(0, 2, 6000), many)
