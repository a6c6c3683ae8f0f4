"""Least change under equal distributions: the dual of a linear program, solved level by level.

A row has a score f in [0, 1], a mass m and J tilts w, which sum to zero over its level: for two
groups w = P(A = 1 | x) / P(A = 1) - P(A = 0 | x) / P(A = 0). Each row is sent to values y_1 .. y_M
with probabilities π, as cheaply as possible in mean square, so that groups arrive alike:

    min Σ_i m_i Σ_k π_ik (y_k - f_i)²    subject to    Σ_i m_i π_ik w_i = 0 for every k.

With a potential λ_k (J numbers per value) its dual, smoothed by β, is concave,

    max over λ of Σ_i m_i softmin_β over k of [(y_k - f_i)² + λ_k · w_i],

and its gradient is what the constraints are missed by. Newton's method solves it for a large β,
then for smaller ones down to the square of the distance between two values. The distribution of a
row is the softmin; its mean rises with f at equal w, by 2 / β times its variance. Nothing is stored
per row, and a pass over n rows costs n M, since at small β a distribution covers a few values.

Levels in which fewer than two groups are expected to have `min_cell` rows are solved together as
one *slot*, which levels that were never seen use too.

References: Taturyan, Chzhen & Hebiri (2024), *Regression under demographic parity constraints via
unlabeled post-processing*; Divol & Gaucher (2024), *Demographic parity in regression and
classification within the unawareness framework*. Both are about one level.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike.transport import compiled, run_in_threads

# β falls by this factor from a tenth of the squared range.
_FALL, _FIRST = 4.0, 0.1
_STEPS, _HALVINGS = 40, 30
# Total variation that the constraints may be missed by, at the last β and on the way there.
_CLOSE, _ON_THE_WAY = 1e-4, 3e-2
# Chances below exp(-30) are none.
_FAR = 30.0


@dataclass(frozen=True, slots=True)
class LevelRows:
    """Rows of K levels, one level after the other, each with one row or more.

    Attributes
    ----------
    scores : (n,) floats in [0, 1]; of decisions benefits, in [-1, 1].
    tilts : (n, J) floats.
    mass : (n,) floats > 0.
    offsets : (K + 1,) integers; level k holds the rows offsets[k] to offsets[k + 1].
    """

    scores: FloatArray
    tilts: FloatArray
    mass: FloatArray
    offsets: IntArray

    @property
    def level(self) -> IntArray:
        """Level (n,) of every row."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    @property
    def share(self) -> FloatArray:
        """Mass (n,) of every row as a part of its level."""
        share: FloatArray = self.mass / np.add.reduceat(self.mass, self.offsets[:-1])[self.level]
        return share

    def rate_gaps(self, accepted: BoolArray) -> FloatArray:
        """Compute Σ m w d of every level, (K, J): how differently groups are accepted."""
        part = (self.share * accepted)[:, None] * self.tilts
        found: FloatArray = np.add.reduceat(part, self.offsets[:-1], axis=0)
        return found

    def solve(
        self,
        values: FloatArray,
        smallest: float,
        *,
        target: FloatArray | None = None,
        start: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray, IntArray]:
        """Solve the dual of every level on rising values y (M,), with β = `smallest` at the end.

        The constraints sum to `target` (K, M, J) instead of 0. From `start` (K, M, J), a solution
        of similar rows, only the last β is solved. Return λ (K, M, J), what is left of the
        constraints (K,) as a total variation, and the Newton steps taken (K,).
        """
        n_levels, n_tilts = self.offsets.size - 1, self.tilts.shape[1]
        shape = (n_levels, values.size, n_tilts)
        potential = np.zeros(shape) if start is None else start.copy()
        aim = np.zeros(shape) if target is None else target
        residual, steps = np.zeros(n_levels), np.zeros(n_levels, np.int64)
        first = _FIRST if start is None else smallest
        rows = (self.scores, self.tilts, self.share, self.offsets)

        def work(low: int, high: int) -> None:
            _solve_levels(
                low, high, *rows, values, first, smallest, aim, potential, residual, steps
            )

        run_in_threads(work, np.diff(self.offsets) * values.size)
        return potential, residual, steps


