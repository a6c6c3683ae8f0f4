"""Whether tests and intervals hold what they promise: the pages of all simulations.

    python -m benchmarks.calibration                 # simulates, about half an hour on a core
    python -m benchmarks.calibration --read          # makes the pages of the results that are kept

The results are kept in `calibration_tests.json`, `calibration_estimates.json` and
`calibration_textbook.json`. `docs/calibration.md` sums them up, README shows the worst of them, and
two pages of an appendix have every setting. Tests repeat the cheapest settings in every run, and
hold the kept results to the same bounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import calibration_estimates, calibration_tests, calibration_textbook
from benchmarks.sections import with_section
from likeforlike.files import write_whole

__all__ = ["Kept", "Rates", "kept", "main", "pages", "readme_table", "summary"]

HERE = Path(__file__).parent
ROOT = HERE.parent
TESTS = HERE / "calibration_tests.json"
ESTIMATES = HERE / "calibration_estimates.json"
TEXTBOOK = HERE / "calibration_textbook.json"
PAGE = ROOT / "docs" / "calibration.md"
README = ROOT / "README.md"
SECTION = "calibration"

_OPENING = """# Calibration

How often the tests of an audit reject where there is nothing to find, what they find where there
is something, and how often its intervals hold the truth: simulated, with the settings in which an
earlier version went wrong among them. `python -m benchmarks.calibration` makes this page and its
appendix: [the tests, setting by setting](calibration/tests.md), and [the
estimates](calibration/estimates.md). [How sure an audit is](statistics.md) says what each figure
is; [numbers as legitimate features](calibration_smooth.md) have a page of their own.

## In short

A rate is a share of data sets that were drawn in one setting. The lowest, the median and the
highest of all settings are shown. The farther ends are worse than the truth by chance, too: a
rate of .05 that is counted on 1,000 data sets lies between .036 and .064 in 19 settings of 20.
"""
_BESIDE = """## Beside the usual methods

The same made-up tables, {times} of each, given to methods that people reach for first: *Welch's
t* between the groups, without levels; a *regression* with a dummy for every level and the usual
standard error; *rank sums* (Mann and Whitney) in every level, by Bonferroni; the *bootstrap* of
the plug-in distance, 200 resamples of rows inside cells and their percentiles.
"""
_READING = """
- Without levels, a t-test calls it a difference where there is none among equals, and finds none
  where there is one: the first two lines.
- A regression holds its level where rows are independent, and finds shifts as well as anything
  can. It does not see groups that differ in spread, in a few rows, or in opposite directions by
  level.
- Rows of the same person are no evidence of their own: methods that count them reject parity far
  too often.
- The plug-in distance is larger than 0 at parity, always. Its bootstrap resamples around a value
  that is already too large, so that its interval leaves the truth out: nearly always with a few
  dozen rows in a cell, half of the time with a hundred. It errs upwards, so it hardly ever passes
  a gate that it must not pass; it convicts.
- Our intervals are wider than the bootstrap's. That is what holding the truth takes.
"""
_APPENDIX = """# Calibration: {what}

Every setting of [the calibration](../calibration.md). `python -m benchmarks.calibration` makes
this page.

