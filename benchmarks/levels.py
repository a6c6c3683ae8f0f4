"""Wasserstein distances of order 1 and 2 and Kolmogorov-Smirnov inside every level.

Ours goes from raw rows to all three distances: `Cells.from_rows` once, `cdd_lp` three times.
There are four peers:

- a loop over levels with `scipy.stats.wasserstein_distance`, and NumPy for what SciPy lacks (W2)
  or does slowly (`ks_2samp` also computes a p-value, so only its statistic is computed);
- the same loop by somebody who knows that SciPy is much faster on samples that are sorted
  already: one sort of each group serves all three distances;
- that loop without SciPy, the best that NumPy allows. Nobody writes this for an audit, but it
  shows what is due to method rather than to libraries;
- `numpy.sort` of the score column alone, which no method can do without: how much more than that
  is a complete answer?

It is fair to the peers: their rows are dealt to the levels by one stable sort of small integers,
which NumPy does in linear time, not by a mask for each level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.timing import Case, Measured, race
from likeforlike import Cells, cdd_lp
from likeforlike._arrays import FloatArray, IntArray

__all__ = ["Rows", "cases", "random_rows"]


class Rows(NamedTuple):
    """Continuous scores of two groups in levels, in the order in which `cdd_lp` takes them."""

    scores: FloatArray
    groups: IntArray
    levels: IntArray


_Distances = tuple[float, float, float]


def cases(quick: bool) -> list[Case]:
    """Three distances in every level against SciPy, NumPy and a bare sort."""
    size, n_levels, rounds = (5_000, 10, 1) if quick else (1_000_000, 50, 9)
    what = f"W1, W2 and KS, {size:,} rows in {n_levels} levels"
    settings = (size, n_levels, rounds)
    loops = (
        ("SciPy and NumPy loop", _by_scipy, 3.0),
        ("SciPy and NumPy loop, sorting once", _by_scipy_sorted, None),
        ("NumPy loop, sorting once", _by_numpy, None),
    )
    found = [
        Case(f"{what}: {peer}", partial(_against_loop, by, *settings), required=required)
        for peer, by, required in loops
    ]
    sort = f"{what}: numpy.sort of the scores"
    against_sort = partial(_against_sort, *settings)
    return [*found, Case(sort, against_sort, ratio_of="ours / peer", required=6.0)]


def random_rows(size: int, n_levels: int) -> Rows:
    """Uniform scores, two groups and levels of even size, drawn independently."""
    random = np.random.default_rng(0)
    scores = random.random(size)
    return Rows(scores, random.integers(0, 2, size), random.integers(0, n_levels, size))


def _ours(rows: Rows) -> FloatArray:
    """Distances of every level, shape (K, 3)."""
    cells = Cells.from_rows(*rows)
    found = (cdd_lp(cells, order=1), cdd_lp(cells, order=2), cdd_lp(cells, distance="ks"))
    return np.stack([disparity.by_level.distance for disparity in found], axis=1)


def _level_by_level(rows: Rows) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Scores of the two groups in each level."""
    codes = (2 * rows.levels + rows.groups).astype(np.uint16)
    dealt = rows.scores[np.argsort(codes, kind="stable")]
    cells = np.split(dealt, np.cumsum(np.bincount(codes))[:-1])
    return zip(cells[::2], cells[1::2], strict=True)


def _looped(rows: Rows, distances: Callable[[FloatArray, FloatArray], _Distances]) -> FloatArray:
    return np.array([distances(first, second) for first, second in _level_by_level(rows)])


def _by_scipy(u: FloatArray, v: FloatArray) -> _Distances:
    from scipy.stats import wasserstein_distance

    width, gap = _quantile_gaps(np.sort(u), np.sort(v))
    second_order = float(np.sqrt(width @ gap**2))
    return float(wasserstein_distance(u, v)), second_order, _ks(np.sort(u), np.sort(v))


def _by_scipy_sorted(u: FloatArray, v: FloatArray) -> _Distances:
    from scipy.stats import wasserstein_distance

    u, v = np.sort(u), np.sort(v)
    width, gap = _quantile_gaps(u, v)
    return float(wasserstein_distance(u, v)), float(np.sqrt(width @ gap**2)), _ks(u, v)


def _by_numpy(u: FloatArray, v: FloatArray) -> _Distances:
    u, v = np.sort(u), np.sort(v)
    width, gap = _quantile_gaps(u, v)
    return float(width @ np.abs(gap)), float(np.sqrt(width @ gap**2)), _ks(u, v)


def _quantile_gaps(u: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pieces of [0, 1] where both quantile functions are constant, and how far apart they are."""
    steps = np.concatenate([np.arange(1, u.size + 1) / u.size, np.arange(1, v.size + 1) / v.size])
    steps.sort()
    steps = steps[:-1]  # both samples end at 1
    width = np.diff(steps, prepend=0.0)
    # The middle of a piece says which order statistics hold it, without a search.
    middle = steps - 0.5 * width
    return width, u[(middle * u.size).astype(np.int64)] - v[(middle * v.size).astype(np.int64)]


def _ks(u: FloatArray, v: FloatArray) -> float:
    """Largest gap between the distribution functions of two sorted samples."""
    points = np.concatenate([u, v])
    below_u = np.searchsorted(u, points, side="right") / u.size
    below_v = np.searchsorted(v, points, side="right") / v.size
    return float(np.abs(below_u - below_v).max())


def _against_loop(
    distances: Callable[[FloatArray, FloatArray], _Distances],
    size: int,
    n_levels: int,
    rounds: int,
) -> Measured:
    rows = random_rows(size, n_levels)
    run = race(partial(_ours, rows), partial(_looped, rows, distances), rounds=rounds)
    difference = float(np.abs(run.ours - run.peer).max())
    return Measured(run.ours_seconds, run.peer_seconds, difference)


def _against_sort(size: int, n_levels: int, rounds: int) -> Measured:
    rows = random_rows(size, n_levels)
    run = race(partial(_ours, rows), partial(np.sort, rows.scores), rounds=rounds)
    return Measured(run.ours_seconds, run.peer_seconds)
