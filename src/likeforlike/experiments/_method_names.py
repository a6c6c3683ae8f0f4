"""Methods by name, for the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from likeforlike import experiments, penalties
from likeforlike.errors import InputError

# Methods are looked up in their package when they are made, not before: the command line reads the
# names for its help, which should not wait for torch.
_MADE: dict[str, Callable[[tuple[float, ...]], experiments.Method]] = {
    "none": lambda _: experiments.Plain(),
    "legitimate-only": lambda _: experiments.LegitimateOnly(),
    "fairleap": lambda strengths: experiments.Penalized(
        "FairLeap", strengths, penalties.FairLeap()
    ),
    "fairbit": lambda strengths: experiments.Penalized("FairBiT", strengths, penalties.FairBiT()),
    "wasserstein": lambda strengths: experiments.Penalized(
        "Wasserstein", strengths, penalties.WassersteinPenalty()
    ),
    "repair": lambda _: experiments.Repaired(),
    "barycenter": lambda _: experiments.PostProcessed(),
    "unaware": lambda _: experiments.WithoutGroups(),
    "decisions": lambda _: experiments.Decided(),
    "adversarial": lambda strengths: experiments.Adversarial("adversarial", strengths),
    "dcfr": lambda strengths: experiments.DCFR("DCFR", strengths),
    "fairlearn": lambda strengths: experiments.FairlearnAdversarial("fairlearn", strengths),
}
METHOD_NAMES = tuple(_MADE)
"""Names of methods that the command line knows.

Examples
--------
>>> from likeforlike.experiments import METHOD_NAMES
>>> "fairbit" in METHOD_NAMES
True
"""


def named_methods(
    names: Sequence[str],
    strengths: Sequence[float],
    *,
    of_method: Mapping[str, Sequence[float]] | None = None,
    smooth: bool = False,
) -> list[experiments.Method]:
    """Methods by their names; those that have strengths get the ones given.

    Parameters
    ----------
    names : from `METHOD_NAMES`; one that is repeated counts once.
    strengths : numbers of 0 or more.
    of_method : {name: strengths} of methods that get others.
    smooth : whether levels are numbers: "fairleap" is then `SmoothFairLeap`.

    Examples
    --------
    >>> from likeforlike.experiments import named_methods
    >>> methods = named_methods(["fairleap", "dcfr"], [1.0, 10.0], of_method={"dcfr": [0.1]})
    >>> [(method.name, method.strengths) for method in methods]
    [('FairLeap', (1.0, 10.0)), ('DCFR', (0.1,))]
    """
    given = dict(of_method or {})
    for name in (*names, *given):
        if name not in _MADE:
            raise InputError(f"there is no method {name!r}; there are {list(METHOD_NAMES)}.")
    idle = [name for name in given if name not in names]
    if idle:
        raise InputError(f"strengths are given for {idle[0]!r}, which is not among the methods.")
    for values in (strengths, *given.values()):
        if not values or any(not 0.0 <= strength < float("inf") for strength in values):
            raise InputError(f"strengths must be numbers of 0 or more, not {list(values)}.")
    made = {name: _MADE[name](tuple(given.get(name, strengths))) for name in names}
    if smooth and "fairleap" in made:
        own = tuple(given.get("fairleap", strengths))
        along = experiments.Penalized("SmoothFairLeap", own, penalties.SmoothFairLeap())
        made["fairleap"] = along
    return list(made.values())
