"""How our own time grows with rows and with levels: a peer of ourselves.

Both sizes run in the same process and take turns, so that they meet the same caches and the same
memory allocator. Linear time would make ten times the rows cost ten times as much; the levels
should hardly matter.
"""

from __future__ import annotations

from functools import partial

from benchmarks.levels import Rows, random_rows
from benchmarks.timing import Case, Measured, race
from likeforlike import cdd_lp

__all__ = ["cases"]


def cases(quick: bool) -> list[Case]:
    """Growth of `cdd_lp` with rows and with levels."""
    few, many, rounds = (1_000, 10_000, 1) if quick else (100_000, 1_000_000, 15)
    fine = 100 if quick else 1_000
    return [
        Case(
            f"cdd_lp (W1), 50 levels: {many:,} against {few:,} rows",
            partial(_measure, (many, 50), (few, 50), rounds),
            ratio_of="ours / peer",
            required=12.0,
        ),
        Case(
            f"cdd_lp (W1), {many:,} rows: {fine:,} against 10 levels",
            partial(_measure, (many, fine), (many, 10), rounds),
            ratio_of="ours / peer",
            required=4.0,
        ),
    ]


def _ours(rows: Rows) -> float:
    return cdd_lp(*rows, order=1).value


def _measure(large: tuple[int, int], small: tuple[int, int], rounds: int) -> Measured:
    run = race(
        partial(_ours, random_rows(*large)), partial(_ours, random_rows(*small)), rounds=rounds
    )
    return Measured(run.ours_seconds, run.peer_seconds)
