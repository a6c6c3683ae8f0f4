"""Remove a folder when the process that owns it has ended, however it ended.

It runs as a script, with the standard library alone, and waits for the end of its standard input:
the other end is the owner's, and closes with it even if the owner was killed.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time

_TRIES, _PAUSE = 100, 0.1


def main(folder: str) -> None:
    """Wait for the owner, then remove the folder; files may be written for a moment longer."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    sys.stdin.buffer.read()
    for _ in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not os.path.exists(folder):
            return
        time.sleep(_PAUSE)


if __name__ == "__main__":
    main(sys.argv[1])
