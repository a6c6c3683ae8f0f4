"""Files written whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import stat
import tempfile
from pathlib import Path

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
    """The number behind /dev/stdout and its like.

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
