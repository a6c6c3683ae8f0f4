"""The companion against its definition, its size and its power; jumps where there are any."""

import numpy as np
import pytest

from likeforlike.smoothing import detect_jumps, fit_quantile_map, gcm_test, make_grid, propensity
from likeforlike.smoothing._gcm import _moments

Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]


def drawn(seed: int, rows: int, shift: float = 0.0) -> Drawn:
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=rows)
    member = (rng.random(rows) < 1.0 / (1.0 + np.exp(-numbers))).astype(np.float64)
    values = np.tanh(numbers) + shift * member + 0.3 * rng.normal(size=rows)
    return numbers, member, values


def p_value(data: Drawn) -> float:
    numbers, member, values = data
    cells = make_grid(numbers)
    chance, _ = propensity(cells, member)
    return gcm_test(cells, fit_quantile_map(cells, values), values, member, chance)


def test_moments_are_those_of_the_definition() -> None:
    numbers, member, values = drawn(0, 300)
    weight, person = np.random.default_rng(1).exponential(size=300), np.arange(300) // 3
    cells = make_grid(numbers, mass=weight, cluster=person)
    fitted = fit_quantile_map(cells, values)
    rest = member - 0.5
    total, covariance = _moments(cells, fitted, values, rest)
    parts = fitted.rest(values, cells.own_places) * (weight * rest)[:, None]
    people = np.array([parts[person == c].sum(axis=0) for c in range(100)])
    np.testing.assert_allclose(total, parts.sum(axis=0), atol=1e-10)
    np.testing.assert_allclose(covariance, people.T @ people, atol=1e-10)


@pytest.mark.simulation
def test_the_companion_keeps_its_size_and_finds_a_shift() -> None:
    rejected = np.mean([p_value(drawn(seed, 600)) <= 0.05 for seed in range(120)])
    assert rejected <= 0.10
    found = np.mean([p_value(drawn(seed, 600, 0.1)) <= 0.05 for seed in range(20)])
    assert found >= 0.8


def test_values_that_do_not_vary_say_nothing() -> None:
    numbers, member, _ = drawn(2, 100)
    assert p_value((numbers, member, np.ones(100))) == 1.0


def test_a_jump_is_found_where_it_is_and_a_bend_is_none() -> None:
    rng = np.random.default_rng(3)
    numbers = rng.random(4000)
    noise = 0.1 * rng.normal(size=4000)
    cells = make_grid(numbers)
    found = detect_jumps(cells, numbers + 0.3 * (numbers > 0.62) + noise)
    assert found.size == 1
    assert abs(cells.center[found[0]] - 0.62) < 0.02
    # A score that is nearly a function of the number only bends.
    assert detect_jumps(cells, numbers**1.5 + 0.01 * rng.normal(size=4000)).size == 0
    assert detect_jumps(cells, np.sin(5.0 * numbers) + noise).size == 0
    assert detect_jumps(cells, np.ones(4000)).size == 0
