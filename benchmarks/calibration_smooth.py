"""Whether audits along numbers hold what they promise: simulations too long for a test.

    python -m benchmarks.calibration_smooth                # simulates, two hours on a quiet core
    python -m benchmarks.calibration_smooth --more         # goes on where it was stopped
    python -m benchmarks.calibration_smooth --more --only parity --rows 200000
    python -m benchmarks.calibration_smooth --again --only estimates     # these lines once more
    python -m benchmarks.calibration_smooth --read         # makes the page of what is kept

People whose scores depend on a number, and not on their group given it, are drawn again and again,
and rejections at 5% are counted, beside those with ten bins. Then there is a disparity of .05,
everywhere the same or with changing sign. The results are kept in `calibration_smooth.json`, the
page is `docs/calibration_smooth.md`. Tests repeat the cheapest settings in every run, and hold the
kept results to the same bounds.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import overlap
from benchmarks.report import source_digest
from benchmarks.smooth_settings import DISPARITY, PARITY, SETTINGS, Effect, Setting, draw
from likeforlike._arrays import FloatArray
from likeforlike.auditing._smooth import SmoothContrast, map_lines
from likeforlike.disparity import Contrast, level_weights
from likeforlike.files import write_whole
from likeforlike.inference import HeadlineTest, estimate_distance, headline_test, signed_gap

__all__ = ["KEPT", "PAGE", "main", "one_size", "page"]

HERE = Path(__file__).parent
KEPT = HERE / "calibration_smooth.json"
PAGE = HERE.parent / "docs" / "calibration_smooth.md"

REPETITIONS = {500: 1_000, 2_000: 1_000, 20_000: 1_000, 200_000: 300}
"""How often data of each size are drawn for the test at parity."""

PERMUTATIONS = {20_000: 99, 200_000: 59}
"""How often labels are permuted, by size, where it is not 199; a test at 5% is exact with all."""

BESIDE = {500: 300, 2_000: 300, 20_000: 300, 200_000: 100}
"""In how many of the data sets the companion, bins and jumps are looked at, where not in all."""

_ROWS, _USUAL, _TIMES = 2_000, 199, 400
# Decisions say so little each that their mean takes more data sets to be known.
_ESTIMATES = {"decisions": 3_000}
_SIGNIFICANCE, _CONFIDENCE = 0.05, 0.95

_OPENING = f"""# Calibration along numbers

How often audits with `smooth` reject where people are treated alike, how often their intervals
hold the truth, and what they find, simulated. `python -m benchmarks.calibration_smooth` makes this
page. [Legitimate features that are numbers](smooth.md) says what each figure is. Tests have
{_USUAL} permutations, with 20,000 rows {PERMUTATIONS[20_000]}, with 200,000 rows
{PERMUTATIONS[200_000]}. With 1,000 data sets a rate of .05 is known to ±.014, with 300 to ±.025,
with 100 to ±.043.
"""
_WORDS = {
    "parity": """## Tests where there is nothing to find

How often p is at most 5%: the headline test and the part of it that looks at means (the signed
gap); then, on as many of the data sets as *beside* says, the companion, and the headline test and
the signed gap with ten bins of the same people, as they would be without `smooth`. The last column
says how often the page warns of a jump.
""",
    "estimates": f"""## Intervals and estimates

2,000 rows, at parity and with a disparity of {DISPARITY}, the same for everybody. How often the 95%
intervals of distance and gap hold the truth, and what the estimates are: for the distance the root
of the mean of its unbiased square, for the gap the mean. At parity a little is left of the
distance; windows with a single row of a group, which cannot tell people from groups, have a part in
it.
""",
    "power": f"""## A disparity with changing sign

