"""Columns with notes about them in one Parquet file, which any engine can read."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from likeforlike._forks import refuse_polars_after_fork
from likeforlike.errors import InputError
from likeforlike.files._writing import write_whole

_KEY, _DIGEST = "likeforlike", "likeforlike sha256"
# Stands for the digest of a file while it is computed.
_UNKNOWN = "0" * 64


def write_noted(path: str | Path, columns: Mapping[str, npt.NDArray[Any]], notes: object) -> None:
    """Write columns and notes, which must be plain values, whole or not at all."""
    import polars as pl

    file = io.BytesIO()
    metadata = {_KEY: json.dumps(notes), _DIGEST: _UNKNOWN}
    pl.DataFrame(dict(columns)).write_parquet(file, metadata=metadata)
    content = file.getvalue()
    write_whole(path, _exchange(content, _UNKNOWN, hashlib.sha256(content).hexdigest()))


def _digest(content: bytes, digest: str | None) -> str:
    """SHA-256 of a file as it was before its own digest was put in."""
    return hashlib.sha256(_exchange(content, digest or _UNKNOWN, _UNKNOWN)).hexdigest()


def _exchange(content: bytes, old: str, new: str) -> bytes:
    """Replace a digest in the footer of a file by another text of the same length."""
    place = content.rfind(old.encode())
    return content[:place] + new.encode() + content[place + len(old) :]


def read_noted(path: str | Path, kind: str) -> tuple[dict[str, npt.NDArray[Any]], Any]:
    """Columns and notes of a file whose notes say that it is of this kind."""
    refuse_polars_after_fork()
    import polars as pl

    file = Path(path)
    if not file.exists():
        raise InputError(f"{file} does not exist.")
    try:
        content = file.read_bytes()
        metadata = pl.read_parquet_metadata(io.BytesIO(content))
        notes, digest = _notes(metadata.get(_KEY)), metadata.get(_DIGEST)
        # Sizes of pages that were damaged would make polars ask for more memory than there is.
        if digest not in (None, _digest(content, digest)):
            raise InputError(f"{file} was damaged: copy it again, or make it anew.")
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
