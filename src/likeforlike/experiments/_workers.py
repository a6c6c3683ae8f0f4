"""Units of work in several processes, none of which outlives its parent, or on any executor.

Anything with the `submit` of `concurrent.futures` is accepted, such as Dask's
`Client.get_executor()`. A unit is the same wherever it runs: torch has one thread while it trains,
kernels do not depend on theirs, and one process trains one unit at a time, since torch has one
number of threads for all of it. The executor is left as it was found; pending work of a sweep is
cancelled.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import active_children
from threading import Lock
from typing import Any, cast

from likeforlike._extras import extra
from likeforlike.errors import InputError
from likeforlike.experiments._guard import GuardedContext, iterate_finished, submit_all
from likeforlike.experiments._methods import Method
from likeforlike.experiments._split import constant_performance, run_metrics
from likeforlike.experiments._task import Task
from likeforlike.training._networks import limit_to_one_thread

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


def run_units(units: Sequence[Unit], workers: int) -> Generator[tuple[Unit, Entry], None, None]:
    """Return units and what they found, as they are finished; 0 workers work in this process.

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
        under_way = submit_all(lambda unit: pool.submit(run_unit, unit), units)
        for future in iterate_finished(under_way):
            yield under_way[future], future.result()
    except BaseException:
        # An interrupt should not have to wait for the units under way.
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
    """Return the end of the pipe to the workers once more, where a pool may need a reader.

    Before Python 3.11.5 a pool waits for ever to hand what is too large for the pipe to workers
    that have ended (https://github.com/python/cpython/issues/94777). Closing its own end would let
    it go, but a thread of the pool closes that too, at any moment.
    """
    if sys.version_info >= (3, 11, 5) or os.name != "posix":
        return None
    return os.dup(pool._call_queue._reader.fileno())  # type: ignore[attr-defined]


def _emptied(end: int) -> None:
    """Read what is left until no process writes, and close the end."""
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
    with limit_to_one_thread():
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
    """Return the largest memory this process has had."""
    try:
        import resource
    except ImportError:  # where there is no such record, none is kept
        return 0.0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(used / (2**20 if sys.platform == "darwin" else 2**10), 1)


_ONE_AT_A_TIME = Lock()


def run_on_executor(
    units: Sequence[Unit], executor: Executor
) -> Generator[tuple[Unit, Entry], None, None]:
    """Return units and what they found, as they are finished by an executor."""
    kept = {id(unit.task): unit.task for unit in units}
    tasks = {known: _left_with(executor, task) for known, task in kept.items()}

    def submit(unit: Unit) -> Future[tuple[str, Entry]]:
        return executor.submit(_run, tasks[id(unit.task)], unit.method, unit.seeds)

    under_way: dict[Future[tuple[str, Entry]], Unit] = {}
    try:
        under_way = submit_all(submit, units)
        for future in iterate_finished(under_way):
            there, entry = future.result()
            _check_version(there)
            yield under_way[future], entry
    except _losses() as error:
        raise InputError(
            f"the executor lost its workers or gave up ({type(error).__name__}: {error}). What was "
            "finished is in the journal; start again to go on."
        ) from error
    finally:
        for future in under_way:
            future.cancel()


def check_executor(executor: Executor, workers: int | None) -> None:
    """Refuse what is no executor, and a number of workers that it would not obey."""
    if hasattr(executor, "get_executor"):
        raise InputError("executor must be an executor; pass client.get_executor().")
    if not callable(getattr(executor, "submit", None)):
        raise InputError(
            "executor must have the submit of concurrent.futures, which "
            f"{type(executor).__name__} has not."
        )
    if workers is not None:
        raise InputError("workers are those of the executor; give one of the two, not both.")


def _run(task: Task, method: Method, seeds: tuple[int, ...]) -> tuple[str, Entry]:
    """Train and measure a unit; with the version of the library that did."""
    with _ONE_AT_A_TIME:
        return version("likeforlike"), run_unit(Unit(task, method, seeds))


def _left_with(executor: Executor, task: Task) -> Task:
    """Return a task, or what an executor puts it in the place of, as an argument of many calls.

    Dask takes it once, as the result of a call, which it makes anew when the worker that holds it
    is lost. Others take it along with every call.
    """
    client = getattr(executor, "_client", None)
    if client is None:
        return task
    with warnings.catch_warnings():
        # It is the very advice of that warning which is followed here.
        warnings.filterwarnings("ignore", message="Sending large graph")
        return cast(Task, client.submit(_itself, task, pure=False))


def _itself(task: Task) -> Task:
    return task


def _check_version(there: str) -> None:
    here = version("likeforlike")
    if there != here:
        raise InputError(
            f"the executor's workers have likeforlike {there}, and this is {here}, whose runs may "
            "differ; install the same version everywhere."
        )


def _losses() -> tuple[type[BaseException], ...]:
    """Errors by which an executor says that it, and no unit, has failed."""
    dask = sys.modules.get("distributed")
    of_dask = () if dask is None else (dask.KilledWorker,)
    return (BrokenExecutor, CancelledError, *of_dask)


# A cluster that is there answers at once; one that is starting may take a while.
_PATIENCE = 15.0


@contextmanager
def dask_executor(address: str | None, patience: float = _PATIENCE) -> Iterator[Executor | None]:
    """An executor on the cluster at an address, such as `tcp://10.0.0.1:8786`; `None` for none.

    `patience` is how many seconds the scheduler and its first worker have to answer.
    """
    if address is None:
        yield None
        return
    with extra("dask"):
        from distributed import Client
    try:
        client = Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {address!r}: {error}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError as error:
            raise InputError(
                f"the Dask cluster at {address!r} has no workers; start one with "
                f"`dask worker {address} --nthreads 1`."
            ) from error
        yield client.get_executor()
