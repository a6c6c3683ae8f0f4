"""Audits along a number against the same audits with a hundred bins.

Ours carries every score to its window first, and carries it again for the estimates; the peer is
the audit with a hundred bins at given edges, so that it need not even look for quantiles. From a
file the engine counts by fine cell instead of by bin, after it has looked where the cells are.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.audit import alone, megabytes
from benchmarks.timing import Case, Measured, race
from likeforlike import Audit, audit
from likeforlike.errors import BinnedLevelWarning
from likeforlike.files import open_file

__all__ = ["cases"]

_ROLES: dict[str, Any] = {"score": "score", "sensitive": "sex", "legitimate": "number"}
_EDGES = [k / 100 for k in range(1, 100)]
_MEGABYTES = 2_000.0


class _Sizes(NamedTuple):
    """Rows in memory and of the file, permutations, and turns of each side."""

    rows: int
    file: int
    permutations: int
    rounds: int


_QUICK = _Sizes(4_000, 20_000, 9, 1)
_FULL = _Sizes(1_000_000, 100_000_000, 999, 1)


def cases(quick: bool) -> list[Case]:
    """Rows in memory, a file by DuckDB, and its memory."""
    sizes = _QUICK if quick else _FULL
    rows = f"{sizes.rows:,} rows, {sizes.permutations} permutations"
    file, beside = f"{sizes.file:,} rows", "the same with 100 bins"
    memory = f"peak memory of the audit along a number of {file}: {_MEGABYTES:,.0f} MB"
    compared: list[tuple[str, Callable[[_Sizes], Measured], float]] = [
        (f"audit along a number, {rows}: {beside}", _rows, 1.5),
        (f"audit along a number of a Parquet file by DuckDB, {file}: {beside}", _file, 2.0),
        (memory, _memory, 1.0),
    ]
    return [
        Case(name, partial(by, sizes), "ours / peer", at_most) for name, by, at_most in compared
    ]


def _smooth(data: object, permutations: int, resolution: float | None = None) -> Audit:
    return audit(data, **_ROLES, smooth="number", permutations=permutations, resolution=resolution)


def _binned(data: object, permutations: int, resolution: float | None = None) -> Audit:
    with warnings.catch_warnings(action="ignore", category=BinnedLevelWarning):
        return audit(
            data,
            **_ROLES,
            bins={"number": _EDGES},
            permutations=permutations,
            resolution=resolution,
        )


def _rows(sizes: _Sizes) -> Measured:
    rng = np.random.default_rng(0)
    number = rng.random(sizes.rows)
    sex = np.where(rng.random(sizes.rows) < 0.2 + 0.6 * number, "m", "f")
    score = 0.5 * number + 0.2 * rng.random(sizes.rows)
    table = pl.DataFrame({"score": score, "sex": sex, "number": number})
    run = race(
        partial(_smooth, table, sizes.permutations),
        partial(_binned, table, sizes.permutations),
        rounds=sizes.rounds,
        clock=time.process_time,
    )
    assert run.ours.smooth is not None
    note = f"{len(run.ours.smooth.windows)} windows"
    return Measured(run.ours_seconds, run.peer_seconds, note=note)


@contextmanager
def _parquet(rows: int) -> Iterator[Path]:
    """A file of so many rows, gone afterwards."""
    with TemporaryDirectory(prefix="likeforlike-") as folder:
        path = Path(folder, "rows.parquet")
        alone(_write, path, rows)
        yield path


def _write(path: Path, rows: int) -> None:
    """A uniform number that makes score and group more likely; the same in every run."""
    import duckdb

    connection = duckdb.connect(config={"preserve_insertion_order": "false"})
    connection.execute("SET enable_progress_bar = false")
    connection.execute(
        f"""
        COPY (
            SELECT 0.5 * u + 0.2 * (hash(3 * i + 1) >> 11)::DOUBLE / 9007199254740992.0 AS score,
                CASE WHEN (hash(3 * i + 2) >> 11)::DOUBLE / 9007199254740992.0 < 0.2 + 0.6 * u
                     THEN 'm' ELSE 'f' END AS sex,
                u AS number
            FROM (
                SELECT i, (hash(3 * i) >> 11)::DOUBLE / 9007199254740992.0 AS u
                FROM range({rows}) AS numbers(i)
            )
        ) TO '{path}' (FORMAT parquet)
        """
    )


def _of_file(measure: Callable[[Any, int, float], Audit], path: Path) -> Audit:
    with open_file(path, "duckdb") as table:
        return measure(table, 99, 0.01)


def _file(sizes: _Sizes) -> Measured:
    with _parquet(sizes.file) as path:
        run = race(
            lambda: _of_file(_smooth, path),
            lambda: _of_file(_binned, path),
            rounds=1,
            clock=time.process_time,
        )
    assert run.ours.smooth is not None
    note = f"rounding may move a distance by {run.ours.smooth.error:.2g}"
    return Measured(run.ours_seconds, run.peer_seconds, note=note)


def _peak(path: Path) -> tuple[float, float]:
    """Megabytes this process had when the audit began, and at most."""
    before = megabytes()
    _of_file(_smooth, path)
    return before, megabytes()


def _memory(sizes: _Sizes) -> Measured:
    with _parquet(sizes.file) as path:
        before, peak = alone(_peak, path)
    note = f"{before:,.0f} MB of them before the audit began"
    return Measured(peak, _MEGABYTES, note=note, unit="MB")
