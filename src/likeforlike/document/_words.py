"""Groups, amounts and verdicts in words, as people read them.

What the page, the terminal, pipelines and trackers say about a verdict is written here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from likeforlike._text import figure, group_name
from likeforlike.document._request import Threshold
from likeforlike.document._results import AuditDocument, Verdict

OTHER_LEVELS = "other levels"
"""Name of the levels that are shown together, each of them being too small to be shown."""
OTHER_GROUPS = "other groups"
"""Name of the groups that are too small to be named."""
_WOMEN, _MEN = ("female", "woman", "women", "f"), ("male", "man", "men", "m")
_PEOPLE = {**dict.fromkeys(_WOMEN, "women"), **dict.fromkeys(_MEN, "men")}
# Columns in which f and m are women and men.
_SEX = ("sex", "gender")


def name_groups(document: AuditDocument) -> AuditDocument:
    """Rename the groups of a document to fit into sentences: "sex 0" instead of "0"."""
    data = document.data
    return replace(
        document,
        contrasts=_rename_each(document.contrasts),
        unexamined=_rename_each(document.unexamined),
        classical=_rename_each(document.classical),
        verdicts=_rename(document.verdicts, _names_in_verdicts(document)),
        data=replace(data, lost=_rename_each(data.lost), groups=_rename_each(data.groups)),
    )


def spoken_groups(document: AuditDocument) -> AuditDocument:
    """Rename groups of a document to women and men, for sentences, where labels mean them."""
    parts: tuple[Any, ...] = (*document.contrasts, *document.unexamined)
    alone = [
        (group, each.columns[0])
        for each in parts
        for group in each.groups
        if len(each.columns) == 1
    ]
    others = {
        column
        for group, column in alone
        if group.casefold() not in _PEOPLE or (len(group) == 1 and column.casefold() not in _SEX)
    }
    names = {group: _PEOPLE[group.casefold()] for group, column in alone if column not in others}
    if len(set(names.values())) < len(names):
        return document
    data = document.data
    return replace(
        document,
        contrasts=_rename(document.contrasts, names),
        unexamined=_rename(document.unexamined, names),
        data=replace(data, lost=_rename(data.lost, names), groups=_rename(data.groups, names)),
    )


def mean_name(document: AuditDocument) -> str:
    """Name the mean of the scores."""
    kind, score = document.data.kind, document.roles.score
    return f"rate of {score}" if kind == "decision" else f"mean {score}"


def score_words(document: AuditDocument) -> str:
    """Name the scores in the plural."""
    return {"decision": "rates", "money": "amounts"}.get(document.data.kind, "scores")


def amount(document: AuditDocument, value: float, digits: int = 3, *, bare: bool = False) -> str:
    """Write a difference of scores for a sentence: in points for decisions, else with its unit.

    `bare` leaves the unit to another amount behind this one.
    """
    points = document.data.kind == "decision"
    size = figure(100.0 * value if points else value, digits)
    unit = ("point" if size == "1" else "points") if points else document.settings.unit
    return f"{size} {unit}" if unit and not bare else size


def _rename_each(parts: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_rename(part, _names(part)) for part in parts)


def _names(part: Any) -> dict[str, str]:  # noqa: ANN401
    """Find new names for groups of a part; crossed ones have names that say all."""
    if len(part.columns) != 1:
        return {}
    groups = part.groups if hasattr(part, "groups") else (part.group,)
    named = {group: group_name(group, part.columns[0]) for group in groups if group is not None}
    return {group: name for group, name in named.items() if group != name}


def _names_in_verdicts(document: AuditDocument) -> dict[str, str]:
    """Find new names for groups of the only sensitive column."""
    if document.roles.also_sensitive:
        return {}
    parts = (*document.contrasts, *document.unexamined)
    return {group: name for part in parts for group, name in _names(part).items()}


def _rename(part: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401
    """Rename groups in a part of the document, wherever they are named."""
    if not names:
        return part
    if isinstance(part, tuple):
        return tuple(_rename(each, names) for each in part)
    if isinstance(part, Mapping):
        return {names.get(key, key): _rename(value, names) for key, value in part.items()}
    if not dataclasses.is_dataclass(part) or isinstance(part, type):
        return part
    changed = {
        field.name: _rename_groups(getattr(part, field.name), names)
        if field.name in ("group", "groups", "reference")
        else _rename(getattr(part, field.name), names)
        for field in dataclasses.fields(part)
    }
    return replace(part, **changed)


def _rename_groups(groups: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401
    """One group or several by their names; `None` stays."""
    if isinstance(groups, tuple):
        return tuple(names.get(group, group) for group in groups)
    return names.get(groups, groups)


_MEANING = {
    "pass": "every interval lies at or below it",
    "fail": "an interval lies above it",
    "investigate": "the evidence does not settle it",
}


def verdict_title(part: Verdict) -> str:
    """State the threshold and the verdict in a few words."""
    return f"Threshold {_values(part)}: {part.verdict}"


def verdict_meaning(part: Verdict) -> str:
    """Say what the verdict means."""
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
