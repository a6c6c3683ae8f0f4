"""Run a kernel over many items in threads, when there is enough to do.

Kernels release the interpreter lock, so plain threads use all cores. Each item is processed by one
thread and written to its own place: results do not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import numpy as np

from likeforlike._arrays import IntArray

T = TypeVar("T")

# Below this much work, in atoms, starting threads costs more than they save.
_WORTH_IT = 1 << 17


def n_threads() -> int:
    """Return the threads to use: `LIKEFORLIKE_THREADS`, or the number of available cores."""
    given = os.environ.get("LIKEFORLIKE_THREADS")
    if given is not None and given.isdecimal() and int(given) > 0:
        return int(given)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_in_threads(work: Callable[[int, int], None], sizes: IntArray) -> None:
    """Call `work(first, last)` on consecutive ranges of items that together cover all of them."""
    if sizes.size < 2 or int(sizes.sum()) < _WORTH_IT:
        work(0, sizes.size)
        return
    threads = n_threads()
    done = np.cumsum(sizes)
    shares = done[-1] * np.arange(1, threads) / threads
    edges = [0, *np.searchsorted(done, shares).tolist(), sizes.size]
    with ThreadPoolExecutor(threads) as pool:
        for part in [pool.submit(work, *edges[k : k + 2]) for k in range(threads)]:
            part.result()


def run_models(work: Callable[[int, int], None], models: int, each: int) -> None:
    """Call `work(first, last)` on ranges of models with `each` atoms."""
    if models < 2:
        work(0, models)
    else:
        run_in_threads(work, np.full(models, each))


def iterate_blocks(
    work: Callable[[int, int], T],
    n_items: int,
    block: int,
    progress: Callable[[int], None] | None = None,
) -> Iterator[T]:
    """Call `work(first, last)` on blocks of a fixed size; yield results in order, as they come.

    Blocks do not depend on the number of threads, so neither does a sum over them. An interrupt is
    passed on at once; blocks that have not begun are dropped.
    """
    edges = iter([(first, min(first + block, n_items)) for first in range(0, n_items, block)])
    if n_threads() == 1:
        for first, last in edges:
            yield work(first, last)
            if progress is not None:
                progress(last - first)
        return
    pool = ThreadPoolExecutor(n_threads())
    under_way: deque[tuple[tuple[int, int], Future[T]]] = deque()
    try:
        # A few blocks ahead keep the threads busy; more would only have to be taken back.
        under_way.extend(
            (edge, pool.submit(work, *edge)) for edge in islice(edges, 2 * n_threads())
        )
        while under_way:
            (first, last), part = under_way.popleft()
            result = part.result()
            under_way.extend((edge, pool.submit(work, *edge)) for edge in islice(edges, 1))
            yield result
            if progress is not None:
                progress(last - first)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def map_blocks(
    work: Callable[[int, int], T],
    n_items: int,
    block: int,
    progress: Callable[[int], None] | None = None,
) -> list[T]:
    """List the results of `iterate_blocks`."""
    return list(iterate_blocks(work, n_items, block, progress))
