"""A sweep: methods x strengths x seeds on one task, resumable, in several processes.

Work is cut into *units*: one method with all its strengths on a few seeds, trained as one stack. A
unit is always the same whatever else runs, so a sweep that was killed and started again ends with
exactly the results of one that was not. Finished units go to the journal at once.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from hashlib import sha256
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

import polars as pl

from likeforlike.errors import InputError
from likeforlike.experiments.frontier import Frontier
from likeforlike.experiments.journal import Journal
from likeforlike.experiments.measuring import MEASURED, measure_run
from likeforlike.experiments.methods import Method
from likeforlike.experiments.task import Task
from likeforlike.files import write_whole
from likeforlike.penalties import Layout
from likeforlike.transport.threads import n_threads

__all__ = ["Sweep", "sweep"]

_SETTINGS = "settings"


@dataclass(frozen=True)
class Unit:
    """One method on a few seeds."""

    method: Method
    seeds: tuple[int, ...]

    @property
    def key(self) -> str:
        """Its name in the journal."""
        return f"{self.method.name} seeds {','.join(map(str, self.seeds))}"


@dataclass(frozen=True)
class Sweep:
    """Finished runs.

    Attributes
    ----------
    runs : one row a run: method, strength, seed, rows, and what was measured on its test rows.
    task : `"classification"` or `"regression"`.
    """

    runs: pl.DataFrame
    task: str

    def means(self) -> pl.DataFrame:
        """Mean and standard deviation over the seeds, one row for each method and strength."""
        return self.runs.group_by("method", "strength", maintain_order=True).agg(
            *(pl.col(name).mean() for name in MEASURED),
            *(pl.col(name).std().alias(f"{name}_sd") for name in MEASURED),
            pl.len().alias("seeds"),
        )

    def frontier(self, disparity: str = "cdd_marginal") -> Frontier:
        """Frontier of the means: what is lost in power against a disparity.

        Parameters
        ----------
        disparity : a column of what was measured.
        """
        means = self.means()
        if disparity not in MEASURED[1:]:
            raise InputError(f"disparity must be one of {MEASURED[1:]}, not {disparity!r}.")
        power = means["power"].to_numpy()
        cost = power if self.task == "regression" else 1.0 - power
        return Frontier.of(cost, means[disparity].to_numpy(), means.to_dicts())

    def write(self, folder: Path | str) -> None:
        """Write all runs and their means as CSV, each file whole or not at all."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        write_whole(target / "runs.csv", self.runs.write_csv())
        write_whole(target / "means.csv", self.means().write_csv())


def sweep(
    task: Task,
    methods: Sequence[Method],
    *,
    seeds: int = 5,
    journal: Path | str,
    workers: int | None = None,
    seeds_in_unit: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Train and measure every method at every strength on every seed.

    Parameters
    ----------
    task : data and training.
    methods : to be compared; their names must differ.
    seeds : how many splits.
    journal : file of finished runs. If it has some of this sweep, they are not repeated.
    workers : processes; as many as there are cores if `None`, and 0 works in this one.
    seeds_in_unit : how many seeds are trained as one stack.
    progress : called with the units done and all units.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Penalised, Plain, Task, sweep
    >>> task = Task(make_loans(600), max_epochs=3)
    >>> methods = [Plain(), Penalised("FairLeap", (1.0, 10.0), lfl.FairLeap())]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = sweep(task, methods, seeds=2, journal=Path(folder) / "runs.jsonl", workers=0)
    >>> found.runs.shape[0], found.means().shape[0]
    (6, 3)
    """
    units = _units(methods, seeds, seeds_in_unit)
    Layout.of_rows(task.data.groups, task.data.levels).check_meeting()
    with Journal(journal) as kept:
        _check_settings(kept, task, methods)
        waiting = [unit for unit in units if unit.key not in kept]
        done = len(units) - len(waiting)
        for unit, runs in _finished(task, waiting, n_threads() if workers is None else workers):
            kept.add(unit.key, {"runs": runs})
            done += 1
            if progress is not None:
                progress(done, len(units))
        entries = dict(kept)
    rows = [run for unit in units for run in entries[unit.key]["runs"]]
    columns = ("method", "strength", "seed", "rows", *MEASURED)
    return Sweep(pl.DataFrame(rows).select(columns), task.data.task)


def _units(methods: Sequence[Method], seeds: int, together: int) -> list[Unit]:
    names = [method.name for method in methods]
    if len(set(names)) < len(names) or not names:
        raise InputError(f"methods must be at least one, with names that differ, not {names}.")
    if seeds < 1 or together < 1:
        raise InputError("seeds and seeds_in_unit must both be at least 1.")
    chunks = [
        tuple(range(first, min(first + together, seeds))) for first in range(0, seeds, together)
    ]
    return [Unit(method, chunk) for method in methods for chunk in chunks]


def _check_settings(kept: Journal, task: Task, methods: Sequence[Method]) -> None:
    """Refuse a journal that belongs to another sweep."""
    frame = task.data.frame
    said = f"{replace(task.data, frame=frame.clear())!r}\n{frame.write_csv()}"
    settings = repr([getattr(task, name) for name in vars(task) if name != "data"])
    marks = {method.name: sha256(repr(method).encode()).hexdigest() for method in methods}
    mark = {"data": sha256(said.encode()).hexdigest(), "task": settings}
    entries = dict(kept)
    if _SETTINGS not in entries:
        kept.add(_SETTINGS, mark)
    elif entries[_SETTINGS] != mark:
        raise InputError(
            f"the journal {kept.path} belongs to a sweep of other data or other settings; choose "
            "another file."
        )
    for name, own in marks.items():
        key = f"{_SETTINGS} of {name}"
        if key not in entries:
            kept.add(key, {"method": own})
        elif entries[key]["method"] != own:
            raise InputError(
                f"the journal {kept.path} has runs of {name!r} with other settings; choose another "
                "file, or another name."
            )


def _finished(
    task: Task, units: list[Unit], workers: int
) -> Iterable[tuple[Unit, list[dict[str, Any]]]]:
    """Units and their runs, as they are finished."""
    if workers == 0 or len(units) < 2:
        yield from ((unit, _run(task, unit)) for unit in units)
        return
    pool = ProcessPoolExecutor(
        min(workers, len(units)), mp_context=get_context("spawn"), initializer=_begin_worker
    )
    try:
        under_way: dict[Future[list[dict[str, Any]]], Unit] = {
            pool.submit(_run, task, unit): unit for unit in units
        }
        while under_way:
            ready, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in ready:
                yield under_way.pop(future), future.result()
    except BaseException:
        # Whoever interrupts a sweep should not have to wait for the units under way.
        for worker in active_children():
            worker.terminate()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _begin_worker() -> None:
    """One thread for each process; interrupts are the parent's, and none outlives it."""
    os.environ["LIKEFORLIKE_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _run(task: Task, unit: Unit) -> list[dict[str, Any]]:
    """Train a unit and measure its runs."""
    scores, parts = unit.method.scores(task, unit.seeds)
    targets = parts.test.targets.double().numpy()
    return [
        {
            "method": unit.method.name,
            "strength": float(strength),
            "seed": seed,
            "rows": int(parts.test.size),
            **measure_run(scores[line, k], targets[line], parts.test.layout.line(line), parts.loss),
        }
        for line, seed in enumerate(unit.seeds)
        for k, strength in enumerate(unit.method.strengths)
    ]
