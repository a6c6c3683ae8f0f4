"""Systematic sampling assigns what is due: every block has its sums, every line its rows."""

from __future__ import annotations

import numpy as np
import pytest

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing._comparison import systematic_sample

Assignment = tuple[IntArray, IntArray, IntArray]


def chances_of(n: int, k: int, seed: int) -> FloatArray:
    """Chances of k values for every line."""
    rng = np.random.default_rng(seed)
    drawn = rng.dirichlet(np.full(k, 0.3), n)
    drawn[rng.random(n) < 0.3] = np.eye(k)[0]
    return drawn


def assign(block: IntArray, mass: FloatArray, rows: FloatArray, chances: FloatArray) -> Assignment:
    lot = np.random.default_rng(9).random(block.size)
    order = np.argsort(block, kind="stable")
    return systematic_sample(block, order, mass, rows, lot, due_of(block, mass, chances))


def due_of(block: IntArray, mass: FloatArray, chances: FloatArray) -> FloatArray:
    """What every block has at or below each value, if its lines have what their chances say."""
    due = np.zeros((int(block.max()) + 1, chances.shape[1]))
    for of_block, of_line, chance in zip(block, mass, chances, strict=True):
        due[of_block] += of_line * np.cumsum(chance)
    return due


def table(assigned: Assignment, n: int, k: int) -> FloatArray:
    line, value, rows = assigned
    filled = np.zeros((n, k))
    filled[line, value] = rows
    return filled


@pytest.mark.parametrize("values", [2, 5, 64])
@pytest.mark.parametrize("many", [False, True])
def test_every_block_has_what_is_due(values: int, many: bool) -> None:
    rng = np.random.default_rng(values)
    n = 700
    block = rng.integers(0, 40, n)
    rows = rng.integers(1, 30, n).astype(np.float64) if many else np.ones(n)
    chances = chances_of(n, values, values)
    assigned = table(assign(block, rows, rows, chances), n, values)
    np.testing.assert_array_equal(assigned.sum(axis=1), rows)
    wanted = np.cumsum(rows[:, None] * chances, axis=1)
    off = np.stack(
        [
            np.bincount(block, column, minlength=40)
            for column in (np.cumsum(assigned, axis=1) - wanted).T
        ]
    )
    assert np.abs(off).max() <= 1.0


def test_weights_count() -> None:
    rng = np.random.default_rng(1)
    n = 400
    mass, chances = rng.uniform(0.5, 2.0, n), chances_of(n, 2, 1)
    assigned = table(assign(np.zeros(n, np.int64), mass, np.ones(n), chances), n, 2)
    assert abs(mass @ (assigned[:, 0] - chances[:, 0])) <= 2.0


def test_the_mean_over_lots_is_what_is_due() -> None:
    n = 25
    chances = np.tile([0.05, 0.95], (n, 1))
    block, order, ones = np.zeros(n, np.int64), np.arange(n), np.ones(n)
    counted = [
        table(
            systematic_sample(
                block, order, ones, ones, np.full(n, lot / n), due_of(block, ones, chances)
            ),
            n,
            2,
        )
        for lot in (np.arange(400) + 0.5) / 400
    ]
    assert np.mean(counted, axis=0)[:, 0].sum() == pytest.approx(n * 0.05, abs=0.01)


def test_few_rows_are_rounded_to_the_nearest() -> None:
    ones, block = np.ones(5), np.zeros(5, np.int64)
    for share, wanted in ((0.07, 0), (0.13, 1), (0.31, 2), (0.29, 1)):
        chances = np.tile([share, 1.0 - share], (5, 1))
        assert table(assign(block, ones, ones, chances), 5, 2)[:, 0].sum() == wanted