def barycentric_means(
    scores: FloatArray,
    tilts: FloatArray,
    place: IntArray,
    values: FloatArray,
    potential: FloatArray,
    beta: float,
) -> FloatArray:
    """Compute the mean (n,) of the distribution of every row.

    Scores in [0, 1] are (n,), tilts (n, J) and values (M,); `place` (n,) says which of the K
    potentials (K, M, J) a row takes.
    """
    mean = np.empty(scores.size)

    def work(low: int, high: int) -> None:
        _means(low, high, scores, tilts, place, values, potential, beta, mean)

    run_in_threads(work, np.full(scores.size, 8, np.int64))
    return mean


@compiled
def _costs(
    score: float, tilt: FloatArray, values: FloatArray, potential: FloatArray, costs: FloatArray
) -> float:
    """Fill y_k² - 2 y_k f + λ_k · w, the cost of every value less f²; the least of them."""
    best = np.inf
    for k in range(values.size):
        cost = values[k] * (values[k] - 2.0 * score)
        for j in range(tilt.size):
            cost += potential[k, j] * tilt[j]
        costs[k] = cost
        best = min(best, cost)
    return best


@compiled
def _gibbs(
    score: float,
    tilt: FloatArray,
    values: FloatArray,
    potential: FloatArray,
    beta: float,
    chances: FloatArray,
) -> tuple[float, int, int]:
    """Fill the distribution of a row; its softmin, and its support from where to where."""
    best = _costs(score, tilt, values, potential, chances)
    limit, sharp = best + _FAR * beta, 1.0 / beta
    whole = 0.0
    first, last = values.size, 0
    for k in range(values.size):
        if chances[k] < limit:
            chances[k] = np.exp((best - chances[k]) * sharp)
            whole += chances[k]
            first = min(first, k)
            last = k + 1
        else:
            chances[k] = 0.0
    for k in range(first, last):
        chances[k] /= whole
    return best - beta * np.log(whole), first, last


@compiled
def _means(
    low: int,
    high: int,
    scores: FloatArray,
    tilts: FloatArray,
    place: IntArray,
    values: FloatArray,
    potential: FloatArray,
    beta: float,
    mean: FloatArray,
) -> None:
    chances = np.empty(values.size)
    for i in range(low, high):
        _, first, last = _gibbs(scores[i], tilts[i], values, potential[place[i]], beta, chances)
        total = 0.0
        for k in range(first, last):
            total += chances[k] * values[k]
        mean[i] = total


@compiled
def _value(
    begin: int,
    end: int,
    scores: FloatArray,
    tilts: FloatArray,
    share: FloatArray,
    values: FloatArray,
    potential: FloatArray,
    aim: FloatArray,
    beta: float,
) -> float:
    """Return the smoothed dual of a level."""
    chances = np.empty(values.size)
    value = 0.0
    for i in range(begin, end):
        value += share[i] * _gibbs(scores[i], tilts[i], values, potential, beta, chances)[0]
    return value - _inner(potential, aim)


@compiled
def _slopes(
    begin: int,
    end: int,
    scores: FloatArray,
    tilts: FloatArray,
    share: FloatArray,
    values: FloatArray,
    potential: FloatArray,
    beta: float,
    gradient: FloatArray,
    hessian: FloatArray,
) -> None:
    """Gradient (M, J) and minus the hessian (J M, J M; below its diagonal), without the aim."""
    n_tilts = tilts.shape[1]
    chances = np.empty(values.size)
    gradient[:] = 0.0
    hessian[:] = 0.0
    for i in range(begin, end):
        _, first, last = _gibbs(scores[i], tilts[i], values, potential, beta, chances)
        for j in range(n_tilts):
            weight = share[i] * tilts[i, j]
            for k in range(first, last):
                gradient[k, j] += weight * chances[k]
            for p in range(j + 1):
                _add_curvature(hessian, j, p, weight * tilts[i, p] / beta, chances, first, last)


