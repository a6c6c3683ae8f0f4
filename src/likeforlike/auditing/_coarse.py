"""Figures with fewer digits: enough that nothing is lost, and so few that no row shows in them.

An average that is known to all its digits can be taken apart: who knows all rows but one has
the last. An average rounded to half its standard error cannot, and says as much as before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_STEPS = (1.0, 2.0, 5.0, 10.0)


def coarse_count(rows: float, limit: int) -> int:
    """Rows, to the nearest multiple of the limit; halves go up."""
    return limit * math.floor(rows / limit + 0.5)


def coarse_share(share: float, rows: float, limit: int) -> float:
    """A share of rows, to the nearest that rows rounded to the limit could give."""
    step = limit / max(coarse_count(rows, limit), limit)
    return min(round(step * math.floor(share / step + 0.5), 4), 1.0)


def significant(value: float, digits: int = 2) -> float:
    """A number to some significant digits."""
    return float(f"{value:.{digits - 1}e}")


def coarse_p(p_value: float) -> float:
    """A p-value to two digits, rounded up: it may look like less evidence, never like more."""
    if not 0.0 < p_value < 1.0:
        return p_value
    step = 10.0 ** (math.floor(math.log10(p_value)) - 1)
    # What is written with two digits already stays as it is, whatever its last bit says.
    return min(significant(step * math.ceil(p_value / step * (1.0 - 1e-12))), 1.0)


def round_step(size: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten up to a size; 0 where there is none."""
    if not 0.0 < size < math.inf:
        return 0.0
    power = math.floor(math.log10(size))
    lift = 30 if power < -290 else 0  # powers of ten end before numbers do
    leading = size * 10.0**lift / 10.0 ** (power + lift)
    fits = [step for step in _STEPS if step <= leading * (1.0 + 1e-12)]
    return float(f"{max(fits, default=0.0):.0f}e{power}")


@dataclass(frozen=True, slots=True)
class Grid:
    """Multiples of a step, which figures are rounded to.

    Attributes
    ----------
    step : 1, 2 or 5 times a power of ten; 0 leaves two significant digits.
    """

    step: float

    def nearest(self, value: float) -> float:
        """The multiple next to a value."""
        return self._multiple(value, lambda times: math.floor(times + 0.5))

    def below(self, value: float) -> float:
        """The highest multiple that is not above a value."""
        return self._multiple(value, lambda times: math.floor(times + 1e-9))

    def above(self, value: float) -> float:
        """The lowest multiple that is not below a value."""
        return self._multiple(value, lambda times: math.ceil(times - 1e-9))

    def _multiple(self, value: float, whole: Callable[[float], int]) -> float:
        times = value / self.step if self.step else math.inf
        if not math.isfinite(times):
            return significant(value)
        # As a decimal number: 3 x 0.1 would show what binary digits leave.
        return float(f"{whole(times) * self.step:.15g}")


def noise_grid(noise: float, figures: Sequence[float]) -> Grid:
    """Half the noise; of figures without any, a tenth of the largest."""
    if 0.0 < noise < math.inf:
        return Grid(round_step(noise / 2.0))
    return Grid(round_step(max(map(abs, figures), default=0.0) / 10.0))
