"""What the usual methods say of the same made-up tables, beside an audit's.

    python -m benchmarks.calibration_textbook --json benchmarks/calibration_textbook.json
    python -m benchmarks.calibration_textbook --read benchmarks/calibration_textbook.json

Three tests and one interval that people reach for first:

- *Welch's t* between the groups, without levels: is there parity among everybody?
- *regression*: the coefficient of the group in an ordinary least squares fit with a dummy for every
  level, with its usual standard error;
- *rank sums*: Mann and Whitney's test in every level, smallest p-value times the number of levels;
- *bootstrap*: the plug-in distance (Σ_l Q(l) Ŵ_1(l)²)^½ with the 2.5% and 97.5% points of its value
  in rows drawn again inside every cell.

Results are kept setting by setting, each with its date and the source it was drawn with, and a
run that was stopped goes on where it was; to begin anew, remove the file. On one core it takes
about ten minutes.
"""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks.commands import command_line, kept, read_or_run, write_json
from benchmarks.estimate_settings import SETTINGS
from benchmarks.made_rows import Rows, Setting, confounded, contrast_of
from benchmarks.report import source_digest
from likeforlike import Cells, cdd_lp
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.inference import conditional_parity_test, estimate_distance

__all__ = [
    "TESTS",
    "TEXTBOOK",
    "Beside",
    "beside",
    "bootstrap_interval",
    "main",
    "regression_p_value",
    "tables",
]

REPETITIONS = 400
PERMUTATIONS = 199
RESAMPLES = 200

TESTS = ("headline", "welch", "regression", "rank_sums")
"""The tests that are compared; the first is ours."""

_SIGNIFICANCE = 0.05
_ROUNDING = 1e-9

TEXTBOOK: dict[str, Setting] = {
    "parity among equals, .2 among everybody": Setting(confounded(0.0), 0.0),
    "-.2 among equals, 0 among everybody": Setting(confounded(-0.2), -0.2),
    **{
        name: SETTINGS[name]
        for name in (
            "beta, shift 0, 10 x (20 + 20)",
            "beta, shift 0.05, 10 x (20 + 20)",
            "beta, shift 0, 60 x (6 + 6)",
            "beta, shift 0.15, 60 x (6 + 6)",
            "decisions 0.4 v 0.4, 10 x (20 + 20)",
            "decisions 0.4 v 0.5, 10 x (100 + 100)",
            "decisions, +- .25 alternating, 40 x (12 + 12)",
            "ratings 1 to 5, parity, 20 levels of 3 to 40 rows",
            "ratings 1 to 5, 20 levels of 3 to 40 rows",
            "spread 1 v 1.3, 10 x (30 + 30)",
            "5% higher by 5 sd, 10 x (50 + 50)",
            "pay, log-normal, x 1.15, 15 levels of 10 to 60",
            "normal, parity, 8 x (250 + 5)",
            "normal, shift 1, 300 pairs",
            "clusters: five rows a person, parity",
            "clusters: five rows a person, shift .15",
        )
    },
}
"""Where methods are compared: settings in which an audit was tried, and two with confounding."""


@dataclass(frozen=True, slots=True)
class Beside:
    """One setting, every method.

    Attributes
    ----------
    setting : its name.
    repetitions : how many data sets were drawn.
    distance : the true distance among equals, on average over data sets.
    rejected : in how many each of `TESTS` rejected at 5%.
    covered : in how many the interval held the distance, ours and the bootstrap's.
    passed : in how many the upper end was at most 95% of the distance, ours and the bootstrap's.
    width : the median width of both intervals; `None` if infinite.
    value : root of the mean of our squared value or 0 without any, and the mean plug-in value.
    """

    setting: str
    repetitions: int
    distance: float
    rejected: dict[str, int]
    covered: tuple[int, int]
    passed: tuple[int, int]
    width: tuple[float | None, float | None]
    value: tuple[float, float]


