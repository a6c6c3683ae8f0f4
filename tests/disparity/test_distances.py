import numpy as np
import ot
import pytest
from scipy import stats

from likeforlike import Cells
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import level_distances
from likeforlike.disparity._distances import barycenter_spread
from tests.support import oracles


def three_groups(
    seed: int, *, ties: bool
) -> tuple[Cells, FloatArray, IntArray, IntArray, FloatArray]:
    rng = np.random.default_rng(seed)
    size = 150
    scores = rng.random(size)
    if ties:
        scores = np.round(scores * 6) / 6
    groups, levels = rng.integers(0, 3, size), rng.integers(0, 4, size)
    weight = rng.random(size) + 0.1
    cells = Cells.from_rows(scores, groups, levels, sample_weight=weight)
    return cells, scores, groups, levels, weight


@pytest.mark.parametrize("ties", [False, True])
def test_level_distances_are_those_of_the_definitions(ties: bool) -> None:
    for seed in range(5):
        cells, scores, groups, levels, weight = three_groups(seed, ties=ties)
        left, right = cells.segments(0), cells.segments(2)
        for k in range(4):
            first, second = ((levels == k) & (groups == g) for g in (0, 2))
            sample = scores[first], weight[first], scores[second], weight[second]
            expected = {
                "ks": oracles.largest_cdf_gap(*sample),
                "tv": oracles.total_variation(*sample),
                "mean": abs(
                    np.average(sample[0], weights=sample[1])
                    - np.average(sample[2], weights=sample[3])
                ),
                "wasserstein": oracles.transport_cost(*sample, 3.0) ** (1 / 3),
            }
            for distance, value in expected.items():
                found = level_distances(cells, left, right, distance, 3.0)[k]  # type: ignore[arg-type]
                np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-14)


def test_ks_is_scipys() -> None:
    rng = np.random.default_rng(1)
    x, y = np.round(rng.random(80), 1), np.round(rng.random(50) ** 2, 1)
    cells = Cells.from_rows(np.concatenate([x, y]), np.repeat([0, 1], [80, 50]))
    found = level_distances(cells, np.array([0]), np.array([1]), "ks", 1)[0]
    np.testing.assert_allclose(found, stats.ks_2samp(x, y).statistic, rtol=1e-14)


@pytest.mark.parametrize("ties", [False, True])
def test_second_order_spread_is_half_the_mean_squared_distance(ties: bool) -> None:
    """Σ_a ω_a W_2²(P_a, B) = ½ Σ_ab ω_a ω_b W_2²(P_a, P_b)."""
    for seed in range(5):
        cells, *_ = three_groups(seed, ties=ties)
        members = np.stack([cells.segments(g) for g in range(3)], axis=1)
        shares = cells.mass / cells.mass.sum(axis=1, keepdims=True)
        expected = np.zeros(4)
        for a in range(3):
            for b in range(3):
                between = level_distances(
                    cells, cells.segments(a), cells.segments(b), "wasserstein", 2.0
                )
                expected += 0.5 * shares[:, a] * shares[:, b] * between**2
        np.testing.assert_allclose(
            barycenter_spread(cells.atoms, members, 2) ** 2, expected, rtol=1e-12
        )


def test_first_order_spread_is_the_best_on_a_grid() -> None:
    """The barycenter minimizes Σ_a ω_a W_1(P_a, B), found here by a linear program (POT)."""
    grid = np.arange(6) / 5
    rng = np.random.default_rng(0)
    scores, groups = rng.choice(grid, 60), rng.integers(0, 3, 60)
    cells = Cells.from_rows(scores, groups)
    distributions = np.array(
        [[((groups == g) & (scores == t)).sum() for t in grid] for g in range(3)]
    )
    shares = distributions.sum(axis=1) / 60
    distributions = (distributions / distributions.sum(axis=1, keepdims=True)).T
    cost = np.abs(grid[:, None] - grid[None, :])
    center = ot.lp.barycenter(np.ascontiguousarray(distributions), cost, shares, solver="highs")
    expected = sum(
        share * ot.emd2(np.ascontiguousarray(distribution), center / center.sum(), cost)
        for share, distribution in zip(shares, distributions.T, strict=True)
    )
    found = barycenter_spread(cells.atoms, np.array([[0, 1, 2]]), 1)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_spread_passes_over_groups_a_level_lacks() -> None:
    cells = Cells.from_rows([0.0, 1.0, 5.0], ["a", "b", "c"], [1, 1, 2])
    found = barycenter_spread(cells.atoms, np.array([[0, 1, 2]]), 2)
    np.testing.assert_allclose(found, [0.5])
