"""Commands and scripts in this process: what they print and their exit code, without a start.

What depends on a process (terminals, interrupts, pipes, imports) is tested in one; all else is the
same call without seconds of imports.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import NamedTuple

from typer.main import get_command

from likeforlike.cli import app

# Reading the signatures of all commands takes longer than many a command; once is enough.
command_of = cache(get_command)


class Called(NamedTuple):
    """What a command printed, and its exit code; the names are those of `subprocess`."""

    returncode: int
    stdout: str
    stderr: str


@contextmanager
def called(folder: Path) -> Iterator[Callable[[], Called]]:
    """What is printed inside the block, in a folder, and how it ends; ask after the block."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0

    def outcome() -> Called:
        assert isinstance(code, int)
        return Called(code, out.getvalue(), err.getvalue())

    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            yield outcome
        except SystemExit as done:
            code = done.code or 0


def call(*arguments: object, cwd: Path | None = None) -> Called:
    """Call `likeforlike` with arguments, as from a shell in the folder `cwd`."""
    with called(cwd or Path.cwd()) as outcome:
        command_of(app)([str(argument) for argument in arguments])
    return outcome()
