"""How numba compiles kernels: the only import of numba, and not a cheap one.

Compiling is what a first audit waits for. Here it takes a third of what numba needs by itself. A
kernel that other kernels call

- gets no entry for Python there, and no version of its own for an integer literal in a call;
- is neither optimized nor turned into machine code there, since its callers are, with all that is
  inlined into them.
"""

from __future__ import annotations

import gc
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from typing import Any, cast

from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.registry import CPUDispatcher
from numba.core.types.functions import Dispatcher
from numba.core.types.misc import unliteral
from numba.extending import typeof_impl

from likeforlike.transport._shipped import load_code

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
    """Compiles a kernel for each signature, without literals, and caches it on disk."""

    def get_call_template(self, args: Any, kws: Any) -> Any:  # noqa: ANN401
        # During type inference a counter that starts at 0 looks like the literal 0, for which numba
        # would compile the callee too.
        plain = {name: unliteral(kind) for name, kind in kws.items()}
        return super().get_call_template(tuple(map(unliteral, args)), plain)

    def compile(self, signature: Any) -> Any:  # noqa: ANN401
        with _no_collection():
            try:
                return super().compile(signature)
            except Exception as error:
                # A disk may be full, or the cache damaged. If the kernel itself does not compile,
                # the second attempt raises.
                cache: Any = self._cache
                if cache.cache_path is None:
                    raise
                _warn_about_cache(cache.cache_path, error)
                self._cache: Any = NullCache()
                return super().compile(signature)


class _KernelCache(NullCache):  # type: ignore[misc]
    """Machine code that came with the package, or else on the disk where numba keeps it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @cached_property
    def _disk(self) -> Any:  # noqa: ANN401
        try:
            disk = FunctionCache(self._function)
        except RuntimeError:
            # Without a folder for it, as in a read-only container, a kernel is compiled every time.
            return NullCache()
        implementation: Any = disk._impl
        disk._cache_file = _CheckedFile(
            disk.cache_path,
            f"{implementation.filename_base}.checked",
            implementation.locator.get_source_stamp(),
        )
        return disk

    @property
    def cache_path(self) -> str | None:
        return cast("str | None", self._disk.cache_path)

    def load_overload(self, sig: Any, target_context: Any) -> Any:  # noqa: ANN401
        found = load_code(self._function, sig, target_context)
        return self._disk.load_overload(sig, target_context) if found is None else found

    def save_overload(self, sig: Any, data: Any) -> None:  # noqa: ANN401
        self._disk.save_overload(sig, data)


class _CheckedFile(IndexDataCacheFile):  # type: ignore[misc]
    """Files of machine code with a checksum: damaged code is compiled and written again."""

    def _load_index(self) -> Any:  # noqa: ANN401
        try:
            return super()._load_index()
        except Exception as error:  # noqa: BLE001
            _warn_about_cache(self._cache_path, error)
            return {}

    def _load_data(self, name: str) -> Any:  # noqa: ANN401
        with open(self._data_path(name), "rb") as file:
            mark, content = file.read(32), file.read()
        if mark != sha256(name.encode() + content).digest():
            _warn_about_cache(self._cache_path, "its checksum is another")
            raise FileNotFoundError(name)  # so numba compiles it
        return pickle.loads(content)

    def _save_data(self, name: str, data: Any) -> None:  # noqa: ANN401
        content = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(sha256(name.encode() + content).digest() + content)


_warned: list[str] = []


def _warn_about_cache(folder: str, reason: object) -> None:
    """Warn once that code on the disk cannot be used."""
    if not _warned:
        _warned.append(folder)
        warnings.warn(
            f"machine code in {folder} cannot be used ({reason}); it is compiled again.",
            RuntimeWarning,
            stacklevel=2,
        )


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """The code of a kernel as its callers inline it: never optimized, never run."""

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
    """numba's code generator, without the environment of functions that are run."""

    def __init__(self, generator: Any) -> None:  # noqa: ANN401
        self._generator = generator

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._generator, name)

    def set_env(self, *_: object) -> None:
        """Do nothing: the code is never run."""


class _InnerCompiler(Compiler):  # type: ignore[misc]
    """Compiles a kernel for its callers."""

    def __init__(self, typing: Any, target: Any, library: Any, *rest: Any) -> None:  # noqa: ANN401
        super().__init__(typing, target, library or _InnerLibrary(target.codegen(), "inner"), *rest)


def make_entry(function: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Make the form of a kernel that Python calls, cached on disk."""
    kernel = _KernelDispatcher(function, targetoptions=_OPTIONS)
    kernel._cache = _KernelCache(function)
    return kernel


def make_inner(function: Callable[..., Any]) -> Any:  # noqa: ANN401
    """Make the form of a kernel that other kernels call, cached with them."""
    options = _OPTIONS | {"no_cpython_wrapper": True}
    return _KernelDispatcher(function, targetoptions=options, pipeline_class=_InnerCompiler)


def register_kernels(kernel_type: type, inner_form: Callable[[Any], Any]) -> None:
    """Let kernels call objects of this type by their inner form."""

    def type_of(kernel: object, _context: object) -> Any:  # noqa: ANN401
        return Dispatcher(inner_form(kernel))

    typeof_impl.register(kernel_type, type_of)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause garbage collection, which takes a fifth of the time of compiling for nothing."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def skip_blas_import() -> None:
    """Keep numba from importing `scipy.linalg`, in a process that runs nothing but our kernels.

    Before its first kernel numba looks for a BLAS, which takes longer than a small audit; no
    kernel of ours multiplies matrices. Kernels of other packages might, so this is for the command
    line alone, and does nothing where numba has looked already.
    """
    blas = "scipy.linalg.cython_blas"
    if blas in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules[blas] = None  # type: ignore[assignment]
    try:
        import_module("numba.np.arraymath")
    finally:
        del sys.modules[blas]
