"""Compile a kernel.

A kernel is an ordinary function over arrays. It is compiled when it is first called, never at
import, released from the interpreter lock, and cached on disk by numba. numba itself is imported
with the first call too, so that neither help nor a look at a table waits for it.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any, Generic, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
Dispatcher = Callable[..., Any]

# Threads may call a kernel for the first time at once; it is compiled once.
_COMPILING = threading.RLock()


class _Kernel(Generic[P, R]):
    """A function that turns into machine code when it is first called."""

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._called: Dispatcher | None = None
        self._inlined: Dispatcher | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        machine = self._called or self._compile()
        return cast(R, machine(*args, **kwargs))

    def _compile(self) -> Dispatcher:
        """Return the kernel as Python calls it."""
        with _COMPILING:
            if self._called is None:
                self._called = _compiler().make_entry(self.py_func)
            return self._called

    def inline(self) -> Dispatcher:
        """Return the kernel as other kernels call it."""
        if self._inlined is None:
            self._inlined = _compiler().make_inner(self.py_func)
        return self._inlined


@functools.cache
def _compiler() -> ModuleType:
    """Import the module that compiles, and register kernels with it."""
    from likeforlike.transport import _numba

    _numba.register_kernels(_Kernel, _Kernel.inline, _blas_skipped)
    return _numba


def compiled(kernel: Callable[P, R]) -> Callable[P, R]:
    """Compile `kernel` on first use. The interpreted original stays at `.py_func`.

    Kernels may call other kernels, but not themselves.
    """
    return _Kernel(kernel)


_blas_skipped: list[bool] = []


def skip_blas_import() -> None:
    """Keep numba from importing `scipy.linalg`, in a process that runs nothing but our kernels.

    Before its first kernel numba looks for a BLAS, which takes longer than a small audit; no
    kernel of ours multiplies matrices. Kernels of other packages might, so this is for the command
    line alone, and does nothing where numba has looked already.
    """
    _blas_skipped.append(True)
