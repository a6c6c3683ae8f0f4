"""What a repair without the group did, told in words."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from likeforlike.inference._distance import DistanceEstimate
from likeforlike.inference._gap import Gap
from likeforlike.repair._guess_quality import GuessQuality
from likeforlike.repair._held_out import Moved, Parity

PLAIN_WORDS = (
    "It does not read the group at prediction, but it estimates the chance of each group from the "
    "inputs and uses it: two people with the same score and level get different results if one "
    "looks more like a member of a group. Without the group is not blind. Whether treatment by "
    "such a proxy is allowed is for a lawyer. Keep a record of the inputs, of how well the group "
    "can be guessed, and of who was moved and how far; use the guesses for nothing else; audit the "
    "results with the true groups."
)
"""What whoever uses a repair without the group has to know."""


def doubts(
    guesses: Sequence[GuessQuality], parity: Sequence[Parity], asked: float
) -> tuple[str, ...]:
    """Reasons to doubt that a repair did what was asked of it.

    Parameters
    ----------
    asked : what part of the disparity was to go.
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
class Told:
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
    guess: tuple[GuessQuality, ...]
    parity: tuple[Parity, ...]
    moved: tuple[Moved, ...]
    coverage: dict[Hashable, float]
    doubts: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(
            [
                self._of_all(),
                *map(_of_pair, self.parity),
                *(self._of_guess(one) for one in self.guess),
                *self._of_moves(),
                "Own level: "
                + ", ".join(f"{share:.0%} of {group!r}" for group, share in self.coverage.items())
                + ".",
                *(f"Doubt: {doubt}" for doubt in self.doubts),
                PLAIN_WORDS,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, for a record; an end of an interval may be `None`."""
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

    def _of_all(self) -> str:
        trusted = "" if self.trust == 1.0 else f", of which {self.trust:.0%} could be trusted"
        return (
            f"{self.repair} asked for {self.asked:.0%} of the disparity to go{trusted}; "
            f"{self.rows:,} rows, {self.levels:,} level{'' if self.levels == 1 else 's'}."
        )

    def _of_guess(self, one: GuessQuality) -> str:
        return (
            f"{one.group!r} guessed by {self.guessed_by} from {self.inputs} input(s), level and "
            f"score: AUC among equals {one.auc:.3f}, guessed shares off by {one.calibration:.3f}."
        )

    def _of_moves(self) -> list[str]:
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


def _of_pair(pair: Parity) -> str:
    return (
        f"Held out, {pair.groups[0]!r} and {pair.groups[1]!r} among equals: distance "
        f"{_value(pair.before.value)} before, {_value(pair.after.value)} after "
        f"({_value(pair.after.interval[0])} to {_value(pair.after.interval[1])}); gap "
        f"{pair.gap_before.value:+.3f} before, {pair.gap_after.value:+.3f} after "
        f"({pair.gap_after.interval[0]:+.3f} to {pair.gap_after.interval[1]:+.3f})."
    )


def _value(number: float | None) -> str:
    return "unknown" if number is None or math.isinf(number) else f"{number:.3f}"


def _interval(found: DistanceEstimate | Gap) -> dict[str, Any]:
    low, high = (float(end) if math.isfinite(end) else None for end in found.interval)
    return {"value": found.value, "low": low, "high": high, "confidence": found.confidence}
