import warnings
from typing import NamedTuple

import numpy as np
import pytest

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.errors import LevelCostWarning
from likeforlike.transport import _nested as nested
from likeforlike.transport import (
    choose_level_cost,
    discrete_ground,
    merge_ties,
    metric_ground,
    pair_costs,
    safe_level_cost,
    sort_rows,
)
from tests.support import oracles

ORDERS = [1.0, 1.5, 2.0, 3.0]


class Rows(NamedTuple):
    scores: FloatArray
    sides: IntArray
    levels: IntArray
    mass: FloatArray
    n_levels: int

    def solve(self, ground: FloatArray, order: float, level_cost: float) -> nested.Nested:
        segments = 2 * self.levels + self.sides
        ordered = sort_rows(self.scores, segments, 2 * self.n_levels)
        atoms = merge_ties(ordered, self.mass)
        left = 2 * np.arange(self.n_levels)
        return nested.nested_transport(
            atoms, left, left + 1, ground, order=order, level_cost=level_cost
        )


def draw_rows(
    seed: int, size: int, n_levels: int, *, ties: bool = False, weighted: bool = True
) -> Rows:
    """Random rows; levels may be missing on one side, or on both."""
    rng = np.random.default_rng(seed)
    scores = rng.random(size)
    if ties:
        scores = np.round(scores * 5) / 5
    sides = rng.integers(0, 2, size)
    sides[:2] = [0, 1]
    mass = rng.random(size) + 0.05 if weighted else np.ones(size)
    return Rows(scores, sides, rng.integers(0, n_levels, size), mass, n_levels)


def grounds(n_levels: int, order: float) -> list[FloatArray]:
    rng = np.random.default_rng(n_levels)
    points = rng.random((n_levels, 2))
    euclidean = np.linalg.norm(points[:, None] - points[None, :], axis=2)
    steps = np.abs(np.subtract.outer(np.arange(n_levels), np.arange(n_levels))).astype(float)
    return [
        discrete_ground(n_levels),
        metric_ground(steps, order),
        metric_ground(euclidean, order),
    ]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("ties", [False, True])
def test_value_is_the_nested_network_simplex_value(order: float, ties: bool) -> None:
    for seed in range(8):
        rows = draw_rows(seed, 60, 5, ties=ties)
        for ground in grounds(5, order):
            for level_cost in (0.0, 0.05, 1.0):
                expected = oracles.nested_cost(*rows[:3], ground, order, level_cost, rows.mass)
                np.testing.assert_allclose(
                    rows.solve(ground, order, level_cost).value, expected, rtol=1e-12, atol=1e-15
                )


@pytest.mark.parametrize("order", [1.0, 2.0])
def test_value_solves_the_bicausal_linear_program(order: float) -> None:
    for seed in range(12):
        rows = draw_rows(seed, 14, 3, ties=seed % 2 == 0)
        for ground in grounds(3, order):
            for level_cost in (0.02, 1.0):
                expected = oracles.bicausal_program(*rows[:3], ground, order, level_cost, rows.mass)
                np.testing.assert_allclose(
                    rows.solve(ground, order, level_cost).value, expected, rtol=1e-10, atol=1e-12
                )


def test_plan_split_and_levels_on_one_side_only() -> None:
    scores = np.array([0.1, 0.4, 0.9, 0.2, 0.3])
    sides, levels = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 2, 2])
    rows = Rows(scores, sides, levels, np.ones(5), 4)
    solved = rows.solve(discrete_ground(4), 2.0, 2.0)
    np.testing.assert_allclose(solved.plan.mass.sum(), 1.0)
    assert set(solved.plan.source.tolist()) == {0, 1}
    assert set(solved.plan.target.tolist()) == {1, 2}
    np.testing.assert_allclose(solved.diagonal_mass, 1 / 3)
    np.testing.assert_allclose(solved.diagonal, 0.25 / 3)
    np.testing.assert_allclose(solved.level_transport, 2 * 2 / 3)
    np.testing.assert_allclose(
        solved.value, solved.diagonal + solved.off_diagonal + solved.level_transport, rtol=1e-15
    )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("root", [False, True])
def test_gradient_is_the_finite_difference(order: float, root: bool) -> None:
    for seed in range(4):
        rows = draw_rows(seed, 30, 4)
        for ground in grounds(4, order):

            def at(
                scores: FloatArray, rows: Rows = rows, ground: FloatArray = ground
            ) -> tuple[float, FloatArray]:
                if root:
                    penalty = lfl.FairBiT(
                        order, level_metric=ground ** (1.0 / order), level_cost=0.1, root=True
                    )
                    return penalty.value_and_grad(scores, rows.sides, rows.levels, rows.mass)
                return nested.nested_cost_and_gradient(
                    scores,
                    rows.sides,
                    rows.levels,
                    ground,
                    order=order,
                    level_cost=0.1,
                    mass=rows.mass,
                )

            gradient = at(rows.scores)[1]
            expected = oracles.slopes(lambda s: at(s)[0], rows.scores, 1e-6)
            np.testing.assert_allclose(
                gradient, expected, rtol=1e-6, atol=1e-6 * np.abs(gradient).max()
            )


