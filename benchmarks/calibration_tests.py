"""Whether the tests hold what they promise: simulations too long for a test.

    python -m benchmarks.calibration_tests --json benchmarks/calibration_tests.json
    python -m benchmarks.calibration_tests --read benchmarks/calibration_tests.json

Data are drawn again and again and rejections at 5% are counted: at parity, where there is nothing
to find; where one of many kinds of disparity is to be found, beside the two tests that the headline
test is made of first of all; at the shift that it calls detectable; and among twelve groups. The
second line prints the tables. The suite tries some of these settings in every run, and holds the
file to the same bounds.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import numpy as np

from benchmarks.commands import command_line, read_or_run, write_json
from benchmarks.report import source_digest
from benchmarks.simulated import DETECTABLE, FAMILIES, PARITY, POWER, Draw, Sample, Shifted
from likeforlike import Cells
from likeforlike.disparity import contrasts, level_weights
from likeforlike.inference import HeadlineTest, headline_test, omnibus_test
from likeforlike.inference._contrast_test import adjust_contrasts

PERMUTATIONS = 199
REPETITIONS = {"parity": 1000, "power": 500, "detectable": 500, "families": 500}
"""How often data are drawn for each table."""

_SIGNIFICANCE = 0.05
_WORDS = {
    "parity": """## The headline test at parity

How often it rejects at 5% where the groups do not differ, and how often step-down calls any level
different. The p-value is exact, so the rate is 5% or, where scores have few values, less. 1,000
data sets find a rate of 5% between 3.6% and 6.4% in 19 settings of 20.
""",
    "power": """## What the headline test finds

How often it rejects where there is something to find, beside tests of the gap of the means alone
and of Σ Q W_2² alone, from the same permutations.
""",
    "detectable": """## The shift it calls detectable

How often a shift of that size is found. The shift is the median over eight samples at parity;
what is meant is four times in five.
""",
    "families": """## Twelve groups

