"""Figures of sweeps and of the reproduction say what the means and their frontier say."""

import math
import re
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest

from likeforlike._plots import Panel, describe
from likeforlike.errors import InputError
from likeforlike.experiments import CLASSIFICATION, PAPER_DATASETS, Sweep, sweep_panel, sweep_svg
from likeforlike.experiments._split import MEASURED
from likeforlike.paper import Profile, Reproduction
from likeforlike.paper._protocol import ALL_METHODS, LITERAL_METHODS, OWN_METHODS, PAPER_METHODS
from likeforlike.paper._publishing import FIGURES, LOOKS, figure_panels, reproduction_figures

PAPER = [method.name for method in PAPER_METHODS]
OWN = [method.name for method in OWN_METHODS]
FAIR = ["FairBiT", "FairLeap, uniform", "FairLeap, P(L)", "FairLeap, average"]
LETTER = [
    "no regularization",
    *(m.name for m in LITERAL_METHODS if "entropic" in m.name or "Algorithm" in m.name),
    *("Wasserstein, squared", "DCFR", "fairlearn", "fairlearn, hard", "repair"),
]
TOGETHER = [m.name for m in LITERAL_METHODS if m.name.endswith("and FairBiT, A unseen")]
CDD = "disparity among equals, CDD-lp, measure"
SQUARED = "disparity among equals, squared, W_2²"
WASS = "nested disparity, CDD-wass, excess over levels"
DD = "disparity between groups whatever the level, DD"


def reproduction(seeds: int = 3, datasets: tuple[str, ...] = PAPER_DATASETS) -> Reproduction:
    """Made-up results of every method at a few strengths."""
    rng = np.random.default_rng(0)
    rows = []
    for name in datasets:
        for method in Profile(every=3).methods(ALL_METHODS):
            if method.name.endswith("hard") and name not in CLASSIFICATION:
                continue
            for strength in method.strengths:
                disparity, performance = 0.2 * rng.random() ** 2, 0.7 + 0.2 * rng.random()
                rows += [
                    {
                        "dataset": name,
                        "method": method.name,
                        "strength": strength,
                        "seed": seed,
                        "rows": 1234,
                        **{key: disparity * (0.5 + rng.random()) for key in MEASURED},
                        "performance": performance + 0.02 * rng.standard_normal(),
                    }
                    for seed in range(seeds)
                ]
    times = pl.DataFrame({"dataset": [], "method": [], "runs": [], "seconds": []})
    return Reproduction(pl.DataFrame(rows), times, {})


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduction()


@pytest.fixture(scope="module")
def panels(found: Reproduction) -> dict[str, list[Panel]]:
    return figure_panels(found)


@pytest.mark.parametrize(
    ("name", "rows", "methods"),
    [
        ("main", [WASS, f"{CDD} uniform"], [m for m in PAPER if m != "legitimate only"]),
        ("legitimate_only", [WASS, f"{CDD} uniform"], PAPER),
        ("measures", [f"{CDD} P(L)", f"{CDD} average", DD], PAPER),
        ("recipes", [f"{CDD} P(L)"], ["no regularization", *FAIR, *OWN]),
        ("letter", [WASS, f"{SQUARED} uniform"], LETTER),
        (
            "together",
            [f"{SQUARED} P(L)"],
            [
                "no regularization",
                "legitimate only",
                "FairBiT",
                "repair",
                "repair, A unseen",
                *TOGETHER,
            ],
        ),
    ],
)
def test_each_figure_has_its_rows_data_sets_and_methods(
    panels: dict[str, list[Panel]], name: str, rows: list[str], methods: list[str]
) -> None:
    assert list(panels) == list(FIGURES)
    titles = ["Adult", "Drug Consumption", "Law School", "Communities and Crime"]
    assert [panel.title for panel in panels[name]] == titles * len(rows)
    assert [panel.disparity for panel in panels[name]] == [row for row in rows for _ in titles]
    for k, panel in enumerate(panels[name]):
        possible = [
            name for name in methods if not name.endswith("hard") or panel.performance == "AUC"
        ]
        assert [series.method for series in panel.series] == possible
        assert (panel.performance, panel.better) == (
            ("AUC", "more") if k % 4 < 2 else ("mean squared error", "less")
        )
        assert panel.note == "3 runs of 1,234 test rows"


def test_methods_of_one_figure_have_forms_of_their_own(panels: dict[str, list[Panel]]) -> None:
    assert {*PAPER, *OWN, *LETTER, *TOGETHER} <= set(LOOKS)
    assert len({LOOKS[name].form for name in (*PAPER, *OWN)}) == 17
    for of_figure in panels.values():
        names = {series.method for panel in of_figure for series in panel.series}
        assert len({LOOKS[name].form for name in names}) == len(names)


