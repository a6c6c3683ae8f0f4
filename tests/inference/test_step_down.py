"""p-values of levels: step-down by a plain loop, and false alarms among many levels."""

from __future__ import annotations

import numpy as np
import pytest

from likeforlike import Cells
from likeforlike._arrays import FloatArray
from likeforlike.disparity import contrasts
from likeforlike.inference import headline_test
from likeforlike.inference._headline import westfall_young
from likeforlike.inference._permutation import permutation_replicates, replicate_statistics
from likeforlike.inference._rank_scores import RankScores, score_contrast


def scored(seed: int, shift: float = 0.0, decimals: int = 6) -> RankScores:
    rng = np.random.default_rng(seed)
    groups, levels = rng.integers(0, 2, 400), rng.integers(0, 8, 400)
    scores = (rng.normal(size=400) + shift * groups * (levels < 3)).round(decimals)
    return score_contrast(contrasts(Cells.from_rows(scores, groups, levels), "pairwise")[0])


def every_statistic(levels: RankScores, permutations: int) -> FloatArray:
    """z of every replicate and level, one replicate after the other, shape (B + 1, k)."""
    measure, nothing = np.full(8, 0.125), np.zeros(8)
    observed = replicate_statistics(levels, measure, nothing, np.arange(8), 0, 0, 1)[2]
    order = np.argsort(observed, kind="stable")
    permuted = [
        replicate_statistics(levels, measure, observed, order, 0, b, b + 1)[2]
        for b in range(1, permutations + 1)
    ]
    return np.array([observed, *permuted])


def looped_westfall_young(z: FloatArray) -> FloatArray:
    """Algorithm 2.8, from the most remarkable level to the least."""
    order = np.argsort(-z[0])
    p_values, last = np.empty(z.shape[1]), 0.0
    for place, level in enumerate(order):
        remaining = order[place:]
        reached = sum(z[b, remaining].max() >= z[0, level] - 1e-9 for b in range(len(z)))
        last = max(last, reached / len(z))
        p_values[level] = last
    return p_values


@pytest.mark.parametrize("shift", [0.0, 0.8])
@pytest.mark.parametrize("decimals", [6, 0])
def test_step_down_is_westfall_and_youngs(shift: float, decimals: int) -> None:
    levels = scored(3, shift, decimals)
    z = every_statistic(levels, 199)
    totals, statistic, exceedances, stepdown, _ = permutation_replicates(
        levels, np.full(8, 0.125), permutations=199, seed=0
    )
    adjusted = westfall_young(statistic, stepdown, 200)
    np.testing.assert_allclose(adjusted, looped_westfall_young(z), atol=1e-12)
    by_itself = (z >= z[0] - 1e-9).mean(axis=0)
    np.testing.assert_allclose(exceedances / 200, by_itself, atol=1e-12)
    assert (adjusted >= by_itself - 1e-12).all()
    np.testing.assert_allclose(totals[:, 4], z.max(axis=1), atol=1e-12)


def test_p_values_grow_as_levels_become_less_remarkable() -> None:
    statistic, stepped = np.array([1.0, 4.0, 2.0, 3.0]), np.array([50, 1, 3, 5])
    assert westfall_young(statistic, stepped, 100).tolist() == [0.5, 0.01, 0.05, 0.05]


@pytest.mark.simulation
def test_false_alarms_among_levels_are_rare_and_differences_are_found() -> None:
    """Three of eight levels differ, by much: they are found, and the others keep their 5%."""
    alarms, located = 0, 0.0
    for seed in range(400):
        rng = np.random.default_rng([seed, 5])
        groups, levels = np.arange(640) % 2, np.arange(640) // 80
        scores = rng.normal(size=640) + 1.2 * groups * (levels < 3)
        contrast = contrasts(Cells.from_rows(scores, groups, levels), "pairwise")[0]
        test = headline_test(contrast, np.full(8, 0.125), permutations=99, random_state=seed)
        alarms += bool((test.level_adjusted[3:] <= 0.05).any())
        located += (test.level_adjusted[:3] <= 0.05).mean()
    assert 0.015 <= alarms / 400 <= 0.085
    assert located / 400 > 0.95
