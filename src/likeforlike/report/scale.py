"""From units of the score to lengths on the screen."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["Scale", "ticks"]


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map of [low, high] onto [start, end].

    Examples
    --------
    >>> from likeforlike.report.scale import Scale
    >>> place = Scale(-1.0, 1.0, 0.0, 200.0)
    >>> place(0.5), place.clipped(7.0), place.holds(7.0)
    (150.0, 200.0, False)
    """

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


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round values inside [low, high], roughly so many.

    Examples
    --------
    >>> from likeforlike.report.scale import ticks
    >>> ticks(-0.12, 0.33, 4)
    [-0.1, 0.0, 0.1, 0.2, 0.3]
    """
    wide = high - low
    if not (math.isfinite(wide) and wide > 0.0):
        return [low]
    rough = wide / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = min(
        (power * factor for factor in (1.0, 2.0, 5.0, 10.0)), key=lambda s: abs(math.log(s / rough))
    )
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    digits = max(0, 1 - math.floor(math.log10(step)))
    return [round(k * step, digits) + 0.0 for k in range(first, last + 1)]
