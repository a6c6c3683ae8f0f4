"""A sweep: methods x strengths x seeds on one task, resumable, in several processes.

Work is cut into *units*: one method with all its strengths on a few seeds, trained as one stack. A
unit is always the same whatever else runs, so a sweep that was killed and started again ends with
exactly the results of one that was not. Finished units go to the journal at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

import polars as pl

from likeforlike.errors import InputError
from likeforlike.experiments.frontier import Frontier
from likeforlike.experiments.journal import Journal
from likeforlike.experiments.measuring import MEASURED
from likeforlike.experiments.methods import Method
from likeforlike.experiments.pool import Entry, Unit, finished
from likeforlike.experiments.task import Task
from likeforlike.files import write_whole
from likeforlike.penalties import Layout
from likeforlike.transport.threads import n_threads

__all__ = ["Sweep", "check_settings", "gathered", "sweep", "units_of"]

_SETTINGS = "settings"


@dataclass(frozen=True)
class Sweep:
    """Finished runs of one task: what every model predicts, and how differently groups fare.

    Attributes
    ----------
    runs : one row a run: method, strength, seed, rows, and what was measured on its test rows.
    task : `"classification"` or `"regression"`.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments import Sweep
    >>> from likeforlike.experiments.measuring import MEASURED
    >>> runs = [
    ...     {"method": "FairLeap", "strength": strength, "seed": 0, "rows": 100}
    ...     | dict.fromkeys(MEASURED, gap) | {"power": power}
    ...     for strength, power, gap in [(0.0, 0.9, 0.2), (1.0, 0.85, 0.1), (9.0, 0.8, 0.15)]
    ... ]
    >>> frontier = Sweep(pl.DataFrame(runs), "classification").frontier()
    >>> [run["strength"] for run in frontier.best]
    [0.0, 1.0]
    >>> frontier.choose(max_disparity=0.15)["strength"]
    1.0
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
        """Write all runs and their means as CSV into `folder`, each file whole or not at all."""
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
    units = units_of(task, methods, seeds, seeds_in_unit)
    with Journal(journal) as kept:
        check_settings(kept, task, methods)
        waiting = [unit for unit in units if unit.key not in kept]
        done = len(units) - len(waiting)
        for unit, entry in finished(waiting, n_threads() if workers is None else workers):
            kept.add(unit.key, entry)
            done += 1
            if progress is not None:
                progress(done, len(units))
        return gathered(units, dict(kept))


def gathered(units: Sequence[Unit], entries: Mapping[str, Entry]) -> Sweep:
    """All runs of the units of one task, in their order."""
    rows = [run for unit in units for run in entries[unit.key]["runs"]]
    columns = ("method", "strength", "seed", "rows", *MEASURED)
    return Sweep(pl.DataFrame(rows).select(columns), units[0].task.data.task)


def units_of(task: Task, methods: Sequence[Method], seeds: int, together: int) -> list[Unit]:
    """Cut a sweep into units, after a look at what it asks for."""
    Layout.of_rows(task.data.groups, task.data.levels).check_meeting()
    names = [method.name for method in methods]
    if len(set(names)) < len(names) or not names:
        raise InputError(f"methods must be at least one, with names that differ, not {names}.")
    if seeds < 1 or together < 1:
        raise InputError("seeds and seeds_in_unit must both be at least 1.")
    chunks = [
        tuple(range(first, min(first + together, seeds))) for first in range(0, seeds, together)
    ]
    return [Unit(task, method, chunk) for method in methods for chunk in chunks]


def check_settings(kept: Journal, task: Task, methods: Sequence[Method]) -> None:
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
