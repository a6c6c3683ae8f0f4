"""Whether sensitivity and drivers hold what they promise, where the truth is planted.

    python -m benchmarks.doubting             # simulates, some five minutes on a core
    python -m benchmarks.doubting --quick     # a tenth of the data sets, nothing is written
    python -m benchmarks.doubting --read      # writes the section of docs/doubt.md again

Γ: an omitted feature is Γ_0 times as common in odds in the second group, and it alone moves the
score. Robustness: its shares of score and group are the true ones. Drivers: each input carries a
known gap, or none. The results are kept in `doubting.json`; tests hold them to what is promised.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.sections import table, with_section
from likeforlike import Cells, audit
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.disparity import Contrast, contrasts, level_weights
from likeforlike.files import write_whole
from likeforlike.inference import signed_gap
from likeforlike.sensitivity import Drivers, hidden_bias, sensitivity

__all__ = ["KEPT", "PAGE", "main", "parity", "plant", "section", "simulate"]

HERE = Path(__file__).parent
KEPT = HERE / "doubting.json"
PAGE = HERE.parent / "docs" / "doubt.md"
Random = np.random.Generator

SHAPES = {"4": (100, 4), "8": (50, 8), "60": (10, 60), "600": (1, 600)}
"""Rows of a level: levels, rows of each."""

SCORES: dict[str, Callable[[FloatArray, IntArray], FloatArray]] = {
    "decisions": lambda noise, u: 0.0 * noise + u,
    "ratings": lambda noise, u: np.clip(np.rint(2.4 + 1.2 * u + 0.8 * noise), 1, 5),
    "scores": lambda noise, u: np.abs(noise) * (2 * u - 1),
}
"""Scores that an omitted feature alone moves."""

ODDS = {"4": 2.5, "8": 1.5, "60": 2.5, "600": 1.5}
STRENGTHS = [(0.5, 0.8), (1.0, 0.4), (0.3, 1.5)]
"""Coefficients of the score and of the log-odds of the group on a normal omitted feature."""

_GAPS = np.array([0.3, -0.2, 0.1, 0.0, 0.0])


def pair(scores: FloatArray, group: IntArray, level: IntArray) -> Contrast:
    """Make a contrast of rows, in the levels that both groups share."""
    kept = np.isin(level, np.intersect1d(level[group == 0], level[group == 1]))
    return contrasts(Cells.from_rows(scores[kept], group[kept], level[kept]), "pairwise")[0]


def plant(rng: Random, kind: str, rows: str, odds: float) -> Contrast:
    """Draw rows whose omitted feature is so many times as common in odds in the second group."""
    levels, size = SHAPES[rows]
    level = np.repeat(np.arange(levels), size)
    u = rng.integers(0, 2, level.size)
    chance = 0.35 / 0.65 * np.where(u == 1, odds, 1.0)
    group = (rng.random(level.size) < chance / (1.0 + chance)).astype(np.int64)
    return pair(SCORES[kind](rng.normal(size=u.size), u), group, level)


def planted_odds(kind: str, rows: str, repetitions: int) -> dict[str, Any]:
    """Count how often the tests at 1 and at the true odds reject."""
    rng, odds = np.random.default_rng([7, len(kind), int(rows)]), ODDS[rows]
    at_true = at_one = by_gap = by_ranks = 0
    for _ in range(repetitions):
        contrast = plant(rng, kind, rows, odds)
        gap, ranks, _ = hidden_bias(contrast, level_weights(contrast, "marginal"), 0.05)
        at_one += gap is not None or ranks is not None
        by_gap += (gap or 0.0) >= odds
        by_ranks += (ranks or 0.0) >= odds
        at_true += max(gap or 0.0, ranks or 0.0) >= odds
    return {
        "scores": kind,
        "rows": int(rows),
        "odds": odds,
        "repetitions": repetitions,
        "at_true": at_true,
        "gap_at_true": by_gap,
        "ranks_at_true": by_ranks,
        "at_one": at_one,
    }


def normal_rows(rng: Random, size: int, y: float, a: float) -> tuple[Any, ...]:
    """Draw rows with a normal omitted feature; nothing but it and the level moves the score."""
    level, u = rng.integers(0, 10, size), rng.normal(size=size)
    chance = 1.0 / (1.0 + np.exp(-(a * u + 0.1 * (level - 5))))
    group = (rng.random(size) < chance).astype(np.int64)
    return y * u + rng.normal(size=size) + 0.1 * level, group, level, u, chance


def true_strength(y: float, a: float) -> tuple[float, float]:
    """Compute both shares of the omitted feature from many rows whose chances are known."""
    score, group, level, u, chance = normal_rows(np.random.default_rng(5), 1_000_000, y, a)
    share = (np.bincount(level, group) / np.bincount(level))[level]
    short = np.mean(group / share**2 + (1 - group) / (1 - share) ** 2)
    long = np.mean(1.0 / chance + 1.0 / (1.0 - chance))
    cell = 2 * level + group
    middle = np.bincount(cell, u) / np.bincount(cell)
    mean = np.bincount(cell, score) / np.bincount(cell)
    explained = np.mean((y * (u - middle[cell])) ** 2) / np.mean((score - mean[cell]) ** 2)
    return float(explained), float(1.0 - short / long)


def planted_strength(y: float, a: float, repetitions: int) -> dict[str, Any]:
    """Count how often the interval for the true strength holds the true gap, which is 0."""
    rng, strength = np.random.default_rng([11, int(10 * y)]), true_strength(y, a)
    held = plain = 0
    for _ in range(repetitions):
        score, group, level, *_ = normal_rows(rng, 1500, y, a)
        contrast = pair(score, group, level)
        weights = level_weights(contrast, "marginal")
        gap = signed_gap(contrast, weights)
        found = sensitivity(
            contrast, weights, gap, columns=("group",), legitimate=("level",), strength=strength
        )
        assert found.adjusted is not None
        low, high = found.adjusted.interval or (0.0, 0.0)
        held += low <= 0.0 <= high
        plain += gap.interval[0] <= 0.0 <= gap.interval[1]
    return {
        "outcome": strength[0],
        "group": strength[1],
        "repetitions": repetitions,
        "covered": held,
        "covered_without": plain,
    }


def benchmark(repetitions: int) -> dict[str, Any]:
    """Compare the strength of a column by the full audit with what it is when it is left out."""

    def draw(rng: Random, size: int) -> pl.DataFrame:
        income, tenure = rng.integers(0, 4, size), rng.integers(0, 3, size)
        chance = 1.0 / (1.0 + np.exp(-(0.2 * (income - 1.5) + 0.6 * (tenure - 1))))
        return pl.DataFrame(
            {
                "score": 0.2 * income + 0.5 * tenure + rng.normal(size=size),
                "group": np.where(rng.random(size) < chance, "m", "f"),
                "income": income,
                "tenure": tenure,
            }
        )

    asked: dict[str, Any] = {"score": "score", "sensitive": "group", "permutations": 0}
    rng, found, bounded = np.random.default_rng(3), [], 0
    for _ in range(repetitions):
        rows = draw(rng, 2000)
        [full] = audit(rows, legitimate=["income", "tenure"], **asked).sensitivity()
        like = next(each for each in full.benchmarks if each.column == "tenure")
        short = audit(rows, legitimate="income", **asked)
        [bound] = short.sensitivity(strength=(like.outcome, like.group))
        assert bound.adjusted is not None
        bounded += abs(short.gap - full.gap) <= 1.03 * bound.adjusted.bias  # n - 1 for n
        found.append((like.outcome, like.group))
    # The shares among so many rows that chance adds nothing.
    [large] = audit(draw(rng, 1_000_000), legitimate=["income", "tenure"], **asked).sensitivity()
    true = next(each for each in large.benchmarks if each.column == "tenure")
    mean = np.mean(found, axis=0).tolist()
    return {
        "repetitions": repetitions,
        "outcome": mean[0],
        "group": mean[1],
        "true_outcome": true.outcome,
        "true_group": true.group,
        "bounded": bounded,
    }


DRIVER_SETTINGS = ("normal", "skewed", "rare", "small levels", "weights", "clusters")
"""How contributions are distributed, or how rows are."""


def driver_rows(rng: Random, kind: str, gaps: FloatArray) -> tuple[pl.DataFrame, FloatArray]:
    """Draw rows and contributions, each with a known gap among equals."""
    levels, size = (80, 800) if kind == "small levels" else (8, 800)
    level, group = rng.integers(0, levels, size), rng.integers(0, 2, size)
    person = np.arange(size)
    if kind == "clusters":
        person = np.repeat(np.arange(size // 4), 4)
        level, group = level[person], group[person]
    noise = rng.normal(size=(size, gaps.size))
    if kind == "skewed":
        noise = rng.exponential(size=noise.shape)
    if kind == "rare":
        noise = (rng.random(noise.shape) < 0.05).astype(float)
    if kind == "clusters":
        noise = 0.7 * noise + 0.7 * rng.normal(size=noise.shape)[person]
    phi = noise + group[:, None] * gaps + 0.2 * level[:, None] / levels
    columns = {"group": group, "level": level, "score": phi.sum(axis=1)}
    if kind == "weights":
        columns["weight"] = rng.uniform(0.5, 2.0, size)
    if kind == "clusters":
        columns["person"] = person
    return pl.DataFrame(columns), phi


def ask_drivers(rows: pl.DataFrame, phi: FloatArray, permutations: int, seed: int = 0) -> Drivers:
    """Audit rows, and split what is found."""
    audited = audit(
        rows,
        score="score",
        sensitive="group",
        legitimate="level",
        weight="weight" if "weight" in rows.columns else None,
        cluster="person" if "person" in rows.columns else None,
        permutations=permutations,
        random_state=seed,
    )
    return audited.drivers(phi)


def driver_coverage(kind: str, repetitions: int) -> dict[str, Any]:
    """Count how often the intervals of the inputs hold their gaps."""
    rng, held = np.random.default_rng([13, len(kind)]), 0
    for _ in range(repetitions):
        found = ask_drivers(*driver_rows(rng, kind, _GAPS), permutations=0)
        for each in found.inputs:
            low, high = each.interval or (0.0, 0.0)
            held += low <= _GAPS[int(each.name.removeprefix("input "))] <= high
    return {"setting": kind, "of": repetitions * _GAPS.size, "covered": held}


def parity(kind: str, repetitions: int) -> dict[str, Any]:
    """Count how often an input is named a driver where the scores are alike."""
    gaps = np.zeros(8)
    if kind == "cancels":
        gaps[:2] = 0.3, -0.3
    rng, named = np.random.default_rng([17, len(kind)]), 0
    for seed in range(repetitions):
        # The same few permutations in all data sets would all be lucky, or none.
        found = ask_drivers(*driver_rows(rng, "normal", gaps), permutations=99, seed=seed)
        named += bool(found.named)
    return {"setting": kind, "repetitions": repetitions, "named": named}


def simulate(share: float = 1.0) -> dict[str, Any]:
    """Simulate everything, with a share of the data sets."""
    many, some, few, most = (max(int(share * each), 5) for each in (300, 240, 100, 500))
    return {
        "quick": share < 1.0,
        "odds": [planted_odds(kind, rows, many) for kind in SCORES for rows in SHAPES],
        "strength": [planted_strength(*each, some) for each in STRENGTHS],
        "benchmark": benchmark(few // 2),
        "coverage": [driver_coverage(kind, few) for kind in DRIVER_SETTINGS],
        "parity": [parity(kind, most) for kind in ("nothing", "cancels")],
    }


def section(kept: dict[str, Any]) -> str:
    """The part of the page that shows the results."""

    def rate(count: int, of: int) -> str:
        error = 1.96 * math.sqrt(max(count * (of - count), of) / of**3)
        return f"{count / of:.3f} ± {error:.3f}"

    odds = table(
        ("scores", "rows of a level", "Γ₀", "rejects at Γ₀", "gap", "ranks", "rejects at 1"),
        (
            (
                each["scores"],
                str(each["rows"]),
                str(each["odds"]),
                *(
                    rate(each[name], each["repetitions"])
                    for name in ("at_true", "gap_at_true", "ranks_at_true", "at_one")
                ),
            )
            for each in kept["odds"]
        ),
    )
    strength = table(
        ("share of the score", "share of the group", "interval holds the truth", "without"),
        (
            (
                f"{each['outcome']:.3f}",
                f"{each['group']:.3f}",
                rate(each["covered"], each["repetitions"]),
                rate(each["covered_without"], each["repetitions"]),
            )
            for each in kept["strength"]
        ),
    )
    coverage = table(
        ("contributions", "interval of an input holds its gap"),
        ((each["setting"], rate(each["covered"], each["of"])) for each in kept["coverage"]),
    )
    alone = {each["setting"]: rate(each["named"], each["repetitions"]) for each in kept["parity"]}
    like = kept["benchmark"]
    sizes = [kept[name][0]["repetitions"] for name in ("odds", "strength", "parity")]
    return f"""### Γ

