"""A sweep: methods x strengths x seeds on one task, resumable, in several processes or elsewhere.

Work is cut into *units*: one method with all its strengths on a few seeds, trained as one stack. A
unit is always the same whatever else runs, so a sweep that was killed and started again ends with
exactly the results of one that was not. Finished units go to the journal at once. A single run can
be trained once more, from the same seed, as a model to keep (`fit_model`). The frontier are the
runs that no other run beats in performance and disparity.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from likeforlike._plots import (
    axes_or_new,
    draw_panel,
)
from likeforlike.disparity import encode, warn_of_thin_levels
from likeforlike.errors import InputError, UnderfitWarning
from likeforlike.experiments._frontier import Frontier, sweep_panel
from likeforlike.experiments._methods import Method, as_network
from likeforlike.experiments._split import DESCRIBED, MEASURED, Task, input_scale
from likeforlike.experiments._workers import (
    Entry,
    Journal,
    Unit,
    check_executor,
    fingerprint,
    run_on_executor,
    run_units,
)
from likeforlike.files import write_whole
from likeforlike.penalties import Layout, SmoothFairLeap
from likeforlike.training import InputColumn, SavedModel
from likeforlike.transport import n_threads

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_SETTINGS = "settings"


@dataclass(frozen=True)
class Sweep:
    """Finished runs of one task: what every model predicts, and how differently groups fare.

    Attributes
    ----------
    runs : one row a run: method, strength, seed; `rows`, `levels` and `coverage` of its test rows,
        where groups meet, and `baseline`, the performance of a constant there; `MEASURED`, and
        measures of one's own.
    task : `"classification"` or `"regression"`.
    refused : {method: why} of methods that could not do the task and were left out.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments import Sweep
    >>> from likeforlike.experiments._split import MEASURED
    >>> runs = [
    ...     {"method": "FairLeap", "strength": strength, "seed": 0, "rows": 100}
    ...     | dict.fromkeys(MEASURED, gap) | {"performance": performance}
    ...     for strength, performance, gap in [(0.0, 0.9, 0.2), (1.0, 0.85, 0.1), (9.0, 0.8, 0.15)]
    ... ]
    >>> frontier = Sweep(pl.DataFrame(runs), "classification").frontier()
    >>> [run["strength"] for run in frontier.best]
    [0.0, 1.0]
    >>> frontier.choose(max_disparity=0.15)["strength"]
    1.0
    """

    runs: pl.DataFrame
    task: str
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def measured(self) -> tuple[str, ...]:
        """Columns of what was measured, `performance` first."""
        known = ("method", "strength", "seed", *DESCRIBED)
        return tuple(name for name in self.runs.columns if name not in known)

    def means(self) -> pl.DataFrame:
        """Mean and standard deviation over the seeds, one row for each method and strength."""
        described = [name for name in DESCRIBED if name in self.runs.columns]
        return self.runs.group_by("method", "strength", maintain_order=True).agg(
            *(pl.col(name).mean() for name in self.measured),
            *(pl.col(name).std().alias(f"{name}_sd") for name in self.measured),
            *(pl.col(name).mean() for name in described),
            pl.len().alias("seeds"),
        )

    def underfitted(self) -> pl.DataFrame:
        """Return the rows of `means` whose models predict worse than a constant does.

        A constant has an AUC of .5; of a regression it is the mean of the training targets, and
        its error must be exceeded by more than a hundredth.
        """
        means = self.means()
        if "baseline" not in means.columns:
            return means.clear()
        above = pl.col("performance") > 1.01 * pl.col("baseline")
        return means.filter(
            above if self.task == "regression" else pl.col("performance") < pl.col("baseline")
        )

    def frontier(self, disparity: str = "cdd_marginal") -> Frontier:
        """Make the frontier of the means: what is lost in performance against a disparity.

        Parameters
        ----------
        disparity : a column of what was measured.
        """
        means = self.means()
        if disparity not in self.measured[1:]:
            raise InputError(f"disparity must be one of {self.measured[1:]}, not {disparity!r}.")
        performance = means["performance"].to_numpy()
        loss = performance if self.task == "regression" else 1.0 - performance
        return Frontier.of(loss, means[disparity].to_numpy(), means.to_dicts())

    def plot(self, disparity: str = "cdd_marginal", ax: Axes | None = None) -> Axes:
        """Draw every method at every strength, with standard errors and the frontier.

        Needs the extra `plot`. `disparity` is one of the measured ones; `ax` is what to draw on,
        and without it a figure is opened. The axes are returned.
        """
        axes = axes_or_new(ax)
        draw_panel(axes, sweep_panel(self, disparity))
        return axes

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
    executor: Executor | None = None,
    seeds_in_unit: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Train and measure every method at every strength on every seed.

    Methods that cannot do the task (an adversary with three groups, say) are left out, with a
    warning, before anything is trained. A model that predicts worse than a constant is warned of.

    Parameters
    ----------
    task : data and training.
    methods : to be compared; their names must differ.
    seeds : how many splits.
    journal : file of finished runs. If it has some of this sweep, they are not repeated.
    workers : processes; as many as there are cores if `None`. Less than two work in this one.
    executor : work there instead: anything with the `submit` of `concurrent.futures`, such as
        Dask's `Client.get_executor()`. It is not shut down. Runs are the same to the last bit.
    seeds_in_unit : how many seeds are trained as one stack.
    progress : called with the units done and all units.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Penalized, Plain, Task, sweep
    >>> task = Task(make_loans(600), max_epochs=3)
    >>> methods = [Plain(), Penalized("FairLeap", (1.0, 10.0), lfl.FairLeap())]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     finished = sweep(task, methods, seeds=2, journal=Path(folder) / "runs.jsonl", workers=0)
    >>> finished.runs.shape[0], finished.means().shape[0]
    (6, 3)
    """
    able, refused = select_methods(task, methods)
    for reason in refused.values():
        warnings.warn(f"left out: {reason}", UserWarning, stacklevel=2)
    units = cut_units(task, able, seeds, seeds_in_unit)
    if executor is not None:
        check_executor(executor, workers)
    with Journal(journal) as kept, _clean_up_journal(kept, units):
        check_settings(kept, task, able)
        waiting = [unit for unit in units if unit.key not in kept]
        done = len(units) - len(waiting)
        results = (
            run_units(waiting, n_threads() if workers is None else workers)
            if executor is None
            else run_on_executor(waiting, executor)
        )
        # Closed whatever happens here: an interrupted sweep leaves nothing running.
        with closing(results):
            for unit, entry in results:
                kept.add(unit.key, entry)
                done += 1
                if progress is not None:
                    progress(done, len(units))
        found = replace(collect_runs(units, dict(kept)), refused=refused)
    poor = found.underfitted()
    if poor.height:
        worst = ", ".join(
            f"{row['method']} at {row['strength']:g}" for row in poor.head(3).to_dicts()
        )
        warnings.warn(
            f"{poor.height} of {found.means().height} settings predict worse than a constant: "
            f"{worst}{', ...' if poor.height > 3 else ''}. Train longer, or try weaker strengths.",
            UnderfitWarning,
            stacklevel=2,
        )
    return found


