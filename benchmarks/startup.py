"""What a user waits for before anything is measured: imports, help, the first audit, the first fit.

Processor seconds of a process of its own, children included, and the median over some of them; the
two sides take turns. Processor time is what the programs need; what a user waits also depends on
the disk and on what else the machine does. The peer of an audit is the import of fairlearn's
`MetricFrame`, which measures nothing yet; elsewhere it is a limit we set ourselves.

"First" means that numba's cache is empty, as after an installation: every kernel is compiled.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.timing import Case, Measured

__all__ = ["cases"]

_ROWS = 4_000
_PERMUTATIONS = 999
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
    fresh : whether numba finds an empty cache every time.
    """

    arguments: tuple[str, ...]
    fresh: bool = False


def _command(*arguments: str, fresh: bool = False) -> _Program:
    return _Program(("-m", "likeforlike", *arguments), fresh)


def _code(text: str, *, fresh: bool = False) -> _Program:
    return _Program(("-c", text), fresh)


def _audit(*, fresh: bool = False) -> _Program:
    roles = ("--score", "approved", "--sensitive", "sex", "--legitimate", "income")
    written = ("--permutations", str(_PERMUTATIONS), "--report", "page.html")
    return _command("audit", "loans.csv", *roles, *written, fresh=fresh)


def cases(quick: bool) -> list[Case]:
    """Warm and first starts; those that compile are left out where values alone are checked."""
    rounds = 1 if quick else 5
    audit = f"audit of {_ROWS:,} rows, {_PERMUTATIONS} permutations and a page"
    warm: list[tuple[str, _Program, _Program | float, float]] = [
        (f"{audit}: import of fairlearn's MetricFrame", _audit(), _code(_FAIRLEARN), 1.5),
        (f"{audit}: 1.5 s", _audit(), 1.5, 1.0),
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
        (f"first {audit}, nothing compiled yet: 12 s", _audit(fresh=True), 12.0, 1.0),
        ("first fit of FairClassifier, nothing compiled yet: 20 s", _code(_FIT, fresh=True), 20, 1),
    ]
    return [
        Case(name, partial(_measure, ours, peer, rounds), "ours / peer", required)
        for name, ours, peer, required in (warm if quick else [*warm, *first])
    ]


def _measure(ours: _Program, peer: _Program | float, rounds: int) -> Measured:
    with TemporaryDirectory() as name:
        folder = Path(name)
        _run(_code(f"{_LOANS}; loans.frame.drop('score').write_csv('loans.csv')"), folder)
        if not ours.fresh:
            _run(ours, folder)  # compiles what is not compiled yet
        spent, others = [], []
        for _ in range(rounds):
            spent.append(_run(ours, folder))
            if isinstance(peer, _Program):
                others.append(_run(peer, folder))
    return Measured(median(spent), median(others) if isinstance(peer, _Program) else peer)


def _run(program: _Program, folder: Path) -> float:
    """Processor seconds that a program and its children took."""
    with TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache} if program.fresh else None
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
