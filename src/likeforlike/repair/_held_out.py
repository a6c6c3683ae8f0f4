"""What a repair does to rows it was not fitted on, measured with the true groups."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.disparity._cells import Cells
from likeforlike.disparity._columns import Codes
from likeforlike.disparity._contrasts import contrasts
from likeforlike.disparity._measures import level_weights
from likeforlike.inference._distance import DistanceEstimate, estimate_distance
from likeforlike.inference._gap import Gap, signed_gap

# Where there are many groups, those pairs are measured that have the most rows.
_MOST_PAIRS = 10


class Parity(NamedTuple):
    """Two groups among equals, before a repair and after it, on rows held out.

    Attributes
    ----------
    groups : the two.
    before, after : their distance with its interval. Intervals of all pairs hold together.
    gap_before, gap_after : their signed gap with its interval.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.repair import UnawareRepair
    >>> loans = make_loans(4000, gap=0.2)
    >>> knows = (loans.groups == "male").astype(float)
    >>> who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    >>> scores = loans.frame["score"]
    >>> repair = UnawareRepair(propensity="given").fit(scores, knows, **who)
    >>> parity = repair.parity_[0]
    >>> parity.groups, abs(parity.gap_after.value) < 0.5 * abs(parity.gap_before.value)
    (('female', 'male'), True)
    """

    groups: tuple[Hashable, Hashable]
    before: DistanceEstimate
    after: DistanceEstimate
    gap_before: Gap
    gap_after: Gap


class Moved(NamedTuple):
    """How far the people of a cell were moved.

    Attributes
    ----------
    level, group : labels of the cell.
    rows : how many there are.
    mean : mean change, in units of the score; of decisions, the change of the rate.
    distance : mean absolute change; of decisions, the share that was changed.
    most : the largest absolute change.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.repair import UnawareRepair
    >>> loans = make_loans(4000, gap=0.2)
    >>> knows = (loans.groups == "male").astype(float)
    >>> repair = UnawareRepair(propensity="given")
    >>> repair = repair.fit(loans.frame["score"], knows, sensitive_features=loans.groups)
    >>> [(cell.group, cell.mean > 0.0) for cell in repair.moved_]
    [('female', True), ('male', False)]
    """

    level: Hashable
    group: Hashable
    rows: int
    mean: float
    distance: float
    most: float


def parities(
    before: FloatArray,
    after: FloatArray,
    group: Codes,
    level: Codes,
    mass: FloatArray | None,
    unit: Codes | None = None,
    confidence: float = 0.95,
) -> tuple[Parity, ...]:
    """Measure every pair of groups that meets in a level; at most ten, those with most rows."""
    found = []
    for scores in (before, after):
        cells = Cells.from_codes(level, group, scores, sample_weight=mass, cluster=unit)
        met = [one for one in contrasts(cells, "pairwise") if one.support.any()]
        met.sort(key=lambda one: -int(one.counts[one.support].min(axis=1).sum()))
        found.append(met[:_MOST_PAIRS])
    each = 1.0 - (1.0 - confidence) / max(len(found[0]), 1)
    measured = []
    for old, new in zip(*found, strict=True):
        measure = level_weights(old, "marginal")
        first, second = old.groups
        measured.append(
            Parity(
                (first, second),
                estimate_distance(old, measure, confidence=each),
                estimate_distance(new, measure, confidence=each),
                signed_gap(old, measure, confidence=each),
                signed_gap(new, measure, confidence=each),
            )
        )
    return tuple(measured)


def squared_disparity(
    scores: FloatArray, group: Codes, level: Codes, mass: FloatArray, unit: Codes | None = None
) -> float:
    """Σ_l Q(l) W_1²(l) without small-sample bias, summed over the pairs of groups."""
    cells = Cells.from_codes(level, group, scores, sample_weight=mass, cluster=unit)
    return sum(
        estimate_distance(one, level_weights(one, "marginal")).squared
        for one in contrasts(cells, "pairwise")
        if one.support.any()
    )


def clear_of_noise(
    scores: FloatArray,
    group: Codes,
    level: Codes,
    mass: FloatArray,
    unit: Codes | None = None,
    confidence: float = 0.8,
) -> bool:
    """Whether any two groups differ among equals, by the lower end of their interval."""
    cells = Cells.from_codes(level, group, scores, sample_weight=mass, cluster=unit)
    return any(
        estimate_distance(one, level_weights(one, "marginal"), confidence=confidence).interval[0]
        > 0
        for one in contrasts(cells, "pairwise")
        if one.support.any()
    )


def moves(change: FloatArray, group: Codes, level: Codes, mass: FloatArray) -> tuple[Moved, ...]:
    """How far the people of every cell were moved."""
    n_groups = len(group.labels)
    cell = level.codes * n_groups + group.codes
    size = n_groups * len(level.labels)
    rows, held = np.bincount(cell, minlength=size), np.bincount(cell, mass, minlength=size)
    mean = np.bincount(cell, mass * change, minlength=size)
    distance = np.bincount(cell, mass * np.abs(change), minlength=size)
    most = np.zeros(size)
    np.maximum.at(most, cell, np.abs(change))
    return tuple(
        Moved(
            level.labels[k // n_groups],
            group.labels[k % n_groups],
            int(rows[k]),
            float(mean[k] / held[k]),
            float(distance[k] / held[k]),
            float(most[k]),
        )
        for k in np.flatnonzero(rows).tolist()
    )
