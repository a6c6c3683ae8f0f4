"""A lock on an open file that goes with the process, however it ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

if sys.platform == "win32":
    import msvcrt
    import time

    # A byte far behind the end: what is locked there cannot be read, and it is not read.
    _FAR = 1 << 40

    @contextmanager
    def locked(file: int) -> Iterator[None]:
        """Wait until no other process has the file locked, and lock it."""
        while True:
            os.lseek(file, _FAR, os.SEEK_SET)
            try:
                msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
                break
            except OSError:
                time.sleep(0.05)
        try:
            yield
        finally:
            os.lseek(file, _FAR, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    @contextmanager
    def locked(file: int) -> Iterator[None]:
        """Wait until no other process has the file locked, and lock it."""
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
