"""Processes that never outlive who started them, not even while they still import.

Nor do they answer an interrupt, which a terminal sends to everybody: that is for the parent.

A process that is spawned first runs the main script of its parent, which may import for seconds,
and only then anything of ours. If the parent is killed meanwhile nobody tells the child. So the
guard travels in the very first thing that a child reads, its name: unpickling it starts a thread
that waits for the end of the parent. That thread knows nothing but the standard library.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from types import FrameType
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

    def start(self) -> None:
        """Start it; from its first moment on it does not hear interrupts."""
        with _interrupts_held():
            super().start()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let interrupts wait, and processes that are started meanwhile never get any.

    Whoever is to ignore a signal by itself is not yet able to while it is started and imports.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # It is started with the first process otherwise, and lets interrupts through again.
    resource_tracker.ensure_running()
    with interrupt_postponed():
        # Inherited by what is started here. Our other threads still hear interrupts.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def interrupt_postponed() -> Iterator[None]:
    """Answer an interrupt afterwards: a process that is half started would be nobody's."""
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    heard: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if heard:
            handler(*heard[0])


class GuardedContext(SpawnContext):
    """What a pool of guarded processes is made with."""

    Process = _GuardedProcess
