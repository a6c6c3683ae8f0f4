"""The headline test: beside a bootstrap of fairlearn, a limit, and a thousand times the rows.

All times are processor seconds, those of all threads together: permutations use every core there
is and are charged for it, while a bootstrap of fairlearn uses one.

- A replicate of our test deals all labels anew and looks at them with five components, the gap,
  ranks, spread, distance and largest level statistic, and W_1 of every level besides; a bootstrap
  replicate of `MetricFrame` draws rows and takes means. What `MetricFrame` needs once is subtracted
  from its time, while ours is charged for all that the test needs once, shared by as few as 32
  replicates. There are no values to compare: the two answer different questions.
- The whole test, with as many permutations as an audit takes, is held to 12 seconds on two cores.
- Counts that stand for a thousand times the rows are dealt in the time of their bins. The distance
  of both is the same, and is compared.
"""

from __future__ import annotations

import time
from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.fairlearn_frames import metric_frame, random_frame
from benchmarks.timing import Case, Measured, race
from likeforlike import Cells, cdd_lp
from likeforlike._arrays import FloatArray
from likeforlike.disparity import Contrast, contrasts
from likeforlike.inference import headline_test

__all__ = ["cases"]

# Replicates: of the test that is timed, of the bootstrap, of the counts, of an audit.
_TESTED, _BOOTSTRAPPED, _COUNTED, _USUAL = 32, 2, 199, 999
# Seconds, and how many cores there are to share them.
_LIMIT, _CORES = 12.0, 2


class _Sizes(NamedTuple):
    """How large the comparisons are.

    Attributes
    ----------
    rows, levels : of the table in memory.
    bins : of the counts, in as many levels.
    rounds : turns of each side.
    """

    rows: int
    levels: int
    bins: int
    rounds: int


_QUICK = _Sizes(5_000, 10, 50, rounds=1)
_FULL = _Sizes(1_000_000, 50, 1_000, rounds=3)


def cases(quick: bool) -> list[Case]:
    """One permutation, the usual number of them, growth of counts."""
    sizes = _QUICK if quick else _FULL
    what = f"{sizes.rows:,} rows in {sizes.levels} levels"
    bins = f"{sizes.bins:,} bins in {sizes.levels} levels"
    return [
        Case(
            f"one permutation, {what}: one bootstrap of means by fairlearn",
            partial(_against_bootstrap, sizes),
            "peer / ours",
            200.0,
        ),
        Case(
            f"{_USUAL} permutations of five components, {what}: {_LIMIT:.0f} s on {_CORES} cores",
            partial(_usual_test, sizes),
            "ours / peer",
            1.0,
        ),
        Case(
            f"permutation test of counts, {bins}: 1,000 times the rows",
            partial(_counts_growth, sizes),
            "ours / peer",
            1.5,
        ),
    ]


def _contrast(cells: Cells) -> tuple[Contrast, FloatArray]:
    """The two groups, and how much each level counts: what `headline_test` takes."""
    return contrasts(cells, "pairwise")[0], cdd_lp(cells, order=1).by_level.weight


def _against_bootstrap(sizes: _Sizes) -> Measured:
    frame = random_frame(sizes.rows, sizes.levels)
    cells = Cells.from_rows(frame["score"], frame["sex"], frame["level"])
    test = partial(headline_test, *_contrast(cells), permutations=_TESTED)
    bootstrap = partial(
        metric_frame, frame, n_boot=_BOOTSTRAPPED, ci_quantiles=[0.5], random_state=0
    )
    # Ours takes turns with both, so that a spell of noise does not fall on one of them alone.
    resampled = race(test, bootstrap, rounds=sizes.rounds, clock=time.process_time)
    without = race(test, partial(metric_frame, frame), rounds=sizes.rounds, clock=time.process_time)
    replicate = (resampled.peer_seconds - without.peer_seconds) / _BOOTSTRAPPED
    tested = max(resampled.ours_seconds, without.ours_seconds) / _TESTED
    return Measured(tested, replicate, note=f"{_TESTED} permutations, {_BOOTSTRAPPED} bootstraps")


def _usual_test(sizes: _Sizes) -> Measured:
    """The headline test as an audit runs it."""
    frame = random_frame(sizes.rows, sizes.levels)
    compared = _contrast(Cells.from_rows(frame["score"], frame["sex"], frame["level"]))
    headline_test(*compared, permutations=2)
    began = time.process_time()
    headline_test(*compared, permutations=_USUAL)
    return Measured(time.process_time() - began, _CORES * _LIMIT)


def _counts_growth(sizes: _Sizes) -> Measured:
    """Counts of about a hundred rows a bin, and a thousand times as many."""
    random, bins = np.random.default_rng(0), sizes.bins
    level, group, which = (grid.ravel() for grid in np.indices((sizes.levels, 2, bins)))
    counts = random.poisson(100.0, which.size)
    middles = (which + 0.5) / bins
    few, many = (
        Cells.from_counts(level, group, middles, counts * times, resolution=1.0 / bins)
        for times in (1, 1_000)
    )
    run = race(
        partial(headline_test, *_contrast(many), permutations=_COUNTED),
        partial(headline_test, *_contrast(few), permutations=_COUNTED),
        rounds=sizes.rounds,
        clock=time.process_time,
    )
    difference = abs(cdd_lp(many, order=1).value - cdd_lp(few, order=1).value)
    note = f"{many.counts.sum():,} against {few.counts.sum():,} rows"
    return Measured(run.ours_seconds, run.peer_seconds, difference, note=note)
