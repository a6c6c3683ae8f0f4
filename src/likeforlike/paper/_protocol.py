"""The paper's protocol: four data sets, ten methods, 76 settings, ten runs; and what we add.

What the paper says is followed: networks with 50 and 20 hidden units, Adam at 0.001, at most 500
epochs, a patience of 50, batches of 1,024 (Adult), 256 (Drug) and 128 (Law School, Communities) in
which every level has its share, the sensitive feature among the inputs of every method, and
strengths as the tables label them (the two lists of the appendix are exchanged there). `DEPARTURES`
says where it is not followed, and `DECISIONS` what it leaves open and is decided here.

Methods come in three lists:

- `PAPER_METHODS`, the paper's 76 settings, with exact transport in the place of entropic;
- `LITERAL_METHODS`, the same regularizers as Algorithm 1 and the text have them, entropic, and in
  the readings that its tables suggest; its rivals as fairlearn has them; its future work;
- `OWN_METHODS`, our recipe.

References
----------
Ghassemi et al. (2025), section 6 and appendix F.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray
from likeforlike.datasets import (
    Dataset,
    load_adult,
    load_communities,
    load_drug,
    load_law_school,
)
from likeforlike.disparity import cdd_wass
from likeforlike.errors import InputError, LevelCostWarning
from likeforlike.experiments import (
    DCFR,
    FAIRLEAPS,
    PAPER_DATASETS,
    PAPER_METHOD_NAMES,
    Adversarial,
    FairlearnAdversarial,
    HardLabels,
    LegitimateOnly,
    Method,
    Penalized,
    Plain,
    PostProcessed,
    Repaired,
    RepairedPenalized,
    Task,
    WithoutSensitive,
)
from likeforlike.penalties import FairBiT, FairLeap, Penalty, WassersteinPenalty


def _log_grid(low: float, high: float) -> tuple[float, ...]:
    """Ten strengths, evenly spaced in their logarithms."""
    return tuple(float(value) for value in np.geomspace(low, high, 10))


_TENTHS = tuple(k / 10 for k in range(11))

REG = 0.05
"""Strength of the entropic term in training. The paper does not say its own; of those tried, this
one comes closest to its printed CDD-wass."""


def _by_batch(name: str, strengths: tuple[float, ...], penalty: Penalty) -> Method:
    """Make a method that penalizes batches drawn by level, as the paper does."""
    return Penalized(name, strengths, penalty, penalty_rows=None, strata="levels")


_BIT, _LEAP = _log_grid(1e-4, 10.0), _log_grid(1e-4, 100.0)
_ADVERSARIES = (
    Adversarial("adversarial, CDP", (1.0,), "conditional", weighted=False),
    Adversarial("adversarial, DP", (1.0,), "parity", weighted=False),
)
_REPAIR = Repaired("repair", _TENTHS)

PAPER_METHODS: tuple[Method, ...] = (
    Plain(),
    LegitimateOnly(),
    _by_batch("FairBiT", _BIT, FairBiT.paper()),
    *(_by_batch(name, _LEAP, FairLeap.paper(measure)) for name, measure in FAIRLEAPS.items()),
    DCFR("DCFR", (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, 10.0, 15.0, 20.0)),
    *_ADVERSARIES,
    _REPAIR,
    _by_batch("Wasserstein", _BIT, WassersteinPenalty.paper()),
)
"""The methods of the paper with their strengths: 76 settings, by exact transport.

Adversarial debiasing counts as one method in the paper and has two versions.
"""

LITERAL_METHODS: tuple[Method, ...] = (
    _by_batch("FairBiT, Algorithm 1", _BIT, FairBiT.paper(reg=REG, root=True)),
    _by_batch("FairBiT, entropic", _BIT, FairBiT.paper(reg=REG)),
    *(
        _by_batch(f"{name}, entropic", _LEAP, FairLeap.paper(measure, reg=REG))
        for name, measure in FAIRLEAPS.items()
    ),
    _by_batch("Wasserstein, entropic", _BIT, WassersteinPenalty.paper(reg=REG)),
    _by_batch(
        "FairLeap, P(L), entropic squared",
        tuple(100.0 * strength for strength in _LEAP),
        FairLeap.paper("marginal", order=2.0, reg=REG),
    ),
    _by_batch("Wasserstein, squared", _BIT, WassersteinPenalty.paper(order=2.0)),
    FairlearnAdversarial("fairlearn"),
    HardLabels("fairlearn, hard", (1.0,), FairlearnAdversarial()),
    *(HardLabels(f"{one.name}, hard", one.strengths, one) for one in _ADVERSARIES),
    WithoutSensitive("repair, A unseen", _TENTHS, _REPAIR),
    *(
        WithoutSensitive(
            f"repair {amount:g} and FairBiT, A unseen",
            _BIT,
            RepairedPenalized(
                "", _BIT, FairBiT.paper(), amount, penalty_rows=None, strata="levels"
            ),
        )
        for amount in (0.0, 0.25, 0.5, 0.75, 1.0)
    ),
)
"""The paper's regularizers to the letter and in the readings its tables suggest; its rivals as
fairlearn has them, and with A out of the inputs; its future work, repair and FairBiT together."""

_STRENGTHS = _log_grid(0.03, 100.0)
_FAIRLEAP = Penalized("our FairLeap", _STRENGTHS, FairLeap())
_FAIRBIT = Penalized("our FairBiT", _STRENGTHS, FairBiT())
OWN_METHODS: tuple[Method, ...] = (
    _FAIRLEAP,
    _FAIRBIT,
    Penalized("our FairLeap, by batch", _STRENGTHS, FairLeap(), penalty_rows=None),
    WithoutSensitive("our FairLeap, A unseen", _STRENGTHS, _FAIRLEAP),
    WithoutSensitive("our FairBiT, A unseen", _STRENGTHS, _FAIRBIT),
    PostProcessed("barycenter", _TENTHS),
)
"""Our recipe, with and without the sensitive feature among the inputs; its penalty on each batch in
place of large samples; and our post-processing."""

ALL_METHODS: tuple[Method, ...] = (*PAPER_METHODS, *LITERAL_METHODS, *OWN_METHODS)
"""Everything that a reproduction runs."""


def paper_methods(names: Sequence[str] | None = None) -> list[Method]:
    """List the paper's methods with their strengths, for sweeps of one's own data.

    Parameters
    ----------
    names : as the command line has them, such as "paper-fairbit" or "paper-fairleap-uniform"; with
        "-entropic" the paper's own regularizer, FairBiT with the root that Algorithm 1 returns.
        `None` means all of the paper's 76 settings, by exact transport.

    Examples
    --------
    >>> from likeforlike.paper import paper_methods
    >>> [(method.name, len(method.strengths)) for method in paper_methods(["paper-fairbit"])]
    [('FairBiT', 10)]
    >>> len(paper_methods())
    11
    """
    if names is None:
        return list(PAPER_METHODS)
    unknown = [name for name in names if name not in PAPER_METHOD_NAMES]
    if unknown:
        raise InputError(f"name must be among {list(PAPER_METHOD_NAMES)}, not {unknown[0]!r}.")
    return [_methods_by_name()[name] for name in dict.fromkeys(names)]


def _methods_by_name() -> dict[str, Method]:
    """List the paper's methods by the names of the command line."""
    methods = {method.name: method for method in ALL_METHODS}
    exact = ["FairBiT", *FAIRLEAPS, "Wasserstein"]
    rivals = ["DCFR", "adversarial, CDP", "adversarial, DP", "repair"]
    entropic = ["FairBiT, Algorithm 1", *(f"{name}, entropic" for name in exact[1:])]
    labels = (*exact, *rivals, *entropic)
    return {name: methods[label] for name, label in zip(PAPER_METHOD_NAMES, labels, strict=True)}


