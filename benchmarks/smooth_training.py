"""Training and repair along a number, beside bins: parity, a frontier and repairs.

    python -m benchmarks.smooth_training --json benchmarks/smooth_training.json --page docs/smooth_training.md
    python -m benchmarks.smooth_training --read benchmarks/smooth_training.json --page docs/smooth_training.md

Scenarios are made here, with disparities that are known: nobody treated differently, or a shift of
.05. The frontier is that of Law School, race given LSAT (`benchmarks.smooth_frontier`).
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.smooth_frontier import CUTS, at_cut
from benchmarks.smooth_frontier import run as frontier
from likeforlike import FairLeap, SmoothFairLeap
from likeforlike._arrays import FloatArray, IntArray
from likeforlike.penalties import Layout
from likeforlike.repair import ConditionalBarycenter
from likeforlike.training import estimate_smooth_disparity

__all__ = ["main", "page", "run"]

_BINS = (5, 10, 20)
_SHIFT = 0.05
_SPLITS = 12
# How many times as many rows tell chance from what stays.
_MORE = 10


class _Drawn(NamedTuple):
    scores: FloatArray
    groups: IntArray
    numbers: FloatArray


class _Scenario(NamedTuple):
    """What a score is made of, as functions of the rank u of the number."""

    words: str
    mean: Callable[[FloatArray], FloatArray]
    spread: Callable[[FloatArray], FloatArray]
    share: Callable[[FloatArray], FloatArray]


def _logistic(x: FloatArray) -> FloatArray:
    chances: FloatArray = 1.0 / (1.0 + np.exp(-x))
    return chances


_SCENARIOS = {
    "nearly a function": _Scenario(
        "the score is nearly a function of the number",
        lambda u: np.sqrt(0.05 + u),
        lambda u: 0.02 + 0.0 * u,
        lambda u: _logistic(7.0 * (u - 0.5)),
    ),
    "waves": _Scenario(
        "mean and share of the groups go up and down together",
        lambda u: 0.5 + 0.15 * np.sin(5.0 * np.pi * u),
        lambda u: 0.06 + 0.0 * u,
        lambda u: 0.5 + 0.35 * np.sin(5.0 * np.pi * u),
    ),
    "growing noise": _Scenario(
        "the noise grows with the number",
        lambda u: 0.2 + 0.5 * u,
        lambda u: 0.02 + 0.1 * u,
        lambda u: _logistic(5.0 * (u - 0.6)),
    ),
    "wide noise": _Scenario(
        "the noise is as wide as the number moves the mean",
        lambda u: 0.4 + 0.3 * u,
        lambda u: 0.1 + 0.0 * u,
        lambda u: 0.2 + 0.6 * u,
    ),
}


def _drawn(scenario: _Scenario, size: int, shift: float, rng: np.random.Generator) -> _Drawn:
    u = rng.random(size)
    group = (rng.random(size) < scenario.share(u)).astype(np.int64)
    noise = scenario.spread(u) * rng.standard_normal(size)
    # A number with a long tail; only its rank matters to the score.
    number = np.exp(2.0 * u + u**8).round(3)
    return _Drawn(scenario.mean(u) + shift * group + noise, group, number)


def _binned(numbers: FloatArray, edges_of: FloatArray, bins: int) -> IntArray:
    edges = np.quantile(edges_of, np.arange(1, bins) / bins)
    return np.searchsorted(edges, numbers, side="left").astype(np.int64)


def _root(squares: list[float]) -> float:
    return math.sqrt(max(float(np.mean(squares)), 0.0))


def _squares(scenario: _Scenario, size: int, shift: float, repeats: int) -> dict[str, float]:
    """Mean of the penalties over repeats."""
    squares: dict[str, list[float]] = {}
    for seed in range(repeats):
        data = _drawn(scenario, size, shift, np.random.default_rng([seed, 1]))
        for bins in _BINS:
            level = _binned(data.numbers, data.numbers, bins)
            value, _ = FairLeap().value_and_grad(data.scores, data.groups, level)
            squares.setdefault(f"{bins} bins", []).append(value)
        value, _ = SmoothFairLeap().value_and_grad(*data)
        squares.setdefault("smooth", []).append(value)
    return {method: float(np.mean(those)) for method, those in squares.items()}


def _values(size: int, repeats: int) -> list[dict[str, Any]]:
    """Root of the penalties, over repeats, in every scenario."""
    found = []
    for name, scenario in _SCENARIOS.items():
        for shift in (0.0, _SHIFT):
            squares = _squares(scenario, size, shift, repeats)
            roots = {method: math.sqrt(square) for method, square in squares.items()}
            found.append({"scenario": name, "shift": shift, "rows": size, "roots": roots})
    return found


def _beyond_chance(size: int, repeats: int) -> list[dict[str, Any]]:
    """What of the penalties at parity is chance, and what stays however many rows there are.

    Chance shrinks with the number of rows and nothing else does: with ten times the rows
    V = stays + chance becomes stays + chance / 10.
    """
    found = []
    for name, scenario in _SCENARIOS.items():
        few = _squares(scenario, size, 0.0, repeats)
        many = _squares(scenario, _MORE * size, 0.0, max(1, repeats // 4))
        stays = {method: (_MORE * many[method] - few[method]) / (_MORE - 1) for method in few}
        roots = {
            f"{method}, {part}": math.sqrt(max(square, 0.0))
            for method in ("20 bins", "smooth")
            for part, square in (
                ("all", few[method]),
                ("chance", few[method] - stays[method]),
                ("stays", stays[method]),
            )
        }
        found.append({"scenario": name, "shift": 0.0, "rows": size, "roots": roots})
    return found


def _smooth_squared(scores: FloatArray, data: _Drawn) -> float:
    return estimate_smooth_disparity(scores, Layout.from_columns(data.groups, data.numbers)).squared


def _repaired(fit: _Drawn, new: _Drawn, bins: int | None) -> FloatArray:
    repair = ConditionalBarycenter(smooth=bins is None)
    levels: list[FloatArray | IntArray] = [fit.numbers, new.numbers]
    if bins is not None:
        levels = [_binned(data.numbers, fit.numbers, bins) for data in (fit, new)]
    repair.fit(fit.scores, sensitive_features=fit.groups, legitimate_features=levels[0])
    return repair.transform(
        new.scores, sensitive_features=new.groups, legitimate_features=levels[1]
    )


def _repairs(sizes: tuple[int, ...], repeats: int) -> list[dict[str, Any]]:
    """Smooth disparity of new rows before and after a repair, over repeats."""
    found = []
    for size in sizes:
        for name, scenario in _SCENARIOS.items():
            for shift in (0.0, _SHIFT):
                squares: dict[str, list[float]] = {}
                for seed in range(repeats):
                    rng = np.random.default_rng([seed, 2])
                    fit, new = (_drawn(scenario, size, shift, rng) for _ in range(2))
                    squares.setdefault("before", []).append(_smooth_squared(new.scores, new))
                    for bins in (*_BINS, None):
                        method = "smooth" if bins is None else f"{bins} bins"
                        moved = _repaired(fit, new, bins)
                        squares.setdefault(method, []).append(_smooth_squared(moved, new))
                roots = {method: _root(those) for method, those in squares.items()}
                found.append({"scenario": name, "shift": shift, "rows": size, "roots": roots})
    return found


def _parts(*, quick: bool, kept: dict[str, Any] | None = None) -> dict[str, Callable[[], Any]]:
    """What the page shows, and how each part of it is found."""
    if quick:
        return {
            "values": lambda: _values(2000, 1),
            "chance": lambda: _beyond_chance(2000, 1),
            "repairs": lambda: _repairs((2000,), 1),
            "frontier": lambda: frontier(1, 2, (0.0, 10.0)),
        }
    return {
        "values": lambda: _values(40_000, 8),
        "chance": lambda: _beyond_chance(40_000, 32),
        "repairs": lambda: _repairs((2_000, 20_000), 3),
        "frontier": lambda: frontier(_SPLITS, kept=kept),
    }


def run(
    *, quick: bool = False, only: str | None = None, kept: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Everything that the page shows, or one part of it; splits of a kept frontier stay."""
    parts = _parts(quick=quick, kept=kept)
    return {name: find() for name, find in parts.items() if only in (None, name)}