@compiled
def _add_curvature(
    hessian: FloatArray,
    row: int,
    column: int,
    weight: float,
    chances: FloatArray,
    first: int,
    last: int,
) -> None:
    """Add weight (diag(π) - π π') to a block; on the diagonal the lower half is enough."""
    down, right = row * chances.size, column * chances.size
    for k in range(first, last):
        part = weight * chances[k]
        hessian[down + k, right + k] += part
        end = k + 1 if row == column else last
        for m in range(first, end):
            hessian[down + k, right + m] -= part * chances[m]


@compiled
def _inner(left: FloatArray, right: FloatArray) -> float:
    total = 0.0
    for k in range(left.shape[0]):
        for j in range(left.shape[1]):
            total += left[k, j] * right[k, j]
    return total


@compiled
def _residual(gradient: FloatArray, aim: FloatArray) -> float:
    """Turn the gradient into what is missed of the aim; its total variation."""
    missed = 0.0
    n_tilts: int = gradient.shape[1]
    for k in range(gradient.shape[0]):
        for j in range(gradient.shape[1]):
            gradient[k, j] -= aim[k, j]
            missed += abs(gradient[k, j])
    return 0.5 * missed / n_tilts


@compiled
def _factorize(matrix: FloatArray) -> None:
    """Cholesky's factor in place, of a regularized matrix: unused values have no effect."""
    size = matrix.shape[0]
    trace = 0.0
    for k in range(size):
        trace += matrix[k, k]
    safe = 1e-9 * trace / size + 1e-10
    for k in range(size):
        matrix[k, k] += safe
        for m in range(k + 1):
            rest = matrix[k, m]
            for q in range(m):
                rest -= matrix[k, q] * matrix[m, q]
            matrix[k, m] = rest / matrix[m, m] if m < k else np.sqrt(max(rest, safe))


