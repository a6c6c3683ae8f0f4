"""What enforcing costs: trade-offs of FairLeap, FairBiT and repair on four data sets.

    python -m benchmarks.enforcing --json benchmarks/enforcing.json --page docs/frontiers.md
    python -m benchmarks.enforcing --read benchmarks/enforcing.json --page docs/frontiers.md

Five splits of each data set, networks with 50 and 20 hidden units, without and with the sensitive
column among the inputs, everything measured on test rows: predictive performance (AUC or squared
error) and the disparity as an audit estimates it, without small-sample bias.
`ConditionalBarycenter`
repairs the unpenalized network with the group known at prediction: about the best that can be had.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.smooth_frontier import at_cut
from likeforlike import FairBiT, FairLeap
from likeforlike.datasets import (
    Dataset,
    load_adult,
    load_drug,
    load_law_school,
    make_loans,
)
from likeforlike.experiments import split
from likeforlike.experiments._tradeoff import Point, repair_tradeoff, tradeoff
from likeforlike.penalties import Penalty
from likeforlike.training import Loss, Recipe

__all__ = ["main", "page", "run"]

_PENALTIES: dict[str, Penalty] = {"FairLeap": FairLeap(), "FairBiT": FairBiT()}
_STRENGTHS = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0)
_AMOUNTS = (0.0, 0.5, 0.8, 0.9, 1.0)
_HEADINGS = ("strength", "performance", "change", "disparity", "cut by")
_INTRODUCTION = """# What enforcing costs

Made by `python -m benchmarks.enforcing --json benchmarks/enforcing.json --page docs/frontiers.md`.

Five splits of each data set; networks with 50 and 20 hidden units at several strengths, trained as
one stack; everything measured on test rows. *Performance* is the mean over the splits with its
standard error. *Disparity* is that of an audit, Σ P(l) W_1²(l) without small-sample bias, averaged
over the splits before the root is taken. *Change* and *cut* are against strength 0. *Repair* is
`ConditionalBarycenter` on the network without penalty, with t for a strength: it knows everybody's
group when it predicts, so it shows about what can be had at all.

## What four fifths of the disparity cost

AUC that is lost, or squared error that is added, where the disparity is cut by 80%; between two
strengths, on the line that joins them. Where no strength gets there, the largest cut is shown.
"""
_METHODS = (*_PENALTIES, "repair")
_CUT = 0.8


@dataclass(frozen=True, slots=True)
class _Setting:
    load: Callable[[], Dataset]
    batch_size: int
    max_epochs: int
    patience: int
    test: float


_SETTINGS = {
    "loans": _Setting(lambda: make_loans(10_000, gap=0.15), 256, 80, 15, 0.4),
    "adult": _Setting(load_adult, 512, 60, 12, 0.2),
    "drug": _Setting(load_drug, 128, 150, 30, 0.4),
    "law_school": _Setting(load_law_school, 256, 60, 15, 0.4),
}


def run(names: list[str], seeds: int) -> list[dict[str, Any]]:
    """All trade-offs of the data sets named, one entry for each method and choice of inputs."""
    found = []
    for name in names:
        setting = _SETTINGS[name]
        data = setting.load()
        rest = 1.0 - setting.test
        for with_sensitive in (False, True):
            parts = split(
                data,
                range(seeds),
                shares=(0.8 * rest, 0.2 * rest, setting.test),
                with_sensitive=with_sensitive,
            )
            for method, penalty in _PENALTIES.items():
                recipe = _recipe(setting, parts.loss, penalty)
                points = tradeoff(parts, recipe, _STRENGTHS)
                found.append(_entry(name, method, with_sensitive, parts.loss, points))
            repaired = repair_tradeoff(parts, _recipe(setting, parts.loss, None), _AMOUNTS)
            found.append(_entry(name, "repair", with_sensitive, parts.loss, repaired))
    return found


def _recipe(setting: _Setting, loss: Loss, penalty: Penalty | None) -> Recipe:
    return Recipe(
        loss=loss,
        penalty=penalty,
        batch_size=setting.batch_size,
        max_epochs=setting.max_epochs,
        patience=setting.patience,
    )


def _entry(
    name: str, method: str, with_sensitive: bool, loss: str, points: list[Point]
) -> dict[str, Any]:
    return {
        "data": name,
        "method": method,
        "with_sensitive": with_sensitive,
        "performance": "mean squared error" if loss == "squared" else "AUC",
        "points": [asdict(point) for point in points],
    }


def _rows(entry: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Strength, performance, its cost, disparity and the cut, as text."""
    free = entry["points"][0]
    for point in entry["points"]:
        yield (
            f"{point['strength']:g}",
            f"{point['performance']:.4f} ± {point['performance_error']:.4f}",
            f"{point['performance'] - free['performance']:+.4f}",
            f"{point['disparity']:.4f}",
            f"{1.0 - point['disparity'] / free['disparity']:.0%}",
        )


