"""The finding in plain language, from the figures of an audit and nothing else.

It says what was measured, on how many people, with what certainty, and what could not be
compared. It never says "fair".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["finding"]

Document = Mapping[str, Any]
"""The document of `Audit.to_dict`, or a part of it."""

# A p-value up to this is called evidence.
_LEVEL = 0.05


def finding(document: Document) -> dict[str, Any]:
    """Headline, sentences and cautions about an audit.

    Parameters
    ----------
    document : as made by `Audit.to_dict`; the first contrast is the largest.

    Returns
    -------
    dictionary with `headline` (text), `sentences` (list of texts) and `cautions` (list of texts).

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import load_loans
    >>> loans = load_loans(1000).frame
    >>> audit = lfl.audit(loans, score="approved", sensitive="sex", legitimate="income")
    >>> audit.to_dict()["finding"]["headline"]
    'Among people with equal income, approved differs between female and male.'
    """
    contrast = document["contrasts"][0]
    return {
        "headline": _headline(document["roles"], contrast),
        "sentences": _sentences(document["roles"], contrast),
        "cautions": [*_who_is_missing(document, contrast), *_how_it_was_made(document["data"])],
    }


def _equals(roles: Document) -> str:
    if not roles["legitimate"]:
        return "Overall"
    return f"Among people with equal {_listed(roles['legitimate'])}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _is_evidence(contrast: Document) -> bool:
    return contrast["p_value"] is not None and contrast["p_value"] <= _LEVEL


def _headline(roles: Document, contrast: Document) -> str:
    first, second = contrast["groups"]
    if contrast["p_value"] is None:
        return (
            f"{_equals(roles)}, {roles['score']} of {first} and {second} lies "
            f"{contrast['conditional']['value']:.3g} apart (not tested)."
        )
    if _is_evidence(contrast):
        return f"{_equals(roles)}, {roles['score']} differs between {first} and {second}."
    return (
        f"{_equals(roles)}, no difference of {roles['score']} between {first} and {second} was "
        "detected."
    )


def _sentences(roles: Document, contrast: Document) -> list[str]:
    sentences = []
    if contrast["test"] is not None:
        sentences += [_size(roles, contrast), _chance(contrast)]
        sentences.append(
            f"A shift of {contrast['test']['detectable']:.2g} or more in every level would have "
            "been detected in 80% of samples like this one."
        )
    sentences.append(_direction(contrast))
    if roles["legitimate"]:
        sentences.append(_overall(contrast))
    return sentences


def _size(roles: Document, contrast: Document) -> str:
    (first, second), rows = contrast["groups"], contrast["rows"]
    sized, levels = contrast["estimate"], len(contrast["levels"])
    low, high = sized["interval"]
    return (
        f"The disparity is estimated at {sized['value']:.3g} ({100 * sized['confidence']:.4g}% "
        f"interval {low:.3g} to {high:.3g}, in units of {roles['score']}), from {rows[0]:,} rows "
        f"of {first} and {rows[1]:,} of {second} in {levels:,} level{'s' if levels != 1 else ''}."
    )


def _chance(contrast: Document) -> str:
    verb = "is" if _is_evidence(contrast) else "is not"
    return (
        f"The scores as they are lie {contrast['conditional']['value']:.3g} apart; equal treatment "
        f"would give {contrast['test']['null_distance']:.3g} on average by chance alone. The "
        f"difference {verb} more than chance explains (p = {contrast['p_value']:.3g})."
    )


def _direction(contrast: Document) -> str:
    first, second = contrast["groups"]
    gaps = [level["gap"] for level in contrast["levels"]]
    higher, lower = sum(gap > 0.0 for gap in gaps), sum(gap < 0.0 for gap in gaps)
    where = "in every level compared" if len(gaps) > 1 else "overall"
    if higher == lower == 0:
        return f"The means of {first} and {second} are the same {where}."
    if lower == 0:
        return f"The mean of {second} is higher {where}."
    if higher == 0:
        return f"The mean of {first} is higher {where}."
    return (
        f"The mean of {second} is higher in {higher:,} of {len(gaps):,} levels, that of {first} in "
        f"{lower:,}; gaps of opposite sign do not cancel in the disparity."
    )


def _overall(contrast: Document) -> str:
    value = contrast["unconditional"]["value"]
    told = {
        "none": f"Without regard to levels the groups lie {value:.3g} apart.",
        "masked": (
            f"Without regard to levels the groups lie only {value:.3g} apart: a comparison of "
            "everybody hides the difference among equals (Simpson's paradox)."
        ),
        "reversed": (
            f"Without regard to levels the groups lie {value:.3g} apart in the opposite "
            "direction: a comparison of everybody misleads (Simpson's paradox)."
        ),
    }
    return told[contrast["paradox"]]


def _who_is_missing(document: Document, contrast: Document) -> list[str]:
    cautions = [
        f"{1 - share:.1%} of {group} could not be compared: their levels hold nobody of the other "
        "group."
        for group, share in contrast["coverage"].items()
        if share < 0.9995
    ]
    cautions += [
        f"{share:.1%} of {group} sit in levels with fewer than "
        f"{document['settings']['min_cell']} rows of a group; such levels say little alone."
        for group, share in contrast["thin_share"].items()
        if share > 0.0005
    ]
    data = document["data"]
    dropped = data["rows"] - data["used"]
    if dropped:
        lacking = ", ".join(
            f"{name}: {count:,}" for name, count in data["missing"].items() if count
        )
        cautions.append(
            f"{dropped:,} of {data['rows']:,} rows were left out for missing values ({lacking})."
        )
    return cautions


def _how_it_was_made(data: Document) -> list[str]:
    cautions = []
    if data["edges"]:
        cautions.append(
            f"{_listed(list(data['edges']))} was cut into bins; people in one bin are not quite "
            "equal, and a test inside bins can mistake that for unequal treatment."
        )
    if data["resolution"]:
        cautions.append(
            f"Scores were rounded to bins of width {data['resolution']:g}; every Wasserstein "
            "distance is within that of its exact value."
        )
    return cautions
