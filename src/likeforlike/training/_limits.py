"""Rows held back, and limits that hold for the returned model on new rows.

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
from likeforlike.disparity import (
    Cells,
    Codes,
    contrasts,
    level_weights,
    split_levels,
    use_codes_as_labels,
)
from likeforlike.errors import InputError
from likeforlike.inference import DistanceEstimate, estimate_distance
from likeforlike.penalties import SMALL, Layout, split_holdout
from likeforlike.smoothing import compare_along, make_grid


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
    def penalty_layout(self) -> Layout | None:
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

    def hold_rows(self) -> HeldRows | None:
        """Return groups and levels of the rows as limits use them; `None` if there are none."""
        if self.layout is None or self.penalty_layout is None:
            return None
        return HeldRows(self.layout, self.penalty_layout)

    def hold_out(self, shares: tuple[float, float], seed: int, *, by_class: bool) -> list[IntArray]:
        """Return rows that stop training, and rows that judge a limit."""
        layout = self.penalty_layout
        layout = Layout.ungrouped(len(self.targets)) if layout is None else layout
        classes = self.targets if by_class else None
        return split_holdout(layout, classes, shares, seed, self.validation)


# Only decisions and ratings are carried at random; with the same seed for every model.
_SEED = 0
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

    @property
    def is_smooth(self) -> bool:
        """Whether scores are compared along a number."""
        return bool(self.compared.away.size)

    def coverage(self) -> dict[Hashable, float]:
        """Compute the share of each group where it meets another."""
        return self.compared.coverage()

    def disparity(self, scores: FloatArray, confidence: float = _USUAL) -> DistanceEstimate:
        """Estimate the disparity of scores (n,) or (n, c), the largest of all pairs and classes."""
        return _largest(
            _estimate_pairs(scores, self.layout, smooth=self.is_smooth, confidence=confidence)
        )

    def measure(self, scores: FloatArray) -> tuple[DistanceEstimate | None, dict[Hashable, float]]:
        """Estimate the disparity of scores, `None` where no groups meet; return coverage, too."""
        coverage = self.coverage()
        if not any(coverage.values()):
            return None, coverage
        return _largest(_estimate_pairs(scores, self.layout, smooth=self.is_smooth)), coverage

    def upper_limit(self, scores: FloatArray, confidence: float) -> DistanceEstimate:
        """Return the pair of groups and the class of which least can be promised.

        Its interval ends above at what the disparity does not exceed with this confidence, which
        is that of one end. Of several pairs each end is taken at the same confidence: the largest
        of them is too small only if that of the pair is which really differs most.
        """
        found = _estimate_pairs(
            scores, self.layout, smooth=self.is_smooth, confidence=2.0 * confidence - 1.0
        )
        return max(found, key=lambda one: (one.interval[1], one.squared))


def estimate_level_disparity(scores: FloatArray, layout: Layout) -> DistanceEstimate:
    """Compute conditional distance of scores (n,) or (n, c), inside levels.

    The largest of all pairs of groups and of all classes; levels weigh P(L). Soft groups are taken
    at their word: the custodian's audit says what is true of A.
    """
    return _largest(_estimate_pairs(scores, layout, smooth=False))


def estimate_smooth_disparity(scores: FloatArray, layout: Layout) -> DistanceEstimate:
    """Compute conditional distance of scores (n,) or (n, c) along a number, which is in the levels.

    Scores are carried to the centers of windows, with gaps taken out before and added after
    (`smoothing`), and compared there as an audit does it.
    """
    return _largest(_estimate_pairs(scores, layout, smooth=True))


def make_score_cells(scores: FloatArray, layout: Layout, *, smooth: bool) -> Cells:
    """Make cells of scores (n,): levels by groups, or windows along the number that levels are."""
    return next(_make_cells(scores, layout, smooth=smooth))


def _make_cells(scores: FloatArray, layout: Layout, *, smooth: bool) -> Iterator[Cells]:
    """Make cells of every class of scores (n,) or (n, c)."""
    layout, scores = _expand_rows(layout, scores)
    by_class = scores[:, None] if scores.ndim == 1 else scores
    if not np.isfinite(by_class).all():
        raise InputError("scores of rows held back are not finite; use a smaller learning_rate.")
    columns = [np.ascontiguousarray(column) for column in by_class.T]
    group = Codes(layout.segments[0] % len(layout.groups), layout.groups)
    level = layout.segments[0] // len(layout.groups)
    weight = layout.mass[0] if layout.mass.size else None
    if not smooth:
        for column in columns:
            yield Cells.from_codes(Codes(level, layout.levels), group, column, sample_weight=weight)
        return
    levels = split_levels(layout.levels, "SmoothFairLeap")
    numbers = levels.numbers[level]
    weight = None if weight is None else layout.with_moderate_weights().mass[0]
    _, segment = np.unique(levels.category[level], return_inverse=True)
    fine = make_grid(numbers, segment, mass=weight)
    for column in columns:
        compared = compare_along(fine, numbers, column, group.codes, seed=_SEED)
        windows, alone = compared.levels()
        window = Codes(windows, tuple(range(compared.speaks.size + len(alone))))
        refined = compared.refined().values
        yield Cells.from_codes(
            window,
            group,
            refined,
            sample_weight=weight,
            cluster=use_codes_as_labels(compared.cells.cluster),
        )


def _expand_rows(layout: Layout, scores: FloatArray) -> tuple[Layout, FloatArray]:
    """Repeat rows of soft groups once per group, with their scores; drop those without weight."""
    copies = layout.expand_soft_groups()
    apart, scores = copies.separate_copies(), copies.repeat_copies(scores.T).T
    if not apart.mass.size or apart.mass[0].all():
        return apart, scores
    rows = np.flatnonzero(apart.mass[0])
    kept = apart.take(rows)
    if np.ptp(kept.mass) == 0.0:
        kept = replace(kept, mass=np.empty((0, 0)))
    return kept, scores[rows]


def _estimate_pairs(
    scores: FloatArray, layout: Layout, *, smooth: bool, confidence: float = _USUAL
) -> list[DistanceEstimate]:
    """Estimate the distance of every two groups that meet, for scores (n,) or of each class."""
    found = []
    for cells in _make_cells(scores, layout, smooth=smooth):
        for contrast in contrasts(cells, "pairwise"):
            if contrast.support.any():
                weights = level_weights(contrast, "marginal")
                found.append(estimate_distance(contrast, weights, confidence=confidence))
    if not found:
        raise InputError(
            "no level of the rows held back holds two groups, or they lie apart along the number, "
            "so their disparity cannot be measured; use coarser levels, or hold more rows back."
        )
    return found


def _largest(estimates: list[DistanceEstimate]) -> DistanceEstimate:
    return max(estimates, key=lambda one: one.squared)


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
# More rows than there are people on earth are no advice.
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
class Candidate:
    """A strength that was tried for a limit, as `path_` of estimators lists them.

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
    """The model that is returned for a limit, and the strengths that were tried.

    Attributes
    ----------
    limit : what was asked.
    model, chosen : the model of smallest loss that was shown to hold the limit; if there is none,
        the one that seemed surest before.
    disparity : of that model on the limit rows; its interval ends above where it was judged.
    candidates : all of them, in order of strength.
    rows : number of limit rows.
    """

    limit: Limit
    model: Model
    chosen: Candidate
    disparity: DistanceEstimate
    candidates: tuple[Candidate, ...]
    rows: int

    @property
    def met(self) -> bool:
        """Whether the limit was shown to hold."""
        return self.chosen.held

    def describe_failure(self) -> str:
        """Describe how far a limit that was not met is off, and what helps."""
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
        shrink = (upper - size) / (float(self.limit.size) - size)
        needed = self.rows * shrink * shrink
        if needed > _ALL_ROWS:
            return f"No number of rows would show it; {looser}."
        enough = f"About {math.ceil(needed):,} limit rows would show it"
        return f"{enough} if that is its disparity; {looser}."


