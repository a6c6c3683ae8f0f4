"""Waiting for futures in a way that Ctrl-C cannot spoil.

`concurrent.futures.wait` takes the locks of all its futures for a moment. An interrupt in that
moment leaves some of them locked; the thread of the pool then waits for them for ever, and Python,
which waits for that thread, never ends. The more futures there are, the longer the moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeVar

from likeforlike.experiments._guard import interrupt_postponed

Given = TypeVar("Given")
Found = TypeVar("Found")

# Seconds after which whoever waits looks whether there was an interrupt: one that another thread
# has taken does not wake this one.
_AWAKE = 0.5


def submitted(
    submit: Callable[[Given], Future[Found]], calls: Iterable[Given]
) -> dict[Future[Found], Given]:
    """Hand over all calls; an interrupt meanwhile is answered afterwards."""
    with interrupt_postponed():
        return {submit(call): call for call in calls}


def as_finished(under_way: Iterable[Future[Found]]) -> Iterator[Future[Found]]:
    """Futures in the order in which they are finished; each puts itself in a queue.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from likeforlike.experiments._waiting import as_finished, submitted
    >>> with ThreadPoolExecutor(2) as pool:
    ...     under_way = submitted(lambda k: pool.submit(abs, k), [-1, 2, -3])
    ...     sorted(future.result() for future in as_finished(under_way))
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
