"""Rows in order: what a sort gives, and all that comes after it reads."""

from __future__ import annotations

from typing import NamedTuple

from likeforlike._arrays import FloatArray, IntArray


class SortedRows(NamedTuple):
    """Rows in order of (segment, value).

    Attributes
    ----------
    rows : (n,) integers, the original row at each sorted position; ties keep their order.
        Empty when they were not asked for.
    values : (n,) floats, the value at each sorted position.
    offsets : (S + 1,) integers, where each of the S segments begins.
    """

    rows: IntArray
    values: FloatArray
    offsets: IntArray
