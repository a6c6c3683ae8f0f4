"""Run the comparisons: `python -m benchmarks [--json PATH] [--quick] [--only NAME]`.

Results are written as they come, so that a run that is stopped keeps what it has measured. A family
whose data or whose peer cannot be had is left out by name. `--only` renews one family of a file
that is there; every comparison says when it was measured, and of which source. The exit code is 1
when a peer finds another value than we do, and 0 otherwise: a ratio that falls short says "no" in
the table and fails nothing, since machines are noisy.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.report import as_json, as_table, source_digest, with_family
from benchmarks.suite import FAMILIES, Results, run
from likeforlike.files import write_whole

__all__ = ["main", "run"]


def main(arguments: list[str] | None = None) -> int:
    """Run, print the table, write the JSON; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Compare the speed of likeforlike with its peers."
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the results here")
    parser.add_argument(
        "--quick", action="store_true", help="tiny sizes, to check values rather than times"
    )
    parser.add_argument("--only", choices=list(FAMILIES), help="run one family of comparisons")
    options = parser.parse_args(arguments)

    source = source_digest()

    before = _before(options.json) if options.only else None

    def keep(results: Results) -> None:
        if options.json is not None:
            found = as_json(results, quick=options.quick, source=source)
            if before is not None:
                found = with_family(before, found, options.only)
            write_whole(options.json, json.dumps(found, indent=2) + "\n")

    results = run(options.quick, options.only, keep)
    # A file or a log has no width of its own; the table needs more than the usual 80.
    Console(width=None if sys.stdout.isatty() else 120).print(as_table(results.comparisons))
    for family, reason in results.left_out.items():
        print(f"left out: {family}. {reason}", file=sys.stderr)
    # Every comparison imports the library afresh, so an edit would show up half-way.
    if source_digest() != source:
        print("The library changed during the run; do not use these figures.", file=sys.stderr)
    wrong = [comparison for comparison in results.comparisons if comparison.disagrees]
    for comparison in wrong:
        print(
            f"{comparison.name}: the values differ by {comparison.measured.difference:.3g}, but "
            f"at most {comparison.measured.tolerance:.3g} is rounding.",
            file=sys.stderr,
        )
    return 1 if wrong else 0


def _before(path: Path | None) -> dict[str, Any] | None:
    """What a file of results holds already, if there is one."""
    if path is None or not path.exists():
        return None
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


if __name__ == "__main__":
    sys.exit(main())
