"""Audit a Parquet file in DuckDB: only counts come back, however many rows there are.

The number of rows is an argument; ten million are `python examples/audit_duckdb.py 10000000`. Time
and memory are those of the machine that runs it.

In what it prints, # stands for digits that may differ from machine to machine.

    $ python examples/audit_duckdb.py
    200000 rows in a file of # MB
    #### lines came back from DuckDB
    Women score lower than men with the same income: 1.6 points.
    income 3: gap +0.0##
    income 4: gap +0.0##
    threshold 0.05: pass
    the audit took # s, and the process ### MB at its peak
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import duckdb

import likeforlike as lfl

# Women of the two highest income bands score 0.04 lower. Hashes make the same rows every time.
MADE = """
    COPY (
        WITH people AS (
            SELECT
                hash(number, 1) % 2 = 0 AS woman,
                (hash(number, 2) % 5)::INTEGER AS income,
                (hash(number, 3) % 1000000) / 1000000.0 AS luck
            FROM range({rows}) AS numbers(number)
        )
        SELECT
            CASE WHEN woman THEN 'female' ELSE 'male' END AS sex,
            income,
            0.25 + 0.1 * income + 0.2 * luck
                - CASE WHEN woman AND income >= 3 THEN 0.04 ELSE 0 END AS score
        FROM people
    ) TO '{path}' (FORMAT parquet)
"""

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000

with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
    path = Path(folder) / "loans.parquet"
    connection.execute(MADE.format(rows=rows, path=path))
    print(f"{rows} rows in a file of {path.stat().st_size // 1_000_000} MB")

    start = time.perf_counter()
    found = lfl.audit(
        connection.read_parquet(str(path)),
        score="score",
        sensitive="sex",
        legitimate="income",
        resolution=0.001,
    )
    seconds = time.perf_counter() - start

print(f"{found.table.cells.atoms.values.size} lines came back from DuckDB")
print(found.to_dict()["finding"]["headline"])
for level in sorted(found.levels[:2], key=lambda level: level.name):
    print(f"{level.name}: gap {level.gap:+.3f}")
print(f"threshold 0.05: {found.gate(0.05)}")
# Linux counts in kilobytes; elsewhere the unit may differ.
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
print(f"the audit took {round(seconds)} s, and the process {peak} MB at its peak")
