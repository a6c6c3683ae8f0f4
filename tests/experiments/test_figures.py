"""Figures of sweeps and of the reproduction say what the means and their frontier say."""

import math
import re
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest

from likeforlike.errors import InputError
from likeforlike.experiments.figures import (
    FIGURES,
    figure_panels,
    reproduction_figures,
    sweep_figure,
)
from likeforlike.experiments.measuring import MEASURED
from likeforlike.experiments.paper import (
    OWN_METHODS,
    PAPER_DATASETS,
    PAPER_METHODS,
    Profile,
)
from likeforlike.experiments.reproduction import Reproduction
from likeforlike.experiments.sweep import Sweep

SVG = "{http://www.w3.org/2000/svg}"
PAPER = [method.name for method in PAPER_METHODS]
OWN = [method.name for method in OWN_METHODS]
FAIR = ["FairBiT", "FairLeap, uniform", "FairLeap, P(L)", "FairLeap, average"]


def reproduction(seeds: int = 3, datasets: tuple[str, ...] = PAPER_DATASETS) -> Reproduction:
    """Made-up results of every method at a few strengths."""
    rng = np.random.default_rng(0)
    rows = []
    for name in datasets:
        for method in Profile(every=3).methods((*PAPER_METHODS, *OWN_METHODS)):
            for strength in method.strengths:
                disparity, power = 0.2 * rng.random() ** 2, 0.7 + 0.2 * rng.random()
                rows += [
                    {
                        "dataset": name,
                        "method": method.name,
                        "strength": strength,
                        "seed": seed,
                        "rows": 1234,
                        **{key: disparity * (0.5 + rng.random()) for key in MEASURED},
                        "power": power + 0.02 * rng.standard_normal(),
                    }
                    for seed in range(seeds)
                ]
    times = pl.DataFrame({"dataset": [], "method": [], "runs": [], "seconds": []})
    return Reproduction(pl.DataFrame(rows), times, {})


@pytest.fixture(scope="module")
def found() -> Reproduction:
    return reproduction()


@pytest.fixture(scope="module")
def figures(found: Reproduction) -> dict[str, str]:
    return reproduction_figures(found)


def of_class(drawing: ET.Element, name: str) -> list[ET.Element]:
    return [own for own in drawing.iter() if name in own.get("class", "").split()]


def words(drawing: ET.Element) -> list[str]:
    return [text.text or "" for text in drawing.iter(f"{SVG}text")]


def axis(panel: ET.Element) -> str:
    """The name of the axis of disparity, whose lines come last among the names of axes."""
    lines = [text.text or "" for text in of_class(panel, "axis")]
    start = next(k for k, line in enumerate(lines) if line.startswith("←"))
    return " ".join(lines[start:]).removeprefix("← better: lower ")


def points(panel: ET.Element, kind: str) -> list[ET.Element]:
    (group,) = of_class(panel, kind)
    return list(group)


def key(drawing: ET.Element) -> list[str]:
    (group,) = of_class(drawing, "key")
    return [text.text or "" for text in group.iter(f"{SVG}text") if text.get("class") is None]


CDD = "disparity among equals, CDD-lp, measure"
WASS = "nested disparity, CDD-wass, excess over levels"
DD = "disparity between groups whatever the level, DD"


@pytest.mark.parametrize(
    ("name", "rows", "methods"),
    [
        ("main", [WASS, f"{CDD} uniform"], [m for m in PAPER if m != "legitimate only"]),
        ("legitimate_only", [WASS, f"{CDD} uniform"], PAPER),
        ("measures", [f"{CDD} P(L)", f"{CDD} average", DD], PAPER),
        ("recipes", [f"{CDD} P(L)"], ["no regularisation", *FAIR, *OWN]),
    ],
)
def test_each_figure_has_its_rows_data_sets_and_methods(
    figures: dict[str, str], name: str, rows: list[str], methods: list[str]
) -> None:
    drawing = ET.fromstring(figures[name])
    assert drawing.findtext(f"{SVG}title") == FIGURES[name]
    panels = of_class(drawing, "panel")
    titles = ["Adult", "Drug Consumption", "Law School", "Communities and Crime"]
    assert [words(panel)[0] for panel in panels] == titles * len(rows)
    assert [axis(panel) for panel in panels] == [row for row in rows for _ in titles]
    assert key(drawing) == methods
    for k, panel in enumerate(panels):
        power = "higher AUC" if k % 4 < 2 else "lower mean squared error"
        assert f"↑ better: {power}" in words(panel)
        assert "3 runs of 1,234 test rows" in words(panel)


