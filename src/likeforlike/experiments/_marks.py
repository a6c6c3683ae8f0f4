"""Marks of settings: two that differ have different marks, whatever their `repr` leaves out.

A `repr` is for people: numpy cuts long arrays short, polars shows a few columns, and a plain object
shows where it lies in memory. A mark spells out everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import polars as pl


def mark_of(value: object) -> str:
    """SHA-256 of everything that a value consists of."""
    return sha256(_spelled(value).encode()).hexdigest()


def _spelled(value: Any) -> str:  # noqa: ANN401
    """A value as text, complete."""
    for kind, spell in _SPELLINGS:
        if isinstance(value, kind):
            return f"{_kind(value)}({spell(value)})"
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return f"{_kind(value)}({_mapping(parts)})"
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{_kind(value)}({_mapping(vars(value)) if hasattr(value, '__dict__') else repr(value)})"


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _mapping(parts: Mapping[Any, Any]) -> str:
    return ", ".join(sorted(f"{_spelled(key)}: {_spelled(part)}" for key, part in parts.items()))


def _array(array: np.ndarray[Any, Any]) -> str:
    if array.dtype.hasobject:
        return f"{array.shape}, {_sequence(array.ravel().tolist())}"
    content = sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return f"{array.dtype.str}, {array.shape}, {content}"


def _frame(frame: pl.DataFrame) -> str:
    content = sha256(frame.write_csv().encode()).hexdigest()
    return f"{_sequence([(name, str(kind)) for name, kind in frame.schema.items()])}, {content}"


def _sequence(values: Any) -> str:  # noqa: ANN401
    return ", ".join(_spelled(value) for value in values)


def _set(values: Any) -> str:  # noqa: ANN401
    return ", ".join(sorted(_spelled(value) for value in values))


# Kinds whose spelling is not that of their parts by name; the first that fits counts.
_SPELLINGS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    ((bool, int, float, complex, str, bytes, type(None), np.generic), repr),
    (np.ndarray, _array),
    (pl.DataFrame, _frame),
    (pl.Series, lambda series: _frame(series.to_frame())),
    (Mapping, _mapping),
    ((set, frozenset), _set),
    ((list, tuple), _sequence),
    (partial, lambda call: _sequence([call.func, call.args, call.keywords])),
)
