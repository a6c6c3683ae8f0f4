"""Requests and releases as plain files that two teams exchange: JSON, or Parquet for many rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likeforlike.errors import InputError
from likeforlike.files import write_whole

_MOST_WHOLE = 2**63 - 1


def write_document(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write a document as JSON, whole or not at all."""
    write_whole(path, json.dumps(document, allow_nan=False) + "\n")


def read_document(path: str | Path, kind: str) -> dict[str, Any]:
    """Read a document of a kind, such as "likeforlike.release", from a JSON file."""
    file = Path(path)
    try:
        text = file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(f"{file} cannot be read: {reason}.") from error
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not JSON: {error}.") from error
    return of_kind(document, kind, str(file))


def of_kind(document: object, kind: str, name: str) -> dict[str, Any]:
    """Return the document, if it says that it is of this kind and of a version that is known."""
    if not isinstance(document, dict) or document.get("schema") != kind:
        raise InputError(
            f"{name} is not a {kind.rpartition('.')[2]} (its schema must be {kind!r})."
        )
    if document.get("schema_version") != 1:
        raise InputError(
            f"{name} has schema_version {document.get('schema_version')!r}; this library reads 1."
        )
    return document


def entry(document: Mapping[str, Any], name: str, kind: type | tuple[type, ...]) -> Any:  # noqa: ANN401
    """Return an entry of a document, which must be there and of some type."""
    if not isinstance(document.get(name), kind) or isinstance(document.get(name), bool):
        raise InputError(f"the {document['schema'].rpartition('.')[2]} has no valid {name!r}.")
    return document[name]


def texts(labels: Sequence[Any] | npt.NDArray[Any], name: str) -> list[str]:
    """Labels as text, by which rows are known on both sides."""
    try:
        if isinstance(labels, str | bytes):
            raise TypeError
        plain = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    except TypeError as error:
        raise InputError(f"{name} must be a list, not {type(labels).__name__}.") from error
    missing = next((k for k, label in enumerate(plain) if _is_missing(label)), None)
    if missing is not None:
        raise InputError(f"{name} is missing at row {missing}; every row needs one.")
    return [str(label) for label in plain]


def _is_missing(label: object) -> bool:
    """Whether this is no label: nothing, a number that is none, or what cannot be compared."""
    try:
        return label is None or bool(label != label)  # noqa: PLR0124
    except (TypeError, ValueError):
        return True


def check_unique(ids: Sequence[str], name: str = "ids") -> None:
    """Raise if a row is named twice: it would count twice, and be known twice as well."""
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for k, each in enumerate(ids):
        if each in seen:
            raise InputError(f"{name} names {each!r} twice, again at row {k}; name a row once.")
        seen.add(each)


def whole_numbers(values: Any, name: str) -> npt.NDArray[np.int64]:  # noqa: ANN401
    """Whole numbers of any shape as an array of one's own; what 64 bits do not hold is refused."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"{name} must be whole numbers in rows of equal length.") from error
    if array.dtype.kind not in "iu" or (isinstance(values, list) and _has_truth_values(values)):
        raise InputError(f"{name} must be whole numbers from -2^63 to 2^63 - 1, and nothing else.")
    # The one unsigned type that is wider than what it is turned into.
    if array.size and array.dtype == np.uint64 and int(array.max()) > _MOST_WHOLE:
        raise InputError(f"{name} must be below 2^63; there is {int(array.max())} among them.")
    own = array.astype(np.int64)
    own.setflags(write=False)
    return own


def _has_truth_values(values: list[Any]) -> bool:
    """Whether there is one among numbers, which numpy would take for 0 or 1."""
    rows = values if isinstance(values[0], list) else [values]
    return any(bool in set(map(type, row)) for row in rows)
