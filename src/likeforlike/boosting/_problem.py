"""What boosting makes small, with the derivatives that grow a tree and fit its leaves.

With raw scores z, weights w of sum n_w, scores f(z) and a penalty V it is n_w times

    mean loss + strength * V(f(z)),

halved for the squared loss (see `_objective`). Trees are grown by its gradient. The values v of
their leaves then solve

    (H + λ + η K) v = -η G,

with G the gradient and H the second derivative of the loss, both summed over leaves, λ the
regularization, η the learning rate and K the curvature of the penalty between leaves
(`_coupling`). Since η (H + K) <= H + η K, a step never overshoots where the objective is a parabola
(squared loss, order 2, as long as the plan stays): it takes the part η of what the loss asks for,
and all that the penalty does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.boosting._coupling import Pulled, leaf_coupling
from likeforlike.boosting._losses import LossName, Scored, scored
from likeforlike.errors import InputError
from likeforlike.penalties._layout import Layout
from likeforlike.penalties._penalty import Penalty

# How much of n_w * (mean loss + strength * V) is handed over: the libraries have ½ (z - y)².
SCALE: dict[LossName, float] = {"logistic": 1.0, "squared": 0.5}
# Trees divide by sums of second derivatives. XGBoost has the same floor for its logistic loss.
FLOOR = 1e-16
TOO_LARGE = (
    "the derivatives are too large to be held: scale the target or the weights, or lower the "
    "strength."
)
# Leaves whose rows all have their target have no second derivative left; relative to the largest.
_RIDGE = 1e-10


@dataclass(frozen=True, slots=True)
class BoostedRows:
    """Rows that are fitted, or watched.

    Attributes
    ----------
    targets : (n,) floats.
    weight : (n,) floats >= 0 of the loss.
    layout : groups and levels as the penalty takes them, or `None` where there is no penalty.
    """

    targets: FloatArray
    weight: FloatArray
    layout: Layout | None


class At(NamedTuple):
    """The objective at some raw scores.

    Attributes
    ----------
    scored : what the loss sees.
    objective, loss, value : mean loss + strength * V, and its parts.
    gradient : (n,) floats of what is handed over.
    """

    scored: Scored
    objective: float
    loss: float
    value: float
    gradient: FloatArray


@dataclass(frozen=True, slots=True)
class Problem:
    """A loss and a penalty with its strength.

    Attributes
    ----------
    loss : `"logistic"` or `"squared"`.
    penalty, strength : V and its weight; `None` and 0 without a penalty.
    learning_rate : η.
    regularization : λ.
    """

    loss: LossName
    penalty: Penalty | None
    strength: float
    learning_rate: float
    regularization: float

    def pull(self, rows: BoostedRows) -> float:
        """What V is multiplied by in what is handed over; 0 where there is nothing to compare."""
        if self.penalty is None or rows.layout is None:
            return 0.0
        return SCALE[self.loss] * self.strength * float(rows.weight.sum())

    def at(self, rows: BoostedRows, raw: FloatArray) -> At:
        """The objective and its gradient at raw scores (n,)."""
        seen = scored(self.loss, raw, rows.targets)
        pull = self.pull(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            loss = float(np.average(seen.losses, weights=rows.weight))
            gradient = SCALE[self.loss] * rows.weight * seen.gradients
            value = 0.0
            if pull and self.penalty is not None and rows.layout is not None:
                values, slopes = self.penalty.stacked(seen.scores[None], rows.layout)
                value = float(values[0])
                gradient = gradient + pull * slopes[0] * seen.slopes
            objective = loss + (self.strength * value if pull else 0.0)
        if not np.isfinite(gradient).all():
            raise InputError(TOO_LARGE)
        return At(seen, objective, loss, value, gradient)


class Curved(NamedTuple):
    """Second derivatives at some raw scores.

    Attributes
    ----------
    of_loss : (n,) floats.
    of_penalty : κ (c n,) at the places of the rows; (0,) without a penalty.
    bound : (n,) floats > 0: the row-wise bound that trees are grown with.
    """

    of_loss: FloatArray
    of_penalty: FloatArray
    bound: FloatArray


def curved(problem: Problem, rows: BoostedRows, at: At, moved: FloatArray) -> Curved:
    """Second derivatives where `at` says, with the mass (c n,) that the penalty moves."""
    of_loss = SCALE[problem.loss] * rows.weight * at.scored.curvatures
    pull = problem.pull(rows)
    if not pull or problem.penalty is None or rows.layout is None:
        return Curved(of_loss, np.empty(0), np.maximum(of_loss, FLOOR))
    steepness = problem.penalty.steepness(at.scored.scores, rows.layout)
    with np.errstate(over="ignore", invalid="ignore"):
        of_penalty = pull * steepness * moved
        by_row = 2.0 * rows.layout.folded(of_penalty) * at.scored.slopes**2
        bound = np.maximum(of_loss + problem.learning_rate * by_row, FLOOR)
    if not np.isfinite(bound).all():
        raise InputError(TOO_LARGE)
    return Curved(of_loss, of_penalty, bound)


def leaf_values(
    problem: Problem, rows: BoostedRows, at: At, bent: Curved, leaves: IntArray
) -> FloatArray:
    """What each leaf (k,) adds to the raw scores of the rows in `leaves` (n,)."""
    occupied = np.flatnonzero(np.bincount(leaves))
    size = occupied.size
    places = np.zeros(int(occupied[-1]) + 1, np.int64)
    places[occupied] = np.arange(size)
    leaf = places[leaves]
    matrix = np.diag(np.bincount(leaf, bent.of_loss, size) + problem.regularization)
    if bent.of_penalty.size:
        matrix += problem.learning_rate * _coupling(problem, rows, at, bent.of_penalty, leaf, size)
    if not np.isfinite(matrix).all():
        raise InputError(TOO_LARGE)
    ridge = max(_RIDGE * float(matrix.diagonal().max()), FLOOR)
    matrix[np.diag_indices(size)] += ridge
    slope = np.bincount(leaf, at.gradient, size)
    values = np.zeros(places.size)
    values[occupied] = -problem.learning_rate * np.linalg.solve(matrix, slope)
    return values


def _coupling(
    problem: Problem,
    rows: BoostedRows,
    at: At,
    of_penalty: FloatArray,
    leaf: IntArray,
    size: int,
) -> FloatArray:
    layout, penalty, scores = rows.layout, problem.penalty, at.scored.scores
    assert layout is not None
    assert penalty is not None
    compared = layout.spread(scores)
    if layout.away.size:
        compared = penalty.by_place(scores[None], layout).scores[0]
    among = penalty.compared(layout)
    return leaf_coupling(
        Pulled(
            np.ascontiguousarray(compared),
            np.ascontiguousarray(among.segments[0]),
            np.ascontiguousarray(of_penalty),
            layout.spread(at.scored.slopes),
            np.tile(leaf, layout.places),
            len(among.levels),
            len(among.groups),
        ),
        size,
    )
