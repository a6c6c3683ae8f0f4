"""Boosting with a penalty: losses, derivatives, values of leaves, and rounds.

Trees add up to raw scores z, and a penalty V acts on the scores f(z), f logistic or the identity.
With weights w of sum n_w the objective is n_w times mean loss + strength * V(f(z)), halved for the
squared loss (see `_objectives`). Libraries grow trees by its gradient G and a row-wise bound of its
second derivatives, which for a strong penalty would hardly fit the loss. The values v of the leaves
are therefore computed here. With H the second derivative of the loss by leaf, λ the regularization
and η the learning rate they solve

    (H + λ + η K) v = -η G,        v·K v = Σ_ij κ_ij (f'_i v_{a(i)} - f'_j v_{a(j)})²,

where K is the curvature of the penalty between leaves a for a fixed plan, κ_ij = 2 * mass moved
from i to j, and f' the slopes of the scores: K = diag(D) - W with D_a = Σ_{i in a} κ_i f'_i² and
W_ab the sum of κ_ij f'_i f'_j between the leaves. Leaves that hold rows of both groups move without
resistance, which the row-wise bound 2 D does not see. Since η (H + K) <= H + η K, no step
overshoots where the objective is a parabola (squared loss, order 2, as long as the plan stays); a
step that makes the objective larger, which may happen elsewhere, is halved.

Inside a level the order of the scores tells which rows move to which. Groups g and h exchange
r_g r_h / max(R - r_g, R - r_h) of the masses r they move, R = Σ r: exact for two groups and for
groups of equal size, never more than any has, so K >= 0. For other orders than 2 κ is the bound
`Penalty.max_curvature`.

Rows held back stop training by loss + strength * V less the mean of V over fixed permutations of
the groups, since V of few rows is too large, most of all for models that discriminate well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Column, numbers
from likeforlike.errors import InputError
from likeforlike.penalties import Layout, Penalty
from likeforlike.transport import compiled, partition_rows, sort_small

LossName = Literal["logistic", "squared"]
"""Logistic for a target of 0 and 1, squared for a number."""


def evaluate_loss(
    loss: LossName, raw: FloatArray, targets: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return scores f(z), slopes f'(z), losses, and their first and second derivatives, (n,) each.

    logistic   log(1 + e^z) - y z     f(z) = 1 / (1 + e^-z), a probability
    squared    (z - y)²               f(z) = z
    """
    if loss == "squared":
        one = np.ones(raw.size)
        with np.errstate(over="ignore"):  # a loss that overflows is infinite
            apart = raw - targets
            return raw, one, apart**2, 2.0 * apart, 2.0 * one
    wrong = np.flatnonzero((targets != 0.0) & (targets != 1.0))
    if wrong.size:
        raise InputError(
            f"the target must be 0 or 1 for the logistic loss, but row {wrong[0]} has "
            f"{targets[wrong[0]]:g}; encode the classes so, or use loss='squared'."
        )
    chance, slope = _sigmoid(raw)
    return chance, slope, np.logaddexp(0.0, raw) - targets * raw, chance - targets, slope


