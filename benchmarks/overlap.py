"""Whether audits along a number hold what they promise where groups hardly overlap.

    python -m benchmarks.overlap                      # simulates, a quarter of an hour on a core
    python -m benchmarks.overlap --only jittered      # settings whose name contains this
    python -m benchmarks.overlap --read --page docs/calibration_smooth.md

Numbers are those of places or people whose rows are mostly of one group. Scores follow the number,
places differ from each other beyond it, and the second group is .3 ahead, or nothing. The results
are kept in `overlap.json`; the table is a section of `docs/calibration_smooth.md`. A test repeats a
few settings in every run, and holds the kept results to the same bounds.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.report import source_digest
from likeforlike import Audit, audit
from likeforlike._arrays import FloatArray
from likeforlike.errors import InputError
from likeforlike.files import write_whole

__all__ = ["KEPT", "SETTINGS", "Setting", "main", "section", "simulate"]

HERE = Path(__file__).parent
KEPT = HERE / "overlap.json"

GAP = 0.3
"""How far the second group is ahead, where there is a disparity."""

_REPETITIONS, _PERMUTATIONS, _SIGNIFICANCE = 120, 99, 0.05
_WORDS = """## Groups that hardly overlap

A number may be that of a place or of a person, so that rows with the same number are of one group,
or nearly so. A curve that follows such numbers takes the gap along. `python -m benchmarks.overlap`
made this table: *p places of m rows, s%* means that s% of a place are of its group; places differ
by .3 beyond the number if nothing else is said, rows by .5. The true gap is {gap} (of decisions
half of it), in {repetitions} data sets, and 0 in as many. *Passes* counts the data sets in which a
gate at half the truth passes, of the gap or of the distance: none should. *No answer* is the share
of data sets in which the audit says that nothing can be compared; figures are of the others.

| people | compared by | no answer | gap | sd | covered | passes | parity: rejects | covered |
|---|---|---:|---:|---:|---:|---:|---:|---:|
"""

Random = np.random.Generator
Rows = tuple[dict[str, Any], dict[str, Any]]


class Setting(NamedTuple):
    """Made-up people.

    Attributes
    ----------
    name : what they are called.
    draw : from a generator and a gap to columns of a table, and what an audit of it is asked.
    unit : what a gap of 1 is to their scores.
    answered : whether there is something to be said about them.
    """

    name: str
    draw: Callable[[Random, float], Rows]
    unit: float = 1.0
    answered: bool = True


def _logistic(x: FloatArray) -> FloatArray:
    chance: FloatArray = 1.0 / (1.0 + np.exp(-x))
    return chance


def _places(
    rng: Random,
    gap: float,
    *,
    places: int = 150,
    rows: int = 20,
    own: float = 1.0,
    between: float = 0.3,
    steep: float = 1.0,
    cluster: bool = False,
    jitter: float = 0.0,
    uneven: bool = False,
    wiggle: float = 0.0,
    decide: bool = False,
    skewed: bool = False,
    jump: float = 0.0,
    categories: int = 1,
    single: int = 0,
    weights: bool = False,
    shown_as: Callable[[FloatArray], FloatArray] = np.array,
    asked: dict[str, Any] | None = None,
) -> Rows:
    """Places with a number each, and rows of which so many are of the place's own group."""
    places += single
    z = rng.normal(size=places)
    group = rng.random(places) < _logistic(steep * z)
    size = np.where(np.arange(places) < single, 1, rows)
    if uneven:
        size = np.minimum(2 + (rows / 2 * rng.pareto(1.5, places)).astype(int), 20 * rows)
    i = np.repeat(np.arange(places), size)
    a = np.where(rng.random(i.size) < own, group[i], ~group[i]).astype(int)
    effect = rng.exponential(between, places) if skewed else between * rng.normal(size=places)
    mean = 0.5 * z + wiggle * np.sin(4.0 * z) + jump * (z > 0.3) + effect
    score = mean[i] + 0.5 * rng.normal(size=i.size) + gap * a
    if decide:
        chance = np.clip(0.35 + 0.1 * np.tanh(z) + 0.25 * effect, 0.05, 0.8)
        score = (rng.random(i.size) < np.minimum(chance[i] + gap * a, 1.0)).astype(float)
    shown = z[i] + jitter * rng.normal(size=i.size)
    columns: dict[str, Any] = {"s": score, "a": a, "z": shown_as(shown)}
    roles: dict[str, Any] = {"smooth": "z"} | (asked or {})
    if cluster:
        columns["c"], roles["cluster"] = i, "c"
    if weights:
        columns["w"], roles["weight"] = rng.lognormal(0.0, 0.5, i.size), "w"
    if categories > 1:
        columns["k"], roles["legitimate"] = (np.arange(places) % categories)[i].astype(str), "k"
    return columns, roles


