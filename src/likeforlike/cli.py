"""The command line: arguments in, calls out, no logic."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from likeforlike import demonstration
from likeforlike.audit import Audit, audit
from likeforlike.datasets import available, dataset_of_table
from likeforlike.errors import BinnedLevelWarning, InputError
from likeforlike.files import Engine, check_writable, open_file, write_whole
from likeforlike.inference.estimation import BOOTSTRAPS
from likeforlike.inference.halves import SPLITS
from likeforlike.progress import epochs_bar
from likeforlike.terminal import level_table, summary_text, sweep_table

__all__ = ["app", "main"]

app = typer.Typer(
    help="Audit conditional fairness: do groups get the same scores among equals?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_EXIT = {"pass": 0, "fail": 1, "investigate": 3}
_BAD_INPUT, _INTERRUPTED = 2, 130
_DATASET_COLUMNS: tuple[tuple[str, Literal["left", "right"]], ...] = (
    ("name", "left"),
    ("rows", "right"),
    ("size", "right"),
    ("state", "left"),
    ("licence", "left"),
)


@app.command("audit")
def audit_command(
    file: Annotated[Path, typer.Argument(help="A .csv or .parquet file, one row a person.")],
    score: Annotated[str, typer.Option(help="Column of scores or decisions.")],
    sensitive: Annotated[str, typer.Option(help="Column whose values are the groups.")],
    legitimate: Annotated[
        list[str] | None, typer.Option(help="Column that makes people equal; may be repeated.")
    ] = None,
    weight: Annotated[str | None, typer.Option(help="Column of sample weights.")] = None,
    bins: Annotated[
        list[str] | None, typer.Option(help="COLUMN=N: cut a legitimate column at N-quantiles.")
    ] = None,
    engine: Annotated[str, typer.Option(help="auto, polars, duckdb or spark.")] = "auto",
    resolution: Annotated[
        float | None, typer.Option(help="Round scores to bins of this width, in the engine.")
    ] = None,
    permutations: Annotated[int, typer.Option(help="Permutations of the test.")] = 999,
    min_cell: Annotated[int, typer.Option(help="Mark levels with fewer rows of a group.")] = 20,
    reference: Annotated[
        str | None, typer.Option(help="Compare all groups with this one only.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the permutations.")] = 0,
    threshold: Annotated[
        float | None, typer.Option(help="Largest disparity allowed; sets the exit code.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page here.")] = None,
    json: Annotated[str | None, typer.Option(help="Write JSON here; - prints it.")] = None,
) -> None:
    """Audit the scores in a file.

    Exit code with --threshold: 0 pass, 1 fail, 3 investigate (the evidence does not settle it).
    2 means wrong input or usage.
    """
    with _one_line_errors():
        for path in (report, None if json == "-" else json):
            check_writable(path)
        data = open_file(file, _engine(engine))
        with _progress(permutations) as advance:
            found = audit(
                data,
                score=score,
                sensitive=sensitive,
                legitimate=legitimate or (),
                weight=weight,
                bins=_bins(bins or []),
                resolution=resolution,
                permutations=permutations,
                min_cell=min_cell,
                reference=reference,
                random_state=seed,
                progress=advance,
            )
        verdict = None if threshold is None else found.gate(threshold)
        _deliver(found, report, json, verdict, threshold)
    if verdict is not None:
        raise typer.Exit(_EXIT[verdict])


@app.command("sweep")
def sweep_command(
    file: Annotated[Path, typer.Argument(help="A .csv or .parquet file, one row a person.")],
    target: Annotated[str, typer.Option(help="Column to be predicted.")],
    sensitive: Annotated[str, typer.Option(help="Column whose values are the groups.")],
    legitimate: Annotated[
        list[str] | None, typer.Option(help="Column that makes people equal; may be repeated.")
    ] = None,
    feature: Annotated[
        list[str] | None, typer.Option(help="Input of the models; all other columns by default.")
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="none, legitimate-only, fairleap, fairbit, wasserstein, repair, adversarial or "
            "dcfr; may be repeated."
        ),
    ] = None,
    strength: Annotated[list[float] | None, typer.Option(help="May be repeated.")] = None,
    seeds: Annotated[int, typer.Option(help="How many splits of the rows.")] = 5,
    epochs: Annotated[int, typer.Option(help="At most so many epochs.")] = 200,
    max_disparity: Annotated[
        float | None, typer.Option(help="Name the best run within this conditional disparity.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results and the journal.")] = Path(
        "sweep"
    ),
) -> None:
    """Train models at several strengths on several splits, and show what they trade.

    Finished runs are kept in OUT/journal.jsonl: a sweep that was stopped goes on where it was.
    """
    with _one_line_errors():
        from likeforlike.experiments import Task, named_methods, sweep

        frame = open_file(file, "polars").collect()
        data, left_out = dataset_of_table(
            frame, target=target, sensitive=sensitive, legitimate=legitimate or (), features=feature
        )
        methods = named_methods(
            method or ["none", "legitimate-only", "fairleap", "fairbit"],
            strength or [0.1, 0.3, 1.0, 3.0, 10.0, 30.0],
        )
        console = Console()
        if left_out:
            console.print(f"{left_out:,} of {frame.height:,} rows lack a value and are left out.")
        task = Task(data, max_epochs=epochs, patience=max(1, epochs // 5))
        with _units_bar() as progress:
            found = sweep(
                task, methods, seeds=seeds, journal=out / "journal.jsonl", progress=progress
            )
        found.write(out)
        console.print(sweep_table(found.means().to_dicts(), found.frontier().best, data.task))
        if max_disparity is not None:
            best = found.frontier().choose(max_disparity=max_disparity)
            console.print(
                f"Best within {max_disparity:g}: {best['method']} at strength "
                f"{best['strength']:g}. Audit it on rows that took no part in this."
            )
        console.print(f"Written: {out}", highlight=False)


@app.command()
def demo(
    report: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("loans.html"),
    json: Annotated[str | None, typer.Option(help="Write JSON here; - prints it.")] = None,
) -> None:
    """Audit the embedded loan data, then train networks with and without a penalty.

    Training needs the extra `train`; without it there is the audit alone.
    """
    with _one_line_errors():
        for path in (report, None if json == "-" else json):
            check_writable(path)
        console = Console(stderr=json == "-")
        with _progress(999) as advance:
            found = demonstration.audit_loans(advance)
        console.print(summary_text(found.to_dict()))
        console.print(level_table(found.to_dict()))
        document = demonstration.demonstration_document(found, _training(console))
        from likeforlike.report import page

        write_whole(report, page(document))
        text = dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        if json == "-":
            sys.stdout.write(text)
        elif json is not None:
            write_whole(json, text)
        _say_written(console, report, json)


def _training(console: Console) -> dict[str, Any] | None:
    """Train, compare and say what came of it; where that is not possible, say what to install."""
    try:
        demonstration.check_extras()
    except InputError as error:
        console.print(
            f"Nothing was trained: {error}", highlight=False, markup=False, soft_wrap=True
        )
        return None
    with epochs_bar(demonstration.EPOCHS, wanted=True) as tick:
        scored = demonstration.train_models(tick=tick)
    # One audit for each network, and one for the repair.
    audits = len(scored.strengths) + 1
    with _progress(demonstration.PERMUTATIONS, audits) as advance:
        training = demonstration.compare_models(scored, progress=advance)
    console.print(_network_table(training))
    console.print(summary_text(training))
    return training


def _network_table(training: Mapping[str, Any]) -> Table:
    from likeforlike.report.training import network_rows

    data = training["data"]
    table = Table(
        title=f"What training can do about it: {data['rows']:,} loans drawn with a disparity of "
        f"{data['gap']:g},\n{data['held_out']:,} of them held out for these figures",
        title_justify="left",
    )
    table.add_column("network")
    for heading in ("AUC", "estimate", "interval", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for row in network_rows(training):
        table.add_row(*row[:5], row[-1])
    return table


@app.command("datasets")
def datasets_command() -> None:
    """List the public data sets and where their files are; nothing is fetched."""
    table = Table(
        caption="Read one with likeforlike.datasets.load_<name>().", caption_justify="left"
    )
    for heading, justify in _DATASET_COLUMNS:
        table.add_column(heading, justify=justify)
    for found in available():
        size = f"{found.size / 1e6:.1f} MB"
        table.add_row(found.name, f"{found.rows:,}", size, found.state, found.licence)
    Console().print(table)


def _deliver(
    found: Audit,
    report: Path | None,
    json: str | None,
    verdict: str | None,
    threshold: float | None,
) -> None:
    """Write the page and the JSON, then say what was found."""
    if report is not None:
        found.to_html(report)
    # Standard output belongs to the JSON when it goes there; people read on the other stream.
    console = Console(stderr=json == "-")
    console.print(summary_text(found.to_dict(), verdict, threshold))
    console.print(level_table(found.to_dict()))
    if json == "-":
        sys.stdout.write(found.to_json())
    elif json is not None:
        found.to_json(json)
    _say_written(console, report, json)


def _say_written(console: Console, report: Path | None, json: str | None) -> None:
    for path in (report, None if json == "-" else json):
        if path is not None:
            console.print(f"Written: {path}", highlight=False, markup=False)


def _engine(name: str) -> Engine:
    for engine in ("auto", "polars", "duckdb", "spark"):
        if name == engine:
            found: Engine = engine
            return found
    raise InputError(f"--engine must be auto, polars, duckdb or spark, not {name!r}.")


def _bins(given: list[str]) -> dict[str, int]:
    bins = {}
    for text in given:
        column, separator, how_many = text.rpartition("=")
        if not separator or not how_many.isdecimal():
            raise InputError(f"--bins must look like COLUMN=10, not {text!r}.")
        bins[column] = int(how_many)
    return bins


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """One clear message and an exit code instead of a traceback."""
    try:
        with warnings.catch_warnings():
            # The finding says it too, in its cautions.
            warnings.simplefilter("ignore", BinnedLevelWarning)
            yield
    except InputError as error:
        # Names from the data and of extras may hold brackets, which are no markup.
        Console(stderr=True).print(
            f"likeforlike: {error}", style="red", highlight=False, markup=False
        )
        raise typer.Exit(_BAD_INPUT) from error
    except KeyboardInterrupt as interrupt:
        Console(stderr=True).print("likeforlike: interrupted; nothing more was written.")
        # Threads that are still busy must not hold up somebody who wants to leave.
        sys.stderr.flush()
        raise typer.Exit(_INTERRUPTED) from interrupt


@contextmanager
def _progress(permutations: int, audits: int = 1) -> Iterator[Callable[[int], None] | None]:
    """A bar on the terminal; silence when nobody watches."""
    console = Console(stderr=True)
    if not console.is_terminal or os.environ.get("TERM") == "dumb":
        yield None
        return
    columns = TextColumn("resampling"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        one_contrast = permutations + 2 * SPLITS + BOOTSTRAPS
        task = bar.add_task("resampling", total=audits * one_contrast)

        def advance(done: int) -> None:
            bar.update(task, advance=done)
            if bar.tasks[0].completed > (bar.tasks[0].total or 0):
                bar.update(task, total=(bar.tasks[0].total or 0) + one_contrast)

        yield advance


@contextmanager
def _units_bar() -> Iterator[Callable[[int, int], None] | None]:
    """A bar over the units of a sweep, with the time that is left."""
    console = Console(stderr=True)
    if not console.is_terminal or os.environ.get("TERM") == "dumb":
        yield None
        return
    columns = TextColumn("training"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("training", total=None)
        yield lambda done, whole: bar.update(task, completed=done, total=whole)


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
