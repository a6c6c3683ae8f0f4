"""`python -m tools.fuzz`: calls for some minutes, counts and failures; or one call once more."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.fuzz import TARGETS
from tools.fuzz.runner import Report, run_case, run_cases, run_for

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Make calls, print what came of them; 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0, help="how long")
    parser.add_argument(
        "--calls", type=float, help="instead: so many times the share of each target"
    )
    parser.add_argument("--first", type=int, default=0, help="number of the first call")
    parser.add_argument("--only", choices=list(TARGETS), help="one target alone")
    parser.add_argument("--case", help="one call, as a report names it")
    parser.add_argument("--reasons", action="store_true", help="print why calls were refused")
    given = parser.parse_args(arguments)
    os.environ.setdefault("LIKEFORLIKE_THREADS", "1")
    report = Report()
    chosen = {given.only: TARGETS[given.only]} if given.only else TARGETS
    if given.case:
        run_case(given.case, TARGETS[given.case.partition(":")[0]], report)
    else:
        with _noted() as note:
            if given.calls is None:
                run_for(chosen, given.minutes, report, given.first, note)
            else:
                counts = {name: int(given.calls * each.share) for name, each in chosen.items()}
                run_cases(chosen, counts, report, given.first, note)
    print("\n".join(report.lines()))  # noqa: T201
    if given.reasons:
        for reason, count in report.reasons.most_common():
            print(f"{count:8,}  {reason}")  # noqa: T201
    return 1 if report.failures else 0


@contextmanager
def _noted() -> Iterator[Callable[[str], None]]:
    """Keep the name of the call under way in a file: nobody can ask who has crashed."""
    path = Path(tempfile.gettempdir(), f"fuzz-{os.getpid()}")
    print(f"if this ends without a report, {path} says which call it was", flush=True)  # noqa: T201
    with path.open("wb", buffering=0) as file:

        def note(case: str) -> None:
            file.seek(0)
            file.write(f"{case}\n".ljust(80).encode())

        yield note
    path.unlink()


if __name__ == "__main__":
    sys.exit(main())
