"""What answers cost together: ε for counts and files, ρ for sums, and one ε for all of it.

Counts with discrete Laplace noise and randomized files are ε-differentially private; sums with
discrete Gaussian noise are ρ-zCDP (Bun & Steinke 2016). Together they are (ε, δ)-differentially
private with

    ε = Σ ε(counts, files) + ε(Σ ρ(sums), δ),
    ε(ρ, δ) = min over α > 1 of  ρ α + log(1 / (α δ)) / (α - 1) + log(1 - 1 / α).

One tally in zCDP for all would be larger where a few counts are asked: four at ε = .5 next to sums
at ε = 1 are 3.0 here, and 5.4 there.

References: Bun & Steinke (2016), *Concentrated differential privacy*; Canonne, Kamath & Steinke
(2020), corollary 13.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from likeforlike._settings import real
from likeforlike.errors import InputError

# Any α is a valid bound, so the search only has to be good, not perfect. α - 1 = exp(t).
_LEAST, _MOST, _STEPS = -8.0, 16.0, 400
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_REFINEMENTS = 60
# ρ is kept as a fraction of this many parts, rounded down: more noise, never less.
_PARTS = 10**15
# Below, nothing could be learned; above, nothing would be hidden, and powers of e are not held.
_LEAST_EPSILON, _MOST_EPSILON = 1e-9, 1e3
# A fraction as ledgers and releases write it: no sign, no exponent, no endless digits.
_FRACTION = re.compile(r"[0-9]{1,400}(/[0-9]{1,400})?")
# What floating-point arithmetic may have lost is added to every ε that is reported.
_SLACK = 1e-9


class Cost(NamedTuple):
    """What an answer costs: ε of pure, ρ of concentrated differential privacy."""

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    def plus(self, other: Cost) -> Cost:
        """Both together."""
        return Cost(self.epsilon + other.epsilon, self.rho + other.rho)

    def total(self, delta: float) -> float:
        """The ε of all of it at δ."""
        return float(self.epsilon) + epsilon_of(float(self.rho), delta)


def as_fraction(number: float | str, name: str) -> Fraction:
    """A number > 0 exactly as it is written: 0.1 is one tenth."""
    amount = real(number) if not isinstance(number, str) else float("nan")
    if not 0.0 < amount < math.inf:
        raise InputError(f"{name} must be a finite number above 0, not {number!r}.")
    return Fraction(repr(amount))


def answer_epsilon(epsilon: float) -> Fraction:
    """The ε of one answer, exactly as it is written, if an answer can be given with it."""
    exact = as_fraction(epsilon, "epsilon")
    if not _LEAST_EPSILON <= exact <= _MOST_EPSILON:
        raise InputError(
            f"epsilon = {float(exact):g} cannot be used; an answer needs one between "
            f"{_LEAST_EPSILON:g} and {_MOST_EPSILON:g}, such as 0.5."
        )
    return exact


def read_fraction(text: object) -> Fraction | None:
    """A fraction of at least 0 that a file spells, such as "1/10"; `None` for anything else."""
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        return None
    try:
        fraction = Fraction(text)
        float(fraction)
    except (ZeroDivisionError, OverflowError):
        return None
    return fraction


def check_delta(delta: float) -> float:
    """δ, which must lie between 0 and 1."""
    if not 0.0 < real(delta) < 1.0:
        raise InputError(f"delta must lie between 0 and 1, such as 1e-6, not {delta!r}.")
    return float(delta)


def _bound(rho: float, delta: float, t: float) -> float:
    above = math.exp(t)
    alpha = 1.0 + above
    return rho * alpha - math.log(alpha * delta) / above - math.log1p(1.0 / above)


@lru_cache(maxsize=1024)
def epsilon_of(rho: float, delta: float) -> float:
    """The ε that ρ-zCDP comes to at δ."""
    if rho <= 0.0:
        return 0.0
    width = (_MOST - _LEAST) / _STEPS
    places = [_LEAST + k * width for k in range(_STEPS + 1)]
    best = min(places, key=lambda t: _bound(rho, delta, t))
    low, high = best - width, best + width
    for _ in range(_REFINEMENTS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if _bound(rho, delta, left) < _bound(rho, delta, right):
            high = right
        else:
            low = left
    found = min(_bound(rho, delta, (low + high) / 2.0), _bound(rho, delta, best))
    return max(found, 0.0) * (1.0 + _SLACK)


def rho_of(epsilon: Fraction, delta: float) -> Fraction:
    """The largest ρ, rounded down, that comes to no more than ε at δ."""
    wanted = float(epsilon)
    low, high = 0.0, 1.0
    while epsilon_of(high, delta) < wanted:
        high *= 2.0
    for _ in range(100):
        middle = (low + high) / 2.0
        if epsilon_of(middle, delta) <= wanted:
            low = middle
        else:
            high = middle
    rho = Fraction(math.floor(low * _PARTS), _PARTS)
    if rho <= 0:
        raise InputError(f"epsilon = {wanted:g} is too small for any answer.")
    return rho
