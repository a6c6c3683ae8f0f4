"""How much an audit holds beyond the table it reads, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROWS = 2_000_000
# A row of a score and two columns of short text has 40 bytes in a table. 2.5 times that, once being
# the table itself, leaves 60 for the audit.
MOST = 60.0

AUDIT = f"""
import sys
import numpy as np, polars as pl, likeforlike as lfl
random = np.random.default_rng(0)
def table(rows):
    score = random.random(rows)
    if sys.argv[2] == "near":
        score = np.arange(rows) // 2 / rows + 1e-10 * (np.arange(rows) % 2)
    return pl.DataFrame({{"score": score, "sex": random.integers(0, 2, rows),
                          "level": random.integers(0, 20, rows)}})
def held(which):
    lines = open("/proc/self/status").read().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(which))
columns = dict(score="score", sensitive="sex", legitimate="level", permutations=int(sys.argv[1]))
lfl.audit(table(1000), **columns)
data = table({ROWS})
open("/proc/self/clear_refs", "w").write("5")
before = held("VmRSS")
lfl.audit(data, **columns)
print((held("VmHWM") - before) / {ROWS})
"""


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="counts as Linux does")
@pytest.mark.parametrize(("permutations", "scores"), [(0, "any"), (99, "any"), (0, "near")])
def test_an_audit_holds_little_beyond_its_table(permutations: int, scores: str) -> None:
    """Also if every score has a neighbor as near as float noise is."""
    line = [sys.executable, "-c", AUDIT, str(permutations), scores]
    told = subprocess.run(line, capture_output=True, text=True, check=True)
    assert 0.0 < float(told.stdout) <= MOST
