"""The journal: finished runs, one line each, appended and never changed.

Each line is the JSON of a run with a checksum, written in one piece and forced to the disk before
the run counts as finished. A process may be killed at any moment: at worst the last line is
incomplete, and it is cut off when the journal is opened again. Damage anywhere else is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from zlib import crc32

from likeforlike.errors import InputError

__all__ = ["Journal"]


class Journal:
    """Finished runs in a file.

    Parameters
    ----------
    path : of the file; made if it is not there.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from likeforlike.experiments.journal import Journal
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Journal(Path(folder) / "runs.jsonl") as journal:
    ...         journal.add("FairLeap 1.0 seed 0", {"power": 0.8})
    ...     with Journal(Path(folder) / "runs.jsonl") as journal:
    ...         "FairLeap 1.0 seed 0" in journal, dict(journal)
    (True, {'FairLeap 1.0 seed 0': {'power': 0.8}})
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.cut_off = 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise InputError(
                f"the journal {self.path} cannot be opened: {error.strerror}."
            ) from error
        try:
            self._lock()
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
        body = json.dumps({"key": key, "run": run}, sort_keys=True)
        line = f"{crc32(body.encode()):08x} {body}\n".encode()
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
        self._runs[key] = dict(run)

    def _lock(self) -> None:
        """One process at a time; the lock goes with the process, however it ends."""
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

    def _read(self) -> dict[str, dict[str, Any]]:
        content = self.path.read_bytes()
        lines = content.split(b"\n")
        runs: dict[str, dict[str, Any]] = {}
        good = 0
        for number, line in enumerate(lines[:-1], start=1):
            entry = _parsed(line)
            if entry is None:
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


def _parsed(line: bytes) -> dict[str, Any] | None:
    """What a line says; `None` if it is damaged."""
    mark, _, body = line.partition(b" ")
    if mark != f"{crc32(body):08x}".encode():
        return None
    entry: dict[str, Any] = json.loads(body)
    return entry
