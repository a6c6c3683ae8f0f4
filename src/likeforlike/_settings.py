"""Settings as they are given: names that some of them have, and checks of what may be anything.

It loads no array library, because the command line makes its options of these types.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Literal, get_args

MeasureName = Literal["marginal", "average", "uniform", "overlap"]
"""A measure that has a name."""

MEASURES: tuple[MeasureName, ...] = get_args(MeasureName)
"""All of them."""

Measure = MeasureName | Mapping[Hashable, float]
"""A measure Q over levels by name, or as a weight for each level.

Examples
--------
>>> import likeforlike as lfl
>>> scores, sex, band = [0.0, 0.0, 1.0, 0.5], ["f", "f", "m", "m"], ["low", "high", "low", "high"]
>>> float(lfl.cdd_lp(scores, sex, band, measure="uniform"))
0.75
>>> float(lfl.cdd_lp(scores, sex, band, measure={"low": 3.0, "high": 1.0}))
0.875
"""

Adjustment = Literal["step-down", "holm", "bh"]
"""How p-values of many levels are adjusted: for the chance of any false alarm, by step-down from
the same permutations or by Holm's method; or for the false discovery rate, by Benjamini-Hochberg.

Examples
--------
>>> import numpy as np
>>> from likeforlike.inference import adjust
>>> adjust(np.array([0.01, 0.03]), "holm"), adjust(np.array([0.01, 0.03]), "bh")
(array([0.02, 0.03]), array([0.02, 0.03]))
"""


Engine = Literal["auto", "polars", "duckdb", "spark"]
"""The library that reads a file. `auto` is polars."""

ENGINES: tuple[Engine, ...] = get_args(Engine)
"""All of them."""


def real(value: object) -> float:
    """Convert a number passed as a setting to a float; NaN for anything else, text too."""
    if isinstance(value, str | bytes) or getattr(value, "ndim", None):
        return float("nan")
    try:
        return float(value)  # type: ignore[arg-type]  # that is what is being found out
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def is_one_of(value: object, names: Sequence[str]) -> bool:
    """Whether a setting is one of these names; nothing but text is, not even an array of it."""
    return isinstance(value, str) and value in names
