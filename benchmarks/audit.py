"""The audit as a whole: against fairlearn, and against itself at ten or a thousand times the rows.

Every comparison leans towards the peer where the two sides do not do the same:

- A point audit goes from a pandas table to everything an audit says without resampling: distances
  in every level and overall, the bi-causal distance and its split, bounds, histograms and a
  fingerprint of the data. fairlearn's `MetricFrame` gets the cheapest metric it has, the mean, and
  nothing but the means of every level and group is read from it. It may have the columns as pandas
  series or as NumPy arrays, whichever is faster.
- A replicate of our test deals all labels anew and measures W_2², W_1 and the gap in every level;
  a bootstrap replicate of `MetricFrame` draws rows and takes means. What `MetricFrame` needs once
  is subtracted from its time, while ours is charged for all that the test needs once, shared by as
  few as 32 replicates. There are no values to compare: the two answer different questions.
- The rest compares us with ourselves. A file of ten times the rows has the same levels, groups and
  bins, so what comes after the `group by` of the engine is the same work; the note says how much
  of the time that is, and what the engine alone would make of the ratio. Means are compared with
  those that DuckDB finds by itself, from scores that were not rounded.
- Memory is that of a fresh process that does nothing but the audit. The system counts the memory
  of whoever started it in, so the figure can only be too high.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from benchmarks.levels import random_rows
from benchmarks.timing import Case, Measured, race
from likeforlike import Audit, Cells, audit, cdd_lp
from likeforlike.contrasts import Contrast, contrasts
from likeforlike.files import open_file
from likeforlike.inference import permutation_test
from likeforlike.transport.atoms import FloatArray

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cases"]

T = TypeVar("T")

_LEVELS = 50
_RESOLUTION = 1e-3
# Replicates: of the test that is timed, of the bootstrap, of the audit of a file, of the counts.
_TESTED, _BOOTSTRAPPED, _AUDITED, _COUNTED = 32, 2, 99, 199
_MEGABYTES = 2_000.0


def cases(quick: bool) -> list[Case]:
    """Point audit, replicate, growth with the rows of a file and its memory, growth of counts."""
    size, rounds, bins = (5_000, 3, 50) if quick else (1_000_000, 5, 1_000)
    small, large = (20_000, 200_000) if quick else (10_000_000, 100_000_000)
    what = f"{size:,} rows in {_LEVELS} levels"
    once = 1 if quick else 3
    return [
        Case(
            f"point audit, {what}: means by fairlearn",
            partial(_against_means, size, rounds),
            required=40.0,
        ),
        Case(
            f"one permutation, {what}: one bootstrap of means by fairlearn",
            partial(_against_bootstrap, size, 3),
            required=300.0,
        ),
        Case(
            f"audit of a Parquet file by DuckDB: {large:,} against {small:,} rows",
            partial(_file_growth, large, small, once),
            ratio_of="ours / peer",
            required=12.0,
        ),
        Case(
            f"memory (MB, not seconds) of an audit of {large:,} rows: {_MEGABYTES:,.0f} MB",
            partial(_memory, large),
            ratio_of="ours / peer",
            required=1.0,
        ),
        Case(
            f"permutation test of counts, {bins} bins in {_LEVELS} levels: a thousand times the rows",
            partial(_counts_growth, bins, 1 if quick else 9),
            ratio_of="ours / peer",
            required=1.5,
        ),
    ]


def _frame(size: int) -> pd.DataFrame:
    import pandas as pd

    rows = random_rows(size, _LEVELS)
    sex = np.array(["f", "m"])[rows.groups]
    return pd.DataFrame({"score": rows.scores, "sex": sex, "level": rows.levels})


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
    of_level = {entry.level: entry.gap for entry in found.levels}
    return np.array([of_level[level] for level in range(_LEVELS)])


def _metric_frame(columns: Mapping[str, object], **bootstrap: object) -> Any:  # noqa: ANN401
    from fairlearn.metrics import MetricFrame, mean_prediction

    return MetricFrame(
        metrics=mean_prediction,
        y_true=columns["score"],
        y_pred=columns["score"],
        sensitive_features=columns["sex"],
        control_features=columns["level"],
        **bootstrap,
    )


def _means(columns: Mapping[str, object]) -> pd.Series:
    return _metric_frame(columns).by_group


def _against_means(size: int, rounds: int) -> Measured:
    frame = _frame(size)
    series = {name: frame[name] for name in frame}
    arrays = {name: column.to_numpy() for name, column in series.items()}
    run = race(
        partial(_audit, frame, 0), partial(_means, series), partial(_means, arrays), rounds=rounds
    )
    means = run.peer.unstack()
    difference = float(np.abs(_gaps(run.ours) - (means["m"] - means["f"]).to_numpy()).max())
    note = f"fairlearn was fastest with {('pandas series', 'NumPy arrays')[run.variant]}"
    return Measured(run.ours_seconds, run.peer_seconds, difference, note=note)


def _contrast(cells: Cells) -> tuple[Contrast, FloatArray]:
    """The two groups, and how much each level counts: what `permutation_test` takes."""
    return contrasts(cells, "pairwise")[0], cdd_lp(cells, order=1).by_level.weight


def _against_bootstrap(size: int, rounds: int) -> Measured:
    frame = _frame(size)
    cells = Cells.from_rows(frame["score"], frame["sex"], frame["level"])
    test = partial(permutation_test, *_contrast(cells), permutations=_TESTED)
    bootstrap = partial(
        _metric_frame, frame, n_boot=_BOOTSTRAPPED, ci_quantiles=[0.5], random_state=0
    )
    # Ours takes turns with both, so that a spell of noise does not fall on one of them alone.
    resampled = race(test, bootstrap, rounds=rounds)
    without = race(test, partial(_metric_frame, frame), rounds=rounds)
    replicate = (resampled.peer_seconds - without.peer_seconds) / _BOOTSTRAPPED
    tested = max(resampled.ours_seconds, without.ours_seconds) / _TESTED
    return Measured(tested, replicate, note=f"{_TESTED} permutations, {_BOOTSTRAPPED} bootstraps")


@contextmanager
def _parquet(*sizes: int) -> Iterator[list[Path]]:
    """Files of so many rows each, gone afterwards."""
    with TemporaryDirectory(prefix="likeforlike-") as folder:
        paths = [Path(folder, f"{size}.parquet") for size in sizes]
        for path, size in zip(paths, sizes, strict=True):
            _alone(_write, path, size)
        yield paths


def _alone(call: Callable[..., T], *arguments: object) -> T:
    """Call in a fresh process, so that its memory is no business of ours."""
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
        return process.submit(call, *arguments).result()


def _write(path: Path, size: int) -> None:
    """Uniform scores, two groups and levels of even size; hashes are the same in every run."""
    import duckdb

    # Without an order to keep, rows go to the file as they are made.
    duckdb.connect(config={"preserve_insertion_order": "false"}).execute(
        f"""
        COPY (
            SELECT
                (hash(i, 0) >> 11)::DOUBLE / 9007199254740992.0 AS score,
                CASE WHEN hash(i, 1) % 2 = 0 THEN 'f' ELSE 'm' END AS sex,
                (hash(i, 2) % {_LEVELS})::TINYINT AS level
            FROM range({size}) AS numbers(i)
        ) TO '{path}' (FORMAT parquet)
        """
    )


def _of_file(path: Path, permutations: int = _AUDITED) -> Audit:
    return _audit(open_file(path, "duckdb"), permutations, _RESOLUTION)


def _exact_gaps(path: Path) -> FloatArray:
    """What DuckDB says about the gap of the means of every level, without us."""
    import duckdb

    found = duckdb.connect().execute(
        f"""
        SELECT avg(score) FILTER (sex = 'm') - avg(score) FILTER (sex = 'f')
        FROM read_parquet('{path}') GROUP BY level ORDER BY level
        """
    )
    return np.array([gap for (gap,) in found.fetchall()])


def _file_growth(large: int, small: int, rounds: int) -> Measured:
    with _parquet(large, small) as (large_path, small_path):
        run = race(partial(_of_file, large_path), partial(_of_file, small_path), rounds=rounds)
        # Without resampling, whose time does not depend on the rows.
        bare = race(
            partial(_of_file, large_path, 0), partial(_of_file, small_path, 0), rounds=rounds
        )
        difference = float(np.abs(_gaps(run.ours) - _exact_gaps(large_path)).max())
    note = (
        f"without resampling: {bare.ours_seconds:.3g} s against {bare.peer_seconds:.3g} s, "
        f"a ratio of {bare.ours_seconds / bare.peer_seconds:.3g}"
    )
    return Measured(run.ours_seconds, run.peer_seconds, difference, _RESOLUTION, note)


def _peak(path: Path) -> tuple[float, float]:
    """Megabytes this process had when the audit began, and at most."""
    before = _megabytes()
    _of_file(path)
    return before, _megabytes()


def _megabytes() -> float:
    from resource import RUSAGE_SELF, getrusage

    # Linux counts in kilobytes, macOS in bytes.
    return getrusage(RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)


def _memory(size: int) -> Measured:
    with _parquet(size) as (path,):
        before, peak = _alone(_peak, path)
    note = f"{before:,.0f} MB of them before the audit began"
    return Measured(peak, _MEGABYTES, note=note)


def _counts_growth(bins: int, rounds: int) -> Measured:
    """Counts of about a hundred rows a bin, and a thousand times as many."""
    random = np.random.default_rng(0)
    level, group, which = (grid.ravel() for grid in np.indices((_LEVELS, 2, bins)))
    counts = random.poisson(100.0, which.size)
    middles = (which + 0.5) / bins
    few, many = (
        Cells.from_counts(level, group, middles, counts * times, resolution=1.0 / bins)
        for times in (1, 1_000)
    )
    run = race(
        partial(permutation_test, *_contrast(many), permutations=_COUNTED),
        partial(permutation_test, *_contrast(few), permutations=_COUNTED),
        rounds=rounds,
    )
    difference = abs(cdd_lp(many, order=1).value - cdd_lp(few, order=1).value)
    note = f"{many.counts.sum():,} against {few.counts.sum():,} rows"
    return Measured(run.ours_seconds, run.peer_seconds, difference, note=note)
