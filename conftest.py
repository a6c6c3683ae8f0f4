"""Settings of every run of pytest, whichever part of the repository it tests."""

import os
from pathlib import Path

pytest_plugins = ["tests.left_out", "tests.longest_first"]

# Data that a developer keeps beside the clone, as the Makefile finds them too. Law School is the
# only data set that does not come with the package.
BESIDE = Path(__file__).parents[1] / "shared" / "data"
if BESIDE.is_dir():
    os.environ.setdefault("LIKEFORLIKE_DATA", str(BESIDE))

# A worker of pytest has a core to itself; kernels that use all of them would fight for it.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("LIKEFORLIKE_THREADS", "1")
