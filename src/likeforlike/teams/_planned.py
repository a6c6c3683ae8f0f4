"""What is public about an audit that is planned, and how its levels are called."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.teams._requests import CountsRequest
from likeforlike.teams._score_bins import ScoreBins


@dataclass(frozen=True, eq=False)
class Planned:
    """Bins of scores in levels, the request about them, and names for the report."""

    request: CountsRequest
    bins: ScoreBins = field(repr=False)
    levels: tuple[Hashable, ...]
    score: str
    sensitive: str
    legitimate: tuple[str, ...]


def level_name(level: Hashable, columns: Sequence[str]) -> str:
    """How to call a level in front of people: columns and their values."""
    values = level if isinstance(level, tuple) else (level,)
    if len(values) != len(columns):
        return " ".join(map(str, values))
    return ", ".join(f"{column} {value}" for column, value in zip(columns, values, strict=True))


def whole_counts(amounts: FloatArray) -> IntArray:
    """Whole numbers (..., J) whose running sums are those of amounts, rounded."""
    rounded = np.rint(np.cumsum(amounts, axis=-1))
    counts: IntArray = np.diff(rounded, axis=-1, prepend=0.0).astype(np.int64)
    return counts
