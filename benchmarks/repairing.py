"""Processor time of repairs without the group: 30,000 rows fitted, a million transformed.

    python -m benchmarks.repairing --json benchmarks/repairing.json

Ten inputs, twelve levels, the default classifier. The group is guessed, maps are solved for all
rows and for each of five folds, and parity is measured with its intervals. Required are 5 and 4
seconds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from likeforlike.repair import FairDecisions, UnawareRepair

__all__ = ["main", "run"]


def run(rows: int, new: int) -> dict[str, float]:
    """Seconds of processor time by what they were spent on."""
    rng = np.random.default_rng(0)
    inputs, levels = rng.normal(size=(rows, 10)), rng.integers(0, 12, rows)
    groups = rng.random(rows) < 1.0 / (1.0 + np.exp(0.1 * levels - 1.2 * inputs[:, 0]))
    scores = 1.0 / (1.0 + np.exp(-(inputs[:, 0] + 0.7 * inputs[:, 1] + 0.1 * levels)))
    who = {"sensitive_features": groups, "legitimate_features": levels}
    # The first fit compiles.
    UnawareRepair().fit(scores, inputs, **who)
    repair, rule = UnawareRepair(), FairDecisions()
    place = rng.integers(0, rows, new)
    columns = scores[place], inputs[place]
    known = {"legitimate_features": levels[place]}
    return {
        f"UnawareRepair.fit, {rows:,} rows": _seconds(lambda: repair.fit(scores, inputs, **who)),
        f"UnawareRepair.transform, {new:,} rows": _seconds(
            lambda: repair.transform(*columns, **known)
        ),
        f"FairDecisions.fit, {rows:,} rows": _seconds(lambda: rule.fit(scores, inputs, **who)),
        f"FairDecisions.predict, {new:,} rows": _seconds(lambda: rule.predict(*columns, **known)),
    }


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return round(time.process_time() - start, 3)


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write what was found")
    parser.add_argument("--quick", action="store_true", help="few rows")
    given = parser.parse_args(arguments)
    found = run(3000, 10_000) if given.quick else run(30_000, 1_000_000)
    text = json.dumps(found, indent=1) + "\n"
    sys.stdout.write(text)
    if given.json is not None:
        given.json.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
