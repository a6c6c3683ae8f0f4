"""Whether the test holds its level and has its power, on many made-up data sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from likeforlike import Cells
from likeforlike.contrasts import Contrast, contrasts
from likeforlike.inference import PermutationTest, permutation_test
from likeforlike.measures import level_weights
from likeforlike.transport.atoms import FloatArray, IntArray

pytestmark = pytest.mark.simulation

LEVELS = 10


def draw(
    seed: int,
    rows: int,
    *,
    shift: float = 0.0,
    where: str = "everywhere",
    spread: float = 1.0,
) -> tuple[FloatArray, IntArray, IntArray]:
    """Scores of two groups in ten levels; the second group is shifted or narrowed."""
    rng = np.random.default_rng(seed)
    levels, groups = rng.integers(0, LEVELS, rows), rng.integers(0, 2, rows)
    scores = rng.beta(3.0, 3.0, rows)
    direction = {
        "everywhere": np.ones(LEVELS),
        "one level": np.eye(LEVELS)[0],
        "alternating": np.tile([1.0, -1.0], LEVELS // 2),
    }[where]
    scores = np.where(groups == 1, 0.5 + (scores - 0.5) * spread, scores)
    return scores + shift * groups * direction[levels], groups, levels


def contrast_of(columns: tuple[FloatArray, IntArray, IntArray], kind: str) -> Contrast:
    scores, groups, levels = columns
    if kind == "ties":
        scores = np.round(scores * 5) / 5
    elif kind == "decisions":
        scores = (scores > 0.6).astype(float)
    elif kind == "counts":
        middle = (np.floor(scores * 50) + 0.5) / 50
        cells = Cells.from_counts(levels, groups, middle, np.ones(scores.size), resolution=0.02)
        return contrasts(cells, "pairwise")[0]
    elif kind == "weights":
        weight = np.random.default_rng(levels.sum()).gamma(2.0, size=scores.size)
        cells = Cells.from_rows(scores, groups, levels, sample_weight=weight)
        return contrasts(cells, "pairwise")[0]
    return contrasts(Cells.from_rows(scores, groups, levels), "pairwise")[0]


def rejections(repetitions: int, rows: int, kind: str = "rows", **settings: Any) -> FloatArray:
    """How often the cost, the gap and any level (Holm) are called significant at 5%."""
    found = np.zeros(3)
    for seed in range(repetitions):
        contrast = contrast_of(draw(seed, rows, **settings), kind)
        test = permutation_test(
            contrast, level_weights(contrast, "marginal"), permutations=199, seed=seed
        )
        found += [
            test.p_value <= 0.05,
            test.p_value_gap <= 0.05,
            test.level_adjusted.min() <= 0.05,
        ]
    return found / repetitions


@pytest.mark.parametrize("kind", ["rows", "ties", "decisions", "counts", "weights"])
def test_parity_is_rejected_at_the_nominal_rate(kind: str) -> None:
    cost, gap, any_level = rejections(1500, 300, kind)
    assert 0.03 <= cost <= 0.07
    assert 0.03 <= gap <= 0.07
    assert any_level <= 0.07


def test_parity_is_rejected_at_the_nominal_rate_in_larger_data() -> None:
    cost, gap, any_level = rejections(800, 2000)
    assert 0.03 <= cost <= 0.07
    assert 0.03 <= gap <= 0.07
    assert any_level <= 0.07


@pytest.mark.parametrize(
    ("rows", "settings", "expected"),
    [
        # W2², signed mean gap, any level after Holm: figures of a prototype with like scores.
        (300, {"shift": 0.05}, (0.24, 0.65, 0.14)),
        (2000, {"shift": 0.05}, (0.997, 1.0, 0.82)),
        (2000, {"shift": 0.15, "where": "one level"}, (0.993, 0.50, 0.997)),
        (2000, {"spread": 0.6}, (1.0, 0.04, 1.0)),
        (2000, {"shift": 0.05, "where": "alternating"}, (0.993, 0.03, 0.83)),
    ],
)
def test_power_is_what_it_is_known_to_be(
    rows: int, settings: dict[str, Any], expected: tuple[float, float, float]
) -> None:
    found = rejections(250, rows, **settings)
    np.testing.assert_allclose(found, expected, atol=0.12)


def test_the_smallest_detectable_shift_is_detected_four_times_in_five() -> None:
    contrast = contrast_of(draw(0, 600), "rows")
    shift = permutation_test(contrast, level_weights(contrast, "marginal")).detectable
    assert 0.7 <= rejections(400, 600, shift=shift)[0] <= 0.9


def test_the_smallest_detectable_rate_is_detected_four_times_in_five() -> None:
    def contrast(seed: int, shift: float) -> Contrast:
        rng = np.random.default_rng(seed)
        groups, levels = rng.integers(0, 2, 600), rng.integers(0, 5, 600)
        decisions = (rng.random(600) < 0.4 + shift * groups).astype(float)
        return contrasts(Cells.from_rows(decisions, groups, levels), "pairwise")[0]

    def tested(one: Contrast, seed: int) -> PermutationTest:
        return permutation_test(one, level_weights(one, "marginal"), permutations=199, seed=seed)

    shift = tested(contrast(0, 0.0), 0).detectable
    found = [tested(contrast(seed, shift), seed).p_value_gap <= 0.05 for seed in range(400)]
    assert 0.7 <= np.mean(found) <= 0.9
