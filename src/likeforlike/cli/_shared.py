"""What commands share: options about files, bars while something takes long, results in files.

What commands print on a terminal besides an audit is here, too: errors, and the runs of a sweep.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich import box
from rich.table import Table

from likeforlike._text import visible
from likeforlike.errors import InputError
from likeforlike.report import Terminal

if TYPE_CHECKING:
    from likeforlike.document import AuditDocument
    from likeforlike.experiments import Sweep

TableFile = Annotated[
    Path,
    typer.Argument(help="A .csv, .csv.gz, .tsv, .parquet or .xlsx file, one row per person."),
]


# Set to "lines" by programs that run a command and follow it.
_PROGRESS = "LIKEFORLIKE_PROGRESS"


def one_column(sensitive: Sequence[str] | None) -> str:
    """Return the only sensitive column; refuse several, of which the last would win unseen."""
    if not sensitive:
        raise InputError("--sensitive must name the column whose values are the groups.")
    if len(sensitive) > 1:
        raise InputError(
            f"--sensitive takes one column, not {len(sensitive)}; put them together in one first."
        )
    return sensitive[0]


def _is_terminal() -> bool:
    """Whether a bar on standard error is seen."""
    return Terminal(stderr=True).is_terminal and os.environ.get("TERM") != "dumb"


@contextmanager
def resampling_bar(permutations: int, audits: int = 1) -> Iterator[Callable[[int], None] | None]:
    """Show a bar on the terminal, lines to a program that asks for them, and else nothing."""
    if os.environ.get(_PROGRESS) == "lines":
        from likeforlike.inference import DRAWS

        yield _progress_lines(audits * (permutations + DRAWS))
        return
    if not _is_terminal():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from likeforlike.inference import DRAWS

    columns = TextColumn("resampling"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as bar:
        one_contrast = permutations + DRAWS
        task = bar.add_task("resampling", total=audits * one_contrast)

        def advance(done: int) -> None:
            bar.update(task, advance=done)
            if bar.tasks[0].completed > (bar.tasks[0].total or 0):
                bar.update(task, total=(bar.tasks[0].total or 0) + one_contrast)

        yield advance


def _progress_lines(total: int) -> Callable[[int], None]:
    """Write a line on standard error for every hundredth of the work."""
    done = said = 0

    def advance(more: int) -> None:
        nonlocal done, said
        done += more
        if done * 100 // max(1, total) > said:
            said = done * 100 // max(1, total)
            print(f"progress {done} {total}", file=sys.stderr, flush=True)  # noqa: T201

    return advance


@contextmanager
def training_bar() -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar over the units of a sweep, with the time that is left."""
    if not _is_terminal():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("training"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=None)
        yield lambda done, whole: bar.update(task, completed=done, total=whole)


def leave_output() -> None:
    """Let what is still to be printed go nowhere, so that Python does not fail with it again."""
    with suppress(AttributeError, OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def unread_output() -> Iterator[None]:
    """Go on if what is printed inside is no longer read, as by `head`: that is no error."""
    try:
        yield
        sys.stdout.flush()
    except (BrokenPipeError, SystemExit):  # rich ends the program
        leave_output()


def deliver(document: AuditDocument, report: Path | None, json: str | None) -> None:
    """Write the page and the JSON of a document into the files that were asked for."""
    from likeforlike.document import json_text, plain
    from likeforlike.files import write_whole
    from likeforlike.report import markdown, page

    if report is not None:
        write = markdown if report.suffix.lower() == ".md" else page
        write_whole(report, write(document))
    if json is not None and json != "-":
        write_whole(json, json_text(plain(document)))


def report_files(
    document: AuditDocument, report: Path | None, json: str | None, terminal: Terminal
) -> None:
    """Print the JSON if that was asked for, and name the files that were written."""
    from likeforlike.document import json_text, plain

    if json == "-":
        sys.stdout.write(json_text(plain(document)))
        sys.stdout.flush()
    for path in (report, None if json == "-" else json):
        if path is not None:
            terminal.print(f"Written: {path}")


def say_error(words: str) -> None:
    """Say in one line, on standard error, what is wrong."""
    line = visible(" ".join(f"likeforlike: {words}".split()))
    Terminal(stderr=True).print(line, style="red", soft_wrap=True)


def sweep_table(sweep: Sweep) -> Table:
    """Tabulate the results of a sweep, one line for each method and strength."""
    means = sweep.means()
    performance = "AUC" if sweep.task == "classification" else "squared error"
    table = Table(
        title="Means over the splits, on test rows",
        box=box.SIMPLE,
        pad_edge=False,
        collapse_padding=True,
        show_edge=False,
    )
    for heading in ("method", "strength", performance, "among equals", "estimate", "overall", ""):
        side: Literal["left", "right"] = "left" if heading == "method" else "right"
        least = 17 if heading == "method" else None
        table.add_column(heading, justify=side, no_wrap=heading != "method", min_width=least)
    best = {(run["method"], run["strength"]) for run in sweep.frontier().best}
    poor = set(sweep.underfitted().select("method", "strength").rows())
    for run in means.to_dicts():
        key = run["method"], run["strength"]
        table.add_row(
            run["method"],
            f"{run['strength']:.4g}",
            _format_spread(run["performance"], run["performance_sd"]),
            _format_spread(run["cdd_marginal"], run["cdd_marginal_sd"]),
            _short(max(0.0, run["squared"]) ** 0.5),
            _short(run["dd"]),
            ("*" if key in best else "") + ("!" if key in poor else ""),
        )
    return table


def _format_spread(mean: float, sd: float | None) -> str:
    return _short(mean) if sd is None else f"{_short(mean)} ± {_short(sd, 2)}"


def _short(value: float, figures: int = 3) -> str:
    """Three decimals of what lies below 1, and three figures of the rest."""
    if abs(value) < 1.0:
        return f"{value:.3f}"
    return f"{value:.{figures}g}".replace("e+0", "e").replace("e+", "e")


def sweep_notes(sweep: Sweep) -> str:
    """Explain the columns of the table, and say how many rows they rest on."""
    runs = sweep.runs
    words = (
        "± standard deviation over splits. among equals: W1 inside levels, weighted by P(L); "
        "estimate: the same without small-sample bias; overall: W1 whatever the level. "
        "* no other setting is better in both."
    )
    parts = [words]
    if "coverage" in runs.columns:
        low, rows = float(runs["coverage"].to_numpy().min()), int(runs["rows"][0])
        levels = sorted(
            {int(runs["levels"].to_numpy().min()), int(runs["levels"].to_numpy().max())}
        )
        count = " to ".join(map(str, levels))
        parts.append(
            f"{rows:,} test rows per split; at least {low:.0%} of every group was compared, in "
            f"{count} level{'' if levels == [1] else 's'}."
        )
    if sweep.underfitted().height:
        constant = float(runs["baseline"].to_numpy().mean())
        parts.append(f"! worse than a constant, which has {_short(constant)}.")
    return " ".join(parts)
