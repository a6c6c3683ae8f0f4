"""What commands share: options about files, bars while something takes long, results in files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from likeforlike.errors import InputError
from likeforlike.report._terminal import Terminal

if TYPE_CHECKING:
    from likeforlike.document._results import AuditDocument

TableFile = Annotated[
    Path,
    typer.Argument(help="A .csv, .csv.gz, .tsv, .parquet or .xlsx file, one row per person."),
]


def one_column(sensitive: Sequence[str] | None) -> str:
    """The sensitive column, of which there can be one: of several the last would win unseen."""
    if not sensitive:
        raise InputError("--sensitive must name the column whose values are the groups.")
    if len(sensitive) > 1:
        raise InputError(
            f"--sensitive takes one column, not {len(sensitive)}; put them together in one first."
        )
    return sensitive[0]


def _watched() -> bool:
    """Whether a bar on standard error is seen."""
    return Terminal(stderr=True).is_terminal and os.environ.get("TERM") != "dumb"


@contextmanager
def resampling_bar(permutations: int, audits: int = 1) -> Iterator[Callable[[int], None] | None]:
    """A bar on the terminal; silence where none is seen."""
    if not _watched():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from likeforlike.inference._noise import DRAWS

    columns = TextColumn("resampling"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as bar:
        one_contrast = permutations + DRAWS
        task = bar.add_task("resampling", total=audits * one_contrast)

        def advance(done: int) -> None:
            bar.update(task, advance=done)
            if bar.tasks[0].completed > (bar.tasks[0].total or 0):
                bar.update(task, total=(bar.tasks[0].total or 0) + one_contrast)

        yield advance


@contextmanager
def training_bar() -> Iterator[Callable[[int, int], None] | None]:
    """A bar over the units of a sweep, with the time that is left."""
    if not _watched():
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
    from likeforlike.document._plain import json_text, plain
    from likeforlike.files._writing import write_whole
    from likeforlike.report import page

    if report is not None:
        write_whole(report, page(document))
    if json is not None and json != "-":
        write_whole(json, json_text(plain(document)))


def tell_delivered(
    document: AuditDocument, report: Path | None, json: str | None, terminal: Terminal
) -> None:
    """Print the JSON if that was asked for, and name the files that were written."""
    from likeforlike.document._plain import json_text, plain

    if json == "-":
        sys.stdout.write(json_text(plain(document)))
        sys.stdout.flush()
    for path in (report, None if json == "-" else json):
        if path is not None:
            terminal.print(f"Written: {path}")