def test_the_root_has_gradient_zero_where_the_value_is_zero() -> None:
    penalty = lfl.FairBiT(2.0, level_cost=0.1, root=True)
    root, gradient = penalty.value_and_grad([0.5, 0.5, 0.5, 0.5], [0, 1, 0, 1], [0, 0, 1, 1])
    assert root == 0.0
    assert not gradient.any()


def test_a_thousand_levels() -> None:
    rows = draw_rows(1, 20_000, 1000, weighted=False)
    ground = discrete_ground(1000)
    solved = rows.solve(ground, 2.0, 2.01)
    shares = [
        np.bincount(rows.levels[rows.sides == side], minlength=1000) / (rows.sides == side).sum()
        for side in (0, 1)
    ]
    kept = np.minimum(*shares)
    np.testing.assert_allclose(solved.diagonal_mass, kept.sum(), rtol=1e-9)
    expected = 0.0
    for level in np.flatnonzero(kept):
        first, second = (
            rows.scores[(rows.sides == side) & (rows.levels == level)] for side in (0, 1)
        )
        expected += kept[level] * oracles.transport_cost(
            first, np.ones(first.size), second, np.ones(second.size), 2.0
        )
    np.testing.assert_allclose(solved.diagonal, expected, rtol=1e-9)


def test_above_the_bound_no_mass_leaves_its_level_needlessly() -> None:
    """The bound for the discrete metric, and for a metric whose detours have a price."""
    rng = np.random.default_rng(0)
    for seed in range(60):
        rows = draw_rows(seed, 40, 6, weighted=True)
        detours = 1.0 + rng.random((6, 6)) * 0.5
        detours = np.triu(detours, 1) + np.triu(detours, 1).T
        for ground in (discrete_ground(6), detours):
            shares = np.array(
                [
                    np.bincount(rows.levels[rows.sides == side], rows.mass[rows.sides == side], 6)
                    for side in (0, 1)
                ]
            )
            source, target = shares / shares.sum(axis=1, keepdims=True)
            reach = np.ptp(rows.scores) ** 2
            bound = safe_level_cost(ground, source, target, reach)
            solved = rows.solve(ground, 2.0, bound * 1.001)
            np.testing.assert_allclose(
                solved.diagonal_mass, np.minimum(source, target).sum(), rtol=1e-9
            )


def test_bound_of_a_metric_along_a_line_does_not_exist() -> None:
    ground = metric_ground(np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0))), 2.0)
    source, target = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5])
    assert safe_level_cost(ground, source, target, 1.0) == np.inf
    assert safe_level_cost(ground, source, source, 1.0) == 1.0
    assert choose_level_cost(None, ground, source, target, 1.0) == 1.005


def test_a_level_cost_below_the_bound_warns_and_is_kept() -> None:
    ground, share = discrete_ground(2), np.array([0.5, 0.5])
    other = np.array([0.4, 0.6])
    with pytest.warns(LevelCostWarning, match="at least 2 is needed"):
        assert choose_level_cost(0.5, ground, share, other, 1.0) == 0.5
    line = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    with pytest.warns(LevelCostWarning, match="no value is enough"):
        choose_level_cost(9.0, line, np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.3, 0.5]), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert choose_level_cost(2.5, ground, share, other, 1.0) == 2.5


def test_a_single_level_and_a_constant_score_have_a_level_cost() -> None:
    one = np.ones(1)
    assert choose_level_cost(None, np.zeros((1, 1)), one, one, 1.0) == 1.0
    share, other = np.array([0.5, 0.5]), np.array([0.4, 0.6])
    assert choose_level_cost(None, discrete_ground(2), share, other, 0.0) == 1.0


