"""Units of work on an executor that somebody else owns: a pool, or a cluster.

Anything with the `submit` of `concurrent.futures` will do, such as Dask's `Client.get_executor()`.
A unit is the same wherever it runs: torch has one thread while it trains, kernels do not depend on
theirs, and one process trains one unit at a time, since torch has one number of threads for all of
it. The executor is left as it was found; what a sweep has no use for any more is cancelled.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from importlib.metadata import version
from threading import Lock
from typing import cast

from likeforlike.errors import InputError
from likeforlike.experiments._methods import Method
from likeforlike.experiments._pool import Entry, Unit, run_unit
from likeforlike.experiments._task import Task
from likeforlike.experiments._waiting import as_finished, submitted

_ONE_AT_A_TIME = Lock()


def finished_elsewhere(
    units: Sequence[Unit], executor: Executor
) -> Generator[tuple[Unit, Entry], None, None]:
    """Units and what they found, as they are finished by an executor."""
    kept = {id(unit.task): unit.task for unit in units}
    tasks = {known: _left_with(executor, task) for known, task in kept.items()}

    def submit(unit: Unit) -> Future[tuple[str, Entry]]:
        return executor.submit(_run, tasks[id(unit.task)], unit.method, unit.seeds)

    under_way: dict[Future[tuple[str, Entry]], Unit] = {}
    try:
        under_way = submitted(submit, units)
        for future in as_finished(under_way):
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
    """A task, or what an executor puts it in the place of, as an argument of many calls.

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
