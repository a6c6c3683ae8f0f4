"""The kinds of arrays that everything here is made of."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)


def plain(array: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the array itself if it is writable and C-contiguous, else a copy of it that is."""
    flags = array.flags
    return array if flags.c_contiguous and flags.writeable else array.copy()
