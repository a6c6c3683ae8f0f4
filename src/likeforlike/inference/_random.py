"""Random draws for kernels: one stream of numbers per replicate, on any number of threads.

numba's own generator belongs to the thread, so its draws depend on how work is split. Here a
replicate starts its own SplitMix64 stream from (seed, replicate), and draws from large counts in
constant time by the ratio of uniforms, so a histogram of ten billion rows costs what its bins cost.

References: Steele, Lea and Flood (2014), *Fast splittable pseudorandom number generators*;
Stadlober (1990), *The ratio of uniforms approach for generating discrete random variates*.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from likeforlike.transport import compiled

State = npt.NDArray[np.uint64]
"""A stream of random numbers: an array that holds one integer, changed by every draw."""

# Constants of the ratio of uniforms for discrete log-concave distributions: 2 sqrt(2 / e) and
# 3 - 2 sqrt(3 / e).
_WIDTH = 2.0 * math.sqrt(2.0 / math.e)
_EXTRA = 3.0 - 2.0 * math.sqrt(3.0 / math.e)
# Up to this mean, walking up from the lowest value beats the ratio of uniforms.
_SMALL_MEAN = 10.0


@compiled
def _mix(number: np.uint64) -> np.uint64:
    """Apply the finalizer of SplitMix64."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


_STEP = np.uint64(0x9E3779B97F4A7C15)


@compiled
def start_stream(seed: int, replicate: int) -> State:
    """Begin the stream of a replicate."""
    state = np.empty(1, np.uint64)
    state[0] = _mix(_mix(np.uint64(seed)) ^ _mix(~np.uint64(replicate)))
    return state


@compiled
def next_bits(state: State) -> np.uint64:
    """Draw 64 bits."""
    state[0] += _STEP
    return _mix(state[0])


@compiled
def peek_bits(begin: np.uint64, place: int) -> np.uint64:
    """Return the bits that a stream at `begin` draws after `place` others."""
    return _mix(begin + np.uint64(place + 1) * _STEP)


@compiled
def peek_uniform(begin: np.uint64, place: int) -> float:
    """Return what `uniform` draws there; no draw waits for another, so they run in parallel."""
    # As a signed number, which processors turn into floats faster.
    return float(np.int64(peek_bits(begin, place) >> np.uint64(11))) * (1.0 / 9007199254740992.0)


@compiled
def advance(state: State, draws: int) -> None:
    """Skip some draws of bits or of uniform numbers."""
    state[0] += np.uint64(draws) * _STEP


@compiled
def uniform(state: State) -> float:
    """Draw from [0, 1)."""
    return float(next_bits(state) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def _log_hypergeometric(x: float, good: float, bad: float, taken: float) -> float:
    """Compute the logarithm of the probability of x, up to a constant."""
    return -(
        math.lgamma(x + 1.0)
        + math.lgamma(good - x + 1.0)
        + math.lgamma(taken - x + 1.0)
        + math.lgamma(bad - taken + x + 1.0)
    )


@compiled
def hypergeometric(state: State, good: int, bad: int, taken: int) -> int:
    """Draw the number of good ones among `taken` without replacement from good + bad."""
    if taken == 1:
        return int(uniform(state) * (good + bad) < good)
    low, high = max(0, taken - bad), min(taken, good)
    if low == high:
        return low
    total = float(good + bad)
    mean = taken * (good / total)
    if mean - low <= _SMALL_MEAN:
        return _invert_hypergeometric(state, good, bad, taken, low, high)
    variance = mean * (bad / total) * ((total - taken) / (total - 1.0))
    width = _WIDTH * math.sqrt(variance + 0.5) + _EXTRA
    mode = math.floor((taken + 1.0) * ((good + 1.0) / (total + 2.0)))
    peak = _log_hypergeometric(mode, good, bad, taken)
    while True:
        height = uniform(state)
        x = math.floor(mean + 0.5 + width * (uniform(state) - 0.5) / height) if height else -1.0
        if x < low or x > high:
            continue
        if 2.0 * math.log(height) <= _log_hypergeometric(x, good, bad, taken) - peak:
            return int(x)


@compiled
def _invert_hypergeometric(
    state: State, good: int, bad: int, taken: int, low: int, high: int
) -> int:
    """Draw by inversion, upwards from the lowest value."""
    total = float(good + bad)
    log_first = (
        math.lgamma(good + 1.0)
        + math.lgamma(bad + 1.0)
        + math.lgamma(taken + 1.0)
        + math.lgamma(total - taken + 1.0)
        - math.lgamma(total + 1.0)
        + _log_hypergeometric(low, good, bad, taken)
    )
    chance = math.exp(log_first)
    left = uniform(state)
    x = low
    while left >= chance and x < high:
        left -= chance
        chance *= (good - x) * float(taken - x) / ((x + 1.0) * (bad - taken + x + 1.0))
        x += 1
    return x


Progress = Callable[[int], None]
"""A function that is called with the number of replicates done since the last call."""

ROUNDING = 1e-9
"""Statistics that differ by less than this, relatively, are equal: with ties many of them are."""

# A block of replicates should take well under a second, so that an interrupt is obeyed at once.
_ATOMS_A_BLOCK = 2_000_000
_LARGEST_BLOCK = 32


def block_size(n_atoms: int) -> int:
    """Return the replicates per block, which depend on the data only, never on the machine."""
    return max(1, min(_LARGEST_BLOCK, _ATOMS_A_BLOCK // n_atoms))
