"""How much an audit holds beyond the table or the file it reads, in a process of its own."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROWS = 4_000_000
# A row of a score, a group in one byte and a level in eight has 17 bytes. 2.5 times that,
# once being the table itself, leaves 25.5 for the audit.
MOST = 25.5

AUDIT = f"""
import sys
import numpy as np, polars as pl, likeforlike as lfl
random = np.random.default_rng(0)
def table(rows):
    score = random.random(rows)
    if sys.argv[2] == "near":
        score = np.arange(rows) // 2 / rows + 1e-10 * (np.arange(rows) % 2)
    if sys.argv[2] == "tied":
        score = np.floor(score * rows / 4) / rows
    if sys.argv[2] == "noisy":
        score[:rows // 100] = score[rows // 100 : 2 * (rows // 100)] * (1.0 - 1e-12)
        score[0] = score[1]
    frame = pl.DataFrame({{"score": score, "sex": random.integers(0, 2, rows, dtype=np.int8),
                           "level": random.integers(0, 20, rows)}})
    if sys.argv[2] == "categories":
        words = pl.when(pl.col("sex") == 0).then(pl.lit("f")).otherwise(pl.lit("m"))
        frame = frame.with_columns(words.cast(pl.Categorical).alias("sex"))
    return frame
def held(which):
    lines = open("/proc/self/status").read().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(which))
columns = dict(score="score", sensitive="sex", legitimate="level", permutations=int(sys.argv[1]))
lfl.audit(table(1_100_000), **columns)  # what is compiled for many rows is so before
data = table({ROWS})
open("/proc/self/clear_refs", "w").write("5")
before = held("VmRSS")
lfl.audit(data, **columns)
print((held("VmHWM") - before) / {ROWS})
"""


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="counts as Linux does")
@pytest.mark.parametrize(
    ("permutations", "scores", "most"),
    [
        (0, "any", MOST),
        (0, "tied", MOST),
        (0, "noisy", MOST),
        (0, "categories", 30.0),  # of 20 bytes a row
        (0, "near", 60.0),
        (99, "any", 60.0),
    ],
)
def test_an_audit_holds_little_beyond_its_table(
    permutations: int, scores: str, most: float
) -> None:
    """Also if scores tie, or differ from others by float noise."""
    line = [sys.executable, "-c", AUDIT, str(permutations), scores]
    told = subprocess.run(line, capture_output=True, text=True, check=True)
    assert 0.0 < float(told.stdout) <= most, told.stdout


PACKED = """
import sys
import likeforlike as lfl
def held(which):
    lines = open("/proc/self/status").read().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(which))
columns = dict(score="score", sensitive="sex", legitimate="level", permutations=0)
csv = {"encoding": sys.argv[3]}
lfl.audit(sys.argv[1], **columns, csv=csv)
open("/proc/self/clear_refs", "w").write("5")
before = held("VmRSS")
lfl.audit(sys.argv[2], **columns, csv=csv)
print(held("VmHWM") - before)
"""


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="counts as Linux does")
@pytest.mark.parametrize(
    ("ending", "encoding"), [("csv.gz", "utf-8"), ("tsv.gz", "utf-8"), ("csv.gz", "cp1252")]
)
def test_compressed_files_are_never_held_whole(ending: str, encoding: str, tmp_path: Path) -> None:
    """Members of a gzip file may follow each other, so that 1.2 GB are quickly written."""
    comma = "\t" if ending == "tsv.gz" else ","
    head = f"score{comma}sex{comma}level{comma}note\n".encode(encoding)
    rows = "".join(
        comma.join([str(k % 7), "fm"[k % 2], str(k // 2 % 3), "é" * 1000]) + "\n"
        for k in range(1200)
    ).encode(encoding)
    times = 1_200_000_000 // len(rows)
    short, long = tmp_path / f"short.{ending}", tmp_path / f"long.{ending}"
    short.write_bytes(gzip.compress(head + rows))
    long.write_bytes(gzip.compress(head) + gzip.compress(rows) * times)
    told = subprocess.run(
        [sys.executable, "-c", PACKED, short, long, encoding],
        env={**os.environ, "POLARS_MAX_THREADS": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 0 < int(told.stdout) < len(rows) * times / 2, told.stdout
