"""Settings of every run of pytest, whichever part of the repository it tests."""

import os
from pathlib import Path

import pytest

pytest_plugins = [
    "tests.support.left_out",
    "tests.support.longest_first",
    "tests.support.no_garbage",
    "tests.support.processor_time",
]

# Data that a developer keeps beside the clone, as the Makefile finds them too. Law School is the
# only data set that does not come with the package.
BESIDE = Path(__file__).parents[1] / "shared" / "data"
if BESIDE.is_dir():
    os.environ.setdefault("LIKEFORLIKE_DATA", str(BESIDE))

# Tests start many processes. Each would read all source files anew without their bytecode.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

THREADS = (
    "LIKEFORLIKE_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


def pytest_configure(config: pytest.Config) -> None:
    """A worker of pytest has a core to itself; threads that use all of them would fight for it."""
    if config.getoption("numprocesses", default=None):
        for name in THREADS:
            os.environ.setdefault(name, "1")