2,000 rows; along the number the second group is {DISPARITY} ahead and behind in turns, six times.
The signed gap cannot see that, and the companion hardly. Decisions say too little: the rates of a
window are known to ±.1 or so, and {DISPARITY} is inside that. Along several numbers waves
cancel among people with the same estimated share: the disparity told is a lower bound.
""",
}
_HEADS = {
    "parity": (
        "people",
        "rows",
        "data sets",
        "headline",
        "gap",
        "beside",
        "companion",
        "ten bins",
        "ten bins, gap",
        "warned",
    ),
    "estimates": (
        "people",
        "true",
        "data sets",
        "distance covered",
        "distance",
        "gap covered",
        "gap",
    ),
    "power": ("people", "data sets", "headline", "gap", "companion"),
}
_RATES = ("headline", "gap", "companion", "binned", "binned_gap", "warned")
_COLUMNS = {
    "parity": ("headline", "gap", "beside", "companion", "binned", "binned_gap", "warned"),
    "estimates": ("distance_covered", "distance", "gap_covered", "gap"),
    "power": ("headline", "gap", "companion"),
}


def _tested(contrast: Contrast, permutations: int, seed: int) -> HeadlineTest:
    weights = level_weights(contrast, "marginal")
    return headline_test(contrast, weights, permutations=permutations, random_state=seed)


def _carried(setting: Setting, rows: int, effect: Effect, seed: int) -> SmoothContrast:
    stream = [seed, rows, len(effect), len(setting.name)]
    return map_lines(draw(setting, rows, effect, np.random.default_rng(stream)), seed)


def one_size(
    setting: Setting, rows: int, repetitions: int, effect: Effect = "none"
) -> dict[str, float]:
    """How often each test rejects, for one setting and size.

    Parameters
    ----------
    setting, rows, effect : what is drawn.
    repetitions : how many data sets.
    """
    permutations, beside = PERMUTATIONS.get(rows, _USUAL), BESIDE.get(rows, repetitions)
    tested, looked_at = np.zeros(2), np.zeros(4)
    for seed in range(repetitions):
        along = _carried(setting, rows, effect, seed)
        test = _tested(along.for_test, permutations, seed)
        tested += np.array([test.p_value, test.components["gap"]]) <= _SIGNIFICANCE
        if seed < beside:
            looked_at += _beside(along, permutations, seed)
    rates = np.concatenate([tested / repetitions, looked_at / min(beside, repetitions)])
    found = dict(zip(_RATES, rates.tolist(), strict=True))
    return {**found, "beside": min(beside, repetitions)}


def _beside(along: SmoothContrast, permutations: int, seed: int) -> FloatArray:
    """Whether the companion, ten bins and their gap reject, and whether a jump is seen."""
    binned = _tested(along.in_bins(), permutations, seed)
    p_values = np.array([along.gcm_p_value(seed), binned.p_value, binned.components["gap"]])
    return np.append(p_values <= _SIGNIFICANCE, bool(along.jump_locations())).astype(np.float64)


def one_estimate(setting: Setting, effect: Effect, repetitions: int) -> dict[str, float]:
    """How often intervals hold the truth, and the mean estimates.

    Parameters
    ----------
    setting, effect : what is drawn.
    repetitions : how many data sets.
    """
    truth = DISPARITY if effect == "shift" else 0.0
    covered, squares, gaps = np.zeros(2), [], []
    for seed in range(repetitions):
        contrast = _carried(setting, _ROWS, effect, seed).for_estimates
        weights = level_weights(contrast, "marginal")
        distance = estimate_distance(contrast, weights, confidence=_CONFIDENCE, random_state=seed)
        gap = signed_gap(contrast, weights, confidence=_CONFIDENCE)
        for k, (low, high) in enumerate((distance.interval, gap.interval)):
            covered[k] += low <= truth <= high
        squares.append(distance.squared)
        gaps.append(gap.value)
    shares = covered / repetitions
    return {
        "distance_covered": float(shares[0]),
        "distance": max(0.0, float(np.mean(squares))) ** 0.5,
        "gap_covered": float(shares[1]),
        "gap": float(np.mean(gaps)),
    }


def _planned(quick: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every line of every table, what it is about, the cheap ones first."""
    for rows, usual in REPETITIONS.items():
        for setting in SETTINGS:
            times = 4 if quick else usual
            yield "parity", {"people": setting.name, "rows": rows, "repetitions": times}
    for setting in SETTINGS:
        times = 4 if quick else _ESTIMATES.get(setting.name, _TIMES)
        for truth in (0.0, DISPARITY):
            yield "estimates", {"people": setting.name, "true": truth, "repetitions": times}
    for setting in PARITY:
        yield "power", {"people": setting.name, "repetitions": 4 if quick else BESIDE[_ROWS]}


def _simulated(table: str, about: dict[str, Any]) -> dict[str, float]:
    """The figures of one line."""
    setting = next(each for each in SETTINGS if each.name == about["people"])
    times = about["repetitions"]
    if table == "parity":
        return one_size(setting, about["rows"], times)
    if table == "estimates":
        return one_estimate(setting, "shift" if about["true"] else "none", times)
    found = one_size(setting, _ROWS, times, "flip")
    return {name: found[name] for name in _COLUMNS["power"]}


def _shown(table: str, name: str, value: float) -> str:
    if name == "beside":
        return f"{value:,.0f}"
    return (
        f"{value:.4f}" if table == "estimates" and name in ("distance", "gap") else f"{value:.3f}"
    )


