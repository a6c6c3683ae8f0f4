"""The command line, called in this process: what it prints and its exit code, without a start.

What depends on a process (terminals, interrupts, pipes, imports) is tested in one; all else is the
same call without seconds of imports.
"""

from __future__ import annotations

import io
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from likeforlike.cli import app


class Called(NamedTuple):
    """What a command printed, and its exit code; the names are those of `subprocess`."""

    returncode: int
    stdout: str
    stderr: str


def call(*arguments: object, cwd: Path | None = None) -> Called:
    """Call `likeforlike` with arguments, as from a shell in the folder `cwd`."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with chdir(cwd or Path.cwd()), redirect_stdout(out), redirect_stderr(err):
        try:
            app([str(argument) for argument in arguments])
        except SystemExit as done:
            code = done.code or 0
    assert isinstance(code, int)
    return Called(code, out.getvalue(), err.getvalue())