_INTRODUCTION = f"""# Training and repair along a number

Made by `python -m benchmarks.smooth_training --json benchmarks/smooth_training.json --page
docs/smooth_training.md`. Disparities are in the units of the score.

People in one bin of a number are not equals. Below, scores follow a number that the groups have
unequally; nobody is treated differently, or one group is ahead by {_SHIFT:g} everywhere. Scenarios:
"""


def _methods(entries: list[dict[str, Any]]) -> list[str]:
    return list(entries[0]["roots"])


def _rows(entries: list[dict[str, Any]]) -> list[str]:
    methods = _methods(entries)
    lines = [f"| scenario | rows | shift | {' | '.join(methods)} |"]
    lines.append("|---|---:|---:|" + "---:|" * len(methods))
    for entry in entries:
        roots = " | ".join(f"{entry['roots'][method]:.4f}" for method in methods)
        lines.append(f"| {entry['scenario']} | {entry['rows']:,} | {entry['shift']:g} | {roots} |")
    return lines


def _cuts(found: dict[str, Any]) -> list[str]:
    """Squared error at every cut of the disparity, and how sure the difference is."""
    methods = found["found"]
    errors = {name: np.array(of["error"]) for name, of in methods.items()}
    squares = {name: np.array(of["squared"]) for name, of in methods.items()}
    free = float(np.sqrt(np.mean([of[:, 0].mean() for of in squares.values()])))
    lines = [f"| disparity at most | cut | {' | '.join(methods)} | smooth less best bins |"]
    lines.append("|---:|---:|" + "---:|" * (len(methods) + 1))
    for cut in CUTS:
        at = {
            name: at_cut(errors[name].mean(axis=0), squares[name].mean(axis=0), cut, free)
            for name in methods
        }
        best = min((name for name in at if name != "smooth"), key=at.__getitem__)
        pairs = _without_one(errors, squares, cut, free, best)
        spread = np.sqrt((len(pairs) - 1) * np.var(pairs))
        cells = " | ".join(f"{value:.4f}" for value in at.values())
        gain = at["smooth"] - at[best]
        reached = f"| {(1 - cut) * free:.3f} | {cut:.0%} |"
        lines.append(f"{reached} {cells} | {gain:+.4f} ± {spread:.4f} |")
    return lines


