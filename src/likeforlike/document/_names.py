"""Groups as people read them: one that is no word is called by its column, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast

from likeforlike._text import group_name
from likeforlike.document._types import AuditFigures

OTHER_LEVELS = "other levels"
"""What levels are called that are shown together, each of them being too small to be shown."""
OTHER_GROUPS = "other groups"
"""What groups are called that are too small to be named."""

D = TypeVar("D", bound=AuditFigures)


def named_groups(document: D) -> D:
    """The same document with groups that sentences can be made of: "sex 0" in the place of "0"."""
    column, data = document["roles"]["sensitive"], document["data"]
    compared = [*document["contrasts"], *document["unexamined"]]
    groups = {group for part in compared for group in part["groups"]}
    groups |= {part["group"] for part in data["lost"] if part["group"] is not None}
    names = {group: group_name(group, column) for group in groups}
    if all(group == name for group, name in names.items()):
        return document
    parts = {
        "contrasts": _renamed(document["contrasts"], names),
        "unexamined": _renamed(document["unexamined"], names),
        "verdicts": _renamed(document["verdicts"], names),
        "data": {**data, "lost": _renamed(data["lost"], names)},
    }
    return cast("D", {**document, **parts})


def _renamed(part: object, names: Mapping[str, str]) -> object:
    """A part of the document with groups called otherwise, wherever they are named."""
    if isinstance(part, dict):
        # No entry of a document is called like a group that has to be renamed.
        return {
            names.get(key, key): _named(value, names)
            if key in ("group", "groups")
            else _renamed(value, names)
            for key, value in part.items()
        }
    return [_renamed(each, names) for each in part] if isinstance(part, list) else part


def _named(groups: object, names: Mapping[str, str]) -> object:
    """One group or several by their names; `None` is nobody's."""
    if isinstance(groups, list):
        return [names.get(group, group) for group in groups]
    return names.get(groups, groups) if isinstance(groups, str) else groups
