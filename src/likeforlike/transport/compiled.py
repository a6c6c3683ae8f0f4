"""Compile a kernel: the only place that touches numba.

A kernel is an ordinary function over arrays. It is compiled when it is first called, never at
import, released from the interpreter lock, and kept in numba's cache on disk. numba itself is
imported with the first call too: whoever asks for help, or only looks at a table, does not wait
for it.

Compiling is what a first audit waits for. Here it takes half of what numba needs by itself: a
kernel that other kernels call gets no entry for Python there, and no version of its own for a whole
number written into a call.
"""

from __future__ import annotations

import functools
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, Generic, ParamSpec, TypeVar, cast

__all__ = ["compiled", "spare_linear_algebra"]

P = ParamSpec("P")
R = TypeVar("R")
Dispatcher = Callable[..., Any]

# error_model="numpy" drops Python's checks for division by zero; every kernel divides by a mass
# that its caller has checked to be positive. Nobody calls a kernel from C.
_OPTIONS = {
    "nopython": True,
    "boundscheck": None,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}

# Threads may call a kernel for the first time at once; it is made once.
_MAKING = threading.RLock()


class _Kernel(Generic[P, R]):
    """A function that turns into machine code when it is first called."""

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._called: Dispatcher | None = None
        self._inlined: Dispatcher | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        machine = self._called or self._made()
        return cast(R, machine(*args, **kwargs))

    def _made(self) -> Dispatcher:
        """The kernel as Python calls it, kept on disk."""
        with _MAKING:
            if self._called is None:
                made = _dispatcher()(self.py_func, targetoptions=_OPTIONS)
                # Without a folder to keep machine code in, as in a read-only container, it is
                # compiled every time.
                with suppress(RuntimeError):
                    made.enable_caching()
                self._called = made
            return self._called

    def inlined(self) -> Dispatcher:
        """The kernel as other kernels call it, kept with them."""
        if self._inlined is None:
            options = _OPTIONS | {"no_cpython_wrapper": True}
            self._inlined = _dispatcher()(self.py_func, targetoptions=options)
        return self._inlined


@functools.cache
def _dispatcher() -> Any:  # noqa: ANN401
    """What makes machine code of a function, once numba has been told about kernels."""
    types = import_module("numba.core.types")
    cpu: Any = import_module("numba.core.registry").CPUDispatcher

    class KernelDispatcher(cpu):  # type: ignore[misc]
        def get_call_template(self, args: Any, kws: Any) -> Any:  # noqa: ANN401
            # While types are worked out a counter that starts at 0 looks like the constant 0, and
            # numba would compile the callee for that constant too.
            plain = {name: types.unliteral(kind) for name, kind in kws.items()}
            return super().get_call_template(tuple(map(types.unliteral, args)), plain)

        def compile(self, signature: Any) -> Any:  # noqa: ANN401
            with _no_collection():
                return super().compile(signature)

    def type_of(kernel: _Kernel[Any, Any], _context: object) -> Any:  # noqa: ANN401
        return types.Dispatcher(kernel.inlined())

    import_module("numba.extending").typeof_impl.register(_Kernel, type_of)
    return KernelDispatcher


@contextmanager
def _no_collection() -> Iterator[None]:
    """No search for garbage: compiling leaves hardly any, and looking for it takes a fifth."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def spare_linear_algebra() -> None:
    """Keep numba from importing `scipy.linalg`, in a process that runs nothing but our kernels.

    Before its first kernel numba looks for a BLAS, which takes longer than a small audit; no
    kernel of ours multiplies matrices. Other people's might, so this is for the command line
    alone, and does nothing where numba has looked already.
    """
    blas = "scipy.linalg.cython_blas"
    if blas in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules[blas] = None  # type: ignore[assignment]
    try:
        import_module("numba.np.arraymath")
    finally:
        del sys.modules[blas]


def compiled(kernel: Callable[P, R]) -> Callable[P, R]:
    """Compile `kernel` on first use. The interpreted original stays at `.py_func`.

    Kernels may call other kernels, but not themselves.

    Examples
    --------
    >>> from likeforlike.transport.compiled import compiled
    >>> def double(x: float) -> float:
    ...     return 2.0 * x
    >>> compiled(double)(21.0)
    42.0
    """
    return _Kernel(kernel)
