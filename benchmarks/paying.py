"""Whether ranges of pay gaps hold the truth, and how often chance alone is called more than chance.

    python -m benchmarks.paying --json benchmarks/paying.json      # simulates, about five minutes
    python -m benchmarks.paying --read benchmarks/paying.json      # makes the table of what is kept

Pay of women and men is drawn again and again with a gap that is known, and it is counted how often
the range of the mean gap and that of the median gap hold it. Then companies of 60 categories are
drawn: without any gap, to count those in which a category is called more than chance, and with gaps
in some, to compare what is found with t-tests of log pay and Bonferroni's correction. The tables
go into docs/pay.md.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.commands import command_line, read_or_run, write_json
from benchmarks.sections import table, with_section
from likeforlike._arrays import FloatArray
from likeforlike.files import write_whole
from likeforlike.payroll._categories import compare_categories, fifth_gaps
from likeforlike.payroll._gaps import mean_gap, median_gap
from likeforlike.payroll._pay import find_standing

__all__ = ["PAGE", "SETTINGS", "Coverage", "coverage", "families", "main", "page"]

PAGE = Path(__file__).parents[1] / "docs" / "pay.md"
_SECTION = "ranges"
REPETITIONS = {"coverage": 1000, "families": 600, "fifths": 300}
_GAP = 6.0
_CATEGORIES = 60
Draw = Callable[[np.random.Generator, int], FloatArray]


def _log_normal(spread: float) -> Draw:
    return lambda rng, n: rng.lognormal(0.0, spread, n)


def _bonuses(nothing: float) -> Draw:
    return lambda rng, n: np.where(rng.random(n) < nothing, 0.0, rng.lognormal(0.0, 0.6, n))


def _triple(rng: np.random.Generator, n: int) -> FloatArray:
    return np.where(rng.random(n) < 0.1, 3.0, 1.0) * rng.lognormal(0.0, 0.2, n)


def _directors(rng: np.random.Generator, n: int) -> FloatArray:
    return np.where(rng.random(n) < 0.02, 10.0, 1.0) * rng.lognormal(0.0, 0.3, n)


def _scale(rng: np.random.Generator, n: int) -> FloatArray:
    pay: FloatArray = np.exp(0.05 * rng.integers(0, 9, n))
    return pay


def _gamma(rng: np.random.Generator, n: int) -> FloatArray:
    return rng.gamma(2.0, 1.0, n)


ONE_DIRECTOR = "log-normal .3, and one of the men is a director with 8 times the pay"
_LAWS: dict[str, Draw] = {
    "log-normal .2": _log_normal(0.2),
    "log-normal .4": _log_normal(0.4),
    "log-normal .6": _log_normal(0.6),
    "log-normal .8": _log_normal(0.8),
    "gamma, shape 2": _gamma,
    "one in ten has triple pay": _triple,
    "one in fifty has ten times the pay": _directors,
    ONE_DIRECTOR: _log_normal(0.3),
    "pay scale of nine steps": _scale,
    "bonuses, 30% have none": _bonuses(0.3),
    "bonuses, 60% have none": _bonuses(0.6),
}
SETTINGS: list[tuple[str, int, int]] = [
    ("log-normal .2", 8, 8),
    ("log-normal .2", 8, 40),
    ("log-normal .4", 10, 10),
    ("log-normal .6", 8, 8),
    ("log-normal .6", 8, 40),
    ("log-normal .6", 12, 200),
    ("log-normal .8", 8, 8),
    ("log-normal .8", 40, 8),
    ("log-normal .8", 50, 50),
    ("gamma, shape 2", 8, 8),
    ("gamma, shape 2", 40, 8),
    ("one in ten has triple pay", 10, 10),
    ("one in ten has triple pay", 12, 200),
    ("one in fifty has ten times the pay", 8, 40),
    ("one in fifty has ten times the pay", 50, 50),
    (ONE_DIRECTOR, 8, 8),
    (ONE_DIRECTOR, 50, 50),
    ("pay scale of nine steps", 12, 200),
    ("bonuses, 30% have none", 10, 10),
    ("bonuses, 30% have none", 40, 8),
    ("bonuses, 30% have none", 50, 50),
    ("bonuses, 60% have none", 8, 8),
    ("bonuses, 60% have none", 40, 8),
]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How often ranges held the truth in one setting.

    Attributes
    ----------
    setting, women, men : which one.
    repetitions : how often pay was drawn.
    mean_given, mean_held : how often there was a range of the mean gap, and how often it held it.
    median_given, median_held : the same of the median gap.
    mean_width, median_width : median width in points; `None` without ranges.
    """

    setting: str
    women: int
    men: int
    repetitions: int
    mean_given: int
    mean_held: int
    median_given: int
    median_held: int
    mean_width: float | None
    median_width: float | None


