"""What all commands share: one line for an error, a bar while something takes long."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import typer
from rich.console import Console

from likeforlike.errors import BinnedLevelWarning, InputError

__all__ = ["one_line_errors", "resampling_bar", "say_written", "training_bar"]

_BAD_INPUT, _INTERRUPTED = 2, 130


@contextmanager
def one_line_errors() -> Iterator[None]:
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


def _watched() -> bool:
    """Whether somebody sees a bar on standard error."""
    return Console(stderr=True).is_terminal and os.environ.get("TERM") != "dumb"


@contextmanager
def resampling_bar(permutations: int, audits: int = 1) -> Iterator[Callable[[int], None] | None]:
    """A bar on the terminal; silence when nobody watches."""
    if not _watched():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from likeforlike.inference.estimation import BOOTSTRAPS
    from likeforlike.inference.halves import SPLITS

    columns = TextColumn("resampling"), BarColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        one_contrast = permutations + 2 * SPLITS + BOOTSTRAPS
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
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("training", total=None)
        yield lambda done, whole: bar.update(task, completed=done, total=whole)


def say_written(console: Console, report: Path | None, json: str | None) -> None:
    """Name the files that were written."""
    for path in (report, None if json == "-" else json):
        if path is not None:
            console.print(f"Written: {path}", highlight=False, markup=False)
