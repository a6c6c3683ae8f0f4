"""Whether tests and intervals hold what they promise: the page of both simulations.

    python -m benchmarks.calibration                 # simulates, about twenty minutes on a core
    python -m benchmarks.calibration --read          # makes the page of the results that are kept

The results are kept in `calibration_tests.json` and `calibration_estimates.json`, the page is
`docs/calibration.md`. Tests repeat the cheapest settings in every run, and hold the kept results to
the same bounds.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import calibration_estimates, calibration_tests
from likeforlike.files._writing import write_whole

HERE = Path(__file__).parent
TESTS = HERE / "calibration_tests.json"
ESTIMATES = HERE / "calibration_estimates.json"
PAGE = HERE.parent / "docs" / "calibration.md"

_OPENING = """# Calibration

How often the tests of an audit reject where there is nothing to find, what they find where there is
something, and how often its intervals hold the truth: simulated, with the settings in which an
earlier version went wrong among them. `python -m benchmarks.calibration` makes this page.
[What an audit says](statistics.md) says what each figure is.
"""


def page(tests: dict[str, Any], estimates: dict[str, Any]) -> str:
    """Both tables as one page of Markdown."""
    parts = [_OPENING, calibration_tests.tables(tests), calibration_estimates.tables(estimates)]
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def main(arguments: list[str] | None = None) -> int:
    """Simulate or read, and write the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--read", action="store_true", help="simulate nothing, read what is kept")
    given = parser.parse_args(arguments)
    if not given.read:
        calibration_tests.main(["--json", str(TESTS)])
        calibration_estimates.main(["--json", str(ESTIMATES)])
    kept = (json.loads(path.read_text("utf-8")) for path in (TESTS, ESTIMATES))
    write_whole(PAGE, page(*kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())
