import numpy as np
import pytest
from scipy import stats

from likeforlike._arrays import IntArray
from likeforlike.inference._bootstrap import _draw_rademacher, _draw_rademacher_range
from likeforlike.inference._permutation import _draw_rows, _draw_thresholds
from likeforlike.inference._random import advance, hypergeometric, start_stream, uniform
from likeforlike.transport import compiled

pytestmark = pytest.mark.simulation

DRAWS = 40_000


@compiled
def many_hypergeometric(good: int, bad: int, taken: int, size: int) -> IntArray:
    found = np.empty(size, np.int64)
    state = start_stream(7, 3)
    for i in range(size):
        found[i] = hypergeometric(state, good, bad, taken)
    return found


def follows(found: IntArray, distribution: stats.rv_discrete) -> bool:
    """Goodness of fit: chi-squared over common values, Kolmogorov-Smirnov where none is common."""
    if distribution.std() > 200:
        return bool(stats.kstest(found, distribution.cdf).pvalue > 1e-4)
    values = np.arange(found.min(), found.max() + 1)
    expected = distribution.pmf(values) * found.size
    common = expected >= 10
    observed = np.bincount(found - values[0])[common].astype(float)
    kept = expected[common]
    rest = [found.size - observed.sum()], [found.size - kept.sum()]
    if rest[1][0] > 5:
        observed, kept = np.concatenate([observed, rest[0]]), np.concatenate([kept, rest[1]])
    elif kept.size < 2:
        return bool((found == values[common][0]).mean() > 0.999)
    return bool(stats.chisquare(observed, kept * observed.sum() / kept.sum()).pvalue > 1e-4)


@pytest.mark.parametrize(
    ("good", "bad", "taken"),
    [
        (3, 4, 1),
        (3, 4, 5),
        (3, 2, 1),
        (40, 2, 30),
        (500, 300, 20),
        (500, 300, 400),
        (60_000, 40_000, 3_000),
        (10**9, 3 * 10**9, 10**7),
        (30, 10**9, 10**8),
    ],
)
def test_hypergeometric_draws_follow_their_law(good: int, bad: int, taken: int) -> None:
    found = many_hypergeometric(good, bad, taken, DRAWS)
    distribution = stats.hypergeom(good + bad, good, taken)
    assert follows(found, distribution)
    assert abs(found.mean() - distribution.mean()) < 5 * distribution.std() / np.sqrt(DRAWS) + 1e-9


def test_draws_without_a_choice() -> None:
    state = start_stream(0, 0)
    assert hypergeometric(state, 5, 0, 3) == 3
    assert hypergeometric(state, 0, 5, 3) == 0
    assert hypergeometric(state, 2, 3, 5) == 2


def test_streams_are_repeatable_and_differ_between_replicates() -> None:
    def stream(seed: int, replicate: int) -> list[float]:
        state = start_stream(seed, replicate)
        return [uniform(state) for _ in range(5)]

    assert stream(1, 2) == stream(1, 2)
    assert (
        len({tuple(stream(seed, replicate)) for seed in range(4) for replicate in range(4)}) == 16
    )


def test_uniform_draws_are_uniform() -> None:
    found = []
    for replicate in range(2000):
        state = start_stream(0, replicate)
        found.append([uniform(state), uniform(state)])
    pairs = np.array(found)
    assert stats.kstest(pairs[:, 0], "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 0.1
    assert abs(np.corrcoef(pairs[:-1, 0], pairs[1:, 0])[0, 1]) < 0.1


@pytest.mark.parametrize(("size", "second"), [(2, 1), (3, 2), (70, 1), (1001, 400)])
def test_marks_are_the_labels_that_are_drawn_row_by_row(size: int, second: int) -> None:
    marks, labels = np.empty(size, np.int32), np.empty(size, np.int64)
    one, other = start_stream(5, size), start_stream(5, size)
    for _ in range(20):
        for begin in range(0, size, 64):
            _draw_thresholds(one[0], begin, size, marks[begin : begin + 64])
        advance(one, size)
        assert _draw_rows(other, size, second, labels) == second
        found, drawn = [], 0
        for mark in marks.tolist():
            found.append(int(mark < second - drawn))
            drawn += found[-1]
        assert found == labels.tolist()
        assert one[0] == other[0]


@pytest.mark.parametrize(("first", "end"), [(0, 1), (0, 64), (63, 65), (64, 128), (70, 1000)])
def test_signs_of_a_level_are_a_part_of_all_signs(first: int, end: int) -> None:
    every, part = np.empty(1000, np.int8), np.empty(end - first, np.int8)
    begin = start_stream(3, 9)
    _draw_rademacher_range(begin[0], first, end, part)
    _draw_rademacher(begin, every)
    np.testing.assert_array_equal(part, every[first:end])