def test_figures_come_in_the_order_of_their_titles(figures: dict[str, str]) -> None:
    assert list(figures) == list(FIGURES)


def test_every_method_of_the_paper_and_of_ours_has_a_form_of_its_own(found: Reproduction) -> None:
    panels = figure_panels({"Drug": found.of("drug")}, ["dd"])
    looks = [series.look for series in panels[0].series]
    assert [series.method for series in panels[0].series] == [*PAPER, *OWN]
    assert None not in looks
    assert len({look.form for look in looks if look is not None}) == 17


def named(point: ET.Element) -> str:
    """Method and strength, from what a pointer over the mark shows."""
    return (point.findtext(f"{SVG}title") or "").partition(":")[0]


@pytest.mark.parametrize("disparity", MEASURED[1:])
@pytest.mark.parametrize("dataset", ["drug", "law_school"])
def test_ringed_points_are_those_of_the_frontier(
    found: Reproduction, dataset: str, disparity: str
) -> None:
    sweep = found.of(dataset)
    drawing = ET.fromstring(sweep_figure(sweep, disparity))
    (panel,) = of_class(drawing, "panel")
    marks, arrows = points(panel, "marks"), points(panel, "arrows")
    assert len(marks) + len(arrows) == sweep.means().height
    beyond = {named(own) for own in arrows}
    best = {
        f"{run['method']}, strength {run['strength']:.6g}" for run in sweep.frontier(disparity).best
    }
    assert {named(own) for own in marks if of_class(own, "ring")} == best - beyond
    told = drawing.findtext(f"{SVG}desc") or ""
    frontier = told.partition("On the frontier: ")[2]
    assert all(f"{name}:" in frontier for name in best)
    count = len(arrows)
    note = f"{count} point{'' if count == 1 else 's'} beyond"
    assert [note] * (count > 0) == [text for text in words(panel) if text.endswith("beyond")]


def test_the_frontier_is_over_the_methods_that_are_drawn(found: Reproduction) -> None:
    sweep = found.of("drug")
    (panel,) = figure_panels({"Drug": sweep}, ["dd"], ["repair", "DCFR"])
    kept = Sweep(sweep.runs.filter(pl.col("method").is_in(["repair", "DCFR"])), sweep.task)
    best = {(run["method"], run["strength"]) for run in kept.frontier("dd").best}
    assert [series.method for series in panel.series] == ["repair", "DCFR"]
    drawn = {(s.method, p.strength) for s in panel.series for p in s.points if p.best}
    assert drawn == best


def test_points_are_means_and_bars_standard_errors(found: Reproduction) -> None:
    sweep = found.of("communities")
    (panel,) = figure_panels({"Crime": sweep}, ["cdd_average"])
    for series in panel.series:
        for point in series.points:
            own = sweep.runs.filter(
                (pl.col("method") == series.method) & (pl.col("strength") == point.strength)
            )
            power, gaps = own["power"].to_numpy(), own["cdd_average"].to_numpy()
            assert point.power == pytest.approx(power.mean())
            assert point.disparity == pytest.approx(gaps.mean())
            assert point.power_error == pytest.approx(power.std(ddof=1) / math.sqrt(3))
            assert point.disparity_error == pytest.approx(gaps.std(ddof=1) / math.sqrt(3))


