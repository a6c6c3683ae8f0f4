"""Workers end with who started them, at whatever moment that is killed or interrupted."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

RANDOM = random.Random(0)
# While workers wait in their imports, while they work, when Ctrl-C finds them in their imports, and
# some seconds after they have begun.
MOMENTS = [
    "sweep importing",
    "reproduce importing",
    "sweep working",
    "sweep interrupted",
    "sweep large interrupted",
    "reproduce interrupted",
    *(f"{what} {1.5 * RANDOM.random() ** 2:.3f}" for what in 3 * ["sweep", "reproduce"]),
]


def alive(process: int) -> bool:
    """Whether a process runs; one that waits to be buried does not."""
    try:
        os.kill(process, 0)
        status = Path(f"/proc/{process}/stat").read_text() if Path("/proc/self").exists() else ""
    except (ProcessLookupError, FileNotFoundError):  # it may end between two looks
        return False
    return not status.rpartition(") ")[2].startswith("Z")


@pytest.mark.process
def test_no_worker_outlives_a_killed_parent(tmp_path: Path) -> None:
    script = Path(__file__).with_name("killed_pool.py")
    # Not to a pipe, which a worker that is left would hold open.
    with (tmp_path / "said").open("w+") as said:
        done = subprocess.run(
            [sys.executable, str(script), *MOMENTS],
            stdout=said,
            stderr=said,
            check=False,
            env={**os.environ, "KILLED_POOL": str(tmp_path), "LIKEFORLIKE_THREADS": "1"},
        )
        said.seek(0)
        output = said.read()
    assert done.returncode == 0, output
    # An interrupt is the parent's, even where a worker is only beginning.
    assert "Traceback" not in output, output
    workers = {
        int(path.name.partition(".")[0]): path.parent.name for path in tmp_path.rglob("*.importing")
    }
    assert len(workers) >= 2 * len(MOMENTS)
    assert len(MOMENTS) > 10
    end = time.monotonic() + 10.0
    while any(map(alive, workers)) and time.monotonic() < end:
        time.sleep(0.1)
    left = {process: moment for process, moment in workers.items() if alive(process)}
    for process in left:
        os.kill(process, 9)
    assert not left
