"""Effects of a repair on rows it was not fitted on, how much of it to trust, and its report.

Maps learned from few rows carry their noise into the scores, and may do more harm than good. The
remaining disparity is estimated on rows held out, without small-sample bias. If a full repair
leaves no more than half of the disparity, all of it is done; otherwise the part that leaves least,
which may be none. Where no disparity is significant to begin with, there is nothing to repair.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Cells, Codes, contrasts, level_weights
from likeforlike.inference import DistanceEstimate, Gap, estimate_distance, signed_gap

if TYPE_CHECKING:
    from likeforlike.repair._propensity import PropensityQuality

# Where there are many groups, those pairs are measured that have the most rows.
_MOST_PAIRS = 10


class Parity(NamedTuple):
    """Two groups among equals, before a repair and after it, on rows held out.

    Attributes
    ----------
    groups : the two.
    before, after : their distance with its interval. Intervals of all pairs hold together.
    gap_before, gap_after : their signed gap with its interval.
    """

    groups: tuple[Hashable, Hashable]
    before: DistanceEstimate
    after: DistanceEstimate
    gap_before: Gap
    gap_after: Gap


class CellShift(NamedTuple):
    """How far the people of a cell were moved.

    Attributes
    ----------
    level, group : labels of the cell.
    rows : how many there are.
    mean : mean change, in units of the score; of decisions, the change of the rate.
    distance : mean absolute change; of decisions, the share that was changed.
    most : the largest absolute change.
    """

    level: Hashable
    group: Hashable
    rows: int
    mean: float
    distance: float
    most: float


def measure_parity(
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


def estimate_disparity(
    scores: FloatArray, group: Codes, level: Codes, mass: FloatArray, unit: Codes | None = None
) -> float:
    """Compute Σ_l Q(l) W_1²(l) without small-sample bias, summed over the pairs of groups."""
    total = 0.0
    cells = Cells.from_codes(level, group, scores, sample_weight=mass, cluster=unit)
    for one in contrasts(cells, "pairwise"):
        if one.support.any():
            total += estimate_distance(one, level_weights(one, "marginal")).squared
    return total


def exceeds_noise(
    scores: FloatArray,
    group: Codes,
    level: Codes,
    mass: FloatArray,
    unit: Codes | None = None,
    confidence: float = 0.8,
) -> bool:
    """Return whether any two groups differ among equals, by the lower end of their interval."""
    cells = Cells.from_codes(level, group, scores, sample_weight=mass, cluster=unit)
    for one in contrasts(cells, "pairwise"):
        if one.support.any():
            measure = level_weights(one, "marginal")
            if estimate_distance(one, measure, confidence=confidence).interval[0] > 0:
                return True
    return False


def measure_shifts(
    change: FloatArray, group: Codes, level: Codes, mass: FloatArray
) -> tuple[CellShift, ...]:
    """Measure how far the people of every cell were moved."""
    n_groups = len(group.labels)
    cell = level.codes * n_groups + group.codes
    size = n_groups * len(level.labels)
    rows, held = np.bincount(cell, minlength=size), np.bincount(cell, mass, minlength=size)
    mean = np.bincount(cell, mass * change, minlength=size)
    distance = np.bincount(cell, mass * np.abs(change), minlength=size)
    most = np.zeros(size)
    np.maximum.at(most, cell, np.abs(change))
    return tuple(
        CellShift(
            level.labels[k // n_groups],
            group.labels[k % n_groups],
            int(rows[k]),
            float(mean[k] / held[k]),
            float(distance[k] / held[k]),
            float(most[k]),
        )
        for k in np.flatnonzero(rows).tolist()
    )


PARTS = (1.0, 0.75, 0.5, 0.25)
"""Parts of a repair that are tried in turn, the others where the whole of it leaves too much."""


def suffices(whole: float, before: float, asked: float) -> bool:
    """Return whether a full repair leaves little enough of a squared disparity `before`.

    `asked` is what part of the disparity was to go.
    """
    return asked == 0.0 or whole <= (1.0 - 0.5 * asked) ** 2 * before


def best_part(left: dict[float, float]) -> float:
    """Return the part of a repair that leaves least, of several the largest."""
    return min(sorted(left, reverse=True), key=left.__getitem__)


def assign_folds(group: IntArray, level: IntArray, folds: int, seed: int | None) -> IntArray:
    """Assign a fold to every row; every fold has its share of every group of every level."""
    lot = np.random.default_rng(seed).permutation(group.size)
    order = lot[np.lexsort((level[lot], group[lot]))]
    fold = np.empty(group.size, np.int64)
    fold[order] = np.arange(group.size) % folds
    return fold


def split_levels_by_fold(level: Codes, fold: IntArray) -> Codes:
    """Return levels of every fold by itself.

    What the maps of other folds miss cancels over all folds of a level: each learned from the rows
    that the others are measured on. Inside a fold it does not.
    """
    folds = int(fold.max()) + 1
    labels = tuple((label, k) for label in level.labels for k in range(folds))
    return Codes(level.codes * folds + fold, labels)


PLAIN_WORDS = (
    "It does not read the group at prediction, but it estimates the chance of each group from the "
    "inputs and uses it: two people with the same score and level get different results if one "
    "looks more like a member of a group. Without the group is not blind. Whether treatment by "
    "such a proxy is allowed is for a lawyer. Keep a record of the inputs, of how well the group "
    "can be guessed, and of who was moved and how far; use the guesses for nothing else; audit the "
    "results with the true groups."
)
"""What users of a repair without the group have to know."""


def find_doubts(
    guesses: Sequence[PropensityQuality], parity: Sequence[Parity], asked: float
) -> tuple[str, ...]:
    """Return reasons to doubt that a repair did what was asked of it.

    `asked` is what part of the disparity was to go.
    """
    found = []
    for one in guesses:
        if one.weak:
            found.append(
                f"the guess of {one.group!r} is too weak: among equals it is no better than the "
                f"share of the group in the level (AUC {one.auc:.3f}), so that nothing can be "
                "repaired by it. Add inputs that say more, or use a repair that knows the group."
            )
        if one.miscalibrated:
            found.append(
                f"the guess of {one.group!r} is badly calibrated: guessed shares are off by "
                f"{one.calibration:.3f}, while guesses differ by {one.spread:.3f}. Calibrate the "
                "classifier (sklearn.calibration.CalibratedClassifierCV), or choose another."
            )
    for pair in parity:
        before, after = pair.before.value, pair.after.value
        if before is None or after is None or asked == 0.0:
            continue
        allowed = (1.0 - 0.5 * asked) * before
        if pair.after.interval[0] > allowed:
            found.append(
                f"the repair left {after:.3f} of {before:.3f} between {pair.groups[0]!r} and "
                f"{pair.groups[1]!r} on rows held out, at least {pair.after.interval[0]:.3f}."
            )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What a repair did, to whom, and how well it holds. `print` it, or keep `to_dict`.

    Attributes
    ----------
    repair : name of the class.
    asked : what part of the disparity was to go.
    trust : what part of that was done; less than 1 where rows held out fared better with less.
    rows, levels, inputs : how many there were in `fit`.
    guessed_by : name of the classifier.
    guess : how well groups can be guessed among equals.
    parity : distances and gaps with the true groups on rows held out.
    moved : how far the people of every cell were moved.
    coverage : share of each group whose own level was made alike.
    doubts : reasons to doubt that the repair did what was asked.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.repair import UnawareRepair
    >>> loans = make_loans(4000, gap=0.2)
    >>> knows = (loans.groups == "male").astype(float)
    >>> repair = UnawareRepair(propensity="given")
    >>> who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    >>> repair = repair.fit(loans.frame["score"], knows, **who)
    >>> print(str(repair.report_).splitlines()[0])
    UnawareRepair asked for 100% of the disparity to go; 4,000 rows, 5 levels.
    """

    repair: str
    asked: float
    trust: float
    rows: int
    levels: int
    inputs: int
    guessed_by: str
    guess: tuple[PropensityQuality, ...]
    parity: tuple[Parity, ...]
    moved: tuple[CellShift, ...]
    coverage: dict[Hashable, float]
    doubts: tuple[str, ...]

    def __str__(self) -> str:
        trusted = "" if self.trust == 1.0 else f", of which {self.trust:.0%} could be trusted"
        request = (
            f"{self.repair} asked for {self.asked:.0%} of the disparity to go{trusted}; "
            f"{self.rows:,} rows, {self.levels:,} level{'' if self.levels == 1 else 's'}."
        )
        pairs = map(_describe_pair, self.parity)
        guesses = map(self._describe_guess, self.guess)
        own = ", ".join(f"{share:.0%} of {group!r}" for group, share in self.coverage.items())
        doubts = (f"Doubt: {doubt}" for doubt in self.doubts)
        moves = self._describe_moves()
        return "\n".join(
            [request, *pairs, *guesses, *moves, f"Own level: {own}.", *doubts, PLAIN_WORDS]
        )

    def _describe_guess(self, one: PropensityQuality) -> str:
        return (
            f"{one.group!r} guessed by {self.guessed_by} from {self.inputs} input(s), level and "
            f"score: AUC among equals {one.auc:.3f}, guessed shares off by {one.calibration:.3f}."
        )

    def _describe_moves(self) -> list[str]:
        lines = []
        for group in dict.fromkeys(cell.group for cell in self.moved):
            cells = [cell for cell in self.moved if cell.group == group]
            rows = sum(cell.rows for cell in cells)
            mean = sum(cell.rows * cell.mean for cell in cells) / rows
            distance = sum(cell.rows * cell.distance for cell in cells) / rows
            most = max(cell.most for cell in cells)
            lines.append(
                f"{group!r}, {rows:,} rows: moved by {distance:.3f} on average, {mean:+.3f} taken "
                f"together, {most:.3f} at most."
            )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain values, for a record; an end of an interval may be `None`."""
        plain = asdict(self)
        for name in ("guess", "moved"):
            plain[name] = [one._asdict() for one in getattr(self, name)]
        plain["parity"] = [
            {
                "groups": list(pair.groups),
                **{name: _interval(getattr(pair, name)) for name in pair._fields[1:]},
            }
            for pair in self.parity
        ]
        plain["coverage"] = [[group, share] for group, share in self.coverage.items()]
        plain["in_words"] = PLAIN_WORDS
        return plain


def _describe_pair(pair: Parity) -> str:
    return (
        f"Held out, {pair.groups[0]!r} and {pair.groups[1]!r} among equals: distance "
        f"{_format(pair.before.value)} before, {_format(pair.after.value)} after "
        f"({_format(pair.after.interval[0])} to {_format(pair.after.interval[1])}); gap "
        f"{pair.gap_before.value:+.3f} before, {pair.gap_after.value:+.3f} after "
        f"({pair.gap_after.interval[0]:+.3f} to {pair.gap_after.interval[1]:+.3f})."
    )


def _format(number: float | None) -> str:
    return "unknown" if number is None or math.isinf(number) else f"{number:.3f}"


def _interval(found: DistanceEstimate | Gap) -> dict[str, Any]:
    low, high = (float(end) if math.isfinite(end) else None for end in found.interval)
    return {"value": found.value, "low": low, "high": high, "confidence": found.confidence}
