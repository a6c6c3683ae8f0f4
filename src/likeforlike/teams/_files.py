"""Requests and releases as plain files that two teams exchange: JSON, or Parquet for many rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likeforlike.errors import InputError
from likeforlike.files._writing import write_whole


def write_document(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write a document as JSON, whole or not at all."""
    write_whole(path, json.dumps(document, allow_nan=False) + "\n")


def read_document(path: str | Path, kind: str) -> dict[str, Any]:
    """A document of a kind, such as "likeforlike.release", from a JSON file."""
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
    """The document, if it says that it is of this kind and of a version that is known."""
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
    """An entry of a document, which must be there and of some type."""
    if not isinstance(document.get(name), kind) or isinstance(document.get(name), bool):
        raise InputError(f"the {document['schema'].rpartition('.')[2]} has no valid {name!r}.")
    return document[name]


def texts(labels: Sequence[Any] | npt.NDArray[Any], name: str) -> list[str]:
    """Labels as text, by which rows are known on both sides."""
    plain = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    missing = next((k for k, label in enumerate(plain) if label is None or label != label), None)  # noqa: PLR0124
    if missing is not None:
        raise InputError(f"{name} is missing at row {missing}; every row needs one.")
    return [str(label) for label in plain]


def refuse_repeated(ids: Sequence[str], name: str = "ids") -> None:
    """Raise if a row is named twice: it would count twice, and be known twice as well."""
    if len(set(ids)) == len(ids):
        return
    seen: set[str] = set()
    for k, each in enumerate(ids):
        if each in seen:
            raise InputError(f"{name} names {each!r} twice, again at row {k}; name a row once.")
        seen.add(each)


def whole_numbers(values: Any, name: str) -> npt.NDArray[np.int64]:  # noqa: ANN401
    """Whole numbers of any shape as an array; anything else is refused."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputError(f"{name} must have rows of equal length.") from error
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must be whole numbers.")
    return array.astype(np.int64)
