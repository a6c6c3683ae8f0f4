"""Run the comparisons: `python -m benchmarks [--json PATH] [--quick] [--only NAME]`.

The exit code is 1 when a peer finds another value than we do, and 0 otherwise: a ratio that falls
short says "no" in the table and fails nothing, since machines are noisy.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from rich.console import Console

from benchmarks.report import as_json, as_table, source_digest
from benchmarks.suite import FAMILIES, run

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
    comparisons = run(options.quick, options.only)
    # A file or a log has no width of its own; the table needs more than the usual 80.
    Console(width=None if sys.stdout.isatty() else 120).print(as_table(comparisons))
    # Every comparison imports the library afresh, so an edit would show up half-way.
    if source_digest() != source:
        print("The library changed during the run; do not use these figures.", file=sys.stderr)
    if options.json is not None:
        results = as_json(comparisons, quick=options.quick)
        options.json.write_text(json.dumps(results, indent=2) + "\n")
    wrong = [comparison for comparison in comparisons if comparison.disagrees]
    for comparison in wrong:
        print(
            f"{comparison.name}: the values differ by {comparison.measured.difference:.3g}, but "
            f"at most {comparison.measured.tolerance:.3g} is rounding.",
            file=sys.stderr,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