@pytest.mark.parametrize("disparity", MEASURED[1:])
@pytest.mark.parametrize("dataset", ["drug", "law_school"])
def test_points_that_are_called_best_are_those_of_the_frontier(
    found: Reproduction, dataset: str, disparity: str
) -> None:
    sweep = found.of(dataset)
    panel = sweep_panel(sweep, disparity)
    best = {(run["method"], run["strength"]) for run in sweep.frontier(disparity).best}
    drawn = {(s.method, p.strength) for s in panel.series for p in s.points if p.best}
    assert drawn == best
    assert len(panel.points) == sweep.means().height
    frontier = describe([panel]).partition("On the frontier: ")[2].partition(". Others")[0]
    assert all(f"{method}, strength {strength:g}:" in frontier for method, strength in best)


def test_points_are_means_and_bars_standard_errors(found: Reproduction) -> None:
    sweep = found.of("communities")
    for series in sweep_panel(sweep, "cdd_average").series:
        for point in series.points:
            runs = sweep.runs.filter(
                (pl.col("method") == series.method) & (pl.col("strength") == point.strength)
            )
            performance, gaps = runs["performance"].to_numpy(), runs["cdd_average"].to_numpy()
            assert point.performance == pytest.approx(performance.mean())
            assert point.disparity == pytest.approx(gaps.mean())
            assert point.performance_error == pytest.approx(performance.std(ddof=1) / math.sqrt(3))
            assert point.disparity_error == pytest.approx(gaps.std(ddof=1) / math.sqrt(3))


def with_outliers(task: str) -> Sweep:
    """Twenty points near each other, one of no performance and one of much disparity."""
    performance = [0.7 + 0.01 * k for k in range(20)]
    if task == "regression":
        performance = [1.0 - value for value in performance]
    methods = ["plain"] * 20 + ["legitimate only", "wild"]
    strengths = [*map(float, range(20)), 0.0, 0.0]
    runs = pl.DataFrame({"method": methods, "strength": strengths, "seed": 0, "rows": 50})
    columns = {name: [*(0.01 * k for k in range(20)), 0.0, 9.0] for name in MEASURED}
    columns["performance"] = [
        *performance,
        0.1 if task == "classification" else 0.9,
        performance[5],
    ]
    return Sweep(runs.with_columns(**{k: pl.Series(v) for k, v in columns.items()}), task)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_points_far_out_do_not_squeeze_the_others(task: str) -> None:
    panel = sweep_panel(with_outliers(task), "dd")
    beyond = [s.method for s in panel.series for p in s.points if not panel.shows(p)]
    assert beyond == ["legitimate only", "wild"]
    assert describe([panel]).endswith("Beyond the limits: 2.")


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_an_axis_can_go_down_to_a_method(task: str) -> None:
    panel = sweep_panel(with_outliers(task), "dd", down_to="legitimate only")
    assert panel.worst is not None
    lowest = 0.1 if task == "classification" else 0.9
    assert abs(panel.worst - lowest) == pytest.approx(0.05 * 0.79)
    assert (panel.worst < lowest) == (task == "classification")


def test_runs_are_counted_where_methods_have_unequal_numbers(found: Reproduction) -> None:
    drug = found.of("drug")
    fewer = drug.runs.filter((pl.col("method") != "DCFR") | (pl.col("seed") == 0))
    panel = sweep_panel(Sweep(fewer, drug.task), "dd")
    assert panel.note == "1 to 3 runs of 1,234 test rows"


def test_what_was_not_run_is_left_out(found: Reproduction) -> None:
    some = found.runs.filter(
        pl.col("method").is_in(["our FairLeap", "legitimate only"])
        | ((pl.col("dataset") == "drug") & (pl.col("method") == "DCFR"))
    )
    drawn = figure_panels(Reproduction(some, found.times, {}))
    assert [panel.title for panel in drawn["main"]] == ["Drug Consumption"] * 2
    assert len(drawn["legitimate_only"]) == 8
    nothing = found.runs.filter(pl.col("method") == "our FairLeap")
    assert list(figure_panels(Reproduction(nothing, found.times, {}))) == ["recipes"]


def test_an_unknown_disparity_is_named(found: Reproduction) -> None:
    with pytest.raises(
        InputError, match=r"disparity must be one of \('cdd_wass', .* not 'performance'"
    ):
        sweep_panel(found.of("drug"), "performance")


def test_figures_are_files_of_their_own_that_tell_their_figures() -> None:
    """One run and one data set can be drawn; the file needs nothing from outside."""
    small = reproduction(seeds=1, datasets=("law_school",))
    figures = reproduction_figures(small)
    assert list(figures) == list(FIGURES)
    text = figures["main"]
    words = "".join(ET.fromstring(text).itertext())
    assert describe(figure_panels(small)["main"]) in words
    assert FIGURES["main"] in words
    assert "1 run of 1,234 test rows" in words
    assert not re.search(r'(?:href|src)="(?!#)|@import|url\((?!#)', text)
    assert text == reproduction_figures(small)["main"]


def test_the_figure_of_a_sweep_has_its_title(found: Reproduction) -> None:
    sweep = found.of("drug")
    few = Sweep(sweep.runs.filter(pl.col("method").is_in(PAPER)), sweep.task)
    assert "One sweep" in sweep_svg(few, title="One sweep")
