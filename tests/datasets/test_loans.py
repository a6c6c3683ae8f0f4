import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.datasets import load_loans, make_loans


def test_table_1_row_by_row() -> None:
    frame = load_loans(1000).frame
    table = {
        (income, sex): (rows, rate)
        for income, sex, rows, rate in frame.group_by("income", "sex")
        .agg(pl.len().alias("rows"), pl.col("approved").mean())
        .iter_rows()
    }
    assert table == {
        ("high", "male"): (50, 0.8),
        ("medium", "male"): (150, 0.6),
        ("low", "male"): (300, 0.4),
        ("high", "female"): (300, 0.6),
        ("medium", "female"): (150, 0.4),
        ("low", "female"): (50, 0.2),
    }


def test_the_same_seed_gives_the_same_rows() -> None:
    first, second = make_loans(500, random_state=3), make_loans(500, random_state=3)
    assert first.frame.equals(second.frame)
    assert not first.frame.equals(make_loans(500, random_state=4).frame)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_the_planted_disparity_is_there(order: int) -> None:
    gaps = [0.1, -0.2, 0.0, 0.3]
    frame = make_loans(200_000, levels=4, gap=gaps).frame
    columns = frame["score"], frame["sex"], frame["income"]
    found = lfl.cdd_lp(*columns, order=order)
    assert found.groups == ("female", "male")
    np.testing.assert_allclose(found.by_level.distance, np.abs(gaps), atol=3e-3)
    np.testing.assert_allclose(found.by_level.gap, gaps, atol=3e-3)
    largest_gap = lfl.cdd_lp(*columns, distance="ks").by_level.distance
    np.testing.assert_allclose(largest_gap, np.minimum(1.0, np.abs(gaps) / 0.2), atol=2e-2)


def test_scores_are_probabilities_and_decisions_follow_them() -> None:
    frame = make_loans(50_000, gap=0.4).frame
    score, approved = frame["score"].to_numpy(), frame["approved"].to_numpy()
    assert score.min() >= 0.0
    assert score.max() <= 1.0
    np.testing.assert_allclose(approved.mean(), score.mean(), atol=0.01)


def test_tilt_spreads_the_sexes_differently_over_the_levels() -> None:
    for tilt, same in ((0.0, True), (0.8, False)):
        frame = make_loans(40_000, tilt=tilt).frame
        shares = [
            np.bincount(frame.filter(pl.col("sex") == sex)["income"]) for sex in ("female", "male")
        ]
        difference = shares[0] / shares[0].sum() - shares[1] / shares[1].sum()
        assert (np.abs(difference).max() < 0.02) == same
        if not same:
            assert difference[-1] > 0.1


def test_roles_name_columns_that_exist() -> None:
    for loans in (load_loans(), make_loans(100)):
        columns = set(loans.frame.columns)
        assert {loans.target, loans.sensitive, *loans.legitimate, *loans.features} <= columns
        assert loans.sensitive not in loans.features
        assert loans.target not in loans.features
