"""Figures of sweeps: what methods trade, with the frontier of every panel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from likeforlike.errors import InputError
from likeforlike.experiments.paper import OWN_METHODS, PAPER_METHODS
from likeforlike.experiments.reproduction import Reproduction
from likeforlike.experiments.sweep import Sweep
from likeforlike.report.format import count, counted
from likeforlike.report.frontiers import Panel, Point, Series, frontier_figure
from likeforlike.report.markers import Look

__all__ = ["FIGURES", "figure_panels", "reproduction_figures", "sweep_figure"]

_WORDS = {
    "cdd_wass": "nested disparity, CDD-wass, excess over levels",
    "diagonal": "disparity among equals, part of CDD-wass",
    "off_diagonal": "disparity across levels, part of CDD-wass",
    "cdd_uniform": "disparity among equals, CDD-lp, measure uniform",
    "cdd_average": "disparity among equals, CDD-lp, measure average",
    "cdd_marginal": "disparity among equals, CDD-lp, measure P(L)",
    "dd": "disparity between groups whatever the level, DD",
    "squared": "disparity among equals, unbiased squares, measure P(L)",
}
_DATASETS = {
    "adult": "Adult",
    "drug": "Drug Consumption",
    "law_school": "Law School",
    "communities": "Communities and Crime",
}
# A family has one colour; ours are full where the paper's are hollow.
_LOOKS = {
    "no regularisation": Look("cross", "hollow", "ink"),
    "legitimate only": Look("asterisk", "hollow", "ink"),
    "FairBiT": Look("square", "hollow", "blue"),
    "FairLeap, uniform": Look("down", "hollow", "vermilion"),
    "FairLeap, P(L)": Look("up", "hollow", "vermilion"),
    "FairLeap, average": Look("right", "hollow", "vermilion"),
    "DCFR": Look("circle", "full", "green"),
    "adversarial, CDP": Look("star", "full", "purple"),
    "adversarial, DP": Look("star", "hollow", "purple"),
    "repair": Look("hourglass", "hollow", "ochre"),
    "Wasserstein": Look("circle", "hollow", "grey"),
    "our FairLeap": Look("up", "full", "vermilion"),
    "our FairBiT": Look("square", "full", "blue"),
    "our FairLeap, by batch": Look("right", "full", "vermilion"),
    "our FairLeap, A unseen": Look("left", "full", "vermilion"),
    "our FairBiT, A unseen": Look("diamond", "full", "blue"),
    "barycentre": Look("hourglass", "full", "ochre"),
}
_PAPER = tuple(method.name for method in PAPER_METHODS)
_RECIPES = (
    "no regularisation",
    *(name for name in _PAPER if name.startswith("Fair")),
    *(method.name for method in OWN_METHODS),
)

FIGURES = {
    "main": "Disparity against predictive power, the paper's methods",
    "legitimate_only": "Disparity against predictive power, with legitimate only",
    "measures": "Disparity by other measures against predictive power",
    "recipes": "Our recipe against FairBiT and FairLeap as the paper trains them",
}
"""Names of the figures of a reproduction, and their titles."""


def sweep_figure(
    found: Sweep,
    disparity: str = "cdd_marginal",
    *,
    title: str = "Disparity against predictive power",
) -> str:
    """All methods of a sweep in one panel, as an SVG of its own.

    Parameters
    ----------
    found : finished runs.
    disparity : a column of what was measured.
    title : of the figure.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments import Sweep
    >>> from likeforlike.experiments.figures import sweep_figure
    >>> from likeforlike.experiments.measuring import MEASURED
    >>> runs = pl.DataFrame(
    ...     {"method": ["plain", "plain"], "strength": [0.0, 0.0], "seed": [0, 1], "rows": 100}
    ... ).with_columns(pl.Series([0.8, 0.7]).alias(name) for name in MEASURED)
    >>> "2 runs of 100 test rows" in sweep_figure(Sweep(runs, "classification"))
    True
    """
    return frontier_figure(figure_panels({"": found}, [disparity]), title=title)


def figure_panels(
    found: Mapping[str, Sweep],
    disparities: Sequence[str],
    methods: Sequence[str] | None = None,
    *,
    down_to: str | None = None,
) -> list[Panel]:
    """A panel for every disparity and sweep: a row of sweeps for each disparity.

    The frontier is that of `Sweep.frontier`, over the methods that are drawn. An axis ends where
    points are far out, which are those above the upper quartile by more than 1.5 times the distance
    of the quartiles, in loss of power or in disparity.

    Parameters
    ----------
    found : sweeps by their titles.
    disparities : columns of what was measured.
    methods : to be drawn; all if `None`.
    down_to : a method whose power, with its bar, ends the axis instead.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments import Sweep
    >>> from likeforlike.experiments.figures import figure_panels
    >>> from likeforlike.experiments.measuring import MEASURED
    >>> runs = pl.DataFrame({"method": ["a", "b"], "strength": 1.0, "seed": 0, "rows": 100})
    >>> runs = runs.with_columns(pl.Series([0.8, 0.7]).alias(name) for name in MEASURED)
    >>> above, below = figure_panels({"Loans": Sweep(runs, "classification")}, ["dd", "squared"])
    >>> above.disparity, [point.best for point in above.points]
    ('disparity between groups whatever the level, DD', [True, True])
    """
    unknown = [name for name in disparities if name not in _WORDS]
    if unknown:
        raise InputError(f"disparity must be one of {list(_WORDS)}, not {unknown[0]!r}.")
    drawn = {title: _only(sweep, methods) for title, sweep in found.items()}
    empty = [title for title, sweep in drawn.items() if sweep.runs.is_empty()]
    if empty:
        raise InputError(f"found has no runs of these methods in {empty[0]!r}; leave it out.")
    return [
        _panel(title, sweep, disparity, down_to)
        for disparity in disparities
        for title, sweep in drawn.items()
    ]


def reproduction_figures(found: Reproduction) -> dict[str, str]:
    """The paper's figures from our runs, and one of our recipe, each as an SVG of its own.

    Data sets and methods that were not run are left out, and so is a figure that has nothing left.

    - `main`: the paper's figure of section 6, CDD-wass above and CDD-lp uniform below, without
      legitimate only;
    - `legitimate_only`: the same with it, as in the appendix;
    - `measures`: the appendix's figure of CDD-lp P(L), CDD-lp average and DD;
    - `recipes`: our recipe and the paper's FairBiT and FairLeap, CDD-lp P(L).

    Returns
    -------
    SVG by name; `FIGURES` has their titles.

    Examples
    --------
    >>> import polars as pl
    >>> from likeforlike.experiments.figures import reproduction_figures
    >>> from likeforlike.experiments.measuring import MEASURED
    >>> from likeforlike.experiments.reproduction import Reproduction
    >>> run = {"dataset": "drug", "method": "our FairLeap", "strength": 1.0, "seed": 0, "rows": 377}
    >>> runs = pl.DataFrame([run | dict.fromkeys(MEASURED, 0.1)])
    >>> list(reproduction_figures(Reproduction(runs, pl.DataFrame(), {})))
    ['recipes']
    """
    sweeps = {_DATASETS[name]: found.of(name) for name in found.datasets}
    without = [name for name in _PAPER if name != "legitimate only"]
    first, second = ("cdd_wass", "cdd_uniform"), ("cdd_marginal", "cdd_average", "dd")
    asked: dict[str, tuple[Sequence[str], Sequence[str]]] = {
        "main": (first, without),
        "legitimate_only": (first, _PAPER),
        "measures": (second, _PAPER),
        "recipes": (("cdd_marginal",), _RECIPES),
    }
    figures = {}
    for name, (disparities, methods) in asked.items():
        shown = {t: s for t, s in sweeps.items() if not _only(s, methods).runs.is_empty()}
        if shown:
            panels = figure_panels(shown, disparities, methods, down_to="legitimate only")
            columns = min(len(shown), 2) if len(disparities) == 1 else len(shown)
            figures[name] = frontier_figure(panels, title=FIGURES[name], columns=columns)
    return figures


def _only(sweep: Sweep, methods: Sequence[str] | None) -> Sweep:
    """The runs of some methods, in their order."""
    if methods is None:
        return sweep
    parts = [sweep.runs.filter(pl.col("method") == name) for name in methods]
    return Sweep(pl.concat([sweep.runs.clear(), *parts]), sweep.task)


def _panel(title: str, sweep: Sweep, disparity: str, down_to: str | None) -> Panel:
    best = {(run["method"], run["strength"]) for run in sweep.frontier(disparity).best}
    by_method: dict[str, list[Point]] = {}
    for row in sweep.means().to_dicts():
        point = _point(row, disparity, best=(row["method"], row["strength"]) in best)
        by_method.setdefault(row["method"], []).append(point)
    points = [point for own in by_method.values() for point in own]
    sign = -1.0 if sweep.task == "regression" else 1.0
    losses = [-sign * point.power for point in points]
    reached = [
        -sign * point.power + (point.power_error or 0.0)
        for point in by_method.get(down_to or "", [])
    ]
    loss = max(reached) + 0.05 * (max(reached) - min(losses)) if reached else _fence(losses)
    return Panel(
        title,
        _sample(sweep),
        "mean squared error" if sign < 0.0 else "AUC",
        "less" if sign < 0.0 else "more",
        _WORDS[disparity],
        tuple(Series(name, tuple(own), _LOOKS.get(name)) for name, own in by_method.items()),
        -sign * loss,
        _fence([point.disparity for point in points]),
    )


def _point(row: dict[str, Any], disparity: str, *, best: bool) -> Point:
    """Means, and the standard errors of the means if there is more than one run."""
    errors: list[float | None] = [
        None if row["seeds"] < 2 else row[f"{name}_sd"] / math.sqrt(row["seeds"])
        for name in (disparity, "power")
    ]
    return Point(row["strength"], row[disparity], row["power"], errors[0], errors[1], best)


def _fence(values: Sequence[float]) -> float:
    """Beyond it a value is far out; if half of the values are alike none is."""
    low, high = np.quantile(values, [0.25, 0.75])
    return float(high + 1.5 * (high - low)) if high > low else max(values)


def _sample(sweep: Sweep) -> str:
    """How many runs on how many rows."""
    seeds, rows = sweep.means()["seeds"].to_list(), sweep.runs["rows"].to_list()
    fewest = f"{min(seeds)} to " if min(seeds) < max(seeds) else ""
    return f"{fewest}{counted(max(seeds), 'run')} of {count(max(rows))} test rows"
