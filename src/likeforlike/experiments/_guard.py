"""Processes that never outlive their parent, and futures that can be interrupted safely.

A spawned process first runs the main script of its parent, which may import for seconds, and only
then anything of this library. If the parent is killed meanwhile, nothing stops the child. So the
guard travels in the very first thing that a child reads, its name: unpickling it starts a thread
that waits for the end of the parent. That thread uses nothing but the standard library. Nor do
children answer an interrupt, which a terminal sends to all of them: that is for the parent.

`concurrent.futures.wait` takes the locks of all its futures for a moment. An interrupt in that
moment leaves some of them locked; the thread of the pool then waits for them for ever, and Python,
which waits for that thread, never ends. The more futures there are, the longer the moment.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, TypeVar

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

    A process that ignores a signal itself cannot do so yet while it starts and imports.
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
    """Answer an interrupt afterwards: a process that is half started would have no owner."""
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


Given = TypeVar("Given")
Found = TypeVar("Found")

# Seconds after which a waiting thread checks for an interrupt: one that another thread
# has taken does not wake this one.
_AWAKE = 0.5


def submit_all(
    submit: Callable[[Given], Future[Found]], calls: Iterable[Given]
) -> dict[Future[Found], Given]:
    """Hand over all calls; an interrupt meanwhile is answered afterwards."""
    with interrupt_postponed():
        return {submit(call): call for call in calls}


def iterate_finished(under_way: Iterable[Future[Found]]) -> Iterator[Future[Found]]:
    """Return futures in the order in which they are finished; each puts itself in a queue.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from likeforlike.experiments._guard import iterate_finished, submit_all
    >>> with ThreadPoolExecutor(2) as pool:
    ...     under_way = submit_all(lambda k: pool.submit(abs, k), [-1, 2, -3])
    ...     sorted(future.result() for future in iterate_finished(under_way))
    [1, 2, 3]
    """
    futures = list(under_way)
    ready: SimpleQueue[Future[Found]] = SimpleQueue()
    with interrupt_postponed():
        for future in futures:
            future.add_done_callback(ready.put)
    for _ in futures:
        yield _next(ready)


def _next(ready: SimpleQueue[Future[Found]]) -> Future[Found]:
    while True:
        with suppress(Empty):
            return ready.get(timeout=_AWAKE)
