"""The paper's own numbers, propositions and identities, and where they fail."""

import numpy as np
import pytest

import likeforlike as lfl
from likeforlike.datasets import load_loans
from likeforlike.transport import _nested as nested
from likeforlike.transport import discrete_ground
from tests.support import oracles


@pytest.mark.parametrize("distance", ["wasserstein", "ks", "tv", "mean"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("applicants", [200, 1000])
def test_table_1(distance: str, order: int, applicants: int) -> None:
    loans = load_loans(applicants).frame
    columns = loans["approved"], loans["sex"], loans["income"]
    expected = 0.2 ** (1 / order) if distance == "wasserstein" else 0.2
    unconditional = lfl.dd(*columns[:2], distance=distance, order=order)  # type: ignore[arg-type]
    conditional = lfl.cdd_lp(*columns, distance=distance, order=order)  # type: ignore[arg-type]
    assert float(unconditional) == pytest.approx(0.0, abs=1e-15)
    assert len(conditional.by_level) == 3
    np.testing.assert_allclose(conditional.by_level.distance, expected, rtol=1e-12)
    np.testing.assert_allclose(conditional.by_level.gap, 0.2, rtol=1e-12)
    np.testing.assert_allclose(float(conditional), expected, rtol=1e-12)


@pytest.mark.parametrize("order", [1.0, 2.0])
def test_proposition_4_2_holds_for_equal_level_shares(order: float) -> None:
    """C > d̄ / d̲ makes the bi-causal distance the CDD in the Wasserstein sense: a diagonal plan."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 8, 5)
        levels = np.repeat(rng.choice(20, 5, replace=False), sizes)
        scores = rng.random((2, levels.size))
        reach = np.ptp(scores) ** order
        distinct = np.unique(levels)
        nearest = np.diff(distinct).min() ** order
        found = lfl.cdd_wass(
            scores.ravel(),
            np.repeat([0, 1], levels.size),
            np.tile(levels, 2),
            order=order,
            level_metric="numeric",
            level_cost=1.0001 * reach / nearest,
        )
        assert found.diagonal_mass == pytest.approx(1.0)
        level_wise = sum(
            (levels == level).mean()
            * oracles.transport_cost(
                scores[0][levels == level],
                np.ones((levels == level).sum()),
                scores[1][levels == level],
                np.ones((levels == level).sum()),
                order,
            )
            for level in distinct
        )
        np.testing.assert_allclose(found.value, level_wise, rtol=1e-9)


@pytest.mark.parametrize("level_cost", [1.0, 10.0, 1000.0])
def test_proposition_4_2_fails_for_unequal_level_shares(level_cost: float) -> None:
    """Shares (.5, .3, .2) and (.2, .3, .5), squared metric: the middle level keeps nobody."""
    counts = np.array([[5, 3, 2], [2, 3, 5]])
    groups = np.repeat([0, 1], 10)
    levels = np.concatenate([np.repeat([0, 1, 2], row) for row in counts])
    scores = np.random.default_rng(0).random(20)
    with pytest.warns(lfl.errors.LevelCostWarning, match="no value is enough"):
        found = lfl.cdd_wass(scores, groups, levels, level_metric="numeric", level_cost=level_cost)
    stays = (found.plan.source == 1) & (found.plan.target == 1)
    assert found.plan.mass[stays].sum() == 0.0
    assert found.diagonal_mass < found.overlap - 0.1
    # The discrete metric above its bound keeps all that can stay.
    discrete = lfl.cdd_wass(scores, groups, levels)
    assert discrete.diagonal_mass == pytest.approx(discrete.overlap) == pytest.approx(0.7)


def test_the_bound_of_proposition_4_2_is_too_small_for_unequal_shares() -> None:
    """With the discrete metric C just above d̄ can move people needlessly; above 2 d̄ it cannot."""
    needless = 0
    for seed in range(150):
        rng = np.random.default_rng(seed)
        # Scores at the ends of [0, 1] make the differences between levels as large as they get.
        scores = rng.integers(0, 2, 25).astype(float)
        scores[:2] = [0.0, 1.0]
        groups, levels = np.arange(25) % 2, rng.integers(0, 4, 25)
        with pytest.warns(lfl.errors.LevelCostWarning):
            tight = lfl.cdd_wass(scores, groups, levels, level_cost=1.01)
        needless += tight.diagonal_mass < tight.overlap - 1e-9
        safe = lfl.cdd_wass(scores, groups, levels, level_cost=2.01)
        assert safe.diagonal_mass == pytest.approx(safe.overlap)
    assert needless > 0


def test_nested_form_of_the_bicausal_distance() -> None:
    """The nested formula is the linear program over bi-causal plans, not plain transport."""
    strictly_larger = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        scores, sides, levels = rng.random(14), np.arange(14) % 2, rng.integers(0, 3, 14)
        ground = discrete_ground(3)
        value, _ = nested.nested_cost_and_gradient(
            scores, sides, levels, ground, order=2.0, level_cost=0.05
        )
        program = oracles.bicausal_program(scores, sides, levels, ground, 2.0, 0.05, np.ones(14))
        np.testing.assert_allclose(value, program, rtol=1e-10, atol=1e-12)
        first, second = sides == 0, sides == 1
        cost = (scores[first][:, None] - scores[second][None, :]) ** 2 + 0.05 * ground[
            np.ix_(levels[first], levels[second])
        ]
        plain = cost_of_plain_transport(cost)
        assert value >= plain - 1e-12
        strictly_larger += value > plain * 1.01
    assert strictly_larger > 5


def cost_of_plain_transport(cost: np.ndarray) -> float:
    import ot

    return float(
        ot.emd2(
            np.full(cost.shape[0], 1 / cost.shape[0]),
            np.full(cost.shape[1], 1 / cost.shape[1]),
            cost,
        )
    )


def test_cdd_wass_is_cdd_lp_to_the_power_p_at_equal_shares() -> None:
    rng = np.random.default_rng(0)
    levels = np.repeat([0, 1, 2], [30, 20, 50])
    scores = rng.random((2, 100))
    columns = scores.ravel(), np.repeat(["f", "m"], 100), np.tile(levels, 2)
    for order in (1, 2, 3):
        wass = lfl.cdd_wass(*columns, order=order)
        for measure in ("marginal", "average", "overlap"):
            lp = lfl.cdd_lp(*columns, order=order, p=order, measure=measure)
            np.testing.assert_allclose(wass.value, float(lp) ** order, rtol=1e-10)
            np.testing.assert_allclose(wass.root, float(lp), rtol=1e-10)
        assert wass.level_transport == pytest.approx(0.0, abs=1e-12)


def test_what_dcfr_minimizes_is_a_conditional_disparity() -> None:
    """R_DCFR = Σ P(l) π_l (1 - π_l) TV_l, and it bounds the Wasserstein disparity."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        scores = rng.integers(0, 4, 120) / 3
        groups, levels = rng.integers(0, 2, 120), rng.integers(0, 4, 120)
        found = float(lfl.disparity.tv_overlap(scores, groups, levels))
        np.testing.assert_allclose(
            found, oracles.dcfr_regularizer(scores, groups, levels), rtol=1e-12, atol=1e-15
        )
        # The paper says the value depends on which group is called 1. It does not.
        np.testing.assert_allclose(
            found, oracles.dcfr_regularizer(scores, 1 - groups, levels), rtol=1e-10, atol=1e-14
        )
        share = np.array([groups[levels == level].mean() for level in range(4)])
        bound = np.ptp(scores) * found / (share * (1 - share)).min()
        assert float(lfl.cdd_lp(scores, groups, levels)) <= bound + 1e-12


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_proposition_5_1_scales_dcfr_by_the_shares_of_the_groups(share: float) -> None:
    """One level, approvals .7 and .3: CDD = .4 and R_DCFR = r (1 - r) CDD, .1 at r = .5."""
    men, women = round(1000 * share), round(1000 * (1 - share))
    approved = np.concatenate([np.arange(men) < 0.7 * men, np.arange(women) < 0.3 * women])
    groups = np.repeat(["m", "f"], [men, women])
    np.testing.assert_allclose(float(lfl.dd(approved, groups)), 0.4)
    np.testing.assert_allclose(
        float(lfl.disparity.tv_overlap(approved, groups)), share * (1 - share) * 0.4
    )


def test_ratio_of_densities_to_group_probabilities() -> None:
    """Proposition D.1: |P(z | 1, l) - P(z | 0, l)| / |P(1 | z, l) - P(1 | l)| by Bayes' rule."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        joint = rng.random((5, 2, 3))  # z, group, level
        joint /= joint.sum()
        of_level = joint.sum(axis=(0, 1))
        for level in range(3):
            inside = joint[:, :, level] / of_level[level]
            of_group = inside.sum(axis=0)
            densities = np.abs(inside[:, 1] / of_group[1] - inside[:, 0] / of_group[0])
            guesses = np.abs(inside[:, 1] / inside.sum(axis=1) - of_group[1])
            expected = inside.sum(axis=1) / (of_group[0] * of_group[1])
            np.testing.assert_allclose(densities / guesses, expected, rtol=1e-9)
