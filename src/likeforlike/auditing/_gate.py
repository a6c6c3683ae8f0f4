"""The gate: intervals against thresholds, and why they say what they say."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from likeforlike._arrays import is_one_of, real
from likeforlike._text import figure, group_name
from likeforlike.errors import InputError

if TYPE_CHECKING:
    from likeforlike.auditing._comparisons import Unexamined
    from likeforlike.auditing._contrast_audit import Between, ContrastAudit, PercentBase

Verdict = Literal["pass", "fail", "investigate"]
"""What a gate says: the interval lies below the threshold, above it, or across it.

Examples
--------
>>> import likeforlike as lfl
>>> from likeforlike.datasets import load_loans
>>> audit = lfl.audit(load_loans(1000).frame, score="approved", sensitive="sex")
>>> audit.gate(0.9)
'pass'
"""

GateOf = Literal["distance", "gap"]
"""What a gate compares with its threshold: the distance among equals, or the signed gap.

Examples
--------
>>> import likeforlike as lfl
>>> from likeforlike.datasets import load_loans
>>> audit = lfl.audit(load_loans(1000).frame, score="approved", sensitive="sex")
>>> audit.gate(0.9, of="gap")
'pass'
"""


@dataclass(frozen=True, slots=True)
class Threshold:
    """The largest disparity that is allowed, for whom, and who said so.

    Attributes
    ----------
    value : in units of the score, or text such as "5%". Of decisions and rates that is 5 points, of
        other scores 5% of the mean of the reference group, or of the larger group without one.
    of : what may not be larger, "distance" or "gap".
    groups : the two groups it is for; `None` for all that have none of their own.
    set_by, set_on : who set it, and on which day; `None` if nobody said.
    percent : whether the value is a percentage; text says so itself.

    Examples
    --------
    >>> from likeforlike.auditing import Threshold
    >>> Threshold(0.05, groups=("female", "male"), set_by="credit committee").of
    'distance'
    >>> Threshold("5%").value, Threshold("5%").percent
    (5.0, True)
    """

    value: float
    of: GateOf = "distance"
    groups: tuple[str, str] | None = None
    set_by: str | None = None
    set_on: str | None = None
    percent: bool = False

    def __post_init__(self) -> None:
        given: object = self.value
        if isinstance(given, str):
            object.__setattr__(self, "value", _percentage(given))
            object.__setattr__(self, "percent", True)
        if isinstance(self.value, bool) or not 0.0 <= real(self.value) < math.inf:
            raise InputError(f"threshold must be a finite number of 0 or more, not {self.value!r}.")
        if not is_one_of(self.of, get_args(GateOf)):
            raise InputError(f"of must be one of {get_args(GateOf)}, not {self.of!r}.")
        object.__setattr__(self, "value", real(self.value))


def _percentage(text: str) -> float:
    found = re.fullmatch(r"\s*([0-9]+(?:[.,][0-9]+)?)\s*%\s*", text)
    if found is None:
        raise InputError(
            f"threshold must be a number such as 0.05, or a percentage such as '5%', not {text!r}."
        )
    return float(found[1].replace(",", "."))


@dataclass(frozen=True, slots=True)
class Judgment:
    """Two groups held against their threshold.

    Attributes
    ----------
    groups : their names; a single one if nobody could be compared with it.
    verdict : of these groups alone.
    reason : one sentence.
    threshold : the one that is for them; `None` if there is none.
    interval : what it was compared with; `None` where nothing could be.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> audit = lfl.audit(load_loans(1000).frame, score="approved", sensitive="sex")
    >>> [judged] = audit.verdict(0.9).judgments
    >>> judged.groups, judged.verdict, judged.threshold.value
    (('female', 'male'), 'pass', 0.9)
    """

    groups: tuple[str, ...]
    verdict: Verdict
    reason: str
    threshold: Threshold | None = None
    interval: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """A verdict and the reasons for it.

    Attributes
    ----------
    verdict : "pass", "fail" or "investigate".
    reasons : one sentence for every contrast that decided it, or could not be examined.
    judgments : every contrast by itself.
    thresholds : what was asked.
    policy : name of the file the thresholds are from; `None` if they were given directly.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> audit = lfl.audit(load_loans(1000).frame, score="approved", sensitive="sex")
    >>> audit.verdict(0.9).reasons
    ('female and male: at most 0.06174.',)
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    judgments: tuple[Judgment, ...]
    thresholds: tuple[Threshold, ...]
    policy: str | None = None


