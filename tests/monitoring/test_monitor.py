"""E-values, the monitor and tests of change, held to their definitions."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import f as f_distribution
from scipy.stats import ttest_ind

from likeforlike import Cells
from likeforlike._arrays import FloatArray
from likeforlike.monitoring._monitor import STRENGTHS, Monitor, first_rows, log_e_values
from likeforlike.monitoring._periods import f_tail, heterogeneity, trend, watched_groups

PAIR = ("0", "1")


def cells_of(rng: np.random.Generator, n: int = 60) -> Cells:
    """Rounded scores, so that many are tied, in levels of unequal size, one with a single group."""
    level = np.minimum(rng.geometric(0.5, n), 4)
    group = np.where(level == 4, 0, rng.integers(0, 2, n))
    return Cells.from_rows(np.round(np.exp(rng.normal(size=n)), 1), group, level)


def slow_log_e(cells: Cells, permutations: int, rng: np.random.Generator) -> FloatArray:
    """The definition, row by row, with permutations of numpy."""
    parts = []
    for k in range(len(cells.levels)):
        rows = []
        for g in range(2):
            own = slice(*cells.atoms.offsets[2 * k + g : 2 * k + g + 2])
            rows.append(np.repeat(cells.atoms.values[own], cells.atoms.counts[own]))
        if rows[0].size and rows[1].size:
            scores = np.concatenate(rows)
            parts.append((scores - scores.mean(), rows[0].size))
    variance = sum(s.var(ddof=1) * first * (s.size - first) / s.size for s, first in parts)
    observed = sum(s[first:].sum() for s, first in parts)
    sums = [
        sum(rng.permutation(s)[first:].sum() for s, first in parts) for _ in range(permutations)
    ]
    powers = np.exp(STRENGTHS[:, None] * np.array([observed, *sums]) / math.sqrt(variance))
    return np.asarray(np.log(powers[:, 0] / powers.mean(axis=1)))


def test_e_values_are_those_of_the_definition() -> None:
    cells = cells_of(np.random.default_rng(0), 400)
    fast = log_e_values(cells, PAIR, "a", permutations=20_000, seed=0)
    slow = slow_log_e(cells, 4_000, np.random.default_rng(1))
    assert fast[[0, 1, 4, 5]] == pytest.approx(slow[[0, 1, 4, 5]], abs=0.05)


def test_rows_of_one_score_may_be_counted_in_one_draw() -> None:
    rng = np.random.default_rng(2)
    group, score = rng.integers(0, 2, 4000), (rng.random(4000) < 0.3) * 1.0
    cells = Cells.from_rows(score, group)
    fast = log_e_values(cells, PAIR, "a", permutations=10_000, seed=0)
    slow = slow_log_e(cells, 2_000, np.random.default_rng(3))
    assert fast[[0, 4]] == pytest.approx(slow[[0, 4]], abs=0.05)


@pytest.mark.simulation
@pytest.mark.parametrize("draw", [cells_of, lambda rng: cells_of(rng, 12)])
def test_e_values_are_one_on_average_under_parity(
    draw: Callable[[np.random.Generator], Cells],
) -> None:
    rng = np.random.default_rng(4)
    e = np.exp(
        [log_e_values(draw(rng), PAIR, str(t), permutations=19, seed=0) for t in range(3000)]
    )
    error = e.std(axis=0) / math.sqrt(len(e))
    assert (np.abs(e.mean(axis=0) - 1.0) < 4.0 * error).all()
    assert e.max() <= 20.0 + 1e-9


def test_periods_without_both_groups_say_nothing() -> None:
    cells = Cells.from_rows([1.0, 2.0], ["0", "1"], ["a", "b"])
    for pair in (PAIR, ("0", "2")):
        assert not log_e_values(cells, pair, "a", permutations=9, seed=0).any()
    constant = Cells.from_rows([0.1] * 7, ["0", "1"] * 3 + ["0"])
    assert not log_e_values(constant, PAIR, "a", permutations=9, seed=0).any()


def test_e_values_depend_on_the_period_but_not_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(5)
    score, group = rng.normal(size=50), rng.integers(0, 2, 50)
    order = rng.permutation(50)
    one = Cells.from_rows(score, group)
    two = Cells.from_rows(score[order], group[order])
    e = [log_e_values(c, PAIR, p, permutations=9, seed=0) for c, p in ((one, "a"), (two, "a"))]
    assert np.array_equal(e[0], e[1])
    assert not np.array_equal(e[0], log_e_values(one, PAIR, "b", permutations=9, seed=0))


def test_monitor_is_the_mixture_over_beginnings_and_strengths() -> None:
    rng = np.random.default_rng(6)
    log_e = rng.normal(size=(7, 2, 8))
    monitor = Monitor((PAIR, ("0", "2")), tuple("abcdefg"), log_e, 0.05)
    for t in range(1, 8):
        for c in range(2):
            total = 1.0 - sum(1.0 / (j * (j + 1)) for j in range(1, t + 1))
            for j in range(1, t + 1):
                paths = np.exp(log_e[j - 1 : t, c].sum(axis=0))
                total += paths.mean() / (j * (j + 1))
            assert monitor.by_groups[t - 1, c] == pytest.approx(total)
    assert monitor.e_values == pytest.approx(monitor.by_groups.mean(axis=1))


def test_alarm_is_the_first_period_at_the_limit_and_stays() -> None:
    log_e = np.zeros((4, 1, 8))
    log_e[1] = math.log(1000.0)
    log_e[2:] = -20.0
    monitor = Monitor((PAIR,), ("a", "b", "c", "d"), log_e, 0.05)
    assert monitor.alarm == "b"
    assert monitor.e_values[-1] < 1.0
    assert "Alarm in b" in monitor.sentence
    assert Monitor((PAIR,), (), np.zeros((0, 1, 8)), 0.05).alarm is None


def test_sure_evidence_does_not_overflow() -> None:
    monitor = Monitor((PAIR,), tuple("ab"), np.full((2, 1, 8), 5000.0), 0.05)
    assert monitor.alarm == "a"
    assert math.isfinite(monitor.e_values[-1])


def test_each_cluster_counts_once_in_its_first_period() -> None:
    parts = [
        Cells.from_rows([1.0, 3.0, 5.0], ["f", "f", "m"], cluster=["ann", "ann", "bob"]),
        Cells.from_rows([7.0, 9.0], ["f", "m"], cluster=["ann", "dan"]),
    ]
    first, second, third = first_rows([*parts, parts[1]])
    assert first is not None
    assert second is not None
    assert third is None
    assert not log_e_values(third, PAIR, "a", permutations=9, seed=0).any()
    assert first.counts.tolist() == [[1, 1]]
    assert first.atoms.values[0] in (1.0, 3.0)
    assert first.atoms.values[1] == 5.0
    assert second.atoms.values.tolist() == [9.0]


def test_groups_to_watch_follow_from_their_names() -> None:
    parts = [Cells.from_rows([1.0, 2.0], ["b", "c"]), Cells.from_rows([1.0, 2.0], ["a", "b"])]
    assert watched_groups(parts) == (("a", "b"), ("a", "c"), ("b", "c"))
    assert watched_groups(parts, "b") == (("a", "b"), ("b", "c"))
    assert watched_groups([Cells.from_rows([1.0, 2.0, 3.0], [10, 9, 2])]) == (
        *(("2", "9"), ("2", "10")),
        ("9", "10"),
    )


@pytest.mark.parametrize("degrees", [1, 2, 11, 35])
@pytest.mark.parametrize("other", [2.5, 30.0, 4000.0])
def test_tail_of_f_is_that_of_scipy(degrees: int, other: float) -> None:
    for x in (0.2, 1.0, 3.0, 8.0):
        expected = f_distribution.sf(x, degrees, other)
        assert f_tail(x, degrees, other) == pytest.approx(expected, rel=1e-3, abs=1e-12)
    assert f_tail(0.0, degrees, other) == 1.0


def test_heterogeneity_of_two_gaps_is_a_welch_test() -> None:
    rng = np.random.default_rng(8)
    one, two = rng.normal(size=9), 0.8 + 2.0 * rng.normal(size=14)
    means = np.array([one.mean(), two.mean()])
    errors = np.array([x.std(ddof=1) / math.sqrt(x.size) for x in (one, two)])
    found = heterogeneity(means, errors, np.array([8.0, 13.0]))
    assert found == pytest.approx(ttest_ind(one, two, equal_var=False).pvalue, rel=1e-4)


def test_trend_is_the_weighted_slope() -> None:
    rng = np.random.default_rng(9)
    time, errors = np.array([0.0, 1.0, 2.0, 5.0, 6.0]), np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    gaps = 0.5 * time + rng.normal(size=5)
    slope, error, df = trend(time, gaps, errors)
    expected = np.polyfit(time, gaps, 1, w=1.0 / errors)
    assert slope == pytest.approx(expected[0])
    assert error > 0.0
    assert df == 3.0
