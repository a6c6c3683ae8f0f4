"""The worst pair of groups as a penalty, and groups permuted under parity."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import likeforlike as lfl
from likeforlike.penalties import Layout, Penalty, SlopeField, worst_pair_penalty
from likeforlike.penalties._penalty import WorstPair

RNG = np.random.default_rng(0)
SIZE = 120
GROUPS = RNG.choice(list("abc"), SIZE, p=[0.6, 0.3, 0.1])
LEVELS = RNG.integers(0, 4, SIZE)
SCORES = RNG.random((2, SIZE)).round(2) + 0.3 * (GROUPS == "c") * [[0.0], [1.0]]
WEIGHTS = RNG.random(SIZE)
PENALTIES = [
    lfl.FairLeap(),
    lfl.FairLeap(measure="overlap", order=1.0),
    lfl.FairBiT(),
    lfl.WassersteinPenalty(),
]


@pytest.mark.parametrize("penalty", PENALTIES, ids=repr)
@pytest.mark.parametrize("weight", [None, WEIGHTS], ids=["even", "weighted"])
def test_it_is_the_largest_of_all_pairs(penalty: Penalty, weight: np.ndarray | None) -> None:
    values, slopes = WorstPair(penalty).evaluate(
        SCORES, Layout.from_columns(GROUPS, LEVELS, weight)
    )
    for k in range(2):
        found = {}
        for pair in combinations("abc", 2):
            own = np.isin(GROUPS, pair)
            given = None if weight is None else weight[own]
            value, slope = penalty.value_and_grad(SCORES[k, own], GROUPS[own], LEVELS[own], given)
            found[pair] = value
            if value == pytest.approx(values[k]):
                expected = np.zeros(SIZE)
                expected[own] = slope
                np.testing.assert_allclose(slopes[k], expected, atol=1e-12)
        assert values[k] == pytest.approx(max(found.values()))


def test_a_field_of_it_gives_its_slopes() -> None:
    layout = Layout.from_columns(GROUPS, LEVELS)
    penalty = WorstPair(lfl.FairLeap())
    moved = penalty.transported_mass(layout)
    scores = np.random.default_rng(1).random((1, SIZE))
    field = SlopeField.fit(penalty, scores, layout, moved[None])
    _, expected = penalty.evaluate(scores, layout)
    np.testing.assert_allclose(field.gradient(scores, layout) * moved, expected, atol=1e-12)


def test_two_groups_and_numbers_stay_as_they_are() -> None:
    leap, smooth = lfl.FairLeap(), lfl.SmoothFairLeap()
    assert worst_pair_penalty(leap, Layout.from_columns(["f", "m"])) is leap
    assert isinstance(worst_pair_penalty(leap, Layout.from_columns(GROUPS, LEVELS)), WorstPair)
    numbers = np.random.default_rng(2).random(SIZE)
    assert worst_pair_penalty(smooth, Layout.from_columns(GROUPS, numbers)) is smooth


def test_groups_are_permuted_anew_inside_their_levels() -> None:
    layout = Layout.from_columns(GROUPS, LEVELS)
    permuted = layout.permute_groups(np.random.default_rng(3))
    assert (permuted.segments // 3 == layout.segments // 3).all()
    assert (np.bincount(permuted.segments[0]) == np.bincount(layout.segments[0])).all()
    assert (permuted.segments != layout.segments).any()
    # A penalty that ignores levels permutes across them; charges for levels are not random.
    rng = np.random.default_rng(4)
    across = lfl.WassersteinPenalty().permute_under_parity(layout, rng)
    assert across is not None
    assert across.levels == ("all",)
    assert lfl.FairBiT(off_diagonal=True).permute_under_parity(layout, rng) is None
    numbers = lfl.SmoothFairLeap().prepare(Layout.from_columns(GROUPS, RNG.random(SIZE)))
    assert lfl.SmoothFairLeap().permute_under_parity(numbers, rng) is None
