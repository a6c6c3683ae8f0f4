"""Samplers against the laws they are named after, by chi-square."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from likeforlike.teams._noise import (
    discrete_gaussian,
    discrete_laplace,
    exponential_coin,
    keep_threshold,
    laplace_variance,
    randomize_codes,
)

# A true sampler fails one of these once in some hundred thousand runs.
RARE = 1e-6


def fits(drawn: list[int], weights: dict[int, float]) -> float:
    """p-value of drawn integers under a law, with everything rare in one class."""
    total, counts = sum(weights.values()), Counter(drawn)
    common = [x for x, w in weights.items() if w / total * len(drawn) >= 10]
    seen = [counts[x] for x in common]
    expected = [weights[x] / total * len(drawn) for x in common]
    seen.append(len(drawn) - sum(seen))
    expected.append(len(drawn) - sum(expected))
    return float(chisquare(seen, expected).pvalue)


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3, 2), Fraction(7)])
def test_discrete_laplace(scale: Fraction) -> None:
    drawn = [discrete_laplace(scale) for _ in range(6000)]
    law = {x: math.exp(-abs(x) / float(scale)) for x in range(-200, 201)}
    assert fits(drawn, law) > RARE
    other = {x: math.exp(-abs(x) / (1.2 * float(scale))) for x in range(-200, 201)}
    assert fits(drawn, other) < RARE
    second = sum(x * x * w for x, w in law.items()) / sum(law.values())
    assert laplace_variance(scale) == pytest.approx(second, rel=1e-9)


@pytest.mark.parametrize("variance", [Fraction(1, 3), Fraction(9), Fraction(50, 3)])
def test_discrete_gaussian(variance: Fraction) -> None:
    drawn = [discrete_gaussian(variance) for _ in range(6000)]
    law = {x: math.exp(-x * x / (2 * float(variance))) for x in range(-60, 61)}
    assert fits(drawn, law) > RARE
    other = {x: math.exp(-x * x / (3 * float(variance))) for x in range(-60, 61)}
    assert fits(drawn, other) < RARE


def test_discrete_gaussian_of_large_numbers() -> None:
    """The variances of sums are squares of the grid, which no float holds exactly."""
    variance = Fraction(10**15 + 1, 7)
    drawn = np.array([discrete_gaussian(variance) for _ in range(2000)], float)
    assert abs(drawn.mean()) < 6 * math.sqrt(float(variance) / 2000)
    assert drawn.var() / float(variance) == pytest.approx(1.0, abs=6 * math.sqrt(2 / 2000))


@pytest.mark.parametrize(("top", "bottom"), [(0, 1), (1, 3), (1, 1), (5, 2)])
def test_exponential_coins(top: int, bottom: int) -> None:
    p, draws = math.exp(-top / bottom), 4000
    fell = sum(exponential_coin(top, bottom) for _ in range(draws))
    assert abs(fell - p * draws) <= 6 * math.sqrt(max(p * (1 - p), 1e-9) * draws)


@pytest.mark.parametrize("groups", [2, 5])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_randomized_response_keeps_within_epsilon(groups: int, epsilon: Fraction) -> None:
    kept = keep_threshold(epsilon, groups)
    # As whole numbers: no more than e^ε times as likely as any other label, and hardly less.
    odds = Fraction(kept * (groups - 1), (1 << 64) - kept)
    assert float(odds) == pytest.approx(math.exp(epsilon), rel=1e-12)
    assert Fraction((kept + 3) * (groups - 1), (1 << 64) - kept - 3) > odds
    codes = np.arange(20_000) % groups
    told = randomize_codes(codes, epsilon, groups)
    p = float(Fraction(kept, 1 << 64))
    seen = np.bincount((told - codes) % groups, minlength=groups)
    expected = 20_000 * np.r_[p, np.full(groups - 1, (1 - p) / (groups - 1))]
    assert chisquare(seen, expected).pvalue > RARE
