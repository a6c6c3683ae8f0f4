"""Levels that are numbers with many values: cut into windows of equal size, or warned of.

Levels that are numbers, alone or together with categories.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Sequence
from numbers import Real
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity._columns import Column, numbers
from likeforlike.errors import BinnedLevelWarning, InputError, ThinLevelsWarning
from likeforlike.smoothing import fine_cells, windows

# With more different values than this no row has equals, or hardly any.
MANY_VALUES = 50
# ... unless every value has as many rows as this, on average.
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


def windowed_levels(levels: Column, *, numeric: bool) -> Column:
    """Levels as they are, or the middle of the window that each lies in.

    Numbers with more than 50 different values are cut into max(4, n^(1/3)) windows at their
    quantiles, and a warning says so. Whole numbers may be codes: they are cut only if the metric
    takes them for numbers.
    """
    # Types of whole numbers are known by name, before a million of them are looked at.
    if not numeric and _type(levels).startswith(("int", "uint")):
        return levels
    values = _floats(levels)
    if values is None or (not numeric and (values == np.floor(values)).all()):
        return levels
    different = np.unique(values).size
    if different <= MANY_VALUES:
        return levels
    found = windows(fine_cells(values), values)
    warnings.warn(
        f"levels has {different:,} different numbers; they were cut at quantiles into "
        f"{found.center.size} windows. People in one window are not quite equal; cut them "
        "yourself, or audit with smooth, for more.",
        BinnedLevelWarning,
        stacklevel=3,
    )
    return found.middle[found.of_line]


def _floats(levels: Column) -> npt.NDArray[np.float64] | None:
    """The levels, if all are finite numbers and not truth values."""
    if _type(levels) in ("bool", "boolean", "object", "string", "str"):
        return None
    if isinstance(levels, list | tuple) and any(isinstance(v, str | bool) for v in levels):
        return None
    try:
        return numbers(levels, "levels")
    except (InputError, TypeError, ValueError):
        return None


def _type(levels: Column) -> str:
    """What a column says that it holds, in small letters; "" if it does not."""
    return str(getattr(levels, "dtype", "")).lower()


class Numbered(NamedTuple):
    """Levels taken apart: a number, and the category it belongs to.

    Attributes
    ----------
    numbers : (K,) finite floats.
    category : (K,) integers.
    categories : what is left of the labels without the number.
    """

    numbers: FloatArray
    category: IntArray
    categories: tuple[Hashable, ...]


def numbered_levels(levels: Sequence[Hashable], who: str) -> Numbered:
    """Take levels apart into one number and what else they are made of.

    Parameters
    ----------
    levels : K labels, numbers or tuples of one number and other things.
    who : asks for a number, for complaints.
    """
    if not isinstance(levels[0], tuple):
        alone = np.zeros(len(levels), np.int64)
        return Numbered(_as_numbers(levels, who), alone, ("all",))
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
    return Numbered(_as_numbers(columns[numeric[0]], who), category, tuple(labels))


def _odd_types(labels: Iterable[Hashable]) -> list[type]:
    """Types among labels that are not numbers; there are far fewer types than labels."""
    types = set(map(type, labels))
    return [one for one in types if one is bool or not issubclass(one, Real)]


def _as_numbers(labels: Sequence[Hashable], who: str) -> FloatArray:
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