How often any of the contrasts that do not differ is called different after Holm's adjustment, how
many of those that differ are found, and how often the omnibus test rejects.
""",
}
_HEADS = {
    "parity": ("data", "data sets", "rejected", "any level"),
    "power": ("disparity", "data sets", "gap alone", "W_2² alone", "headline"),
    "detectable": ("data", "data sets", "shift", "found"),
    "families": ("data", "data sets", "any false alarm", "found", "omnibus"),
}


def headline_of(drawn: Sample, seed: int) -> HeadlineTest:
    """The headline test with as many permutations as all simulations have."""
    return headline_test(*drawn, permutations=PERMUTATIONS, random_state=seed)


def rejections(draw: Draw, repetitions: int) -> dict[str, float]:
    """How often the headline test, two of its components and any level reject at 5%.

    Parameters
    ----------
    draw : from a generator to a sample.
    repetitions : how many samples are drawn.
    """
    rejected = np.zeros(4)
    for seed in range(repetitions):
        test = headline_of(draw(np.random.default_rng([seed, 1])), seed)
        p_values = (
            test.p_value,
            test.level_adjusted.min(),
            test.components["gap"],
            test.components["distance"],
        )
        rejected += np.array(p_values) <= _SIGNIFICANCE
    names = ("headline", "any_level", "gap", "cost")
    return dict(zip(names, (rejected / repetitions).tolist(), strict=True))


def power_at_detectable(draw: Shifted, repetitions: int) -> dict[str, float | None]:
    """How often the shift that the test calls detectable is found.

    Parameters
    ----------
    draw : from a generator and a shift to a sample.
    repetitions : how many samples are drawn.
    """
    claimed = [
        headline_test(*draw(np.random.default_rng([seed, 2]), 0.0), random_state=seed).detectable
        for seed in range(8)
    ]
    shift = float(np.median([math.inf if one is None else one for one in claimed]))
    found = rejections(lambda rng: draw(rng, shift), repetitions)["headline"]
    return {"shift": shift, "headline": found}


def family_errors(
    draw: Callable[[np.random.Generator], Cells],
    equal: Callable[[int, int], bool],
    repetitions: int,
) -> dict[str, float | None]:
    """Any false alarm among all contrasts, the share of differences found, the omnibus test.

    Parameters
    ----------
    draw : from a generator to cells of many groups.
    equal : whether two groups do not differ.
    repetitions : how many data sets are drawn.
    """
    alarms, found, omnibus = 0, [], 0
    for seed in range(repetitions):
        cells = draw(np.random.default_rng([seed, 3]))
        compared = contrasts(cells, "pairwise")
        tests = [
            headline_test(
                contrast,
                level_weights(contrast, "marginal"),
                permutations=PERMUTATIONS,
                random_state=1000 * seed + number,
                contrasts=len(compared),
            )
            for number, contrast in enumerate(compared)
        ]
        rejected = adjust_contrasts(tests) <= _SIGNIFICANCE
        same = np.array([equal(*contrast.positions) for contrast in compared])
        alarms += bool(rejected[same].any())
        found.append(rejected[~same].mean() if not same.all() else math.nan)
        everybody = contrasts(cells, "barycenter")[0]
        test = omnibus_test(everybody, permutations=PERMUTATIONS, random_state=seed)
        omnibus += test.p_value <= _SIGNIFICANCE
    power = float(np.mean(found))
    return {
        "any_false_alarm": alarms / repetitions,
        "found": None if math.isnan(power) else power,
        "omnibus": omnibus / repetitions,
    }


def _shown(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _line(table: str, setting: dict[str, Any]) -> str:
    """A line of a table."""
    columns = {
        "parity": ("headline", "any_level"),
        "power": ("gap", "cost", "headline"),
        "detectable": ("shift", "headline"),
        "families": ("any_false_alarm", "found", "omnibus"),
    }[table]
    figures = [_shown(setting[name]) for name in columns]
    return f"| {' | '.join([setting['data'], str(setting['repetitions']), *figures])} |"


def tables(results: dict[str, Any]) -> str:
    """The results as tables for a page of the documentation.

    Parameters
    ----------
    results : what this command wrote.
    """
    lines = []
    for table, head in _HEADS.items():
        lines += [
            _WORDS[table],
            f"| {' | '.join(head)} |",
            f"|---|{'---:|' * (len(head) - 1)}",
            *(_line(table, setting) for setting in results[table]),
            "",
        ]
    return "\n".join(lines)


def _settings(repetitions: dict[str, int]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every setting of every table, as it is simulated."""
    for name, draw in PARITY.items():
        counted = rejections(draw, repetitions["parity"])
        yield "parity", {"data": name, **counted}
    for name, draw in POWER.items():
        yield "power", {"data": name, **rejections(draw, repetitions["power"])}
    for name, shifted in DETECTABLE.items():
        at_detectable = power_at_detectable(shifted, repetitions["detectable"])
        yield "detectable", {"data": name, **at_detectable}
    for name, (cells, equal) in FAMILIES.items():
        errors = family_errors(cells, equal, repetitions["families"])
        yield "families", {"data": name, **errors}


def _simulated(repetitions: dict[str, int]) -> dict[str, Any]:
    """All tables; each line is shown as it comes."""
    results: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": source_digest(),
        "permutations": PERMUTATIONS,
        **{table: [] for table in _HEADS},
    }
    for table, setting in _settings(repetitions):
        setting["repetitions"] = repetitions[table]
        results[table].append(setting)
        print(_line(table, setting), file=sys.stderr, flush=True)
    return results


def main(arguments: list[str] | None = None) -> int:
    """Simulate or read, write what is asked for; returns the exit code."""
    given = command_line("calibration_tests", __doc__).parse_args(arguments)
    times = {table: 4 if given.quick else many for table, many in REPETITIONS.items()}
    results = read_or_run(given, lambda: _simulated(times))
    write_json(given.json, results)
    print(tables(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