@compiled
def _substitute(factor: FloatArray, gradient: FloatArray, step: FloatArray) -> None:
    """Solve factor · factor' · step = gradient, where tilts follow each other."""
    size, n_values = factor.shape[0], gradient.shape[0]
    flat = np.empty(size)
    for k in range(size):
        rest = gradient[k % n_values, k // n_values]
        for m in range(k):
            rest -= factor[k, m] * flat[m]
        flat[k] = rest / factor[k, k]
    for back in range(size):
        k = size - 1 - back
        rest = flat[k]
        for m in range(k + 1, size):
            rest -= factor[m, k] * flat[m]
        flat[k] = rest / factor[k, k]
        step[k % n_values, k // n_values] = flat[k]


@compiled
def _largest(matrix: FloatArray, begin: int, end: int) -> float:
    largest = 1e-12
    for k in range(begin, end):
        for j in range(matrix.shape[1]):
            largest = max(largest, abs(matrix[k, j]))
    return largest


@compiled
def _move(potential: FloatArray, size: float, step: FloatArray, moved: FloatArray) -> None:
    for k in range(step.shape[0]):
        for j in range(step.shape[1]):
            moved[k, j] = potential[k, j] + size * step[k, j]


@compiled
def _climb(
    begin: int,
    end: int,
    scores: FloatArray,
    tilts: FloatArray,
    share: FloatArray,
    values: FloatArray,
    potential: FloatArray,
    aim: FloatArray,
    beta: float,
    close: float,
    gradient: FloatArray,
    hessian: FloatArray,
) -> tuple[float, int]:
    """Newton's method at one β, in place; what is missed at the end, and how many steps it took."""
    step, trial = np.empty_like(potential), np.empty_like(potential)
    most = _largest(tilts, begin, end)
    missed, steps = np.inf, 0
    for _ in range(_STEPS):
        _slopes(begin, end, scores, tilts, share, values, potential, beta, gradient, hessian)
        missed = _residual(gradient, aim)
        if missed < close:
            break
        _factorize(hessian)
        _substitute(hessian, gradient, step)
        slope = _inner(gradient, step)
        value = _value(begin, end, scores, tilts, share, values, potential, aim, beta)
        # A step that moves costs by more than half of the range is cut.
        size = min(1.0, 0.5 / (_largest(step, 0, values.size) * most))
        moved = False
        for _ in range(_HALVINGS):
            _move(potential, size, step, trial)
            tried = _value(begin, end, scores, tilts, share, values, trial, aim, beta)
            if tried >= value + 1e-4 * size * slope - 1e-15:
                moved = True
                break
            size *= 0.5
        if not moved:
            break
        _move(trial, 0.0, step, potential)
        steps += 1
    return missed, steps


@compiled
def _solve_levels(
    low: int,
    high: int,
    scores: FloatArray,
    tilts: FloatArray,
    share: FloatArray,
    offsets: IntArray,
    values: FloatArray,
    largest: float,
    smallest: float,
    aims: FloatArray,
    potentials: FloatArray,
    residuals: FloatArray,
    steps: IntArray,
) -> None:
    n_values, n_tilts = values.size, tilts.shape[1]
    gradient = np.empty((n_values, n_tilts))
    hessian = np.empty((n_values * n_tilts, n_values * n_tilts))
    for level in range(low, high):
        beta = max(largest, smallest)
        done = False
        while not done:
            done = beta <= smallest
            residuals[level], more = _climb(
                offsets[level],
                offsets[level + 1],
                scores,
                tilts,
                share,
                values,
                potentials[level],
                aims[level],
                beta,
                _CLOSE if done else _ON_THE_WAY,
                gradient,
                hessian,
            )
            steps[level] += more
            beta = beta / _FALL
            if beta < 1.5 * smallest:
                beta = smallest


_LEAST_SHARE = 1e-9
_MOST_SHARED = 6000


@dataclass(frozen=True, slots=True)
class Slots:
    """S slots, the last of which is shared.

    Attributes
    ----------
    levels : labels of K levels.
    slot : (K,) integers, the slot of each level.
    shares : (S, G) floats, mean chance of every group in each slot.
    part : (S, G) truth values, the groups whose distributions are made equal there.
    low, span : (S,) floats, lowest score and range of scores.
    """

    levels: tuple[Hashable, ...]
    slot: IntArray
    shares: FloatArray
    part: BoolArray
    low: FloatArray
    span: FloatArray

    @property
    def common_slot(self) -> int:
        """The slot of all that have none of their own."""
        return len(self.shares) - 1

    def places(self, codes: IntArray, labels: Sequence[Hashable]) -> IntArray:
        """Return slot of every row (n,) whose level is `labels[codes]`."""
        known = {label: int(self.slot[k]) for k, label in enumerate(self.levels)}
        found = np.array([known.get(label, self.common_slot) for label in labels], np.int64)
        return found[codes]

    def unit(self, scores: FloatArray, place: IntArray) -> FloatArray:
        """Compute scores (n,) as parts of the range of their slot, clipped to it."""
        return np.clip((scores - self.low[place]) / self.span[place], 0.0, 1.0)

    def natural(self, unit: FloatArray, place: IntArray) -> FloatArray:
        """Return what `unit` was made of."""
        scores: FloatArray = self.low[place] + self.span[place] * unit
        return scores

    def tilts(self, chances: FloatArray, place: IntArray) -> FloatArray:
        """Compute tilts (n, G - 1): η_a / p_a - η_r / p_r against the largest group r of the slot.

        Groups that have no part in a slot have none.
        """
        relative = chances / np.maximum(self.shares, _LEAST_SHARE)[place]
        largest = np.argmax(np.where(self.part, self.shares, -1.0), axis=1)
        order = np.argsort(np.arange(self.shares.shape[1]) == largest[:, None], kind="stable")
        others = order[:, :-1]
        if self.shares.shape[1] == 2:
            # Of two groups the tilt is the second against the first, whichever is larger.
            others = np.ones_like(others)
            largest = np.zeros_like(largest)
        tilts = np.take_along_axis(relative, others[place], axis=1)
        tilts -= np.take_along_axis(relative, largest[place][:, None], axis=1)
        has_part = np.take_along_axis(self.part, others, axis=1)
        return np.ascontiguousarray(np.where(has_part[place], tilts, 0.0))


def make_slots(
    scores: FloatArray,
    chances: FloatArray,
    mass: FloatArray,
    level: IntArray,
    labels: tuple[Hashable, ...],
    min_cell: float,
) -> tuple[Slots, BoolArray]:
    """Make slots of rows (n,) in levels (n,), and say which rows make the shared one.

    A level has a slot of its own if two groups are expected, by chances (n, G), to have `min_cell`
    rows there.
    """
    n_levels, n_groups = len(labels), chances.shape[1]
    expected = _sums(level, chances, n_levels)
    part = expected >= min_cell
    own = part.sum(axis=1) >= 2
    rest = ~own[level]
    if not (chances[rest].sum(axis=0) >= min_cell).all():
        # Rows from everywhere stand for all others; they need not be all.
        rest[np.linspace(0, level.size - 1, min(level.size, _MOST_SHARED)).astype(np.int64)] = True
    slot = np.where(own, np.cumsum(own) - 1, own.sum())
    shares = _shares(chances, mass, slot[level], rest, int(own.sum()))
    low = np.full(n_levels, np.inf)
    high = np.full(n_levels, -np.inf)
    np.minimum.at(low, level, scores)
    np.maximum.at(high, level, scores)
    low = np.r_[low[own], scores[rest].min()]
    high = np.r_[high[own], scores[rest].max()]
    span = np.where(high > low, high - low, 1.0)
    taking_part = np.vstack([part[own], np.ones((1, n_groups), bool)])
    return Slots(labels, slot, shares, taking_part, low, span), rest


def update_shares(
    slots: Slots,
    chances: FloatArray,
    mass: FloatArray,
    level: IntArray,
    rest: BoolArray,
    chosen: BoolArray,
) -> Slots:
    """Return the same slots with the shares of some rows (n,), so that their tilts sum to zero."""
    own = slots.slot[level[chosen]]
    return replace(
        slots, shares=_shares(chances[chosen], mass[chosen], own, rest[chosen], slots.common_slot)
    )


def _shares(
    chances: FloatArray, mass: FloatArray, own: IntArray, rest: BoolArray, shared: int
) -> FloatArray:
    """Compute the mean chances (S, G) of every slot."""
    weighted = chances * mass[:, None]
    summed = _sums(own, weighted, shared + 1)
    summed[shared] = weighted[rest].sum(axis=0)
    shares: FloatArray = summed / summed.sum(axis=1, keepdims=True)
    return shares


def _sums(level: IntArray, amounts: FloatArray, n_levels: int) -> FloatArray:
    columns = [np.bincount(level, column, minlength=n_levels) for column in amounts.T]
    return np.column_stack(columns)


def arrange_by_slot(
    slots: Slots,
    scores: FloatArray,
    chances: FloatArray,
    mass: FloatArray,
    level: IntArray,
    rest: BoolArray,
    chosen: BoolArray | None = None,
    *,
    natural: bool = False,
) -> LevelRows:
    """Arrange rows by slot, all or those chosen (n,).

    Rows of a level of its own may be in the shared slot as well. Scores become parts of the range
    of their slot, unless they are to stay `natural`.
    """
    own = slots.slot[level]
    taken = np.ones(level.size, bool) if chosen is None else chosen
    first = np.flatnonzero((own < slots.common_slot) & taken)
    first = first[np.argsort(own[first], kind="stable")]
    last = np.flatnonzero(rest & taken)
    rows = np.r_[first, last]
    place = np.r_[own[first], np.full(last.size, slots.common_slot)]
    offsets = np.searchsorted(place, np.arange(slots.common_slot + 2))
    found = scores[rows] if natural else slots.unit(scores[rows], place)
    return LevelRows(found, slots.tilts(chances[rows], place), mass[rows], offsets)
