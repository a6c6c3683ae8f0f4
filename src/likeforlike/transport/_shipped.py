"""Machine code that comes with the package, so that a first audit does not wait for compiling.

`tools/kernels.py` writes an archive per kind of processor: the code of each kernel and signature,
and a description of what it was made of and by. Code is taken from an archive only if all of that
is the same here and the processor has the features that the code was made for. Otherwise, and
whatever else is wrong with an archive, kernels are compiled as if there were none.

Code for any processor gives the same bits: numba neither fuses nor reorders operations without
`fastmath`, and each of them is rounded as IEEE 754 says.
"""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import llvmlite
import numba
from llvmlite.binding import get_process_triple
from numba.core import config
from numba.core.codegen import get_host_cpu_features
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys

PACKAGE = Path(__file__).parents[1]
FOLDER = PACKAGE / "machine_code"
SUFFIX = ".kernels"
DESCRIPTION = "description.json"


def describe_compiler() -> dict[str, object]:
    """Describe what machine code depends on beside its source and the processor."""
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
    """Return the features that code may use: of this processor, or those that numba is told."""
    told = config.CPU_FEATURES
    switches = (get_host_cpu_features() if told is None else told).split(",")
    found = {switch[1:] for switch in switches if switch.startswith("+")}
    if told is not None or config.CPU_NAME is None:
        return found
    # Code for another processor was asked for, of which only the name is known: nothing wide.
    return {feature for feature in found if not feature.startswith("avx512")}
