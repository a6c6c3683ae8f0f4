"""Columns with notes about them in one Parquet file, which any engine can read."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from likeforlike.errors import InputError
from likeforlike.files._writing import write_whole

_KEY = "likeforlike"


def write_noted(path: str | Path, columns: Mapping[str, npt.NDArray[Any]], notes: object) -> None:
    """Write columns and notes, which must be plain values, whole or not at all."""
    import polars as pl

    content = io.BytesIO()
    pl.DataFrame(dict(columns)).write_parquet(content, metadata={_KEY: json.dumps(notes)})
    write_whole(path, content.getvalue())


def read_noted(path: str | Path, kind: str) -> tuple[dict[str, npt.NDArray[Any]], Any]:
    """Columns and notes of a file whose notes say that it is of this kind."""
    import polars as pl

    file = Path(path)
    if not file.exists():
        raise InputError(f"{file} does not exist.")
    try:
        content = file.read_bytes()
        notes = _notes(pl.read_parquet_metadata(io.BytesIO(content)).get(_KEY))
        table = pl.read_parquet(io.BytesIO(content))
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{file} cannot be read: {reason}") from error
    if not isinstance(notes, dict) or notes.get("kind") != kind:
        raise InputError(f"{file} does not hold {kind} of likeforlike.")
    return {name: table[name].to_numpy() for name in table.columns}, notes


def _notes(text: str | None) -> object:
    try:
        notes: object = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    return notes