An omitted feature that is Γ₀ times as common in one group, and alone moves the score: it decides
it, as the worst one does, or moves it by much (ratings). Two tests, two-sided, at .025 each;
{sizes[0]:,} data sets in each setting, ± 1.96 standard errors.

{odds}

### Robustness value

Intervals of the gap for a normal omitted feature of the true strength, 1,500 rows in 10 levels,
{sizes[1]} data sets; the gap among people who are equal in it, too, is 0.

{strength}

In {like["repetitions"]} full audits of 2,000 rows a column had strengths of {like["outcome"]:.4f}
and {like["group"]:.4f} on average; among a million rows {like["true_outcome"]:.4f} and
{like["true_group"]:.4f}. Left out, it moved the gap by no more than the bound (and 3%,
since variances are by n - 1) in {like["bounded"]} of them.

### Drivers

Five inputs with gaps of .3, -.2, .1, 0 and 0, 800 rows; {kept["coverage"][0]["of"]:,} intervals in
each setting.

{coverage}

At parity an input was named a driver in a share of {alone["nothing"]} of {sizes[2]} data sets, and
in {alone["cancels"]} where two inputs differ by group and cancel.
"""


def main(arguments: list[str] | None = None) -> int:
    """Simulate, keep the results, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--read", action="store_true")
    asked = parser.parse_args(arguments)
    if not asked.read:
        kept = simulate(0.1 if asked.quick else 1.0)
        if asked.quick:
            print(section(kept))
            return 0
        write_whole(KEPT, json.dumps(kept, indent=1, default=int) + "\n")
    kept = json.loads(KEPT.read_text("utf-8"))
    write_whole(PAGE, with_section(PAGE.read_text("utf-8"), "doubting", section(kept)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
