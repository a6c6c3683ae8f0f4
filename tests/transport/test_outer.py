import numpy as np
import ot
import pytest

from likeforlike.transport import cheapest_flow
from likeforlike.transport._flow import outer_plan


@pytest.mark.parametrize("kind", ["counts", "masses", "ties", "blocked", "empty"])
@pytest.mark.parametrize("sources", [1, 2, 5, 12, 40])
def test_flow_is_as_cheap_as_the_network_simplex(kind: str, sources: int) -> None:
    rng = np.random.default_rng(sources)
    for _ in range(50):
        targets = int(rng.integers(1, sources + 3))
        supply = rng.integers(1, 50, sources).astype(float)
        demand = rng.integers(1, 50, targets).astype(float)
        if kind == "empty":  # points with nothing to send or to take
            supply[1::2], demand[1::2] = 0.0, 0.0
        supply, demand = supply * demand.sum(), demand * supply.sum()
        cost = rng.random((sources, targets))
        if kind == "masses":
            supply, demand = supply / supply.sum(), demand / demand.sum()
        if kind == "ties":
            cost = np.round(cost, 1)
        if kind == "blocked":
            cost += 1e6 * (rng.random(cost.shape) < 0.3)
        flow = cheapest_flow(supply, demand, cost)
        assert (flow >= 0.0).all()
        np.testing.assert_allclose(flow.sum(axis=1), supply, rtol=1e-12)
        np.testing.assert_allclose(flow.sum(axis=0), demand, rtol=1e-12)
        best = ot.emd2(supply / supply.sum(), demand / demand.sum(), cost)
        assert (flow * cost).sum() / supply.sum() == pytest.approx(best, rel=1e-12, abs=1e-15)


def test_whole_numbers_stay_whole() -> None:
    rng = np.random.default_rng(1)
    supply = rng.integers(1, 9, 6).astype(float)
    flow = cheapest_flow(supply, supply[::-1].copy(), rng.random((6, 6)))
    np.testing.assert_array_equal(flow, np.round(flow))


@pytest.mark.parametrize("odd", [np.nan, np.inf])
@pytest.mark.parametrize("part", range(3))
def test_numbers_that_are_none_reach_no_solver(part: int, odd: float) -> None:
    parts = [np.ones(3), np.ones(3), np.ones((3, 3))]
    parts[part].flat[1] = odd
    with pytest.raises(ArithmeticError, match="must be finite"):
        outer_plan(*parts)


def test_mass_moves_where_nothing_costs() -> None:
    supply, demand = np.array([2.0, 1.0]), np.array([1.0, 1.0, 1.0])
    flow = outer_plan(supply, demand, np.zeros((2, 3)))
    np.testing.assert_array_equal(flow.sum(axis=1), supply)
    np.testing.assert_array_equal(flow.sum(axis=0), demand)


def test_nothing_to_send() -> None:
    assert not cheapest_flow(np.zeros(2), np.zeros(3), np.ones((2, 3))).any()


@pytest.mark.parametrize(("sources", "targets"), [(1, 5), (6, 1), (7, 4), (201, 3), (220, 210)])
def test_plan_costs_what_pot_finds(sources: int, targets: int) -> None:
    rng = np.random.default_rng(sources)
    supply = rng.integers(1, 40, sources).astype(np.float64)
    demand = rng.integers(1, 40, targets).astype(np.float64)
    supply, demand = supply * demand.sum(), demand * supply.sum()
    cost = rng.random((sources, targets)) + 1.0
    plan = outer_plan(supply, demand, cost)
    np.testing.assert_allclose(plan.sum(axis=1), supply, rtol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=0), demand, rtol=1e-12)
    whole = supply.sum()
    expected = ot.emd2(supply / whole, demand / whole, cost, numItermax=10**7)
    np.testing.assert_allclose((plan * cost).sum() / whole, expected, rtol=1e-12)
