"""A small sweep that is killed at random moments and started again; run by `test_sweep.py`.

Usage: killed_sweep.py FOLDER KILLS. Everything is imported once; each attempt is a fork.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

import likeforlike as lfl
from likeforlike.datasets import make_loans
from likeforlike.experiments import Penalized, Plain, Task, sweep


def attempt(journal: Path) -> None:
    """The sweep, in this process."""
    task = Task(make_loans(200, gap=0.2), max_epochs=3, batch_size=64)
    methods = [Plain(), Penalized("FairLeap", (1.0, 10.0), lfl.FairLeap())]
    sweep(task, methods, seeds=8, journal=journal, workers=0, seeds_in_unit=1)


def main(folder: Path, kills: int) -> int:
    torch.set_num_threads(1)
    os.environ["LIKEFORLIKE_THREADS"] = "1"
    # Compile before the first fork, so that attempts are about training.
    attempt(folder / "undisturbed.jsonl")
    begin = time.perf_counter()
    attempt(folder / "timed.jsonl")
    whole = time.perf_counter() - begin
    rng, killed = random.Random(0), 0
    while killed < kills:
        (folder / "killed.jsonl").unlink(missing_ok=True)
        for _ in range(kills - killed):
            child = os.fork()
            if child == 0:
                attempt(folder / "killed.jsonl")
                os._exit(0)
            time.sleep(rng.uniform(0.0, 0.5 * whole))
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            if not os.WIFSIGNALED(status):
                break  # it was done before it could be killed: begin a new journal
            killed += 1
    attempt(folder / "killed.jsonl")
    sys.stdout.write(f"{killed}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
