"""Laws that hold for any data, tried on data hypothesis makes up."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity._distances import Distance
from tests.support.oracles import parts

DISTANCES: list[Distance] = ["wasserstein", "ks", "tv", "mean"]
distances = st.sampled_from(DISTANCES)
orders = st.sampled_from([1.0, 1.5, 2.0, 3.0])
measures = st.sampled_from(["marginal", "average", "uniform", "overlap"])


class Table(NamedTuple):
    scores: FloatArray
    groups: IntArray
    levels: IntArray

    def comparable(self) -> bool:
        inside = [set(self.levels[self.groups == g].tolist()) for g in (0, 1)]
        return bool(inside[0] & inside[1])


@st.composite
def tables(draw: st.DrawFn, max_rows: int = 40) -> Table:
    """Tables with ties, singletons, unequal cells and levels that lack a group."""
    size = draw(st.integers(2, max_rows))
    score = st.one_of(st.integers(-3, 3).map(float), st.floats(-10, 10, width=32))
    scores = np.array(draw(st.lists(score, min_size=size, max_size=size)))
    groups = np.array(draw(st.lists(st.integers(0, 1), min_size=size, max_size=size)))
    levels = np.array(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))
    table = Table(scores, groups, levels)
    assume(table.comparable())
    return table


@given(tables(), distances, orders, measures, st.sampled_from([1.0, 2.0, np.inf]))
def test_disparities_are_finite_and_not_negative(
    table: Table, distance: Distance, order: float, measure: str, p: float
) -> None:
    found = lfl.cdd_lp(*table, distance=distance, order=order, measure=measure, p=p)  # type: ignore[arg-type]
    assert np.isfinite(float(found))
    assert float(found) >= 0.0
    assert (found.by_level.counts > 0).all()
    np.testing.assert_allclose(found.by_level.weight.sum(), 1.0)
    assert float(found) <= found.by_level.distance.max() * (1 + 1e-12)


@given(tables(), distances, orders)
def test_zero_at_parity(table: Table, distance: Distance, order: float) -> None:
    twice = np.tile(table.scores, 2), np.repeat([0, 1], table.scores.size), np.tile(table.levels, 2)
    assert float(lfl.cdd_lp(*twice, distance=distance, order=order)) == 0.0
    nested = lfl.cdd_wass(*twice, order=order)
    assert nested.value == pytest.approx(0.0, abs=1e-12)


@given(tables(), distances, orders, measures)
def test_symmetric_in_the_groups(
    table: Table, distance: Distance, order: float, measure: str
) -> None:
    there = lfl.cdd_lp(*table, distance=distance, order=order, measure=measure)  # type: ignore[arg-type]
    back = lfl.cdd_lp(
        table.scores,
        1 - table.groups,
        table.levels,
        distance=distance,
        order=order,
        measure=measure,  # type: ignore[arg-type]
    )
    np.testing.assert_allclose(float(there), float(back), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(there.by_level.gap, -back.by_level.gap, rtol=1e-12, atol=1e-14)


@given(tables(), orders)
def test_nested_distance_is_symmetric_in_the_groups(table: Table, order: float) -> None:
    there = lfl.cdd_wass(*table, order=order)
    back = lfl.cdd_wass(table.scores, 1 - table.groups, table.levels, order=order)
    np.testing.assert_allclose(there.value, back.value, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(there.diagonal, back.diagonal, rtol=1e-9, atol=1e-12)


@given(tables(), distances, measures, st.randoms(use_true_random=False))
def test_row_order_and_level_names_do_not_matter(
    table: Table, distance: Distance, measure: str, random: np.random.RandomState
) -> None:
    order = list(range(table.scores.size))
    random.shuffle(order)
    names = np.array(["delta", "alpha", "charlie", "bravo"])
    plain = lfl.cdd_lp(*table, distance=distance, measure=measure)  # type: ignore[arg-type]
    renamed = lfl.cdd_lp(
        table.scores[order],
        table.groups[order],
        names[table.levels[order]],
        distance=distance,
        measure=measure,  # type: ignore[arg-type]
    )
    np.testing.assert_allclose(float(plain), float(renamed), rtol=1e-12, atol=1e-14)
    nested = lfl.cdd_wass(*table)
    shuffled = lfl.cdd_wass(table.scores[order], table.groups[order], names[table.levels[order]])
    np.testing.assert_allclose(nested.value, shuffled.value, rtol=1e-9, atol=1e-12)


@given(
    tables(),
    orders,
    st.floats(0.125, 8.0),
    st.integers(-4, 4),
    st.sampled_from([1.0, -1.0]),
)
def test_scale_and_shift_laws(
    table: Table, order: float, scale: float, shift: int, sign: float
) -> None:
    """Distances in score units scale with the scores; KS and TV do not see a change of units."""
    moved = sign * scale * table.scores + shift
    # A change of units must not create or destroy ties, which rounding can do.
    assume(np.unique(moved).size == np.unique(table.scores).size)
    for distance, factor in (("wasserstein", scale), ("mean", scale), ("ks", 1.0), ("tv", 1.0)):
        before = lfl.cdd_lp(*table, distance=distance, order=order)  # type: ignore[arg-type]
        after = lfl.cdd_lp(moved, *table[1:], distance=distance, order=order)  # type: ignore[arg-type]
        np.testing.assert_allclose(float(after), factor * float(before), rtol=1e-7, atol=1e-7)
    nested, scaled = lfl.cdd_wass(*table, order=order), lfl.cdd_wass(moved, *table[1:], order=order)
    if np.ptp(table.scores) > 1e-3:
        np.testing.assert_allclose(scaled.value, scale**order * nested.value, rtol=1e-6, atol=1e-6)


@given(tables(), tables())
def test_merged_cells_are_the_cells_of_merged_rows(first: Table, second: Table) -> None:
    merged = lfl.Cells.from_rows(*first).merge(lfl.Cells.from_rows(*second))
    together = lfl.Cells.from_rows(
        *(np.concatenate([mine, theirs]) for mine, theirs in zip(first, second, strict=True))
    )
    assert merged.levels == together.levels
    assert merged.groups == together.groups
    for ours, theirs in zip(parts(merged.atoms), parts(together.atoms), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(tables(), orders, st.floats(0.01, 2.0), st.sampled_from([1.0, 2.0, np.inf]))
def test_histograms_err_by_at_most_the_width_of_a_bin(
    table: Table, order: float, width: float, p: float
) -> None:
    middle = (np.floor(table.scores / width) + 0.5) * width
    coarse = lfl.Cells.from_counts(
        table.levels, table.groups, middle, np.ones(middle.size), resolution=width
    )
    exact = lfl.cdd_lp(*table, order=order, p=p)
    binned = lfl.cdd_lp(coarse, order=order, p=p)
    assert binned.resolution == width
    assert abs(float(binned) - float(exact)) <= width * (1 + 1e-9)
    exact_nested = lfl.cdd_wass(*table, order=order)
    with warnings.catch_warnings():
        # The certificate holds for any level cost, as long as both sides use the same.
        warnings.simplefilter("ignore", lfl.errors.LevelCostWarning)
        binned_nested = lfl.cdd_wass(coarse, order=order, level_cost=exact_nested.level_cost)
    assert abs(binned_nested.root - exact_nested.root) <= width * (1 + 1e-6) + 1e-9


@given(tables(), orders)
def test_orders_and_distances_are_ordered(table: Table, order: float) -> None:
    """|mean gap| <= W_1 <= W_p, KS <= TV, and W_1 <= R TV in every level."""
    found = {name: lfl.cdd_lp(*table, distance=name).by_level.distance for name in DISTANCES}
    higher = lfl.cdd_lp(*table, order=order).by_level.distance
    slack = 1e-9
    assert (found["mean"] <= found["wasserstein"] + slack).all()
    assert (found["wasserstein"] <= higher + slack).all()
    assert (found["ks"] <= found["tv"] + slack).all()
    assert (found["wasserstein"] <= np.ptp(table.scores) * found["tv"] + slack).all()
    assert (found["tv"] <= 1.0 + slack).all()
