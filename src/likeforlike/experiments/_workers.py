"""Units of work in several processes, none of which outlives its parent, or on any executor.

Anything with the `submit` of `concurrent.futures` is accepted, such as Dask's
`Client.get_executor()`. A unit is the same wherever it runs: torch has one thread while it trains,
kernels do not depend on theirs, and one process trains one unit at a time, since torch has one
number of threads for all of it. The executor is left as it was found; pending work of a sweep is
cancelled.

A spawned process first runs the main script of its parent, which may import for seconds. If the
parent is killed meanwhile, nothing stops the child. So the guard travels in the very first thing
that a child reads, its name: unpickling it starts a thread, of the standard library alone, that
waits for the end of the parent. Nor do children answer an interrupt, which a terminal sends to all
of them: that is for the parent.

`concurrent.futures.wait` takes the locks of all its futures for a moment. An interrupt in that
moment leaves some of them locked, and Python, which waits for the thread of the pool, never ends.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import active_children, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from queue import Empty, SimpleQueue
from threading import Lock
from types import FrameType
from typing import Any, TypeVar, cast

from likeforlike._lazy import extra
from likeforlike.errors import InputError
from likeforlike.experiments._methods import Method
from likeforlike.experiments._split import Task
from likeforlike.training import limit_to_one_thread

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
        with _block_interrupts():
            super().start()


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Let interrupts wait, and processes that are started meanwhile never get any.

    A process that ignores a signal itself cannot do so yet while it starts and imports.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # It is started with the first process otherwise, and lets interrupts through again.
    resource_tracker.ensure_running()
    with postpone_interrupt():
        # Inherited by what is started here. Our other threads still hear interrupts.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def postpone_interrupt() -> Iterator[None]:
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
    with postpone_interrupt():
        return {submit(call): call for call in calls}


def iterate_futures(under_way: Iterable[Future[Found]]) -> Iterator[Future[Found]]:
    """Return futures in the order in which they are finished; each puts itself in a queue."""
    futures = list(under_way)
    ready: SimpleQueue[Future[Found]] = SimpleQueue()
    with postpone_interrupt():
        for future in futures:
            future.add_done_callback(ready.put)
    for _ in futures:
        finished: Future[Found] | None = None
        while finished is None:
            with suppress(Empty):
                finished = ready.get(timeout=_AWAKE)
        yield finished


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

    def run(self) -> Entry:
        """Train it, and measure its runs."""
        begin, cpu = time.monotonic(), time.process_time()
        with limit_to_one_thread():
            scores, parts = self.method.scores(self.task, self.seeds)
        runs = [
            {
                "method": self.method.name,
                "strength": float(strength),
                "seed": seed,
                **self.task._measure(scores[split, k], parts, split),
            }
            for split, seed in enumerate(self.seeds)
            for k, strength in enumerate(self.method.strengths)
        ]
        return {
            "runs": runs,
            "seconds": round(time.monotonic() - begin, 3),
            "cpu_seconds": round(time.process_time() - cpu, 3),
            "peak_mb": peak_megabytes(),
        }


def run_units(units: Sequence[Unit], workers: int) -> Generator[tuple[Unit, Entry], None, None]:
    """Return units and what they found, as they are finished; 0 workers work in this process.

    So does one alone: another process would take seconds to start, and this one would only wait.
    """
    if min(workers, len(units)) < 2:
        yield from ((unit, unit.run()) for unit in units)
        return
    pool = ProcessPoolExecutor(
        min(workers, len(units)), mp_context=GuardedContext(), initializer=_begin_worker
    )
    end = _duplicate_pipe(pool)
    try:
        under_way = submit_all(lambda unit: pool.submit(Unit.run, unit), units)
        for future in iterate_futures(under_way):
            yield under_way[future], future.result()
    except BaseException:
        # An interrupt should not have to wait for the units under way.
        for worker in active_children():
            worker.terminate()
        if end is not None:
            threading.Thread(target=_drain_pipe, args=(end,), daemon=True).start()
            end = None
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        if end is not None:
            os.close(end)


def _duplicate_pipe(pool: ProcessPoolExecutor) -> int | None:
    """Return the end of the pipe to the workers once more, where a pool may need a reader.

    Before Python 3.11.5 a pool waits for ever to hand what is too large for the pipe to workers
    that have ended (https://github.com/python/cpython/issues/94777). Closing its own end would let
    it go, but a thread of the pool closes that too, at any moment.
    """
    if sys.version_info >= (3, 11, 5) or os.name != "posix":
        return None
    return os.dup(pool._call_queue._reader.fileno())  # type: ignore[attr-defined]


def _drain_pipe(end: int) -> None:
    """Read what is left until no process writes, and close the end."""
    try:
        while os.read(end, 2**16):
            pass
    finally:
        os.close(end)


def _begin_worker() -> None:
    """Take one thread for each process, and leave interrupts to the parent."""
    os.environ["LIKEFORLIKE_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)


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
    tasks = {known: _submit_task(executor, task) for known, task in kept.items()}

    def submit(unit: Unit) -> Future[tuple[str, Entry]]:
        return executor.submit(_run, tasks[id(unit.task)], unit.method, unit.seeds)

    under_way: dict[Future[tuple[str, Entry]], Unit] = {}
    try:
        under_way = submit_all(submit, units)
        for future in iterate_futures(under_way):
            there, entry = future.result()
            here = version("likeforlike")
            if there != here:
                raise InputError(
                    f"the executor's workers have likeforlike {there}, and this is {here}, whose "
                    "runs may differ; install the same version everywhere."
                )
            yield under_way[future], entry
    except _executor_failures() as error:
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
        return version("likeforlike"), Unit(task, method, seeds).run()


def _submit_task(executor: Executor, task: Task) -> Task:
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


def _executor_failures() -> tuple[type[BaseException], ...]:
    """Errors by which an executor says that it, and no unit, has failed."""
    dask = sys.modules.get("distributed")
    of_dask = () if dask is None else (dask.KilledWorker,)
    return (BrokenExecutor, CancelledError, *of_dask)


# A cluster that is there answers at once; one that is starting may take a while.
_PATIENCE = 15.0


@contextmanager
def dask_executor(address: str | None, patience: float = _PATIENCE) -> Iterator[Executor | None]:
    """Open an executor on the cluster at an address, as `tcp://10.0.0.1:8786`; `None` for none.

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
