"""What an estimator is asked for: a penalty with a strength, or a limit."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from likeforlike._arrays import real
from likeforlike.disparity._numeric_levels import warn_of_thin_levels
from likeforlike.errors import InputError
from likeforlike.estimators._grouped import GroupedEstimator
from likeforlike.inference import DistanceEstimate
from likeforlike.limits._limit import Candidate, Limit
from likeforlike.penalties import FairLeap, Layout, Penalty
from likeforlike.penalties._worst_pair import worst_pair


@dataclass(kw_only=True, eq=False, repr=False)
class AimedEstimator(GroupedEstimator):
    """An estimator under a penalty or a limit: what all of them are asked, and tell."""

    penalty: Penalty | None = None
    strength: float | None = None
    max_disparity: float | None = None
    limit_confidence: float = 0.9
    validation_fraction: float = 0.2
    limit_fraction: float = 0.2
    random_state: int | np.random.RandomState | None = None
    verbose: bool = False
    strength_: float = field(init=False)
    disparity_: DistanceEstimate | None = field(init=False)
    coverage_: dict[Hashable, float] | None = field(init=False)
    path_: tuple[Candidate, ...] = field(init=False)
    loss_curve_: list[float] = field(init=False)
    n_iter_: int = field(init=False)


@dataclass(frozen=True, slots=True)
class Aim:
    """What was asked for, checked.

    Attributes
    ----------
    penalty : `FairLeap()` unless another was named.
    strength : 1 unless another was named; a limit finds its own.
    limit : or `None`.
    """

    penalty: Penalty
    strength: float
    limit: Limit | None

    @property
    def needs_groups(self) -> bool:
        """Whether training without groups is worth a warning."""
        return self.limit is not None or self.strength != 0.0

    def penalty_for(self, layout: Layout) -> Penalty:
        """What is penalized in rows of a layout: under a limit, the groups that differ most."""
        return self.penalty if self.limit is None else worst_pair(self.penalty, layout)

    def prepared(self, layout: Layout) -> Layout:
        """The layout as the penalty takes it; raises where nothing can be compared."""
        penalty = self.penalty_for(layout)
        prepared = penalty.prepared(layout)
        penalty.check(prepared)
        if not prepared.away.size and len(penalty.compared(prepared).levels) > 1:
            warn_of_thin_levels(layout.levels, layout.size, "penalty=SmoothFairLeap()")
        return prepared

    @classmethod
    def of(cls, estimator: AimedEstimator) -> Aim:
        """The aim of an estimator; raises if its settings make no sense."""
        penalty, strength = estimator.penalty, estimator.strength
        if penalty is not None and not isinstance(penalty, Penalty):
            raise InputError(f"penalty must be a penalty such as FairLeap(), not {penalty!r}.")
        if strength is not None and estimator.max_disparity is not None:
            raise InputError(
                "give either strength or max_disparity: a limit finds its own strength."
            )
        if strength is not None and not 0.0 <= real(strength) < math.inf:
            raise InputError(f"strength must be a finite number of 0 or more, not {strength!r}.")
        asked = 0.0 if estimator.max_disparity is None else estimator.max_disparity
        limit = Limit(asked, estimator.limit_confidence)
        _check_fractions(estimator)
        return cls(
            FairLeap() if penalty is None else penalty,
            1.0 if strength is None else float(strength),
            None if estimator.max_disparity is None else limit,
        )


def _check_fractions(estimator: AimedEstimator) -> None:
    """Raise unless rows are left to train on."""
    validation, limit = estimator.validation_fraction, estimator.limit_fraction
    if not 0.0 < real(validation) < 1.0:
        raise InputError(f"validation_fraction must lie between 0 and 1, not {validation!r}.")
    if not 0.0 < real(limit) < 1.0 - validation:
        raise InputError(
            "limit_fraction must be more than 0 and leave rows to train on beside "
            f"validation_fraction={validation:g}, not {limit!r}."
        )
