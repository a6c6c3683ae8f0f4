"""SmoothFairLeap beside FairLeap in twenty bins: value and gradient of the same rows.

Anchors are learned beforehand, as training does it once; bins are encoded beforehand too.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.timing import Case, Measured, race
from likeforlike import FairLeap, SmoothFairLeap
from likeforlike._arrays import FloatArray
from likeforlike.penalties import Layout, Penalty

__all__ = ["cases"]

_BINS = 20


def cases(quick: bool) -> list[Case]:
    """The price of doing without bins."""
    size, rounds = (2_000, 1) if quick else (1_000_000, 15)
    return [
        Case(
            f"SmoothFairLeap value and gradient, {size:,} rows: FairLeap in {_BINS} bins",
            partial(_measure, size, rounds),
            ratio_of="ours / peer",
            required=6.0,
        )
    ]


def _evaluated(penalty: Penalty, layout: Layout, scores: FloatArray) -> float:
    return float(penalty.evaluate(scores, layout)[0][0])


def _measure(size: int, rounds: int) -> Measured:
    rng = np.random.default_rng(0)
    number = rng.random(size)
    group = (rng.random(size) < 0.1 + 0.8 * number).astype(np.int64)
    scores = (number**2 + 0.05 * group + 0.05 * rng.standard_normal(size))[None, :]
    smooth, binned = SmoothFairLeap(), FairLeap()
    bins = np.floor(_BINS * number).astype(np.int64)
    run = race(
        partial(_evaluated, smooth, smooth.prepare(Layout.from_columns(group, number)), scores),
        partial(_evaluated, binned, Layout.from_columns(group, bins), scores),
        rounds=rounds,
    )
    return Measured(run.ours_seconds, run.peer_seconds)
