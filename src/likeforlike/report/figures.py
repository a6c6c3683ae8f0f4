"""The key figures: what a reader takes along after half a minute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from likeforlike.report.format import confidence, count, counted, interval, number, p_value, percent

__all__ = ["key_figures"]

Part = Mapping[str, Any]


def key_figures(document: Part) -> list[dict[str, Any]]:
    """Label, lines (figure and what it belongs to) and a note of each key figure.

    Parameters
    ----------
    document : of `Audit.to_dict`; figures are those of the first contrast.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> from likeforlike.report.figures import key_figures
    >>> audit = lfl.audit(
    ...     load_loans(1000).frame, score="approved", sensitive="sex", legitimate="income"
    ... )
    >>> [entry["label"] for entry in key_figures(audit.to_dict())]
    ['Estimated disparity', 'p-value', 'Average distance', 'Rows compared', 'Coverage']
    """
    contrast = document["contrasts"][0]
    return [
        _estimate(document, contrast),
        _p_value(document, contrast),
        _distances(document, contrast),
        _rows(contrast),
        _coverage(contrast),
    ]


def _estimate(document: Part, contrast: Part) -> dict[str, Any]:
    sized = contrast["estimate"]
    if sized is None:
        note = "no resampling was asked for"
    else:
        note = f"{confidence(sized['confidence'])} interval {interval(sized['interval'])}"
    value = None if sized is None else sized["value"]
    return {
        "label": "Estimated disparity",
        "lines": [(number(value), f"in units of {document['roles']['score']}")],
        "note": note,
    }


def _p_value(document: Part, contrast: Part) -> dict[str, Any]:
    if contrast["test"] is None:
        note = "not tested"
    else:
        note = f"{count(contrast['test']['permutations'])} permutations within levels"
        if len(document["contrasts"]) > 1:
            note += f", adjusted for {counted(len(document['contrasts']), 'contrast')}"
    return {"label": "p-value", "lines": [(p_value(contrast["p_value"]), "")], "note": note}


def _distances(document: Part, contrast: Part) -> dict[str, Any]:
    lines = [(number(contrast["unconditional"]["value"]), "everybody")]
    if document["roles"]["legitimate"]:
        lines.insert(0, (number(contrast["conditional"]["value"]), "among equals"))
    test = contrast["test"]
    note = "as observed"
    if test is not None:
        note += f"; chance alone gives {number(test['null_distance'])}"
    return {"label": "Average distance", "lines": lines, "note": note}


def _rows(contrast: Part) -> dict[str, Any]:
    lines = [
        (count(rows), group)
        for rows, group in zip(contrast["rows"], contrast["groups"], strict=True)
    ]
    note = f"in {counted(len(contrast['levels']), 'level')} where both occur"
    return {"label": "Rows compared", "lines": lines, "note": note}


def _coverage(contrast: Part) -> dict[str, Any]:
    lines = [(percent(contrast["coverage"][group]), group) for group in contrast["groups"]]
    excluded = len(contrast["excluded"])
    note = f"{counted(excluded, 'level')} left out" if excluded else "no level left out"
    return {"label": "Coverage", "lines": lines, "note": note}
