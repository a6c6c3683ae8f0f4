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

The journal keeps finished runs, one line each, appended and never changed. Each line is JSON with a
checksum, written in one piece and forced to the disk before its run counts as finished. The first
line says that this is a journal, and of which version of the library: a file without it is left
alone. A process may be killed at any moment: at worst the last line is incomplete, and it is cut
off when the journal is opened again. Damage anywhere else is refused.

Runs are found again by a *fingerprint* of their settings. A `repr` is for readers: numpy cuts long
arrays short, polars shows a few columns, and a plain object shows its address in memory. A
fingerprint spells out everything, so two settings that differ have different fingerprints.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from multiprocessing import active_children, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar, cast
from zlib import crc32

import numpy as np
import polars as pl

from likeforlike._lazy import extra
from likeforlike.errors import InputError
from likeforlike.experiments._methods import Method
from likeforlike.experiments._split import Task
from likeforlike.training import limit_to_one_thread


def fingerprint(value: object) -> str:
    """Compute SHA-256 of everything that a value consists of."""
    return sha256(_spell(value).encode()).hexdigest()


def _spell(value: Any) -> str:  # noqa: ANN401
    """Return a value as text, complete."""
    for kind, spell in _SPELLINGS:
        if isinstance(value, kind):
            return f"{_kind(value)}({spell(value)})"
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: getattr(value, field.name) for field in fields(value)}
        return f"{_kind(value)}({_mapping(parts)})"
    if isinstance(value, type) or hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    return f"{_kind(value)}({_mapping(vars(value)) if hasattr(value, '__dict__') else repr(value)})"


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _mapping(parts: Mapping[Any, Any]) -> str:
    return ", ".join(sorted(f"{_spell(key)}: {_spell(part)}" for key, part in parts.items()))


def _array(array: np.ndarray[Any, Any]) -> str:
    if array.dtype.hasobject:
        return f"{array.shape}, {_sequence(array.ravel().tolist())}"
    content = sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
    return f"{array.dtype.str}, {array.shape}, {content}"


def _frame(frame: pl.DataFrame) -> str:
    content = sha256(frame.write_csv().encode()).hexdigest()
    return f"{_sequence([(name, str(kind)) for name, kind in frame.schema.items()])}, {content}"


def _sequence(values: Any) -> str:  # noqa: ANN401
    return ", ".join(_spell(value) for value in values)


# Kinds whose spelling is not that of their parts by name; the first that fits counts.
_SPELLINGS: tuple[tuple[type | tuple[type, ...], Callable[[Any], str]], ...] = (
    ((bool, int, float, complex, str, bytes, type(None), np.generic), repr),
    (np.ndarray, _array),
    (pl.DataFrame, _frame),
    (pl.Series, lambda series: _frame(series.to_frame())),
    (Mapping, _mapping),
    ((set, frozenset), lambda values: ", ".join(sorted(map(_spell, values)))),
    ((list, tuple), _sequence),
    (partial, lambda call: _sequence([call.func, call.args, call.keywords])),
)


_FORMAT = "likeforlike journal 1"
# More than a first line takes; a large file is not read to see that it is no journal.
_FIRST_LINE = 1024


