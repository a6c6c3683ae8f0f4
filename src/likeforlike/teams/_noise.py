"""Noise of integers, drawn exactly, and what answers with noise cost together.

Noise of floating-point numbers leaks what it should hide through its last bits (Mironov 2012). Here
every coin is a whole number below another, from the random numbers of the operating system.

Counts with discrete Laplace noise and randomized files are ε-differentially private; sums with
discrete Gaussian noise are ρ-zCDP (Bun & Steinke 2016). Together they are (ε, δ)-differentially
private with

    ε = Σ ε(counts, files) + ε(Σ ρ(sums), δ),
    ε(ρ, δ) = min over α > 1 of  ρ α + log(1 / (α δ)) / (α - 1) + log(1 - 1 / α).

One tally in zCDP for all would be larger where a few counts are asked: four at ε = .5 next to sums
at ε = 1 are 3.0 here, and 5.4 there. `randomize` draws randomized response of a column of groups
without a ledger, for a file that is published once.

References: Bun & Steinke (2016), *Concentrated differential privacy*; Canonne, Kamath & Steinke
(2020), *The discrete Gaussian for differential privacy*, algorithms 1 to 3 and corollary 13;
Mironov (2012), *On significance of the least significant bits for differential privacy*.
"""

from __future__ import annotations

import math
import re
import secrets
from collections.abc import Hashable, Sequence
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import IntArray
from likeforlike._settings import real
from likeforlike.disparity import Column, encode
from likeforlike.errors import InputError

# Coins of randomized response are 64-bit numbers.
_WORD = 1 << 64
# More digits than a 64-bit number has, with room for what rounding takes.
_DIGITS = 60


