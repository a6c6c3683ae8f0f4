"""Files written whole or not at all.

Columns with notes about them are written to one Parquet file, which any engine can read.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import secrets
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from likeforlike._forks import refuse_polars_after_fork
from likeforlike.errors import InputError

_DESCRIPTOR = re.compile(r"/(?:(?:dev|proc/self)/fd/([0-9]+)|dev/(stdout|stderr))")


def check_writable(path: str | Path | None, option: str = "path") -> None:
    """Raise at once if a file could not be written to `path` later; `None` is no file."""
    if path is None:
        return
    target = Path(path)
    if target.is_dir() or "\0" in str(target):
        raise InputError(f"{option} must be a file to write; {str(target)!r} is a folder or none.")
    if target.exists() and not os.access(target, os.W_OK):
        raise InputError(f"{target} cannot be written: no permission to change it.")
    folder = Path(os.path.realpath(target)).parent
    if _is_written_into(target):
        return
    if not folder.is_dir():
        raise InputError(f"{target} cannot be written: no folder {folder}.")
    try:  # permission is not enough in a folder of the system, such as /proc
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror} in {folder}.") from error


def write_whole(path: str | Path, text: str | bytes) -> None:
    """Write a file completely or not at all, with the permissions the user's files have.

    Links are followed. What is no file (a device, a pipe) is written into.
    """
    check_writable(path)
    target = Path(path)
    content = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    try:
        if _is_written_into(target):
            _write_into(target, content)
        else:
            replace_whole(target, content)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror or error}.") from error


def _is_written_into(path: Path) -> bool:
    """Whether a path leads to something that is no file, or to one that is open already."""
    return _descriptor(path) is not None or (path.exists() and not path.is_file())


def _descriptor(path: Path) -> int | None:
    """Return the number of the descriptor behind /dev/stdout and its like.

    It may be that of a file, in whose place no other must be put: what is printed would be lost.
    """
    named = _DESCRIPTOR.fullmatch(os.path.abspath(path))
    return None if named is None else int(named[1] or ("stdout", "stderr").index(named[2]) + 1)


def _write_into(path: Path, content: bytes) -> None:
    number = _descriptor(path)
    target = os.open(path, os.O_WRONLY) if number is None else os.dup(number)
    with open(target, "wb") as file:
        file.write(content)


def replace_whole(path: Path, content: bytes) -> None:
    """Let a file have this content from one moment to the next, or stay as it is on an error.

    Every call writes to a file of its own next to the target, which then takes its name. A file
    that is there keeps its permissions; a new one has those that the user's umask gives.
    """
    target = Path(os.path.realpath(path))
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    part = target.with_name(f".likeforlike-{secrets.token_hex(8)}")
    try:
        with open(
            part, "xb", opener=lambda name, flags: os.open(name, flags, mode or 0o666)
        ) as file:
            file.write(content)
        if mode is not None:
            os.chmod(part, mode)
        os.replace(part, target)
    except BaseException:  # an interrupt too
        part.unlink(missing_ok=True)
        raise


_KEY, _DIGEST = "likeforlike", "likeforlike sha256"
# Stands for the digest of a file while it is computed.
_UNKNOWN = "0" * 64


def write_with_notes(
    path: str | Path, columns: Mapping[str, npt.NDArray[Any]], notes: object
) -> None:
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


def read_with_notes(path: str | Path, kind: str) -> tuple[dict[str, npt.NDArray[Any]], Any]:
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
