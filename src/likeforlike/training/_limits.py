"""Limits that hold for the returned model, and not only for the rows that selected it.

Rows are in three parts. *Training rows* fit models of several strengths; *validation rows* stop
their training and order them; *limit rows* judge them, and have no other part. A model holds the
limit if the upper end of the one-sided interval of its disparity on the limit rows, with the given
confidence, is no larger than the limit.

Many models are judged and one is returned. The order is settled before the limit rows are used:
the surest model by the validation rows comes first, and each one that follows has a smaller loss
and is less sure. Models are judged one after the other, until the first that fails. Whatever is
true, a model that breaks the limit passes only if the *first* such model in the order does, which
has the probability 1 - confidence at most: nothing has to be adjusted for how many were tried.

Disparities of rows held back are those of an audit, without small-sample bias (`HeldRows`).

References: Maurer, Hothorn and Lehmacher (1995), fixed-sequence tests; Angelopoulos, Bates, Candès,
Jordan and Lei (2021), *Learn then Test*; Laufer-Goldshtein, Fisch, Barzilay and Jaakkola (2023),
*Efficiently controlling multiple risks with Pareto testing* (the order).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from likeforlike._arrays import BoolArray, FloatArray, IntArray
from likeforlike._settings import real
from likeforlike.disparity import Cells, Codes, contrasts, level_weights, numbered_levels, unnamed
from likeforlike.errors import InputError
from likeforlike.inference import DistanceEstimate, estimate_distance
from likeforlike.penalties import SMALL, Layout, split_holdout
from likeforlike.smoothing import compare_along, fine_cells


@dataclass(frozen=True, slots=True)
class Table:
    """What a network or trees are fitted to.

    Attributes
    ----------
    inputs : (n, d) floats; for trees dense or sparse, and missing ones are nan.
    targets : (n,) floats, or classes as integers; for trees 0 and 1 of two classes.
    weight : (n,) positive floats of the loss, or `None`.
    layout : groups and levels, or `None` where there is nothing to penalize.
    validation : (n,) truth values, rows to hold back to stop training, or `None`: a share of all.
    prepared : the layout as the penalty takes it, where that is another one.
    """

    inputs: Any
    targets: FloatArray | IntArray
    weight: FloatArray | None
    layout: Layout | None
    validation: BoolArray | None = None
    prepared: Layout | None = None

    @property
    def penalized(self) -> Layout | None:
        """The layout that the penalty is evaluated on."""
        return self.layout if self.prepared is None else self.prepared

    def take(self, rows: IntArray) -> Table:
        """Return some of the rows."""
        return Table(
            self.inputs[rows],
            self.targets[rows],
            None if self.weight is None else self.weight[rows],
            None if self.layout is None else self.layout.take(rows),
            None if self.validation is None else self.validation[rows],
            None if self.prepared is None else self.prepared.take(rows),
        )

    def held_rows(self) -> HeldRows | None:
        """Return groups and levels of the rows as limits use them; `None` if there are none."""
        if self.layout is None or self.penalized is None:
            return None
        return HeldRows(self.layout, self.penalized)

    def hold_out(self, shares: tuple[float, float], seed: int, *, by_class: bool) -> list[IntArray]:
        """Return rows that stop training, and rows that judge a limit."""
        layout = self.penalized
        layout = Layout.ungrouped(len(self.targets)) if layout is None else layout
        classes = self.targets if by_class else None
        return split_holdout(layout, classes, shares, seed, self.validation)


# Only decisions and ratings are carried at random; with the same seed for every model.
_LOT = 0
# Confidence of intervals that no limit depends on.
_USUAL = 0.95


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows held back, on which the disparity of models is measured.

    Attributes
    ----------
    layout : groups and levels as they were given.
    compared : the same as the penalty takes it; where that compares along a number, so do we.
    """

    layout: Layout
    compared: Layout

    @property
    def size(self) -> int:
        """How many there are."""
        return self.layout.size

    def coverage(self) -> dict[Hashable, float]:
        """Compute the share of each group where it meets another."""
        return self.compared.coverage()

    def disparity(self, scores: FloatArray, confidence: float = _USUAL) -> DistanceEstimate:
        """Disparity of scores (n,) or (n, c): the largest of all pairs of groups and classes."""
        return _largest(self._estimates(scores, confidence))

    def measure(self, scores: FloatArray) -> tuple[DistanceEstimate | None, dict[Hashable, float]]:
        """Disparity of scores, `None` where no groups meet that could be compared, and coverage."""
        coverage = self.coverage()
        return (self.disparity(scores) if any(coverage.values()) else None), coverage

    def upper_limit(self, scores: FloatArray, confidence: float) -> DistanceEstimate:
        """Return the pair of groups and the class of which least can be promised.

        Its interval ends above at what the disparity does not exceed with this confidence, which
        is that of one end. Of several pairs each end is taken at the same confidence: the largest
        of them is too small only if that of the pair is which really differs most.
        """
        found = self._estimates(scores, 2.0 * confidence - 1.0)
        return max(_require_estimates(found), key=lambda one: (one.interval[1], one.squared))

    def _estimates(self, scores: FloatArray, confidence: float) -> Iterator[DistanceEstimate]:
        cells = _smooth_cells if self.compared.away.size else _level_cells
        return _estimates(cells(scores, self.layout), confidence)


