"""Write what a reproduction found: results, tables, figures, and the page that shows them.

The figures are the paper's, from our runs, and one of our recipe.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from likeforlike._plots import Look, Panel, tradeoff_svg
from likeforlike.experiments import Sweep, sweep_panel
from likeforlike.files import check_writable, write_whole
from likeforlike.paper._comparison import write_tables
from likeforlike.paper._pages import reproduction_pages
from likeforlike.paper._protocol import LITERAL_METHODS, OWN_METHODS, PAPER_METHODS
from likeforlike.paper._reproduction import Reproduction, read_reproduction

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
    """Draw the paper's figures from our runs, and one of our recipe, each as an SVG of its own."""
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
    """Select the runs of some methods, in their order."""
    parts = [sweep.runs.filter(pl.col("method") == name) for name in methods]
    return Sweep(pl.concat([sweep.runs.clear(), *parts]), sweep.task)


def publish(reproduction: Reproduction, folder: Path | str, page: Path | str) -> list[Path]:
    """Write results, tables, figures and an appendix to a folder, and the page that leads to them.

    Parameters
    ----------
    reproduction : what was run.
    folder : for `runs.csv`, `times.csv`, `setting.json`, the eight tables, the figures and the
        pages of the appendix.
    page : where the first page goes; links between pages and to figures are relative.

    Returns
    -------
    The files that were written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import polars as pl
    >>> from likeforlike.experiments._split import MEASURED
    >>> from likeforlike.paper import Reproduction, publish
    >>> runs = pl.DataFrame(
    ...     {"dataset": "drug", "method": name, "strength": 0.0, "seed": 0, "rows": 9}
    ...     | dict.fromkeys(MEASURED, 1.0 / (1 + k))
    ...     for k, name in enumerate(["no regularization", "legitimate only"])
    ... )
    >>> setting = {"machine": "a machine", "wall_seconds": 60.0, "units": 2, "units_run": 2}
    >>> setting |= {"peak_mb_of_a_worker": 700.0, "peak_mb_of_the_parent": 500.0, "versions": {}}
    >>> times = pl.DataFrame({"dataset": ["drug"], "method": ["legitimate only"], "runs": [1],
    ...     "seconds": [1.0], "cpu_seconds": [1.0]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = Path(folder) / "page.md"
    ...     written = publish(Reproduction(runs, times, setting), Path(folder) / "results", page)
    ...     page in written, written[0].name
    (True, 'runs.csv')
    """
    target, text = Path(folder), Path(page)
    target.mkdir(parents=True, exist_ok=True)
    check_writable(text)
    reproduction.write(target)
    # Files hold rounded figures; the page is made of what is in them, so that it can be made again.
    reproduction = read_reproduction(target)
    written = [target / name for name in ("runs.csv", "times.csv", "setting.json")]
    if reproduction.of_paper:
        written += write_tables(reproduction, target)
    links = {}
    for name, drawing in reproduction_figures(reproduction).items():
        written.append(target / f"{name}.svg")
        write_whole(written[-1], drawing)
        links[FIGURES[name]] = _link(written[-1], text)
    pages = reproduction_pages(
        reproduction,
        links,
        to_appendix=_link(target / "claims.md", text).removesuffix("claims.md"),
        to_page=_link(text, target / "claims.md"),
    )
    (_, first), *appendix = pages.items()
    for name, page_text in appendix:
        written.append(target / name)
        write_whole(written[-1], page_text)
    write_whole(text, first)
    return [*written, text]


def _link(to: Path, page: Path) -> str:
    """Return the path from a page to a file."""
    return Path(os.path.relpath(to, page.parent)).as_posix()