def regression_p_value(rows: Rows) -> float:
    """P-value of the group in least squares with a dummy for every level.

    By Frisch, Waugh and Lovell the coefficient is that of the group on what levels do not explain.
    """
    levels = np.unique(rows.levels, return_inverse=True)[1]
    size = np.bincount(levels)
    group, scores = (
        column - (np.bincount(levels, column) / size)[levels]
        for column in (rows.groups.astype(float), rows.scores)
    )
    freedom = scores.size - size.size - 1
    spread = float(group @ group)
    if freedom < 1 or spread == 0.0:
        return 1.0
    slope = float(group @ scores) / spread
    left = scores - slope * group
    error = math.sqrt(float(left @ left) / freedom / spread)
    return 1.0 if error == 0.0 else float(2.0 * stats.t.sf(abs(slope) / error, freedom))


def _welch(rows: Rows) -> float:
    sides = (rows.scores[rows.groups == group] for group in (0, 1))
    return float(stats.ttest_ind(*sides, equal_var=False).pvalue)


def _rank_sums(rows: Rows) -> float:
    """Smallest p-value of Mann and Whitney's tests by level, times how many there are."""
    found = []
    for level in np.unique(rows.levels):
        here = rows.levels == level
        sides = [rows.scores[here & (rows.groups == group)] for group in (0, 1)]
        if all(side.size for side in sides):
            p_value = float(stats.mannwhitneyu(*sides, method="asymptotic").pvalue)
            found.append(1.0 if math.isnan(p_value) else p_value)  # all scores equal
    return min(1.0, min(found) * len(found))


def bootstrap_interval(rows: Rows, measure: FloatArray, seed: int) -> tuple[float, float, float]:
    """Both ends of the percentile interval of the plug-in distance, and the plug-in distance.

    Every resample is made of levels of its own, so that one pass over all of them is enough.
    """
    order = np.lexsort((rows.groups, rows.levels))
    scores, groups = rows.scores[order], rows.groups[order]
    levels = np.unique(rows.levels[order], return_inverse=True)[1]
    _, first, cell, size = np.unique(
        2 * levels + groups, return_index=True, return_inverse=True, return_counts=True
    )
    rng = np.random.default_rng([seed, 107])
    chosen = first[cell] + (rng.random((RESAMPLES, scores.size)) * size[cell]).astype(np.int64)
    again = levels + (levels.max() + 1) * np.arange(RESAMPLES)[:, None]
    squares = _squares(scores[chosen].ravel(), np.tile(groups, RESAMPLES), again.ravel()).reshape(
        RESAMPLES, -1
    )
    values = np.sqrt(squares @ measure)
    low, high = np.quantile(values, [0.025, 0.975])
    plug_in = math.sqrt(float(_squares(scores, groups, levels) @ measure))
    return float(low), float(high), plug_in


def _squares(scores: FloatArray, groups: IntArray, levels: IntArray) -> FloatArray:
    """W_1² of every level in which both groups are."""
    found = cdd_lp(Cells.from_rows(scores, groups, levels), order=1.0, p=1.0)
    return np.asarray(found.by_level.distance, float) ** 2


def beside(name: str, repetitions: int) -> Beside:
    """Draw data of a setting and try every method on them.

    Parameters
    ----------
    name : one of `TEXTBOOK`.
    repetitions : how many data sets are drawn.
    """
    setting = TEXTBOOK[name]
    drawn = [_tried(setting, seed) for seed in range(repetitions)]
    p_values, figures = (np.array(part) for part in zip(*drawn, strict=True))
    truth, least, most, square, low, high, plug_in = figures.T
    rejected = (p_values <= _SIGNIFICANCE).sum(axis=0).tolist()
    ours, bootstrap = _held(truth, least, most), _held(truth, low, high)
    return Beside(
        setting=name,
        repetitions=repetitions,
        distance=float(truth.mean()),
        rejected=dict(zip(TESTS, rejected, strict=True)),
        covered=(ours[0], bootstrap[0]),
        passed=(ours[1], bootstrap[1]),
        width=(ours[2], bootstrap[2]),
        value=(math.sqrt(max(0.0, float(np.nanmean(square)))), float(plug_in.mean())),
    )


