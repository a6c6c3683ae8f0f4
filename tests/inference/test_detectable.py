"""The detectable shift: its parts by definition; how often it is found is in another file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likeforlike import Cells
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Contrast, contrasts, level_weights
from likeforlike.inference import headline_test
from likeforlike.inference._headline import (
    critical_value,
    mean_rank_changes,
    permutation_p_value,
)
from likeforlike.inference._permutation import COST, GAP, RANKS, SPREAD, permutation_replicates
from likeforlike.inference._rank_scores import score_contrast


def contrast_of(*columns: Any) -> Contrast:
    return contrasts(Cells.from_rows(*columns), "pairwise")[0]


def detectable(*columns: Any, **settings: Any) -> float | None:
    contrast = contrast_of(*columns)
    return headline_test(contrast, level_weights(contrast, "marginal"), **settings).detectable


def columns_at_parity(seed: int, n: int = 600) -> tuple[FloatArray, IntArray, IntArray]:
    rng = np.random.default_rng(seed)
    return rng.beta(3, 3, n), rng.integers(0, 2, n), rng.integers(0, 5, n)


def test_the_critical_value_is_where_the_p_value_becomes_significant() -> None:
    evidence = np.random.default_rng(0).exponential(size=1000)
    critical = critical_value(evidence)
    assert critical is not None
    for above, significant in ((1e-6, True), (-1e-6, False)):
        evidence[0] = critical + above
        assert (permutation_p_value(evidence) <= 0.05) == significant
    assert critical_value(evidence[:19]) is None
    assert critical_value(evidence[:20]) == evidence[1:20].max()


@pytest.mark.parametrize("shift", [0.02, 0.1, 0.6])
@pytest.mark.parametrize("unequal", [False, True])
def test_ranks_change_by_what_is_overtaken(shift: float, unequal: bool) -> None:
    """Labels permuted at random, the second group shifted: the mean change of both sums."""
    rng = np.random.default_rng(1)
    scores, levels = np.exp(rng.normal(size=80)), np.arange(80) % 2
    scores = (scores - scores.min()) / (scores.max() - scores.min())
    groups = (np.arange(80) // 2 % (4 if unequal else 2) == 0).astype(np.int64)
    changes = []
    for _ in range(300):
        order = np.lexsort((rng.random(80), levels))
        permuted = np.empty(80, np.int64)
        permuted[np.argsort(levels, kind="stable")] = groups[order]
        sums = [
            permutation_replicates(
                score_contrast(contrast_of(scores + by * permuted, permuted, levels)),
                np.full(2, 0.5),
                permutations=1,
                seed=0,
            )[0][0, [RANKS, SPREAD]]
            for by in (0.0, shift)
        ]
        changes.append(sums[1] - sums[0])
    scored = score_contrast(contrast_of(scores, groups, levels))
    expected = mean_rank_changes(scored.scores, scored.rows, scored.offsets, scored.sizes, shift)
    error = np.std(changes, axis=0) / np.sqrt(300)
    # Of the spread, what varies with who is overtaken is left out, which is of order 1 / n.
    assert (np.abs(np.mean(changes, axis=0) - expected) < 4 * error + [1e-12, 0.1]).all()


def test_tied_scores_stay_tied() -> None:
    """A shift by less than a step of the ratings overtakes no row."""
    rng = np.random.default_rng(2)
    scored = score_contrast(contrast_of(rng.integers(0, 5, 100), np.arange(100) % 2))
    parts = scored.scores, scored.rows, scored.offsets, scored.sizes
    assert mean_rank_changes(*parts, 0.2) == (0.0, 0.0)
    assert mean_rank_changes(*parts, 0.3)[0] > 0.0


def test_a_shift_changes_gap_and_cost_as_written() -> None:
    """Σ h (gap + δ), and W_2² + 2 δ gap + δ² in every level."""
    scores, groups, levels = columns_at_parity(3, 200)
    scores = np.concatenate([[0.0, 2.0], scores])  # the reach stays the same
    groups, levels = np.concatenate([[0, 0], groups]), np.concatenate([[5, 5], levels])
    measure = np.full(5, 0.2)

    def totals(by: float) -> FloatArray:
        levels_of = score_contrast(contrast_of(scores + by * groups, groups, levels))
        observed = permutation_replicates(levels_of, measure, permutations=1, seed=0)[0][0]
        reach = levels_of.reach
        return np.array([observed[GAP] * reach, observed[COST] * reach**2, observed[5] * reach])

    plain, moved = totals(0.0), totals(0.3)
    inside = levels < 5
    sizes = np.array([np.bincount(groups[inside & (levels == k)]) for k in range(5)])
    harmonic = (sizes.prod(axis=1) / sizes.sum(axis=1)).sum()
    np.testing.assert_allclose(moved[0], plain[0] + 0.3 * harmonic)
    np.testing.assert_allclose(moved[1], plain[1] + 0.6 * plain[2] + 0.09)


def test_more_rows_detect_less_and_more_contrasts_more() -> None:
    few, many = (detectable(*columns_at_parity(4, n)) for n in (400, 1600))
    assert few is not None
    assert many is not None
    assert 1.7 < few / many < 2.3
    among = detectable(*columns_at_parity(4, 400), contrasts=66)
    assert among is not None
    assert 1.2 * few < among < 2.0 * few


def test_a_rate_is_moved_to_where_there_is_room() -> None:
    rng = np.random.default_rng(5)
    decided = (rng.random(1000) < 0.04).astype(float)
    rare = detectable(decided, np.arange(1000) % 2)
    common = detectable(1.0 - decided, np.arange(1000) % 2)
    assert rare is not None
    assert common is not None
    np.testing.assert_allclose(rare, common, rtol=0.05)
    assert 0.04 < rare < 0.1


@pytest.mark.parametrize(
    ("columns", "settings"),
    [
        (([1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1]), {}),
        (([0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1]), {}),
        ((np.arange(60.0), np.arange(60) % 2), {"permutations": 18}),
        ((np.ones(60), np.arange(60) % 2), {}),
    ],
    ids=["few rows", "few decisions", "few permutations", "equal scores"],
)
def test_where_nothing_can_be_detected(columns: Any, settings: dict[str, int]) -> None:
    assert detectable(*columns, **settings) is None
