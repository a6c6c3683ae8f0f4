"""Calls, counts and failures."""

from __future__ import annotations

import faulthandler
import re
import time
import traceback
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from likeforlike.errors import InputError
from tools.fuzz.draw import Draw

__all__ = ["Failure", "Report", "Target", "run_case", "run_cases", "run_for"]

# What differs between two errors of one kind.
_NUMBERS = re.compile(r"[-+.\d]+(e[-+]?\d+)?|'[^']*'|\[.*")
# Files of numpy, compiled ones too, whose names begin with it.
_NUMPY = re.compile(r"(^|/)numpy/")
# Seconds after which one of so many calls is one that never ends.
_ENDLESS, _WATCHED = 180.0, 50


class Target(NamedTuple):
    """Something that is called.

    Attributes
    ----------
    run : calls it, and raises if what comes out cannot be.
    share : how often, compared with other targets.
    scikit_learn : whether scikit-learn checks input first, and may raise a `ValueError`.
    """

    run: Callable[[Draw], object]
    share: int
    scikit_learn: bool = False


class Failure(NamedTuple):
    """A call that ended as none should."""

    case: str
    error: str
    place: str
    calls: list[str]


@dataclass
class Report:
    """What came of all calls."""

    done: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    reasons: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)

    @property
    def calls(self) -> int:
        """How many there were."""
        return sum(self.done.values()) + sum(self.refused.values()) + len(self.failures)

    def lines(self) -> Iterator[str]:
        """The counts as text, and one failure of every kind."""
        failed = Counter(failure.case.partition(":")[0] for failure in self.failures)
        yield f"{'':24}{'calls':>9}{'answered':>10}{'refused':>9}{'failed':>8}{'ms a call':>11}"
        for name in sorted({*self.done, *self.refused, *failed}):
            counts = self.done[name], self.refused[name], failed[name]
            each = 1e3 * self.seconds[name] / max(sum(counts), 1)
            yield f"{name:24}{_columns(*counts)}{each:11.2f}"
        total = sum(self.done.values()), sum(self.refused.values()), len(self.failures)
        yield f"{'all':24}{_columns(*total)}"
        kinds: dict[tuple[str, str], list[Failure]] = {}
        for failure in self.failures:
            kind = _NUMBERS.sub("#", failure.error)[:70], failure.place
            kinds.setdefault(kind, []).append(failure)
        for (_, place), found in sorted(kinds.items(), key=lambda item: -len(item[1])):
            yield f"\n{len(found)} times: {found[0].error}\n  at {place}\n  case {found[0].case}"
            yield from (f"  {call}" for call in found[0].calls)


def _columns(done: int, refused: int, failed: int) -> str:
    return f"{done + refused + failed:9,}{done:10,}{refused:9,}{failed:8,}"


def run_case(name: str, target: Target, report: Report) -> None:
    """Make one call and note what comes of it."""
    draw = Draw(name)
    kind = name.partition(":")[0]
    begin = time.process_time()
    try:
        with _strict():
            target.run(draw)
    except InputError as error:
        report.refused[kind] += 1
        report.reasons[f"{kind}: {_NUMBERS.sub('#', str(error))[:90]}"] += 1
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 a panic inside an engine is no Exception
        if target.scikit_learn and _by_scikit_learn(error):
            report.refused[kind] += 1
        else:
            what = f"{type(error).__name__}: {str(error)[:300]}"
            report.failures.append(Failure(name, what, _place(error), draw.told()))
    else:
        report.done[kind] += 1
    report.seconds[kind] += time.process_time() - begin


def run_cases(
    targets: Mapping[str, Target],
    counts: Mapping[str, int],
    report: Report,
    first: int = 0,
    note: Callable[[str], None] = lambda _: None,
    *,
    watched: bool = True,
) -> None:
    """Make so many calls of every target, numbered from `first`.

    Whoever has a watch of their own on calls that never end does without ours, which ends the
    process.
    """
    made = 0
    try:
        for name, target in targets.items():
            for number in range(first, first + counts.get(name, 0)):
                if watched and made % _WATCHED == 0:  # a watch takes longer to set than a call
                    faulthandler.dump_traceback_later(_ENDLESS, exit=True)
                made += 1
                note(f"{name}:{number}")
                run_case(f"{name}:{number}", target, report)
    finally:
        if watched:
            faulthandler.cancel_dump_traceback_later()


def run_for(
    targets: Mapping[str, Target],
    minutes: float,
    report: Report,
    first: int = 0,
    note: Callable[[str], None] = lambda _: None,
) -> None:
    """Make calls until the time is over, all targets in turn by their shares."""
    end = time.monotonic() + 60.0 * minutes
    while time.monotonic() < end:
        step = {name: max(1, target.share // 100) for name, target in targets.items()}
        for name, count in step.items():
            begin = first * count
            run_cases({name: targets[name]}, {name: count}, report, begin, note)
            if time.monotonic() >= end:
                break
        first += 1


@contextmanager
def _strict() -> Iterator[None]:
    """Warnings about arithmetic are errors; those that are meant for users are not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        yield


def _by_scikit_learn(error: BaseException) -> bool:
    """Whether scikit-learn raised this, of itself, as it documents and its own checks ask for."""
    frames = traceback.extract_tb(error.__traceback__)
    last = next(frame for frame in reversed(frames) if not _NUMPY.search(frame.filename))
    return isinstance(error, ValueError | TypeError) and "/sklearn/" in last.filename


def _place(error: BaseException) -> str:
    """Where in the library, or at last, it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/likeforlike/" in frame.filename] or frames
    return f"{own[-1].filename.rpartition('/src/')[2]}:{own[-1].lineno} {own[-1].name}"
