"""Files and engines: who opens a CSV or Parquet file, and how a broken one is reported."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args

from narwhals.exceptions import NarwhalsError

from likeforlike.errors import InputError

__all__ = ["Engine", "check_writable", "extra", "open_file", "readable", "write_whole"]

Engine = Literal["auto", "polars", "duckdb", "spark"]
"""Who reads a file. `auto` is polars."""


def extra(module: str, name: str) -> Any:  # noqa: ANN401
    """Import a module of an optional dependency, or say how to install it.

    Parameters
    ----------
    module : what to import.
    name : the extra that brings it.

    Examples
    --------
    >>> from likeforlike.files import extra
    >>> extra("json", "all").__name__
    'json'
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{module.partition('.')[0]} is not installed; pip install 'likeforlike[{name}]' "
            "brings it."
        ) from error


def open_file(path: str | Path, engine: Engine = "auto") -> Any:  # noqa: ANN401
    """Open a .csv or .parquet file as a lazy table of an engine.

    Parameters
    ----------
    path : the file; Spark also takes a folder of Parquet files.
    engine : `"auto"`, `"polars"`, `"duckdb"` (larger than memory) or `"spark"` (larger than a
        machine).

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> from likeforlike.files import open_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pl.DataFrame({"score": [0.5], "sex": ["f"]}).write_csv(f"{folder}/scores.csv")
    ...     open_file(f"{folder}/scores.csv").collect().rows()
    [(0.5, 'f')]
    """
    if engine not in get_args(Engine):
        raise InputError(f"engine must be one of {get_args(Engine)}, not {engine!r}.")
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".csv", ".parquet"):
        raise InputError(f"{file} must end in .csv or .parquet.")
    if not file.exists():
        raise InputError(f"{file} does not exist.")
    with readable(file):
        if engine == "duckdb":
            connection = extra("duckdb", "duckdb").connect()
            # Its bar goes to standard output, where the JSON of an audit may be going too.
            connection.execute("SET enable_progress_bar = false")
            reader = connection.read_csv if kind == ".csv" else connection.read_parquet
            return reader(str(file))
        if engine == "spark":
            session = _spark()
            if kind == ".csv":
                return session.read.csv(str(file), header=True, inferSchema=True)
            return session.read.parquet(str(file))
        import polars as pl

        if kind == ".csv":
            return pl.scan_csv(file, infer_schema_length=10_000)
        return pl.scan_parquet(file)


def _spark() -> Any:  # noqa: ANN401
    builder = extra("pyspark.sql", "spark").SparkSession.builder
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise InputError(
            "engine='spark' needs a Java runtime, and there is none on this machine: install Java "
            "17, or say in JAVA_HOME where it is."
        )
    return builder.appName("likeforlike").getOrCreate()


@contextmanager
def readable(data: object) -> Iterator[None]:
    """Turn an engine's complaint about its data into an `InputError` of one line.

    Parameters
    ----------
    data : a path, which the complaint then names, or a table.

    Examples
    --------
    >>> from likeforlike.files import readable
    >>> with readable("scores.csv"):
    ...     raise FileNotFoundError("gone")
    Traceback (most recent call last):
        ...
    likeforlike.errors.InputError: scores.csv cannot be read: gone
    """
    name = str(data) if isinstance(data, str | Path) else "the table"
    try:
        yield
    except _engine_errors() as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"{name} cannot be read: {reason[0]}") from error


def _engine_errors() -> tuple[type[Exception], ...]:
    """What engines raise; only those that have been imported can have raised anything."""
    errors: list[type[Exception]] = [OSError, NarwhalsError]
    if "polars" in sys.modules:
        errors.append(sys.modules["polars"].exceptions.PolarsError)
    if "duckdb" in sys.modules:
        errors.append(sys.modules["duckdb"].Error)
    if "pyspark.errors" in sys.modules:
        errors.append(sys.modules["pyspark.errors"].PySparkException)
    return tuple(errors)


def check_writable(path: str | Path | None) -> None:
    """Raise at once if a file could not be written to `path` later; `None` is no file.

    Examples
    --------
    >>> from likeforlike.files import check_writable
    >>> check_writable("/nowhere/page.html")
    Traceback (most recent call last):
        ...
    likeforlike.errors.InputError: /nowhere/page.html cannot be written: no folder /nowhere.
    """
    if path is None:
        return
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder, not a file to write.")
    if not target.parent.is_dir():
        raise InputError(f"{target} cannot be written: no folder {target.parent}.")
    if not os.access(target.parent, os.W_OK):
        raise InputError(f"{target} cannot be written: no permission in {target.parent}.")


def write_whole(path: str | Path, text: str) -> None:
    """Write a text file completely or not at all.

    The text goes to a temporary file beside the target, which then takes its place.

    Parameters
    ----------
    path : of the file; its folder must be there.
    text : all of it, written in UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from likeforlike.files import write_whole
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(Path(folder) / "page.html", "<p>Hello</p>")
    ...     Path(folder, "page.html").read_text()
    '<p>Hello</p>'
    """
    check_writable(path)
    target = Path(path)
    part = ""
    try:
        handle, part = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(part, 0o644)
        os.replace(part, target)
    except BaseException as error:
        if part:
            Path(part).unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise  # an interrupt, above all
        raise InputError(f"{target} cannot be written: {error.strerror or error}.") from error
