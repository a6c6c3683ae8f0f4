from typing import Any

import numpy as np
import pytest

from likeforlike import Cells, InputError
from likeforlike.contrasts import Contrast, contrasts
from likeforlike.inference import estimate
from likeforlike.inference.spread import squared_distance, steps_of
from likeforlike.transport import line


def contrast_of(*columns: Any, **settings: Any) -> Contrast:
    return contrasts(Cells.from_rows(*columns, **settings), "pairwise")[0]


@pytest.mark.parametrize("weighted", [False, True])
def test_spread_distance_is_that_of_finely_spread_rows(weighted: bool) -> None:
    """Each row replaced by many points across its step, compared by the exact line transport."""
    rng = np.random.default_rng(0)
    scale = np.array([0.0, 0.2, 0.5, 1.0, 1.1])
    steps = steps_of(scale)
    a, b = rng.integers(1, 9, 5).astype(float), rng.integers(1, 9, 5).astype(float)
    if weighted:
        a *= 0.37
    found = squared_distance(steps.low, steps.high, a, steps.low, steps.high, b, steps.two_valued)
    points = (np.arange(4000) + 0.5) / 4000
    cloud = (steps.low[:, None] + (steps.high - steps.low)[:, None] * points).ravel()
    expected = line.cost(
        cloud, cloud, order=2, x_mass=np.repeat(a, 4000), y_mass=np.repeat(b, 4000)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_an_interval_never_claims_exact_parity() -> None:
    """Where the unbiased square is far below 0, both ends of an interval around it would be 0."""
    rng = np.random.default_rng(0)
    below = 0
    for seed in range(60):
        group, level = rng.integers(0, 2, 400), rng.integers(0, 4, 400)
        found = estimate(contrast_of(rng.random(400), group, level), np.full(4, 0.25), seed=seed)
        below += found.squared < 0.0
        assert found.interval[1] > 0.0
        assert found.interval[0] <= found.value <= found.interval[1]
    assert below > 10


def test_spreading_does_not_change_a_shift_of_an_even_scale() -> None:
    scale = np.arange(11) / 10
    steps = steps_of(scale)
    mass = np.random.default_rng(1).random(9)
    found = squared_distance(
        steps.low[:9],
        steps.high[:9],
        mass,
        steps.low[2:],
        steps.high[2:],
        mass,
        steps.two_valued,
    )
    np.testing.assert_allclose(found, 0.2**2)


def test_two_values_are_compared_by_their_rates() -> None:
    scores = np.repeat([0, 1, 0, 1], [50, 50, 20, 80])
    found = estimate(contrast_of(scores, np.repeat(["f", "m"], 100)), np.ones(1))
    assert found.distance == "gap"
    np.testing.assert_allclose(found.plug_in, 0.3)
    # s_0²/n_0 + s_1²/n_1 is what sampling adds to the squared gap.
    added = 0.25 / 100 + 0.16 / 100
    np.testing.assert_allclose(found.value, np.sqrt(0.09 - added), rtol=0.01)


def test_identical_groups_have_an_interval_that_contains_zero() -> None:
    scores = np.tile(np.random.default_rng(0).random(200), 2)
    found = estimate(contrast_of(scores, np.repeat(["f", "m"], 200)), np.ones(1))
    assert found.value == found.interval[0] == 0.0
    assert found.plug_in < 1e-12


def test_levels_with_a_single_row_in_a_cell_take_no_part() -> None:
    scores = [0.1, 0.2, 0.3, 0.4, 0.0, 9.0]
    contrast = contrast_of(scores, list("ffmmfm"), [1, 1, 1, 1, 2, 2])
    found = estimate(contrast, np.array([0.5, 0.5]))
    assert found.levels == 1
    assert found.plug_in < 1.0


def test_weights_move_the_estimate_like_repeated_rows() -> None:
    rng = np.random.default_rng(4)
    scores, groups = rng.random(400) + 0.2 * (np.arange(400) % 2), np.arange(400) % 2
    weight = rng.integers(1, 4, 400)
    weighted = estimate(contrast_of(scores, groups, sample_weight=weight), np.ones(1))
    repeated = estimate(
        contrast_of(np.repeat(scores, weight), np.repeat(groups, weight)), np.ones(1)
    )
    np.testing.assert_allclose(weighted.plug_in, repeated.plug_in, rtol=1e-6)
    # Weights are not additional evidence: the interval of weighted rows is wider.
    assert np.ptp(weighted.interval) > np.ptp(repeated.interval)


def test_the_same_seed_gives_the_same_interval_on_any_number_of_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contrast = contrast_of(np.random.default_rng(0).random(100), np.arange(100) % 2)
    found = []
    for threads in ("1", "4"):
        monkeypatch.setenv("LIKEFORLIKE_THREADS", threads)
        found.append(estimate(contrast, np.ones(1), seed=9))
    assert found[0] == found[1]


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5])
def test_confidence_must_be_a_probability(confidence: float) -> None:
    with pytest.raises(InputError, match="confidence must lie between 0 and 1"):
        estimate(contrast_of([0.1, 0.2], [0, 1]), np.ones(1), confidence=confidence)


def test_a_constant_score_has_no_steps() -> None:
    steps = steps_of(np.full(3, 0.5))
    assert steps.low.tolist() == steps.high.tolist() == [0.5] * 3


def test_a_lonely_score_does_not_stretch_its_neighbours() -> None:
    steps = steps_of(np.array([0.0, 0.1, 0.2, 0.3, 90.0]))
    np.testing.assert_allclose(steps.high - steps.low, [0.1, 0.1, 0.1, 0.15, 0.2])
