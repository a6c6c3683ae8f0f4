"""A threshold as an assertion."""

from __future__ import annotations

import warnings
from pathlib import Path

from likeforlike.auditing import Audit, Policy, audit_any
from likeforlike.document import (
    ThresholdOf,
    Verdict,
    verdict_meaning,
    verdict_origin,
    verdict_title,
)
from likeforlike.errors import InconclusiveWarning, InputError

__all__ = ["assert_parity"]


def assert_parity(
    data: object,
    threshold: float | str | None = None,
    *,
    of: ThresholdOf | None = None,
    policy: str | Path | Policy | None = None,
    **arguments: object,
) -> Audit:
    """Assert that no disparity among equals lies above its threshold.

    Parameters
    ----------
    data : an `Audit`, or what `audit` takes: a table, a path, or a `Summary`.
    threshold : the largest disparity allowed, in units of the score, or as "5%".
    of : what the threshold is for, "distance" (if nothing is said) or "gap".
    policy : a `Policy` or the file of one, in the place of a threshold.
    arguments : of `audit`, for data that were not audited yet.

    Returns
    -------
    the audit, with its verdict.

    Raises
    ------
    AssertionError : if the verdict is "fail", with its reasons.

    Warns
    -----
    InconclusiveWarning : if it is "investigate". `-W error::likeforlike.errors.InconclusiveWarning`
        makes a failure of it.

    Examples
    --------
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.testing import assert_parity
    >>> loans, roles = make_loans(5000, gap=0.1).frame, {"score": "score", "sensitive": "sex"}
    >>> assert_parity(loans, 0.3, **roles, legitimate="income").verdicts[0].verdict
    'pass'
    >>> assert_parity(loans, 0.05, **roles, legitimate="income")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    AssertionError: Threshold 0.05: fail (an interval lies above it).
      female and male: at least 0.0...
    """
    __tracebackhide__ = True  # pytest then shows the line of the test
    audit, ruling = _judge(data, threshold, of, policy, arguments)
    if ruling.verdict == "fail":
        raise AssertionError(_in_words(ruling))
    if ruling.verdict == "investigate":
        warnings.warn(_in_words(ruling), InconclusiveWarning, stacklevel=2)
    return audit


def _judge(
    data: object,
    threshold: float | str | None,
    of: ThresholdOf | None,
    policy: str | Path | Policy | None,
    arguments: dict[str, object],
) -> tuple[Audit, Verdict]:
    rules = Policy.read(policy) if isinstance(policy, str | Path) else policy
    if (threshold is None) == (rules is None):
        raise InputError("give a threshold or a policy, and not both.")
    if isinstance(data, Audit):
        if arguments:
            raise InputError(f"{next(iter(arguments))} cannot be said of an audit; leave it out.")
        audit = data
    elif rules is None:
        audit = audit_any(data, **arguments)
    else:
        audit = rules.audit(data, **arguments)
    if rules is not None:
        if of is not None:
            raise InputError(f"of is set by the policy {rules.name}; leave it out.")
        ruling = rules.judge(audit)
    else:
        ruling = audit.verdict(0.0 if threshold is None else threshold, of=of or "distance")
    return audit.with_verdict(ruling), ruling


def _in_words(ruling: Verdict) -> str:
    head = f"{verdict_title(ruling)} ({verdict_meaning(ruling)})."
    return "\n  ".join([head, *ruling.reasons, *verdict_origin(ruling)])
