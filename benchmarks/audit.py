"""The audit as a whole: against fairlearn, and against itself at ten times the rows.

Every comparison leans towards the peer where the two sides do not do the same:

- A point audit goes from a pandas table to everything an audit says without resampling: distances
  in every level and overall, the bi-causal distance and its split, bounds, histograms and a
  fingerprint of the data. fairlearn's `MetricFrame` gets the cheapest metric it has, the mean, and
  nothing but the means of every level and group is read from it. It may have the columns as pandas
  series or as NumPy arrays, whichever is faster.
- The rest compares us with ourselves. A file of ten times the rows has the same levels, groups and
  bins, so what comes after the `group by` of the engine is the same work, and most of that is
  resampling. It makes the ratio look better than the reading of files deserves, so the note gives
  the ratio without it. Means are compared with those that DuckDB finds by itself, from scores that
  were not rounded.
- Memory is that of a fresh process that does nothing but the audit. The system counts the memory
  of whoever started it in, so the figure can only be too high.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from benchmarks.fairlearn_frames import metric_frame, random_frame
from benchmarks.timing import Case, Measured, race
from likeforlike import Audit, audit
from likeforlike._arrays import FloatArray
from likeforlike.files import open_file

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["alone", "cases", "megabytes"]

T = TypeVar("T")

# Permutations of the audit of a file.
_AUDITED = 99
_MEGABYTES = 2_000.0


class _Sizes(NamedTuple):
    """How large the comparisons are.

    Attributes
    ----------
    rows : of the table in memory.
    small, large : rows of the files.
    levels, bins : levels of all data, and bins of scores of the files and the counts.
    rounds : turns of each side.
    """

    rows: int
    small: int
    large: int
    levels: int
    bins: int
    rounds: int


_QUICK = _Sizes(5_000, 20_000, 200_000, levels=10, bins=50, rounds=1)
_FULL = _Sizes(1_000_000, 10_000_000, 100_000_000, levels=50, bins=1_000, rounds=5)


def cases(quick: bool) -> list[Case]:
    """Point audit, growth with the rows of a file, and its memory."""
    sizes = _QUICK if quick else _FULL
    what = f"{sizes.rows:,} rows in {sizes.levels} levels"
    files = f"{sizes.large:,} against {sizes.small:,} rows"
    memory = f"peak memory of the audit of {sizes.large:,} rows: {_MEGABYTES:,.0f} MB"
    faster: list[tuple[str, Callable[[_Sizes], Measured], float]] = [
        (f"point audit, {what}: means by fairlearn", _against_means, 40.0),
    ]
    bounded: list[tuple[str, Callable[[_Sizes], Measured], float]] = [
        (f"audit of a Parquet file by DuckDB: {files}", _file_growth, 12.0),
        (memory, _memory, 1.0),
    ]
    return [
        *(Case(name, partial(by, sizes), "peer / ours", at_least) for name, by, at_least in faster),
        *(Case(name, partial(by, sizes), "ours / peer", at_most) for name, by, at_most in bounded),
    ]


def _audit(data: object, permutations: int, resolution: float | None = None) -> Audit:
    return audit(
        data,
        score="score",
        sensitive="sex",
        legitimate="level",
        permutations=permutations,
        resolution=resolution,
    )


def _gaps(found: Audit) -> FloatArray:
    """Gap of the means in every level, in the order of the levels."""
    return np.array([gap for _, gap in sorted((entry.level, entry.gap) for entry in found.levels)])


def _means(columns: Mapping[str, object]) -> pd.Series:
    return metric_frame(columns).by_group


def _against_means(sizes: _Sizes) -> Measured:
    frame = random_frame(sizes.rows, sizes.levels)
    series = {name: frame[name] for name in frame}
    arrays = {name: column.to_numpy() for name, column in series.items()}
    run = race(
        partial(_audit, frame, 0),
        partial(_means, series),
        partial(_means, arrays),
        rounds=sizes.rounds,
    )
    means = run.peer.unstack()
    difference = float(np.abs(_gaps(run.ours) - (means["m"] - means["f"]).to_numpy()).max())
    note = f"fairlearn was fastest with {('pandas series', 'NumPy arrays')[run.variant]}"
    return Measured(run.ours_seconds, run.peer_seconds, difference, note=note)


@contextmanager
def _parquet(levels: int, *rows: int) -> Iterator[list[Path]]:
    """Files of so many rows each, gone afterwards."""
    with TemporaryDirectory(prefix="likeforlike-") as folder:
        paths = [Path(folder, f"{size}.parquet") for size in rows]
        alone(_write, paths, rows, levels)
        yield paths


def alone(call: Callable[..., T], *arguments: object) -> T:
    """Call in a fresh process, so that its memory is no business of ours.

    Parameters
    ----------
    call : what to call.
    arguments : with these.
    """
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
        return process.submit(call, *arguments).result()


def _write(paths: Sequence[Path], rows: Sequence[int], levels: int) -> None:
    """Uniform scores, two groups and levels of even size; hashes are the same in every run."""
    import duckdb

    # Without an order to keep, rows go to the file as they are made.
    connection = duckdb.connect(config={"preserve_insertion_order": "false"})
    connection.execute("SET enable_progress_bar = false")
    for path, size in zip(paths, rows, strict=True):
        connection.execute(
            f"""
            COPY (
                SELECT
                    (hash(3 * i) >> 11)::DOUBLE / 9007199254740992.0 AS score,
                    CASE WHEN hash(3 * i + 1) % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
                    (hash(3 * i + 2) % {levels})::TINYINT AS level
                FROM range({size}) AS numbers(i)
            ) TO '{path}' (FORMAT parquet)
            """
        )


def _of_file(path: Path, resolution: float, permutations: int = _AUDITED) -> Audit:
    with open_file(path, "duckdb") as table:
        return _audit(table, permutations, resolution)


def _exact_gaps(path: Path) -> FloatArray:
    """What DuckDB says about the gap of the means of every level, without us."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    found = connection.execute(
        f"""
        SELECT avg(score) FILTER (sex = 'm') - avg(score) FILTER (sex = 'f')
        FROM read_parquet('{path}') GROUP BY level ORDER BY level
        """
    )
    return np.array([gap for (gap,) in found.fetchall()])


