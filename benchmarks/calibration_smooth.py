"""Whether audits along numbers hold what they promise: simulations too long for a test.

    python -m benchmarks.calibration_smooth                # simulates, two hours on a quiet core
    python -m benchmarks.calibration_smooth --more         # goes on where it was stopped
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
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import source_digest
from benchmarks.smooth_settings import DISPARITY, PARITY, SETTINGS, Effect, Setting, draw
from likeforlike.auditing._smooth import Along, along_numbers, companion, jump_numbers
from likeforlike.disparity._contrasts import Contrast
from likeforlike.disparity._measures import level_weights
from likeforlike.files._writing import write_whole
from likeforlike.inference import HeadlineTest, estimate_distance, headline_test, signed_gap

__all__ = ["KEPT", "PAGE", "main", "one_size", "page"]

HERE = Path(__file__).parent
KEPT = HERE / "calibration_smooth.json"
PAGE = HERE.parent / "docs" / "calibration_smooth.md"

PERMUTATIONS = 199
REPETITIONS = {500: 300, 2_000: 300, 20_000: 60, 200_000: 12}
"""How often data of each size are drawn for the test at parity."""

_ROWS = 2_000
_SIGNIFICANCE, _CONFIDENCE = 0.05, 0.95

_OPENING = f"""# Calibration along numbers

How often audits with `smooth` reject where people are treated alike, how often their intervals
hold the truth, and what they find, simulated. `python -m benchmarks.calibration_smooth` makes this
page. [Legitimate features that are numbers](smooth.md) says what each figure is. Tests have
{PERMUTATIONS} permutations. With 300 data sets a rate of .05 is known to ±.025, with 60 to ±.055,
with 12 to ±.12.
"""
_WORDS = {
    "parity": """## Tests where there is nothing to find

How often p is at most 5%: the headline test, the part of it that looks at means (the signed gap),
the companion; and the headline test and the signed gap with ten bins of the same people, as they
would be without `smooth`. The last column says how often the page warns of a jump.
""",
    "estimates": f"""## Intervals and estimates

2,000 rows, at parity and with a disparity of {DISPARITY}, the same for everybody. How often the 95%
intervals of distance and gap hold the truth, and what the estimates are: for the distance the root
of the mean of its unbiased square, for the gap the mean.
""",
    "power": f"""## A disparity with changing sign

2,000 rows; along the number the second group is {DISPARITY} ahead and behind in turns, six times.
The signed gap cannot see that, and the companion hardly.
""",
}
_HEADS = {
    "parity": (
        "people",
        "rows",
        "data sets",
        "headline",
        "gap",
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
_COLUMNS = {
    "parity": ("headline", "gap", "companion", "binned", "binned_gap", "warned"),
    "estimates": ("distance_covered", "distance", "gap_covered", "gap"),
    "power": ("headline", "gap", "companion"),
}


def _tested(contrast: Contrast, seed: int) -> HeadlineTest:
    weights = level_weights(contrast, "marginal")
    return headline_test(contrast, weights, permutations=PERMUTATIONS, seed=seed)


def _carried(setting: Setting, rows: int, effect: Effect, seed: int) -> Along:
    drawn = draw(setting, rows, effect, np.random.default_rng([seed, rows, len(effect)]))
    return along_numbers(drawn, seed)


def one_size(
    setting: Setting, rows: int, repetitions: int, effect: Effect = "none"
) -> dict[str, float]:
    """How often each test rejects, for one setting and size.

    Parameters
    ----------
    setting, rows, effect : what is drawn.
    repetitions : how many data sets.
    """
    counted = np.zeros(6)
    for seed in range(repetitions):
        along = _carried(setting, rows, effect, seed)
        test = _tested(along.contrast_of(along.carried), seed)
        binned = _tested(along.binned(), seed)
        p_values = (
            test.p_value,
            test.components["gap"],
            companion(along, seed),
            binned.p_value,
            binned.components["gap"],
        )
        counted[:5] += np.array(p_values) <= _SIGNIFICANCE
        counted[5] += bool(jump_numbers(along))
    return dict(zip(_COLUMNS["parity"], (counted / repetitions).tolist(), strict=True))


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
        contrast = _carried(setting, _ROWS, effect, seed).refined()
        weights = level_weights(contrast, "marginal")
        distance = estimate_distance(contrast, weights, confidence=_CONFIDENCE, seed=seed)
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
        times = 4 if quick else usual
        for setting in SETTINGS:
            yield "parity", {"people": setting.name, "rows": rows, "repetitions": times}
        if rows == _ROWS:
            for setting in SETTINGS:
                for truth in (0.0, DISPARITY):
                    about = {"people": setting.name, "true": truth, "repetitions": times}
                    yield "estimates", about
            for setting in PARITY:
                yield "power", {"people": setting.name, "repetitions": times}


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


def _shown(name: str, value: float) -> str:
    return f"{value:.4f}" if name in ("distance", "gap") and abs(value) < 1.0 else f"{value:.3f}"


def _line(table: str, entry: dict[str, Any]) -> str:
    head = [entry["people"]]
    head += [f"{entry[name]:,}" for name in ("rows",) if name in entry]
    head += [f"{entry['true']:g}"] if "true" in entry else []
    figures = [
        _shown(name, entry[name]) if table == "estimates" else f"{entry[name]:.3f}"
        for name in _COLUMNS[table]
    ]
    return f"| {' | '.join([*head, str(entry['repetitions']), *figures])} |"


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
        parts += [_WORDS[table], "\n".join(lines) + "\n"]
    return "\n".join(parts)


def main(arguments: list[str] | None = None) -> int:
    """Simulate or read, keep the results and write the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibration_smooth")
    parser.add_argument("--read", action="store_true", help="simulate nothing, read what is kept")
    parser.add_argument("--more", action="store_true", help="simulate only lines not kept yet")
    parser.add_argument("--quick", action="store_true", help="a few repetitions, as a trial")
    parser.add_argument("--json", type=Path, default=KEPT, help="where results are kept")
    given = parser.parse_args(arguments)
    results: dict[str, Any] = {table: [] for table in _HEADS}
    if given.read or (given.more and given.json.exists()):
        results = json.loads(given.json.read_text("utf-8"))
    for table, about in () if given.read else _planned(given.quick):
        if any(about.items() <= kept.items() for kept in results[table]):
            continue
        entry = about | _simulated(table, about)
        results[table].append(entry)
        results["date"] = datetime.now(UTC).isoformat(timespec="seconds")
        results["source"] = source_digest()
        print(_line(table, entry), file=sys.stderr, flush=True)
        write_whole(given.json, json.dumps(results, indent=1) + "\n")
    if given.json == KEPT:
        write_whole(PAGE, page(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
