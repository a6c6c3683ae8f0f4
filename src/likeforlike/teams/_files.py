"""Requests and releases as plain files that two teams exchange: JSON, or Parquet for many rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from likeforlike.errors import InputError
from likeforlike.files._files import check_writable, readable, replace_whole, write_whole

# The column of a Parquet file whose first value is everything but the rows, as JSON.
_HEADER = "likeforlike"


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


def write_table(path: Path, header: Mapping[str, Any], columns: Mapping[str, Any]) -> None:
    """Write rows with their header as Parquet, whole or not at all."""
    import io

    import polars as pl

    check_writable(path)
    table = pl.DataFrame(dict(columns))
    said: list[str | None] = [None] * table.height
    said[0] = json.dumps(header, allow_nan=False)
    buffer = io.BytesIO()
    table.with_columns(pl.Series(_HEADER, said, pl.String)).write_parquet(buffer)
    try:
        replace_whole(path, buffer.getvalue())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error


def read_table(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any] | list[Any]]]:
    """Header and columns of what `write_table` wrote."""
    import polars as pl

    with readable(path):
        table = pl.read_parquet(path)
    if _HEADER not in table.columns or not table.height:
        raise InputError(f"{path} is not a request: it has no column {_HEADER!r}.")
    try:
        header = json.loads(table[_HEADER][0] or "")
    except ValueError as error:
        raise InputError(f"{path} is not a request: its header is not JSON.") from error
    columns: dict[str, npt.NDArray[Any] | list[Any]] = {}
    for series in table.drop(_HEADER).iter_columns():
        values = series.to_list() if series.dtype == pl.String else series.to_numpy()
        columns[series.name] = values
    return header, columns


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
