"""Methods by name, for the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from likeforlike import experiments, penalties
from likeforlike.errors import InputError

# Methods are looked up in their package when they are made, not before: the command line reads the
# names for its help, which should not wait for torch.
_MADE: dict[str, Callable[[tuple[float, ...]], experiments.Method]] = {
    "none": lambda _: experiments.Plain(),
    "legitimate-only": lambda _: experiments.LegitimateOnly(),
    "fairleap": lambda strengths: experiments.Penalised(
        "FairLeap", strengths, penalties.FairLeap()
    ),
    "fairbit": lambda strengths: experiments.Penalised("FairBiT", strengths, penalties.FairBiT()),
    "wasserstein": lambda strengths: experiments.Penalised(
        "Wasserstein", strengths, penalties.WassersteinPenalty()
    ),
    "repair": lambda _: experiments.Repaired(),
    "barycentre": lambda _: experiments.PostProcessed(),
    "unaware": lambda _: experiments.WithoutGroups(),
    "decisions": lambda _: experiments.Decided(),
    "adversarial": lambda strengths: experiments.Adversarial("adversarial", strengths),
    "dcfr": lambda strengths: experiments.DCFR("DCFR", strengths),
}
METHOD_NAMES = tuple(_MADE)
"""Names of methods that the command line knows.

Examples
--------
>>> from likeforlike.experiments import METHOD_NAMES
>>> "fairbit" in METHOD_NAMES
True
"""


def named_methods(names: Sequence[str], strengths: Sequence[float]) -> list[experiments.Method]:
    """Methods by their names; those that have strengths get the ones given.

    Parameters
    ----------
    names : from `METHOD_NAMES`; one that is repeated counts once.
    strengths : numbers of 0 or more.

    Examples
    --------
    >>> from likeforlike.experiments import named_methods
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