def rule(
    contrasts: Sequence[ContrastAudit],
    unexamined: Sequence[Unexamined],
    thresholds: Sequence[Threshold],
    sensitive: str,
    policy: str | None = None,
    *,
    between: Sequence[Between] = (),
    min_coverage: float = 0.0,
    base: Callable[[ContrastAudit | Between], PercentBase] | None = None,
) -> Ruling:
    """Compare the interval of every two groups with the threshold that is for them.

    "fail" if one lies above it. "pass" if all lie at or below it, nobody was left out of every
    comparison, and at least `min_coverage` of each group was compared. Otherwise the evidence does
    not settle it: "investigate". Groups that were each compared with a third one only are judged by
    what is known `between` them: two that are close to a third may be twice as far apart. Of what a
    percentage is one is said by `base`.
    """
    compared: list[ContrastAudit | Between] = [*contrasts, *between]
    judgments = (
        *(_judge(each, _chosen(thresholds, each), min_coverage, base) for each in compared),
        *(
            Judgment(
                each.groups, "investigate", f"{_names(each.groups, each.columns)}: {each.reason}"
            )
            for each in unexamined
        ),
        *_unmet(compared, unexamined, thresholds, sensitive),
    )
    verdict = worst(judged.verdict for judged in judgments)
    reasons = tuple(judged.reason for judged in judgments if judged.verdict == verdict)
    return Ruling(verdict, reasons, judgments, tuple(thresholds), policy)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict for many: a failure settles it, and what is unsettled keeps it from passing."""
    given = set(verdicts)
    return "fail" if "fail" in given else "investigate" if "investigate" in given else "pass"


def _chosen(thresholds: Sequence[Threshold], contrast: ContrastAudit | Between) -> Threshold | None:
    """The threshold for two groups: their own, or that of everybody."""
    own = [each for each in thresholds if each.groups and set(each.groups) == set(contrast.groups)]
    common = [each for each in thresholds if each.groups is None]
    return next(iter([*own, *common]), None)


def _judge(
    contrast: ContrastAudit | Between,
    threshold: Threshold | None,
    min_coverage: float,
    base: Callable[[ContrastAudit | Between], PercentBase] | None,
) -> Judgment:
    names = _names(contrast.groups, contrast.columns)
    if threshold is None:
        return Judgment(contrast.groups, "investigate", f"{names}: no threshold is for them.")
    threshold, told = _in_units(threshold, contrast, base)
    low, high = _interval(contrast, threshold.of)
    verdict: Verdict
    if low > threshold.value:
        verdict, reason = "fail", f"at least {figure(low, 4)}"
    elif high <= threshold.value:
        verdict, reason = "pass", f"at most {figure(high, 4)}"
        if (few := _few_compared(contrast, min_coverage)) is not None:
            verdict, reason = "investigate", f"{reason} {few}"
    else:
        verdict = "investigate"
        reason = f"up to {figure(high, 4)}" if math.isfinite(high) else "no upper end"
    return Judgment(contrast.groups, verdict, f"{names}: {reason}{told}.", threshold, (low, high))


def _in_units(
    threshold: Threshold,
    contrast: ContrastAudit | Between,
    base: Callable[[ContrastAudit | Between], PercentBase] | None,
) -> tuple[Threshold, str]:
    """A threshold in units of the score, and how it came about if it was a percentage."""
    if not threshold.percent:
        return threshold, ""
    if base is None:
        raise InputError("threshold must be in units of the score here, not a percentage.")
    whole, group = base(contrast)
    value = threshold.value / 100.0 * whole
    said = f"{threshold.value:g}%"
    if group is None:
        told = f" ({said} is {threshold.value:g} points: {figure(value, 4)})"
    else:
        named = group_name(group, contrast.columns[0]) if len(contrast.columns) == 1 else group
        told = f" ({said} of the mean of {named}, {figure(whole, 4)}: {figure(value, 4)})"
    return replace(threshold, value=value, percent=False), told


def _few_compared(contrast: ContrastAudit | Between, least: float) -> str | None:
    """Who was compared, if these are too few for a verdict about all; else `None`."""
    if min(contrast.coverage.values()) >= least:
        return None
    return f"among those who could be compared, {covered_words(contrast.coverage)}"


def covered_words(coverage: Mapping[str, float]) -> str:
    """How much of each group was compared, as a sentence has it."""
    shares = [f"{share:.3g}%" for share in (100.0 * share for share in coverage.values())]
    if len(set(shares)) == 1:
        return f"{shares[0]} of each group"
    return " and ".join(
        f"{share} of {group}" for share, group in zip(shares, coverage, strict=True)
    )


def _unmet(
    contrasts: Sequence[ContrastAudit | Between],
    unexamined: Sequence[Unexamined],
    thresholds: Sequence[Threshold],
    sensitive: str,
) -> list[Judgment]:
    """Thresholds for two groups that were never set against each other."""
    known = [set(each.groups) for each in contrasts]
    known += [set(each.groups) for each in unexamined]
    return [
        Judgment(
            each.groups,
            "investigate",
            f"{_names(each.groups, [sensitive])}: they have a threshold, but were not compared.",
            each,
        )
        for each in thresholds
        if each.groups is not None and set(each.groups) not in known
    ]


def _interval(contrast: ContrastAudit | Between, of: GateOf) -> tuple[float, float]:
    """Lower and upper end of the distance, or of the size of the gap whatever its sign."""
    if of == "gap":
        low, high = contrast.gap.interval
        return max(0.0, low, -high), max(abs(low), abs(high))
    if contrast.estimate is None:
        raise InputError("a gate needs an interval; audit with permutations of at least 1.")
    return contrast.estimate.interval


def _names(groups: Sequence[str], columns: Sequence[str]) -> str:
    """Groups as sentences call them; crossed ones have a name that says it all."""
    if len(columns) != 1:
        return " and ".join(groups)
    return " and ".join(group_name(group, columns[0]) for group in groups)