def _file_growth(sizes: _Sizes) -> Measured:
    resolution, rounds = 1.0 / sizes.bins, min(sizes.rounds, 3)
    with _parquet(sizes.levels, sizes.large, sizes.small) as paths:
        many, few = (partial(_of_file, path, resolution) for path in paths)
        # Without resampling, whose time depends on the bins and not on the rows.
        run = race(partial(many, permutations=0), partial(few, permutations=0), rounds=rounds)
        tested = race(many, few, rounds=rounds)
        difference = float(np.abs(_gaps(run.ours) - _exact_gaps(paths[0])).max())
    note = (
        f"with resampling: {tested.ours_seconds:.3g} s against {tested.peer_seconds:.3g} s, "
        f"a ratio of {tested.ours_seconds / tested.peer_seconds:.3g}"
    )
    return Measured(run.ours_seconds, run.peer_seconds, difference, resolution, note)


def _peak(path: Path, resolution: float) -> tuple[float, float]:
    """Megabytes this process had when the audit began, and at most."""
    before = megabytes()
    _of_file(path, resolution)
    return before, megabytes()


def megabytes() -> float:
    """The most memory that this process has had, in megabytes."""
    from resource import RUSAGE_SELF, getrusage

    # Linux counts in kilobytes, macOS in bytes.
    return getrusage(RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)


def _memory(sizes: _Sizes) -> Measured:
    with _parquet(sizes.levels, sizes.large) as (path,):
        before, peak = alone(_peak, path, 1.0 / sizes.bins)
    note = f"{before:,.0f} MB of them before the audit began"
    return Measured(peak, _MEGABYTES, note=note, unit="MB")