def estimate_level_disparity(scores: FloatArray, layout: Layout) -> DistanceEstimate:
    """Compute conditional distance of scores (n,) or (n, c), inside levels.

    The largest of all pairs of groups and of all classes; levels weigh P(L). Soft groups are taken
    at their word: the custodian's audit says what is true of A.
    """
    return _largest(_estimates(_level_cells(scores, layout), _USUAL))


def estimate_smooth_disparity(scores: FloatArray, layout: Layout) -> DistanceEstimate:
    """Compute conditional distance of scores (n,) or (n, c) along a number, which is in the levels.

    Scores are carried to the centers of windows, with gaps taken out before and added after
    (`smoothing`), and compared there as an audit does it.
    """
    return _largest(_estimates(_smooth_cells(scores, layout), _USUAL))


def make_score_cells(scores: FloatArray, layout: Layout, *, smooth: bool) -> Cells:
    """Cells of scores (n,): levels by groups, or windows along the number that levels are."""
    return next((_smooth_cells if smooth else _level_cells)(scores, layout))


def _level_cells(scores: FloatArray, layout: Layout) -> Iterator[Cells]:
    """Return cells of every class."""
    layout, scores = _expand_rows(layout, scores)
    level = Codes(layout.segments[0] // len(layout.groups), layout.levels)
    group = Codes(layout.segments[0] % len(layout.groups), layout.groups)
    weight = layout.mass[0] if layout.mass.size else None
    for column in _columns(scores):
        yield Cells.from_codes(level, group, column, sample_weight=weight)


def _smooth_cells(scores: FloatArray, layout: Layout) -> Iterator[Cells]:
    """Return windows by groups of every class."""
    layout, scores = _expand_rows(layout, scores)
    group = Codes(layout.segments[0] % len(layout.groups), layout.groups)
    level = layout.segments[0] // len(layout.groups)
    levels = numbered_levels(layout.levels, "SmoothFairLeap")
    numbers = levels.numbers[level]
    weight = layout.with_moderate_weights().mass[0] if layout.mass.size else None
    _, segment = np.unique(levels.category[level], return_inverse=True)
    fine = fine_cells(numbers, segment, mass=weight)
    for column in _columns(scores):
        compared = compare_along(fine, numbers, column, group.codes, seed=_LOT)
        level, alone = compared.levels()
        window = Codes(level, tuple(range(compared.speaks.size + len(alone))))
        refined = compared.refined().values
        yield Cells.from_codes(
            window, group, refined, sample_weight=weight, cluster=unnamed(compared.cells.cluster)
        )


def _expand_rows(layout: Layout, scores: FloatArray) -> tuple[Layout, FloatArray]:
    """Rows of soft groups once a group, with their scores (n,) or (n, c); those that count."""
    copies = layout.expand_soft_groups()
    apart, scores = copies.separate_copies(), copies.repeat_copies(scores.T).T
    if not apart.mass.size or apart.mass[0].all():
        return apart, scores
    rows = np.flatnonzero(apart.mass[0])
    kept = apart.take(rows)
    if np.ptp(kept.mass) == 0.0:
        kept = replace(kept, mass=np.empty((0, 0)))
    return kept, scores[rows]


def _columns(scores: FloatArray) -> list[FloatArray]:
    columns = scores[:, None] if scores.ndim == 1 else scores
    return [np.ascontiguousarray(column) for column in columns.T]


def _estimates(found: Iterable[Cells], confidence: float) -> Iterator[DistanceEstimate]:
    """Return every two groups that meet, in the cells of every class."""
    for cells in found:
        for contrast in contrasts(cells, "pairwise"):
            if contrast.support.any():
                weights = level_weights(contrast, "marginal")
                yield estimate_distance(contrast, weights, confidence=confidence)


def _require_estimates(estimates: Iterable[DistanceEstimate]) -> list[DistanceEstimate]:
    found = list(estimates)
    if not found:
        raise InputError(
            "no level of the rows held back holds two groups, or they lie apart along the number, "
            "so their disparity cannot be measured; use coarser levels, or hold more rows back."
        )
    return found


def _largest(estimates: Iterable[DistanceEstimate]) -> DistanceEstimate:
    return max(_require_estimates(estimates), key=lambda one: one.squared)


def distance_or_inf(estimate: DistanceEstimate) -> float:
    """Return the estimated distance; infinite where single rows in most levels keep it unknown."""
    return math.inf if estimate.value is None else estimate.value


Model = TypeVar("Model")

LEAST_COVERAGE = 0.5
"""A limit is refused where less of a group than this meets another group among its equals."""

STRENGTHS = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Strengths tried first."""

# How many more around the weakest strength that seems to hold the limit.
_CLOSER = 8
# More rows than there are people are no advice.
_ALL_ROWS = 1e10


@dataclass(frozen=True, slots=True)
class Limit:
    """A disparity of at most `size`, in units of the score, promised with this confidence."""

    size: float
    confidence: float = 0.9

    def __post_init__(self) -> None:
        if not 0.0 <= real(self.size) < math.inf:
            raise InputError(
                f"max_disparity must be a finite number of 0 or more, not {self.size!r}."
            )
        if not 0.5 < real(self.confidence) < 1.0:
            raise InputError(
                f"limit_confidence must lie between 0.5 and 1, not {self.confidence!r}."
            )


@dataclass(frozen=True, slots=True)
class Trial(Generic[Model]):
    """A model that was trained to be judged.

    Attributes
    ----------
    model : anything.
    strength : what it was trained with.
    loss : on the validation rows.
    validation, judged : (n,) or (n, c) scores of the validation rows and of the limit rows.
    """

    model: Model
    strength: float
    loss: float
    validation: FloatArray
    judged: FloatArray


@dataclass(frozen=True, slots=True)
class Candidate:
    """A strength that was tried for a limit.

    Attributes
    ----------
    strength : of the penalty.
    loss, disparity : on the validation rows.
    expected : the upper end of the disparity on the validation rows, which put it into its place.
    upper : the upper end on the limit rows; `None` if it was never judged.
    held : whether the limit was shown to hold.
    """

    strength: float
    loss: float
    disparity: float
    expected: float
    upper: float | None = None
    held: bool = False


@dataclass(frozen=True, slots=True)
class LimitResult(Generic[Model]):
    """The model that was taken for a limit, and all that was tried.

    Attributes
    ----------
    limit : what was asked.
    trial, chosen : the model of smallest loss that was shown to hold the limit; if there is none,
        the one that seemed surest before.
    disparity : of that model on the limit rows; its interval ends above where it was judged.
    candidates : all of them, in order of strength.
    rows : how many limit rows there were.
    """

    limit: Limit
    trial: Trial[Model]
    chosen: Candidate
    disparity: DistanceEstimate
    candidates: tuple[Candidate, ...]
    rows: int

    @property
    def met(self) -> bool:
        """Whether the limit was shown to hold."""
        return self.chosen.held

    def describe_failure(self) -> str:
        """What is to be said of a limit that was not met: how far it is off, and what helps."""
        size, upper = distance_or_inf(self.disparity), self.disparity.interval[1]
        return (
            f"no strength was shown to keep the disparity at {self.limit.size:g} or below with "
            f"confidence {self.limit.confidence:g}. The surest model, at strength "
            f"{self.chosen.strength:g}, has {size:.3g} on {self.rows:,} limit rows, and up to "
            f"{upper:.3g} cannot be ruled out. {self._remedy(size, upper)}"
        )

    def _remedy(self, size: float, upper: float) -> str:
        if not math.isfinite(upper):
            return (
                "Its levels hold too few rows of each group to say more: use coarser levels, or "
                "more rows."
            )
        looser = f"a limit of {_round_up(upper):g} would be held"
        if size >= self.limit.size:
            return f"The estimate is above the limit already; {looser}, or change the inputs."
        shrink = (upper - size) / (self.limit.size - size)
        needed = self.rows * shrink * shrink
        if needed > _ALL_ROWS:
            return f"No number of rows would show it; {looser}."
        enough = f"About {math.ceil(needed):,} limit rows would show it"
        return f"{enough} if that is its disparity; {looser}."


def require_rows(held: HeldRows | None, size: int) -> HeldRows:
    """Return rows that were held back of a table of `size`; raises where there are none."""
    if held is None:
        raise InputError(
            f"max_disparity needs rows on which to judge it, and {size} are too few to hold any "
            f"back; give {SMALL} rows or more, or a strength instead."
        )
    return held


def check_coverage(rows: HeldRows) -> None:
    """Raise where a limit would be met because few rows are compared.

    The least share of a group in levels where it meets another is `LEAST_COVERAGE`.
    """
    for group, share in rows.coverage().items():
        if share < LEAST_COVERAGE:
            raise InputError(
                f"max_disparity would say little: of the group {group!r} only {share:.1%} of the "
                f"{rows.size:,} limit rows are in levels with another group, and at least "
                f"{LEAST_COVERAGE:.0%} must be. Use coarser levels, more rows, or "
                "SmoothFairLeap() where levels are numbers."
            )


def select_within_limit(
    limit: Limit,
    validation: HeldRows,
    judging: HeldRows,
    train: Callable[[FloatArray], Sequence[Trial[Model]]],
) -> LimitResult[Model]:
    """Train models of several strengths, and take the best that is shown to hold a limit.

    Strengths from 0 upwards are tried first, then some around the weakest of them that seems to
    hold the limit on the validation rows: the limit rows may see it a little differently.

    Parameters
    ----------
    limit : what is to hold.
    validation, judging : rows that were not trained on; the second took no part in training.
    train : trains one model for each of some strengths (k,), in that order.
    """
    check_coverage(judging)
    tried = _screen(train(np.array(STRENGTHS)), validation, limit)
    within = [k for k, (_, seen) in enumerate(tried) if seen.expected <= limit.size]
    if within and within[0] > 0:
        tried += _screen(train(_refine_strengths(within[0])), validation, limit)
    return _judge(limit, judging, tried)


def _refine_strengths(place: int) -> FloatArray:
    """Return strengths from the one before one of the first to the second after it.

    More of them are stronger: the limit rows are asked for an upper end, too, and the weakest that
    seems to hold on the validation rows was lucky there.
    """
    low = max(STRENGTHS[place - 1], STRENGTHS[1] / 3.0)
    high = STRENGTHS[min(place + 2, len(STRENGTHS) - 1)]
    return np.geomspace(low, high, _CLOSER + 2)[1:-1]


_Seen = list[tuple[Trial[Model], Candidate]]


def _screen(trials: Sequence[Trial[Model]], rows: HeldRows, limit: Limit) -> _Seen[Model]:
    """Return trials with what the validation rows say of them."""
    found = []
    for trial in trials:
        estimate = rows.upper_limit(trial.validation, limit.confidence)
        size, upper = distance_or_inf(estimate), estimate.interval[1]
        found.append((trial, Candidate(trial.strength, trial.loss, size, upper)))
    return found


def _judge(limit: Limit, rows: HeldRows, tried: _Seen[Model]) -> LimitResult[Model]:
    """Judge models in their order, until the first that fails."""
    order = _order_candidates([seen for _, seen in tried])
    candidates = [seen for _, seen in tried]
    chosen, disparity = order[0], None
    for place in order:
        estimate = rows.upper_limit(tried[place][0].judged, limit.confidence)
        upper = estimate.interval[1]
        held = upper <= limit.size
        candidates[place] = replace(candidates[place], upper=upper, held=held)
        if held or disparity is None:
            chosen, disparity = place, estimate
        if not held:
            break
    assert disparity is not None
    return LimitResult(
        limit,
        tried[chosen][0],
        candidates[chosen],
        disparity,
        tuple(sorted(candidates, key=lambda one: one.strength)),
        rows.size,
    )


def _order_candidates(seen: Sequence[Candidate]) -> list[int]:
    """Who is judged, in order: the surest first, then always less sure and of smaller loss."""
    surest_first = sorted(range(len(seen)), key=lambda k: (seen[k].expected, seen[k].loss))
    order = surest_first[:1]
    for k in surest_first[1:]:
        if seen[k].loss < seen[order[-1]].loss:
            order.append(k)
    return order


def _round_up(number: float) -> float:
    """Return a number with two digits that is not smaller."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 1) if number > 0.0 else 1.0
    return round(math.ceil(number / unit) * unit, 12)
