"""Entropic transport against POT, and its exact limit. Gradients are with those of penalties."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import ot
import pytest

import likeforlike as lfl
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.penalties import Layout
from likeforlike.transport import (
    Atoms,
    discrete_ground,
    entropic_flow,
    merge_ties,
    metric_ground,
    nested_transport,
    sort_rows,
)
from likeforlike.transport._entropic import entropic_costs
from tests.support.oracles import normalized, slopes, transport_cost

Sample = tuple[FloatArray, FloatArray]


def pot_cost(source: FloatArray, target: FloatArray, cost: FloatArray, reg: float) -> float:
    """⟨γ, M⟩ by POT, iterated on logarithms until nothing changes."""
    plan = ot.bregman.sinkhorn_log(
        normalized(source), normalized(target), cost, reg, numItermax=100_000, stopThr=1e-13
    )
    return float((plan * cost).sum())


def pot_between(x: Sample, y: Sample, order: float, reg: float) -> float:
    return pot_cost(x[1], y[1], np.abs(x[0][:, None] - y[0][None, :]) ** order, reg)


def samples(n: int, m: int) -> tuple[Sample, Sample]:
    """Weighted, with ties."""
    rng = np.random.default_rng(n + 100 * m)
    left = np.round(rng.beta(2, 3, n), 2), rng.random(n) + 0.1
    return left, (np.round(rng.beta(2, 2, m), 2), rng.random(m) + 0.1)


def cost_between(x: Sample, y: Sample, order: float, reg: float) -> float:
    segments = np.repeat(np.arange(2), [x[0].size, y[0].size])
    ordered = sort_rows(np.concatenate([x[0], y[0]]), segments, 2)
    atoms = merge_ties(ordered, np.concatenate([x[1], y[1]]))
    return float(entropic_costs(atoms, np.array([0]), np.array([1]), order, reg)[0])


@pytest.mark.parametrize("order", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("reg", [1.0, 0.1, 0.05, 0.01])
@pytest.mark.parametrize("sizes", [(1, 1), (1, 9), (7, 6), (30, 41)])
def test_costs_equal_those_of_pot(order: float, reg: float, sizes: tuple[int, int]) -> None:
    x, y = samples(*sizes)
    assert cost_between(x, y, order, reg) == pytest.approx(pot_between(x, y, order, reg), abs=1e-8)


@pytest.mark.parametrize("order", [1.0, 2.0])
@pytest.mark.parametrize("equal", [False, True])
def test_small_reg_is_the_exact_cost(order: float, equal: bool) -> None:
    """With equal sizes and weights every step of the exact plan is degenerate."""
    x, y = samples(25, 25 if equal else 31)
    if equal:
        x, y = (x[0], np.ones(25)), (y[0], np.ones(25))
    exact = transport_cost(*x, *y, order)
    assert cost_between(x, y, order, 1e-3) == pytest.approx(exact, rel=0.1)
    assert cost_between(x, y, order, 1e-5) == pytest.approx(exact, rel=1e-3)
    assert cost_between(x, y, order, 1e-9) == pytest.approx(exact, rel=1e-6)


def test_scores_of_any_shape_have_a_plan() -> None:
    rng = np.random.default_rng(0)
    draws: list[Callable[[int], FloatArray]] = [
        lambda size: rng.lognormal(0.0, 2.0, size),
        rng.standard_cauchy,
        lambda size: (rng.random(size) < 0.3).astype(np.float64),
        lambda size: rng.random(size) * 1e-6,
    ]
    for k in range(200):
        n, m = rng.integers(1, 40, 2)
        x = draws[k % 4](n), 10.0 ** rng.uniform(-6.0, 3.0, n)
        y = draws[(k // 4) % 4](m), 10.0 ** rng.uniform(-6.0, 3.0, m)
        order = float(rng.choice([1.0, 2.0, 3.0]))
        reach = float(max(np.ptp(np.concatenate([x[0], y[0]])), 1e-6))
        found = cost_between(x, y, order, reach**order * 10.0 ** rng.uniform(-8.0, 1.0))
        exact = transport_cost(x[0] / reach, x[1], y[0] / reach, y[1], order)
        assert found / reach**order >= exact - 1e-9


def test_flow_between_levels_equals_that_of_pot() -> None:
    rng = np.random.default_rng(1)
    supply, demand = normalized(rng.random(5) + 0.1), normalized(rng.random(7) + 0.1)
    for size in (0.1, 1.0, 30.0):
        cost = size * rng.random((5, 7))
        plan = entropic_flow(supply, demand, cost, 0.05, np.empty((0, 0)))
        np.testing.assert_allclose(plan.sum(axis=1), supply, atol=1e-12)
        np.testing.assert_allclose(plan.sum(axis=0), demand, atol=1e-12)
        wanted = pot_cost(supply, demand, cost, 0.05)
        assert float((plan * cost).sum()) == pytest.approx(wanted, abs=1e-8)


def table(seed: int, levels: int = 3, size: int = 40) -> tuple[FloatArray, IntArray, IntArray]:
    rng = np.random.default_rng(seed)
    return rng.random(size), rng.integers(0, 2, size), rng.integers(0, levels, size)


def algorithm_1(
    scores: FloatArray, sides: IntArray, levels: IntArray, level_cost: float, reg: float
) -> float:
    """Algorithm 1 of the paper as a double loop of POT's Sinkhorn, un-rooted, |l - l'|², p = 2."""
    present = [np.unique(levels[sides == side]) for side in (0, 1)]
    shares = [
        np.array([np.sum((sides == side) & (levels == level)) for level in present[side]])
        for side in (0, 1)
    ]
    cost = np.empty((present[0].size, present[1].size))
    for i, level in enumerate(present[0]):
        for j, other in enumerate(present[1]):
            x = scores[(sides == 0) & (levels == level)]
            y = scores[(sides == 1) & (levels == other)]
            inner = (x[:, None] - y[None, :]) ** 2 + level_cost * float(level - other) ** 2
            cost[i, j] = pot_cost(np.ones(x.size), np.ones(y.size), inner, reg)
    return pot_cost(shares[0], shares[1], cost, reg)


@pytest.mark.parametrize("reg", [1.0, 0.1, 0.05])
@pytest.mark.parametrize("level_cost", [0.05, 1.0])
def test_algorithm_1_equals_a_nested_loop_of_pot(level_cost: float, reg: float) -> None:
    scores, sides, levels = table(3)
    wanted = algorithm_1(scores, sides, levels, level_cost, reg)
    with pytest.warns(lfl.errors.LevelCostWarning):
        found = lfl.cdd_wass(
            scores, sides, levels, level_metric="ordinal", level_cost=level_cost, reg=reg
        )
    assert found.value == pytest.approx(wanted, abs=1e-8)
    assert found.value == found.diagonal + found.off_diagonal + found.level_transport
    assert found.root == pytest.approx(wanted**0.5, abs=1e-8)
    assert found.reg == reg
    penalty = lfl.FairBiT(level_metric="ordinal", level_cost=level_cost, reg=reg)
    assert penalty.value_and_grad(scores, sides, levels)[0] == pytest.approx(
        found.excess, abs=1e-12
    )
    least = found.value - found.excess
    rooted = replace(penalty, root=True)
    value, gradient = rooted.value_and_grad(scores, sides, levels)
    assert value + least**0.5 == pytest.approx(found.root, abs=1e-10)
    expected = slopes(lambda at: rooted.value_and_grad(at, sides, levels)[0], scores, 1e-6)
    np.testing.assert_allclose(gradient, expected, atol=1e-6)


def test_fairleap_by_entropic_costs_equals_pot_level_by_level() -> None:
    scores, sides, levels = table(4)
    counts = np.bincount(levels)
    for order in (1.0, 2.0):
        wanted = []
        for level in range(3):
            x, y = (scores[(sides == side) & (levels == level)] for side in (0, 1))
            wanted.append(pot_between((x, np.ones(x.size)), (y, np.ones(y.size)), order, 0.05))
        value, _ = lfl.FairLeap(order=order, reg=0.05).value_and_grad(scores, sides, levels)
        assert value == pytest.approx(float(counts @ wanted) / 40, abs=1e-8)
        summed, _ = lfl.FairLeap.paper(order=order, reg=0.05).value_and_grad(scores, sides, levels)
        assert summed == pytest.approx(sum(wanted), abs=1e-8)


@pytest.mark.parametrize("seed", range(5))
def test_reg_of_a_thousandth_is_within_one_per_cent_of_exact(seed: int) -> None:
    scores, sides, levels = table(seed, levels=6, size=240)
    scores += 0.3 * sides
    for blurred, exact in (
        (lfl.FairBiT.paper(reg=1e-3), lfl.FairBiT.paper()),
        (lfl.FairLeap.paper(reg=1e-3), lfl.FairLeap.paper()),
        (lfl.WassersteinPenalty.paper(reg=1e-3), lfl.WassersteinPenalty.paper()),
    ):
        wanted, slope = exact.value_and_grad(scores, sides, levels)
        found, gradient = blurred.value_and_grad(scores, sides, levels)
        assert found == pytest.approx(wanted, rel=0.01)
        np.testing.assert_allclose(gradient.sum(), 0.0, atol=1e-9)
        if exact.order == 2.0:
            np.testing.assert_allclose(gradient, slope, atol=0.1 * np.abs(slope).max())


def atoms_of(scores: FloatArray, sides: IntArray, levels: IntArray, n_levels: int) -> Atoms:
    return merge_ties(sort_rows(scores, 2 * levels + sides, 2 * n_levels))


def test_algorithm_1_converges_to_the_exact_value_from_above() -> None:
    scores, sides, levels = table(2, size=24)
    ground = metric_ground(np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0))), 2.0)
    atoms, left = atoms_of(scores, sides, levels, 3), 2 * np.arange(3)

    def value(reg: float) -> float:
        return nested_transport(
            atoms, left, left + 1, ground, order=2.0, level_cost=0.05, reg=reg
        ).value

    errors = [value(reg) - value(0.0) for reg in (0.3, 0.1, 0.03, 0.01)]
    assert all(later < earlier for earlier, later in pairwise([*errors, 0.0]))
    assert errors[-1] < 0.03 * errors[0]


def test_levels_missing_on_one_side_are_no_obstacle() -> None:
    atoms = atoms_of(np.array([0.0, 1.0, 0.5]), np.array([0, 1, 0]), np.array([0, 1, 2]), 3)
    left = 2 * np.arange(3)
    solved = nested_transport(
        atoms, left, left + 1, discrete_ground(3), order=1.0, level_cost=2.0, reg=0.01
    )
    np.testing.assert_allclose(solved.value, 2.0 + 0.75)


@pytest.mark.parametrize("reg", [-0.1, np.nan, np.inf, "a"])
def test_reg_must_be_a_finite_number(reg: float) -> None:
    with pytest.raises(lfl.errors.InputError, match="reg must be"):
        lfl.cdd_wass([0.1, 0.2], [0, 1], reg=reg)
    for penalty in (lfl.FairLeap, lfl.FairBiT, lfl.WassersteinPenalty):
        with pytest.raises(lfl.errors.InputError, match="reg must be"):
            penalty(reg=reg)


def test_root_needs_two_groups_and_a_level_cost() -> None:
    three = [0.1, 0.2, 0.3], [0, 1, 2]
    with pytest.raises(lfl.errors.InputError, match="root=True needs two groups and a level_cost"):
        lfl.FairBiT.paper(root=True).value_and_grad(*three)
    with pytest.raises(lfl.errors.InputError, match="root=True needs two groups and a level_cost"):
        lfl.FairBiT(root=True).value_and_grad([0.1, 0.2], [0, 1])
    with pytest.raises(lfl.errors.InputError, match="bends without bound"):
        lfl.FairBiT.paper(root=True).hessian_diagonal(
            np.array([0.1, 0.2]), Layout.from_columns([0, 1])
        )


def test_equal_scores_cost_nothing_under_the_root() -> None:
    _, sides, levels = table(7)
    value, gradient = lfl.FairBiT.paper(root=True).value_and_grad(np.ones(40), sides, levels)
    assert value == pytest.approx(0.0, abs=1e-12)
    assert not gradient.any()


def test_constants_are_in_the_unit_of_the_target() -> None:
    """C and reg are those of scores times the unit of a layout."""
    scores, sides, levels = table(8)
    layout = Layout.from_columns(sides, levels)
    scaled = replace(layout, unit=np.array([10.0]))
    for penalty in (
        lfl.FairBiT.paper(),
        lfl.FairBiT.paper(reg=0.05),
        lfl.FairBiT.paper(reg=0.05, root=True),
        lfl.FairLeap.paper(reg=0.05),
    ):
        wanted, slope = penalty.evaluate(scores[None], layout)
        found, gradient = penalty.evaluate(scores[None] / 10.0, scaled)
        assert found * 10.0**penalty.degree == pytest.approx(wanted, rel=1e-9)
        np.testing.assert_allclose(gradient * 10.0 ** (penalty.degree - 1.0), slope, atol=1e-9)


def test_entropic_values_keep_the_unit_of_scores() -> None:
    scores, sides, levels = table(6)
    small, slope = lfl.FairLeap(reg=0.05).value_and_grad(scores, sides, levels)
    for unit in (1e3, 1e-90):
        large, grown = lfl.FairLeap(reg=0.05 * unit**2).value_and_grad(unit * scores, sides, levels)
        assert large == pytest.approx(small * unit**2, rel=1e-9)
        np.testing.assert_allclose(grown, unit * slope, rtol=1e-6, atol=1e-12 * unit)
