"""Jobs: commands of `likeforlike` in processes of their own, with progress, that can be stopped.

A job ends when its work does, when it is canceled, when no page has asked about it for some time,
and with the app. `COMMANDS` says how each kind of job becomes a command; another kind is one more
entry.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from likeforlike._text import visible
from likeforlike.app._columns import Column
from likeforlike.app._words import WORDS

Form = Mapping[str, str]
State = Literal["running", "done", "failed", "canceled"]

# A page asks several times a second; one that is not seen may be slowed down to once a minute.
_PATIENCE, _GRACE, _PAUSE = 90.0, 3.0, 0.25
_PROGRESS = re.compile(rb"^progress (\d+) (\d+)$")
_SAID = "likeforlike: "
_VERDICTS = (0, 1, 3)
_KEPT = 1 << 14


class Job:
    """One process at work, and what is known of it.

    Attributes
    ----------
    number, table : by what its address names it, and the file it is about.
    form : what was chosen.
    state, progress : how it is going; a share of the work, or `None` as long as that is not known.
    sentence : what went wrong, in the words of the library.
    """

    def __init__(self, number: str, table: str, folder: Path, form: Form) -> None:
        self.number, self.table, self.folder, self.form = number, table, folder, form
        self.state: State = "running"
        self.progress: float | None = None
        self.sentence = ""
        self._until = time.monotonic() + _PATIENCE
        self._task: asyncio.Task[None] | None = None

    def start(self, work: Mapping[str, Any]) -> None:
        """Begin; what is written goes to the folder of the job."""
        self._task = asyncio.create_task(self._run(work))

    def keep(self) -> None:
        """Note that a page still waits for it."""
        self._until = time.monotonic() + _PATIENCE

    def leave(self) -> None:
        """Note that its page was closed; a page that is only read again says so in a moment."""
        self._until = time.monotonic() + _GRACE

    async def wait(self, seconds: float) -> None:
        """Wait for its end, but not long."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=seconds)

    async def cancel(self) -> None:
        """Stop it at once, and wait until its process is gone."""
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])
            if self.state == "running":  # it was stopped before it began
                self.state = "canceled"

    async def _run(self, work: Mapping[str, Any]) -> None:
        """Do the work; what is not done in the end leaves nothing behind."""
        try:
            self.state = await self._work(work)
        except OSError as error:
            self.state, self.sentence = "failed", WORDS["job_died"].format(code=error.strerror)
        finally:
            if self.state != "done":
                self.state = "failed" if self.state == "failed" else "canceled"
                shutil.rmtree(self.folder, ignore_errors=True)

    async def _work(self, work: Mapping[str, Any]) -> State:
        # Temporary files of the job go with its folder, even if it is killed.
        inside = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.folder))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", "likeforlike.app._child"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.folder,
            env={**os.environ, **inside, "LIKEFORLIKE_PROGRESS": "lines", "NO_COLOR": "1"},
        )
        reading = asyncio.create_task(self._read(process))
        try:
            if process.stdin is not None:
                with suppress(ConnectionError):
                    process.stdin.write(json.dumps(work).encode() + b"\n")
                    await process.stdin.drain()
            while not reading.done() and time.monotonic() < self._until:
                await asyncio.wait([reading], timeout=_PAUSE)
            if not reading.done():
                return "canceled"
            code = await process.wait()
            self.sentence = self.sentence or WORDS["job_died"].format(code=code)
            return "done" if code in _VERDICTS else "failed"
        finally:
            reading.cancel()
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Read what the process says on standard error, line by line, until it says no more."""
        rest = b""
        while process.stderr is not None and (block := await process.stderr.read(_KEPT)):
            *lines, rest = (rest + block).split(b"\n")
            rest = rest[-_KEPT:]
            for line in lines:
                if (found := _PROGRESS.match(line.strip())) is not None:
                    self.progress = min(1.0, int(found[1]) / max(1, int(found[2])))
                elif (text := line.decode("utf-8", "replace")).startswith(_SAID):
                    self.sentence = text.removeprefix(_SAID).strip()


def _choices(columns: Sequence[Column], form: Form) -> dict[str, list[str]]:
    """List the columns of every role."""
    chosen: dict[str, list[str]] = {}
    for place, column in enumerate(columns):
        chosen.setdefault(form.get(f"role{place}", ""), []).append(column["name"])
    return chosen


def audit_options(columns: Sequence[Column], form: Form) -> list[tuple[str, str]]:
    """Options of `likeforlike audit` for what was chosen, each with its value."""
    chosen = _choices(columns, form)
    options = [
        (f"--{role}", name)
        for role in ("score", "sensitive", "legitimate", "weight")
        for name in chosen.get(role, [])
    ]
    for name in chosen.get("bins", []):
        options += [("--legitimate", name), ("--bins", f"{name}=10")]
    for name in chosen.get("smooth", []):
        options += [("--legitimate", name), ("--smooth", name)]
    options += [("--threshold", form["threshold"].strip())] if form["threshold"].strip() else []
    options += [("--suppress-below", "10")] if form.get("suppress") else []
    return options


def pay_options(columns: Sequence[Column], form: Form) -> list[tuple[str, str]]:
    """Options of `likeforlike pay`: pay is the score, and the category makes work equal."""
    chosen = _choices(columns, form)
    options = [
        (option, name)
        for option, role in (
            ("--base", "score"),
            ("--sensitive", "sensitive"),
            ("--category", "legitimate"),
            ("--variable", "variable"),
            ("--hours", "hours"),
        )
        for name in chosen.get(role, [])
    ]
    trigger = form["threshold"].strip()
    return options + ([("--trigger", trigger)] if trigger else [])


def missing_choices(columns: Sequence[Column], form: Form) -> dict[str, str]:
    """Say what must be chosen first, by the field it is about; nothing if all is there."""
    roles = [form.get(f"role{place}", "") for place in range(len(columns))]
    wrong = {
        role: WORDS[f"choose_{role}"] for role in ("score", "sensitive") if not roles.count(role)
    }
    wrong |= {role: WORDS[f"one_{role}"] for role in ("score", "weight") if roles.count(role) > 1}
    once = ("sensitive", "legitimate", "variable", "hours")
    if form.get("kind") == "pay":
        simple = all(roles.count(role) <= 1 for role in once)
        simple = simple and not {"bins", "smooth", "weight"} & set(roles)
        return wrong | ({} if simple else {"columns": WORDS["one_category"]})
    return wrong | (
        {"columns": WORDS["one_pay_role"]} if {"variable", "hours"} & set(roles) else {}
    )


COMMANDS: dict[str, Callable[[Sequence[Column], Form], list[tuple[str, str]]]] = {
    "audit": audit_options,
    "pay": pay_options,
}
"""The kinds of jobs: a command of `likeforlike`, and the options it gets."""

READING = {
    "separator": "--separator",
    "encoding": "--encoding",
    "decimal": "--decimal",
    "null_values": "--null-value",
    "sheet": "--sheet",
}
"""How a file is read: entries of the argument `csv` of an audit, and their options."""


def command_of(
    file: Path | str, columns: Sequence[Column], form: Form, reading: Form
) -> list[tuple[str, ...]]:
    """Words of the command that does a job, options together with their values."""
    kind = form.get("kind", "audit")
    said = [(READING[name], value) for name, value in reading.items() if value]
    return [(kind,), (str(file),), *COMMANDS[kind](columns, form), *said]


def words_of(command: Sequence[tuple[str, ...]]) -> list[str]:
    """Words as a process gets them; a value that looks like an option stays a value."""
    return ["=".join(each) for each in command]


def shell_line(command: Sequence[tuple[str, ...]]) -> str:
    """Write a command as a line for a POSIX shell, with hidden characters as escapes."""
    words = ["likeforlike"]
    for flag, *value in command:
        if value and not value[0].startswith("-"):
            words += [flag, value[0]]
        elif value:
            words.append(f"{flag}={value[0]}")
        else:
            words.append(f"./{flag}" if flag.startswith("-") else flag)
    return " ".join(_quote(word) for word in words)


def _quote(word: str) -> str:
    if visible(word) == word:
        return shlex.quote(word)
    escaped = "".join(_escape(letter) for letter in word)
    return f"$'{escaped}'"


def _escape(letter: str) -> str:
    if letter in "\\'":
        return f"\\{letter}"
    return letter if visible(letter) == letter else f"\\U{ord(letter):08x}"
