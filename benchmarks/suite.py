"""All families of comparisons, and how to run them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from multiprocessing import get_context

from benchmarks import (
    audit,
    fairbit,
    growth,
    inference,
    levels,
    nested,
    smooth,
    smooth_penalty,
    startup,
    training,
)
from benchmarks.timing import Case, Comparison
from likeforlike.errors import InputError

__all__ = ["FAMILIES", "Results", "run"]

FAMILIES: dict[str, Callable[[bool], list[Case]]] = {
    "fairbit": fairbit.cases,
    "nested": nested.cases,
    "levels": levels.cases,
    "growth": growth.cases,
    "audit": audit.cases,
    "inference": inference.cases,
    "training": training.cases,
    "smooth": smooth.cases,
    "smooth_penalty": smooth_penalty.cases,
    "startup": startup.cases,
}


@dataclass(frozen=True, slots=True)
class Results:
    """What was measured so far.

    Attributes
    ----------
    comparisons : in the order of the suite.
    left_out : families that could not be run here, and why.
    """

    comparisons: list[Comparison] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def run(
    quick: bool, only: str | None = None, keep: Callable[[Results], None] | None = None
) -> Results:
    """Run all comparisons, or one family of them.

    A family whose data or whose peer cannot be had here is left out by name, and the others run.

    Parameters
    ----------
    quick : tiny sizes. Values are still compared, but the ratios mean nothing, so none is
        required.
    only : name of a family.
    keep : called with what there is after every comparison, so that a run that is stopped loses
        nothing it has measured.
    """
    if only is not None and only not in FAMILIES:
        raise ValueError(f"only must be one of {list(FAMILIES)}, not {only!r}.")
    results = Results()
    for family, cases in FAMILIES.items():
        if only not in (None, family):
            continue
        measured: list[Comparison] = []
        try:
            for case in cases(quick):
                # A line, not a spinner: an animation would compete with what is being timed.
                if sys.stderr.isatty():
                    print(case.name, file=sys.stderr)
                measured.append(replace(case, required=None).run() if quick else _run_alone(case))
                if keep is not None:
                    keep(replace(results, comparisons=[*results.comparisons, *measured]))
        except (InputError, ModuleNotFoundError) as lacking:
            results.left_out[family] = str(lacking)
            continue
        results.comparisons.extend(measured)
    if keep is not None:
        keep(results)
    return results


def _run_alone(case: Case) -> Comparison:
    """Run a comparison in a fresh process.

    What ran before leaves the memory allocator in another state, which can double the time of
    code that allocates large arrays. A fresh process is what a user starts with, and it makes
    the figures independent of the order of the comparisons.
    """
    with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as process:
        return process.submit(case.run).result()