def require_rows(held: HeldRows | None, size: int) -> HeldRows:
    """Return rows held back of a table of `size` rows; raise where there are none."""
    if held is None:
        raise InputError(
            f"max_disparity needs rows on which to judge it, and {size} are too few to hold any "
            f"back; give {SMALL} rows or more, or a strength instead."
        )
    return held


def check_coverage(rows: HeldRows) -> None:
    """Raise where little of a group, less than `LEAST_COVERAGE`, meets another in its level."""
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
    train: Callable[
        [FloatArray],
        tuple[Sequence[Model], Iterable[float], Iterable[FloatArray], Iterable[FloatArray]],
    ],
) -> LimitResult[Model]:
    """Train models of several strengths, and take the best that is shown to hold a limit.

    Strengths from 0 upwards are tried first, then some around the weakest of them that seems to
    hold the limit on the validation rows: the limit rows may see it a little differently.

    Parameters
    ----------
    limit : what is to hold.
    validation, judging : rows that were not trained on; the second took no part in training.
    train : trains one model for each of some strengths (k,), in that order; returns the models,
        their losses on the validation rows, and their scores of the validation rows and of the
        limit rows.
    """
    check_coverage(judging)
    models, scores, candidates = list[Model](), list[FloatArray](), list[Candidate]()
    strengths = np.array(STRENGTHS)
    while strengths.size:
        trained, losses, validated, judged = train(strengths)
        models.extend(trained)
        scores.extend(judged)
        for strength, loss, seen in zip(strengths.tolist(), losses, validated, strict=True):
            estimate = validation.upper_limit(seen, limit.confidence)
            size, upper = distance_or_inf(estimate), estimate.interval[1]
            candidates.append(Candidate(strength, float(loss), size, upper))
        first = next((k for k, one in enumerate(candidates) if one.expected <= limit.size), 0)
        refine = first > 0 and len(candidates) == len(STRENGTHS)
        strengths = _refine_strengths(first) if refine else np.empty(0)
    order = _order_candidates(candidates)
    for place in order:
        estimate = judging.upper_limit(scores[place], limit.confidence)
        upper = estimate.interval[1]
        holds = upper <= limit.size
        candidates[place] = replace(candidates[place], upper=upper, held=holds)
        if holds or place == order[0]:
            chosen, disparity = place, estimate
        if not holds:
            break
    by_strength = tuple(sorted(candidates, key=lambda one: one.strength))
    return LimitResult(
        limit, models[chosen], candidates[chosen], disparity, by_strength, judging.size
    )


def _refine_strengths(place: int) -> FloatArray:
    """Return strengths around one of the first; more of them stronger, as the weakest was lucky."""
    low = max(STRENGTHS[place - 1], STRENGTHS[1] / 3.0)
    high = STRENGTHS[min(place + 2, len(STRENGTHS) - 1)]
    return np.geomspace(low, high, _CLOSER + 2)[1:-1]


def _order_candidates(seen: Sequence[Candidate]) -> list[int]:
    """Order candidates to judge: the surest first, then always less sure and of smaller loss."""
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
