"""What enforcing costs: trade-offs of FairLeap, FairBiT and repair on four data sets.

    python -m benchmarks.enforcing [--json benchmarks/enforcing.json] [--quick]

Five splits of each data set, networks with 50 and 20 hidden units, without and with the sensitive
column among the inputs, everything measured on test rows: predictive power (AUC or squared error)
and the disparity as an audit estimates it, without small-sample bias. `ConditionalBarycentre`
repairs the unpenalised network with the group known at prediction: about the best that can be had.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from likeforlike import FairBiT, FairLeap
from likeforlike.datasets import (
    Dataset,
    load_adult,
    load_drug,
    load_law_school,
    make_loans,
)
from likeforlike.experiments.split import split
from likeforlike.experiments.tradeoff import Point, repair_tradeoff, tradeoff
from likeforlike.nn.training import Recipe
from likeforlike.penalties import Penalty

__all__ = ["main", "run"]

_PENALTIES: dict[str, Penalty] = {"FairLeap": FairLeap(), "FairBiT": FairBiT()}
_STRENGTHS = (0.0, 0.3, 1.0, 3.0, 10.0, 30.0)
_AMOUNTS = (0.0, 0.5, 0.8, 0.9, 1.0)


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


def _recipe(setting: _Setting, loss: Any, penalty: Penalty | None) -> Recipe:  # noqa: ANN401
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
        "power": "mean squared error" if loss == "squared" else "AUC",
        "points": [asdict(point) for point in points],
    }


def _table(entries: list[dict[str, Any]]) -> Table:
    table = Table(title="what enforcing costs, on test rows")
    for heading in ("data", "method", "inputs", "strength", "power", "cost", "disparity", "cut"):
        table.add_column(heading)
    for entry in entries:
        free = entry["points"][0]
        for point in entry["points"]:
            table.add_row(
                entry["data"],
                entry["method"],
                "with A" if entry["with_sensitive"] else "without A",
                f"{point['strength']:g}",
                f"{point['power']:.4f} ± {point['power_error']:.4f}",
                f"{point['power'] - free['power']:+.4f}",
                f"{point['disparity']:.4f}",
                f"{1.0 - point['disparity'] / free['disparity']:.0%}",
            )
    return table


def main(arguments: list[str] | None = None) -> int:
    """Run, print, and write the JSON if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="the loan data and one split")
    given = parser.parse_args(arguments)
    entries = run(["loans"], 1) if given.quick else run(list(_SETTINGS), 5)
    Console().print(_table(entries))
    if given.json is not None:
        given.json.write_text(json.dumps(entries, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
