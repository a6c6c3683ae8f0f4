"""Compile the kernels that come with the package: `python -m tools.kernels FOLDER`.

No list says which kernels these are, or for which types. Public calls are made (audits, measures,
penalties, repairs, and fits where their libraries are installed), and what they have compiled is
written into an archive per kind of processor, which `likeforlike.transport` reads. They run for a
processor with AVX2. For one with AVX-512 the same kernels are compiled for the same types, and not
run: the machine that builds need not have it.

`tools/build_hook.py` does this whenever a wheel is built.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import platform
import subprocess
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import polars as pl
from llvmlite.binding import parse_assembly
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

import likeforlike as lfl
from likeforlike.datasets import make_loans
from likeforlike.penalties import Layout, SlopeField
from likeforlike.transport import _numba
from likeforlike.transport._numba import (
    DESCRIPTION,
    PACKAGE,
    SUFFIX,
    describe_compiler,
    fits_here,
    hash_sources,
    name_code,
    processor_features,
    rebuild_code,
)

__all__ = ["CALLS", "PROCESSORS", "find_called", "main", "write_archive"]

_V3 = (
    *("cmov", "cx8", "fxsr", "mmx", "sse", "sse2"),
    *("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"),
    *("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"),
)
PROCESSORS = {
    "x86-64-v3": _V3,
    "x86-64-v4": (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
"""Kinds of processors by LLVM's names, with the features that their code needs."""

_MACHINES = {"x86_64", "amd64"}
# Where parts are in what numba reduces code to.
_LIBRARY, _SIGNATURE, _ANNOTATION = 0, 3, 6


