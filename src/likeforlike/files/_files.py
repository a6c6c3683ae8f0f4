"""Files: how a table is opened, how a broken one is reported, and how results are written."""

from __future__ import annotations

import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from likeforlike._arrays import is_one_of
from likeforlike.errors import InputError
from likeforlike.files._csv import SAY_ENCODING, CsvOptions, TextTable, read_layout
from likeforlike.files._engines import CSV_OPENERS, ENGINES, PARQUET_OPENERS, Engine

_DESCRIPTOR = re.compile(r"/(?:(?:dev|proc/self)/fd/([0-9]+)|dev/(stdout|stderr))")
_CSV, _PARQUET = (".csv", ".tsv", ".csv.gz", ".tsv.gz"), (".parquet",)


def open_file(
    path: str | Path,
    engine: Engine = "auto",
    options: CsvOptions | None = None,
    *,
    named: Sequence[str] = (),
    numbers: Sequence[str] = (),
) -> Any:  # noqa: ANN401
    """Open a file as a lazy table of an engine; a CSV file becomes a `TextTable`."""
    if not is_one_of(engine, ENGINES):
        raise InputError(f"engine must be one of {ENGINES}, not {engine!r}.")
    file, given = Path(path), options or CsvOptions()
    kind = next((end for end in _CSV + _PARQUET if file.name.lower().endswith(end)), None)
    if kind is None:
        raise InputError(f"{file} must end in .csv or .tsv (or these and .gz), or in .parquet.")
    if not file.exists():
        raise InputError(f"{file} does not exist.")
    with readable(file):
        if kind in _PARQUET:
            given.refuse(f"{file} is none")
            return PARQUET_OPENERS[engine](file)
        layout = read_layout(file, given, named, tab=kind.startswith(".tsv"))
        parsed = [name for name in numbers if name in layout.columns]
        return TextTable(CSV_OPENERS[engine](file, layout, parsed), given.nulls)


@contextmanager
def readable(data: object) -> Iterator[None]:
    """Turn an engine's complaint about its data into an `InputError` of one line."""
    name = str(data) if isinstance(data, str | Path) else "the table"
    try:
        yield
    except _engine_errors() as error:
        reason = _reason(error)
        foreign = any(word in reason.lower() for word in ("utf-8", "unicode"))
        what_to_do = f"; {SAY_ENCODING}" if foreign else ""
        raise InputError(f"{name} cannot be read: {reason}{what_to_do}") from error


def _reason(error: Exception) -> str:
    """What an engine complains about, in one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # Java says last what came first.
    causes = [line.partition(": ")[2] for line in lines if line.startswith("Caused by: ")]
    if causes:
        return causes[-1].partition(": ")[2] or causes[-1]
    # DuckDB says which line, shows it, and then says what is wrong with it.
    if len(lines) > 2 and "CSV Error on Line" in lines[0]:
        return f"{lines[0]}: {lines[2]}"
    if lines and "more fields than defined" in lines[0]:
        return "a line has more values than the first line has columns"
    return lines[0] if lines else type(error).__name__


def _engine_errors() -> tuple[type[Exception], ...]:
    """What engines raise; only those that have been imported can have raised anything."""
    errors: list[type[Exception]] = [OSError, EOFError]
    if "narwhals" in sys.modules:
        errors.append(sys.modules["narwhals"].exceptions.NarwhalsError)
    if "polars" in sys.modules:
        errors.append(sys.modules["polars"].exceptions.PolarsError)
    if "duckdb" in sys.modules:
        errors.append(sys.modules["duckdb"].Error)
    if "pyspark.errors" in sys.modules:
        errors.append(sys.modules["pyspark.errors"].PySparkException)
    if "py4j.protocol" in sys.modules:
        errors.append(sys.modules["py4j.protocol"].Py4JError)
    return tuple(errors)


def check_writable(path: str | Path | None) -> None:
    """Raise at once if a file could not be written to `path` later; `None` is no file."""
    if path is None:
        return
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder, not a file to write.")
    if target.exists() and not os.access(target, os.W_OK):
        raise InputError(f"{target} cannot be written: no permission to change it.")
    folder = Path(os.path.realpath(target)).parent
    if _is_written_into(target):
        return
    if not folder.is_dir():
        raise InputError(f"{target} cannot be written: no folder {folder}.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{target} cannot be written: no permission in {folder}.")


def write_whole(path: str | Path, text: str) -> None:
    """Write a text file completely or not at all, with the permissions the user's files have.

    Links are followed. What is no file (a device, a pipe) is written into.
    """
    check_writable(path)
    target = Path(path)
    content = text.encode("utf-8", "backslashreplace")
    try:
        if _is_written_into(target):
            _write_into(target, content)
        else:
            replace_whole(target, content)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror or error}.") from error


def _is_written_into(path: Path) -> bool:
    """Whether a path leads to something that is no file, or to one that is open already."""
    return _descriptor(path) is not None or (path.exists() and not path.is_file())


def _descriptor(path: Path) -> int | None:
    """The number behind /dev/stdout and its like.

    It may be that of a file, in whose place no other must be put: what is printed would be lost.
    """
    named = _DESCRIPTOR.fullmatch(os.path.abspath(path))
    return None if named is None else int(named[1] or ("stdout", "stderr").index(named[2]) + 1)


def _write_into(path: Path, content: bytes) -> None:
    number = _descriptor(path)
    target = os.open(path, os.O_WRONLY) if number is None else os.dup(number)
    with open(target, "wb") as file:
        file.write(content)


def replace_whole(path: Path, content: bytes) -> None:
    """Let a file have this content from one moment to the next, or stay as it is on an error.

    Every call writes to a file of its own beside the target, which then takes its name. A file
    that is there keeps its permissions; a new one has those that the user's umask gives.
    """
    target = Path(os.path.realpath(path))
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    part = target.with_name(f".likeforlike-{secrets.token_hex(8)}")
    try:
        with open(
            part, "xb", opener=lambda name, flags: os.open(name, flags, mode or 0o666)
        ) as file:
            file.write(content)
        if mode is not None:
            os.chmod(part, mode)
        os.replace(part, target)
    except BaseException:  # an interrupt too
        part.unlink(missing_ok=True)
        raise
