"""A verdict in words: what page, terminal, pipelines and trackers say about it."""

from __future__ import annotations

from likeforlike._text import figure
from likeforlike.document._request import Threshold
from likeforlike.document._results import Verdict

_MEANING = {
    "pass": "every interval lies at or below it",
    "fail": "an interval lies above it",
    "investigate": "the evidence does not settle it",
}


def verdict_title(part: Verdict) -> str:
    """The threshold and the verdict, in a few words."""
    return f"Threshold {_values(part)}: {part.verdict}"


def verdict_meaning(part: Verdict) -> str:
    """What the verdict means."""
    return _MEANING[part.verdict]


def verdict_origin(part: Verdict) -> list[str]:
    """Who set which threshold, and when; a sentence each, and none if not given."""
    sentences = [_origin(each) for each in part.thresholds if each.set_by or each.set_on]
    if part.policy is not None:
        sentences.append(f"The policy is {part.policy}.")
    return sentences


def _values(part: Verdict) -> str:
    written = (
        _value(each)
        + ("" if each.of == "distance" else " of the gap")
        + ("" if each.groups is None else f" for {' and '.join(each.groups)}")
        for each in part.thresholds
    )
    return ", ".join(written)


def _origin(threshold: Threshold) -> str:
    by = f" by {threshold.set_by}" if threshold.set_by else ""
    on = f" on {threshold.set_on}" if threshold.set_on else ""
    whom = "" if threshold.groups is None else f" for {' and '.join(threshold.groups)}"
    return f"The threshold of {_value(threshold)}{whom} was set{by}{on}."


def _value(threshold: Threshold) -> str:
    return f"{figure(threshold.value, 6)}{'%' if threshold.percent else ''}"