def _people(
    rng: Random,
    gap: float,
    *,
    people: int = 200,
    rows: int = 5,
    between: float = 0.8,
    ages: int = 0,
    numbers: int = 1,
) -> Rows:
    """People with several rows each, who are told as clusters."""
    z = rng.normal(size=people)
    z = np.round(z * ages / 4.0) * 4.0 / ages if ages else z
    y = rng.normal(size=people)
    i = np.repeat(np.arange(people), rows)
    a = (rng.random(people) < _logistic(z + 0.5 * y * (numbers > 1))).astype(int)
    mean = z + 0.3 * np.tanh(y) * (numbers > 1) + between * rng.normal(size=people) + gap * a
    columns = {"s": mean[i] + 0.6 * rng.normal(size=i.size), "a": a[i], "z": z[i], "c": i}
    if numbers > 1:
        columns["y"] = y[i]
    return columns, {"smooth": ["z", "y"][:numbers], "cluster": "c"}


def _plain(
    rng: Random,
    gap: float,
    *,
    rows: int = 2000,
    steep: float = 1.0,
    middle: float = 0.0,
    share: str = "smooth",
    marks: float = 0.0,
    zeros: bool = False,
    jump: float = 0.0,
) -> Rows:
    """Rows with numbers of their own, or with few different ones."""
    z = rng.normal(size=rows)
    z = np.round(marks * z) / marks if marks else z
    z = np.where(rng.random(rows) < 0.3, -1.0, z) if zeros else z
    chance = {
        "smooth": _logistic(steep * (z - middle)),
        "step": (z > 0.3).astype(float),
        "blocks": np.floor(8.0 * z) % 2,
        "jump": np.where(z > 0.4, 0.7, 0.3),
    }[share]
    a = (rng.random(rows) < chance).astype(int)
    mean = np.tanh(1.5 * z) + 0.3 * z + jump * (z > 0.4)
    score = mean + 0.5 * rng.normal(size=rows) + gap * a
    return {"s": score, "a": a, "z": z}, {"smooth": "z"}


SETTINGS = (
    Setting("150 places of 20, 100%", _places),
    Setting("150 places of 20, 97%", partial(_places, own=0.97)),
    Setting("150 places of 20, 90%", partial(_places, own=0.9)),
    Setting("150 places of 20, 80%", partial(_places, own=0.8)),
    Setting("400 places of 10, 100%", partial(_places, places=400, rows=10)),
    Setting("400 places of 10, 90%", partial(_places, places=400, rows=10, own=0.9)),
    Setting("50 places of 40, 100%", partial(_places, places=50, rows=40)),
    Setting("50 places of 40, 90%", partial(_places, places=50, rows=40, own=0.9)),
    Setting("2,000 places of 5, 100%", partial(_places, places=2000, rows=5)),
    Setting("1,000 households of 2, 100%", partial(_places, places=1000, rows=2)),
    Setting("150 places of 20, 100%, clusters told", partial(_places, cluster=True)),
    Setting("150 places of 20, 97%, clusters told", partial(_places, own=0.97, cluster=True)),
    Setting("150 places, no other differences", partial(_places, between=0.0)),
    Setting("150 places, skewed differences", partial(_places, skewed=True)),
    Setting("150 places of uneven sizes", partial(_places, uneven=True)),
    Setting("150 places, steep share", partial(_places, steep=3.0)),
    Setting("150 places, a wave", partial(_places, wiggle=0.5)),
    Setting("150 places, a jump of scores", partial(_places, jump=0.6)),
    Setting("150 places, decisions", partial(_places, decide=True), 0.5),
    Setting("150 places, 90%, decisions", partial(_places, own=0.9, decide=True), 0.5),
    Setting("3 categories of 60 places", partial(_places, places=180, categories=3)),
    Setting("150 places, 40 windows asked for", partial(_places, asked={"windows": 40})),
    Setting("150 places, weights", partial(_places, weights=True)),
    Setting("150 places, a number with a long tail", partial(_places, shown_as=np.exp)),
    Setting("75 places of 20 beside 1,500 single rows", partial(_places, places=75, single=1500)),
    Setting("200 people of 5 rows", _people),
    Setting("200 people of 5 rows, less different", partial(_people, between=0.3)),
    Setting("500 people of 5 rows", partial(_people, people=500)),
    Setting("300 people of 5 rows, 20 ages", partial(_people, people=300, ages=20)),
    Setting("300 people of 5 rows, two numbers", partial(_people, people=300, numbers=2)),
    Setting("2,000 rows, share with slope 6", partial(_plain, steep=6.0)),
    Setting("2,000 rows, few of a group, slope 3", partial(_plain, steep=3.0, middle=2.0)),
    Setting("2,000 rows, 29 marks, slope 6", partial(_plain, steep=6.0, marks=4.0)),
    Setting("2,000 rows, three in ten at one number", partial(_plain, zeros=True)),
    Setting("2,000 rows, share and score jump", partial(_plain, share="jump", jump=0.6)),
    Setting("150 places, numbers jittered", partial(_places, jitter=1e-6), answered=False),
    Setting(
        "150 places, 90%, numbers jittered", partial(_places, own=0.9, jitter=1e-6), answered=False
    ),
    Setting("150 places, jittered by .01", partial(_places, jitter=0.01), answered=False),
    Setting("15 places of 10", partial(_places, places=15, rows=10), answered=False),
    Setting("the group is z > .3", partial(_plain, share="step"), answered=False),
    Setting("the group comes in blocks of z", partial(_plain, share="blocks"), answered=False),
)
"""Every kind of people; the last ones cannot be compared."""


