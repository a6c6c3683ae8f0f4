"""Compile a kernel: the only place that touches numba.

A kernel is an ordinary function over arrays. It is compiled when it is first called, never at
import, released from the interpreter lock, and kept in numba's cache on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

import numba

__all__ = ["compiled"]

P = ParamSpec("P")
R = TypeVar("R")


def compiled(kernel: Callable[P, R]) -> Callable[P, R]:
    """Compile `kernel` on first use. The interpreted original stays at `.py_func`.

    Examples
    --------
    >>> from likeforlike.transport.compiled import compiled
    >>> def double(x: float) -> float:
    ...     return 2.0 * x
    >>> compiled(double)(21.0)
    42.0
    """
    # error_model="numpy" drops Python's checks for division by zero; every kernel divides by a
    # mass that its caller has checked to be positive.
    try:
        machine = numba.njit(kernel, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:
        # No folder to keep the machine code in, as in a read-only container: compile every time.
        machine = numba.njit(kernel, nogil=True, error_model="numpy")
    return cast(Callable[P, R], machine)
