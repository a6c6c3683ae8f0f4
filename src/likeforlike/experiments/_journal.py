"""The journal of a sweep: finished runs, one line each, appended and never changed.

Each line is JSON with a checksum, written in one piece and forced to the disk before its run counts
as finished. The first line says that this is a journal, and of which version of the library: a file
without it is left alone. A process may be killed at any moment: at worst the last line is
incomplete, and it is cut off when the journal is opened again. Damage anywhere else is refused.

Runs are found again by a *fingerprint* of their settings. A `repr` is for readers: numpy cuts long
arrays short, polars shows a few columns, and a plain object shows its address in memory. A
fingerprint spells out everything, so two settings that differ have different fingerprints.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zlib import crc32

import numpy as np
import polars as pl

from likeforlike.errors import InputError


def fingerprint(value: object) -> str:
    """Compute SHA-256 of everything that a value consists of."""
    return sha256(_spell(value).encode()).hexdigest()


def _spell(value: Any) -> str:  # noqa: ANN401
    """Return a value as text, complete."""
    for kind, spell in _SPELLINGS:
        if isinstance(value, kind):
            return f"{_kind(value)}({spell(value)})"
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return f"{_kind(value)}({_mapping(parts)})"
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{_kind(value)}({_mapping(vars(value)) if hasattr(value, '__dict__') else repr(value)})"


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _mapping(parts: Mapping[Any, Any]) -> str:
    return ", ".join(sorted(f"{_spell(key)}: {_spell(part)}" for key, part in parts.items()))


def _array(array: np.ndarray[Any, Any]) -> str:
    if array.dtype.hasobject:
        return f"{array.shape}, {_sequence(array.ravel().tolist())}"
    content = sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return f"{array.dtype.str}, {array.shape}, {content}"


def _frame(frame: pl.DataFrame) -> str:
    content = sha256(frame.write_csv().encode()).hexdigest()
    return f"{_sequence([(name, str(kind)) for name, kind in frame.schema.items()])}, {content}"


def _sequence(values: Any) -> str:  # noqa: ANN401
    return ", ".join(_spell(value) for value in values)


# Kinds whose spelling is not that of their parts by name; the first that fits counts.
_SPELLINGS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    ((bool, int, float, complex, str, bytes, type(None), np.generic), repr),
    (np.ndarray, _array),
    (pl.DataFrame, _frame),
    (pl.Series, lambda series: _frame(series.to_frame())),
    (Mapping, _mapping),
    ((set, frozenset), lambda values: ", ".join(sorted(map(_spell, values)))),
    ((list, tuple), _sequence),
    (partial, lambda call: _sequence([call.func, call.args, call.keywords])),
)


_FORMAT = "likeforlike journal 1"
# More than a first line takes; a large file is not read to see that it is no journal.
_FIRST_LINE = 1024


class Journal:
    """Finished runs in a file.

    Parameters
    ----------
    path : of the file; made if it is not there. A file that is no journal is refused, and so is one
        of another version of the library.
    """

    def __init__(self, path: Path | str) -> None:
        self.path: Path = Path(path)
        self.cut_off: int = 0
        # What is made here goes again if a sweep is refused before its first run.
        here = [self.path, *self.path.parents]
        try:
            self._made = [each for each in here if not each.exists()]
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise InputError(
                f"the journal {self.path} cannot be opened: {error.strerror}."
            ) from error
        self._runs: dict[str, dict[str, Any]] = {}
        try:
            self._lock()
            self._check_header()
            self._runs = self._read()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def remove_files(self) -> None:
        """Remove the file and its folders, as far as they were not there before."""
        with suppress(OSError):  # another file has come into a folder, or the system holds this one
            for made in self._made:
                made.unlink() if made == self.path else made.rmdir()

    def __contains__(self, key: str) -> bool:
        return key in self._runs

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return iter(self._runs.items())

    def add(self, key: str, run: Mapping[str, Any]) -> None:
        """Write a finished run; when this returns it is on the disk.

        A run that is there already is left as it is.

        Parameters
        ----------
        key : by which it is known, such as method, strength and seed.
        run : what was found, as plain values that JSON can hold.
        """
        if key in self._runs:
            return
        self._append(_line({"key": key, "run": run}))
        self._runs[key] = dict(run)

    def _append(self, line: bytes) -> None:
        begin = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            if written < len(line):
                raise OSError(28, "No space left on device")
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, begin)
            raise InputError(
                f"the journal {self.path} cannot be written: {error.strerror}. The {len(self)} "
                "finished runs in it are kept; make room and start again to go on."
            ) from error

    def _lock(self) -> None:
        """Take the lock of one process at a time; it goes with the process, however it ends."""
        try:
            import fcntl
        except ImportError:  # where there are no such locks, the user has to take care
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(
                f"the journal {self.path} is in use by another process; wait for it, or choose "
                "another folder."
            ) from error

    def _check_header(self) -> None:
        """See that this is a journal, or make it one if it is empty; others stay as they are."""
        status = os.fstat(self._file)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"the journal {self.path} must be a file; this is something else.")
        ours = version("likeforlike")
        header = _line({"format": _FORMAT, "likeforlike": ours})
        with self.path.open("rb") as file:
            begin = file.read(_FIRST_LINE)
        # A header of which a part was written, with its checksum and more, is ours too.
        if not begin or (len(begin) > _MARK and header.startswith(begin) and begin != header):
            os.ftruncate(self._file, 0)
            self._append(header)
            return
        said = _parse_line(begin.partition(b"\n")[0]) if b"\n" in begin else None
        if said is None or said.get("format") != _FORMAT:
            raise InputError(
                f"{self.path} is not a journal of a sweep and was left as it is; choose another "
                "file."
            )
        if said.get("likeforlike") != ours:
            raise InputError(
                f"the journal {self.path} is one of likeforlike {said.get('likeforlike')}, and "
                f"this is {ours}, whose runs may differ; choose another file, or install that "
                "version."
            )

    def _read(self) -> dict[str, dict[str, Any]]:
        content = self.path.read_bytes()
        lines = content.split(b"\n")
        runs: dict[str, dict[str, Any]] = {}
        good = len(lines[0]) + 1
        for number, line in enumerate(lines[1:-1], start=2):
            entry = _parse_line(line)
            if entry is None or not {"key", "run"} <= entry.keys():
                if number == len(lines) - 1:
                    break
                raise InputError(
                    f"line {number} of the journal {self.path} is damaged, with sound lines after "
                    "it; restore the file, or choose another folder."
                )
            runs[entry["key"]] = entry["run"]
            good += len(line) + 1
        self.cut_off = len(content) - good
        if self.cut_off:
            os.ftruncate(self._file, good)
        return runs


# A checksum and the space behind it.
_MARK = 9


def _line(entry: Mapping[str, Any]) -> bytes:
    """Return an entry as a line of the file, with its checksum."""
    body = json.dumps(entry, sort_keys=True)
    return f"{crc32(body.encode()):08x} {body}\n".encode()


def _parse_line(line: bytes) -> dict[str, Any] | None:
    """Return what a line says; `None` if it is damaged."""
    mark, _, body = line.partition(b" ")
    if mark != f"{crc32(body):08x}".encode():
        return None
    try:
        entry = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None
