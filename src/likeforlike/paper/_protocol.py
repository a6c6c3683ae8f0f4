"""The paper's protocol: four data sets, ten methods, 76 settings, ten runs; and our recipe beside.

What the paper says is followed: networks with 50 and 20 hidden units, Adam at 0.001, at most 500
epochs, a patience of 50, batches of 1,024 (Adult), 256 (Drug) and 128 (Law School, Communities) in
which every cell has its share, the sensitive feature among the inputs of every method, and
strengths as the tables label them (the two lists of the appendix are exchanged there). What it does
not say is decided here:

- rows are split 60/20/20 by cells, the split of run k has seed k;
- a model stops by its own objective, loss and penalty, on all validation rows;
- inputs are standardised, categories one-hot; penalties are exact where the paper's are entropic;
- DCFR trains with Adadelta at rate 1, as its authors do; the adversaries of adversarial debiasing
  see (score, level) or the score alone, without weights.

Our recipe (`FairLeap()`, `FairBiT()` by slope fields) is run twice: on the inputs of the paper, to
compare like with like, and without the sensitive feature, as we recommend. `FairLeap()` on each
batch is run too: it tells what the penalty does from what the samples do.

References
----------
Ghassemi et al. (2025), section 6 and appendix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from likeforlike.datasets import (
    Dataset,
    load_adult,
    load_communities,
    load_drug,
    load_law_school,
)
from likeforlike.errors import InputError
from likeforlike.experiments._methods import (
    DCFR,
    Adversarial,
    LegitimateOnly,
    Method,
    Penalised,
    Plain,
    WithoutSensitive,
)
from likeforlike.experiments._repairing import PostProcessed, Repaired
from likeforlike.experiments._task import Task
from likeforlike.experiments._vocabulary import FAIRLEAPS, PAPER_DATASETS
from likeforlike.penalties import FairBiT, FairLeap, WassersteinPenalty


def _spaced(low: float, high: float) -> tuple[float, ...]:
    """Ten strengths, evenly spaced in their logarithms."""
    return tuple(float(value) for value in np.geomspace(low, high, 10))


_TENTHS = tuple(k / 10 for k in range(11))

PAPER_METHODS: tuple[Method, ...] = (
    Plain(),
    LegitimateOnly(),
    Penalised("FairBiT", _spaced(1e-4, 10.0), FairBiT.paper(), penalty_rows=None),
    *(
        Penalised(name, _spaced(1e-4, 100.0), FairLeap.paper(measure), penalty_rows=None)
        for name, measure in FAIRLEAPS.items()
    ),
    DCFR("DCFR", (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, 10.0, 15.0, 20.0)),
    Adversarial("adversarial, CDP", (1.0,), "conditional", weighted=False),
    Adversarial("adversarial, DP", (1.0,), "parity", weighted=False),
    Repaired("repair", _TENTHS),
    Penalised("Wasserstein", _spaced(1e-4, 10.0), WassersteinPenalty.paper(), penalty_rows=None),
)
"""The methods of the paper with their strengths: 76 settings.

Adversarial debiasing counts as one method in the paper and has two versions.
"""

_STRENGTHS = _spaced(0.03, 100.0)
_FAIRLEAP = Penalised("our FairLeap", _STRENGTHS, FairLeap())
_FAIRBIT = Penalised("our FairBiT", _STRENGTHS, FairBiT())
OWN_METHODS: tuple[Method, ...] = (
    _FAIRLEAP,
    _FAIRBIT,
    Penalised("our FairLeap, by batch", _STRENGTHS, FairLeap(), penalty_rows=None),
    WithoutSensitive("our FairLeap, A unseen", _STRENGTHS, _FAIRLEAP),
    WithoutSensitive("our FairBiT, A unseen", _STRENGTHS, _FAIRBIT),
    PostProcessed("barycentre", _TENTHS),
)
"""Our recipe, with and without the sensitive feature among the inputs; its penalty on each batch in
place of large samples; and our post-processing."""


def protocol_methods(names: Sequence[str] | None) -> tuple[Method, ...]:
    """Methods of the paper and our own by their names; all of them for `None`."""
    methods = {method.name: method for method in (*PAPER_METHODS, *OWN_METHODS)}
    unknown = [name for name in names or () if name not in methods]
    if unknown:
        raise InputError(f"method must be among {list(methods)}, not {unknown[0]!r}.")
    return tuple(methods.values()) if not names else tuple(methods[name] for name in names)


@dataclass(frozen=True, slots=True)
class _Setting:
    load: Callable[[], Dataset]
    batch_size: int


def _adult() -> Dataset:
    return load_adult(sample=5000)


_SETTINGS = {
    "adult": _Setting(_adult, 1024),
    "drug": _Setting(load_drug, 256),
    "law_school": _Setting(load_law_school, 128),
    "communities": _Setting(load_communities, 128),
}


@dataclass(frozen=True, slots=True)
class Profile:
    """How much of the protocol is run.

    Attributes
    ----------
    runs : splits of every data set.
    max_epochs, patience : when networks stop.
    every : one strength in so many is kept, and always the largest.

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
        """The `methods` with the strengths that are kept."""
        return [
            replace(method, strengths=method.strengths[:: -self.every][::-1]) for method in methods
        ]


def paper_task(name: str, profile: Profile | None = None) -> Task:
    """A data set of the paper, and how networks are trained on it."""
    if name not in _SETTINGS:
        raise InputError(f"dataset must be one of {list(PAPER_DATASETS)}, not {name!r}.")
    chosen = profile or Profile()
    setting = _SETTINGS[name]
    return Task(
        setting.load(),
        batch_size=setting.batch_size,
        max_epochs=chosen.max_epochs,
        patience=chosen.patience,
        with_sensitive=True,
    )
