"""Whoever waits for futures may be interrupted at any moment, and no lock is left behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from likeforlike.experiments._workers import iterate_futures, submit_all

FUTURES = 2_000
TRIES = 60


def interrupted(wait: Callable[[], object], seconds: float) -> None:
    """Interrupt a call after a while, as Ctrl-C does."""
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(seconds, signal.pthread_kill, (main, signal.SIGINT))

    def waits() -> None:
        timer.start()
        wait()

    with pytest.raises(KeyboardInterrupt):
        waits()
    timer.join()


def is_free(future: Future[None]) -> bool:
    """Whether another thread could finish a future."""
    free: list[bool] = []

    def look() -> None:
        free.append(future._condition.acquire(blocking=False))

    looking = threading.Thread(target=look)
    looking.start()
    looking.join()
    return free[0]


def test_an_interrupt_leaves_no_lock_behind() -> None:
    futures: list[Future[None]] = [Future() for _ in range(FUTURES)]
    for k in range(TRIES):
        interrupted(lambda: next(iterate_futures(futures)), 1e-5 + 4e-3 * k / TRIES)
    assert all(map(is_free, futures[:: FUTURES // 50]))
    assert is_free(futures[-1])


def test_futures_come_as_they_are_finished() -> None:
    futures: list[Future[int]] = [Future() for _ in range(3)]
    coming = iterate_futures(futures)
    futures[1].set_result(1)
    assert next(coming) is futures[1]
    futures[2].set_exception(ValueError("no"))
    assert next(coming) is futures[2]
    futures[0].cancel()
    assert next(coming) is futures[0]
    assert next(coming, None) is None


def test_calls_are_handed_over_whole() -> None:
    with ThreadPoolExecutor(1) as pool:

        def submit(call: int) -> Future[int]:
            if call == 2:
                signal.raise_signal(signal.SIGINT)
            handed.append(call)
            return pool.submit(abs, call)

        handed: list[int] = []
        with pytest.raises(KeyboardInterrupt):
            submit_all(submit, range(5))
        assert handed == list(range(5))