def with_outliers(task: str) -> Sweep:
    """Twenty points near each other, one of no power and one of much disparity."""
    power = [0.7 + 0.01 * k for k in range(20)]
    if task == "regression":
        power = [1.0 - value for value in power]
    methods = ["plain"] * 20 + ["legitimate only", "wild"]
    strengths = [*map(float, range(20)), 0.0, 0.0]
    runs = pl.DataFrame({"method": methods, "strength": strengths, "seed": 0, "rows": 50})
    columns = {name: [*(0.01 * k for k in range(20)), 0.0, 9.0] for name in MEASURED}
    columns["power"] = [*power, 0.1 if task == "classification" else 0.9, power[5]]
    return Sweep(runs.with_columns(**{k: pl.Series(v) for k, v in columns.items()}), task)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_points_far_out_do_not_squeeze_the_others(task: str) -> None:
    drawing = ET.fromstring(sweep_figure(with_outliers(task)))
    assert [named(own) for own in of_class(drawing, "arrows")[0]] == [
        "legitimate only, strength 0",
        "wild, strength 0",
    ]
    assert "2 points beyond" in words(drawing)
    assert len(points(drawing, "marks")) == 20


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_an_axis_can_go_down_to_a_method(task: str) -> None:
    sweep = with_outliers(task)
    (panel,) = figure_panels({"a": sweep}, ["dd"], down_to="legitimate only")
    assert panel.worst is not None
    lowest = 0.1 if task == "classification" else 0.9
    assert abs(panel.worst - lowest) == pytest.approx(0.05 * 0.79)
    assert (panel.worst < lowest) == (task == "classification")


def test_one_run_and_one_strength_can_be_drawn() -> None:
    figures = reproduction_figures(reproduction(seeds=1, datasets=("law_school",)))
    assert list(figures) == list(FIGURES)
    drawing = ET.fromstring(figures["main"])
    assert of_class(drawing, "bar") == []
    assert "one run each, so there are no standard errors" in words(drawing)
    assert "1 run of 1,234 test rows" in words(drawing)
    found = reproduction(seeds=1).of("drug")
    plain = Sweep(found.runs.filter(pl.col("method") == "no regularisation"), found.task)
    drawing = ET.fromstring(sweep_figure(plain, title="One point"))
    assert len(of_class(drawing, "ring")) == 2  # its own, and that of the key


def test_runs_are_counted_where_methods_have_unequal_numbers(found: Reproduction) -> None:
    drug = found.of("drug")
    fewer = drug.runs.filter((pl.col("method") != "DCFR") | (pl.col("seed") == 0))
    assert "1 to 3 runs of 1,234 test rows" in sweep_figure(Sweep(fewer, drug.task))


def test_what_was_not_run_is_left_out(found: Reproduction) -> None:
    some = found.runs.filter(
        pl.col("method").is_in(["our FairLeap", "legitimate only"])
        | ((pl.col("dataset") == "drug") & (pl.col("method") == "DCFR"))
    )
    figures = reproduction_figures(Reproduction(some, found.times, {}))
    titles = {
        name: [words(panel)[0] for panel in of_class(ET.fromstring(text), "panel")]
        for name, text in figures.items()
    }
    assert titles["main"] == ["Drug Consumption"] * 2
    assert len(titles["legitimate_only"]) == 8
    nothing = found.runs.filter(pl.col("method") == "our FairLeap")
    assert list(reproduction_figures(Reproduction(nothing, found.times, {}))) == ["recipes"]


def test_bad_input(found: Reproduction) -> None:
    with pytest.raises(InputError, match=r"disparity must be one of \['cdd_wass', .* not 'power'"):
        sweep_figure(found.of("drug"), "power")
    with pytest.raises(InputError, match="no runs of these methods in 'Drug'"):
        figure_panels({"Drug": found.of("drug")}, ["dd"], ["magic"])


def test_figures_need_nothing_from_outside(figures: dict[str, str]) -> None:
    for text in figures.values():
        assert (
            re.findall(r'href=|src=|@import|url\(|https?://(?!www\.w3\.org/2000/svg")', text) == []
        )
