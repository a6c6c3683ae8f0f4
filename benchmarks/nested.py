"""The nested distance of two groups against `pnot`, the reference in C++.

`pnot` solves nested transport between paths by dynamic programming with a network simplex at
every node. A row is the path 0 → level → score: all paths must start at the same point (only the
first starting point is read), and the first step then pays |l - l'|², the second |f - f'|². That
is our problem with numeric levels, order 2 and level cost 1.

What makes it fair to the peer: `pnot` rounds values to a grid and tabulates all pairs of distinct
values, so the scores lie on the grid for both sides and the grid stays coarse enough for its
memory. Its arrays of paths are ready before the clock starts, while ours is timed from unsorted
rows, labels included. Two threads are allowed; `pnot` itself uses them only for a step with more
than 100 starting points. The coarser the grid, the more ties there are and the smaller its
problems: a grid of 0.001 is the headline, 0.01 and 0.0001 show how the ratio moves.

`pnot.nested_ot` falls back to slow Python without a word, so its C++ solver is called directly.
"""

from __future__ import annotations

import importlib
import warnings
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.timing import Case, Measured, race
from likeforlike import Cells, cdd_wass
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.errors import LevelCostWarning

__all__ = ["cases"]

_LEVELS = 10
_ORDER = 2
_THREADS = 2
_MARKOVIAN = True  # the level is the whole history of a score
_VERBOSE = False


class _Rows(NamedTuple):
    scores: FloatArray
    groups: IntArray
    levels: IntArray


def cases(quick: bool) -> list[Case]:
    """Nested distance against pnot, from coarse to fine scores."""
    size = 300 if quick else 10_000
    settings = (
        [(0.01, 1, None)] if quick else [(0.01, 9, None), (0.001, 3, 500.0), (0.0001, 2, None)]
    )
    return [
        Case(
            f"nested distance, 2 x {size:,} rows, scores to {grid:g}: pnot (C++)",
            partial(_measure, size, grid, rounds),
            required=required,
        )
        for grid, rounds, required in settings
    ]


def _rows(size: int, grid: float) -> _Rows:
    random = np.random.default_rng(0)
    scores = np.floor(random.random(2 * size) / grid + 0.5) * grid
    return _Rows(scores, np.repeat([0, 1], size), random.integers(0, _LEVELS, 2 * size))


def _ours(rows: _Rows) -> float:
    cells = Cells.from_rows(rows.scores, rows.groups, rows.levels)
    return cdd_wass(cells, order=_ORDER, level_metric="numeric", level_cost=1.0).value


def _paths(rows: _Rows, group: int) -> FloatArray:
    """Paths of one group as pnot wants them: one row a step, one column a path."""
    member = rows.groups == group
    scores = rows.scores[member]
    return np.vstack([np.zeros(scores.size), rows.levels[member].astype(np.float64), scores])


def _peer(first: FloatArray, second: FloatArray, grid: float) -> float:
    solver = importlib.import_module("_wrapper").nested_ot_solver
    return float(solver(first, second, grid, _MARKOVIAN, _THREADS, _ORDER, _VERBOSE))


def _measure(size: int, grid: float, rounds: int) -> Measured:
    rows = _rows(size, grid)
    peer = partial(_peer, _paths(rows, 0), _paths(rows, 1), grid)
    with warnings.catch_warnings():
        # No level cost is safe for numeric levels; the distance is well defined all the same.
        warnings.simplefilter("ignore", LevelCostWarning)
        run = race(partial(_ours, rows), peer, rounds=rounds)
    return Measured(run.ours_seconds, run.peer_seconds, abs(run.ours - run.peer))
