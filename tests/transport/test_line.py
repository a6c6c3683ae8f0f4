import numpy as np
import ot
import pytest
from scipy import stats

from likeforlike._arrays import FloatArray
from likeforlike.transport import _line as line
from tests.support import oracles

ORDERS = [1.0, 1.5, 2.0, 3.0]
Problem = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def problem(seed: int, *, ties: bool, weighted: bool) -> Problem:
    """Two samples of unequal size, now and then a singleton."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 40, 2)
    x, y = rng.random(n), rng.random(m) + 0.1
    if ties:
        x, y = np.round(x * 8) / 8, np.round(y * 8) / 8
    a = rng.random(n) + 0.01 if weighted else np.ones(n)
    b = rng.random(m) + 0.01 if weighted else np.ones(m)
    return x, a, y, b


def problems() -> list[Problem]:
    return [
        problem(seed, ties=ties, weighted=weighted)
        for seed in range(12)
        for ties in (False, True)
        for weighted in (False, True)
    ]


@pytest.mark.parametrize("order", ORDERS)
def test_cost_is_the_network_simplex_cost(order: float) -> None:
    for x, a, y, b in problems():
        ours = line.cost(x, y, order=order, x_mass=a, y_mass=b)
        np.testing.assert_allclose(
            ours, oracles.transport_cost(x, a, y, b, order), rtol=1e-12, atol=1e-15
        )
        one_dimensional = ot.emd2_1d(
            x, y, oracles.normalized(a), oracles.normalized(b), metric="minkowski", p=order
        )
        np.testing.assert_allclose(ours, one_dimensional, rtol=1e-12, atol=1e-15)


def test_first_order_is_scipys() -> None:
    for x, a, y, b in problems():
        np.testing.assert_allclose(
            line.cost(x, y, order=1, x_mass=a, y_mass=b),
            stats.wasserstein_distance(x, y, a, b),
            rtol=1e-12,
            atol=1e-15,
        )


def test_no_mass_means_equal_mass() -> None:
    x, _, y, b = problem(3, ties=True, weighted=True)
    assert line.cost(x, y) == line.cost(x, y, x_mass=np.ones(x.size), y_mass=np.ones(y.size))
    np.testing.assert_allclose(
        line.cost(x, y, y_mass=b), line.cost(x, y, x_mass=np.full(x.size, 7.0), y_mass=b)
    )


def test_a_million_rows_agree_with_scipy() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(400_000), rng.standard_normal(600_000) * 1.1 + 0.05
    np.testing.assert_allclose(
        line.cost(x, y, order=1), stats.wasserstein_distance(x, y), rtol=1e-12
    )


@pytest.mark.parametrize("order", ORDERS)
def test_plan_moves_the_right_mass_at_the_optimal_cost(order: float) -> None:
    for x, a, y, b in problems():
        plan = line.plan(x, y, x_mass=a, y_mass=b)
        assert plan.mass.size <= x.size + y.size - 1
        assert (plan.mass > 0.0).all()
        np.testing.assert_allclose(
            np.bincount(plan.source, plan.mass, x.size), oracles.normalized(a), rtol=1e-12
        )
        np.testing.assert_allclose(
            np.bincount(plan.target, plan.mass, y.size), oracles.normalized(b), rtol=1e-12
        )
        paid = (plan.mass * np.abs(x[plan.source] - y[plan.target]) ** order).sum()
        np.testing.assert_allclose(
            paid, oracles.transport_cost(x, a, y, b, order), rtol=1e-12, atol=1e-15
        )


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient_is_the_finite_difference(order: float, weighted: bool) -> None:
    for seed in range(12):
        x, a, y, b = problem(seed, ties=False, weighted=weighted)

        def cost_at(joined: FloatArray, n: int = x.size, order: float = order) -> float:
            return line.cost(joined[:n], joined[n:], order=order, x_mass=a, y_mass=b)  # noqa: B023

        value, grad_x, grad_y = line.cost_and_gradient(x, y, order=order, x_mass=a, y_mass=b)
        joined = np.concatenate([x, y])
        assert value == cost_at(joined)
        gradient = np.concatenate([grad_x, grad_y])
        expected = oracles.slopes(cost_at, joined, 1e-6)
        np.testing.assert_allclose(
            gradient, expected, rtol=1e-6, atol=1e-6 * np.abs(gradient).max()
        )


@pytest.mark.parametrize("order", ORDERS)
def test_ties_share_the_gradient_of_their_atom_by_mass(order: float) -> None:
    x = np.array([0.2, 0.2, 0.2, 0.7])
    a = np.array([1.0, 2.0, 3.0, 1.0])
    y, b = np.array([0.05, 0.4, 0.9]), np.array([1.0, 1.5, 0.5])
    _, grad, _ = line.cost_and_gradient(x, y, order=order, x_mass=a, y_mass=b)
    np.testing.assert_allclose(grad[:3] / a[:3], np.full(3, grad[0] / a[0]), rtol=1e-12)

    def moved_together(shift: FloatArray) -> float:
        return line.cost(x + shift[0] * (x == 0.2), y, order=order, x_mass=a, y_mass=b)

    np.testing.assert_allclose(
        grad[:3].sum(), oracles.slopes(moved_together, np.zeros(1), 1e-6)[0], rtol=1e-6
    )


def test_gradient_at_ties_averages_the_one_sided_gradients() -> None:
    # Three tied x against two y at the same value, order 1 (methods of the kink: |u - v| at 0).
    x, y = np.zeros(3), np.array([0.0, 0.0, 1.0])
    _, grad, _ = line.cost_and_gradient(x, y, order=1)
    sides = [line.cost_and_gradient(x + shift, y, order=1)[1] for shift in (1e-9, -1e-9)]
    np.testing.assert_allclose(grad, np.mean(sides, axis=0), atol=1e-12)


def test_gradient_is_zero_at_parity_and_sums_to_zero() -> None:
    rng = np.random.default_rng(5)
    x = rng.random(20)
    value, grad_x, grad_y = line.cost_and_gradient(x, x[::-1].copy(), order=2)
    assert value == 0.0
    assert not grad_x.any()
    assert not grad_y.any()
    _, grad_x, grad_y = line.cost_and_gradient(x, rng.random(7), order=3)
    assert abs(grad_x.sum() + grad_y.sum()) < 1e-15
