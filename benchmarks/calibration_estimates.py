"""Whether estimates hold what they promise: gaps, distances, the design test, Simpson's paradox.

    python -m benchmarks.calibration_estimates --json benchmarks/calibration_estimates.json
    python -m benchmarks.calibration_estimates --read benchmarks/calibration_estimates.json

Data whose gap and distance are known are drawn again and again (`estimate_settings`), and it is
counted how often intervals contain the truth, how often a gate at the truth would be passed, and
how often something is found where there is nothing. The tests try a few settings in every run and
hold the file to its bounds. On one core it takes about ten minutes. Where 600 data sets leave a
doubt,

    python -m benchmarks.calibration_estimates --json FILE --again 4000 NAME [NAME ...]

draws the intervals of a few settings again, as often as that and with other seeds, and puts them in
the place of those that the file holds. Settings that were in doubt once are in `IN_DOUBT`, and are
always drawn so.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from benchmarks.commands import command_line, kept, read_or_run, write_json
from benchmarks.estimate_settings import PARITY_TESTS, SETTINGS, SIMPSON
from benchmarks.made_rows import Setting, contrast_of
from benchmarks.report import source_digest
from likeforlike import Cells
from likeforlike.disparity import contrasts
from likeforlike.inference import (
    bonferroni_confidence,
    compare_gaps,
    estimate_distance,
    jackknife_test,
    level_gaps,
    signed_gap,
)

__all__ = [
    "BY_LEVEL",
    "REPETITIONS",
    "Intervals",
    "by_level",
    "intervals",
    "largest_of_ten",
    "main",
    "paradoxes",
    "rejections",
    "tables",
]

REPETITIONS = {"intervals": 600, "rejections": 1000, "simpson": 500, "by_level": 300, "ten": 150}
"""How often data are drawn; less often where a table takes much work."""

BY_LEVEL = (
    "beta, shift 0.15, 60 x (6 + 6)",
    "ratings 1 to 5, 20 levels of 3 to 40 rows",
    "decisions 0.3 v 0.36, 100 x (10 + 10)",
    "pay, log-normal, x 1.15, 15 levels of 10 to 60",
    "weights: gamma, shift .3",
    "clusters: households of both groups, shift .3",
)
"""Settings whose levels are looked at one by one; the same gap is true in all of them."""

# Intervals that miss by rounding only do not miss.
_ROUNDING = 1e-9
_WORDS = {
    "intervals": """## Intervals of the gap and of the distance

How often the interval of the signed gap and that of the distance D contain the truth, how often the
distance lies above or below its interval, how often a gate at 95% and at 100% of the true distance
is passed (which it must not be), and the median width. Settings in which 600 data sets left a doubt
were drawn again, more often and with other seeds.
""",
    "rejections": """
## The design test at parity

Weighted rows, and clusters in several levels, have a test by jackknife errors. Inverse
probabilities are the hardest weights there are: few rows carry most of the weight, and an audit
says so.
""",
    "simpson": """
## Simpson's paradox

How often an audit says that looking at everybody masks or reverses what is true among equals.
""",
    "by_level": """
## Levels one by one

How often the interval of the gap of a single level contains the truth.
""",
    "ten": """
## Several contrasts