def _below_exponential(numerator: int, denominator: int) -> bool:
    """Draw `True` with probability exp(-γ), γ = numerator / denominator in [0, 1]."""
    k = 1
    while secrets.randbelow(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def exponential_coin(numerator: int, denominator: int) -> bool:
    """Draw `True` with probability exp(-γ), γ = numerator / denominator >= 0."""
    while numerator > denominator:
        if not _below_exponential(1, 1):
            return False
        numerator -= denominator
    return _below_exponential(numerator, denominator)


def discrete_laplace(scale: Fraction) -> int:
    """Draw an integer x with probability proportional to exp(-|x| / scale)."""
    whole, parts = scale.numerator, scale.denominator
    while True:
        rest = secrets.randbelow(whole)
        if not exponential_coin(rest, whole):
            continue
        turns = 0
        while _below_exponential(1, 1):
            turns += 1
        size = (rest + whole * turns) // parts
        if not secrets.randbelow(2):
            return size
        if size:  # 0 has one sign only
            return -size


def discrete_gaussian(variance: Fraction) -> int:
    """Draw an integer x with probability proportional to exp(-x² / (2 variance))."""
    top, bottom = variance.numerator, variance.denominator
    scale = math.isqrt(top // bottom) + 1
    wide = Fraction(scale)
    while True:
        proposed = discrete_laplace(wide)
        off = abs(proposed) * scale * bottom - top
        if exponential_coin(off * off, 2 * top * bottom * scale * scale):
            return proposed


def laplace_variance(scale: Fraction) -> float:
    """Variance of `discrete_laplace`, 2 α / (1 - α)² with α = exp(-1 / scale)."""
    ratio = 1.0 / float(scale)
    return 2.0 * math.exp(-ratio) / math.expm1(-ratio) ** 2


def keep_threshold(epsilon: Fraction, groups: int) -> int:
    """How many of 2^64 equally likely words let randomized response keep a label.

    The largest K with K (groups - 1) / (2^64 - K) <= e^ε: rounded so that what is released never
    says more than ε allows.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        power = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        exact = Decimal(_WORD) * power / (power + (groups - 1))
        # Decimal rounds its last digit either way, so one word is given away.
        return min(int(exact.to_integral_value(ROUND_FLOOR)) - 1, _WORD - 1)


def randomize_codes(codes: IntArray, epsilon: Fraction, groups: int) -> IntArray:
    """Codes (n,) of groups, each kept with probability e^ε / (e^ε + groups - 1), else another."""
    threshold = np.uint64(keep_threshold(epsilon, groups))
    kept = _words(codes.size) < threshold
    steps = 1 + _numbers_below(groups - 1, codes.size)
    answers: IntArray = np.where(kept, codes, (codes + steps) % groups)
    return answers


def _words(size: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.frombuffer(secrets.token_bytes(8 * size), np.uint64)


def _numbers_below(bound: int, size: int) -> IntArray:
    """Numbers (size,) below a bound, each equally likely: words beyond the last multiple go."""
    if bound == 1:
        return np.zeros(size, np.int64)
    limit = np.uint64(_WORD - _WORD % bound - 1)
    words = _words(size).copy()
    while (beyond := np.flatnonzero(words > limit)).size:
        words[beyond] = _words(beyond.size)
    return (words % np.uint64(bound)).astype(np.int64)


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
        """Return the ε that the whole cost comes to at δ."""
        return float(self.epsilon) + epsilon_of(float(self.rho), delta)


def as_fraction(number: float | str, name: str) -> Fraction:
    """Return a number > 0 exactly as it is written: 0.1 is one tenth."""
    amount = real(number) if not isinstance(number, str) else float("nan")
    if not 0.0 < amount < math.inf:
        raise InputError(f"{name} must be a finite number above 0, not {number!r}.")
    return Fraction(repr(amount))


def answer_epsilon(epsilon: float) -> Fraction:
    """Return the ε of one answer exactly as it is written, if an answer can be given with it."""
    exact = as_fraction(epsilon, "epsilon")
    if not _LEAST_EPSILON <= exact <= _MOST_EPSILON:
        raise InputError(
            f"epsilon = {float(exact):g} cannot be used; an answer needs one between "
            f"{_LEAST_EPSILON:g} and {_MOST_EPSILON:g}, such as 0.5."
        )
    return exact


def read_fraction(text: object) -> Fraction | None:
    """Read a fraction of at least 0 from its text, such as "1/10"; `None` for anything else."""
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
    """Return the ε that ρ-zCDP comes to at δ."""
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
    """Return the largest ρ, rounded down, that comes to no more than ε at δ."""
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


def randomize(
    sensitive_features: Column, *, labels: Sequence[Hashable], epsilon: float
) -> list[Hashable]:
    """Keep each group with probability e^ε / (e^ε + G - 1), and else replace it by another one.

    ε-differentially private for every row, and exactly so: coins are whole numbers. It keeps no
    books: calling it twice tells twice as much. `Custodian.randomize` books it in a ledger, knows
    people with several rows, and answers the same request with the same file.

    Parameters
    ----------
    sensitive_features : (n,) labels.
    labels : the G labels that there could be, two or more, even if no row has them: a label that is
        listed only because one person has it would show who that is.
    epsilon : > 0.

    References
    ----------
    Warner (1965), *Randomized response*; Wang, Wu & Hu (2016), for more than two groups.

    Examples
    --------
    >>> from likeforlike.teams import randomize
    >>> answers = randomize(["f", "m"] * 500, labels=["f", "m"], epsilon=1.0)
    >>> kept = sum(a == b for a, b in zip(answers, ["f", "m"] * 500))
    >>> 600 < kept < 860
    True
    """
    held, declared = encode(sensitive_features, "groups"), list(labels)
    if len(set(declared)) != len(declared) or len(declared) < 2:
        raise InputError("labels must be two or more, each once; name all that there could be.")
    strange = [label for label in held.labels if label not in declared]
    if strange:
        raise InputError(f"groups holds {strange}, which labels does not name; add them there.")
    codes = np.array([declared.index(label) for label in held.labels], np.int64)[held.codes]
    answers = randomize_codes(codes, answer_epsilon(epsilon), len(declared))
    return [declared[code] for code in answers.tolist()]
