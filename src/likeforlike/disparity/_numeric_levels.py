"""Levels that are numbers: binned, warned of, or split into a number and categories."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity._columns import Column, numbers
from likeforlike.errors import BinnedLevelWarning, InputError, ThinLevelsWarning
from likeforlike.smoothing import make_grid, windows

# With more distinct values than this hardly any rows share one,
MANY_VALUES = 50
# unless each value has this many rows on average.
_ENOUGH_ROWS = 20


def warn_of_thin_levels(
    levels: Sequence[Hashable], rows: int, remedy: str, stacklevel: int = 3
) -> None:
    """Warn if levels are numbers, too many of them for rows to share one."""
    if len(levels) <= MANY_VALUES or rows >= _ENOUGH_ROWS * len(levels):
        return
    if all(isinstance(level, int | float | np.number) for level in levels):
        warnings.warn(
            f"legitimate features have {len(levels):,} different numbers in {rows:,} rows, and "
            "only rows with exactly the same number are compared; cut them into bins, or compare "
            f"along the number: {remedy}.",
            ThinLevelsWarning,
            stacklevel=stacklevel,
        )


def bin_levels(levels: Column, *, numeric: bool) -> Column:
    """Replace numbers with more than 50 distinct values by the middles of their windows, and warn.

    There are max(4, n^(1/3)) windows between quantiles. Whole numbers may be codes: they are binned
    only if the metric is numeric.
    """
    # The type of whole numbers is known before a million of them are read.
    kind = str(getattr(levels, "dtype", "")).lower()
    codes = not numeric and kind.startswith(("int", "uint"))
    if codes or kind in ("bool", "boolean", "object", "string", "str"):
        return levels
    if isinstance(levels, list | tuple) and any(isinstance(v, str | bool) for v in levels):
        return levels
    try:
        values = numbers(levels, "levels")
    except (InputError, TypeError, ValueError):
        return levels
    if not numeric and (values == np.floor(values)).all():
        return levels
    different = np.unique(values).size
    if different <= MANY_VALUES:
        return levels
    found = windows(make_grid(values), values)
    warnings.warn(
        f"levels has {different:,} different numbers; they were cut at quantiles into "
        f"{found.center.size} windows. People in one window are not quite equal; cut them "
        "yourself, or audit with smooth, for more.",
        BinnedLevelWarning,
        stacklevel=3,
    )
    return found.middle[found.of_line]


class NumericLevels(NamedTuple):
    """Levels, split into a number and a category.

    Attributes
    ----------
    numbers : (K,) finite floats.
    category : (K,) integers.
    categories : the labels of the categories, without the number.
    """

    numbers: FloatArray
    category: IntArray
    categories: tuple[Hashable, ...]


def split_levels(levels: Sequence[Hashable], who: str) -> NumericLevels:
    """Split levels into a number and a category.

    Parameters
    ----------
    levels : K labels, numbers or tuples of one number and other values.
    who : compares along the number; named in errors.
    """
    if not isinstance(levels[0], tuple):
        alone = np.zeros(len(levels), np.int64)
        return NumericLevels(_as_numbers(levels, who), alone, ("all",))
    columns = list(zip(*levels, strict=True))
    numeric = [j for j, column in enumerate(columns) if not _odd_types(column)]
    if len(numeric) != 1:
        raise InputError(
            f"{who} compares along one number, but {len(numeric)} of the "
            f"{len(columns)} columns of the levels hold numbers only; give categories as text, and "
            "cut any other number into bins."
        )
    rest = list(zip(*(column for j, column in enumerate(columns) if j != numeric[0]), strict=True))
    labels = list(dict.fromkeys(rest))
    code = {label: k for k, label in enumerate(labels)}
    category = np.array([code[label] for label in rest])
    return NumericLevels(_as_numbers(columns[numeric[0]], who), category, tuple(labels))


def _odd_types(labels: Iterable[Hashable]) -> list[type]:
    """Return the types among labels that are not numbers."""
    types = set(map(type, labels))
    return [one for one in types if one is bool or not issubclass(one, Real)]


def _as_numbers(labels: Sequence[Hashable], who: str) -> FloatArray:
    """Return labels as finite floats, or raise."""
    odd_types = _odd_types(labels)
    if odd_types:
        odd = next(label for label in labels if type(label) is odd_types[0])
        raise InputError(
            f"{who} compares along a number, but {odd!r} is among the levels; give levels as "
            "numbers, or compare inside levels, without it."
        )
    numbers = np.array(labels, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise InputError("levels hold numbers that are not finite; remove those rows.")
    return numbers
