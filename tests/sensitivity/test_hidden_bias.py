"""Γ against enumeration, SciPy's noncentral distributions and a published study."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, hypergeom, nchypergeom_fisher, norm

from likeforlike import Cells
from likeforlike._arrays import FloatArray
from likeforlike.disparity import Contrast, contrasts, level_weights
from likeforlike.sensitivity import hidden_bias
from likeforlike.sensitivity._hidden_bias import (
    CROSSING,
    UNEQUAL,
    WEIGHTED,
    amplify,
    arrange,
    count_moments,
    count_tail,
    deviate,
    take_units,
)


def pair(*columns: Any, **more: Any) -> Contrast:
    return contrasts(Cells.from_rows(*columns, **more), "pairwise")[0]


def odds_of(contrast: Contrast, significance: float = 0.05) -> tuple[float | None, float | None]:
    gap, ranks, reason = hidden_bias(contrast, level_weights(contrast, "marginal"), significance)
    assert reason is None
    return gap, ranks


def worst_by_enumeration(numbers: FloatArray, m: int, odds: float) -> tuple[float, float]:
    """Over all omitted features of 0 and 1 and all assignments: largest mean, then variance."""
    best = (-math.inf, 0.0)
    for u in itertools.product([0, 1], repeat=numbers.size):
        chosen = list(itertools.combinations(range(numbers.size), m))
        weight = np.array([odds ** sum(u[i] for i in each) for each in chosen])
        sums = np.array([numbers[list(each)].sum() for each in chosen])
        mean = float(weight @ sums / weight.sum())
        variance = float(weight @ (sums - mean) ** 2 / weight.sum())
        if mean > best[0] + 1e-12 or (mean > best[0] - 1e-12 and variance > best[1]):
            best = mean, variance
    return best


@pytest.mark.parametrize(
    ("n", "k", "m", "odds"), [(20, 8, 10, 2.0), (6, 3, 2, 3.0), (150, 60, 75, 9.0), (3, 1, 1, 1.0)]
)
def test_count_moments_equal_fishers_distribution(n: int, k: int, m: int, odds: float) -> None:
    mean, variance = nchypergeom_fisher(n, k, m, odds).stats("mv")
    assert count_moments(n, k, m, odds) == pytest.approx((mean, variance), rel=1e-10)


@pytest.mark.parametrize(("n", "k", "m", "odds"), [(400, 200, 190, 2.5), (5000, 900, 1500, 1.3)])
def test_moments_of_large_counts_are_close(n: int, k: int, m: int, odds: float) -> None:
    mean, variance = nchypergeom_fisher(n, k, m, odds).stats("mv")
    found = count_moments(n, k, m, odds)
    assert found[0] == pytest.approx(mean, abs=1e-4 * math.sqrt(variance))
    assert found[1] == pytest.approx(variance, rel=1e-3)


def test_large_counts_at_equal_odds_are_hypergeometric() -> None:
    mean, variance = hypergeom(1000, 400, 300).stats("mv")
    assert count_moments(1000, 400, 300, 1.0) == pytest.approx((mean, variance), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("odds", [1.0, 2.2])
def test_deviate_equals_enumeration_with_ties(seed: int, odds: float) -> None:
    rng = np.random.default_rng(seed)
    sizes, means, variances, statistic = [7, 5, 2], 0.0, 0.0, 0.0
    levels = np.repeat([0, 1, 2], sizes)
    scores = rng.normal(size=14).round(seed % 2)
    groups = np.r_[0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 0, 1]
    scores[groups == 1] += 1.0
    contrast = pair(scores, groups, levels)
    weights = level_weights(contrast, "marginal")
    for level, (size, weight) in enumerate(zip(sizes, weights, strict=True)):
        own, second = scores[levels == level], groups[levels == level]
        m = int(second.sum())
        numbers = weight * size / (m * (size - m)) * (own - own.mean())
        statistic += float(numbers @ second)
        mean, variance = worst_by_enumeration(np.sort(numbers), m, odds)
        means, variances = means + mean, variances + variance
    units, found, _ = arrange(*take_units(contrast), weights)
    assert statistic > 0.0
    reach = float(np.ptp(scores))
    assert found * reach == pytest.approx(statistic)
    expected = (statistic - means) / math.sqrt(variances)
    assert deviate(units, found, odds) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def hammond() -> Contrast:
    """Deaths by lung cancer in 122 discordant pairs; of 110 the heavy smoker died."""
    scores = np.zeros(244)
    scores[1:220:2] = 1.0
    scores[220::2] = 1.0
    return pair(scores, np.tile([0, 1], 122), np.repeat(np.arange(122), 2))


def test_hammonds_pairs_have_the_published_bounds() -> None:
    """Rosenbaum (2002), table 4.1: normal with a continuity correction."""
    units, count, exact = arrange(*take_units(hammond()), None)
    assert (count, exact) == (110.0, True)
    for odds, published in ((4.0, 0.0036), (5.0, 0.03), (6.0, 0.1)):
        mean, variance = 122 * odds / (1 + odds), 122 * odds / (1 + odds) ** 2
        normal = norm.sf((count - 0.5 - mean) / math.sqrt(variance))
        assert normal == pytest.approx(published, rel=0.06)
        centered = units[0] - 0.5, *units[1:]
        own = norm.sf(deviate(centered, count - 0.5 - 61.0, odds))
        assert own == pytest.approx(normal, rel=1e-9)


def test_pairs_of_decisions_are_mcnemars_exact_test() -> None:
    units, count, _ = arrange(*take_units(hammond()), None)
    for odds in (1.0, 3.0, 5.0):
        assert count_tail(units, count, odds) == pytest.approx(
            binom.sf(109, 122, odds / (1 + odds)), rel=1e-9
        )
    _, ranks = odds_of(hammond())
    assert ranks is not None
    assert binom.sf(109, 122, ranks / (1 + ranks)) == pytest.approx(0.0125, rel=1e-2)


def test_count_tail_of_two_levels_is_a_convolution() -> None:
    scores = [0, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1]
    groups = [0, 0, 1, 1, 1, 0, 0, 1, 1, 0, 1]
    units, count, exact = arrange(
        *take_units(pair(np.array(scores, float), groups, [0] * 5 + [1] * 6)), None
    )
    one, two = nchypergeom_fisher(5, 3, 3, 2.5), nchypergeom_fisher(6, 3, 3, 2.5)
    pairs = itertools.product(range(4), range(4))
    expected = sum(one.pmf(i) * two.pmf(j) for i, j in pairs if i + j >= count)
    assert exact
    assert count_tail(units, count, 2.5) == pytest.approx(expected)


def test_exchanged_groups_have_the_same_odds() -> None:
    rng = np.random.default_rng(0)
    groups, levels = rng.integers(0, 2, 400), rng.integers(0, 8, 400)
    scores = rng.lognormal(size=400) + 1.0 * groups
    assert odds_of(pair(scores, groups, levels)) == pytest.approx(
        odds_of(pair(scores, 1 - groups, levels)), rel=1e-3
    )


def test_no_odds_where_the_test_does_not_reject() -> None:
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 2, 200)
    assert odds_of(pair(rng.normal(size=200), groups)) == (None, None)
    assert odds_of(pair(np.ones(200), groups)) == (None, None)


def test_counts_of_bins_have_the_odds_of_their_rows() -> None:
    rng = np.random.default_rng(2)
    groups, levels = rng.integers(0, 2, 600), rng.integers(0, 3, 600)
    scores = np.round(rng.normal(size=600) + 0.6 * groups, 1)
    keys, counts = np.unique(np.c_[levels, groups, scores], axis=0, return_counts=True)
    counted = Cells.from_counts(keys[:, 0], keys[:, 1], keys[:, 2], counts)
    assert odds_of(contrasts(counted, "pairwise")[0]) == odds_of(pair(scores, groups, levels))


def test_weights_and_crossing_clusters_are_refused() -> None:
    rng = np.random.default_rng(3)
    groups, levels = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    weighted = pair(rng.normal(size=60), groups, levels, sample_weight=rng.uniform(1, 2, 60))
    crossing = pair(rng.normal(size=60), groups, levels, cluster=np.arange(60) % 20)
    sizes = np.repeat(np.arange(8), [1, 2, 3, 4, 1, 2, 3, 4])
    uneven = pair(rng.normal(size=20), (sizes > 3).astype(int), cluster=sizes)
    for contrast, reason in ((weighted, WEIGHTED), (crossing, CROSSING), (uneven, UNEQUAL)):
        found = hidden_bias(contrast, level_weights(contrast, "marginal"), 0.05)
        assert found == (None, None, reason)


def test_clusters_of_equal_size_count_as_units() -> None:
    rng = np.random.default_rng(4)
    people = np.arange(80)
    groups, levels = people % 2, people // 20
    scores = rng.normal(size=80) + 1.2 * groups
    rows = np.repeat(people, 3)
    own = scores[rows] + np.tile([-0.1, 0.0, 0.1], 80)
    clustered = pair(own, groups[rows], levels[rows], cluster=rows)
    assert odds_of(clustered) == pytest.approx(odds_of(pair(scores, groups, levels)), rel=1e-3)


def test_amplification_gives_back_the_odds() -> None:
    for group, outcome in amplify(1.7):
        assert (group * outcome + 1.0) / (group + outcome) == pytest.approx(1.7)
    assert amplify(1.0) == ()