def _truth(setting: str, men: int, average: Callable[..., Any]) -> float:
    """The gap in percent, which a director among the men changes."""
    if setting != ONE_DIRECTOR:
        return _GAP
    if average is np.mean:
        return 100.0 - (100.0 - _GAP) / ((men - 1 + 8.0) / men)
    rng = np.random.default_rng(0)
    drawn = [_director(rng, men) for _ in range(20_000)]
    return 100.0 - (100.0 - _GAP) / float(np.median([np.median(each) for each in drawn]))


def _director(rng: np.random.Generator, men: int) -> FloatArray:
    pay = _LAWS[ONE_DIRECTOR](rng, men)
    pay[0] *= 8.0
    return pay


def coverage(setting: str, women: int, men: int, repetitions: int, seed: int = 0) -> Coverage:
    """Draw pay in a setting, and count ranges that hold the gap."""
    rng = np.random.default_rng([seed, women, men, list(_LAWS).index(setting)])
    draw = _LAWS[setting]
    counted: dict[str, list[float]] = {"mean": [], "median": []}
    held = {"mean": 0, "median": 0}
    truth = {
        "mean": _truth(setting, men, np.mean),
        "median": _truth(setting, men, np.median),
    }
    for _ in range(repetitions):
        theirs = (1.0 - _GAP / 100.0) * draw(rng, women)
        mens = _director(rng, men) if setting == ONE_DIRECTOR else draw(rng, men)
        for name, find in (("mean", mean_gap), ("median", median_gap)):
            _, ends, _ = find(theirs, mens)
            if ends is not None:
                counted[name].append(ends[1] - ends[0])
                held[name] += ends[0] - 1e-9 <= truth[name] <= ends[1] + 1e-9
    widths = {name: float(np.median(wide)) if wide else None for name, wide in counted.items()}
    return Coverage(
        setting,
        women,
        men,
        repetitions,
        len(counted["mean"]),
        held["mean"],
        len(counted["median"]),
        held["median"],
        widths["mean"],
        widths["median"],
    )


def _company(
    rng: np.random.Generator, gaps: FloatArray, draw: Draw
) -> list[tuple[FloatArray, FloatArray]]:
    """Pay in categories of 8 to 40 women and as many men, with these gaps in percent."""
    sizes = rng.integers(8, 41, (gaps.size, 2)).tolist()
    return [
        ((1.0 - gap / 100.0) * draw(rng, women), draw(rng, men))
        for gap, (women, men) in zip(gaps.tolist(), sizes, strict=True)
    ]


