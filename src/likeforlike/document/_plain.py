"""Plain values: what a result is in JSON, and back.

One rule for every frozen dataclass: fields in order become entries, tuples become lists, numbers
that JSON lacks become null. What deviates is declared at the field, as `plain=`.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
from collections.abc import Callable, Hashable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from likeforlike._text import json_visible
from likeforlike.errors import InputError


class Limits(NamedTuple):
    """Bounds of a number, or of the length of a list, for the schema."""

    least: int
    most: int | None = None


Count = Annotated[int, Limits(0)]
Amount = Annotated[float, Limits(0)]
Probability = Annotated[float, Limits(0, 1)]
Pair = Annotated[tuple[str, str], Limits(2, 2)]
Counts = Annotated[tuple[Count, Count], Limits(2, 2)]
Interval = Annotated[tuple[float, float], Limits(2, 2)]
OpenInterval = Annotated[tuple[float, float | None], Limits(2, 2)]
Scalar = str | bool | int | float
Label = Scalar | list[Scalar]

PlainValues = dict[str, Any]
"""What JSON holds: dictionaries, lists, text, finite numbers, truth values and None."""

_PLAIN, _KIND = "plain", "kind"
PRIVATE: Mapping[str, object] = {_PLAIN: None}
"""Metadata of a field that is not written to JSON."""


def entry(plain: Callable[[Any], object], kind: object) -> Mapping[str, object]:
    """Metadata of a field that is written to JSON by a rule of its own.

    Parameters
    ----------
    plain : the rule.
    kind : type of what it gives, for the schema.
    """
    return {_PLAIN: plain, _KIND: kind}


@cache
def _hints(kind: Any) -> dict[str, Any]:  # noqa: ANN401
    return get_type_hints(kind, include_extras=True)


@cache
def entries(kind: Any) -> dict[str, Callable[[Any], object]]:  # noqa: ANN401
    """List the fields of a dataclass that are written to JSON, and how."""
    return {
        field.name: field.metadata.get(_PLAIN, plain)
        for field in dataclasses.fields(kind)
        if field.metadata.get(_PLAIN, plain) is not None
    }


def kinds(kind: Any) -> dict[str, Any]:  # noqa: ANN401
    """List the types of the entries of a dataclass, as the schema has them."""
    hints = _hints(kind)
    own = {field.name: field.metadata.get(_KIND) for field in dataclasses.fields(kind)}
    return {name: hints[name] if own[name] is None else own[name] for name in entries(kind)}


def plain(value: Any) -> Any:  # noqa: ANN401
    """Write a result as dictionaries, lists, text, finite numbers, truth values and None."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, tuple | list):
        return [plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if dataclasses.is_dataclass(value):
        return {name: rule(getattr(value, name)) for name, rule in entries(value.__class__).items()}
    if (number := _python_number(value)) is not value:
        return plain(number)
    raise TypeError(f"{type(value).__name__} has no place in a document.")


def plain_label(label: Hashable) -> Label:
    """Write the label of a level in plain values; that of several columns is a list."""
    if isinstance(label, tuple | list):
        return [plain_scalar(part) for part in label]
    return plain_scalar(label)


def plain_scalar(value: Hashable) -> Scalar:
    """Write a column's value as JSON can hold it; dates, decimals and infinities become text."""
    value = _python_number(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | bool | int | float) else str(value)


def _python_number(value: Any) -> Any:  # noqa: ANN401
    """Turn a number of numpy into one of Python, without loading numpy; keep all else."""
    return value.item() if getattr(value, "ndim", None) == 0 else value


def restore(kind: Any, value: Any) -> Any:  # noqa: ANN401
    """Restore a result of this type from the plain values that `plain` made of it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        found = restore(inner[0], value)
        if isinstance(found, tuple) and len(found) < inner[1].least:
            raise InputError(
                f"{inner[1].least} entries or more are expected where there is {value!r}."
            )
        return found
    if origin in (Union, types.UnionType):
        return _restore_union(inner, value)
    if origin is tuple:
        return _restore_tuple(inner, value)
    if origin in (dict, Mapping):
        return {key: restore(inner[1], part) for key, part in _mapping(value).items()}
    if dataclasses.is_dataclass(kind):
        return _restore_fields(kind, value)
    wrong = kind in (str, bool, int, float) and not isinstance(value, kind | int)
    if wrong or (origin is Literal and value not in inner):
        raise InputError(f"{value!r} is not what stands there in a document.")
    return float(value) if kind is float else _hashable(value)


def _restore_union(kinds: tuple[Any, ...], value: Any) -> Any:  # noqa: ANN401
    if value is None and type(None) in kinds:
        return None
    others = [each for each in kinds if each is not type(None)]
    if len(others) > 1 and not isinstance(value, list | Mapping):
        return value
    nested = [each for each in others if _holds_others(each)]
    return restore(nested[0] if nested else others[0], value)


def _restore_tuple(kinds: tuple[Any, ...], value: Any) -> tuple[Any, ...]:  # noqa: ANN401
    if not isinstance(value, list | tuple):
        raise InputError(f"a list is expected where there is {value!r}.")
    every = kinds[:1] * len(value) if kinds[-1] is Ellipsis else kinds
    if len(every) != len(value):
        raise InputError(f"{len(every)} entries are expected where there are {len(value)}.")
    return tuple(restore(each, part) for each, part in zip(every, value, strict=True))


def _mapping(value: Any) -> Mapping[str, Any]:  # noqa: ANN401
    if not isinstance(value, Mapping):
        raise InputError(f"an object is expected where there is {value!r}.")
    return value


def _restore_fields(kind: Any, value: Any) -> Any:  # noqa: ANN401
    names = entries(kind)
    if lacking := names.keys() - _mapping(value).keys():
        raise InputError(f"{kind.__name__} has no entry {min(lacking)!r}.")
    hints = _hints(kind)
    return kind(**{name: restore(hints[name], value[name]) for name in names})


def _holds_others(kind: Any) -> bool:  # noqa: ANN401
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return get_origin(kind) in (tuple, dict, Mapping) or dataclasses.is_dataclass(kind)


def _hashable(value: Any) -> Any:  # noqa: ANN401
    return tuple(_hashable(each) for each in value) if isinstance(value, list) else value


def json_text(document: Mapping[str, object]) -> str:
    """Plain values as they are written to files: strict JSON, one entry per line."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return json_visible(text) + "\n"
