"""Methods by name, for the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from likeforlike.errors import InputError
from likeforlike.experiments.methods import (
    DCFR,
    Adversarial,
    LegitimateOnly,
    Method,
    Penalised,
    Plain,
)
from likeforlike.experiments.repairing import Repaired
from likeforlike.penalties import FairBiT, FairLeap, WassersteinPenalty

__all__ = ["METHOD_NAMES", "named_methods"]

_MADE: dict[str, Callable[[tuple[float, ...]], Method]] = {
    "none": lambda _: Plain(),
    "legitimate-only": lambda _: LegitimateOnly(),
    "fairleap": lambda strengths: Penalised("FairLeap", strengths, FairLeap()),
    "fairbit": lambda strengths: Penalised("FairBiT", strengths, FairBiT()),
    "wasserstein": lambda strengths: Penalised("Wasserstein", strengths, WassersteinPenalty()),
    "repair": lambda _: Repaired(),
    "adversarial": lambda strengths: Adversarial("adversarial", strengths),
    "dcfr": lambda strengths: DCFR("DCFR", strengths),
}
METHOD_NAMES = tuple(_MADE)
"""Names the command line knows."""


def named_methods(names: Sequence[str], strengths: Sequence[float]) -> list[Method]:
    """Methods by their names; those that have strengths get the ones given.

    Parameters
    ----------
    names : from `METHOD_NAMES`; one that is repeated counts once.
    strengths : numbers of 0 or more.

    Examples
    --------
    >>> from likeforlike.experiments.named import named_methods
    >>> [method.name for method in named_methods(["none", "fairleap"], [1.0, 10.0])]
    ['no regularisation', 'FairLeap']
    """
    unknown = [name for name in names if name not in _MADE]
    if unknown:
        raise InputError(f"there is no method {unknown[0]!r}; there are {list(METHOD_NAMES)}.")
    bad = [strength for strength in strengths if not 0.0 <= strength < float("inf")]
    if bad or not strengths:
        raise InputError(f"strengths must be numbers of 0 or more, not {list(strengths)}.")
    return [_MADE[name](tuple(strengths)) for name in dict.fromkeys(names)]
