"""Labels of groups and levels in files: plain values that become the same labels again."""

from __future__ import annotations

import math
from collections.abc import Hashable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from likeforlike.errors import InputError

# What JSON has no word for, by the name of its type: to text, and back.
_KINDS: dict[type, str] = {
    float: "float",
    Decimal: "decimal",
    datetime: "datetime",
    date: "date",
    time: "time",
    timedelta: "seconds",
}
_BACK: dict[str, Any] = {
    "float": float,
    "decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "time": time.fromisoformat,
    "seconds": lambda text: timedelta(seconds=float(text)),
}


def plain_label(label: Hashable) -> object:
    """A label as JSON holds it; a tuple is a list, what JSON does not know names its type.

    In a tuple a value may be unknown.
    """
    if isinstance(label, tuple):
        return [None if part is None else plain_label(part) for part in label]
    if isinstance(label, str | bool | int) or (isinstance(label, float) and math.isfinite(label)):
        return label
    kind = _KINDS.get(type(label))
    if kind is None:
        raise InputError(
            f"the label {label!r} ({type(label).__name__}) cannot be kept in a file; make it text."
        )
    if isinstance(label, date | time):
        return {kind: label.isoformat()}
    return {kind: str(label.total_seconds() if isinstance(label, timedelta) else label)}


def label_of(plain: object) -> Hashable:
    """The label that a plain value stands for."""
    if isinstance(plain, list):
        return tuple(None if part is None else label_of(part) for part in plain)
    if isinstance(plain, dict):
        [(kind, text)] = plain.items()
        back: Hashable = _BACK[kind](text)
        return back
    if isinstance(plain, str | bool | int | float):
        return plain
    raise ValueError(f"{plain!r} stands for no label")
