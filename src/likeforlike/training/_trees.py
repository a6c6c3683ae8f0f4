"""Boosting with a penalty: losses, derivatives, values of leaves, and rounds.

Trees add up to a raw score z. For a target y the losses are

    logistic   log(1 + e^z) - y z     score f(z) = 1 / (1 + e^-z), a probability
    squared    (z - y)²               score f(z) = z

and a penalty V acts on the scores f(z), so that its strength means the same for every kind of
model. With weights w of sum n_w the objective is n_w times

    mean loss + strength * V(f(z)),

halved for the squared loss (see `_objectives`). A library grows trees by its gradient. It knows
second derivatives row by row only, and for a strong penalty those have to be so large that the loss
is hardly fitted any more. The values v of the leaves are therefore computed here; they solve

    (H + λ + η K) v = -η G,

with G the gradient and H the second derivative of the loss, both summed over leaves, λ the
regularization, η the learning rate and K the curvature of the penalty between leaves. Since
η (H + K) <= H + η K, a step never overshoots where the objective is a parabola (squared loss,
order 2, as long as the plan stays): it takes the part η of what the loss asks for, and all that the
penalty does. A step that makes the objective larger, which may happen elsewhere, is halved.

**Curvature between leaves.** A tree adds v_a to the raw scores of the rows in leaf a. With the plan
held fixed, and f' the slopes of the scores, the second-order term of a penalty of order 2 is

    Σ_ij κ_ij (f'_i v_{a(i)} - f'_j v_{a(j)})²,        κ_ij = 2 * mass moved from i to j,

which is v·K v with K = diag(D) - W: D_a = Σ_{i in a} κ_i f'_i² and W_ab sums κ_ij f'_i f'_j between
the leaves. Leaves that hold rows of both groups move without any resistance, which the diagonal
bound 2 D, all that row-wise second derivatives can say, does not see. Which rows move to which is
known inside a level from the order of their scores. How much passes between two groups g and h is
taken from what each has to move, r: r_g r_h / max(R - r_g, R - r_h), R = Σ r, which is exact for
two groups and for groups of equal size, and never more than any of them has. K is therefore never
negative. For other orders κ is the bound of `Penalty.max_curvature`.

**Stopping.** On rows held back samples of equal distributions differ, and the more so the wider
their scores are spread. V is too large there, most of all for models that discriminate well, and
stopping by it would stop strong penalties after a few trees. Its mean over a few fixed permutations
of the groups (`Penalty.permute_under_parity`) is subtracted. Where groups cannot be permuted V is
taken as it is: along a number, where anchors hold many rows, and with soft groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Column, numbers
from likeforlike.errors import InputError
from likeforlike.penalties import Layout, Penalty
from likeforlike.transport import compiled, deal, sort_small

LossName = Literal["logistic", "squared"]
"""Logistic for a target of 0 and 1, squared for a number."""


class LossTerms(NamedTuple):
    """Raw scores seen through a loss; all arrays have shape (n,).

    Attributes
    ----------
    scores, slopes : f(z) and f'(z).
    losses, gradients, curvatures : the loss of each row and its derivatives in z.
    """

    scores: FloatArray
    slopes: FloatArray
    losses: FloatArray
    gradients: FloatArray
    curvatures: FloatArray


def evaluate_loss(loss: LossName, raw: FloatArray, targets: FloatArray) -> LossTerms:
    """Compute scores, losses and derivatives at the raw scores."""
    if loss == "squared":
        one = np.ones(raw.size)
        with np.errstate(over="ignore"):  # a loss that cannot be held is infinite
            apart = raw - targets
            return LossTerms(raw, one, apart**2, 2.0 * apart, 2.0 * one)
    wrong = np.flatnonzero((targets != 0.0) & (targets != 1.0))
    if wrong.size:
        raise InputError(
            f"the target must be 0 or 1 for the logistic loss, but row {wrong[0]} has "
            f"{targets[wrong[0]]:g}; encode the classes so, or use loss='squared'."
        )
    chance, slope = _sigmoid(raw)
    return LossTerms(chance, slope, np.logaddexp(0.0, raw) - targets * raw, chance - targets, slope)


def _sigmoid(raw: FloatArray) -> tuple[FloatArray, FloatArray]:
    """1 / (1 + e^-z) and its derivative, to full relative precision however far z is from 0."""
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


class LeafRows(NamedTuple):
    """Rows at their places, (n,) each, as kernels take them; K levels and G groups.

    Attributes
    ----------
    scores : as they are compared.
    segments : level * G + group.
    weight : κ of the place, >= 0.
    slopes : f'.
    leaves : of the row, from 0 on.
    n_levels, n_groups : K and G.
    """

    scores: FloatArray
    segments: IntArray
    weight: FloatArray
    slopes: FloatArray
    leaves: IntArray
    n_levels: int
    n_groups: int


@compiled
def _sort_rows(rows: LeafRows, offsets: IntArray) -> IntArray:
    """Return places in order of (segment, score); fills in where each segment begins."""
    n_segments = rows.n_levels * rows.n_groups
    for segment in rows.segments:
        offsets[segment + 1] += 1
    for s in range(n_segments):
        offsets[s + 1] += offsets[s]
    grouped, order = np.empty(rows.scores.size), np.empty(rows.scores.size, np.int64)
    deal(rows.scores, rows.segments, offsets, grouped, order)
    sort_small(grouped.view(np.uint64), order, offsets, order.size + 1, 0, n_segments)
    return order


@compiled
def _add_pair(
    rows: LeafRows,
    left: IntArray,
    right: IntArray,
    mass: FloatArray,
    share: float,
    pulls: FloatArray,
) -> None:
    """Take off what passes between two segments, from the lowest scores to the highest."""
    i, j = 0, 0
    of_left, of_right = rows.weight[left[0]] / mass[0], rows.weight[right[0]] / mass[1]
    while True:
        piece, a, b = min(of_left, of_right), left[i], right[j]
        pull = share * piece * rows.slopes[a] * rows.slopes[b]
        pulls[rows.leaves[a], rows.leaves[b]] -= pull
        pulls[rows.leaves[b], rows.leaves[a]] -= pull
        of_left, of_right = of_left - piece, of_right - piece
        if of_left <= of_right:
            i += 1
            if i == left.size:
                return
            of_left = rows.weight[left[i]] / mass[0]
        else:
            j += 1
            if j == right.size:
                return
            of_right = rows.weight[right[j]] / mass[1]


@compiled
def _add_couplings(rows: LeafRows, pulls: FloatArray) -> None:
    offsets = np.zeros(rows.n_levels * rows.n_groups + 1, np.int64)
    order = _sort_rows(rows, offsets)
    mass, both = np.empty(rows.n_groups), np.empty(2)
    for i in range(rows.leaves.size):
        pulls[rows.leaves[i], rows.leaves[i]] += rows.weight[i] * rows.slopes[i] ** 2
    for level in range(rows.n_levels):
        begin, whole = level * rows.n_groups, 0.0
        for g in range(rows.n_groups):
            mass[g] = 0.0
            for i in range(offsets[begin + g], offsets[begin + g + 1]):
                mass[g] += rows.weight[order[i]]
            whole += mass[g]
        for g in range(rows.n_groups):
            for h in range(g + 1, rows.n_groups):
                if mass[g] > 0.0 and mass[h] > 0.0:
                    both[0], both[1] = mass[g], mass[h]
                    share = mass[g] * mass[h] / max(whole - mass[g], whole - mass[h])
                    left = order[offsets[begin + g] : offsets[begin + g + 1]]
                    right = order[offsets[begin + h] : offsets[begin + h + 1]]
                    _add_pair(rows, left, right, both, share, pulls)


def couple_leaves(rows: LeafRows, n_leaves: int) -> FloatArray:
    """K (k, k) of the leaves: symmetric, and v·K v >= 0 for all v."""
    pulls = np.zeros((n_leaves, n_leaves))
    _add_couplings(rows, pulls)
    return pulls


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


class ObjectiveTerms(NamedTuple):
    """The objective at some raw scores.

    Attributes
    ----------
    scored : what the loss sees.
    objective, loss, value : mean loss + strength * V, and its parts.
    gradient : (n,) floats of what is handed over.
    """

    scored: LossTerms
    objective: float
    loss: float
    value: float
    gradient: FloatArray


@dataclass(frozen=True, slots=True)
class BoostingProblem:
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

    def at(self, rows: BoostedRows, raw: FloatArray) -> ObjectiveTerms:
        """Return the objective and its gradient at raw scores (n,)."""
        seen = evaluate_loss(self.loss, raw, rows.targets)
        pull = self.pull(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            loss = float(np.average(seen.losses, weights=rows.weight))
            gradient = SCALE[self.loss] * rows.weight * seen.gradients
            value = 0.0
            if pull and self.penalty is not None and rows.layout is not None:
                values, slopes = self.penalty.evaluate(seen.scores[None], rows.layout)
                value = float(values[0])
                gradient = gradient + pull * slopes[0] * seen.slopes
            objective = loss + (self.strength * value if pull else 0.0)
        if not np.isfinite(gradient).all():
            raise InputError(TOO_LARGE)
        return ObjectiveTerms(seen, objective, loss, value, gradient)


class HessianTerms(NamedTuple):
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


def hessian_terms(
    problem: BoostingProblem, rows: BoostedRows, at: ObjectiveTerms, moved: FloatArray
) -> HessianTerms:
    """Second derivatives where `at` says, with the mass (c n,) that the penalty moves."""
    of_loss = SCALE[problem.loss] * rows.weight * at.scored.curvatures
    pull = problem.pull(rows)
    if not pull or problem.penalty is None or rows.layout is None:
        return HessianTerms(of_loss, np.empty(0), np.maximum(of_loss, FLOOR))
    steepness = problem.penalty.max_curvature(at.scored.scores, rows.layout)
    with np.errstate(over="ignore", invalid="ignore"):
        of_penalty = pull * steepness * moved
        by_row = 2.0 * rows.layout.sum_places(of_penalty) * at.scored.slopes**2
        bound = np.maximum(of_loss + problem.learning_rate * by_row, FLOOR)
    if not np.isfinite(bound).all():
        raise InputError(TOO_LARGE)
    return HessianTerms(of_loss, of_penalty, bound)


def solve_leaves(
    problem: BoostingProblem,
    rows: BoostedRows,
    at: ObjectiveTerms,
    bent: HessianTerms,
    leaves: IntArray,
) -> FloatArray:
    """Return what each leaf (k,) adds to the raw scores of the rows in `leaves` (n,)."""
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
    problem: BoostingProblem,
    rows: BoostedRows,
    at: ObjectiveTerms,
    of_penalty: FloatArray,
    leaf: IntArray,
    size: int,
) -> FloatArray:
    layout, penalty, scores = rows.layout, problem.penalty, at.scored.scores
    assert layout is not None
    assert penalty is not None
    compared = layout.repeat_at_places(scores)
    if layout.away.size:
        compared = penalty.evaluate_at_anchors(scores[None], layout).scores[0]
    among = penalty.comparison_layout(layout)
    return couple_leaves(
        LeafRows(
            np.ascontiguousarray(compared),
            np.ascontiguousarray(among.segments[0]),
            np.ascontiguousarray(of_penalty),
            layout.repeat_at_places(at.scored.slopes),
            np.tile(leaf, layout.places),
            len(among.levels),
            len(among.groups),
        ),
        size,
    )


# After this many halvings a step that still does no good is not taken.
_HALVINGS = 6
# Between these single precision has digits to spare.
_SINGLE = 1e-20, 1e30
# What rounding may add to an objective.
_ROUNDING = 1e-12
# Training is not over if the last tenth of the trees brought more than this share of what all of
# them did, and of what is left.
_UNSETTLED = 0.01, 0.001

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
class TrainingRows:
    """Rows to learn from, with their inputs."""

    rows: BoostedRows
    inputs: Matrix


@dataclass(frozen=True, slots=True)
class MonitoredRows:
    """Rows held back.

    Attributes
    ----------
    inputs : of the rows.
    size : how many there are.
    seen : objective and loss of raw scores (n,).
    """

    inputs: Matrix
    size: int
    seen: Callable[[FloatArray], tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Boosted:
    """A boosted model.

    Attributes
    ----------
    model : the library's; `None` if it has no trees.
    start : raw score before the first tree.
    trees : how many it has.
    losses : after every tree that was grown, on the rows that are watched.
    objectives : there as well, with the one before the first tree.
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
        """By how much the last tenth of the trees made the objective smaller."""
        best = np.minimum.accumulate(self.objectives)
        return float(best[-1 - max(1, best.size // 10)] - best[-1])

    @property
    def is_underfitted(self) -> bool:
        """Whether more trees would have made the objective smaller by much."""
        left = min(self.objectives)
        least = max(_UNSETTLED[0] * (self.objectives[0] - left), _UNSETTLED[1] * abs(left))
        return not self.stopped and self.late_improvement > least


class _Training:
    """The raw scores of the rows to learn from, as they grow."""

    def __init__(self, problem: BoostingProblem, learning: TrainingRows, start: float) -> None:
        self._problem, self._rows, self._inputs = problem, learning.rows, learning.inputs
        layout, penalty = learning.rows.layout, problem.penalty
        self._moved = np.empty(0)
        if layout is not None and penalty is not None:
            self._moved = penalty.transported_mass(layout)
        self._raw = np.full(learning.rows.targets.size, start)
        self.at = problem.at(self._rows, self._raw)

    def grow(self, grower: Grower) -> FloatArray | None:
        """Compute values of the leaves of one more tree; `None` if nothing can be split."""
        bent = hessian_terms(self._problem, self._rows, self.at, self._moved)
        if not grower.grow(
            _to_single_precision(self.at.gradient), _to_single_precision(bent.bound)
        ):
            return None
        leaves = grower.leaves(self._inputs)
        values = solve_leaves(self._problem, self._rows, self.at, bent, leaves)
        for _ in range(_HALVINGS):
            raw = self._raw + values[leaves]
            after = self._problem.at(self._rows, raw)
            if after.objective <= self.at.objective + _ROUNDING * abs(self.at.objective):
                self._raw, self.at = raw, after
                return values
            values = 0.5 * values
        return np.zeros(values.size)


def _to_single_precision(values: FloatArray) -> FloatArray:
    """Compute values that single precision holds, in the same proportions: libraries keep them so.

    What trees are grown by may be scaled; the values of their leaves are found without it.
    """
    largest = float(np.abs(values).max())
    if largest == 0.0 or _SINGLE[0] < largest < _SINGLE[1]:
        return values
    scaled: FloatArray = values / largest
    return scaled


def boost(
    problem: BoostingProblem,
    grower: Grower,
    learning: TrainingRows,
    watching: MonitoredRows | None,
    *,
    start: float,
    rounds: int,
    patience: int,
    follow: Callable[[int], None],
) -> Boosted:
    """Boost, and stop by what is watched.

    Parameters
    ----------
    problem : what is made small.
    grower : a library, on the rows to learn from.
    learning : those rows.
    watching : rows held back; `None` watches the rows to learn from.
    start : raw score before the first tree.
    rounds, patience : trees at the most, and trees without improvement after which to stop.
    follow : called with the number of every tree.
    """
    training = _Training(problem, learning, start)
    raw = np.full(watching.size if watching else 0, start)

    def seen() -> tuple[float, float]:
        if watching is None:
            return training.at.objective, training.at.loss
        return watching.seen(raw)

    objectives, losses, values = [seen()[0]], [], list[FloatArray]()
    stopped = False
    while not stopped and len(values) < rounds:
        tree = training.grow(grower)
        if tree is None:
            stopped = True
            break
        values.append(tree)
        if watching is not None:
            raw += tree[grower.leaves(watching.inputs)]
        objective, loss = seen()
        objectives.append(objective)
        losses.append(loss)
        follow(len(values))
        stopped = len(objectives) - 1 - int(np.argmin(objectives)) >= patience
    trees = int(np.argmin(objectives))
    model = grower.to_model(values[:trees]) if trees else None
    return Boosted(model, start, trees, tuple(losses), tuple(objectives), stopped)


_PERMUTATIONS = 8


def make_monitor(
    problem: BoostingProblem, rows: BoostedRows, seed: int
) -> Callable[[FloatArray], tuple[float, float]]:
    """Compute the objective and loss of raw scores (n,) on rows held back."""
    penalty, layout = problem.penalty, rows.layout
    permuted = _permute_layouts(problem, rows, seed)

    def seen(raw: FloatArray) -> tuple[float, float]:
        at = evaluate_loss(problem.loss, raw, rows.targets)
        loss = float(np.average(at.losses, weights=rows.weight))
        if penalty is None or layout is None or permuted is None or not problem.strength:
            return loss, loss
        value, *by_chance = (
            float(penalty.evaluate(at.scores[None], each)[0][0]) for each in (layout, *permuted)
        )
        excess = value - (float(np.mean(by_chance)) if by_chance else 0.0)
        return loss + problem.strength * excess, loss

    return seen


def _permute_layouts(problem: BoostingProblem, rows: BoostedRows, seed: int) -> list[Layout] | None:
    """Permute groups a few times where possible; `None` if there is nothing to compare."""
    if problem.penalty is None or rows.layout is None:
        return None
    if not any(problem.penalty.comparison_layout(rows.layout).coverage().values()):
        return None
    rng = np.random.default_rng([seed, 3])
    found = [problem.penalty.permute_under_parity(rows.layout, rng) for _ in range(_PERMUTATIONS)]
    return [each for each in found if each is not None]
