"""What a user waits for before anything is measured: imports, help, the first audit, the first fit.

Processor seconds of a process of its own, children included, and the median over some of them; the
two sides take turns. Processor time is what the programs need; what a user waits also depends on
the disk and on what else the machine does. The peer of an audit is the import of fairlearn's
`MetricFrame`, which measures nothing yet; elsewhere it is a limit we set ourselves.

"First" means after an installation: the wheel was built here, as for a release, and installed where
nothing has run yet. Neither numba nor the templates of the page have left anything on the disk.
One is told that the processor has no AVX-512.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.timing import Case, Measured

__all__ = ["cases"]

_ROWS = 4_000
_PERMUTATIONS = 999
_ROOT = Path(__file__).parents[1]
_Settings = tuple[tuple[str, str], ...]
_OLDER: _Settings = (
    ("NUMBA_CPU_NAME", "haswell"),
    ("NPY_DISABLE_CPU_FEATURES", "X86_V4 AVX512_ICL AVX512_SPR"),
)
_FAIRLEARN = "from fairlearn.metrics import MetricFrame"
_LOANS = f"from likeforlike.datasets import make_loans; loans = make_loans({_ROWS}, gap=0.15)"
_FIT = f"""
import likeforlike as lfl
{_LOANS}
who = {{"sensitive_features": loans.groups, "legitimate_features": loans.levels}}
lfl.FairClassifier(max_epochs=5, random_state=0).fit(loans.inputs().matrix, loans.targets, **who)
"""


class _Program(NamedTuple):
    """A program to be started.

    Attributes
    ----------
    arguments : of the Python that runs this.
    fresh : whether it runs in an installation of the wheel where nothing has run before.
    settings : of the environment.
    """

    arguments: tuple[str, ...]
    fresh: bool = False
    settings: _Settings = ()


def _command(*arguments: str) -> _Program:
    return _Program(("-m", "likeforlike", *arguments))


def _code(text: str) -> _Program:
    return _Program(("-c", text))


def _audit() -> _Program:
    roles = ("--score", "approved", "--sensitive", "sex", "--legitimate", "income")
    written = ("--permutations", str(_PERMUTATIONS), "--report", "page.html")
    return _command("audit", "loans.csv", *roles, *written)


def _first(program: _Program, settings: _Settings = ()) -> _Program:
    return program._replace(fresh=True, settings=settings)


def cases(quick: bool) -> list[Case]:
    """Warm and first starts; those that compile are left out where values alone are checked."""
    rounds = 1 if quick else 5
    audit = f"audit of {_ROWS:,} rows, {_PERMUTATIONS} permutations and a page"
    warm: list[tuple[str, _Program, _Program | float, float]] = [
        (f"{audit}: import of fairlearn's MetricFrame", _audit(), _code(_FAIRLEARN), 1.5),
        (f"{audit}: 0.85 s", _audit(), 0.85, 1.0),
        ("likeforlike --help: 0.4 s", _command("--help"), 0.4, 1.0),
        ("import likeforlike: 0.5 s", _code("import likeforlike"), 0.5, 1.0),
        (
            "import likeforlike and its audit: import of fairlearn's MetricFrame",
            _code("import likeforlike; likeforlike.audit"),
            _code(_FAIRLEARN),
            1.0,
        ),
    ]
    first: list[tuple[str, _Program, _Program | float, float]] = [
        (f"first {audit}: 2.5 s", _first(_audit()), 2.5, 1.0),
        (f"first {audit}, without AVX-512: 3.25 s", _first(_audit(), _OLDER), 3.25, 1.0),
        ("first fit of FairClassifier: 6 s", _first(_code(_FIT)), 6.0, 1.0),
    ]
    return [
        Case(name, partial(_measure, ours, peer, rounds), "ours / peer", required)
        for name, ours, peer, required in (warm if quick else [*warm, *first])
    ]


def _measure(ours: _Program, peer: _Program | float, rounds: int) -> Measured:
    with TemporaryDirectory() as name:
        folder = Path(name)
        _run(_code(f"{_LOANS}; loans.frame.drop('score').write_csv('loans.csv')"), folder)
        if not ours.fresh and rounds > 1:
            _run(ours, folder)  # compiles what did not come along
        spent, others = [], []
        for _ in range(rounds):
            spent.append(_run(ours, folder))
            if isinstance(peer, _Program):
                others.append(_run(peer, folder))
    return Measured(median(spent), median(others) if isinstance(peer, _Program) else peer)


def _run(program: _Program, folder: Path) -> float:
    """Processor seconds that a program and its children took."""
    environment = os.environ | dict(program.settings)
    with TemporaryDirectory() as compiled:
        if program.fresh:
            place = _installation()
            shutil.rmtree(place / "likeforlike/report/templates/__pycache__", ignore_errors=True)
            environment |= {"NUMBA_CACHE_DIR": compiled, "PYTHONPATH": str(place)}
        before = os.times()
        subprocess.run(
            [sys.executable, *program.arguments],
            cwd=folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        after = os.times()
    user = after.children_user - before.children_user
    return user + after.children_system - before.children_system


@cache
def _installation() -> Path:
    """Build the wheel as it is released, and install it by itself; return the folder.

    It stays in `build` until the source changes, since each comparison has a process of its own.
    """
    from benchmarks.report import source_digest  # which imports the suite

    place = _ROOT / "build" / f"startup-{source_digest()}"
    if place.exists():
        return place
    kept = {key: value for key, value in os.environ.items() if key != "LIKEFORLIKE_KERNELS"}
    with TemporaryDirectory() as name:
        built = Path(name) / "built"
        _call("hatchling", "build", "-t", "wheel", "-d", str(built), settings=kept)
        (wheel,) = map(str, built.iterdir())
        pip = ("pip", "install", "--quiet", "--no-deps", "--target")
        _call(*pip, str(Path(name) / "installed"), wheel, settings=kept)
        shutil.copytree(Path(name) / "installed", place)
    return place


def _call(*arguments: str, settings: Mapping[str, str]) -> None:
    program = [sys.executable, "-m", *arguments]
    subprocess.run(program, cwd=_ROOT, env=settings, stdout=subprocess.DEVNULL, check=True)
