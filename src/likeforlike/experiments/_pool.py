"""Units of work in several processes, none of which outlives its parent."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import active_children
from typing import Any

from likeforlike.experiments._guard import GuardedContext
from likeforlike.experiments._methods import Method
from likeforlike.experiments._run_metrics import constant_performance, run_metrics
from likeforlike.experiments._task import Task
from likeforlike.experiments._waiting import as_finished, submitted
from likeforlike.training._networks import one_thread

Entry = dict[str, Any]
"""What the journal keeps of a unit: its `runs`, the `seconds` and `cpu_seconds` they took, and the
largest memory of its process so far, `peak_mb`."""


@dataclass(frozen=True)
class Unit:
    """One method with all its strengths on a few seeds of a task, trained as one stack."""

    task: Task
    method: Method
    seeds: tuple[int, ...]

    @property
    def key(self) -> str:
        """Its name in the journal."""
        return f"{self.method.name} seeds {','.join(map(str, self.seeds))}"

    @property
    def size(self) -> int:
        """How many runs it has."""
        return len(self.seeds) * len(self.method.strengths)


def finished(units: Sequence[Unit], workers: int) -> Generator[tuple[Unit, Entry], None, None]:
    """Units and what they found, as they are finished; 0 workers work in this process.

    So does one alone: another process would take seconds to start, and this one would only wait.
    """
    if min(workers, len(units)) < 2:
        yield from ((unit, run_unit(unit)) for unit in units)
        return
    pool = ProcessPoolExecutor(
        min(workers, len(units)), mp_context=GuardedContext(), initializer=_begin_worker
    )
    end = _own_end(pool)
    try:
        under_way = submitted(lambda unit: pool.submit(run_unit, unit), units)
        for future in as_finished(under_way):
            yield under_way[future], future.result()
    except BaseException:
        # Whoever interrupts a sweep should not have to wait for the units under way.
        for worker in active_children():
            worker.terminate()
        if end is not None:
            threading.Thread(target=_emptied, args=(end,), daemon=True).start()
            end = None
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        if end is not None:
            os.close(end)


def _own_end(pool: ProcessPoolExecutor) -> int | None:
    """The end of the pipe to the workers once more, where a pool may need somebody to read it.

    Before Python 3.11.5 a pool waits for ever to hand what is too large for the pipe to workers
    that have ended (https://github.com/python/cpython/issues/94777). Closing its own end would let
    it go, but a thread of the pool closes that too, at any moment.
    """
    if sys.version_info >= (3, 11, 5) or os.name != "posix":
        return None
    return os.dup(pool._call_queue._reader.fileno())  # type: ignore[attr-defined]


def _emptied(end: int) -> None:
    """Read what nobody will read any more until nobody writes, and close the end."""
    try:
        while os.read(end, 2**16):
            pass
    finally:
        os.close(end)


def _begin_worker() -> None:
    """One thread for each process; interrupts are the parent's."""
    os.environ["LIKEFORLIKE_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_unit(unit: Unit) -> Entry:
    """Train a unit and measure its runs."""
    begin, cpu = time.monotonic(), time.process_time()
    with one_thread():
        scores, parts = unit.method.scores(unit.task, unit.seeds)
    task = unit.task
    runs = [
        {
            "method": unit.method.name,
            "strength": float(strength),
            "seed": seed,
            "rows": int(parts.test.size),
            "baseline": constant_performance(
                parts.test_targets[split], float(parts.target_mean[split]), parts.loss
            ),
            **run_metrics(
                scores[split, k],
                parts.test_targets[split],
                parts.test.layout.select_model(split),
                parts.loss,
                smooth=task.smooth,
                own=task.measures,
            ),
        }
        for split, seed in enumerate(unit.seeds)
        for k, strength in enumerate(unit.method.strengths)
    ]
    return {
        "runs": runs,
        "seconds": round(time.monotonic() - begin, 3),
        "cpu_seconds": round(time.process_time() - cpu, 3),
        "peak_mb": peak_megabytes(),
    }


def peak_megabytes() -> float:
    """The largest memory this process has had."""
    try:
        import resource
    except ImportError:  # where there is no such record, none is kept
        return 0.0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(used / (2**20 if sys.platform == "darwin" else 2**10), 1)