@pytest.mark.parametrize("order", [1.0, 2.0])
def test_keeping_the_diagonal_above_the_bound_changes_nothing(order: float) -> None:
    for seed in range(20):
        rows = draw_rows(seed, 80, 7, ties=seed % 2 == 0)
        ground = discrete_ground(7)
        level_cost = 2.01 * np.ptp(rows.scores) ** order
        segments = 2 * rows.levels + rows.sides
        atoms = merge_ties(sort_rows(rows.scores, segments, 14), rows.mass)
        left = 2 * np.arange(7)
        whole = rows.solve(ground, order, level_cost)
        kept = nested.nested_transport(
            atoms, left, left + 1, ground, order=order, level_cost=level_cost, keep_diagonal=True
        )
        for part in ("value", "diagonal", "off_diagonal", "level_transport", "diagonal_mass"):
            np.testing.assert_allclose(
                getattr(kept, part), getattr(whole, part), rtol=1e-10, atol=1e-13
            )
        np.testing.assert_allclose(kept.plan.mass.sum(), 1.0)


def test_keeping_the_diagonal_of_equal_shares_moves_no_mass() -> None:
    rng = np.random.default_rng(0)
    levels = np.repeat(np.arange(3), 10)
    rows = Rows(rng.random(60), np.repeat([0, 1], 30), np.tile(levels, 2), np.ones(60), 3)
    atoms = merge_ties(sort_rows(rows.scores, 2 * rows.levels + rows.sides, 6))
    left = 2 * np.arange(3)
    kept = nested.nested_transport(
        atoms, left, left + 1, discrete_ground(3), order=2, level_cost=3, keep_diagonal=True
    )
    assert kept.off_diagonal == kept.level_transport == 0.0
    assert kept.plan.source.tolist() == kept.plan.target.tolist() == [0, 1, 2]


def draw_levels(distribution: str, seed: int, n_levels: int = 12, size: int = 9000) -> Rows:
    """Levels of unequal sizes and shares, large enough for their costs to be bounded first."""
    rng = np.random.default_rng(seed)
    levels = np.minimum(rng.geometric(0.15, size) - 1, n_levels - 1)
    sides = (rng.random(size) < 0.3 + 0.4 * (levels % 2)).astype(int)
    scores = rng.random(size)
    if distribution == "skewed":
        scores = np.exp(rng.normal(size=size) * (1 + levels % 3))
    elif distribution == "shifted":
        scores = rng.normal(size=size) + 0.3 * levels
    elif distribution == "ties":
        scores = scores.round(2)
    elif distribution == "decisions":
        scores = (scores < 0.2 + 0.05 * levels).astype(float)
    mass = rng.exponential(size=size) if distribution == "weights" else np.ones(size)
    return Rows(scores, sides, levels, mass, n_levels)


DISTRIBUTIONS = ["uniform", "skewed", "shifted", "ties", "decisions", "weights"]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("order", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("ground", ["discrete", "ordinal"])
def test_costs_where_the_plan_moves_give_the_value_of_all_costs(
    monkeypatch: pytest.MonkeyPatch, distribution: str, order: float, ground: str
) -> None:
    rows = draw_levels(distribution, 3)
    line = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0)))
    metric = discrete_ground(12) if ground == "discrete" else line**order
    monkeypatch.setattr(nested, "_ATOMS_PER_LEVEL", 1)
    for level_cost in (0.0, 0.01, 2.0):
        lazy = rows.solve(metric, order, level_cost)
        with monkeypatch.context() as patch:
            patch.setattr(nested, "_FEW_LEVELS", 100)
            full = rows.solve(metric, order, level_cost)
        np.testing.assert_allclose(lazy.value, full.value, rtol=1e-11)
        np.testing.assert_allclose(lazy.plan.mass.sum(), 1.0)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@pytest.mark.parametrize("order", [1.0, 1.5, 2.0, 3.0])
def test_bounds_of_costs_are_never_above_them(distribution: str, order: float) -> None:
    rows = draw_levels(distribution, 4)
    ordered = sort_rows(rows.scores, 2 * rows.levels + rows.sides, 24)
    atoms = merge_ties(ordered, rows.mass)
    left = 2 * np.arange(12)
    bounds = nested._bound_costs(atoms, left, left + 1, order)
    pairs = np.repeat(left, 12), np.tile(left + 1, 12)
    costs = pair_costs(atoms, *pairs, order).reshape(12, 12)
    assert (bounds <= costs).all()
    # Nearly all of a cost is seen where levels differ.
    if distribution in ("shifted", "skewed") and order == 2.0:
        assert np.median(bounds / costs) > 0.8


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_after_the_last_turn_all_costs_are_computed(
    monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    rows = draw_levels("uniform", 5)
    full = rows.solve(discrete_ground(12), 2.0, 2.0)
    monkeypatch.setattr(nested, "_ATOMS_PER_LEVEL", 1)
    monkeypatch.setattr(nested, "_TURNS", turns)
    lazy = rows.solve(discrete_ground(12), 2.0, 2.0)
    np.testing.assert_allclose(lazy.value, full.value, rtol=1e-12)
