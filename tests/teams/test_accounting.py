"""What answers cost together, beside independent accountants."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from likeforlike.errors import InputError
from likeforlike.teams._noise import Cost, as_fraction, epsilon_of, rho_of

RECORDED = json.loads((Path(__file__).parent / "accounting.json").read_text("utf-8"))


def composed_delta(epsilon: float, sigma: float, laplaces: list[float]) -> float:
    """δ(ε) of a Gaussian mechanism and some Laplace mechanisms, by their privacy losses on a grid.

    An oracle of its own: losses are rounded down, so that what comes out is at most the truth.
    """
    step = 2e-3
    losses = np.floor(np.linspace(-12.0, 12.0, 12_001) / step) * step
    density = np.zeros(losses.size)
    # Loss of a Gaussian with sensitivity 1: normal with mean 1 / 2σ² and variance 1 / σ².
    edges = np.r_[losses, losses[-1] + step]
    density += np.diff(norm.cdf(edges, 1 / (2 * sigma**2), 1 / sigma))
    for epsilon_0 in laplaces:
        law = np.zeros(losses.size)
        # Half of the mass has the loss ε0, e^-ε0 / 2 has -ε0, and the rest lies between.
        inside = (losses > -epsilon_0) & (losses < epsilon_0)
        law[inside] = np.exp((losses[inside] - epsilon_0) / 2) / 4 * step
        law[np.searchsorted(losses, -epsilon_0)] += math.exp(-epsilon_0) / 2
        law[np.searchsorted(losses, epsilon_0, side="right") - 1] += 1 - law.sum()
        density = np.convolve(density, law)[losses.size // 2 :][: losses.size]
    return float((density * np.maximum(1 - np.exp(epsilon - losses), 0)).sum())


@pytest.mark.parametrize("delta", [1e-6, 1e-9])
@pytest.mark.parametrize("rho", [1e-4, 0.0243, 0.5, 3.0])
def test_conversion_is_the_minimum_over_orders(rho: float, delta: float) -> None:
    def bound(t: float) -> float:
        a = 1 + math.exp(t)
        return rho * a + math.log(1 / (a * delta)) / (a - 1) + math.log1p(-1 / a)

    least = minimize_scalar(bound, bounds=(-8, 16), method="bounded", options={"xatol": 1e-10})
    assert epsilon_of(rho, delta) == pytest.approx(least.fun, rel=1e-6)
    assert epsilon_of(rho, delta) >= least.fun * (1 - 1e-9)


# What OpenDP 0.16 says: make_zCDP_to_approxDP of make_gaussian(scale=1) at a distance of √(2ρ).
OPENDP = {
    (1e-4, 1e-6): 0.05372712063485988,
    (1e-4, 1e-9): 0.07436279311413627,
    (0.0243, 1e-6): 0.9987688707955651,
    (0.0243, 1e-9): 1.2880919706890361,
    (0.28125, 1e-6): 3.7817310666954156,
    (0.5, 1e-6): 5.22153444453017,
    (0.5, 1e-9): 6.474070020726487,
    (3.0, 1e-6): 14.947919164492594,
    (3.0, 1e-9): 17.949061530946473,
}


@pytest.mark.parametrize(("rho", "delta"), OPENDP)
def test_conversion_against_opendp(rho: float, delta: float) -> None:
    """Ours is the same but for the slack that is added to it, and never below."""
    assert 0.0 <= epsilon_of(rho, delta) / OPENDP[rho, delta] - 1.0 < 2e-9


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0])
def test_there_and_back(epsilon: float) -> None:
    rho = rho_of(as_fraction(epsilon, "epsilon"), 1e-6)
    assert epsilon_of(float(rho), 1e-6) <= epsilon
    assert epsilon_of(float(rho) * 1.001, 1e-6) > epsilon


@pytest.mark.parametrize("known", RECORDED["ledgers"], ids=lambda known: known["name"])
def test_accounting_against_dp_accounting(known: dict[str, object]) -> None:
    """The privacy losses of dp-accounting are tight; ours may be above, and not by much."""
    counts, sums = known["counts"], known["sums"]
    assert isinstance(counts, list)
    assert isinstance(sums, list)
    cost = Cost(
        sum((as_fraction(each, "epsilon") for each in counts), Fraction(0)),
        sum((rho_of(as_fraction(each, "epsilon"), 1e-6) for each in sums), Fraction(0)),
    )
    ours, tight = cost.total(1e-6), known["epsilon"]
    assert isinstance(tight, float)
    assert tight <= ours <= known["at_most"] * tight  # type: ignore[operator]


def test_what_is_booked_is_not_below_the_truth() -> None:
    """Sums at ε = 1 beside four counts at ε = .5: at 3.0 the losses leave less than δ."""
    rho = float(rho_of(Fraction(1), 1e-6))
    sigma = 1 / math.sqrt(2 * rho)
    assert composed_delta(3.0, sigma, [0.5] * 4) < 1e-6
    assert composed_delta(1.0, sigma, []) < 1e-6
    # The oracle can say no: half of the ε would not be enough, and neither would half of σ.
    assert composed_delta(0.5, sigma, []) > 1e-6
    assert composed_delta(1.0, sigma / 2, []) > 1e-6


def test_numbers_are_what_is_written() -> None:
    assert as_fraction(0.1, "epsilon") == Fraction(1, 10)
    assert as_fraction(np.float64(0.5), "epsilon") == Fraction(1, 2)
    for bad in (0, -1, math.inf, math.nan, "1", None):
        with pytest.raises(InputError, match="epsilon must be a finite number above 0"):
            as_fraction(bad, "epsilon")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="too small for any answer"):
        rho_of(Fraction(1, 10**18), 1e-15)