def _inputs(entry: dict[str, Any]) -> str:
    return f"{'with' if entry['with_sensitive'] else 'without'} the sensitive column"


def _table(entries: list[dict[str, Any]]) -> Table:
    table = Table(title="what enforcing costs, on test rows")
    for heading in ("data", "method", "inputs", *_HEADINGS):
        table.add_column(heading)
    for entry in entries:
        for row in _rows(entry):
            table.add_row(entry["data"], entry["method"], _inputs(entry), *row)
    return table


def _price(entry: dict[str, Any]) -> str:
    """What a cut of four fifths costs, as text, or how far the disparity can be cut."""
    worse = 1.0 if entry["performance"] == "mean squared error" else -1.0
    errors = worse * np.array([point["performance"] for point in entry["points"]])
    disparities = np.array([point["disparity"] for point in entry["points"]])
    error = at_cut(errors, disparities**2, _CUT, disparities[0])
    if np.isfinite(error):
        return f"{error - errors[0]:.4f}"
    return f"at most {1.0 - disparities.min() / disparities[0]:.0%}"


def _prices(entries: list[dict[str, Any]]) -> Iterator[str]:
    """Lines of the table that sums up: data sets and inputs by methods."""
    yield "| | inputs | disparity | " + " | ".join(_METHODS) + " |"
    yield "|---|---|" + "---:|" * (1 + len(_METHODS))
    for name, inputs in dict.fromkeys((entry["data"], _inputs(entry)) for entry in entries):
        own = {e["method"]: e for e in entries if (e["data"], _inputs(e)) == (name, inputs)}
        free = own[_METHODS[0]]["points"][0]["disparity"]
        prices = " | ".join(_price(own[method]) for method in _METHODS)
        yield f"| {_title(name)} | {inputs} | {free:.3f} | {prices} |"


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def page(entries: list[dict[str, Any]]) -> str:
    """The trade-offs as a page of the documentation."""
    lines = [_INTRODUCTION, *_prices(entries)]
    for name in dict.fromkeys(entry["data"] for entry in entries):
        own = [entry for entry in entries if entry["data"] == name]
        lines.append(f"\n## {_title(name)}: {own[0]['performance']}\n")
        for entry in own:
            lines.append(f"\n**{entry['method']}**, inputs {_inputs(entry)}\n")
            lines.append("| " + " | ".join(_HEADINGS) + " |")
            lines.append("|" + "---:|" * len(_HEADINGS))
            lines.extend("| " + " | ".join(row) + " |" for row in _rows(entry))
    return "\n".join(lines) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Run (or read what an earlier run found), print, and write what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write what was found")
    parser.add_argument("--read", type=Path, help="read what an earlier run found")
    parser.add_argument("--page", type=Path, help="write the page of the documentation")
    parser.add_argument("--quick", action="store_true", help="the loan data and one split")
    given = parser.parse_args(arguments)
    if given.read is not None:
        entries = json.loads(given.read.read_text())
    else:
        entries = run(["loans"], 1) if given.quick else run(list(_SETTINGS), 5)
    Console().print(_table(entries))
    if given.json is not None:
        given.json.write_text(json.dumps(entries, indent=1) + "\n")
    if given.page is not None:
        given.page.write_text(page(entries))
    return 0


if __name__ == "__main__":
    sys.exit(main())
