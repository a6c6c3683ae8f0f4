"""The state of a monitor: a file of lines to which several processes may append, night after night.

The first line says what is monitored, every other one holds a period. A line is JSON with the
SHA-256 of itself and the line before, so that what was damaged or edited is noticed. It is written
under a lock, in one piece, and forced to the disk. What a process that was killed left of a line
has no end or another checksum: the next one writes over it. A period is counted once; the same rows
under another name, or other rows under the same name, are refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from likeforlike.errors import InputError

_KIND, _FORMAT = "likeforlike.monitor", 1
_DIGEST = 64

if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_LOCK, 1)
else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)


@contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open the state and hold its lock, which goes with the process, however it ends."""
    guard = path.with_name(f"{path.name}.lock")
    try:
        lock = os.open(guard, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(f"{guard} cannot be opened: {error.strerror or error}.") from error
    try:
        _lock(lock)
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            yield file
        finally:
            os.close(file)
    except OSError as error:
        raise InputError(f"{path} cannot be kept: {error.strerror or error}.") from error
    finally:
        os.close(lock)


def _digest(before: str, text: bytes) -> str:
    return hashlib.sha256(before.encode() + text).hexdigest()


def _read(path: Path, content: bytes) -> tuple[list[dict[str, Any]], str, int]:
    """Return the whole lines, the digest of the last, and where it ends."""
    lines: list[dict[str, Any]] = []
    digest, end = "", 0
    while (stop := content.find(b"\n", end)) >= 0:
        own, text = content[end : end + _DIGEST], content[end + _DIGEST + 1 : stop]
        if own.decode("ascii", "replace") != _digest(digest, text):
            if content.find(b"\n", stop + 1) >= 0:
                raise InputError(
                    f"{path} was damaged or edited in line {len(lines) + 1}; take a copy that was "
                    "not, or begin a new state, whose error rate is its own."
                )
            break
        lines.append(json.loads(text))
        digest, end = own.decode("ascii"), stop + 1
    if lines and (lines[0].get("kind") != _KIND or lines[0].get("format") != _FORMAT):
        raise InputError(f"{path} holds no state of a monitor that this version reads.")
    return lines, digest, end


def _all(file: int) -> bytes:
    os.lseek(file, 0, os.SEEK_SET)
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _append(file: int, line: Mapping[str, object], digest: str, end: int) -> None:
    text = json.dumps(line, sort_keys=True).encode()
    os.ftruncate(file, end)
    os.lseek(file, end, os.SEEK_SET)
    rest = memoryview(f"{_digest(digest, text)} ".encode() + text + b"\n")
    while rest:
        rest = rest[os.write(file, rest) :]
    os.fsync(file)


def read_state(path: str | Path) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """Return what is monitored, `None` if nothing yet, and the periods that were counted."""
    file = Path(path)
    lines = _read(file, file.read_bytes())[0] if file.exists() else []
    return (lines[0], lines[1:]) if lines else (None, [])


def begin_state(path: str | Path, header: Mapping[str, object]) -> dict[str, Any]:
    """Write what is monitored, unless it is there; return what the file says."""
    with _locked(Path(path)) as file:
        lines, digest, end = _read(Path(path), _all(file))
        if not lines:
            lines = [{"kind": _KIND, "format": _FORMAT, **header}]
            _append(file, lines[0], digest, end)
        return lines[0]


def append_period(path: str | Path, line: Mapping[str, object]) -> bool:
    """Append a period, with its `period` and `fingerprint`; return whether it was new.

    A period that was counted with the same rows is left as it is. One that was counted with other
    rows, and rows that were counted under another name, are refused: they would be a second look at
    what was seen, or count twice.
    """
    with _locked(Path(path)) as file:
        lines, digest, end = _read(Path(path), _all(file))
        for each in lines[1:]:
            same = each["period"] == line["period"], each["fingerprint"] == line["fingerprint"]
            if all(same):
                return False
            if any(same):
                what = "with other rows" if same[0] else f"as {each['period']!r}"
                raise InputError(
                    f"period {line['period']!r} was already counted {what}; what a monitor has "
                    "seen stays as it is. Leave the file out, or name new rows otherwise."
                )
        _append(file, line, digest, end)
        return True
