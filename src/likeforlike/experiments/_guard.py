"""Processes that never outlive who started them, not even while they still import.

A process that is spawned first runs the main script of its parent, which may import for seconds,
and only then anything of ours. If the parent is killed meanwhile nobody tells the child. So the
guard travels in the very first thing that a child reads, its name: unpickling it starts a thread
that waits for the end of the parent. That thread knows nothing but the standard library.
"""

from __future__ import annotations

import os
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

# Until the child knows its parent as `multiprocessing` does, it looks who its parent is. (A process
# whose parent has ended has another one, except on Windows.)
_GUARD = """
import os, threading, time
from multiprocessing import connection, process

def guard(parent):
    while process.parent_process() is None:
        if os.name == "posix" and os.getppid() != parent:
            os._exit(1)
        time.sleep(0.1)
    connection.wait([process.parent_process().sentinel])
    os._exit(1)

if "guard of the parent" not in (thread.name for thread in threading.enumerate()):
    threading.Thread(
        target=guard, args=(parent,), daemon=True, name="guard of the parent"
    ).start()
"""


class _GuardedName(str):
    """A name that brings its guard along wherever it is unpickled."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        # By what Python has built in: the child does not know yet where to import from.
        known = {"code": _GUARD, "name": str(self), "parent": os.getpid()}
        return eval, ("exec(code) or name", known)


class _GuardedProcess(SpawnProcess):
    """A spawned process that ends with its parent, however that ends."""

    def __init__(self, *args: Any, **settings: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **settings)
        self.name = _GuardedName(self.name)


class GuardedContext(SpawnContext):
    """What a pool of guarded processes is made with."""

    Process = _GuardedProcess
