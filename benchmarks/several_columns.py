"""Several sensitive columns: false alarms of the whole family at parity, and what it costs.

    python -m benchmarks.several_columns              # simulates and times, some minutes on a core
    python -m benchmarks.several_columns --cost       # times only, the simulation is as it was kept
    python -m benchmarks.several_columns --read       # makes the page of the results that are kept

An audit of two sensitive columns compares every group of each column, and every combination, with
one of them. At parity any of these that is called different is a false alarm, and so is a headline
that says "differs". The time is that of processors, beside an audit of one column with two groups
on the same rows. Results are kept in `several_columns.json`, the page is `docs/several_columns.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import likeforlike as lfl
from likeforlike.files import write_whole

HERE = Path(__file__).parent
KEPT = HERE / "several_columns.json"
PAGE = HERE.parent / "docs" / "several_columns.md"

MOST_FALSE = 0.07
"""The family-wise error may be 5% and two points for the noise of the simulation."""
MOST_TIMES = 4.0
"""Two columns with six groups may cost so many times one column with two."""


_PAGE = """# Several sensitive columns: what holds

Each column alone and all of them crossed are [one family](tutorials/record.md). At parity an
audit may call something different in 5% of samples, whatever the number of groups.
`python -m benchmarks.several_columns` made this page.

| at parity | audits | a contrast is called different | the headline says so |
|---|---|---|---|
{rows}

Time: {rows_timed:,} rows in 50 levels with {permutations} permutations take {two:.0f} seconds of
processors with two columns and six groups, {one:.0f} with one column and two groups: {ratio:.1f}
times as many, for eight comparisons instead of one. At most {limit:g} are wanted.
"""


class Setting(NamedTuple):
    """How rows are made.

    Attributes
    ----------
    name : in words.
    rows, levels : how many.
    races : shares of the second column's groups; those of the first are halves.
    score : makes scores of (random numbers, levels).
    """

    name: str
    rows: int
    levels: int
    races: tuple[float, ...]
    score: Callable[[np.random.Generator, np.ndarray[Any, np.dtype[np.int64]]], Any]


SETTINGS = (
    Setting("normal scores, 2 x 3 groups", 600, 4, (0.5, 0.3, 0.2), lambda r, x: r.normal(x, 1.0)),
    Setting("decisions, 2 x 2 groups", 500, 5, (0.7, 0.3), lambda r, x: r.random(x.size) < 0.3),
    Setting(
        "skewed pay, 2 x 4 groups", 900, 3, (0.6, 0.2, 0.15, 0.05), lambda r, x: r.gamma(2.0, 1 + x)
    ),
)


def people(setting: Setting, seed: int) -> pl.DataFrame:
    """Rows at parity: scores depend on the level only, who is in a level on both columns."""
    rng = np.random.default_rng([seed, 17])
    sex = rng.integers(0, 2, setting.rows)
    race = rng.choice(len(setting.races), setting.rows, p=setting.races)
    level = (rng.integers(0, setting.levels, setting.rows) + sex * race) % setting.levels
    return pl.DataFrame(
        {
            "score": np.asarray(setting.score(rng, level), float),
            "sex": np.array(["f", "m"])[sex],
            "race": np.array(list("abcdefgh"))[race],
            "level": level,
        }
    )


def false_alarms(setting: Setting, audits: int, permutations: int = 199) -> dict[str, Any]:
    """How often a contrast, or the headline, says that there is something."""
    contrasts, headlines = 0, 0
    for seed in range(audits):
        found = lfl.audit(
            people(setting, seed),
            score="score",
            sensitive=["sex", "race"],
            legitimate="level",
            permutations=permutations,
            random_state=seed,
        )
        contrasts += any((each.p_value or 1.0) <= 0.05 for each in found.contrasts)
        headlines += "no difference" not in found.headline
    return {
        "setting": setting.name,
        "audits": audits,
        "contrasts": contrasts / audits,
        "headline": headlines / audits,
    }


def cost(rows: int, permutations: int, turns: int) -> dict[str, Any]:
    """Processor seconds of two columns with six groups, and of one column with two."""
    setting = Setting("", rows, 50, (1 / 3, 1 / 3, 1 / 3), lambda r, x: r.random(x.size))
    frame = people(setting, 0)

    def spent(sensitive: str | list[str], permutations: int) -> float:
        before = time.process_time()
        roles: dict[str, Any] = {"score": "score", "legitimate": "level"}
        lfl.audit(frame, sensitive=sensitive, **roles, permutations=permutations)
        return time.process_time() - before

    asked: tuple[str | list[str], ...] = ("sex", ["sex", "race"])
    for sensitive in asked:
        spent(sensitive, 9)
    # In turn, so that both see the same machine.
    every = [[spent(sensitive, permutations) for sensitive in asked] for _ in range(turns)]
    one, two = (min(times) for times in zip(*every, strict=True))
    return {"rows": rows, "permutations": permutations, "one": one, "two": two, "ratio": two / one}


def page(results: dict[str, Any]) -> str:
    """The results as a page of Markdown."""
    rows = [
        f"| {each['setting']} | {each['audits']:,} | {each['contrasts']:.1%} "
        f"| {each['headline']:.1%} |"
        for each in results["false_alarms"]
    ]
    cost = {
        **results["cost"],
        "limit": MOST_TIMES,
        "rows_timed": results["cost"]["rows"],
        "rows": "\n".join(rows),
    }
    return _PAGE.format(**cost)


def main(arguments: list[str] | None = None) -> int:
    """Simulate and time, or read, and write the page; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.several_columns", description=__doc__
    )
    parser.add_argument("--read", action="store_true", help="measure nothing, read what is kept")
    parser.add_argument("--cost", action="store_true", help="measure times, keep the simulation")
    parser.add_argument("--audits", type=int, default=400, help="of every setting")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the audit that is timed")
    given = parser.parse_args(arguments)
    if not given.read:
        results = json.loads(KEPT.read_text("utf-8")) if given.cost else {}
        results["cost"] = cost(given.rows, 999, 3)
        if not given.cost:
            results["false_alarms"] = [false_alarms(each, given.audits) for each in SETTINGS]
        write_whole(KEPT, json.dumps(results, indent=2) + "\n")
    write_whole(PAGE, page(json.loads(KEPT.read_text("utf-8"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
