"""Trade-offs on held-out rows, with networks as the paper uses them."""

from __future__ import annotations

import numpy as np
import pytest

import likeforlike as lfl
from likeforlike.datasets import load_law_school, make_loans
from likeforlike.experiments import split
from likeforlike.experiments._tradeoff import Point, repair_tradeoff, tradeoff
from likeforlike.penalties import Penalty
from likeforlike.training import Recipe

pytestmark = pytest.mark.training

PENALTIES: dict[str, Penalty] = {"leap": lfl.FairLeap(), "bit": lfl.FairBiT()}
STRENGTHS = (0.0, 0.3, 1.0, 3.0, 10.0)


def cut(points: list[Point]) -> list[float]:
    return [1.0 - point.disparity / points[0].disparity for point in points]


@pytest.mark.parametrize("name", PENALTIES)
def test_loans_lose_four_fifths_of_their_disparity_for_little(name: str) -> None:
    parts = split(make_loans(10_000, gap=0.15), range(3), shares=(0.48, 0.12, 0.4))
    recipe = Recipe("logistic", PENALTIES[name], batch_size=256, max_epochs=60, patience=15)
    points = tradeoff(parts, recipe, STRENGTHS)
    disparities = [point.disparity for point in points]
    assert disparities == sorted(disparities, reverse=True)
    assert cut(points)[-1] >= 0.8
    assert points[-1].performance >= points[0].performance - 0.02


@pytest.mark.law_school
@pytest.mark.parametrize("name", PENALTIES)
def test_law_school_with_gender_loses_four_fifths_of_its_disparity_for_little(name: str) -> None:
    parts = split(load_law_school(), range(3), shares=(0.48, 0.12, 0.4), with_sensitive=True)
    recipe = Recipe("squared", PENALTIES[name], batch_size=256, max_epochs=60, patience=15)
    points = tradeoff(parts, recipe, (0.0, 1.0, 10.0))
    disparities = [point.disparity for point in points]
    assert disparities == sorted(disparities, reverse=True)
    assert cut(points)[-1] >= 0.8
    assert points[-1].performance <= points[0].performance + 0.01


def test_repair_is_a_trade_off_too() -> None:
    parts = split(make_loans(6_000, gap=0.15), range(2))
    recipe = Recipe("logistic", batch_size=256, max_epochs=15, patience=15)
    points = repair_tradeoff(parts, recipe, (0.0, 0.5, 1.0))
    assert cut(points)[1] == pytest.approx(0.5, abs=0.15)
    assert cut(points)[2] > 0.8


def test_a_split_has_its_share_of_every_cell_and_no_row_twice() -> None:
    data = make_loans(3_000)
    parts = split(data, [4, 5])
    assert (parts.train.size, parts.validation.size, parts.test.size) == (1800, 600, 600)
    whole = np.bincount(split(data, [4]).test.layout.segments[0], minlength=10)
    np.testing.assert_array_equal(np.bincount(parts.test.layout.segments[0], minlength=10), whole)
    share = np.bincount(parts.train.layout.segments[1]) / 1800
    other = np.bincount(parts.test.layout.segments[1]) / 600
    np.testing.assert_allclose(share, other, atol=0.01)
    assert len(set(parts.test_rows[0].tolist())) == 600


def test_training_inputs_are_standardized_and_others_alike() -> None:
    parts = split(make_loans(3_000), [0])
    np.testing.assert_allclose(parts.train.inputs[0].mean(dim=0), 0.0, atol=1e-5)
    np.testing.assert_allclose(parts.train.inputs[0].std(dim=0), 1.0, atol=1e-2)
    np.testing.assert_allclose(parts.test.inputs[0].std(dim=0), 1.0, atol=0.2)


def test_shares_must_sum_to_one() -> None:
    with pytest.raises(lfl.errors.InputError, match="shares must be three positive"):
        split(make_loans(100), [0], shares=(0.5, 0.5, 0.5))