def select_methods(task: Task, methods: Sequence[Method]) -> tuple[list[Method], dict[str, str]]:
    """Return the methods that can do a task, and why others cannot; an error if none can."""
    able, refused = [], {}
    for method in methods:
        try:
            method.check(task)
        except InputError as error:
            refused[method.name] = str(error)
        else:
            able.append(method)
    if refused and not able:
        raise InputError(" ".join(refused.values()))
    return able, refused


def collect_runs(units: Sequence[Unit], entries: Mapping[str, Entry]) -> Sweep:
    """Return all runs of the units of one task, in their order."""
    rows = [run for unit in units for run in entries[unit.key]["runs"]]
    columns = ("method", "strength", "seed", *DESCRIBED, *MEASURED, *units[0].task.measures)
    return Sweep(pl.DataFrame(rows).select(columns), units[0].task.data.task)


def cut_units(task: Task, methods: Sequence[Method], seeds: int, together: int) -> list[Unit]:
    """Cut a sweep into units, after a look at what it asks for."""
    layout = Layout.from_columns(task.data.groups, task.data.levels)
    if task.smooth:
        SmoothFairLeap().check(layout)
    else:
        layout.check_common_support()
        warn_of_thin_levels(layout.levels, layout.size, "smooth=True of Task (--smooth)")
    taken = set(task.measures) & {"method", "strength", "seed", *DESCRIBED, *MEASURED}
    if taken:
        raise InputError(f"measures must have names of their own, not {sorted(taken)[0]!r}.")
    names = [method.name for method in methods]
    if len(set(names)) < len(names) or not names:
        raise InputError(f"methods must be at least one, with names that differ, not {names}.")
    if seeds < 1 or together < 1:
        raise InputError("seeds and seeds_in_unit must both be at least 1.")
    chunks = [
        tuple(range(first, min(first + together, seeds))) for first in range(0, seeds, together)
    ]
    return [Unit(task, method, chunk) for method in methods for chunk in chunks]


