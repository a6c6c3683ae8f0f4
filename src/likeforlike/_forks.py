"""Forked processes: threads do not come along, and a library that waits for its own waits forever.

polars starts a pool of threads at its first work; in a process forked after that every call of it
hangs. Linux names the threads, so that a fork finds out whether polars was at work, for any
caller. OpenMP, which torch, LightGBM and XGBoost use, hangs likewise, but not with one thread.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from likeforlike.errors import InputError

_THREADS = Path("/proc/self/task")
_POLARS = "polars-"

_state = {"forked": False, "limited": False, "polars": False}


def _threads() -> list[Path]:
    """List the threads of this process, where the system has a list of them."""
    try:
        return list(_THREADS.iterdir())
    except OSError:
        return []


def _look_for_polars() -> None:
    """Note, before a fork, whether threads of polars are about to be lost."""
    if _state["polars"]:
        return
    for thread in _threads():
        with suppress(OSError):  # a thread may end while its name is being read
            name = (thread / "comm").read_text()
            if name.startswith(_POLARS) and name[len(_POLARS) :].strip().isdigit():
                _state["polars"] = True
                return


def _mark_child() -> None:
    _state.update(forked=True, limited=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_look_for_polars, after_in_child=_mark_child)


def keep_to_one_thread_after_fork() -> None:
    """In a forked process, let OpenMP use one thread: it would wait for others that are gone."""
    if _state["forked"] and not _state["limited"]:
        from threadpoolctl import threadpool_limits

        threadpool_limits(1, user_api="openmp")
        _state["limited"] = True


def refuse_polars_after_fork() -> None:
    """Raise where polars would hang: in a process forked after polars had been at work."""
    if _state["forked"] and _state["polars"]:
        raise InputError(
            "this process was forked after polars had started its threads, which a fork loses, so "
            "reading the table would never end. Start processes with "
            "multiprocessing.get_context('spawn') or 'forkserver' (joblib's loky does), fork "
            "before the first audit, or pass a pandas table."
        )