How often the interval of the contrast that looks largest of all contains its distance.
""",
}


@dataclass(frozen=True, slots=True)
class Intervals:
    """Where the truth lay in one setting.

    Attributes
    ----------
    setting : its name.
    repetitions : how many data sets were drawn.
    gap_covered : in how many the interval of the gap contained it.
    gap, distance : the truth, on average over data sets.
    covered, above, below : in how many the distance was in its interval, above it, below it.
    passed, passed_95 : in how many the upper end was at most the distance, at most 95% of it.
    unlimited : in how many there was no upper end.
    width, gap_width : median width of the intervals of distance and gap; `None` if infinite.
    value : root of the mean of the squared values, or `None` without values.
    inverse_weights : whether rows had inverse probability weights.
    """

    setting: str
    repetitions: int
    gap_covered: int
    gap: float
    distance: float
    covered: int
    above: int
    below: int
    passed: int
    passed_95: int
    unlimited: int
    width: float | None
    gap_width: float | None
    value: float | None
    inverse_weights: bool


def intervals(name: str, repetitions: int, first: int = 0) -> Intervals:
    """Draw data of a setting, estimate gap and distance, and see where the truth lies.

    Parameters
    ----------
    name : of the setting.
    repetitions : how many data sets are drawn.
    first : seed of the first of them.
    """
    setting = SETTINGS[name]
    seeds = range(first, first + repetitions)
    drawn = np.array([_drawn(setting, seed) for seed in seeds])
    gap, low, high, distance, least, most, value = drawn.T
    counts = {
        "gap_covered": (low <= gap + _ROUNDING) & (gap - _ROUNDING <= high),
        "above": most < distance - _ROUNDING,
        "below": least > distance + _ROUNDING,
        "passed": (most <= distance) & (distance > 0.0),
        "passed_95": (most <= 0.95 * distance) & (distance > 0.0),
        "unlimited": np.isinf(most),
    }
    missed = counts["above"] | counts["below"]
    return Intervals(
        setting=name,
        repetitions=repetitions,
        gap=float(gap.mean()),
        distance=float(distance.mean()),
        covered=int((~missed).sum()),
        width=_finite(float(np.median(most - least))),
        gap_width=_finite(float(np.median(high - low))),
        value=None if np.isnan(value).all() else math.sqrt(float(np.nanmean(value**2))),
        inverse_weights=setting.inverse_weights,
        **{key: int(found.sum()) for key, found in counts.items()},
    )


def _drawn(setting: Setting, seed: int) -> tuple[float, ...]:
    """Truth and interval of the gap, truth, interval and value of the distance."""
    rows = setting.draw(np.random.default_rng([seed, 101]))
    contrast, measure = contrast_of(rows, setting.measure)
    gap = signed_gap(contrast, measure)
    distance = estimate_distance(contrast, measure, random_state=seed)
    true_gap, true_distance = setting.truth(contrast, measure)
    value = math.nan if distance.value is None else distance.value
    return true_gap, *gap.interval, true_distance, *distance.interval, value


def _finite(width: float) -> float | None:
    return width if math.isfinite(width) else None


def rejections(name: str, repetitions: int) -> int:
    """How often the design test rejects at 5% where nothing is to be found.

    Parameters
    ----------
    name : one of `PARITY_TESTS`.
    repetitions : how many data sets are drawn.
    """
    setting = PARITY_TESTS[name]
    tables = (setting.draw(np.random.default_rng([seed, 102])) for seed in range(repetitions))
    return sum(jackknife_test(*contrast_of(rows)).p_value <= 0.05 for rows in tables)


def paradoxes(name: str, repetitions: int) -> dict[str, int]:
    """How often each kind of Simpson's paradox is found.

    Parameters
    ----------
    name : one of `SIMPSON`.
    repetitions : how many data sets are drawn.
    """
    draw, _ = SIMPSON[name]
    counts = {"none": 0, "masked": 0, "reversed": 0}
    for seed in range(repetitions):
        rows = draw(np.random.default_rng([seed, 103]))
        counts[compare_gaps(*contrast_of(rows)).kind] += 1
    return counts


def by_level(name: str, repetitions: int) -> tuple[int, int]:
    """How many intervals of single levels there were, and how many contained the truth.

    Parameters
    ----------
    name : one of `BY_LEVEL`.
    repetitions : how many data sets are drawn.
    """
    setting = SETTINGS[name]
    there = covered = 0
    for seed in range(repetitions):
        rows = setting.draw(np.random.default_rng([seed, 104]))
        contrast, measure = contrast_of(rows, setting.measure)
        gaps = level_gaps(contrast)
        truth, _ = setting.truth(contrast, measure)
        known = np.isfinite(gaps.low)
        there += int(known.sum())
        covered += int((known & (gaps.low <= truth) & (truth <= gaps.high)).sum())
    return there, covered


def largest_of_ten(repetitions: int) -> int:
    """How often the interval of the contrast that looks largest, of ten, contains its distance.

    Five groups, each higher by .2 in one of five levels, so that any two are equally far apart.

    Parameters
    ----------
    repetitions : how many data sets are drawn.
    """
    confidence = bonferroni_confidence(0.95, 10)
    truth = math.sqrt(2.0 / 5.0) * 0.2
    covered = 0
    for seed in range(repetitions):
        rng = np.random.default_rng([seed, 105])
        level, group = np.arange(1500) % 5, rng.integers(0, 5, 1500)
        scores = rng.beta(3.0, 3.0, 1500) + 0.2 * (level == group)
        found = [
            estimate_distance(contrast, np.full(5, 0.2), confidence=confidence, random_state=seed)
            for contrast in contrasts(Cells.from_rows(scores, group, level), "pairwise")
        ]
        low, high = max(found, key=lambda one: one.value or 0.0).interval
        covered += low <= truth <= high
    return covered


# Tables -----------------------------------------------------------------------------------------


def tables(results: dict[str, Any]) -> str:
    """The results as tables in Markdown.

    Parameters
    ----------
    results : what this command wrote.
    """
    parts = [
        _WORDS["intervals"],
        _row("data", "data sets", "gap: coverage", "distance", "coverage", "above", "below")
        + " passed at 95% | passed at 100% | width |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        *map(_intervals_line, results["intervals"]),
        _WORDS["rejections"],
        "| data at parity | data sets | rejected at 5% |",
        "|---|---:|---:|",
        *map(_share_line, results["rejections"]),
        _WORDS["simpson"],
        "| data | right | data sets | masked | reversed |",
        "|---|---|---:|---:|---:|",
        *map(_simpson_line, results["simpson"]),
        _WORDS["by_level"],
        "| intervals of single levels | intervals | coverage |",
        "|---|---:|---:|",
        *map(_share_line, results["by_level"]),
        _WORDS["ten"],
        "| several contrasts | data sets | coverage |",
        "|---|---:|---:|",
        *map(_share_line, results["ten"]),
        f"\nMeasured on {results['date'][:10]}; source `{results['source']}`.",
    ]
    return "\n".join(parts) + "\n"


def _intervals_line(one: dict[str, Any]) -> str:
    times = one["repetitions"]
    shares = {
        key: f"{one[key] / times:.3f}"
        for key in ("gap_covered", "covered", "above", "below", "passed_95", "passed")
    }
    width = "none" if one["width"] is None else f"{one['width']:.3g}"
    parity = one["distance"] == 0.0
    cells = (
        one["setting"],
        f"{times}",
        shares["gap_covered"],
        f"{one['distance']:.3g}",
        shares["covered"],
        "" if parity else shares["above"],
        shares["below"],
        "" if parity else shares["passed_95"],
        "" if parity else shares["passed"],
        width,
    )
    return _row(*cells)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def _share_line(one: dict[str, Any]) -> str:
    return f"| {one['setting']} | {one['of']:,} | {one['count'] / one['of']:.3f} |"


def _simpson_line(one: dict[str, Any]) -> str:
    shares = " | ".join(f"{one[kind] / one['of']:.3f}" for kind in ("masked", "reversed"))
    return f"| {one['setting']} | {one['right']} | {one['of']} | {shares} |"


# The command ------------------------------------------------------------------------------------


def _intervals(times: int) -> Iterator[dict[str, Any]]:
    for name, setting in SETTINGS.items():
        yield asdict(intervals(name, max(2, round(times / setting.effort))))


def _rejections(times: int) -> Iterator[dict[str, Any]]:
    for name, setting in PARITY_TESTS.items():
        yield {
            "setting": name,
            "of": times,
            "count": rejections(name, times),
            "inverse_weights": setting.inverse_weights,
        }


def _simpson(times: int) -> Iterator[dict[str, Any]]:
    for name, (_, right) in SIMPSON.items():
        yield {"setting": name, "right": right, "of": times, **paradoxes(name, times)}


def _by_level(times: int) -> Iterator[dict[str, Any]]:
    for name in BY_LEVEL:
        there, covered = by_level(name, times)
        yield {"setting": name, "of": there, "count": covered}


def _ten(times: int) -> Iterator[dict[str, Any]]:
    name = "the largest of ten distances, 99.5% each"
    yield {"setting": name, "of": times, "count": largest_of_ten(times)}


_MADE = {
    "intervals": (_intervals, _intervals_line),
    "rejections": (_rejections, _share_line),
    "simpson": (_simpson, _simpson_line),
    "by_level": (_by_level, _share_line),
    "ten": (_ten, _share_line),
}


# How often these are drawn, so that chance alone does not decide.
IN_DOUBT = {
    "decisions 0.3 v 0.3, 1 x (50 + 50)": 6000,
    "beta, shift .1, 1 x (100 + 100)": 3000,
    "weights: exp(score / 2), shift .3": 3000,
    "shift .4 in 300 x (20 + 1), parity in 100 x (20 + 5)": 300,
}


def _simulated(*, quick: bool) -> dict[str, Any]:
    """All tables; to a terminal each line is shown as it comes."""
    begin = time.process_time()
    results: dict[str, Any] = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "source": source_digest(),
    }
    for table, (make, line) in _MADE.items():
        results[table] = []
        for one in make(2 if quick else REPETITIONS[table]):
            results[table].append(one)
            if sys.stderr.isatty():
                print(line(one), file=sys.stderr)
    for name, times in () if quick else IN_DOUBT.items():
        results = _again(results, times, [name])
    results["seconds"] = round(time.process_time() - begin)
    return results


def _again(results: dict[str, Any], times: int, names: list[str]) -> dict[str, Any]:
    """Results in which some settings were drawn again, with seeds that none has had."""
    unknown = sorted(set(names) - set(SETTINGS))
    if unknown:
        raise ValueError(f"there is no setting {unknown[0]!r}.")
    drawn = {name: asdict(intervals(name, times, first=10_000)) for name in names}
    kept = [drawn.get(one["setting"], one) for one in results["intervals"]]
    return {**results, "intervals": kept}


def main(arguments: list[str] | None = None) -> int:
    """Simulate or read, write or print what is asked for; returns the exit code."""
    line = command_line("calibration_estimates", __doc__)
    line.add_argument("--again", type=int, help="draw the settings named so often, keep the rest")
    line.add_argument("names", nargs="*", metavar="NAME", help="settings to be drawn again")
    given = line.parse_args(arguments)
    if given.again is not None:
        results = _again(kept(given.json), given.again, given.names)
    else:
        results = read_or_run(given, lambda: _simulated(quick=given.quick))
    write_json(given.json, results)
    print(tables(results), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