def _tables() -> tuple[Any, Any]:
    """Make loans, and rows of three groups in four levels with ties, weights and clusters."""
    rng = np.random.default_rng(0)
    rows = 30_000
    people = pl.DataFrame(
        {
            "score": np.round(rng.random(rows), 2),
            "group": rng.choice(list("abc"), rows),
            "level": rng.integers(0, 4, rows),
            "weight": rng.integers(1, 5, rows),
            "person": rng.integers(0, rows // 3, rows),
        }
    )
    return make_loans(4_000, gap=0.15), people


def _columns(frame: Any, weighted: bool = False) -> dict[str, Any]:  # noqa: ANN401, FBT002
    given = {
        "scores": frame["score"],
        "sensitive_features": frame["group"],
        "legitimate_features": frame["level"],
    }
    return {**given, "sample_weight": frame["weight"]} if weighted else given


def _measure() -> None:
    lfl.cdd_lp([0.0, 1.0, 1.0, 1.0], list("fmfm"), list("llhh"))


def _measure_further() -> None:
    _, people = _tables()
    distances: tuple[Any, ...] = ("wasserstein", "ks", "tv", "mean")
    for distance, weighted in product(distances, (False, True)):
        lfl.cdd_lp(**_columns(people, weighted), distance=distance)
    lfl.dd(people["score"], people["group"])
    lfl.cdd_wass(**_columns(people))


def _audit() -> None:
    loans, _ = _tables()
    for score in ("approved", "score"):
        lfl.audit(loans.frame, score=score, sensitive="sex", legitimate="income")


def _audit_further() -> None:
    loans, people = _tables()
    for score in ("approved", "score"):
        lfl.audit(loans.frame, score=score, sensitive="sex", smooth="income")
    roles: dict[str, Any] = {"score": "score", "sensitive": "group", "legitimate": "level"}
    settings: list[dict[str, Any]] = [{}, {"weight": "weight"}, {"cluster": "person"}]
    for each in [*settings, {"resolution": 0.05, "permutations": 0}]:
        lfl.audit(people, **roles, **each)


def _penalize() -> None:
    _, people = _tables()
    layout = Layout.from_columns(people["group"], people["level"])
    scores = people["score"].to_numpy()
    penalties = [
        *(kind(order=order) for kind in (lfl.FairLeap, lfl.FairBiT) for order in (1, 2)),
        *(kind.paper() for kind in (lfl.FairLeap, lfl.FairBiT, lfl.WassersteinPenalty)),
        lfl.SmoothFairLeap(),
    ]
    for penalty in penalties:
        for weighted in (False, True):
            penalty.value_and_grad(**_columns(people, weighted))
        penalty.hessian_diagonal(scores, layout)
    # Of polars, and as networks have them.
    for sample in (scores[None], scores.copy()[None]):
        field = SlopeField.fit(lfl.FairLeap(), sample, layout)
        field.gradient(sample + 0.003, layout)


def _repair() -> None:
    _, people = _tables()
    scores, who = people["score"].to_numpy(), _columns(people)
    del who["scores"]
    lfl.ConditionalBarycenter().fit(scores, **who).transform(scores, **who)


def _training_rows() -> tuple[Any, Any, dict[str, Any]]:
    loans, _ = _tables()
    who = {"sensitive_features": loans.groups, "legitimate_features": loans.levels}
    return loans.inputs().matrix, loans.targets, who


def _fit_networks() -> None:
    from likeforlike import FairClassifier, FairRegressor

    inputs, targets, who = _training_rows()
    for settings in ({}, {"penalty": lfl.FairBiT()}, {"max_disparity": 0.05}):
        FairClassifier(max_epochs=2, random_state=0, **settings).fit(inputs, targets, **who)
    FairRegressor(max_epochs=2, random_state=0).fit(inputs, targets, **who)


def _fit_trees() -> None:
    from likeforlike import FairLGBMClassifier

    inputs, targets, who = _training_rows()
    FairLGBMClassifier(n_estimators=5).fit(inputs, targets, **who)


def _repair_unaware() -> None:
    from likeforlike import UnawareRepair

    inputs, targets, who = _training_rows()
    scores = 0.5 * targets + 0.001 * np.arange(len(targets)) / len(targets)
    UnawareRepair().fit(scores, inputs, **who)


CALLS = {
    call.__name__.strip("_"): call
    for call in (
        *(_audit, _audit_further, _measure, _measure_further),
        *(_penalize, _repair, _fit_networks, _fit_trees, _repair_unaware),
    )
}
"""The public calls whose kernels come along."""


def make_calls(names: Sequence[str]) -> None:
    """Make calls; leave out those that need a missing library."""
    for name in names:
        try:
            CALLS[name]()
        except lfl.errors.MissingDependencyError as error:
            sys.stderr.write(f"{name}: {error}\n")


def find_called() -> list[Any]:
    """Find the kernels that were called in this process, as numba has them."""
    modules = [module for name, module in sys.modules.items() if name.startswith("likeforlike.")]
    values = {id(value): value for module in modules for value in vars(module).values()}
    kernels = [value for value in values.values() if type(value).__name__ == "_Kernel"]
    return [kernel._called for kernel in kernels if kernel._called is not None]


def _compile_like(model: Path) -> None:
    """Compile the kernels in another archive, for the same types."""
    with ZipFile(model) as archive:
        for name in archive.namelist():
            if name == DESCRIPTION:
                continue
            signature = pickle.loads(archive.read(name))[_SIGNATURE]
            module, _, kernel = name.rpartition("-")[0].rpartition(".")
            getattr(import_module(module), kernel)._compile().compile(signature.args)


def write_archive(path: Path, features: Sequence[str]) -> None:
    """Write the code of all kernels that this process has compiled."""
    sources = [file for file in PACKAGE.rglob("*.py") if "@compiled" in file.read_text("utf-8")]
    names = sorted(file.relative_to(PACKAGE).as_posix() for file in sources)
    description = {
        **describe_compiler(),
        "sources": hash_sources(["__init__.py", *names]),
        "features": list(features),
    }
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(DESCRIPTION, json.dumps(description))
        codes = {
            name_code(kernel.py_func, code.signature.args): code
            for kernel in find_called()
            for code in kernel.overloads.values()
        }
        for name, code in sorted(codes.items()):
            reduced = list(code._reduce())
            library, kind, (machine, _) = reduced[_LIBRARY]
            reduced[_LIBRARY] = library, kind, (machine, _stub(code.fndesc))
            reduced[_ANNOTATION] = ""  # for people, with paths of this machine
            archive.writestr(name, dumps(tuple(reduced)))


def _stub(function: Any) -> bytes:  # noqa: ANN401
    """Stand in for what other functions would inline: numba reads the names that it defines.

    Our kernels inline another form of each other, so this leaves out most of what numba keeps.
    """
    names = {function.llvm_func_name, function.llvm_cpython_wrapper_name}
    lines = [f'define void @"{name}"() {{ ret void }}' for name in sorted(names)]
    return bytes(parse_assembly("\n".join(lines)).as_bitcode())


def _check(path: Path, call: str) -> None:
    """Load all code of an archive and make a call with it; what it lacks may end this process."""
    target = cpu_target.target_context
    with ZipFile(path) as archive:
        for name in archive.namelist():
            if name != DESCRIPTION:
                code = rebuild_code(archive.read(name), target)
                wrapper = code.fndesc.llvm_cpython_wrapper_name
                if not code.library.get_pointer_to_function(wrapper):
                    raise RuntimeError(f"{name} cannot be called.")
    _numba.FOLDER = path.parent
    make_calls([call])
    compiled = [kernel.py_func.__name__ for kernel in find_called() if kernel._cache_misses]
    if compiled:
        raise RuntimeError(f"{path} has no code that can be used for {compiled}.")


def write_archives(folder: Path, processors: Sequence[str], calls: Sequence[str]) -> list[Path]:
    """Write an archive for each processor, of which this machine has to have the first."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for processor in processors:
        path = folder / f"{processor}{SUFFIX}"
        # No features beside those of its name.
        named = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": ""}
        made = ["like", str(written[0])] if written else ["calls", *calls]
        if not _start(["write", processor, str(path), *made], named):
            break
        if not _start(["check", str(path), calls[0]], {}):
            path.unlink()
            break
        written.append(path)
    return written


def _start(stage: Sequence[str], settings: Mapping[str, str]) -> bool:
    """Start this program, with numba's own settings and these; return whether it succeeded."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    with TemporaryDirectory() as cache:
        told = {
            "NUMBA_CACHE_DIR": cache,
            "NUMBA_DISABLE_INTEL_SVML": "1",
            "LIKEFORLIKE_THREADS": "1",
            **settings,
        }
        command = [sys.executable, "-m", "tools.kernels", "--stage", *stage]
        return subprocess.run(command, env={**kept, **told}, check=False).returncode == 0


def _run_stage(stage: str, *arguments: str) -> None:
    """Write an archive or check one, in a process that numba's settings were made for."""
    if stage == "check":
        path, call = arguments
        _check(Path(path), call)
        return
    processor, path, way, *names = arguments
    _numba.FOLDER = Path(path).parent / "nowhere"  # what is loaded cannot be written again
    if way == "like":
        _compile_like(Path(names[0]))
    else:
        warnings.simplefilter("ignore")
        make_calls(names)
    write_archive(Path(path), PROCESSORS[processor])


def find_processors(*, all_kinds: bool) -> list[str]:
    """Return the kinds of processors to compile for here: all, or the one that fits this best."""
    if platform.machine().lower() not in _MACHINES:
        return []
    here = processor_features()
    able = [name for name, needed in PROCESSORS.items() if here.issuperset(needed)]
    return list(PROCESSORS) if able and all_kinds else able[-1:]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write archives into a folder."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["--stage"]:
        _run_stage(*given[1:])
        return
    parser = argparse.ArgumentParser(prog="python -m tools.kernels", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--here", action="store_true", help="for this machine alone")
    parser.add_argument("--calls", nargs="+", choices=CALLS, default=list(CALLS))
    chosen = parser.parse_args(given)
    if chosen.here and any(map(fits_here, chosen.folder.glob(f"*{SUFFIX}"))):
        return
    write_archives(chosen.folder, find_processors(all_kinds=not chosen.here), chosen.calls)


if __name__ == "__main__":
    main()
