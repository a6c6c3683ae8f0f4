"""The salt of fingerprints in a file that stays with the auditor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from likeforlike.auditing._provenance import new_salt
from likeforlike.errors import InputError

_LONGEST = 4096


@contextmanager
def kept_salt(path: Path) -> Iterator[str]:
    """Give the salt in a file; without one, make a file that only its owner can read.

    A file that was made is removed if what the salt is for is refused.
    """
    if path.exists():
        yield _known(path)
        return
    salt = _made(path)
    try:
        yield salt
    except InputError:
        path.unlink(missing_ok=True)
        raise


def _known(path: Path) -> str:
    try:
        salt = _read(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read as a salt: {error}.") from error
    if not salt:
        raise InputError(f"{path} is empty; name a file that is not there to have a salt made.")
    return salt


def _read(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(_LONGEST + 1)
    if len(content) > _LONGEST:
        raise InputError(f"{path} is too large for a salt; was another file meant?")
    return content.decode("utf-8").strip()


def _made(path: Path) -> str:
    salt = new_salt()
    try:
        # Only its owner may read it, and a file that has come meanwhile is not overwritten.
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"the salt cannot be kept in {path}: {error}.") from error
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{salt}\n")
    return salt
