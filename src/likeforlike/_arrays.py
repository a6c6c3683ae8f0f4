"""The kinds of arrays that everything here is made of, and settings that may be anything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)


def plain(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """An array that may be written to, in one piece and by rows: itself, or a copy of it."""
    flags = array.flags
    return array if flags.c_contiguous and flags.writeable else array.copy()


def real(value: object) -> float:
    """A number that somebody passed as a setting; NaN for anything that is none, text too."""
    if isinstance(value, str | bytes) or np.ndim(value):  # type: ignore[arg-type]  # of anything
        return float("nan")
    try:
        return float(value)  # type: ignore[arg-type]  # that is what is being found out
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def is_one_of(value: object, names: Sequence[str]) -> bool:
    """Whether a setting is one of these names; nothing but text is, not even an array of it."""
    return isinstance(value, str) and value in names