class Journal:
    """Finished runs in a file.

    Parameters
    ----------
    path : of the file; made if it is not there. A file that is no journal is refused, and so is one
        of another version of the library.
    """

    def __init__(self, path: Path | str) -> None:
        self.path: Path = Path(path)
        self.cut_off: int = 0
        # What is made here goes again if a sweep is refused before its first run.
        here = [self.path, *self.path.parents]
        try:
            self._made = [each for each in here if not each.exists()]
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise InputError(
                f"the journal {self.path} cannot be opened: {error.strerror}."
            ) from error
        self._runs: dict[str, dict[str, Any]] = {}
        try:
            self._lock()
            self._check_header()
            self._runs = self._read()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._file)

    def remove_files(self) -> None:
        """Remove the file and its folders, as far as they were not there before."""
        with suppress(OSError):  # another file has come into a folder, or the system holds this one
            for made in self._made:
                made.unlink() if made == self.path else made.rmdir()

    def __contains__(self, key: str) -> bool:
        return key in self._runs

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        return iter(self._runs.items())

    def add(self, key: str, run: Mapping[str, Any]) -> None:
        """Write a finished run; when this returns it is on the disk.

        A run that is there already is left as it is.

        Parameters
        ----------
        key : by which it is known, such as method, strength and seed.
        run : what was found, as plain values that JSON can hold.
        """
        if key in self._runs:
            return
        self._append(_line({"key": key, "run": run}))
        self._runs[key] = dict(run)

    def _append(self, line: bytes) -> None:
        begin = os.fstat(self._file).st_size
        try:
            written = os.write(self._file, line)
            if written < len(line):
                raise OSError(28, "No space left on device")
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, begin)
            raise InputError(
                f"the journal {self.path} cannot be written: {error.strerror}. The {len(self)} "
                "finished runs in it are kept; make room and start again to go on."
            ) from error

    def _lock(self) -> None:
        """Take the lock of one process at a time; it goes with the process, however it ends."""
        try:
            import fcntl
        except ImportError:  # where there are no such locks, the user has to take care
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(
                f"the journal {self.path} is in use by another process; wait for it, or choose "
                "another folder."
            ) from error

    def _check_header(self) -> None:
        """See that this is a journal, or make it one if it is empty; others stay as they are."""
        status = os.fstat(self._file)
        if not stat.S_ISREG(status.st_mode):
            raise InputError(f"the journal {self.path} must be a file; this is something else.")
        ours = version("likeforlike")
        header = _line({"format": _FORMAT, "likeforlike": ours})
        with self.path.open("rb") as file:
            begin = file.read(_FIRST_LINE)
        # A header of which a part was written, with its checksum and more, is ours too.
        if not begin or (len(begin) > _MARK and header.startswith(begin) and begin != header):
            os.ftruncate(self._file, 0)
            self._append(header)
            return
        said = _parse_line(begin.partition(b"\n")[0]) if b"\n" in begin else None
        if said is None or said.get("format") != _FORMAT:
            raise InputError(
                f"{self.path} is not a journal of a sweep and was left as it is; choose another "
                "file."
            )
        if said.get("likeforlike") != ours:
            raise InputError(
                f"the journal {self.path} is one of likeforlike {said.get('likeforlike')}, and "
                f"this is {ours}, whose runs may differ; choose another file, or install that "
                "version."
            )

    def _read(self) -> dict[str, dict[str, Any]]:
        content = self.path.read_bytes()
        lines = content.split(b"\n")
        runs: dict[str, dict[str, Any]] = {}
        good = len(lines[0]) + 1
        for number, line in enumerate(lines[1:-1], start=2):
            entry = _parse_line(line)
            if entry is None or not {"key", "run"} <= entry.keys():
                if number == len(lines) - 1:
                    break
                raise InputError(
                    f"line {number} of the journal {self.path} is damaged, with sound lines after "
                    "it; restore the file, or choose another folder."
                )
            runs[entry["key"]] = entry["run"]
            good += len(line) + 1
        self.cut_off = len(content) - good
        if self.cut_off:
            os.ftruncate(self._file, good)
        return runs


# A checksum and the space behind it.
_MARK = 9


def _line(entry: Mapping[str, Any]) -> bytes:
    """Return an entry as a line of the file, with its checksum."""
    body = json.dumps(entry, sort_keys=True)
    return f"{crc32(body.encode()):08x} {body}\n".encode()


def _parse_line(line: bytes) -> dict[str, Any] | None:
    """Return what a line says; `None` if it is damaged."""
    mark, _, body = line.partition(b" ")
    if mark != f"{crc32(body):08x}".encode():
        return None
    try:
        entry = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


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
