"""What was asked of an audit, beside the data and the roles of its columns."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from operator import index
from typing import Literal, get_args

from likeforlike._arrays import is_one_of, real
from likeforlike.disparity._measures import Measure
from likeforlike.errors import InputError
from likeforlike.inference import Adjustment

# More would take for ever, and say no more.
_MOST_PERMUTATIONS = 10_000_000
Preset = Literal["ll144"]
"""Figures that somebody asks for beside the audit: the summary of New York's Local Law 144."""

# The lowest and the highest seed that streams of random numbers take.
_SEEDS = (-(2**63), 2**63 - 2)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of an audit; they are in its document, so that it can be repeated.

    Attributes
    ----------
    measure : Q, how much each level counts.
    min_cell : levels with fewer rows of a group are called thin.
    permutations : of the test; 0 leaves out everything that needs resampling.
    confidence : of intervals and certificate, in (0, 1).
    adjustment : of p-values of many levels, `"step-down"`, `"holm"` or `"bh"`.
    reference : the group that all others are compared with, or {sensitive column: its group};
        `None` compares every two, and with several sensitive columns all with the largest.
    random_state : seed.
    score_range : lowest and highest score there can be, for the certificate; `None` if unknown.
    suppress_below : the document shows nothing about fewer people than this; `None` shows all.
    unit : of the scores, such as "EUR"; `None` if they have none.
    preset : figures that somebody asks for beside the audit: `"ll144"` or `None`.
    smooth : legitimate columns of numbers that people are compared along.
    windows : into how many windows at most; `None` leaves it to the rows.
    min_coverage : the share of each group that must be compared for a verdict of "pass".

    Examples
    --------
    >>> from likeforlike.auditing import Settings
    >>> Settings(permutations=99).confidence
    0.95
    """

    measure: Measure = "marginal"
    min_cell: int = 20
    permutations: int = 999
    confidence: float = 0.95
    adjustment: Adjustment = "step-down"
    reference: Hashable | Mapping[str, Hashable] | None = None
    random_state: int = 0
    score_range: tuple[float, float] | None = None
    suppress_below: int | None = None
    unit: str | None = None
    preset: Preset | None = None
    smooth: tuple[str, ...] = ()
    windows: int | None = None
    min_coverage: float = 0.5

    def __post_init__(self) -> None:
        # Numbers of numpy are taken for what they are; JSON would not know them.
        for name in ("min_cell", "permutations", "random_state"):
            object.__setattr__(self, name, _whole(getattr(self, name), name))
        if self.suppress_below is not None:
            limit = _whole(self.suppress_below, "suppress_below")
            if limit < 2:
                raise InputError(f"suppress_below must be 2 or more, or None, not {limit}.")
            object.__setattr__(self, "suppress_below", limit)
        if not 0 <= self.permutations <= _MOST_PERMUTATIONS:
            raise InputError(
                f"permutations must lie between 0 and {_MOST_PERMUTATIONS:,}, not "
                f"{self.permutations}."
            )
        if not _SEEDS[0] <= self.random_state <= _SEEDS[1]:
            raise InputError(f"random_state must fit into 64 bits, not {self.random_state}.")
        if not 0.0 < real(self.confidence) < 1.0:
            raise InputError(f"confidence must lie between 0 and 1, not {self.confidence!r}.")
        object.__setattr__(self, "confidence", real(self.confidence))
        object.__setattr__(self, "min_coverage", _share(self.min_coverage))
        if not is_one_of(self.adjustment, get_args(Adjustment)):
            raise InputError(
                f"adjustment must be one of {get_args(Adjustment)}, not {self.adjustment!r}."
            )
        _check_extras(self.unit, self.preset)
        if self.score_range is not None:
            object.__setattr__(self, "score_range", _range(self.score_range))
        if self.smooth:
            self._check_smooth()

    def _check_smooth(self) -> None:
        """Refuse what has no meaning where scores were carried to windows."""
        if not isinstance(self.measure, str):
            raise InputError(
                "measure cannot give weights to levels that smooth makes; name one, such as "
                "'marginal', or cut the numbers into bins."
            )
        if self.score_range is not None:
            raise InputError(
                "score_range gives a certificate that holds whatever the law of the scores, and "
                "none does along a number; leave out score_range or smooth."
            )


def _check_extras(unit: str | None, preset: Preset | None) -> None:
    if unit is not None and not str(unit).strip():
        raise InputError(f"unit must be a word such as 'EUR', not {unit!r}.")
    if preset is not None and not is_one_of(preset, get_args(Preset)):
        raise InputError(f"preset must be one of {get_args(Preset)}, not {preset!r}.")


def _share(value: float) -> float:
    if isinstance(value, bool) or not 0.0 <= real(value) <= 1.0:
        raise InputError(f"min_coverage must lie between 0 and 1, not {value!r}.")
    return real(value)


def _whole(value: int, name: str) -> int:
    try:
        return index(value)
    except TypeError as error:
        raise InputError(f"{name} must be a whole number, not {value!r}.") from error


def _range(ends: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in ends)
    except (TypeError, ValueError) as error:
        raise InputError(f"score_range must be two numbers, not {ends!r}.") from error
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"score_range must be a lower and a higher number, not {ends!r}.")
    return low, high
