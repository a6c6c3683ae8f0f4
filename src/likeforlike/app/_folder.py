"""A private folder that goes away with its process, also if that is killed.

A guardian, a process of its own, removes it when the owner has ended. If the guardian was killed
too, or the machine was switched off, the next start removes what was left: the owner holds a lock
for as long as it lives.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_PREFIX, _LOCK = "likeforlike-app-", "lock"
# A folder without a lock may be one that is being made.
_NEW = 60.0


@contextmanager
def private_folder() -> Iterator[Path]:
    """Make a folder that only this user can read, and remove it with all that is in it."""
    remove_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    guardian = subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(__file__).with_name("_guardian.py")), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C in the terminal is for the app
    )
    try:
        with (folder / _LOCK).open("w") as lock:
            _take(lock)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError, subprocess.TimeoutExpired):
            guardian.communicate(timeout=15.0)


def remove_abandoned() -> None:
    """Remove folders whose owner has died without removing them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if folder.is_dir() and not folder.is_symlink() and _is_abandoned(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_abandoned(folder: Path) -> bool:
    try:
        with (folder / _LOCK).open("r+") as lock:
            _take(lock)
    except FileNotFoundError:
        return time.time() - folder.stat().st_mtime > _NEW
    except OSError:  # its owner lives, or is another user
        return False
    return True


def _take(lock: IO[str]) -> None:
    """Lock a file until it is closed; raise `OSError` if another process has done so."""
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
