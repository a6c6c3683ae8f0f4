"""Fine cells of a column, cut by an engine: the same on all of them, whatever the tails."""

from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

import likeforlike as lfl
from likeforlike.auditing._tables import NUMBER_CELLS, cell_number, number_cells
from likeforlike.files import column_key

RNG = np.random.default_rng(0)
COLUMNS = {
    "normal": RNG.normal(size=20_000),
    "tails": np.exp(6.0 * RNG.normal(size=20_000)),
    "atom": np.where(RNG.random(20_000) < 0.4, 0.0, RNG.standard_cauchy(20_000)),
    "marks": RNG.integers(0, 30, 20_000).astype(np.float64),
    "one value": np.full(40, 3.0),
    "two values": np.array([1.0, 2.0, 2.0]),
    "near": 1.0 + np.arange(500.0) * 2.0**-52,
}


def frames(numbers: np.ndarray) -> list[nw.LazyFrame[Any]]:
    table = pl.DataFrame({column_key("x"): numbers})
    return [nw.from_native(table.lazy()), nw.from_native(duckdb.from_arrow(table.to_arrow()))]


@pytest.mark.parametrize("name", COLUMNS)
def test_cells_are_of_about_equal_number_and_ties_stay_together(name: str) -> None:
    numbers = COLUMNS[name]
    edges, low, high = number_cells(frames(numbers)[0], "x")
    assert list(edges) == sorted(set(edges))
    cell = np.searchsorted(edges, numbers)
    held = np.bincount(cell, minlength=len(edges) + 1)
    assert held.min() > 0
    assert len(held) <= NUMBER_CELLS
    # One value may hold more than its share, and a cell next to it its own share besides.
    largest = np.unique(numbers, return_counts=True)[1].max()
    assert held.max() <= largest + 2 * max(1.0, numbers.size / NUMBER_CELLS)
    for k in range(held.size):
        assert low[k] == numbers[cell == k].min()
        assert high[k] == numbers[cell == k].max()


@pytest.mark.parametrize("name", ["tails", "marks", "two values"])
def test_engines_cut_alike(name: str) -> None:
    polars, duck = frames(COLUMNS[name])
    (first, *_), (second, *_) = number_cells(polars, "x"), number_cells(duck, "x")
    assert first == second
    numbered = duck.select(cell_number("x", first).alias("cell"), column_key("x")).collect()
    expected = np.searchsorted(first, numbered[column_key("x")].to_numpy())
    np.testing.assert_array_equal(numbered["cell"].to_numpy(), expected)


def test_numbers_that_reach_too_far_are_refused() -> None:
    with pytest.raises(lfl.errors.InputError, match=r"column 'x' reaches from .* too far"):
        number_cells(frames(np.array([-1.5e308, 1.5e308]))[0], "x")
