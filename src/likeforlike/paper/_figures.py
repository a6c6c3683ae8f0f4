"""The paper's figures, from our runs."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from likeforlike.experiments import Sweep
from likeforlike.experiments._frontier import sweep_panel
from likeforlike.paper._protocol import LITERAL_METHODS, OWN_METHODS, PAPER_METHODS
from likeforlike.paper._reproduction import Reproduction
from likeforlike.plots._looks import Look
from likeforlike.plots._tradeoff import Panel, tradeoff_svg

_DATASETS = {
    "adult": "Adult",
    "drug": "Drug Consumption",
    "law_school": "Law School",
    "communities": "Communities and Crime",
}
# A family has one color; ours are full where the paper's are hollow.
LOOKS = {
    "no regularization": Look("x", "hollow", "ink"),
    "legitimate only": Look("2", "hollow", "ink"),
    "FairBiT": Look("s", "hollow", "blue"),
    "FairLeap, uniform": Look("v", "hollow", "vermilion"),
    "FairLeap, P(L)": Look("^", "hollow", "vermilion"),
    "FairLeap, average": Look(">", "hollow", "vermilion"),
    "DCFR": Look("o", "full", "green"),
    "adversarial, CDP": Look("*", "full", "purple"),
    "adversarial, DP": Look("*", "hollow", "purple"),
    "repair": Look("p", "hollow", "ochre"),
    "Wasserstein": Look("o", "hollow", "gray"),
    "our FairLeap": Look("^", "full", "vermilion"),
    "our FairBiT": Look("s", "full", "blue"),
    "our FairLeap, by batch": Look(">", "full", "vermilion"),
    "our FairLeap, A unseen": Look("<", "full", "vermilion"),
    "our FairBiT, A unseen": Look("D", "full", "blue"),
    "barycenter": Look("p", "full", "ochre"),
    "FairBiT, Algorithm 1": Look("s", "full", "blue"),
    "FairBiT, entropic": Look("D", "hollow", "blue"),
    "FairLeap, uniform, entropic": Look("v", "full", "vermilion"),
    "FairLeap, P(L), entropic": Look("^", "full", "vermilion"),
    "FairLeap, average, entropic": Look(">", "full", "vermilion"),
    "FairLeap, P(L), entropic squared": Look("<", "full", "purple"),
    "Wasserstein, entropic": Look("D", "full", "gray"),
    "Wasserstein, squared": Look("o", "hollow", "purple"),
    "fairlearn": Look("*", "full", "purple"),
    "fairlearn, hard": Look("*", "hollow", "purple"),
    "repair, A unseen": Look("p", "full", "ochre"),
    "repair 0 and FairBiT, A unseen": Look("s", "full", "blue"),
    "repair 0.25 and FairBiT, A unseen": Look("^", "hollow", "green"),
    "repair 0.5 and FairBiT, A unseen": Look("D", "full", "green"),
    "repair 0.75 and FairBiT, A unseen": Look("v", "full", "ochre"),
    "repair 1 and FairBiT, A unseen": Look("o", "full", "vermilion"),
}
"""How each method is drawn, in all figures."""
_PAPER = tuple(method.name for method in PAPER_METHODS)
_RECIPES = (
    "no regularization",
    *(name for name in _PAPER if name.startswith("Fair")),
    *(method.name for method in OWN_METHODS),
)
_LITERAL = tuple(method.name for method in LITERAL_METHODS)
_TOGETHER = tuple(name for name in _LITERAL if name.endswith("FairBiT, A unseen"))
_LETTER = (
    "no regularization",
    *(name for name in _LITERAL if "entropic" in name or name == "FairBiT, Algorithm 1"),
    "Wasserstein, squared",
    "DCFR",
    "fairlearn",
    "fairlearn, hard",
    "repair",
)

FIGURES = {
    "main": "Disparity against predictive performance, the paper's methods",
    "legitimate_only": "Disparity against predictive performance, with legitimate only",
    "measures": "Disparity by other measures against predictive performance",
    "letter": "The paper's own regularizers, entropic, by the unit of its tables",
    "recipes": "Our recipe against FairBiT and FairLeap as the paper trains them",
    "together": "Repair and FairBiT together, A unseen",
}
"""Names of the figures of a reproduction, and their titles."""


def reproduction_figures(reproduction: Reproduction) -> dict[str, str]:
    """The paper's figures from our runs, and one of our recipe, each as an SVG of its own."""
    figures = {}
    for name, panels in figure_panels(reproduction).items():
        rows = len({panel.disparity for panel in panels})
        columns = len(panels) // rows
        columns = min(columns, 2) if rows == 1 else columns
        figures[name] = tradeoff_svg(panels, title=FIGURES[name], columns=columns)
    return figures


def figure_panels(reproduction: Reproduction) -> dict[str, list[Panel]]:
    """Panels of every figure: a row of data sets for each disparity.

    Data sets and methods that were not run are left out, and so is a figure that has nothing left.

    - `main`: the paper's figure of section 6, CDD-wass above and CDD-lp uniform below, without
      legitimate only;
    - `legitimate_only`: the same with it, as in the appendix;
    - `measures`: the appendix's figure of CDD-lp P(L), CDD-lp average and DD;
    - `letter`: the entropic regularizers and the rivals as others have them, CDD-wass above and
      W_2² uniform below;
    - `recipes`: our recipe and the paper's FairBiT and FairLeap, CDD-lp P(L);
    - `together`: repair and FairBiT, and both, W_2² P(L).
    """
    without = [name for name in _PAPER if name != "legitimate only"]
    first, second = ("cdd_wass", "cdd_uniform"), ("cdd_marginal", "cdd_average", "dd")
    asked: dict[str, tuple[Sequence[str], Sequence[str]]] = {
        "main": (first, without),
        "legitimate_only": (first, _PAPER),
        "measures": (second, _PAPER),
        "letter": (("cdd_wass", "w2sq_uniform"), _LETTER),
        "recipes": (("cdd_marginal",), _RECIPES),
        "together": (
            ("w2sq_marginal",),
            (*_PAPER[:3], "repair", "repair, A unseen", *_TOGETHER),
        ),
    }
    panels = {name: _panels(reproduction, *rest) for name, rest in asked.items()}
    return {name: drawn for name, drawn in panels.items() if drawn}


def _panels(
    reproduction: Reproduction, disparities: Sequence[str], methods: Sequence[str]
) -> list[Panel]:
    sweeps = {name: _only(reproduction.of(name), methods) for name in reproduction.datasets}
    return [
        sweep_panel(
            sweep,
            disparity,
            title=_DATASETS.get(name, name),
            looks=LOOKS,
            down_to="legitimate only",
        )
        for disparity in disparities
        for name, sweep in sweeps.items()
        if not sweep.runs.is_empty()
    ]


def _only(sweep: Sweep, methods: Sequence[str]) -> Sweep:
    """The runs of some methods, in their order."""
    parts = [sweep.runs.filter(pl.col("method") == name) for name in methods]
    return Sweep(pl.concat([sweep.runs.clear(), *parts]), sweep.task)
