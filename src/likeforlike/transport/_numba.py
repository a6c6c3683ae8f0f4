"""How numba compiles kernels: the only import of numba, and not a cheap one.

Compiling is what a first audit waits for. Here it takes a third of what numba needs by itself. A
kernel that other kernels call

- gets no entry for Python there, and no version of its own for an integer literal in a call;
- is neither optimized nor turned into machine code there, since its callers are, with all that is
  inlined into them.

Best is not to compile at all. The package may come with archives of machine code, which
`tools/kernels.py` writes: for one kind of processor each, the code of every kernel and signature,
and a description of what it was made of and by. Code is taken from an archive only if all of that
is the same here and the processor has the features that the code was made for. Otherwise, and
whatever else is wrong with an archive, kernels are compiled as if there were none. Code for any
processor gives the same bits: numba neither fuses nor reorders operations without `fastmath`, and
each of them is rounded as IEEE 754 says.
"""

from __future__ import annotations

import gc
import json
import pickle
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from hashlib import sha256
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, cast
from zipfile import ZipFile

import llvmlite
import numba
from llvmlite.binding import get_process_triple
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.codegen import JITCodeLibrary, get_host_cpu_features
from numba.core.compiler import Compiler, CompileResult
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.types.functions import Dispatcher
from numba.core.types.misc import unliteral
from numba.extending import typeof_impl

PACKAGE = Path(__file__).parents[1]
FOLDER = PACKAGE / "machine_code"
SUFFIX = ".kernels"
DESCRIPTION = "description.json"

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
        if any(map(bool, _skips)):
            _import_without_blas()
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


_skips: list[list[bool]] = []


def register_kernels(
    kernel_type: type, inner_form: Callable[[Any], Any], blas_skipped: list[bool]
) -> None:
    """Let kernels call objects of this type by their inner form; skip BLAS once the list fills."""
    _skips.append(blas_skipped)

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


def _import_without_blas() -> None:
    """Let numba import what it compiles with, but not `scipy.linalg` (`_jit.skip_blas_import`)."""
    blas = "scipy.linalg.cython_blas"
    if blas in sys.modules or "numba.np.arraymath" in sys.modules:
        return
    sys.modules[blas] = None  # type: ignore[assignment]
    try:
        import_module("numba.np.arraymath")
    finally:
        del sys.modules[blas]


def describe_compiler() -> dict[str, object]:
    """Describe what machine code depends on, apart from its source and the processor."""
    return {
        "python": f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}",
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "system": get_process_triple(),
        "svml": bool(config.USING_SVML),
    }


def hash_sources(names: Iterable[str]) -> dict[str, str]:
    """Hash files of the package, named by their path in it."""
    return {name: sha256((PACKAGE / name).read_bytes()).hexdigest() for name in names}


def name_code(function: Callable[..., Any], signature: object) -> str:
    """Name the code of a kernel for a signature."""
    kind = sha256(str(signature).encode()).hexdigest()[:16]
    return f"{function.__module__}.{function.__qualname__}-{kind}"


def load_code(function: Callable[..., Any], signature: object, target: Any) -> Any:  # noqa: ANN401
    """Return the code of a kernel for a signature if it came with the package, else None."""
    try:
        archive = _open_archive()
        if archive is None:
            return None
        return rebuild_code(archive.read(name_code(function, signature)), target)
    except Exception:  # noqa: BLE001 it can be compiled
        return None


def rebuild_code(content: bytes, target: Any) -> Any:  # noqa: ANN401
    """Make code callable."""
    # All of numba that code needs. To compile, numba imports twice as much.
    rtsys.initialize(target)
    return CompileResult._rebuild(target, *pickle.loads(content))


def fits_here(path: Path) -> bool:
    """Return whether an archive can be used here."""
    return _count_features(path) is not None


@cache
def _open_archive() -> ZipFile | None:
    """Read the archive that fits here and makes most of the processor, if there is one."""
    fitting = [
        (needed, path)
        for path in FOLDER.glob(f"*{SUFFIX}")
        if (needed := _count_features(path)) is not None
    ]
    # In memory, since forked processes would share the position in an open file.
    return ZipFile(BytesIO(max(fitting)[1].read_bytes())) if fitting else None


def _count_features(path: Path) -> int | None:
    """Count the features of the processor that an archive needs, if all it depends on is here."""
    try:
        with ZipFile(path) as archive:
            description = json.loads(archive.read(DESCRIPTION))
        needed, sources = description.pop("features"), description.pop("sources")
        fits = description == describe_compiler() and processor_features().issuperset(needed)
        return len(needed) if fits and hash_sources(sources) == sources else None
    except Exception:  # noqa: BLE001 whatever it is, it is no archive of ours
        return None


def processor_features() -> set[str]:
    """Return the features that code may use: of this processor, or as numba is set."""
    chosen = config.CPU_FEATURES
    switches = (get_host_cpu_features() if chosen is None else chosen).split(",")
    found = {switch[1:] for switch in switches if switch.startswith("+")}
    if chosen is not None or config.CPU_NAME is None:
        return found
    # Code for another processor was asked for, of which only the name is known: nothing wide.
    return {feature for feature in found if not feature.startswith("avx512")}
