"""How numba makes machine code of kernels: the only import of numba, and not a cheap one.

Compiling is what a first audit waits for. Here it takes a third of what numba needs by itself. A
kernel that other kernels call

- gets no entry for Python there, and no version of its own for a whole number written into a call;
- is neither optimized nor turned into machine code there: it is not called, and its callers are,
  with all that is inside them.
"""

from __future__ import annotations

import gc
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from importlib import import_module
from typing import Any

from numba.core.caching import IndexDataCacheFile, NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from numba.core.types.functions import Dispatcher
from numba.core.types.misc import unliteral
from numba.extending import typeof_impl

# error_model="numpy" drops Python's checks for division by zero; every kernel divides by a mass
# that its caller has checked to be positive. Kernels are not called from C.
_OPTIONS = {
    "nopython": True,
    "boundscheck": None,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
}


class _KernelDispatcher(CPUDispatcher):  # type: ignore[misc]
    """What numba calls a compiled function, which knows of kernels."""

    def get_call_template(self, args: Any, kws: Any) -> Any:  # noqa: ANN401
        # While types are worked out a counter that starts at 0 looks like the constant 0, and
        # numba would compile the callee for that constant too.
        plain = {name: unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(unliteral, args)), plain)

    def compile(self, signature: Any) -> Any:  # noqa: ANN401
        with _no_collection():
            try:
                return super().compile(signature)
            except Exception as error:
                # A disk may be full, or hold what is no machine code. If it is the kernel that
                # cannot be compiled, the second attempt says so.
                kept: Any = self._cache
                if kept.cache_path is None:
                    raise
                _warn_of_kept_code(kept.cache_path, error)
                self._cache: Any = NullCache()
                return super().compile(signature)

    def check_kept_code(self) -> None:
        """Read machine code from the disk only if it is what was written there."""
        kept: Any = self._cache
        kept._cache_file = _CheckedFile(
            kept.cache_path,
            f"{kept._impl.filename_base}.checked",
            kept._impl.locator.get_source_stamp(),
        )


class _CheckedFile(IndexDataCacheFile):  # type: ignore[misc]
    """Files of machine code with a checksum: what is damaged is compiled and written again."""

    def _load_index(self) -> Any:  # noqa: ANN401
        try:
            return super()._load_index()
        except Exception as error:  # noqa: BLE001
            _warn_of_kept_code(self._cache_path, error)
            return {}

    def _load_data(self, name: str) -> Any:  # noqa: ANN401
        with open(self._data_path(name), "rb") as file:
            mark, content = file.read(32), file.read()
        if mark != sha256(name.encode() + content).digest():
            _warn_of_kept_code(self._cache_path, "its checksum is another")
            raise FileNotFoundError(name)  # which numba takes for code that it has to make
        return pickle.loads(content)

    def _save_data(self, name: str, data: Any) -> None:  # noqa: ANN401
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(sha256(name.encode() + content).digest() + content)


_warned: list[str] = []


def _warn_of_kept_code(folder: str, reason: object) -> None:
    """Say once that code on the disk is of no use."""
    if not _warned:
        _warned.append(folder)
        warnings.warn(
            f"machine code in {folder} cannot be used ({reason}); it is compiled again.",
            RuntimeWarning,
            stacklevel=2,
        )


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel as its callers take it over: never optimized, never run."""

    @property
    def codegen(self) -> _WithoutEnvironments:
        return _WithoutEnvironments(self._codegen)

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, _name: str) -> int:
        self._ensure_finalized()
        return 0


class _WithoutEnvironments:
    """numba's code generator, but for what a function gets when it is about to be run."""

    def __init__(self, generator: Any) -> None:  # noqa: ANN401
        self._generator = generator

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._generator, name)

    def set_env(self, *_: object) -> None:
        """Nothing: the code is in no place where it could get it."""


class _InnerCompiler(Compiler):  # type: ignore[misc]
    """Compiles a kernel for its callers."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:  # noqa: ANN401
        super().__init__(typing, target, library or _InnerLibrary(target.codegen(), "inner"), *rest)


def called(function: Callable[..., Any]) -> Any:  # noqa: ANN401
    """A kernel as Python calls it, kept on disk."""
    kernel = _KernelDispatcher(function, targetoptions=_OPTIONS)
    # Without a folder to keep machine code in, as in a read-only container, it is compiled every
    # time.
    with suppress(RuntimeError):
        kernel.enable_caching()
        kernel.check_kept_code()
    return kernel


def inlined(function: Callable[..., Any]) -> Any:  # noqa: ANN401
    """A kernel as other kernels call it, kept with them."""
    options = _OPTIONS | {"no_cpython_wrapper": True}
    return _KernelDispatcher(function, targetoptions=options, pipeline_class=_InnerCompiler)


def teach(kernel_type: type, inlined_form: Callable[[Any], Any]) -> None:
    """Let kernels call what is of this type, by the form that `inlined` made."""

    def type_of(kernel: object, _context: object) -> Any:  # noqa: ANN401
        return Dispatcher(inlined_form(kernel))

    typeof_impl.register(kernel_type, type_of)


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