def _line(table: str, entry: dict[str, Any]) -> str:
    head = [entry["people"]]
    head += [f"{entry[name]:,}" for name in ("rows",) if name in entry]
    head += [f"{entry['true']:g}"] if "true" in entry else []
    figures = [_shown(table, name, entry[name]) for name in _COLUMNS[table]]
    head.append(f"{entry['repetitions']:,}")
    return f"| {' | '.join([*head, *figures])} |"


def page(results: dict[str, Any]) -> str:
    """The results as a page of Markdown.

    Parameters
    ----------
    results : what this command wrote.
    """
    parts = [_OPENING]
    for table, head in _HEADS.items():
        lines = [
            f"| {' | '.join(head)} |",
            f"|---|{'---:|' * (len(head) - 1)}",
            *(_line(table, entry) for entry in results[table]),
        ]
        parts += [_WORDS[table], "\n".join(lines) + "\n", *_lacking(results, table)]
    return "\n".join([*parts, overlap.section(json.loads(overlap.KEPT.read_text("utf-8")))])


def _lacking(results: dict[str, Any], table: str) -> list[str]:
    """Which lines have not been simulated yet, in words."""
    lacking: dict[str, list[str]] = {}
    for of, about in _planned(quick=False):
        if of == table and not _known(results, table, about):
            size = f"{about['rows']:,} rows, " if "rows" in about else ""
            size += f"a disparity of {about['true']:g}, " if "true" in about else ""
            lacking.setdefault(size, []).append(about["people"])
    if not lacking:
        return []
    everybody = len(SETTINGS if table != "power" else PARITY)
    told = "; ".join(
        f"{size}{'all' if len(people) == everybody else ', '.join(people)}"
        for size, people in lacking.items()
    )
    return [_filled(f"Planned and not simulated yet: {told}.") + "\n"]


def _filled(words: str) -> str:
    return textwrap.fill(words, 100, break_long_words=False)


def _kept(path: Path) -> dict[str, Any]:
    """What is kept in a file, or tables without a line."""
    if not path.exists():
        return {table: [] for table in _HEADS}
    results: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return results


def _same(about: dict[str, Any], kept: dict[str, Any]) -> bool:
    """Whether a line is about the same; it may be of more or fewer data sets."""
    return all(kept.get(name) == value for name, value in about.items() if name != "repetitions")


def _known(results: dict[str, Any], table: str, about: dict[str, Any]) -> bool:
    return any(_same(about, kept) for kept in results[table])


def _keep(path: Path, table: str, entry: dict[str, Any], quick: bool) -> None:
    """Add a line to what is kept, or renew it; other runs may have added theirs meanwhile."""
    results = _kept(path)
    figures = {"repetitions", *_COLUMNS[table]}
    about = {name: value for name, value in entry.items() if name not in figures}
    results[table] = [kept for kept in results[table] if not _same(about, kept)] + [entry]
    for name in _HEADS:
        plan = [about for of, about in _planned(quick) if of == name]
        results[name] = [kept for about in plan for kept in results[name] if _same(about, kept)]
    results["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    results["source"] = source_digest()
    write_whole(path, json.dumps(results, indent=1) + "\n")


def main(arguments: list[str] | None = None) -> int:
    """Simulate or read, keep the results and write the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration_smooth")
    parser.add_argument("--read", action="store_true", help="simulate nothing, read what is kept")
    parser.add_argument("--more", action="store_true", help="simulate only lines not kept yet")
    parser.add_argument("--again", action="store_true", help="simulate kept lines once more")
    parser.add_argument("--only", choices=list(_HEADS), help="lines of one table")
    parser.add_argument("--rows", type=int, help="lines of one size")
    parser.add_argument("--people", help="lines of one setting")
    parser.add_argument("--quick", action="store_true", help="a few repetitions, as a trial")
    parser.add_argument("--json", type=Path, default=KEPT, help="where results are kept")
    given = parser.parse_args(arguments)
    if not (given.read or given.more or given.again):
        given.json.unlink(missing_ok=True)
    for table, about in () if given.read else _planned(given.quick):
        if given.only not in (None, table) or given.rows not in (None, about.get("rows", _ROWS)):
            continue
        if given.people not in (None, about["people"]):
            continue
        if not given.again and _known(_kept(given.json), table, about):
            continue
        entry = about | _simulated(table, about)
        print(_line(table, entry), file=sys.stderr, flush=True)
        _keep(given.json, table, entry, given.quick)
    if given.json == KEPT:
        write_whole(PAGE, page(_kept(KEPT)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