def _sigmoid(raw: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Compute 1 / (1 + e^-z) and its derivative, to full relative precision for any z."""
    small = np.exp(-np.abs(raw))
    chance: FloatArray = np.where(raw >= 0.0, 1.0, small) / (1.0 + small)
    return chance, small / (1.0 + small) ** 2


def probabilities(raw: Column) -> FloatArray:
    """Turn raw scores of a model with the logistic loss into probabilities, 1 / (1 + e^-z).

    LightGBM and XGBoost do not know what an objective of one's own means. With the logistic loss
    of this package the raw scores of a model, and what it gives unasked, are

    ================ ============================================= ============================
    model            raw scores                                    unasked
    ================ ============================================= ============================
    lgb.Booster      `predict(X)`                                  raw scores
    LGBMClassifier   `predict(X, raw_score=True)`                  raw scores and a warning, from
                                                                   `predict` and `predict_proba`
    xgb.Booster      `predict(data, output_margin=True)`           probabilities if the parameters
                                                                   name `binary:logistic`, raw
                                                                   scores if not
    XGBClassifier    `predict(X, output_margin=True)`              classes from `predict`,
                                                                   probabilities from
                                                                   `predict_proba`
    ================ ============================================= ============================

    Parameters
    ----------
    raw : (n,) finite numbers.

    Returns
    -------
    (n,) floats, the probabilities of class 1.

    Examples
    --------
    >>> from likeforlike.training import probabilities
    >>> probabilities([-800.0, 0.0, 800.0])
    array([0. , 0.5, 1. ])
    """
    return _sigmoid(numbers(raw, "raw"))[0]


@compiled
def _sort_rows(scores: FloatArray, segments: IntArray, offsets: IntArray) -> IntArray:
    """Return places in order of (segment, score); fill in where each segment begins."""
    n_segments = offsets.size - 1
    for segment in segments:
        offsets[segment + 1] += 1
    for s in range(n_segments):
        offsets[s + 1] += offsets[s]
    grouped, order = np.empty(scores.size), np.empty(scores.size, np.int64)
    partition_rows(scores, segments, offsets, grouped, order)
    sort_small(grouped.view(np.uint64), order, offsets, order.size + 1, 0, n_segments)
    return order


@compiled
def _add_pair(
    weight: FloatArray,
    slopes: FloatArray,
    leaves: IntArray,
    left: IntArray,
    right: IntArray,
    mass: FloatArray,
    share: float,
    matrix: FloatArray,
) -> None:
    """Subtract what two segments exchange, from the lowest scores to the highest."""
    i, j = 0, 0
    of_left, of_right = weight[left[0]] / mass[0], weight[right[0]] / mass[1]
    while True:
        piece, a, b = min(of_left, of_right), left[i], right[j]
        pull = share * piece * slopes[a] * slopes[b]
        matrix[leaves[a], leaves[b]] -= pull
        matrix[leaves[b], leaves[a]] -= pull
        of_left, of_right = of_left - piece, of_right - piece
        if of_left <= of_right:
            i += 1
            if i == left.size:
                return
            of_left = weight[left[i]] / mass[0]
        else:
            j += 1
            if j == right.size:
                return
            of_right = weight[right[j]] / mass[1]


@compiled
def _add_couplings(
    scores: FloatArray,
    segments: IntArray,
    weight: FloatArray,
    slopes: FloatArray,
    leaves: IntArray,
    n_levels: int,
    n_groups: int,
    matrix: FloatArray,
) -> None:
    """Add the curvature of all places to that between leaves (k, k)."""
    offsets = np.zeros(n_levels * n_groups + 1, np.int64)
    order = _sort_rows(scores, segments, offsets)
    mass, both = np.empty(n_groups), np.empty(2)
    for i in range(leaves.size):
        matrix[leaves[i], leaves[i]] += weight[i] * slopes[i] ** 2
    for level in range(n_levels):
        begin, whole = level * n_groups, 0.0
        for g in range(n_groups):
            mass[g] = 0.0
            for i in range(offsets[begin + g], offsets[begin + g + 1]):
                mass[g] += weight[order[i]]
            whole += mass[g]
        for g in range(n_groups):
            for h in range(g + 1, n_groups):
                if mass[g] > 0.0 and mass[h] > 0.0:
                    both[0], both[1] = mass[g], mass[h]
                    share = mass[g] * mass[h] / max(whole - mass[g], whole - mass[h])
                    left = order[offsets[begin + g] : offsets[begin + g + 1]]
                    right = order[offsets[begin + h] : offsets[begin + h + 1]]
                    _add_pair(weight, slopes, leaves, left, right, both, share, matrix)


# Libraries have ½ (z - y)².
_SCALE: dict[LossName, float] = {"logistic": 1.0, "squared": 0.5}
# Trees divide by sums of second derivatives. XGBoost has the same floor for its logistic loss.
_FLOOR = 1e-16
_TOO_LARGE = (
    "the derivatives are too large to be held: scale the target or the weights, or lower the "
    "strength."
)
# Leaves whose rows all have their target have no second derivative left; relative to the largest.
_RIDGE = 1e-10
# After this many halvings a step that does not help is not taken.
_HALVINGS = 6
# Between these single precision has digits to spare.
_SINGLE = 1e-20, 1e30
# What rounding may add to an objective.
_ROUNDING = 1e-12
# Training is not over if the last tenth of the trees brought more than this share of what all of
# them did, and of what is left.
_UNSETTLED = 0.01, 0.001
_PERMUTATIONS = 8


@dataclass(frozen=True, eq=False)
class BoostingProblem:
    """Mean loss + strength * V on some rows.

    Attributes
    ----------
    targets, weight : (n,) floats, and floats >= 0 of the loss.
    layout : groups and levels as the penalty takes them, or `None`.
    loss : `"logistic"` or `"squared"`.
    penalty, strength : V and its weight; `None` and 0 without a penalty.
    learning_rate, regularization : η and λ.
    """

    targets: FloatArray
    weight: FloatArray
    layout: Layout | None
    loss: LossName
    penalty: Penalty | None
    strength: float
    learning_rate: float
    regularization: float

    @cached_property
    def penalty_terms(self) -> tuple[Penalty, Layout, float] | None:
        """V, its layout and its factor in the objective; `None` without a penalty."""
        if self.penalty is None or self.layout is None:
            return None
        factor = _SCALE[self.loss] * self.strength * float(self.weight.sum())
        return (self.penalty, self.layout, factor) if factor else None

    @cached_property
    def transported_mass(self) -> FloatArray:
        """Mass (c n,) that the penalty moves at the places of the rows."""
        assert self.penalty is not None
        assert self.layout is not None
        return self.penalty.transported_mass(self.layout)

    def permute_layouts(self, seed: int) -> list[Layout] | None:
        """Permute groups a few times where possible; `None` if there is nothing to compare."""
        if self.penalty_terms is None:
            return None
        penalty, layout, _ = self.penalty_terms
        if not any(penalty.comparison_layout(layout).coverage().values()):
            return None
        rng = np.random.default_rng([seed, 3])
        found = [penalty.permute_under_parity(layout, rng) for _ in range(_PERMUTATIONS)]
        return [each for each in found if each is not None]

    def evaluate_excess(
        self, raw: FloatArray, permuted: list[Layout] | None
    ) -> tuple[float, float]:
        """Compute the objective less its expected excess under parity, and the loss."""
        scores, _, losses, _, _ = evaluate_loss(self.loss, raw, self.targets)
        loss = float(np.average(losses, weights=self.weight))
        if self.penalty is None or self.layout is None or permuted is None:
            return loss, loss
        value, *baseline = (
            float(self.penalty.evaluate(scores[None], each)[0][0])
            for each in (self.layout, *permuted)
        )
        excess = value - (float(np.mean(baseline)) if baseline else 0.0)
        return loss + self.strength * excess, loss


class Expansion:
    """The second-order expansion of the objective of a problem at raw scores (n,).

    Attributes
    ----------
    objective, loss : mean loss + strength * V, and its first part.
    gradient : (n,) floats, as libraries take them.
    """

    def __init__(self, problem: BoostingProblem, raw: FloatArray) -> None:
        self.problem, self.raw = problem, raw
        loss, targets, weight = problem.loss, problem.targets, problem.weight
        self.scores, self.slopes, losses, slopes, self._bends = evaluate_loss(loss, raw, targets)
        with np.errstate(over="ignore", invalid="ignore"):
            self.loss = self.objective = float(np.average(losses, weights=weight))
            self.gradient: FloatArray = _SCALE[loss] * weight * slopes
            if problem.penalty_terms is not None:
                penalty, layout, factor = problem.penalty_terms
                values, pulls = penalty.evaluate(self.scores[None], layout)
                self.gradient = self.gradient + factor * pulls[0] * self.slopes
                self.objective = self.loss + problem.strength * float(values[0])
        if not np.isfinite(self.gradient).all():
            raise InputError(_TOO_LARGE)

    def hessian(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return second derivatives of the loss (n,), κ of V, and the row-wise bound (n,) of both.

        κ (c n,) is that of the places of the rows; without a penalty it is empty.
        """
        problem = self.problem
        of_loss = _SCALE[problem.loss] * problem.weight * self._bends
        if problem.penalty_terms is None:
            return of_loss, np.empty(0), np.maximum(of_loss, _FLOOR)
        penalty, layout, factor = problem.penalty_terms
        steepness = penalty.max_curvature(self.scores, layout)
        with np.errstate(over="ignore", invalid="ignore"):
            of_penalty = factor * steepness * problem.transported_mass
            by_row = 2.0 * layout.sum_places(of_penalty) * self.slopes**2
            bound = np.maximum(of_loss + problem.learning_rate * by_row, _FLOOR)
        if not np.isfinite(bound).all():
            raise InputError(_TOO_LARGE)
        return of_loss, of_penalty, bound

    def couple_leaves(self, of_penalty: FloatArray, leaf: IntArray, size: int) -> FloatArray:
        """Compute K (k, k) of `size` leaves: symmetric, and v·K v >= 0 for all v."""
        assert self.problem.penalty_terms is not None
        penalty, layout, _ = self.problem.penalty_terms
        compared = layout.repeat_at_places(self.scores)
        if layout.away.size:
            compared = penalty.evaluate_at_anchors(self.scores[None], layout).scores[0]
        among = penalty.comparison_layout(layout)
        matrix = np.zeros((size, size))
        _add_couplings(
            np.ascontiguousarray(compared),
            np.ascontiguousarray(among.segments[0]),
            np.ascontiguousarray(of_penalty),
            layout.repeat_at_places(self.slopes),
            np.tile(leaf, layout.places),
            len(among.levels),
            len(among.groups),
            matrix,
        )
        return matrix

    def solve_leaves(
        self, leaves: IntArray, of_loss: FloatArray, of_penalty: FloatArray
    ) -> FloatArray:
        """Return what each leaf (k,) adds to the raw scores of the rows in `leaves` (n,)."""
        occupied = np.flatnonzero(np.bincount(leaves))
        size = occupied.size
        places = np.zeros(int(occupied[-1]) + 1, np.int64)
        places[occupied] = np.arange(size)
        leaf, rate = places[leaves], self.problem.learning_rate
        matrix = np.diag(np.bincount(leaf, of_loss, size) + self.problem.regularization)
        if of_penalty.size:
            matrix += rate * self.couple_leaves(of_penalty, leaf, size)
        if not np.isfinite(matrix).all():
            raise InputError(_TOO_LARGE)
        matrix[np.diag_indices(size)] += max(_RIDGE * float(matrix.diagonal().max()), _FLOOR)
        slope = np.bincount(leaf, self.gradient, size)
        values = np.zeros(places.size)
        values[occupied] = -rate * np.linalg.solve(matrix, slope)
        return values

    def take_step(self, values: FloatArray, leaves: IntArray) -> tuple[FloatArray, Expansion]:
        """Halve values of leaves until the objective does not rise; return them, and what follows.

        They are 0 where that takes too many halvings.
        """
        for _ in range(_HALVINGS):
            after = Expansion(self.problem, self.raw + values[leaves])
            if after.objective <= self.objective + _ROUNDING * abs(self.objective):
                return values, after
            values = 0.5 * values
        return np.zeros(values.size), self


Matrix = Any
"""Rows of inputs, as people give them or as a library takes them."""

Model = Any
"""What a library has fitted."""


class Grower(Protocol):
    """A library that grows trees on the rows to learn from."""

    def grow(self, gradient: FloatArray, hessian: FloatArray) -> bool:
        """Grow one more tree; whether there was anything to split."""

    def leaves(self, inputs: Matrix) -> IntArray:
        """Return leaves (n,) of the last tree in which rows are."""

    def to_model(self, values: Sequence[FloatArray]) -> Model:
        """Return the library's model of the first trees, with these values of their leaves."""


class Library(Protocol):
    """What trees are grown by."""

    def rows(self, inputs: Matrix) -> Matrix:
        """Compute matrix (n, d), dense or sparse, as the library takes them."""

    def grower(self, inputs: Matrix) -> Grower:
        """Grow trees on some rows."""

    def raw(self, model: Model, inputs: Matrix) -> FloatArray:
        """Compute raw scores (n,) of a model, without those it starts from."""


@dataclass(frozen=True, slots=True)
class Boosted:
    """A boosted model.

    Attributes
    ----------
    model : the library's; `None` if it has no trees.
    start : raw score before the first tree.
    trees : how many it has.
    losses, objectives : on the rows that are watched after every tree that was grown, and before
        the first one for the objective.
    stopped : whether it stopped before the last tree that was allowed.
    """

    model: Model
    start: float
    trees: int
    losses: tuple[float, ...]
    objectives: tuple[float, ...]
    stopped: bool

    @property
    def late_improvement(self) -> float:
        """How much smaller the last tenth of the trees made the objective."""
        best = np.minimum.accumulate(self.objectives)
        return float(best[-1 - max(1, best.size // 10)]) - float(best[-1])

    @property
    def needs_more_trees(self) -> bool:
        """Whether more trees would have made the objective much smaller."""
        left = min(self.objectives)
        least = max(_UNSETTLED[0] * (self.objectives[0] - left), _UNSETTLED[1] * abs(left))
        return not self.stopped and self.late_improvement > least


def _to_single_precision(values: FloatArray) -> FloatArray:
    """Scale values by which trees are grown to what single precision, that of libraries, holds."""
    largest = float(np.abs(values).max())
    if largest == 0.0 or _SINGLE[0] < largest < _SINGLE[1]:
        return values
    scaled: FloatArray = values / largest
    return scaled


def boost(
    problem: BoostingProblem,
    grower: Grower,
    inputs: Matrix,
    held: tuple[BoostingProblem, Matrix] | None = None,
    *,
    start: float,
    rounds: int,
    patience: int,
    seed: int = 0,
    follow: Callable[[int], None] = lambda _: None,
) -> Boosted:
    """Boost, and stop by rows held back.

    Parameters
    ----------
    problem : what is minimized on the rows to learn from.
    grower, inputs : a library on those rows, and their inputs as it takes them.
    held : the problem on rows held back, and their inputs; `None` watches the rows to learn from.
    start : raw score before the first tree.
    rounds, patience : trees at the most, and trees without improvement after which to stop.
    seed : of the permutations of rows held back.
    follow : called with the number of every tree.
    """
    at = Expansion(problem, np.full(problem.targets.size, start))
    objective, loss = at.objective, at.loss
    if held is not None:
        watched, held_inputs = held
        raw, permuted = np.full(watched.targets.size, start), watched.permute_layouts(seed)
        objective, loss = watched.evaluate_excess(raw, permuted)
    objectives, losses, values = [objective], list[float](), list[FloatArray]()
    stopped = False
    while not stopped and len(values) < rounds:
        of_loss, of_penalty, bound = at.hessian()
        if not grower.grow(_to_single_precision(at.gradient), _to_single_precision(bound)):
            stopped = True
            break
        leaves = grower.leaves(inputs)
        tree, at = at.take_step(at.solve_leaves(leaves, of_loss, of_penalty), leaves)
        values.append(tree)
        objective, loss = at.objective, at.loss
        if held is not None:
            # A leaf without a row to learn from adds nothing.
            found = grower.leaves(held_inputs)
            raw += np.append(tree, 0.0)[np.minimum(found, tree.size)]
            objective, loss = watched.evaluate_excess(raw, permuted)
        objectives.append(objective)
        losses.append(loss)
        follow(len(values))
        stopped = len(objectives) - 1 - int(np.argmin(objectives)) >= patience
    trees = int(np.argmin(objectives))
    model = grower.to_model(values[:trees]) if trees else None
    return Boosted(model, start, trees, tuple(losses), tuple(objectives), stopped)
