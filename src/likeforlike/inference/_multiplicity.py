"""p-values of many tests at once."""

from __future__ import annotations

from typing import Literal

import numpy as np

from likeforlike._arrays import FloatArray
from likeforlike.errors import InputError


def adjust(p_values: FloatArray, adjustment: Literal["holm", "bh"]) -> FloatArray:
    """Adjust the p-values of several tests.

    `"holm"`: the chance of any false alarm stays below the level. `"bh"`: the share of false
    alarms among all alarms does.

    Parameters
    ----------
    p_values : (k,) floats.
    adjustment : `"holm"` or `"bh"` (Benjamini-Hochberg).

    References
    ----------
    Holm (1979); Benjamini and Hochberg (1995).

    Examples
    --------
    >>> import numpy as np
    >>> from likeforlike.inference import adjust
    >>> adjust(np.array([0.01, 0.04, 0.03]), "holm")
    array([0.03, 0.06, 0.06])
    >>> adjust(np.array([0.01, 0.04, 0.03]), "bh")
    array([0.03, 0.04, 0.04])
    """
    size = p_values.size
    order = np.argsort(p_values, kind="stable")
    ordered = p_values[order]
    if adjustment == "holm":
        stepped = np.maximum.accumulate(ordered * (size - np.arange(size)))
    elif adjustment == "bh":
        stepped = np.minimum.accumulate((ordered * size / np.arange(1, size + 1))[::-1])[::-1]
    else:
        raise InputError(f"adjustment must be 'holm' or 'bh', not {adjustment!r}.")
    adjusted = np.empty(size)
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted
