"""All families of comparisons, and how to run them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

from benchmarks import audit, fairbit, growth, levels, nested, training
from benchmarks.timing import Case, Comparison

__all__ = ["FAMILIES", "run"]

FAMILIES: dict[str, Callable[[bool], list[Case]]] = {
    "fairbit": fairbit.cases,
    "nested": nested.cases,
    "levels": levels.cases,
    "growth": growth.cases,
    "audit": audit.cases,
    "training": training.cases,
}


def run(quick: bool, only: str | None = None) -> list[Comparison]:
    """Run all comparisons, or one family of them.

    Parameters
    ----------
    quick : tiny sizes. Values are still compared, but the ratios mean nothing, so none is
        required.
    only : name of a family.
    """
    if only is not None and only not in FAMILIES:
        raise ValueError(f"only must be one of {list(FAMILIES)}, not {only!r}.")
    found = []
    for case in _chosen(quick, only):
        # A line, not a spinner: an animation would compete with what is being timed.
        if sys.stderr.isatty():
            print(case.name, file=sys.stderr)
        found.append(replace(case, required=None).run() if quick else _run_alone(case))
    return found


def _chosen(quick: bool, only: str | None) -> list[Case]:
    return [case for name in FAMILIES if only in (None, name) for case in FAMILIES[name](quick)]


def _run_alone(case: Case) -> Comparison:
    """Run a comparison in a fresh process.

    What ran before leaves the memory allocator in another state, which can double the time of
    code that allocates large arrays. A fresh process is what a user starts with, and it makes
    the figures independent of the order of the comparisons.
    """
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
        return process.submit(case.run).result()
