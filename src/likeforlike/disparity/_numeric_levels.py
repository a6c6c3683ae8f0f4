"""Levels that are numbers with many values: cut into windows of about equal number, and told."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from likeforlike.disparity._columns import Column, numbers
from likeforlike.errors import BinnedLevelWarning, InputError
from likeforlike.smoothing._fine_cells import fine_cells
from likeforlike.smoothing._windows import windows

# With more different values than this nobody has equals, or hardly anybody.
_MANY_VALUES = 50


def windowed_levels(levels: Column, *, numeric: bool) -> Column:
    """Levels as they are, or the middle of the window that each lies in.

    Numbers with more than 50 different values are cut into max(4, n^(1/3)) windows at their
    quantiles, and a warning says so. Whole numbers may be codes: they are cut only if the metric
    takes them for numbers.
    """
    values = _floats(levels)
    if values is None or np.unique(values[: 4 * _MANY_VALUES]).size <= 1:
        return levels
    if np.unique(values).size <= _MANY_VALUES:
        return levels
    if not numeric and (values == np.floor(values)).all():
        return levels
    found = windows(fine_cells(values), values)
    warnings.warn(
        f"levels has {np.unique(values).size:,} different numbers; they were cut at quantiles into "
        f"{found.centre.size} windows. People in one window are not quite equal; cut them "
        "yourself, or audit with smooth, for more.",
        BinnedLevelWarning,
        stacklevel=3,
    )
    return found.middle[found.of_line]


def _floats(levels: Column) -> npt.NDArray[np.float64] | None:
    """The levels, if all are finite numbers and not truth values."""
    kind = getattr(levels, "dtype", None)
    if kind is not None and str(kind).lower() in ("bool", "boolean", "object", "string", "str"):
        return None
    if isinstance(levels, list | tuple) and any(isinstance(v, str | bool) for v in levels):
        return None
    try:
        return numbers(levels, "levels")
    except (InputError, TypeError, ValueError):
        return None
