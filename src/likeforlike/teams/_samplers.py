"""Noise of integers, drawn exactly: no floating-point number takes part.

Noise of floating-point numbers leaks what it should hide through its last bits (Mironov 2012). Here
every coin is a whole number below another, from the random numbers of the operating system.

References: Canonne, Kamath & Steinke (2020), *The discrete Gaussian for differential privacy*,
algorithms 1 to 3; Mironov (2012), *On significance of the least significant bits for differential
privacy*.
"""

from __future__ import annotations

import math
import secrets
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction

import numpy as np

from likeforlike._arrays import IntArray

# Coins of randomized response are 64-bit numbers.
_WORD = 1 << 64
# More digits than a 64-bit number has, with room for what rounding takes.
_DIGITS = 60


def _below_exponential(numerator: int, denominator: int) -> bool:
    """A coin that falls with probability exp(-γ), γ = numerator / denominator in [0, 1]."""
    k = 1
    while secrets.randbelow(denominator * k) < numerator:
        k += 1
    return k % 2 == 1


def exponential_coin(numerator: int, denominator: int) -> bool:
    """A coin that falls with probability exp(-γ), γ = numerator / denominator >= 0."""
    while numerator > denominator:
        if not _below_exponential(1, 1):
            return False
        numerator -= denominator
    return _below_exponential(numerator, denominator)


def discrete_laplace(scale: Fraction) -> int:
    """An integer x with probability proportional to exp(-|x| / scale)."""
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
    """An integer x with probability proportional to exp(-x² / (2 variance))."""
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


def randomized(codes: IntArray, epsilon: Fraction, groups: int) -> IntArray:
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
