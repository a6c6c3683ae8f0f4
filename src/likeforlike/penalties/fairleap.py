"""FairLeap: conditional fairness in the l_p sense, level by level.

    V(f) = Σ_l Q(l) W_p^p(P_0^l, P_1^l),

with P_a^l the law of the scores of group a in level l and Q a measure over the levels where groups
meet. With more than two groups the inner cost of a level is the mean over pairs of groups,

    Σ_{a<b} ω_a ω_b W_p^p(P_a^l, P_b^l) / Σ_{a<b} ω_a ω_b,   ω_a = P(A = a | L = l),

which for p = 2 is the spread Σ_a ω_a W_2²(P_a^l, B^l) around the barycentre B^l, up to the same
factor, and for two groups the cost between them.

Reference: Ghassemi et al. (2025), FairLeap.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import get_args

import numpy as np

from likeforlike.errors import InputError
from likeforlike.measures import Measure, MeasureName
from likeforlike.penalties.group_mass import group_mass, pair_mass
from likeforlike.penalties.layout import Layout
from likeforlike.penalties.penalty import Penalty, check_order, group_shares
from likeforlike.transport.atoms import FloatArray, IntArray
from likeforlike.transport.compiled import compiled
from likeforlike.transport.pairs import add_pair, row_slopes
from likeforlike.transport.rows import sorted_atoms
from likeforlike.transport.threads import in_parts

__all__ = ["FairLeap", "levelwise"]

_MEASURES = get_args(MeasureName)
_GIVEN = len(_MEASURES)


@compiled
def _scale_to_one(weights: FloatArray) -> None:
    """Divide weights by their sum, unless that is 0."""
    whole = 0.0
    for weight in weights:
        whole += weight
    if whole > 0.0:
        for k in range(weights.size):
            weights[k] /= whole


@compiled
def _level_measure(
    totals: FloatArray, n_levels: int, n_groups: int, measure: int, given: FloatArray, summed: bool
) -> FloatArray:
    """Q(l) from the mass of the cells, 0 where fewer than two groups occur."""
    of_group = group_mass(totals, n_groups)
    raw = np.zeros(n_levels)
    for level in range(n_levels):
        present, mass, share, least = 0, 0.0, 0.0, np.inf
        for group in range(n_groups):
            here = totals[level * n_groups + group]
            if here > 0.0:
                present += 1
                mass += here
                part = here / of_group[group]
                share += part
                least = min(least, part)
        if present < 2:
            continue
        if measure == 0:
            raw[level] = mass
        elif measure == 1:
            raw[level] = share
        elif measure == 2:
            raw[level] = 1.0
        elif measure == 3:
            raw[level] = least
        else:
            raw[level] = given[level]
    if not summed:
        _scale_to_one(raw)
    return raw


@compiled
def _levelwise(
    scores: FloatArray,
    segments: IntArray,
    mass: FloatArray,
    n_levels: int,
    n_groups: int,
    measure: int,
    given: FloatArray,
    summed: bool,
    order: float,
    gradient: FloatArray,
) -> float:
    """Value for one model; fills in its gradient."""
    atoms, atom_mass, offsets, totals, rows, atom_of = sorted_atoms(
        scores, segments, mass, n_levels * n_groups
    )
    weight = _level_measure(totals, n_levels, n_groups, measure, given, summed)
    slopes = np.zeros(atoms.size)
    value = 0.0
    for level in range(n_levels):
        if weight[level] == 0.0:
            continue
        first = level * n_groups
        pairs = pair_mass(totals[first : first + n_groups])
        for left in range(first, first + n_groups):
            for right in range(left + 1, first + n_groups):
                share = weight[level] * totals[left] * totals[right] / pairs
                if share > 0.0:
                    value += share * add_pair(
                        atoms, atom_mass, offsets, totals, left, right, order, share, slopes
                    )
    row_slopes(slopes, atom_mass, atom_of, rows, mass, gradient)
    return value


@compiled
def _levelwise_many(
    scores: FloatArray,
    segments: IntArray,
    mass: FloatArray,
    n_levels: int,
    n_groups: int,
    measure: int,
    given: FloatArray,
    summed: bool,
    order: float,
    values: FloatArray,
    gradients: FloatArray,
    first: int,
    last: int,
) -> None:
    none = np.empty(0)
    for k in range(first, last):
        values[k] = _levelwise(
            scores[k],
            segments[min(k, segments.shape[0] - 1)],
            mass[min(k, mass.shape[0] - 1)] if mass.size else none,
            n_levels,
            n_groups,
            measure,
            given,
            summed,
            order,
            gradients[k],
        )


def levelwise(
    scores: FloatArray,
    layout: Layout,
    order: float,
    measure: Measure = "marginal",
    *,
    summed: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Σ_l Q(l) W_p^p(l) of m models and its gradient: one sort and one sweep of the rows each.

    Parameters
    ----------
    scores : (m, n) finite floats.
    layout : of the rows.
    order : p >= 1.
    measure : Q.
    summed : whether Q is left as it is instead of being scaled to sum to one.

    Returns
    -------
    values : (m,) floats.
    gradients : (m, n) floats.

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.penalties import Layout
    >>> from likeforlike.penalties.fairleap import levelwise
    >>> levelwise(np.array([[0.0, 1.0]]), Layout.of_rows(["f", "m"]), 2.0)
    (array([1.]), array([[-2.,  2.]]))
    """
    values, gradients = np.empty(len(scores)), np.empty(scores.shape)
    which, given = _numbered(measure, layout)
    kernel = partial(
        _levelwise_many,
        scores,
        layout.segments,
        layout.mass,
        len(layout.levels),
        len(layout.groups),
        which,
        given,
        summed,
        float(order),
        values,
        gradients,
    )
    in_parts(kernel, np.full(len(scores), scores.shape[1]))
    return values, gradients


