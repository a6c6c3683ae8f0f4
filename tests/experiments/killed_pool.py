"""Sweeps that are killed while they have workers; run by `test_workers.py`.

Usage: killed_pool.py MOMENT... For each moment a fork runs a sweep, or a reproduction, and is
killed once all its workers have got there; a number is seconds after all of them have begun.
Workers leave files behind that say who they are and where they are: in the folder of the moment,
`ID.importing` and `ID.working`. Everything is imported once.

At a moment that says "interrupted" the fork and its workers get what Ctrl-C in a terminal sends to
all of them. If it says "large" too, units do not fit into the pipe to the workers, and the fork
ends as a program does, which waits for what still writes into it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(os.environ.get("KILLED_POOL", "."))
INTERRUPTED = 130


def note(state: str) -> None:
    """Leave a file behind."""
    (FOLDER / f"{os.getpid()}.{state}").touch()


if __name__ == "__mp_main__":
    # A worker begins with the imports of its parent's script, which may take long.
    note("importing")
    if FOLDER.name.endswith(("importing", "interrupted")):
        time.sleep(300.0)

from likeforlike.datasets import make_loans  # noqa: E402
from likeforlike.experiments import Method, Task, sweep  # noqa: E402


@dataclass(frozen=True)
class Endless(Method):
    """A method that never comes to an end."""

    def scores(self, *_: Any) -> Any:
        """Say that work has begun, and go on for ever."""
        note("working")
        time.sleep(300.0)


METHODS = tuple(Endless(name, (1.0,)) for name in ("one", "two"))


def start(moment: str) -> None:
    """Run what is to be killed."""
    if moment.startswith("sweep"):
        task = Task(make_loans(20_000 if "large" in moment else 200))
        sweep(task, METHODS, seeds=1, journal=FOLDER / "runs.jsonl", workers=2)
    else:
        from likeforlike.paper import Profile, reproduce

        little = Profile(runs=1, max_epochs=1, patience=1)
        reproduce(FOLDER, datasets=["drug"], methods=METHODS, profile=little, workers=2)


def killed(moment: str) -> None:
    """Fork, wait until two workers are there, kill the fork or interrupt it."""
    folder = FOLDER / moment
    folder.mkdir()
    child = os.fork()
    if child == 0:
        os.environ["KILLED_POOL"] = str(folder)
        globals()["FOLDER"] = folder
        os.setsid()
        with suppress(KeyboardInterrupt):
            start(moment)
        if "large" in moment:
            signal.alarm(60)
            raise SystemExit(INTERRUPTED)
        os._exit(INTERRUPTED)
    state = "working" if moment.endswith("working") else "importing"
    end = time.monotonic() + 120.0
    while len(list(folder.glob(f"*.{state}"))) < 2:
        if time.monotonic() > end or os.waitpid(child, os.WNOHANG)[0]:
            raise SystemExit(f"no workers at the moment {moment!r}")
        time.sleep(0.02)
    if moment.rpartition(" ")[2].replace(".", "").isdecimal():
        time.sleep(float(moment.rpartition(" ")[2]))
    if moment.endswith("interrupted"):
        os.killpg(child, signal.SIGINT)
        status = os.waitpid(child, 0)[1]
        if os.waitstatus_to_exitcode(status) != INTERRUPTED:
            raise SystemExit(f"an interrupt ended with {status}")
        return
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        killed(each)
