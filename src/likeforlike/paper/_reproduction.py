"""Run the paper's protocol, all of it or a part, and keep what was found as plain files.

Units of all data sets go to one pool, the longest first, so that no processor waits for another.
Every data set has a journal of its own; what is in it is not run again.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl

from likeforlike.errors import InputError
from likeforlike.experiments import (
    CLASSIFICATION,
    DCFR,
    PAPER_DATASETS,
    Entry,
    Journal,
    Method,
    Sweep,
    Task,
    Unit,
    check_settings,
    collect_runs,
    cut_units,
    peak_megabytes,
    run_units,
    select_methods,
)
from likeforlike.files import write_whole
from likeforlike.paper._protocol import ALL_METHODS, Profile, paper_task
from likeforlike.transport import n_threads

_TOGETHER = 5


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction found.

    Attributes
    ----------
    runs : one row a run: dataset, method, strength, seed, rows, and what was measured.
    times : one row a data set and method: runs, seconds, cpu_seconds.
    setting : what was run, where, and how long it took.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments._split import MEASURED
    >>> from likeforlike.paper import Reproduction
    >>> run = {"dataset": "drug", "method": "FairBiT", "strength": 1.0, "seed": 0, "rows": 9}
    >>> runs = pl.DataFrame([run | dict.fromkeys(MEASURED, 0.5)])
    >>> Reproduction(runs, times=pl.DataFrame(), setting={}).of("drug").task
    'classification'
    """

    runs: pl.DataFrame
    times: pl.DataFrame
    setting: dict[str, Any]

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets, the paper's first and in its order."""
        present = self.runs["dataset"].unique(maintain_order=True).to_list()
        papers = [name for name in PAPER_DATASETS if name in present]
        return papers + [name for name in present if name not in papers]

    @property
    def of_paper(self) -> bool:
        """Whether all data sets are the paper's."""
        return set(self.datasets) <= set(PAPER_DATASETS)

    @property
    def n_runs(self) -> int:
        """How many runs each setting has."""
        return int(self.runs["seed"].n_unique())

    def of(self, dataset: str) -> Sweep:
        """Return the runs of one `dataset`."""
        usual = "classification" if dataset in CLASSIFICATION else "regression"
        task = self.setting.get("tasks", {}).get(dataset, usual)
        runs = self.runs.filter(pl.col("dataset") == dataset).drop("dataset")
        return Sweep(runs, task)

    def renewed(self, part: Reproduction) -> Reproduction:
        """Put the results of `part` in the place of those of the same data sets and methods."""
        again = {
            "methods": part.runs["method"].unique(maintain_order=True).to_list(),
            "cpu_seconds": round(float(part.times["cpu_seconds"].sum()), 1),
        }
        return Reproduction(
            _in_place(self.runs, part.runs),
            _in_place(self.times, part.times),
            self.setting | {"renewed": again},
        )

    def write(self, folder: Path | str) -> None:
        """Write `runs.csv`, `times.csv` and `setting.json` to `folder`, whole or not at all."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        figures = pl.selectors.float() - pl.selectors.by_name("strength")
        short = self.runs.with_columns(figures.round_sig_figs(7))
        write_whole(target / "runs.csv", short.write_csv())
        write_whole(target / "times.csv", self.times.write_csv())
        write_whole(target / "setting.json", json.dumps(self.setting, indent=1) + "\n")


def _in_place(kept: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """Rows of `kept`, but those of `new` where it has the same data set and method."""
    keys = ["dataset", "method"]
    parts = kept.partition_by(keys, as_dict=True)
    parts |= new.select(kept.columns).cast(kept.schema).partition_by(keys, as_dict=True)
    return pl.concat(parts.values())


def read_reproduction(folder: Path | str) -> Reproduction:
    """Read what `Reproduction.write` has written to a folder.

    Parameters
    ----------
    folder : that holds `runs.csv`, `times.csv` and `setting.json`.

    Examples
    --------
    >>> import tempfile
    >>> from likeforlike.paper import read_reproduction
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     read_reproduction(folder)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    likeforlike.errors.InputError: ... holds no results: runs.csv is missing. Name the folder that
    `likeforlike reproduce --out` has written.
    """
    source = Path(folder)
    missing = [
        name for name in ("runs.csv", "times.csv", "setting.json") if not (source / name).is_file()
    ]
    if missing:
        raise InputError(
            f"{source} holds no results: {missing[0]} is missing. Name the folder that "
            "`likeforlike reproduce --out` has written."
        )
    return Reproduction(
        pl.read_csv(source / "runs.csv"),
        pl.read_csv(source / "times.csv"),
        json.loads((source / "setting.json").read_text()),
    )


def reproduce(
    folder: Path | str,
    *,
    datasets: Sequence[str] | Mapping[str, Task] = PAPER_DATASETS,
    methods: Sequence[Method] = ALL_METHODS,
    profile: Profile | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Reproduction:
    """Run the protocol.

    Methods that cannot do a task, as decisions for a regression, are left out there.

    Parameters
    ----------
    folder : of the journals; runs that are in them are not repeated.
    datasets : names from the paper's four, or {name: task} of one's own.
    methods : the paper's and our own.
    profile : how much is run; all of it if `None`.
    workers : processes; as many as there are cores if `None`. Less than two work in this one.
    progress : called with the runs done and all runs.

    Examples
    --------
    >>> import tempfile
    >>> from likeforlike.experiments import Plain
    >>> from likeforlike.paper import reproduce
    >>> from likeforlike.paper import Profile
    >>> little = Profile(runs=2, max_epochs=1, patience=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reproduction = reproduce(
    ...         folder, datasets=["drug"], methods=[Plain()], profile=little, workers=0
    ...     )
    >>> reproduction.datasets, reproduction.runs.height
    (['drug'], 2)
    """
    chosen = profile or Profile()
    if chosen.runs < 1:
        raise InputError(f"runs must be at least 1, not {chosen.runs}.")
    began = time.monotonic()
    tasks = _tasks(datasets, chosen)
    units: dict[str, list[Unit]] = {}
    refused: dict[str, dict[str, str]] = {}
    for name, task in tasks.items():
        able, refused[name] = select_methods(task, chosen.methods(tuple(methods)))
        units[name] = cut_units(task, able, chosen.runs, _TOGETHER)
    with ExitStack() as stack:
        journals = {
            name: stack.enter_context(Journal(Path(folder) / "journals" / f"{name}.jsonl"))
            for name in tasks
        }
        for name, journal in journals.items():
            check_settings(journal, tasks[name], [unit.method for unit in units[name]])
        repeated = _work(units, journals, n_threads() if workers is None else workers, progress)
        entries = {name: dict(journal) for name, journal in journals.items()}
    took = time.monotonic() - began
    said = {
        "profile": asdict(chosen),
        "tasks": {name: task.data.task for name, task in tasks.items()},
        "refused": {name: reasons for name, reasons in refused.items() if reasons},
        "wall_seconds": round(took, 3),
        "units_run": repeated,
    }
    return _gather(units, entries, said)


def _tasks(datasets: Sequence[str] | Mapping[str, Task], profile: Profile) -> dict[str, Task]:
    if isinstance(datasets, Mapping):
        return dict(datasets)
    names = [name for name in PAPER_DATASETS if name in set(datasets)]
    unknown = set(datasets) - set(names)
    if unknown or not names:
        raise InputError(f"dataset must be among {list(PAPER_DATASETS)}, not {sorted(unknown)}.")
    return {name: paper_task(name, profile) for name in names}


def _work(
    units: dict[str, list[Unit]],
    journals: dict[str, Journal],
    workers: int,
    progress: Callable[[int, int], None] | None,
) -> int:
    """Run what the journals lack; how many units that was."""
    everything = [(name, unit) for name, of_dataset in units.items() for unit in of_dataset]
    # Separated by identity: the same unit would be another one on another data set.
    homes = {id(unit): name for name, unit in everything}
    waiting = [unit for name, unit in everything if unit.key not in journals[name]]
    waiting.sort(key=_unit_cost, reverse=True)
    total = sum(unit.size for _, unit in everything)
    done = total - sum(unit.size for unit in waiting)
    for unit, entry in run_units(waiting, workers):
        journals[homes[id(unit)]].add(unit.key, entry)
        done += unit.size
        if progress is not None:
            progress(done, total)
    return len(waiting)


def _unit_cost(unit: Unit) -> float:
    """Long units first; the adversaries of DCFR take ten times the steps and never stop early."""
    rows, method = len(unit.task.data.frame), unit.method
    entropic = getattr(getattr(method, "penalty", None), "reg", 0.0) > 0.0
    return unit.size * rows * (10.0 if isinstance(method, DCFR) else 5.0 if entropic else 1.0)


def _gather(
    units: dict[str, list[Unit]], entries: dict[str, dict[str, Entry]], took: dict[str, Any]
) -> Reproduction:
    runs = [
        collect_runs(of_dataset, entries[name]).runs.select(pl.lit(name).alias("dataset"), pl.all())
        for name, of_dataset in units.items()
    ]
    times = pl.DataFrame(
        [
            {
                "dataset": name,
                "method": unit.method.name,
                "runs": unit.size,
                "seconds": entries[name][unit.key]["seconds"],
                "cpu_seconds": entries[name][unit.key]["cpu_seconds"],
            }
            for name, of_dataset in units.items()
            for unit in of_dataset
        ]
    )
    largest = max(
        entries[name][unit.key]["peak_mb"]
        for name, of_dataset in units.items()
        for unit in of_dataset
    )
    setting = {
        **took,
        "units": sum(len(of_dataset) for of_dataset in units.values()),
        "peak_mb_of_a_worker": largest,
        "peak_mb_of_the_parent": peak_megabytes(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "versions": {name: version(name) for name in ("likeforlike", "torch", "numpy", "numba")},
    }
    by_method = times.group_by("dataset", "method", maintain_order=True).agg(pl.all().sum())
    return Reproduction(pl.concat(runs), by_method, setting)