def _numbered(measure: Measure, layout: Layout) -> tuple[int, FloatArray]:
    """The measure as kernels take it: a number, and the weights (K,) if they were given."""
    if isinstance(measure, Mapping):
        return _GIVEN, _given(measure, layout)
    return _MEASURES.index(measure), np.empty(0)


def _given(measure: Mapping[Hashable, float], layout: Layout) -> FloatArray:
    absent = [level for level in layout.levels if level not in measure]
    if absent:
        raise InputError(
            f"measure has no weight for level {absent[0]!r}; give it 0 to leave it out."
        )
    weights = np.array([measure[level] for level in layout.levels], dtype=np.float64)
    if not (np.isfinite(weights) & (weights >= 0.0)).all() or not weights.any():
        raise InputError("measure must give finite weights of 0 or more, not all of them 0.")
    return weights


@dataclass(frozen=True)
class FairLeap(Penalty):
    """Penalty on the distances between groups in each level, Σ_l Q(l) W_p^p(P_0^l, P_1^l).

    Parameters
    ----------
    measure : Q, `"marginal"` (P(L), the default), `"average"`, `"uniform"`, `"overlap"` or
        {level: weight}; always scaled to sum to one over the levels where groups meet.
    order : p >= 1. Order 2 is smooth; order 1 has kinks.
    summed : leave Q unscaled: `"uniform"` is then a sum over levels, as in the paper's tables.

    References
    ----------
    Ghassemi et al. (2025), FairLeap.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> penalty = lfl.FairLeap(measure="uniform", order=2)
    >>> value, gradient = penalty.value_and_grad(
    ...     [0.2, 0.6, 0.5, 0.5], ["f", "m", "f", "m"], ["low", "low", "high", "high"]
    ... )
    >>> round(value, 12), gradient
    (0.08, array([-0.4,  0.4,  0. ,  0. ]))
    """

    measure: Measure = "marginal"
    order: float = 2.0
    summed: bool = False

    def __post_init__(self) -> None:
        check_order(self.order)
        if not isinstance(self.measure, Mapping) and self.measure not in _MEASURES:
            raise InputError(
                f"measure must be one of {_MEASURES} or a mapping from level to weight, not "
                f"{self.measure!r}."
            )

    @classmethod
    def paper(cls, measure: MeasureName = "uniform") -> FairLeap:
        """The paper's settings: W_1 in each level, with a sum over levels for `"uniform"`."""
        return cls(measure=measure, order=1.0, summed=measure == "uniform")

    def stacked(self, scores: FloatArray, layout: Layout) -> tuple[FloatArray, FloatArray]:
        """Values (m,) and gradients (m, n) of the scores (m, n) of m models on rows of a layout."""
        return levelwise(scores, layout, self.order, self.measure, summed=self.summed)

    def moved(self, layout: Layout) -> FloatArray:
        """Mass that the plan moves to or from each row of a layout, shape (n,).

        For two groups that is Q(l) / n_al.
        """
        mass = layout.cell_mass()
        which, given = _numbered(self.measure, layout)
        weight = _level_measure(
            mass.ravel(), len(mass), len(layout.groups), which, given, self.summed
        )
        shares = np.array([group_shares(of_level).sum(axis=1) for of_level in mass])
        with np.errstate(divide="ignore", invalid="ignore"):
            of_cell = np.where(mass > 0.0, weight[:, None] * shares / mass, 0.0)
        own = layout.mass[0] if layout.mass.size else 1.0
        found: FloatArray = of_cell.ravel()[layout.segments[0]] * own
        return found
