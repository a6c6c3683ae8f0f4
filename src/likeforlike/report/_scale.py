"""From units of the score to lengths on the screen."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AxisScale:
    """A linear map of [low, high] onto [start, end]."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Where a value lies."""
        wide = self.high - self.low
        share = (value - self.low) / wide if wide > 0.0 else 0.5
        return self.start + share * (self.end - self.start)

    def clipped(self, value: float) -> float:
        """Where a value lies, or the end of the scale it lies beyond."""
        return self(min(max(value, self.low), self.high))

    def holds(self, value: float) -> bool:
        """Whether a value lies on the scale."""
        return self.low <= value <= self.high


# Parts of anything narrower may be too small to be held.
_NARROWEST = 1e-300


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values inside [low, high], roughly this many."""
    wide = high - low
    if not (math.isfinite(wide) and wide > _NARROWEST):
        return [low]
    rough = wide / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = min(
        (power * factor for factor in (1.0, 2.0, 5.0, 10.0)), key=lambda s: abs(math.log(s / rough))
    )
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(k * step, digits) + 0.0 for k in range(first, last + 1)]
