"""Ranks inside segments and fine cells, against SciPy and rows that are written out."""

import numpy as np
import pytest
from scipy.stats import rankdata

from likeforlike.smoothing import Grid, make_grid, windows
from likeforlike.smoothing._grid import midranks

RNG = np.random.default_rng(0)
NUMBERS = np.round(RNG.gamma(2.0, 3.0, 700), 1)
SEGMENT = RNG.integers(0, 3, 700)


def test_ranks_are_those_of_scipy_in_every_segment() -> None:
    ranking, ranks = midranks(NUMBERS, SEGMENT, 3)
    for s in range(3):
        inside = np.equal(SEGMENT, s)
        expected = (rankdata(NUMBERS[inside]) - 0.5) / inside.sum()
        np.testing.assert_allclose(ranks[inside], expected, rtol=1e-13)
    np.testing.assert_allclose(ranking.of(NUMBERS, SEGMENT), ranks, rtol=1e-13)


def test_ranks_of_new_numbers_lie_on_straight_lines_and_stay_inside() -> None:
    ranking, _ = midranks(np.array([1.0, 3.0, 5.0, 10.0]), np.array([0, 0, 0, 1]), 2)
    wanted = np.array([-9.0, 2.0, 3.0, 99.0, 0.0, 11.0])
    found = ranking.of(wanted, np.array([0, 0, 0, 0, 1, 1]))
    np.testing.assert_allclose(found, [1 / 6, 1 / 3, 1 / 2, 5 / 6, 1 / 2, 1 / 2])


def test_tails_do_not_stretch_the_scale() -> None:
    numbers = np.r_[np.linspace(0.0, 1.0, 1000), 1e9]
    ranking, _ = midranks(numbers, np.zeros(1001, np.int64), 1)
    raw = ranking.raw(numbers, np.zeros(1001, np.int64))
    assert raw[0] == 0.0
    assert raw[-1] == 1.0
    assert 0.45 < raw[500] < 0.55


def written_out(numbers: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.repeat(numbers, rows)


def test_a_line_counts_as_its_rows() -> None:
    numbers, rows = np.round(RNG.normal(size=120), 1), RNG.integers(1, 9, 120)
    values = RNG.normal(size=120)
    lines = make_grid(numbers, rows=rows.astype(np.float64))
    each = make_grid(written_out(numbers, rows))
    first = np.r_[0, np.cumsum(rows)[:-1]]
    for mine, theirs in [
        (lines.position, each.position[first]),
        (lines.cell, each.cell[first]),
        (lines.center, each.center),
        (lines.raw, each.raw),
        (lines.effective, each.effective),
        (lines.mean(values), each.mean(written_out(values, rows))),
        (lines.variance(values), each.variance(written_out(values, rows))),
    ]:
        np.testing.assert_allclose(mine, theirs, rtol=1e-10)


@pytest.fixture(scope="module")
def cells() -> Grid:
    return make_grid(NUMBERS, SEGMENT)


def test_equal_numbers_are_in_one_cell_and_cells_rise(cells: Grid) -> None:
    of_segment = cells.of_segment
    assert (of_segment[cells.cell] == SEGMENT).all()
    for s in range(3):
        inside = np.equal(SEGMENT, s)
        numbers, cell = NUMBERS[inside], cells.cell[inside]
        order = np.lexsort((cell, numbers))
        assert (np.diff(cell[order]) >= 0).all()
        for value in np.unique(numbers):
            assert np.unique(cell[numbers == value]).size == 1
    assert (np.diff(cells.offsets) <= 200).all()


def test_means_and_variances_are_those_of_the_definition(cells: Grid) -> None:
    values = RNG.normal(size=NUMBERS.size)
    variance = cells.variance(values)
    for s in range(3):
        of_cell = [values[cells.cell == g] for g in range(cells.offsets[s], cells.offsets[s + 1])]
        squares = np.array([((v - v.mean()) ** 2).sum() for v in of_cell])
        rows = np.array([v.size for v in of_cell])
        pooled = squares.sum() / (rows - 1).sum()
        expected = (squares + 10 * pooled) / (rows - 1 + 10)
        np.testing.assert_allclose(variance[cells.offsets[s] : cells.offsets[s + 1]], expected)


def test_the_variance_of_clusters_is_that_of_their_sums() -> None:
    person = np.repeat(np.arange(200), 5)
    numbers = np.repeat(RNG.normal(size=200), 5)
    values = np.repeat(RNG.normal(size=200), 5)
    alone = make_grid(numbers).variance(values).mean()
    together = make_grid(numbers, cluster=person).variance(values).mean()
    assert together > 3 * alone


def test_places_read_a_curve_on_straight_lines(cells: Grid) -> None:
    curve = RNG.normal(size=cells.center.size)
    read = cells.own_places.read(curve)
    for s in range(3):
        inside = np.equal(SEGMENT, s)
        part = slice(cells.offsets[s], cells.offsets[s + 1])
        expected = np.interp(cells.position[inside], cells.center[part], curve[part])
        np.testing.assert_allclose(read[inside], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("wanted", [None, 7])
def test_windows_are_unions_of_cells(cells: Grid, wanted: int | None) -> None:
    found = windows(cells, NUMBERS, wanted)
    assert (found.of_cell[cells.cell] == found.of_line).all()
    assert (np.diff(found.of_cell) >= 0).all()
    assert (found.segment[found.of_line] == SEGMENT).all()
    for k in range(found.center.size):
        inside = found.of_line == k
        assert found.low[k] == NUMBERS[inside].min()
        assert found.high[k] == NUMBERS[inside].max()
        assert found.low[k] <= found.middle[k] <= found.high[k]
        np.testing.assert_allclose(found.center[k], cells.position[inside].mean())


def test_how_many_windows_there_are() -> None:
    for rows, wanted in [(500, 8), (2000, 13), (70, 3), (15, 1)]:
        numbers = RNG.normal(size=rows)
        assert windows(make_grid(numbers), numbers).center.size == wanted


def test_a_number_that_is_always_the_same_is_one_window() -> None:
    numbers = np.full(50, 3.0)
    cells = make_grid(numbers)
    assert cells.center.tolist() == [0.5]
    assert windows(cells, numbers).center.tolist() == [0.5]


def test_windows_beside_large_atoms_are_not_small() -> None:
    numbers = np.r_[np.repeat(np.arange(12.0), 400), np.arange(12.0) + 0.5, np.full(30, 20.0)]
    found = windows(make_grid(numbers), numbers, 40)
    held = np.bincount(found.of_line)
    assert held.size <= 40
    assert held.min() >= numbers.size / 40 / 2
    assert (np.diff(found.low) > 0).all()