def protocol_methods(names: Sequence[str] | None) -> tuple[Method, ...]:
    """Methods of the paper and our own by their names; all of them for `None`."""
    methods = {method.name: method for method in ALL_METHODS}
    unknown = [name for name in names or () if name not in methods]
    if unknown:
        raise InputError(f"method must be among {list(methods)}, not {unknown[0]!r}.")
    return tuple(methods.values()) if not names else tuple(methods[name] for name in names)


def _adult() -> Dataset:
    return load_adult(sample=5000)


_SETTINGS: dict[str, tuple[Callable[[], Dataset], int]] = {
    "adult": (_adult, 1024),
    "drug": (load_drug, 256),
    "law_school": (load_law_school, 128),
    "communities": (load_communities, 128),
}


@dataclass(frozen=True, slots=True)
class Profile:
    """How much of the protocol is run.

    Attributes
    ----------
    runs : splits of every data set.
    max_epochs, patience : when networks stop.
    every : one strength in this many is kept, and always the largest.

    Examples
    --------
    >>> from likeforlike.paper import Profile
    >>> Profile.quick()
    Profile(runs=2, max_epochs=1, patience=1, every=5)
    """

    runs: int = 10
    max_epochs: int = 500
    patience: int = 50
    every: int = 1

    @classmethod
    def quick(cls) -> Profile:
        """Two runs of one epoch at few strengths: to see that all of it works."""
        return cls(runs=2, max_epochs=1, patience=1, every=5)

    def methods(self, methods: tuple[Method, ...]) -> list[Method]:
        """Return the `methods` with the strengths that are kept."""
        return [
            replace(method, strengths=method.strengths[:: -self.every][::-1]) for method in methods
        ]


@dataclass(frozen=True, slots=True)
class AlgorithmOne:
    """CDD-wass by Algorithm 1 of the paper, less what the levels alone cost: a measure of a run.

    Attributes
    ----------
    reg : strength of the entropic term.
    """

    reg: float

    def __call__(
        self,
        scores: FloatArray,
        targets: FloatArray,
        groups: npt.NDArray[Any],
        levels: npt.NDArray[Any],
    ) -> float:
        """Measure the scores of test rows."""
        del targets
        with warnings.catch_warnings(action="ignore", category=LevelCostWarning):
            return cdd_wass(
                scores, groups, levels, level_metric="ordinal", level_cost=1.0, reg=self.reg
            ).excess


ENTROPIC_MEASURES = {f"cdd_wass_{reg:g}": AlgorithmOne(reg) for reg in (0.02, 0.05, 0.1)}
"""CDD-wass by Algorithm 1 at three strengths of the entropic term, one of which the paper used."""


def protocol_task(data: Dataset, batch_size: int, profile: Profile | None = None) -> Task:
    """How networks are trained on a data set, and what is measured of them."""
    chosen = profile or Profile()
    return Task(
        data,
        batch_size=batch_size,
        max_epochs=chosen.max_epochs,
        patience=chosen.patience,
        with_sensitive=True,
        measures=ENTROPIC_MEASURES,
    )


def paper_task(name: str, profile: Profile | None = None) -> Task:
    """Load a data set of the paper with the settings by which networks are trained on it."""
    if name not in _SETTINGS:
        raise InputError(f"dataset must be one of {list(PAPER_DATASETS)}, not {name!r}.")
    load, batch_size = _SETTINGS[name]
    return protocol_task(load(), batch_size, profile)
