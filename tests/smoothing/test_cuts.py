"""Curves are cut where scores jump, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.smoothing import make_grid
from likeforlike.smoothing._comparison import Cuts, _edge

N = 8000


def drawn(seed: int, jump: float) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(seed)
    numbers = rng.gamma(3.0, 2.0, N)
    values = np.sqrt(numbers) + jump * (numbers > 5.0) + 0.3 * rng.normal(size=N)
    return numbers, values


def step_gain(x: FloatArray, position: FloatArray, values: FloatArray, t: float) -> float:
    """What a step behind t takes off the squares that a straight line leaves."""
    line = np.column_stack([np.ones(x.size), position])
    both = np.column_stack([line, x > t])
    left = [
        float(((values - m @ np.linalg.lstsq(m, values, rcond=None)[0]) ** 2).sum())
        for m in (line, both)
    ]
    return left[0] - left[1]


def test_the_edge_is_where_a_step_takes_most_off_the_squares() -> None:
    numbers, values = drawn(1, 0.8)
    numbers = numbers.round(2)
    cells = make_grid(numbers)
    behind = int(cells.cell[np.argmin(np.abs(numbers - 5.0))])
    near = (cells.cell >= behind - 1) & (cells.cell <= behind + 2)
    tried = np.unique(numbers[near])[:-1]
    gains = [step_gain(numbers[near], cells.position[near], values[near], t) for t in tried]
    assert _edge(cells, numbers, values, behind) == tried[int(np.argmax(gains))]


@pytest.mark.parametrize("seed", range(3))
def test_a_jump_is_cut_and_a_curve_is_not(seed: int) -> None:
    numbers, values = drawn(seed, 0.8)
    cuts = Cuts.at_jumps(make_grid(numbers), numbers, values)
    assert cuts.numbers == pytest.approx([5.0], abs=0.03)
    np.testing.assert_array_equal(cuts.segment, numbers > cuts.numbers[0])
    smooth, even = drawn(seed, 0.0)
    assert not Cuts.at_jumps(make_grid(smooth), smooth, even).numbers.size


def test_every_segment_is_cut_at_its_own_jumps() -> None:
    parts = [drawn(4, 0.0), drawn(5, 0.8), drawn(6, 0.0)]
    numbers, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    segment: IntArray = np.repeat(np.arange(3), N)
    order = np.random.default_rng(7).permutation(3 * N)
    numbers, values, segment = numbers[order], values[order], segment[order]
    cuts = Cuts.at_jumps(make_grid(numbers, segment), numbers, values)
    np.testing.assert_array_equal(cuts.origin, [0, 1, 1, 2])
    np.testing.assert_array_equal(cuts.origin[cuts.segment], segment)
    above = (segment == 1) & (numbers > cuts.numbers[0])
    np.testing.assert_array_equal(cuts.segment, segment + above + (segment == 2))


def test_windows_are_shared_out() -> None:
    cuts = Cuts(np.array([0, 0, 0, 1, 2, 2]), np.array([0, 0, 1]), np.zeros(1))
    assert cuts.share_windows(None, np.ones(6)) is None
    np.testing.assert_array_equal(cuts.share_windows(8, np.ones(6)), [6, 2, 8])
    np.testing.assert_array_equal(cuts.share_windows(1, np.ones(6)), [1, 1, 1])
