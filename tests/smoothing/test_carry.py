"""The carry against distributions whose quantiles are known."""

import numpy as np
import pytest
from scipy.stats import binom, kstest, norm

from likeforlike.smoothing import (
    DiscreteMap,
    LocationScaleMap,
    fit_quantile_map,
    make_grid,
    windows,
)
from likeforlike.smoothing._carry import (
    _nodes,
    centers,
    few_values,
    map_to_centers,
    tie_breaking_uniforms,
)
from likeforlike.smoothing._comparison import map_with_gaps

N = 20_000


def gaussian(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    numbers = rng.random(N)
    values = np.sin(3.0 * numbers) + (0.1 + 0.2 * numbers) * rng.normal(size=N)
    return numbers, values


def test_values_go_where_their_distribution_goes() -> None:
    numbers, values = gaussian(1)
    cells = make_grid(numbers)
    fitted = fit_quantile_map(cells, values)
    assert isinstance(fitted, LocationScaleMap)
    wanted = 1.0 - numbers
    end = cells.place(cells.segment, cells.ranking.of(wanted, cells.segment))
    moved = fitted.move(values, cells.own_places, end)
    z = (values - np.sin(3.0 * numbers)) / (0.1 + 0.2 * numbers)
    expected = np.sin(3.0 * wanted) + (0.1 + 0.2 * wanted) * z
    assert np.abs(moved - expected).mean() < 0.012
    found = norm.cdf((moved - np.sin(3.0 * wanted)) / (0.1 + 0.2 * wanted))
    assert kstest(found, "uniform").statistic < 0.02


def test_there_and_back_is_nothing_and_staying_is_nothing() -> None:
    numbers, values = gaussian(2)
    cells = make_grid(numbers)
    fitted = fit_quantile_map(cells, values)
    assert isinstance(fitted, LocationScaleMap)
    here, there = cells.own_places, cells.place(cells.segment, 1.0 - cells.position)
    np.testing.assert_allclose(fitted.move(values, here, here), values, atol=1e-12)
    back = fitted.move(fitted.move(values, here, there), there, here)
    # Straight lines between the nodes lose a hundredth of a standard deviation.
    assert np.quantile(np.abs(back - values), 0.95) < 0.003


def test_a_line_moves_the_same_alone_as_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers, values = gaussian(5)
    cells = make_grid(numbers)
    fitted = fit_quantile_map(cells, values)
    assert isinstance(fitted, LocationScaleMap)
    here, there = cells.own_places, cells.place(cells.segment, 1.0 - cells.position)
    line = np.array([0])
    alone = [
        fitted.move(values[line + k], here.of(line + k), there.of(line + k))[0] for k in range(99)
    ]
    monkeypatch.setenv("LIKEFORLIKE_THREADS", "3")
    many = np.tile(np.arange(N), 7)  # enough for threads
    moved = fitted.move(values[many], here.of(many), there.of(many)).reshape(7, N)
    assert (moved == moved[0]).all()
    assert moved[0, :99].tolist() == alone


def test_order_inside_a_position_is_kept() -> None:
    rng = np.random.default_rng(3)
    numbers = np.repeat(np.arange(40.0), 100)
    values = numbers**2 / 1000 + rng.gamma(2.0, 1.0, 4000)
    cells = make_grid(numbers)
    _, carried = map_to_centers(cells, windows(cells, numbers), values, np.zeros(4000))
    for atom in range(40):
        inside = numbers == atom
        order = np.argsort(values[inside])
        assert (np.diff(carried.values[inside][order]) > 0.0).all()


def test_segments_are_carried_apart() -> None:
    numbers, values = gaussian(4)
    segment = np.arange(N) % 2
    both = make_grid(numbers, segment)
    _, together = map_to_centers(both, windows(both, numbers), values + 5.0 * segment, np.zeros(N))
    one = make_grid(numbers[segment == 0])
    _, alone = map_to_centers(
        one, windows(one, numbers[segment == 0]), values[segment == 0], np.zeros(N)
    )
    # The nodes are common to all segments; everything else is their own.
    assert np.abs(together.values[segment == 0] - alone.values).mean() < 2e-3
    assert together.values[segment == 1].mean() > 5.0


def decisions(seed: int, rows: int = N) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    numbers = rng.random(rows)
    values = binom.rvs(3, 0.2 + 0.6 * numbers, random_state=rng).astype(np.float64)
    return numbers, values, rng.random(rows)


def test_few_values_become_values_with_the_distribution_of_the_center() -> None:
    numbers, values, uniform = decisions(5)
    cells = make_grid(numbers)
    found = windows(cells, numbers, 4)
    fitted, carried = map_to_centers(cells, found, values, uniform)
    assert isinstance(fitted, DiscreteMap)
    assert set(np.unique(carried.values)) == {0.0, 1.0, 2.0, 3.0}
    for k in range(4):
        counted = np.bincount(carried.values[found.of_line == k].astype(int), minlength=4)
        expected = binom.pmf(np.arange(4), 3, 0.2 + 0.6 * found.middle[k])
        np.testing.assert_allclose(counted / counted.sum(), expected, atol=0.03)
        # Halves of a window are alike after the carry; before it they are not.
        left = (found.of_line == k) & (numbers < found.middle[k])
        right = (found.of_line == k) & (numbers >= found.middle[k])
        assert abs(carried.values[left].mean() - carried.values[right].mean()) < 0.08
        assert values[right].mean() - values[left].mean() > 0.15


def test_chances_are_what_uniform_numbers_draw() -> None:
    numbers, values, _ = decisions(6, 400)
    cells = make_grid(numbers)
    fitted = fit_quantile_map(cells, values)
    assert isinstance(fitted, DiscreteMap)
    start, end = cells.own_places, centers(cells, windows(cells, numbers, 4))
    chances = fitted.chances(values, start, end)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    middles = (np.arange(1000) + 0.5) / 1000
    drawn = np.stack([fitted.move(values, start, end, np.full(400, u)) for u in middles])
    for k, value in enumerate(fitted.values):
        np.testing.assert_allclose((drawn == value).mean(axis=0), chances[:, k], atol=2e-3)


def test_counts_are_carried_as_their_rows_are() -> None:
    rng = np.random.default_rng(7)
    numbers, values, _ = decisions(7)
    numbers = np.round(numbers, 2)
    group = rng.integers(0, 2, N)
    lines, back, rows = np.unique(
        np.stack([numbers, values, group]), axis=1, return_inverse=True, return_counts=True
    )
    del back
    counted = make_grid(lines[0], rows=rows.astype(np.float64))
    each = make_grid(numbers)
    label = lines[2].astype(np.int64)
    _, few = map_to_centers(
        counted,
        windows(counted, lines[0]),
        lines[1],
        tie_breaking_uniforms(counted, lines[1], label, 0),
    )
    _, many = map_to_centers(
        each, windows(each, numbers), values, tie_breaking_uniforms(each, values, group, 0)
    )
    assert few.rows.sum() == N
    assert few.values @ few.rows / N == pytest.approx(many.values.mean(), abs=0.01)


@pytest.mark.parametrize("kind", ["many", "few"])
def test_the_refined_carry_keeps_the_whole_gap(kind: str) -> None:
    rng = np.random.default_rng(8)
    numbers = rng.random(N)
    chance = 0.5 + 0.45 * np.sin(18.0 * numbers)
    group = (rng.random(N) < chance).astype(np.int64)
    if kind == "many":
        values = numbers + 0.1 * group + 0.05 * rng.normal(size=N)
    else:
        values = (rng.random(N) < 0.3 + 0.4 * numbers + 0.1 * group).astype(np.float64)
    cells = make_grid(numbers)
    found = windows(cells, numbers, 13)
    uniform = tie_breaking_uniforms(cells, values, group, 0)
    fitted, plain = map_to_centers(cells, found, values, uniform)
    refined = map_with_gaps(cells, found, values, group, fitted, uniform)

    def gap(carried: np.ndarray) -> float:
        inside = [carried[(found.of_line == k) & (group == 1)].mean() for k in range(13)]
        other = [carried[(found.of_line == k) & (group == 0)].mean() for k in range(13)]
        return float(np.mean(np.array(inside) - np.array(other)))

    noise = 0.001 if kind == "many" else 0.012
    assert gap(refined.values) == pytest.approx(0.1, abs=0.004 + noise)
    if kind == "many":
        assert gap(plain.values) < gap(refined.values) - 0.005
    else:
        assert set(np.unique(refined.values)) == {0.0, 1.0}


def test_few_rows_keep_their_values_and_many_come_to_them() -> None:
    rng = np.random.default_rng(11)
    numbers = np.sort(rng.random(2000))
    group = (rng.random(2000) < np.where(numbers < 0.5, 0.05, 0.95)).astype(np.int64)
    values = (rng.random(2000) < 0.1 + 0.8 * numbers).astype(np.float64)
    cells = make_grid(numbers)
    found = windows(cells, numbers, 10)
    uniform = tie_breaking_uniforms(cells, values, group, 0)
    fitted, _ = map_to_centers(cells, found, values, uniform)
    refined = map_with_gaps(cells, found, values, group, fitted, uniform)
    for k in range(10):
        rare = int(k < 5)
        few, many = ((found.of_line == k) & (group == g) for g in (rare, 1 - rare))
        assert refined.values[few].sum() == values[few].sum()
        # The mean of the others is moved along the curve to where the few are.
        along = 0.8 * (numbers[few].mean() - numbers[many].mean())
        moved = refined.values[many].mean() - values[many].mean()
        assert moved == pytest.approx(along, abs=0.02)


def test_uniform_numbers_do_not_depend_on_the_order_of_rows() -> None:
    numbers, values, _ = decisions(9, 300)
    numbers = np.round(numbers, 1)
    group = np.arange(300) % 2
    order = np.random.default_rng(10).permutation(300)
    first = tie_breaking_uniforms(make_grid(numbers), values, group, 3)
    second = tie_breaking_uniforms(make_grid(numbers[order]), values[order], group[order], 3)
    key = np.lexsort((first, group, values, numbers))
    other = np.lexsort((second, group[order], values[order], numbers[order]))
    np.testing.assert_array_equal(first[key], second[other])


def test_few_and_many_values_are_distinguished() -> None:
    few = few_values(np.tile(np.arange(64.0), 10))
    assert few is not None
    assert few.size == 64
    assert few_values(np.tile(np.arange(65.0), 10)) is None


def test_scores_that_are_all_the_same_stay_so() -> None:
    numbers = np.linspace(0.0, 1.0, 100)
    cells = make_grid(numbers)
    _, carried = map_to_centers(cells, windows(cells, numbers), np.full(100, 2.5), np.zeros(100))
    assert (carried.values == 2.5).all()


@pytest.mark.parametrize("size", [10, 49, 50, 1000, 1234])
def test_nodes_of_rows_are_those_of_counts(size: int) -> None:
    z = np.random.default_rng(11).normal(size=size).round(1)
    rows = _nodes(z, np.ones(size))
    twice = _nodes(z, np.full(size, 2.0))
    np.testing.assert_array_equal(rows, twice)
