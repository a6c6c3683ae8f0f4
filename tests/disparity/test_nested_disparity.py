import numpy as np
import pytest

import likeforlike as lfl


def sample(seed: int, size: int = 400, n_levels: int = 5) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 2, size)
    levels = np.clip(rng.binomial(n_levels - 1, 0.4 + 0.2 * groups), 0, n_levels - 1)
    return rng.random(size) * 0.5 + 0.1 * levels + 0.05 * groups, groups, levels


def test_diagonal_is_the_overlap_weighted_conditional_disparity() -> None:
    scores, groups, levels = sample(0)
    nested = lfl.cdd_wass(scores, groups, levels)
    level_wise = lfl.cdd_lp(scores, groups, levels, order=2, p=2, measure="overlap")
    np.testing.assert_allclose(nested.diagonal, nested.overlap * float(level_wise) ** 2, rtol=1e-10)
    np.testing.assert_allclose(nested.diagonal_mass, nested.overlap, rtol=1e-10)
    np.testing.assert_allclose(
        nested.level_transport, nested.level_cost * (1 - nested.overlap), rtol=1e-10
    )


def test_excess_is_what_is_left_of_the_levels_alone_and_never_negative() -> None:
    for seed in range(5):
        scores, groups, levels = sample(seed)
        found = lfl.cdd_wass(scores, groups, levels)
        np.testing.assert_allclose(
            found.excess, found.diagonal + found.off_diagonal, rtol=1e-9, atol=1e-12
        )
        with pytest.warns(lfl.errors.LevelCostWarning):
            numeric = lfl.cdd_wass(scores, groups, levels, level_metric="numeric", level_cost=1.0)
        constant = lfl.cdd_wass(np.full(400, 0.5), groups, levels, level_metric="numeric")
        assert numeric.excess >= 0.0
        assert constant.excess == pytest.approx(0.0, abs=1e-12)


def test_the_normalized_form_ranks_models_wrongly() -> None:
    """A score that is a function of the level alone gets a larger excess than an unfair one."""
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 2, 20_000)
    levels = rng.binomial(9, 0.4 + 0.2 * groups)
    lawful, unfair = levels / 9, 0.5 + 0.15 * (groups - 0.5)
    excess = {}
    for name, scores in (("lawful", lawful), ("unfair", unfair)):
        with pytest.warns(lfl.errors.LevelCostWarning):
            excess[name] = lfl.cdd_wass(
                scores, groups, levels, level_metric="numeric", level_cost=1.0
            ).excess
    assert float(lfl.cdd_lp(lawful, groups, levels)) == 0.0
    np.testing.assert_allclose(float(lfl.cdd_lp(unfair, groups, levels)), 0.15)
    assert excess["lawful"] > excess["unfair"]
    np.testing.assert_allclose([excess["lawful"], excess["unfair"]], [0.0415, 0.0225], atol=2e-3)


def test_custom_metric_equals_the_named_ones() -> None:
    scores, groups, levels = sample(2)
    discrete = lfl.cdd_wass(scores, groups, levels, level_metric=1 - np.eye(5))
    assert discrete.value == lfl.cdd_wass(scores, groups, levels).value
    steps = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    custom = lfl.cdd_wass(scores, groups, levels, level_metric=steps, order=1)
    numeric = lfl.cdd_wass(scores, groups, levels, level_metric="numeric", order=1)
    assert custom.value == numeric.value
    ordinal = lfl.cdd_wass(scores, groups, 7 * levels, level_metric="ordinal", order=1)
    assert custom.value == ordinal.value
    assert custom.level_cost_bound == np.inf


def test_several_groups_take_the_largest_pair() -> None:
    scores, levels = [0.0, 0.1, 0.5] * 2, [1, 1, 1, 2, 2, 2]
    found = lfl.cdd_wass(scores, list("abcabc"), levels)
    assert found.groups == ("a", "c")
    np.testing.assert_allclose(found.root, 0.5)
    assert len(found.comparisons) == 3


def test_different_supports_of_the_two_groups() -> None:
    found = lfl.cdd_wass(
        [0.0, 0.2, 0.4, 0.1], ["f", "f", "m", "m"], ["only f", "both", "both", "only m"]
    )
    assert found.coverage == {"f": 0.5, "m": 0.5}
    np.testing.assert_allclose(found.diagonal, 0.5 * 0.04)
    np.testing.assert_allclose(found.off_diagonal, 0.5 * 0.01)