"""


class Kept(NamedTuple):
    """What the three simulations wrote."""

    tests: dict[str, Any]
    estimates: dict[str, Any]
    textbook: dict[str, Any]


class Rates(NamedTuple):
    """A kind of figure over all its settings.

    Attributes
    ----------
    what : in words.
    meant : what it should be.
    rates : one for each setting.
    drawn : data sets in all.
    """

    what: str
    meant: str
    rates: list[float]
    drawn: int


def kept() -> Kept:
    """The results in the repository."""
    paths = (TESTS, ESTIMATES, TEXTBOOK)
    return Kept(*(json.loads(path.read_text("utf-8")) for path in paths))


def summary(results: Kept) -> list[Rates]:
    """What tests and intervals promise, and how well they keep it."""
    tests, estimates, _ = results
    parity, families = tests["parity"], tests["families"]
    usual, inverse = (
        [one for one in estimates["intervals"] if one["inverse_weights"] is heavy]
        for heavy in (False, True)
    )
    apart = [one for one in estimates["intervals"] if one["distance"] > 0.0]
    design = [one for one in estimates["rejections"] if not one["inverse_weights"]]
    return [
        _drawn("headline test rejects at parity", "at most .05", parity, "headline"),
        _drawn("any level called different at parity", "at most .05", parity, "any_level"),
        _counted("design test (weights, clusters) rejects at parity", "at most .05", design),
        _drawn("any false alarm among 12 groups", "at most .05", families, "any_false_alarm"),
        _drawn("detectable shift is found", "about .80", tests["detectable"], "headline"),
        _drawn_counts("interval of the gap holds it", "at least .95", usual, "gap_covered"),
        _drawn_counts("interval of the distance holds it", "at least .95", usual, "covered"),
        _drawn_counts("the same, inverse probability weights", "at least .95", inverse, "covered"),
        _drawn_counts("gate at the true distance is passed", "at most .05", apart, "passed"),
        _drawn_counts("gate at 95% of it is passed", "at most .05", apart, "passed_95"),
        _counted("interval of a single level holds it", "at least .95", estimates["by_level"]),
    ]


def _drawn(what: str, meant: str, settings: Sequence[dict[str, Any]], key: str) -> Rates:
    drawn = sum(one["repetitions"] for one in settings)
    return Rates(what, meant, [one[key] for one in settings], drawn)


def _drawn_counts(what: str, meant: str, settings: Sequence[dict[str, Any]], key: str) -> Rates:
    drawn = sum(one["repetitions"] for one in settings)
    return Rates(what, meant, [one[key] / one["repetitions"] for one in settings], drawn)


def _counted(what: str, meant: str, settings: Sequence[dict[str, Any]]) -> Rates:
    drawn = sum(one["of"] for one in settings)
    return Rates(what, meant, [one["count"] / one["of"] for one in settings], drawn)


def _summary_table(rates: Sequence[Rates]) -> str:
    lines = [
        "| what | meant | settings | drawn | lowest | median | highest |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for what, meant, found, drawn in rates:
        figures = (min(found), statistics.median(found), max(found))
        shown = " | ".join(f"{rate:.3f}" for rate in figures)
        lines.append(f"| {what} | {meant} | {len(found)} | {drawn:,} | {shown} |")
    return "\n".join(lines) + "\n"


def readme_table(results: Kept) -> str:
    """Four lines for readers with one minute: size, coverage, false pass, and the bootstrap."""
    chosen = {rates.what: rates for rates in summary(results)}
    asked = (
        ("headline test rejects at parity", "rejects where groups do not differ", max, "highest"),
        ("interval of the gap holds it", "interval of the gap holds the truth", min, "lowest"),
        ("interval of the distance holds it", "interval of the distance holds it", min, "lowest"),
        ("gate at 95% of it is passed", "passes a gate that it must not pass", max, "highest"),
    )
    lines = ["| an audit at 95% | settings | median | worst |", "|---|---:|---:|---:|"]
    for key, words, worst, name in asked:
        found = chosen[key].rates
        median = statistics.median(found)
        lines.append(f"| {words} | {len(found)} | {median:.3f} | {name} {worst(found):.3f} |")
    settings = results.textbook["settings"]
    bootstrap = [one["covered"][1] / one["repetitions"] for one in settings]
    lines.append(
        f"| *plug-in distance with a bootstrap holds it* | {len(bootstrap)} | "
        f"{statistics.median(bootstrap):.3f} | lowest {min(bootstrap):.3f} |"
    )
    return "\n".join(lines) + "\n"


def pages(results: Kept) -> dict[Path, str]:
    """Every page of the calibration, and README with its table."""
    tests, estimates, textbook = results
    times = textbook["settings"][0]["repetitions"]
    parts = [
        _OPENING,
        _summary_table(summary(results)),
        _BESIDE.format(times=times),
        calibration_textbook.tables(textbook),
        _READING.lstrip("\n"),
        f"Measured on {_days(tests, estimates, *textbook['settings'])}.",
    ]
    folder = PAGE.with_suffix("")
    readme = README.read_text("utf-8")
    return {
        PAGE: "\n".join(part.strip("\n") + "\n" for part in parts),
        folder / "tests.md": _appendix("the tests", calibration_tests.tables(tests)),
        folder / "estimates.md": _appendix(
            "the estimates", calibration_estimates.tables(estimates)
        ),
        README: with_section(readme, SECTION, readme_table(results)),
    }


def _days(*measured: dict[str, Any]) -> str:
    return " and ".join(sorted({one["date"][:10] for one in measured}))


def _appendix(what: str, tables: str) -> str:
    return _APPENDIX.format(what=what) + tables.strip("\n") + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Simulate or read, and write the pages; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration", description=__doc__)
    parser.add_argument("--read", action="store_true", help="simulate nothing, read what is kept")
    given = parser.parse_args(arguments)
    if not given.read:
        calibration_tests.main(["--json", str(TESTS)])
        calibration_estimates.main(["--json", str(ESTIMATES)])
        TEXTBOOK.unlink(missing_ok=True)
        calibration_textbook.main(["--json", str(TEXTBOOK)])
    for path, text in pages(kept()).items():
        path.parent.mkdir(exist_ok=True)
        write_whole(path, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