def _without_one(
    errors: dict[str, FloatArray],
    squares: dict[str, FloatArray],
    cut: float,
    free: float,
    best: str,
) -> FloatArray:
    """The difference at a cut without each split in turn, for a jackknife error."""
    seeds = len(errors[best])
    differences = []
    for left_out in range(seeds):
        kept = np.arange(seeds) != left_out if seeds > 1 else np.array([True])
        at = [
            at_cut(errors[name][kept].mean(axis=0), squares[name][kept].mean(axis=0), cut, free)
            for name in ("smooth", best)
        ]
        differences.append(at[0] - at[1])
    return np.array(differences)


def page(found: dict[str, Any]) -> str:
    """What was found as a page of the documentation."""
    words = [f"- *{name}*: {scenario.words};" for name, scenario in _SCENARIOS.items()]
    words[-1] = words[-1][:-1] + "."
    of_frontier = found["frontier"]
    lines = [_INTRODUCTION, *words]
    lines += [
        "\n## What a penalty sees\n",
        "Root of the penalty, `FairLeap` in bins of equal numbers of rows and `SmoothFairLeap`,",
        "with its ten anchors. Without a shift it should be 0.\n",
        *_rows(found["values"]),
        "",
        "What is left without a shift is chance, which shrinks with more rows, and what the width",
        "of bins adds, which does not. Ten times the rows tell them apart; squares of both add up",
        "to that of *all*. What stays of `SmoothFairLeap` is next to nothing in every scenario.",
        "Where the width of bins adds little, in the last two, *all* is chance, of ten places and",
        "of twenty: about .6 of 20 bins. Fewer anchors would have less of it, and see less of what",
        "changes along the number.\n",
        *_rows(found["chance"]),
        "\n## What a cut of the disparity costs\n",
        f"Law School, {of_frontier['rows']:,} students: the grade of the first year is predicted,",
        "groups are white and not white, and equals are those of the same LSAT. Race is among the",
        f"inputs. {of_frontier['seeds']} splits; networks with 50 and 20 hidden units, as a stack",
        f"of {len(of_frontier['strengths'])} strengths.",
        "Squared error on test rows where the disparity along LSAT, as an audit without bins",
        "estimates it on the same rows, is cut by so much; less is better. The last column is the",
        "difference to the best of the bins, chosen after the fact, with its jackknife error; less",
        "than twice that says nothing.\n",
        *_cuts(of_frontier),
        "\n## What a repair leaves\n",
        "Smooth disparity of new rows, before and after `ConditionalBarycenter` in bins and with",
        "`smooth=True`, learned from as many other rows. 0 is an estimate that chance explains.\n",
        *_rows(found["repairs"]),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Run (or read what an earlier run found), and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write what was found")
    parser.add_argument("--read", type=Path, help="read what an earlier run found")
    parser.add_argument("--page", type=Path, help="write the page of the documentation")
    parser.add_argument("--quick", action="store_true", help="few rows and one split")
    parser.add_argument(
        "--only", choices=list(_parts(quick=True)), help="renew one part of the file to write"
    )
    parser.add_argument(
        "--more", action="store_true", help="keep the splits of a frontier with fewer of them"
    )
    given = parser.parse_args(arguments)
    if given.read is not None:
        found = json.loads(given.read.read_text())
    else:
        written = given.json is not None and given.json.exists()
        before = json.loads(given.json.read_text()) if written else {}
        kept = before.get("frontier") if given.more else None
        found = run(quick=given.quick, only=given.only, kept=kept)
        found = found if given.only is None else before | found
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    if given.page is not None:
        given.page.write_text(page(found))
        print(page(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