@contextmanager
def _clean_up_journal(kept: Journal, units: Sequence[Unit]) -> Iterator[None]:
    """Remove a new journal if the sweep is refused before its first run."""
    try:
        yield
    except InputError:
        if not any(unit.key in kept for unit in units):
            kept.remove_files()
        raise


def check_settings(kept: Journal, task: Task, methods: Sequence[Method]) -> None:
    """Refuse a journal that belongs to another sweep."""
    marks = {method.name: fingerprint(method) for method in methods}
    mark = {"data": fingerprint(task.data), "task": fingerprint({**vars(task), "data": None})}
    entries = dict(kept)
    if _SETTINGS not in entries:
        kept.add(_SETTINGS, mark)
    elif entries[_SETTINGS] != mark:
        raise InputError(
            f"the journal {kept.path} belongs to a sweep of other data or other settings; choose "
            "another file."
        )
    for name, of_method in marks.items():
        key = f"{_SETTINGS} of {name}"
        if key not in entries:
            kept.add(key, {"method": of_method})
        elif entries[key]["method"] != of_method:
            raise InputError(
                f"the journal {kept.path} has runs of {name!r} with other settings; choose another "
                "file, or another name."
            )


def fit_model(task: Task, method: Method, *, strength: float, random_state: int = 0) -> SavedModel:
    """Return the network of one run, as a model to keep.

    A sweep keeps figures, not networks. The same seed gives the same network again, to the rounding
    of stacked arithmetic, so the one that was chosen is trained once more.

    Parameters
    ----------
    task, method : of the sweep.
    strength : of the run.
    random_state : of the run; the rows it trains on follow from it.

    Examples
    --------
    >>> import likeforlike as lfl
    >>> from likeforlike.datasets import make_loans
    >>> from likeforlike.experiments import Penalized, Task, fit_model
    >>> loans = make_loans(500)
    >>> method = Penalized("FairLeap", (1.0, 10.0), lfl.FairLeap())
    >>> model = fit_model(Task(loans, max_epochs=2), method, strength=10.0)
    >>> model.scores(loans.frame).shape
    (500,)
    """
    network_method = as_network(method)
    if task.encoding != "one-hot":
        raise InputError("only models of one-hot inputs can be kept.")
    visible = network_method.seen(task)
    parts = visible.split([random_state])
    network = replace(network_method, strengths=(strength,)).networks(visible, parts)
    matrix = visible.data.inputs(with_sensitive=visible.with_sensitive).matrix[parts.train_rows[0]]
    mean, spread = input_scale(matrix)
    *weights, last, bias = (weight[0].detach().double().numpy() for weight in network.weights)
    # The last layer gives scores in the unit of the target.
    weights += [last * parts.target_spread[0], parts.natural(bias[None])[0]]
    return SavedModel(
        _columns(visible),
        mean,
        spread,
        tuple(weights),
        visible.data.task,
        {"method": method.name, "strength": strength, "seed": random_state},
    )


def _columns(task: Task) -> tuple[InputColumn, ...]:
    """Return the columns that the networks of a task read."""
    data = task.data
    last = (data.sensitive,) if task.with_sensitive else ()
    columns = []
    for name in dict.fromkeys((*data.features, *last)):
        column = data.frame[name].alias("column")  # polars takes some names for patterns
        if column.dtype.is_numeric():
            columns.append(InputColumn(name))
        else:
            values = encode(column.cast(str), f"column {name!r}").labels
            columns.append(InputColumn(name, tuple(str(value) for value in values)))
    return tuple(columns)