def _held(truth: FloatArray, low: FloatArray, high: FloatArray) -> tuple[int, int, float | None]:
    """How often intervals held the truth, and were passed at 95% of it; their median width."""
    covered = (low <= truth + _ROUNDING) & (truth - _ROUNDING <= high)
    passed = (high <= 0.95 * truth) & (truth > 0.0)
    width = float(np.median(high - low))
    return int(covered.sum()), int(passed.sum()), width if math.isfinite(width) else None


def _tried(setting: Setting, seed: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """P-values of all tests; the truth, our interval and squared value, the bootstrap's."""
    rows = setting.draw(np.random.default_rng([seed, 106]))
    contrast, measure = contrast_of(rows, setting.measure)
    test = conditional_parity_test(contrast, measure, permutations=PERMUTATIONS, random_state=seed)
    found = estimate_distance(contrast, measure, random_state=seed)
    _, truth = setting.truth(contrast, measure)
    p_values = (test.p_value, _welch(rows), regression_p_value(rows), _rank_sums(rows))
    textbook = bootstrap_interval(rows, measure, seed)
    return p_values, (truth, *found.interval, found.squared, *textbook)


# Tables -----------------------------------------------------------------------------------------

_TESTED = """How often each test rejects at 5%. Where the distance is 0 that should be .05 or less;
elsewhere more is better, as far as it is kept below .05 at parity.

| data | distance | headline test | Welch's t | regression | rank sums |
|---|---:|---:|---:|---:|---:|
"""
_ESTIMATED = """How often the interval of the distance holds it (.95 is meant), how often a gate at
95% of the distance is passed, which it must not be, the median width, and the value on average. The
bootstrap is that of the plug-in distance.

| data | distance | coverage | bootstrap | passed | bootstrap | width | bootstrap | value |plug-in|
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|
"""


def tables(results: dict[str, Any]) -> str:
    """The results as tables in Markdown.

    Parameters
    ----------
    results : what this command wrote.
    """
    settings = results["settings"]
    tested = "\n".join(map(_tested_line, settings))
    estimated = "\n".join(map(_estimated_line, settings))
    return f"{_TESTED}{tested}\n\n{_ESTIMATED}{estimated}\n"


def _tested_line(one: dict[str, Any]) -> str:
    rates = (f"{one['rejected'][test] / one['repetitions']:.3f}" for test in TESTS)
    return f"| {one['setting']} | {one['distance']:.3g} | {' | '.join(rates)} |"


def _estimated_line(one: dict[str, Any]) -> str:
    times, parity = one["repetitions"], one["distance"] == 0.0
    cells = [f"{one['distance']:.3g}"]
    cells += [f"{count / times:.3f}" for count in one["covered"]]
    cells += ["" if parity else f"{count / times:.3f}" for count in one["passed"]]
    cells += ["none" if width is None else f"{width:.3g}" for width in one["width"]]
    cells += [f"{value:.3g}" for value in one["value"]]
    return f"| {one['setting']} | {' | '.join(cells)} |"


# The command ------------------------------------------------------------------------------------


def _simulated(path: Path | None, *, quick: bool) -> dict[str, Any]:
    """All settings; those that the file holds are not drawn again."""
    results: dict[str, Any] = kept(path, {"settings": []})
    there = {one["setting"] for one in results["settings"]}
    for name in (one for one in TEXTBOOK if one not in there):
        found = asdict(beside(name, 2 if quick else REPETITIONS))
        when = datetime.now(UTC).isoformat(timespec="seconds")
        results["settings"].append({**found, "date": when, "source": source_digest()})
        write_json(path, results)
        print(_tested_line(results["settings"][-1]), file=sys.stderr, flush=True)
    return results


def main(arguments: list[str] | None = None) -> int:
    """Simulate or read, print the tables; returns the exit code."""
    given = command_line("calibration_textbook", __doc__).parse_args(arguments)
    results = read_or_run(given, lambda: _simulated(given.json, quick=given.quick))
    print(tables(results), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
