"""The test by jackknife errors: its parts from known tests, and how often it is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from benchmarks.calibration_estimates import rejections
from likeforlike.inference import adjust, jackknife_test
from tests.inference.rows import contrast_of, marginal, some_rows

ONE = np.ones(1)


def test_one_level_has_the_p_values_of_welch() -> None:
    rng = np.random.default_rng(0)
    scores, groups = rng.normal(size=90) + 0.3 * (np.arange(90) % 2), np.arange(90) % 2
    found = jackknife_test(contrast_of(scores, groups, sample_weight=np.ones(90)), ONE)
    ranks = stats.rankdata(scores)
    median = np.sort(scores)[44]
    expected = {
        name: stats.ttest_ind(figure[groups == 1], figure[groups == 0], equal_var=False).pvalue
        for name, figure in (
            ("gap", scores),
            ("ranks", ranks),
            ("spread", np.abs(scores - median)),
        )
    }
    assert found.components == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(found.level_p_values, [expected["gap"]], rtol=1e-9)
    shares = {"gap": 0.7 / 0.9, "ranks": 0.15 / 0.9, "spread": 0.05 / 0.9}
    assert found.p_value == pytest.approx(min(expected[name] / shares[name] for name in shares))
    assert found.method == "design"


def test_levels_are_adjusted_and_the_clearest_may_speak() -> None:
    rng = np.random.default_rng(1)
    groups, levels = np.arange(600) % 2, np.arange(600) // 2 % 6
    scores = rng.normal(size=600) + 2.0 * groups * ((levels == 0) * 1.0 - (levels == 1))
    contrast = contrast_of(scores, groups, levels, cluster=np.arange(600) // 7)
    found = jackknife_test(contrast, marginal(contrast))
    assert found.leading_component == "level"
    np.testing.assert_allclose(found.level_adjusted, adjust(found.level_p_values, "holm"))
    assert (found.level_adjusted[:2] < 0.01).all()
    assert found.components["level"] == pytest.approx(6 * found.level_p_values.min())


def test_decisions_have_a_gap_and_levels_only() -> None:
    scores, groups, levels = some_rows(2, 120)
    contrast = contrast_of(
        (scores > 1).astype(float), groups, levels, sample_weight=np.arange(1, 121)
    )
    assert sorted(jackknife_test(contrast, marginal(contrast)).components) == ["gap", "level"]


def test_with_heavy_weights_only_two_speak() -> None:
    scores, groups, levels = some_rows(3, 200)
    contrast = contrast_of(scores, groups, levels, sample_weight=np.exp(3.0 * scores))
    assert sorted(jackknife_test(contrast, marginal(contrast)).components) == ["gap", "ranks"]


def test_an_enormous_score_cannot_sway_the_ranks() -> None:
    rng = np.random.default_rng(4)
    groups = np.arange(200) % 2
    scores = rng.normal(size=200) + 1.0 * groups
    scores[0] = 1e12
    found = jackknife_test(contrast_of(scores, groups, sample_weight=np.ones(200)), ONE)
    assert found.leading_component == "ranks"
    assert found.p_value < 1e-4


def test_where_nothing_is_known_nothing_is_found() -> None:
    found = jackknife_test(contrast_of([0.1, 0.9], [0, 1], sample_weight=[1, 2]), ONE)
    assert found.p_value == 1.0
    assert found.level_p_values.tolist() == [1.0]
    equal = jackknife_test(contrast_of([0.5] * 8, [0, 1] * 4, sample_weight=np.arange(1, 9)), ONE)
    assert equal.p_value == 1.0


def seldom(times: int, chance: float) -> float:
    """A count that is exceeded in one run of a thousand."""
    return float(stats.binom(times, chance).ppf(0.999))


@pytest.mark.simulation
@pytest.mark.parametrize(
    "name",
    [
        # Weights that depend on the score made a permutation test reject 97% at parity.
        "weights: score², parity",
        "weights: gamma, parity",
        # Rows of one person counted as many people, inside a level and across levels.
        "clusters: five rows a person, parity",
        "clusters: across levels, parity",
    ],
)
def test_parity_is_seldom_rejected(name: str) -> None:
    assert rejections(name, 300) <= seldom(300, 0.06)
