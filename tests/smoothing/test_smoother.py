"""Local lines against least squares at every cell, and the choice of their width."""

import numpy as np
import pytest

from likeforlike.smoothing import Bandwidth, Grid, make_grid, propensity
from likeforlike.smoothing._grid import group_sums
from likeforlike.smoothing._local_linear import WIDTHS, select_bandwidth


def oracle_matrix(x: np.ndarray, weight: np.ndarray, width: float) -> np.ndarray:
    """S row by row: the line that weighted least squares puts through the neighbors."""
    rows = []
    for at in x:
        d = x - at
        near = np.sort(np.abs(d))[min(2, d.size - 1)]
        h = max(width, 1.01 * near)
        kernel = np.maximum(0.0, 1.0 - (d / h) ** 2) * weight
        design = np.stack([np.ones_like(d), d], axis=1)
        normal = design.T @ (kernel[:, None] * design)
        rows.append(np.linalg.solve(normal, design.T * kernel)[0])
    return np.array(rows)


@pytest.fixture(scope="module")
def cells() -> Grid:
    rng = np.random.default_rng(1)
    numbers = np.round(rng.gamma(2.0, 3.0, 900), 1)
    return make_grid(numbers, (np.arange(900) % 3 == 0).astype(np.int64))


@pytest.mark.parametrize("coordinate", [1, 2])
@pytest.mark.parametrize("width", [0.01, 0.08, 0.5])
def test_local_lines_are_those_of_least_squares(cells: Grid, coordinate: int, width: float) -> None:
    values = np.random.default_rng(2).normal(size=(cells.total.size, 2))
    choice = Bandwidth(np.full(2, coordinate), np.full(2, width))
    fitted = choice.smooth(cells, values)
    for s in range(2):
        part = slice(cells.offsets[s], cells.offsets[s + 1])
        x = (cells.center if coordinate == 1 else cells.raw)[part]
        expected = oracle_matrix(x, cells.total[part], width) @ values[part]
        np.testing.assert_allclose(fitted[part], expected, rtol=1e-4, atol=1e-5)


def test_a_straight_line_is_left_alone(cells: Grid) -> None:
    choice = Bandwidth(np.array([1, 1]), np.array([0.05, 1.0]))
    np.testing.assert_allclose(
        choice.smooth(cells, 3.0 - 2.0 * cells.center), 3.0 - 2.0 * cells.center, atol=1e-6
    )


def test_the_choice_has_the_least_criterion(cells: Grid) -> None:
    rng = np.random.default_rng(3)
    means = np.sin(6.0 * cells.center) + rng.normal(size=cells.total.size) / 5
    variance = np.full(cells.total.size, 0.2)
    choice = select_bandwidth(cells, means, variance)
    for s in range(2):
        part = slice(cells.offsets[s], cells.offsets[s + 1])
        y, weight = means[part], cells.total[part]
        criteria = {(0, 0.0): 2 * variance[part].sum()}
        for number, x in ((1, cells.center[part]), (2, cells.raw[part])):
            for width in WIDTHS:
                if width * y.size >= 2:
                    matrix = oracle_matrix(x, weight, width)
                    missed = cells.effective[part] @ (y - matrix @ y) ** 2
                    criteria[number, width] = missed + 2 * variance[part] @ np.diag(matrix)
        best = min(criteria, key=lambda key: criteria[key])
        assert (choice.coordinate[s], choice.width[s]) == best


def test_values_without_noise_are_not_smoothed() -> None:
    cells = make_grid(np.repeat(np.arange(30.0), 40))
    means = np.random.default_rng(4).normal(size=30)
    choice = select_bandwidth(cells, means, np.full(30, 1e-6))
    assert choice.name() == "none"
    np.testing.assert_array_equal(choice.smooth(cells, means), means)


def test_noise_alone_is_smoothed_as_much_as_can_be() -> None:
    rng = np.random.default_rng(5)
    cells = make_grid(rng.random(5000))
    values = rng.normal(size=5000)
    choice = select_bandwidth(cells, cells.mean(values), cells.variance(values))
    assert choice.width[0] >= 0.5


def test_a_choice_can_be_widened() -> None:
    choice = Bandwidth(np.array([0, 1, 2]), np.array([0.0, 0.02, 0.3])).at_least(0.05)
    assert choice.coordinate.tolist() == [1, 1, 2]
    assert choice.width.tolist() == [0.05, 0.05, 0.3]


def test_the_propensity_finds_its_curve_whatever_the_weights() -> None:
    rng = np.random.default_rng(6)
    numbers = rng.normal(size=40_000)
    chance = 1.0 / (1.0 + np.exp(-1.5 * numbers))
    member = (rng.random(40_000) < chance).astype(np.float64)
    found, _ = propensity(make_grid(numbers), member)
    assert np.abs(found - chance).mean() < 0.012
    weighted, _ = propensity(make_grid(numbers, mass=rng.exponential(size=40_000)), member)
    assert np.abs(weighted - chance).mean() < 0.02
    assert 0.001 <= found.min() < found.max() <= 0.999


@pytest.mark.parametrize("rows", [1, 30, 25_000])
@pytest.mark.parametrize("kind", ["in order", "mixed", "one", "each"])
def test_sums_are_added_from_the_first_to_the_last(rows: int, kind: str) -> None:
    random = np.random.default_rng(rows)
    code, amount = random.integers(0, 7, rows), random.normal(size=rows)
    code = {
        "in order": np.sort(code),
        "mixed": code,
        "one": np.full(rows, 3),
        "each": np.arange(rows),
    }[kind]
    by_hand = [0.0] * max(9, int(code.max()) + 1)
    for k, each in zip(code.tolist(), amount.tolist(), strict=True):
        by_hand[k] += each
    assert group_sums(code, amount, 9).tolist() == by_hand
