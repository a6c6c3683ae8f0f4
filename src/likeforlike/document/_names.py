"""Groups as people read them: one that is no word is called by its column, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from likeforlike._text import group_name
from likeforlike.document._convention_types import ConventionsPart
from likeforlike.document._group_types import GroupPart, LostPart
from likeforlike.document._types import AuditFigures, ContrastPart, UnexaminedPart

OTHER_LEVELS = "other levels"
"""What levels are called that are shown together, each of them being too small to be shown."""
OTHER_GROUPS = "other groups"
"""What groups are called that are too small to be named."""

D = TypeVar("D", bound=AuditFigures)


def named_groups(document: D) -> D:
    """The same document with groups that sentences can be made of: "sex 0" in the place of "0"."""
    data = document["data"]
    parts = {
        "contrasts": [_renamed(part, _names(part)) for part in document["contrasts"]],
        "unexamined": [_renamed(part, _names(part)) for part in document["unexamined"]],
        "conventions": [_renamed(part, _names(part)) for part in document["conventions"]],
        "verdicts": _renamed(document["verdicts"], _own_names(document)),
        "data": {
            **data,
            "lost": [_renamed(part, _names(part)) for part in data["lost"]],
            "groups": [_renamed(part, _names(part)) for part in data["groups"]],
        },
    }
    return cast("D", {**document, **parts})


def _names(
    part: ContrastPart | UnexaminedPart | LostPart | GroupPart | ConventionsPart,
) -> dict[str, str]:
    """The groups of a part that are called otherwise; crossed ones have speaking names."""
    if len(part["columns"]) != 1:
        return {}
    given = part.get("groups", part.get("group"))
    groups: list[object] = given if isinstance(given, list) else [given]
    texts = (group for group in groups if isinstance(group, str))
    named = {group: group_name(group, part["columns"][0]) for group in texts}
    return {group: name for group, name in named.items() if group != name}


def _own_names(document: AuditFigures) -> dict[str, str]:
    """The groups of the only sensitive column that are called otherwise."""
    if document["roles"]["also_sensitive"]:
        return {}
    compared = (_names(part) for part in document["contrasts"])
    others = (_names(part) for part in document["unexamined"])
    return {group: name for names in (*compared, *others) for group, name in names.items()}


def _renamed(part: object, names: Mapping[str, str]) -> object:
    """A part of the document with groups called otherwise, wherever they are named."""
    if not names:
        return part
    if isinstance(part, dict):
        # No entry of a document is called like a group that has to be renamed.
        return {
            names.get(key, key): _named(value, names)
            if key in ("group", "groups", "reference")
            else _renamed(value, names)
            for key, value in part.items()
        }
    return [_renamed(each, names) for each in part] if isinstance(part, list) else part


def _named(groups: object, names: Mapping[str, str]) -> object:
    """One group or several by their names; `None` is nobody's."""
    if isinstance(groups, list):
        return [names.get(group, group) for group in groups]
    return names.get(groups, groups) if isinstance(groups, str) else groups
