"""Units of work in several processes, none of which outlives its parent."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import active_children
from typing import Any

from likeforlike.experiments._guard import GuardedContext
from likeforlike.experiments._methods import Method
from likeforlike.experiments._run_metrics import run_metrics
from likeforlike.experiments._task import Task
from likeforlike.experiments._waiting import as_finished, submitted
from likeforlike.nn._threads import one_thread

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
    try:
        under_way = submitted(lambda unit: pool.submit(run_unit, unit), units)
        for future in as_finished(under_way):
            yield under_way[future], future.result()
    except BaseException:
        # Whoever interrupts a sweep should not have to wait for the units under way.
        for worker in active_children():
            worker.terminate()
        _let_go(pool)
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _let_go(pool: ProcessPoolExecutor) -> None:
    """Close the way to workers that have ended, where the pool does not do so itself.

    Before Python 3.11.5 it waits for ever to hand them what is too large for a pipe
    (https://github.com/python/cpython/issues/94777). Since then its own thread closes that way, and
    whoever closes it as well may find it closed, or close what has its number by now.
    """
    on_its_way = getattr(pool, "_call_queue", None)
    if sys.version_info < (3, 11, 5) and on_its_way is not None:
        on_its_way._reader.close()


def _begin_worker() -> None:
    """One thread for each process; interrupts are the parent's."""
    os.environ["LIKEFORLIKE_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def run_unit(unit: Unit) -> Entry:
    """Train a unit and measure its runs."""
    begin, cpu = time.monotonic(), time.process_time()
    with one_thread():
        scores, parts = unit.method.scores(unit.task, unit.seeds)
    targets = parts.test.targets.double().numpy()
    runs = [
        {
            "method": unit.method.name,
            "strength": float(strength),
            "seed": seed,
            "rows": int(parts.test.size),
            **run_metrics(
                scores[split, k], targets[split], parts.test.layout.of_model(split), parts.loss
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
