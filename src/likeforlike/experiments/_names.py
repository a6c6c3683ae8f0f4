"""Names of data sets, methods and disparities, in files and in reports; methods by name.

Nothing is loaded or trained here, so the command line reads it for its help.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from likeforlike import experiments, penalties
from likeforlike.errors import InputError

if TYPE_CHECKING:
    from likeforlike._settings import MeasureName


DATASET_LABELS = {
    "adult": "Adult",
    "drug": "Drug",
    "law_school": "Law School",
    "communities": "Communities",
}
"""The paper's data sets by name, and as people write them."""

PAPER_DATASETS = tuple(DATASET_LABELS)
"""Names of the paper's data sets."""

CLASSIFICATION, REGRESSION = PAPER_DATASETS[:2], PAPER_DATASETS[2:]
"""Names of those with classes and of those with numbers for a target."""

DISPARITY_LABELS = {
    "cdd_wass": "CDD-wass",
    "cdd_uniform": "CDD-lp uniform",
    "cdd_average": "CDD-lp average",
    "cdd_marginal": "CDD-lp P(L)",
    "w2sq_uniform": "W_2² uniform",
    "w2sq_average": "W_2² average",
    "w2sq_marginal": "W_2² P(L)",
    "dd": "DD",
    "squared": "estimate without small-sample bias",
}
"""Disparities by the column that holds them, and as people write them."""

FAIRLEAPS: dict[str, MeasureName] = {
    "FairLeap, uniform": "uniform",
    "FairLeap, P(L)": "marginal",
    "FairLeap, average": "average",
}
"""The paper's variants of FairLeap, and how each weights levels."""

PAPER_METHOD_NAMES = (
    "paper-fairbit",
    "paper-fairleap-uniform",
    "paper-fairleap-marginal",
    "paper-fairleap-average",
    "paper-wasserstein",
    "paper-dcfr",
    "paper-adversarial",
    "paper-adversarial-parity",
    "paper-repair",
    "paper-fairbit-entropic",
    "paper-fairleap-uniform-entropic",
    "paper-fairleap-marginal-entropic",
    "paper-fairleap-average-entropic",
    "paper-wasserstein-entropic",
)
"""Names by which the command line knows the paper's methods: exact, as rivals, and entropic."""


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
"""Names of methods that the command line knows."""


def named_methods(
    names: Sequence[str],
    strengths: Sequence[float],
    *,
    of_method: Mapping[str, Sequence[float]] | None = None,
    smooth: bool = False,
) -> list[experiments.Method]:
    """Make methods by their names; those that have strengths get the ones given.

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
