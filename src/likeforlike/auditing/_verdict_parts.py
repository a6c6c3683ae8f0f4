"""Verdicts as plain values, for the document."""

from __future__ import annotations

import math

from likeforlike.auditing._gate import Judgment, Ruling, Threshold
from likeforlike.document._types import JudgmentPart, ThresholdPart, VerdictPart


def verdict_part(ruling: Ruling) -> VerdictPart:
    """A ruling with its reasons, thresholds and judgments."""
    return {
        "verdict": ruling.verdict,
        "reasons": list(ruling.reasons),
        "thresholds": [_threshold(each) for each in ruling.thresholds],
        "judgments": [_judgment(each) for each in ruling.judgments],
        "policy": ruling.policy,
    }


def _threshold(threshold: Threshold) -> ThresholdPart:
    return {
        "value": threshold.value,
        "of": threshold.of,
        "groups": None if threshold.groups is None else list(threshold.groups),
        "set_by": threshold.set_by,
        "set_on": threshold.set_on,
        "percent": threshold.percent,
    }


def _judgment(judged: Judgment) -> JudgmentPart:
    ends = judged.interval
    return {
        "groups": list(judged.groups),
        "verdict": judged.verdict,
        "threshold": None if judged.threshold is None else judged.threshold.value,
        "interval": None if ends is None else [end if math.isfinite(end) else None for end in ends],
        "reason": judged.reason,
    }
