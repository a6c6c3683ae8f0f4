"""The gate: intervals against thresholds, and why they say what they say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from likeforlike._text import figure, group_name
from likeforlike.document._request import Threshold, ThresholdOf
from likeforlike.document._results import Judgment, Outcome, Unexamined, Verdict
from likeforlike.errors import InputError

if TYPE_CHECKING:
    from likeforlike.auditing._contrast_audit import Between, Examination, PercentBase


def rule(
    contrasts: Sequence[Examination],
    unexamined: Sequence[Unexamined],
    thresholds: Sequence[Threshold],
    sensitive: str,
    policy: str | None = None,
    *,
    between: Sequence[Between] = (),
    min_coverage: float = 0.0,
    base: Callable[[Examination | Between], PercentBase] | None = None,
) -> Verdict:
    """Compare the interval of every two groups with the threshold that is for them.

    "fail" if one lies above it. "pass" if all lie at or below it, no row was left out of every
    comparison, and at least `min_coverage` of each group was compared. Otherwise the evidence does
    not settle it: "investigate". Groups that were each compared with a third one only are judged by
    what is known `between` them: two that are close to a third may be twice as far apart. Of what a
    percentage is one is said by `base`.
    """
    compared: list[Examination | Between] = [*contrasts, *between]
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
    return Verdict(verdict, reasons, judgments, tuple(thresholds), policy)


def worst(verdicts: Iterable[Outcome]) -> Outcome:
    """One verdict for many: a failure settles it, and what is unsettled keeps it from passing."""
    given = set(verdicts)
    return "fail" if "fail" in given else "investigate" if "investigate" in given else "pass"


def _chosen(thresholds: Sequence[Threshold], contrast: Examination | Between) -> Threshold | None:
    """The threshold for two groups: their own, or that of all."""
    own = [each for each in thresholds if each.groups and set(each.groups) == set(contrast.groups)]
    common = [each for each in thresholds if each.groups is None]
    return next(iter([*own, *common]), None)


def _judge(
    contrast: Examination | Between,
    threshold: Threshold | None,
    min_coverage: float,
    base: Callable[[Examination | Between], PercentBase] | None,
) -> Judgment:
    names = _names(contrast.groups, contrast.columns)
    if threshold is None:
        return Judgment(contrast.groups, "investigate", f"{names}: no threshold is for them.")
    threshold, basis = _in_units(threshold, contrast, base)
    low, high = _interval(contrast, threshold.of)
    verdict: Outcome
    if low > threshold.value:
        verdict, reason = "fail", f"at least {figure(low, 4)}"
    elif high <= threshold.value:
        verdict, reason = "pass", f"at most {figure(high, 4)}"
        if (few := _few_compared(contrast, min_coverage)) is not None:
            verdict, reason = "investigate", f"{reason} {few}"
    else:
        verdict = "investigate"
        reason = f"up to {figure(high, 4)}" if math.isfinite(high) else "no upper end"
    ends = (low, high if math.isfinite(high) else None)
    said = f"{names}: {reason}{basis}."
    return Judgment(contrast.groups, verdict, said, threshold.value, ends)


def _in_units(
    threshold: Threshold,
    contrast: Examination | Between,
    base: Callable[[Examination | Between], PercentBase] | None,
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
        basis = f" ({said} is {threshold.value:g} points: {figure(value, 4)})"
    else:
        named = group_name(group, contrast.columns[0]) if len(contrast.columns) == 1 else group
        basis = f" ({said} of the mean of {named}, {figure(whole, 4)}: {figure(value, 4)})"
    return replace(threshold, value=value, percent=False), basis


def _few_compared(contrast: Examination | Between, least: float) -> str | None:
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
    contrasts: Sequence[Examination | Between],
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
            each.value,
        )
        for each in thresholds
        if each.groups is not None and set(each.groups) not in known
    ]


def _interval(contrast: Examination | Between, of: ThresholdOf) -> tuple[float, float]:
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
