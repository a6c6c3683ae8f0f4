"""The gate: intervals against a threshold, and why they say what they say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from likeforlike._arrays import is_one_of, real
from likeforlike._text import figure, group_name
from likeforlike.auditing._comparisons import Unexamined
from likeforlike.auditing._contrast_audit import ContrastAudit
from likeforlike.errors import InputError

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
class Ruling:
    """A verdict and the reasons for it.

    Attributes
    ----------
    verdict : "pass", "fail" or "investigate".
    reasons : one sentence for every contrast that decided it, or could not be examined.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> audit = lfl.audit(load_loans(1000).frame, score="approved", sensitive="sex")
    >>> audit.ruling(0.9).reasons
    ('female and male: at most 0.06174.',)
    """

    verdict: Verdict
    reasons: tuple[str, ...]


def rule(
    contrasts: Sequence[ContrastAudit],
    unexamined: Sequence[Unexamined],
    threshold: float,
    of: GateOf,
    sensitive: str,
) -> Ruling:
    """Compare the interval of every contrast with a threshold.

    "fail" if one lies above it. "pass" if all lie at or below it and nobody was left out of every
    comparison. Otherwise the evidence does not settle it: "investigate".
    """
    _check(threshold, of)
    intervals = [(_names(c.groups, sensitive), _interval(c, of)) for c in contrasts]
    above = [
        f"{names}: at least {figure(low, 4)}." for names, (low, _) in intervals if low > threshold
    ]
    if above:
        return Ruling("fail", tuple(above))
    across = [
        f"{names}: up to {figure(high, 4)}." if math.isfinite(high) else f"{names}: no upper end."
        for names, (_, high) in intervals
        if not high <= threshold
    ]
    apart = [f"{_names(each.groups, sensitive)}: {each.reason}" for each in unexamined]
    if across or apart:
        return Ruling("investigate", (*across, *apart))
    return Ruling(
        "pass", tuple(f"{names}: at most {figure(high, 4)}." for names, (_, high) in intervals)
    )


def _check(threshold: float, of: GateOf) -> None:
    if isinstance(threshold, bool) or not 0.0 <= real(threshold) < math.inf:
        raise InputError(f"threshold must be a finite number of 0 or more, not {threshold!r}.")
    if not is_one_of(of, get_args(GateOf)):
        raise InputError(f"of must be one of {get_args(GateOf)}, not {of!r}.")


def _interval(contrast: ContrastAudit, of: GateOf) -> tuple[float, float]:
    """Lower and upper end of the distance, or of the size of the gap whatever its sign."""
    if of == "gap":
        low, high = contrast.gap.interval
        return max(0.0, low, -high), max(abs(low), abs(high))
    if contrast.estimate is None:
        raise InputError("a gate needs an interval; audit with permutations of at least 1.")
    return contrast.estimate.interval


def _names(groups: Sequence[str], sensitive: str) -> str:
    return " and ".join(group_name(group, sensitive) for group in groups)