def _audited(setting: Setting, gap: float, rng: Random) -> Audit | None:
    """The audit of one data set; `None` if it says that nothing can be compared."""
    columns, asked = setting.draw(rng, gap)
    seed = int(rng.integers(1_000_000_000))
    try:
        return audit(
            pl.DataFrame(columns),
            score="s",
            sensitive="a",
            permutations=_PERMUTATIONS,
            random_state=seed,
            **asked,
        )
    except InputError as error:
        if "be compared" not in str(error):
            raise
        return None


def simulate(setting: Setting, repetitions: int = _REPETITIONS) -> dict[str, Any]:
    """What audits of made-up data sets say, with a gap and without.

    Parameters
    ----------
    setting : what is drawn.
    repetitions : how many data sets of each.
    """
    gap, rng = GAP * setting.unit, np.random.default_rng([len(setting.name), repetitions])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ahead = [_audited(setting, gap, rng) for _ in range(repetitions)]
        alike = [_audited(setting, 0.0, rng) for _ in range(repetitions)]
    told, parity = ([each for each in found if each is not None] for found in (ahead, alike))
    units = [each.smooth.units for each in told if each.smooth is not None]
    passes = sum("pass" in (each.gate(gap / 2.0), each.gate(gap / 2.0, of="gap")) for each in told)
    gaps = [each.gap for each in told]
    return {
        "people": setting.name,
        "true": gap,
        "repetitions": repetitions,
        "compared": max(sorted(set(units)), key=units.count) if units else None,
        "answered": len(told) + len(parity),
        "gap": float(np.mean(gaps)) if gaps else None,
        "sd": float(np.std(gaps)) if gaps else None,
        "covered": _share([_holds(each, gap) for each in told]),
        "passes": passes / repetitions,
        "rejects": _share([_p_value(each) <= _SIGNIFICANCE for each in parity]),
        "parity_covered": _share([_holds(each, 0.0) for each in parity]),
    }


def _holds(found: Audit, gap: float) -> bool:
    low, high = found.gap_interval or (-math.inf, math.inf)
    return low <= gap <= high


def _p_value(found: Audit) -> float:
    return 1.0 if found.p_value is None else found.p_value


def _share(held: list[bool]) -> float | None:
    return float(np.mean(held)) if held else None


def section(results: dict[str, Any]) -> str:
    """The results as a section of a page of Markdown.

    Parameters
    ----------
    results : what this command wrote.
    """
    lines = [_line(entry) for entry in results["settings"]]
    times = max(entry["repetitions"] for entry in results["settings"])
    return _WORDS.format(gap=GAP, repetitions=times) + "\n".join(lines) + "\n"


def _line(entry: dict[str, Any]) -> str:
    """One line of the table."""
    silent = 1.0 - entry["answered"] / (2 * entry["repetitions"])
    figures = [entry[name] for name in ("gap", "sd", "covered", "passes", "rejects")]
    shown = ["–" if value is None else f"{value:.2f}" for value in figures]
    last = entry["parity_covered"]
    shown.append("–" if last is None else f"{last:.2f}")
    shown[0] = shown[0] if entry["gap"] is None else f"{entry['gap']:.3f} of {entry['true']:g}"
    return f"| {' | '.join([entry['people'], entry['compared'] or '–', f'{silent:.2f}', *shown])} |"


def main(arguments: list[str] | None = None) -> int:
    """Simulate or read, keep the results and write the page; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overlap")
    parser.add_argument("--read", action="store_true", help="simulate nothing, read what is kept")
    parser.add_argument("--only", default="", help="settings whose name contains this")
    parser.add_argument("--repetitions", type=int, default=_REPETITIONS)
    parser.add_argument("--json", type=Path, default=KEPT, help="where results are kept")
    parser.add_argument("--page", type=Path, help="the page that the table is a section of")
    given = parser.parse_args(arguments)
    results = json.loads(given.json.read_text("utf-8")) if given.json.exists() else {}
    kept = {entry["people"]: entry for entry in results.get("settings", [])}
    for setting in () if given.read else SETTINGS:
        if given.only in setting.name:
            kept[setting.name] = simulate(setting, given.repetitions)
            print(_line(kept[setting.name]), file=sys.stderr, flush=True)
            entries = [kept[each.name] for each in SETTINGS if each.name in kept]
            results = {"settings": entries, "source": source_digest()}
            write_whole(given.json, json.dumps(results, indent=1) + "\n")
    if given.page is not None:
        before = given.page.read_text("utf-8").split(_WORDS.splitlines()[0])[0]
        write_whole(given.page, f"{before}{section(results)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
