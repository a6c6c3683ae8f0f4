"""What a comparison is, and the timer that runs both sides alternately.

Machines are noisy, and noise comes in spells. The two sides therefore take turns (ours, peer,
ours, peer, ...), each is warmed up once before the clock starts, and the median over the rounds
counts. A call too short for the clock is repeated within its turn, on either side. Where a peer
can be run in several ways, all of them take part and the fastest stands for it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Generic, Literal, TypeVar

__all__ = ["Case", "Comparison", "Measured", "Race", "RatioOf", "Unit", "race"]

R = TypeVar("R")
S = TypeVar("S")

RatioOf = Literal["peer / ours", "ours / peer"]
"""How often the peer's time holds ours (more is better), or the reverse (less is better)."""

Unit = Literal["s", "MB"]
"""Seconds or megabytes."""

# A turn lasts at least so many seconds.
_TURN = 0.05


@dataclass(frozen=True, slots=True)
class Measured:
    """What one comparison found.

    Attributes
    ----------
    ours, peer : what one call of either side took.
    difference : largest difference between the values, where they must agree.
    tolerance : how much of it is forgiven.
    note : anything worth knowing, in words.
    unit : what was counted, seconds or megabytes.
    """

    ours: float
    peer: float
    difference: float | None = None
    tolerance: float = 1e-9
    note: str = ""
    unit: Unit = "s"


@dataclass(frozen=True, slots=True)
class Case:
    """A comparison that has not been run yet.

    Attributes
    ----------
    name : what is compared, and with whom.
    measure : runs it.
    ratio_of : which way round the ratio goes.
    required : "peer / ours" is to be at least this, "ours / peer" at most; `None` asks nothing.
    """

    name: str
    measure: Callable[[], Measured]
    ratio_of: RatioOf = "peer / ours"
    required: float | None = None

    def run(self) -> Comparison:
        """Measure both sides."""
        return Comparison(self.name, self.measure(), self.ratio_of, self.required)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison that has been run: a `Case` and what it measured."""

    name: str
    measured: Measured
    ratio_of: RatioOf
    required: float | None

    @property
    def ratio(self) -> float:
        """The two times, one divided by the other as `ratio_of` says."""
        ours, peer = self.measured.ours, self.measured.peer
        return peer / ours if self.ratio_of == "peer / ours" else ours / peer

    @property
    def met(self) -> bool | None:
        """Whether the ratio is as required; `None` where nothing is."""
        if self.required is None:
            return None
        if self.ratio_of == "peer / ours":
            return self.ratio >= self.required
        return self.ratio <= self.required

    @property
    def disagrees(self) -> bool:
        """Whether the two sides found different values although they must agree."""
        difference = self.measured.difference
        # NaN is a disagreement too, so the test is whether agreement holds.
        return difference is not None and not difference <= self.measured.tolerance


@dataclass(frozen=True, slots=True)
class Race(Generic[R, S]):
    """Times and values of the two sides; `peer` is the fastest of its variants.

    Attributes
    ----------
    ours_seconds, peer_seconds : median over the rounds, for one call.
    ours, peer : what the calls returned.
    variant : which of the peer's variants was the fastest.
    """

    ours_seconds: float
    peer_seconds: float
    ours: R
    peer: S
    variant: int


def _turn(call: Callable[[], object], clock: Callable[[], float]) -> float:
    """Call for a turn, at least once; seconds of one call."""
    start = clock()
    calls, spent = 0, 0.0
    while spent < _TURN:
        call()
        calls += 1
        spent = clock() - start
    return spent / calls


def race(
    ours: Callable[[], R],
    *peers: Callable[[], S],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> Race[R, S]:
    """Time our call and the peer's variants alternately.

    Parameters
    ----------
    ours : our side; the first call compiles kernels and is not timed.
    peers : variants of the peer that return the same; their first calls are not timed either.
    rounds : how many turns each of them gets.
    clock : what is counted: how long somebody waits or, by `time.process_time`, what all threads
        together work, which says more where others use the machine too.
    """
    our_value, peer_values = ours(), [peer() for peer in peers]
    sides: list[Callable[[], object]] = [ours, *peers]
    times: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        gc.collect()
        for side, spent in zip(sides, times, strict=True):
            spent.append(_turn(side, clock))
    our_seconds, *peer_seconds = (median(spent) for spent in times)
    best = peer_seconds.index(min(peer_seconds))
    return Race(our_seconds, peer_seconds[best], our_value, peer_values[best], best)
