"""Levels that are numbers with many values: cut into windows of equal size, or warned of."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from likeforlike.disparity._columns import Column, numbers
from likeforlike.errors import BinnedLevelWarning, InputError, ThinLevelsWarning
from likeforlike.smoothing._fine_cells import fine_cells
from likeforlike.smoothing._windows import windows

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
