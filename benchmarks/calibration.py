"""Whether intervals hold what they promise: simulations that take too long for a test.

    python -m benchmarks.calibration --json benchmarks/calibration.json --page docs/calibration.md
    python -m benchmarks.calibration --read benchmarks/calibration.json --page docs/calibration.md

Data whose disparity is known are drawn again and again, and the share of intervals that contain it
is counted. The tests try the smaller cells with fewer repetitions in every run, and hold the page
and what it claims to the file.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import source_digest
from likeforlike import Cells
from likeforlike.contrasts import contrasts
from likeforlike.files import write_whole
from likeforlike.inference import estimate
from likeforlike.measures import level_weights
from likeforlike.transport.atoms import FloatArray, IntArray

__all__ = [
    "CELLS",
    "KINDS",
    "LEVELS",
    "SHIFTS",
    "Coverage",
    "balanced",
    "coverage",
    "page",
    "target",
]

LEVELS = 10
KINDS = ("continuous", "ratings", "decisions")
SHIFTS = (0.0, 0.05, 0.15)
# Rows of a cell, and how often data of that size are drawn.
CELLS = {20: 1000, 100: 500, 400: 250}
_TRIAL = {20: 20, 100: 10, 400: 5}
_WORDS = """# Calibration

Made by `python -m benchmarks.calibration`, which draws data whose disparity is known and counts how
often the 95% interval of an audit contains it. Ten levels, two groups, so many rows in every cell;
in the second group scores are higher by the shift (for decisions, the rate is). *Error* is one
standard error of the simulation. *Above* and *below* say on which side the truth was missed. Above
is the dangerous side: there a disparity looks smaller than it is.
"""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often intervals contained the truth in one setting.

    Attributes
    ----------
    kind : of the scores.
    shift : of the second group's scores or rates.
    cell : rows in every cell.
    truth : the disparity of the population.
    repetitions : how many data sets were drawn.
    covered, above, below : in how many the truth was in the interval, above it, below it.
    value : the root of the mean of the squared estimates.
    width : mean width of the intervals.
    """

    kind: str
    shift: float
    cell: int
    truth: float
    repetitions: int
    covered: int
    above: int
    below: int
    value: float
    width: float


def balanced(
    seed: int, kind: str, cell: int, shift: float, n_levels: int = LEVELS
) -> tuple[FloatArray, IntArray, IntArray]:
    """Scores, groups and levels with `cell` rows in every cell.

    Parameters
    ----------
    seed : of the draw.
    kind : `"continuous"`, `"ratings"` (six values) or `"decisions"`.
    cell : rows in every cell.
    shift : of the second group.
    n_levels : how many levels there are.
    """
    rng = np.random.default_rng(seed)
    groups = np.tile([0, 1], cell * n_levels)
    levels = np.repeat(np.arange(n_levels), 2 * cell)
    if kind == "decisions":
        return (rng.random(groups.size) < 0.4 + shift * groups).astype(float), groups, levels
    scores = rng.beta(2.0, 2.0, groups.size)
    if kind == "ratings":
        return np.round((0.8 * scores + shift * groups) * 5) / 5, groups, levels
    return scores + shift * groups, groups, levels


def target(kind: str, shift: float) -> float:
    """The disparity of the population, from a closed form or a very large sample."""
    if shift == 0.0 or kind == "continuous":
        return shift
    from likeforlike.inference.estimation import _squared_distances
    from likeforlike.inference.spread import steps_of

    cells = Cells.from_rows(*balanced(0, kind, 1_000_000, shift, 1))
    steps, atoms = steps_of(cells.atoms.values), cells.atoms
    pairs = contrasts(cells, "pairwise")[0].segments()
    squared = _squared_distances(
        steps.low, steps.high, atoms.mass, atoms.offsets, pairs, steps.two_valued
    )
    return math.sqrt(float(squared[0]))


def coverage(kind: str, shift: float, cell: int, repetitions: int) -> Coverage:
    """Draw data, estimate, and count where the truth lies.

    Parameters
    ----------
    kind, shift, cell : as for `balanced`.
    repetitions : how many data sets are drawn.
    """
    truth = target(kind, shift)
    squares, widths = [], []
    above = below = 0
    for seed in range(repetitions):
        cells = Cells.from_rows(*balanced(seed + 1, kind, cell, shift))
        contrast = contrasts(cells, "pairwise")[0]
        found = estimate(contrast, level_weights(contrast, "marginal"), seed=seed)
        low, high = found.interval
        above += truth > high
        below += truth < low
        squares.append(found.value**2)
        widths.append(high - low)
    return Coverage(
        kind=kind,
        shift=shift,
        cell=cell,
        truth=truth,
        repetitions=repetitions,
        covered=repetitions - above - below,
        above=above,
        below=below,
        value=math.sqrt(float(np.mean(squares))),
        width=float(np.mean(widths)),
    )


def page(results: dict[str, Any]) -> str:
    """The results as a page of the documentation.

    Parameters
    ----------
    results : what this command wrote.
    """
    lines = [
        _WORDS,
        f"Measured on {results['date'][:10]}; source `{results['source']}`.\n",
        "| scores | shift | rows in a cell | truth | coverage | error | above | below | width |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    return "\n".join([*lines, *map(_line, results["settings"])]) + "\n"


def _line(setting: dict[str, Any]) -> str:
    share = setting["covered"] / setting["repetitions"]
    error = math.sqrt(share * (1.0 - share) / setting["repetitions"])
    cells = (
        setting["kind"],
        f"{setting['shift']:g}",
        f"{setting['cell']:,}",
        f"{setting['truth']:.3f}",
        f"{share:.3f}",
        f"{error:.3f}",
        f"{setting['above'] / setting['repetitions']:.3f}",
        f"{setting['below'] / setting['repetitions']:.3f}",
        f"{setting['width']:.3f}",
    )
    return "| " + " | ".join(cells) + " |"


def _all(repetitions: dict[int, int]) -> Iterable[Coverage]:
    for kind in KINDS:
        for cell, times in repetitions.items():
            for shift in SHIFTS:
                yield coverage(kind, shift, cell, times)


def main(arguments: list[str] | None = None) -> int:
    """Simulate or read, write what is asked for; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--read", type=Path, help="simulate nothing; take the results from here")
    parser.add_argument("--json", type=Path, help="write the results here")
    parser.add_argument("--page", type=Path, help="write the page of the documentation here")
    parser.add_argument("--quick", action="store_true", help="a few repetitions, as a trial")
    given = parser.parse_args(arguments)
    if given.read is not None:
        results = json.loads(given.read.read_text("utf-8"))
    else:
        settings: list[dict[str, Any]] = []
        results = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "source": source_digest(),
            "settings": settings,
        }
        for found in _all(_TRIAL if given.quick else CELLS):
            settings.append(asdict(found))
            if sys.stderr.isatty():
                print(_line(settings[-1]), file=sys.stderr)
    if given.json is not None:
        write_whole(given.json, json.dumps(results, indent=1) + "\n")
    if given.page is not None:
        write_whole(given.page, page(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
