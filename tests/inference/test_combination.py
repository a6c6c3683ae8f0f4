"""Evidence, and how components become one p-value."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import special, stats

from likeforlike import Cells
from likeforlike._arrays import FloatArray
from likeforlike.disparity import contrasts, level_weights
from likeforlike.inference import headline_test
from likeforlike.inference._headline import (
    WEIGHTS,
    combine_components,
    combine_evidence,
    extrapolate_p_value,
    normal_evidence,
    permutation_p_value,
    wilson_hilferty_evidence,
)
from likeforlike.inference._permutation import permutation_replicates
from likeforlike.inference._rank_scores import score_contrast
from likeforlike.inference._tails import (
    invert_two_tail_evidence,
    one_tail_evidence,
    two_tail_evidence,
)


def test_evidence_is_minus_the_logarithm_of_a_p_value_however_small() -> None:
    z = np.concatenate([np.linspace(-8, 60, 500), [29.999, 30.0, 30.001, 1e3, 1e5]])
    np.testing.assert_allclose(one_tail_evidence(z), -special.log_ndtr(-z), rtol=1e-11, atol=1e-15)
    two_sided = -np.log(2) - special.log_ndtr(-np.abs(z))
    np.testing.assert_allclose(two_tail_evidence(z), two_sided, rtol=1e-11, atol=1e-15)
    assert two_tail_evidence(np.zeros(1)).tolist() == [0.0]


@pytest.mark.parametrize("evidence", [0.0, 1e-6, np.log(2), 3.0, 40.0, 1e4, 7e9])
def test_the_bound_is_where_evidence_is_so_large(evidence: float) -> None:
    z = invert_two_tail_evidence(evidence)
    np.testing.assert_allclose(two_tail_evidence(np.array([z])), [evidence], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(
    # Chi-squared variables are what the cube root is made for; sums of unequal ones come close.
    ("shares", "factor"),
    [([1.0] * 8, 1.15), ([3.0, 2.0, 1.0, 1.0, 0.5, 0.5], 1.5)],
)
def test_cube_roots_of_quadratic_forms_have_honest_tails(
    shares: list[float], factor: float
) -> None:
    rng = np.random.default_rng(0)
    statistic = (rng.normal(size=(20_000, len(shares))) ** 2) @ np.array(shares)
    p_values = np.exp(-wilson_hilferty_evidence(statistic))
    for level in (0.1, 0.05, 0.02):
        assert level / factor < (p_values <= level).mean() < level * factor


def test_what_does_not_vary_is_no_evidence() -> None:
    assert not normal_evidence(np.arange(5.0), 0.0).any()
    assert not wilson_hilferty_evidence(np.full(9, 0.3)).any()
    assert not wilson_hilferty_evidence(np.zeros(9)).any()
    wobble = (0.3 + 1e-14 * np.arange(9)).astype(np.float64)
    assert not wilson_hilferty_evidence(wobble).any()


def test_a_huge_effect_has_more_evidence_than_a_large_one() -> None:
    """The observed replicate is among those that mean and deviation are taken of."""
    null = (np.random.default_rng(0).normal(size=(1000, 8)) ** 2).sum(axis=1)
    seen = []
    for size in (30.0, 1e3, 1e6, 1e12):
        statistic = np.where(np.arange(1000) == 0, size, null)
        evidence = wilson_hilferty_evidence(statistic)
        seen.append(evidence[0] - np.quantile(evidence, 0.95))
    assert (np.diff(seen) > 0.0).all()
    assert seen[0] > 5.0


def slow_combination(evidence: dict[str, FloatArray], weights: dict[str, float]) -> FloatArray:
    """S, replicate by replicate and component by component."""
    size = len(next(iter(evidence.values())))
    combined, together = np.full(size, -np.inf), np.zeros(size)
    for name, values in evidence.items():
        if len(set(values.tolist())) == 1:
            continue
        # The smallest value that at least 95% of the replicates do not exceed.
        edge = sorted(values)[int(np.ceil(0.95 * (size - 1)))]
        for b in range(size):
            comparable = values[b] - edge - np.log(0.05) + np.log(weights[name])
            combined[b] = max(combined[b], comparable)
            together[b] += comparable
    return combined + 1e-6 * together


def test_components_are_combined_as_written() -> None:
    rng = np.random.default_rng(1)
    evidence = {"a": rng.exponential(size=200), "b": 3 + 5 * rng.random(200), "c": np.ones(200)}
    weights = {"a": 1.0, "b": 0.2, "c": 0.5}
    combined, components, leading_component, offsets = combine_evidence(evidence, weights)
    expected = slow_combination(evidence, weights)
    np.testing.assert_allclose(combined, expected, atol=1e-12)
    assert permutation_p_value(combined) == (expected >= expected[0]).sum() / 200
    assert components["c"] == 1.0
    assert components["a"] == (evidence["a"] >= evidence["a"][0]).sum() / 200
    first = {name: values[0] + offsets[name] for name, values in evidence.items() if name != "c"}
    assert leading_component == max(first, key=lambda name: first[name])


def test_the_first_component_leads_where_it_is_enough() -> None:
    rng = np.random.default_rng(3)
    for of_gap, leading_component in ((40.0, "gap"), (1.0, "distance")):
        gap, distance = rng.exponential(size=(2, 1000))
        gap[0], distance[0] = of_gap, 60.0
        weights = {"gap": 1.0, "distance": 0.5}
        assert combine_evidence({"gap": gap, "distance": distance}, weights)[2] == leading_component


def test_ties_are_broken_by_all_components_together() -> None:
    """Gaps of decisions in two levels are whole numbers; distances differ where they do not."""
    gap = np.repeat([3.0, 2.0, 1.0, 0.0], 25)
    distance = np.random.default_rng(0).random(100)
    weights = {"gap": 1.0, "distance": 0.1}
    for lowest, p_value in ((True, 0.25), (False, 0.01)):
        order = np.lexsort((distance if lowest else -distance, -gap))
        evidence = {"gap": gap[order], "distance": distance[order]}
        assert permutation_p_value(combine_evidence({"gap": gap[order]}, weights)[0]) == 0.25
        assert permutation_p_value(combine_evidence(evidence, weights)[0]) == p_value


def test_silence_of_all_is_a_p_value_of_one() -> None:
    combined, _, leading_component, _ = combine_evidence(
        {"a": np.zeros(20), "b": np.full(20, 3.0)}, {"a": 1.0, "b": 1.0}
    )
    assert leading_component is None
    assert permutation_p_value(combined) == 1.0
    assert extrapolate_p_value(combined, 100.0) == 1.0


def test_the_order_of_replicates_does_not_matter() -> None:
    """S is a symmetric function of the replicates, which is why the test is exact."""
    rng = np.random.default_rng(2)
    evidence = {"a": rng.exponential(size=150), "b": rng.exponential(size=150) ** 2}
    weights = {"a": 1.0, "b": 0.5}
    order = rng.permutation(150)
    shuffled = combine_evidence({name: each[order] for name, each in evidence.items()}, weights)[0]
    expected = combine_evidence(evidence, weights)[0]
    np.testing.assert_allclose(shuffled, expected[order], atol=1e-12)


def test_equal_up_to_rounding_counts_as_equal() -> None:
    assert permutation_p_value(np.array([1.0, 1.0 - 1e-13, 1.0 + 1e-13, 0.5])) == 0.75
    assert permutation_p_value(np.array([1e6, 1e6 - 1e-7, 0.0])) == 2 / 3


# All arrangements ---------------------------------------------------------------------------------

SCORES = np.array([0.0, 0.1, 0.35, 0.6, 1.0, 0.45, 0.2, 0.5, 0.5, 0.9])
LEVELS = np.array([0] * 6 + [1] * 4)


def every_p_value(scores: FloatArray) -> tuple[FloatArray, list[frozenset[int]]]:
    """p-values of every arrangement of 3 of 6 and 2 of 4 labels, all of them being replicates."""
    chosen = [
        frozenset(one + other)
        for one in combinations(range(6), 3)
        for other in combinations(range(6, 10), 2)
    ]
    totals = []
    for rows in chosen:
        groups = np.isin(np.arange(10), list(rows)).astype(int)
        contrast = contrasts(Cells.from_rows(scores, groups, LEVELS), "pairwise")[0]
        levels = score_contrast(contrast)
        measure = np.array([0.6, 0.4])
        totals.append(permutation_replicates(levels, measure, permutations=1, seed=0)[0][0])
    combined = combine_components(levels, np.array(totals))[0]
    slack = 1e-9 * (1 + np.abs(combined))
    p_values = np.array([(combined >= s - e).mean() for s, e in zip(combined, slack, strict=True)])
    return p_values, chosen


@pytest.mark.parametrize("scores", [SCORES, np.round(SCORES * 2) / 2, (SCORES > 0.4) * 1.0])
def test_over_all_arrangements_no_p_value_is_too_small_too_often(scores: FloatArray) -> None:
    p_values, chosen = every_p_value(scores)
    assert len(chosen) == 120
    for level in np.unique(p_values):
        assert (p_values <= level).mean() <= level + 1e-12


@pytest.mark.parametrize("scores", [SCORES, (SCORES > 0.4) * 1.0])
def test_many_permutations_give_the_p_value_of_all_arrangements(scores: FloatArray) -> None:
    p_values, chosen = every_p_value(scores)
    for which in (0, 17, 119):
        groups = np.isin(np.arange(10), list(chosen[which])).astype(int)
        contrast = contrasts(Cells.from_rows(scores, groups, LEVELS), "pairwise")[0]
        test = headline_test(contrast, np.array([0.6, 0.4]), permutations=20_000)
        # Where components are made comparable is drawn too, so their order may change a little.
        assert abs(test.p_value - p_values[which]) < 0.02


# The tail -----------------------------------------------------------------------------------------


def test_the_tail_continues_where_counting_ends() -> None:
    null = -np.log((np.arange(999) + 0.5) / 999)  # exactly exponential
    for beyond in (0.5, 3.0, 12.0):
        observed = np.sort(null)[-10] + beyond
        evidence = np.append(observed, null)
        highest = np.sort(null)[::-1]
        slope = max(1.0, (highest[:10] - highest[10]).mean())
        expected = 10 / 1000 * np.exp(-beyond / slope)
        np.testing.assert_allclose(
            extrapolate_p_value(evidence, 1e9), min(expected, permutation_p_value(evidence))
        )
        assert 0.3 < extrapolate_p_value(evidence, 1e9) / min(np.exp(-observed), 1.0) < 3.0


def test_the_tail_is_flat_where_replicates_say_so() -> None:
    light = np.random.default_rng(0).exponential(size=999)
    observed = 25.0
    heavy_tail = extrapolate_p_value(np.append(observed, 3 * light), 1e9)
    assert heavy_tail > 100 * extrapolate_p_value(np.append(observed, light), 1e9)


def test_nothing_is_continued_without_need_or_reason() -> None:
    null = np.random.default_rng(0).exponential(size=999)
    common = np.append(np.sort(null)[-40], null)
    assert extrapolate_p_value(common, 1e9) == permutation_p_value(common)
    few = np.append(50.0, null[:50])
    assert extrapolate_p_value(few, 1e9) == permutation_p_value(few) == 1 / 51
    # 924 ways to permute six labels among twelve rows: one of them was observed.
    assert extrapolate_p_value(np.append(50.0, null), np.log(924)) == permutation_p_value(
        np.append(50.0, null)
    )
    np.testing.assert_allclose(extrapolate_p_value(np.append(50.0, null), np.log(5000)), 1 / 5000)


@pytest.mark.simulation
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_small_p_values_are_as_rare_as_they_say(share: float) -> None:
    """Scores with a few huge ones: the tail of the evidence is not that of a normal."""
    small = 0
    for seed in range(1500):
        rng = np.random.default_rng([seed, 4])
        scores, groups = np.exp(rng.normal(size=200)), (rng.random(200) < share).astype(int)
        contrast = contrasts(Cells.from_rows(scores, groups, np.arange(200) % 4), "pairwise")[0]
        measure = level_weights(contrast, "marginal")
        test = headline_test(contrast, measure, permutations=199, random_state=seed)
        small += test.tail_p_value <= 0.002
    assert small <= stats.binom(1500, 0.005).ppf(0.999)


def test_weights_are_those_of_the_five_components() -> None:
    assert list(WEIGHTS) == ["gap", "ranks", "spread", "distance", "level"]
    assert max(WEIGHTS, key=lambda name: WEIGHTS[name]) == "gap"