def families(setting: str, gap: float, repetitions: int, seed: int = 0) -> dict[str, Any]:
    """Draw companies, and count categories that are called more than chance, here and by t-tests.

    With a gap a fifth of the categories have it; with none every call is a false alarm.
    """
    from scipy.stats import ttest_ind

    rng = np.random.default_rng([seed, round(gap), list(_LAWS).index(setting)])
    affected = np.arange(_CATEGORIES) < (_CATEGORIES // 5 if gap else 0)
    alarms, by_t_alarms, found, by_t = 0, 0, 0, 0
    for number in range(repetitions):
        pays = _company(rng, np.where(affected, gap, 0.0), _LAWS[setting])
        _, adjusted = compare_categories(pays, 999, number)
        standings = [
            find_standing(*mean_gap(*pair)[:2], p, 5.0)
            for pair, p in zip(pays, adjusted.tolist(), strict=True)
        ]
        called = np.array([each == "beyond chance" for each in standings])
        p_values = [ttest_ind(np.log(women), np.log(men)).pvalue for women, men in pays]
        by_tests = np.array(p_values) * _CATEGORIES <= 0.05
        alarms += bool((called & ~affected).any())
        by_t_alarms += bool((by_tests & ~affected).any())
        found += int((called & affected).sum())
        by_t += int((by_tests & affected).sum())
    there = repetitions * int(affected.sum())
    return {
        "setting": setting,
        "gap": gap,
        "repetitions": repetitions,
        "false_alarm": alarms / repetitions,
        "false_alarm_t": by_t_alarms / repetitions,
        "found": found / there if there else None,
        "found_t": by_t / there if there else None,
    }


def fifths(setting: str, repetitions: int, seed: int = 0) -> dict[str, Any]:
    """Draw eight categories of 25 women and 30 men, and count bands that hold all five gaps."""
    rng = np.random.default_rng([seed, 5])
    draw, held = _LAWS[setting], 0
    for number in range(repetitions):
        pays = [(0.94 * draw(rng, 25), draw(rng, 30)) for _ in range(8)]
        found = fifth_gaps(pays, 0.95, number)
        held += all(low <= _GAP <= high for _, (low, high) in found)
    return {"setting": setting, "repetitions": repetitions, "held": held / repetitions}


def run(quick: bool) -> dict[str, Any]:
    """Everything, or a trial."""
    times = dict.fromkeys(REPETITIONS, 3) if quick else REPETITIONS
    settings = SETTINGS[:2] if quick else SETTINGS
    return {
        "quick": quick,
        "coverage": [asdict(coverage(*each, times["coverage"])) for each in settings],
        "families": [
            families("log-normal .2", gap, times["families"] // (1 if gap == 0.0 else 6) or 1)
            for gap in (0.0, 20.0)
        ]
        + [families("log-normal .6", 0.0, times["families"] // 2 or 1)],
        "fifths": [fifths(name, times["fifths"]) for name in ("log-normal .2", "log-normal .6")],
    }


def page(results: dict[str, Any], text: str) -> str:
    """The text of a page with the tables of some results between its marks."""
    return with_section(text, _SECTION, _tables(results))


def _tables(results: dict[str, Any]) -> str:
    held = table(
        ("pay", "women", "men", "average: held", "points", "median: held", "points"),
        [
            (
                one["setting"],
                str(one["women"]),
                str(one["men"]),
                *_held(one, "mean"),
                *_held(one, "median"),
            )
            for one in results["coverage"]
        ],
    )
    times = results["coverage"][0]["repetitions"]
    calls = table(
        (
            "pay",
            "gap in a fifth of them",
            "companies",
            "false alarm",
            "by t-tests",
            "found",
            "by t-tests",
        ),
        [
            (
                one["setting"],
                f"{one['gap']:g}%",
                f"{one['repetitions']:,}",
                f"{one['false_alarm']:.3f}",
                f"{one['false_alarm_t']:.3f}",
                *("–" if one[key] is None else f"{one[key]:.3f}" for key in ("found", "found_t")),
            )
            for one in results["families"]
        ],
    )
    bands = ", ".join(
        f"{one['held']:.3f} ({one['setting']}, {one['repetitions']} draws)"
        for one in results["fifths"]
    )
    return (
        f"Drawn {times:,} times each, with a true gap of {_GAP:g}%. *Held*: how often the 95% "
        "range held the gap, where there was one; in parentheses how often there was. *Points*: "
        f"median width.\n\n{held}\n\nCompanies of {_CATEGORIES} categories with 8 to 40 women "
        "and 8 to 40 men in each. *False alarm*: companies in which any category without a gap is "
        "called more than chance. *Found*: share of the categories with a gap that are called "
        "so. The t-tests are of log pay, at 5% by Bonferroni.\n\n"
        f"{calls}\n\nThe band over five fifths held all of them: {bands}."
    )


def _held(one: dict[str, Any], name: str) -> tuple[str, str]:
    given, width = one[f"{name}_given"], one[f"{name}_width"]
    if not given:
        return "none given", "–"
    share = f"{one[f'{name}_held'] / given:.3f}"
    often = "" if given == one["repetitions"] else f" ({given / one['repetitions']:.0%})"
    return share + often, f"{width:.0f}"


def main(arguments: list[str] | None = None) -> int:
    """Run or read, and write the table into the page."""
    line = command_line("paying", __doc__)
    given = line.parse_args(arguments)
    results = read_or_run(given, lambda: run(given.quick))
    write_json(given.json, results)
    if results["quick"]:
        print(_tables(results))
    else:
        write_whole(PAGE, page(results, PAGE.read_text("utf-8")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
