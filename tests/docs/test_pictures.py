"""The pictures of the documentation: files are what the command makes, and figures are right."""

import math
import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser
from scipy.stats import wasserstein_distance

import likeforlike as lfl
from likeforlike._arrays import FloatArray
from likeforlike.datasets import load_loans, make_loans
from tests.support.window import Scheme, Window
from tools.gallery import SHOTS, take
from tools.pictures import PICTURES
from tools.pictures.__main__ import main
from tools.pictures.chance import simulate
from tools.pictures.frontier import runs
from tools.pictures.measures import applicants
from tools.pictures.slopes import measured
from tools.pictures.transport import MEN, WOMEN
from tools.screenshot import app_screenshot, screenshot

DOCS = Path(__file__).parents[2] / "docs"
FOLDER = DOCS / "pictures"
SVG = "{http://www.w3.org/2000/svg}"
NAMES = list(PICTURES)
MARKS = {"chance": pytest.mark.simulation, "bins": pytest.mark.law_school}


def parsed(name: str) -> ET.Element:
    return ET.fromstring((FOLDER / f"{name}.svg").read_text(encoding="utf-8"))


def told(name: str) -> str:
    found = parsed(name).findtext(f"{SVG}desc")
    assert found is not None
    return found


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=MARKS[name]) if name in MARKS else name for name in NAMES],
)
def test_the_file_is_what_the_command_makes(name: str) -> None:
    drawn = PICTURES[name]()
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == drawn, (
        "python -m tools.pictures docs/pictures writes it again"
    )


def test_every_file_has_its_maker() -> None:
    drawn = sorted(path.stem for path in FOLDER.glob("*.svg"))
    assert drawn == sorted(NAMES)
    # Photographs are taken in a browser, and no two are alike to the last byte.
    others = {path.name for path in FOLDER.iterdir() if path.suffix != ".svg"}
    assert others == {"page.png", "app.png", "gallery"}
    assert {path.stem for path in (FOLDER / "gallery").iterdir()} == set(SHOTS)


def test_the_screenshot_shows_the_page_of_an_audit(browser: Browser, tmp_path: Path) -> None:
    screenshot(browser, tmp_path / "page.png")
    taken, kept = ((folder / "page.png").read_bytes() for folder in (tmp_path, FOLDER))
    # Width and height stand in the header of a PNG file.
    assert taken[:24] == kept[:24]
    assert len(kept) > 50_000


@pytest.mark.process
def test_the_picture_of_the_app_shows_its_columns(browser: Browser, tmp_path: Path) -> None:
    app_screenshot(browser, tmp_path / "app.png")
    taken, kept = ((folder / "app.png").read_bytes() for folder in (tmp_path, FOLDER))
    assert taken[:24] == kept[:24]
    assert len(kept) > 30_000


@pytest.mark.parametrize("name", SHOTS)
def test_the_gallery_shows_every_photograph_and_says_what_is_seen(name: str) -> None:
    said = re.findall(
        rf"!\[([^\]]+)\]\(pictures/gallery/{name}\.png\)",
        (DOCS / "gallery.md").read_text(encoding="utf-8"),
    )
    assert len(said) == 1
    assert len(said[0]) > 60


def test_photographs_begin_at_their_heading(browser: Browser, tmp_path: Path) -> None:
    shot = SHOTS["gaps"]
    shot.write(tmp_path / "page.html")
    take(browser, shot, tmp_path / "page.html", tmp_path / "gaps.png")
    taken, kept = ((folder / "gaps.png").read_bytes() for folder in (tmp_path, FOLDER / "gallery"))
    assert taken[:24] == kept[:24]


def test_the_command_writes_what_is_asked_for(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    assert main([str(folder), "--only", "loans"]) == 0
    assert [path.name for path in folder.iterdir()] == ["loans.svg"]
    assert (folder / "loans.svg").read_bytes() == (FOLDER / "loans.svg").read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_pictures_stand_alone(name: str) -> None:
    text = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    root = parsed(name)
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title")
    assert len(told(name)) > 80
    assert "prefers-color-scheme: dark" in text
    assert re.findall(r'(?:href|src)=|@import|https?://(?!www\.w3\.org/2000/svg")', text) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_page_shows_it_and_says_what_is_seen(name: str) -> None:
    elsewhere = {"layers": "architecture.md", "bins": "smooth.md", "dcfr": "rivals.md"}
    shown = elsewhere.get(name, "concepts.md")
    page = (DOCS / shown).read_text(encoding="utf-8")
    said = re.findall(rf"!\[([^\]]+)\]\(pictures/{name}\.svg\)", page)
    assert len(said) == 1
    assert len(said[0]) > 60


def test_bubbles_lie_at_the_rates_and_their_areas_are_the_shares() -> None:
    frame = load_loans().frame
    size = {"female": frame.filter(sex="female").height, "male": frame.filter(sex="male").height}
    wanted = {
        (row["income"], row["sex"]): (row["approved"], row["rows"] / size[row["sex"]])
        for row in frame.group_by("income", "sex")
        .agg(pl.col("approved").mean(), rows=pl.len())
        .iter_rows(named=True)
    }
    columns = {132.0: "low", 330.0: "medium", 528.0: "high"}
    found = {}
    for dot in parsed("loans").iter(f"{SVG}circle"):
        x, y, radius = (float(dot.get(name, "nan")) for name in ("cx", "cy", "r"))
        if x in columns:
            sex = "female" if "bubble" in dot.get("class", "") else "male"
            found[columns[x], sex] = ((488.0 - y) / 372.0, (radius / 44.0) ** 2)
    assert found.keys() == wanted.keys()
    for cell, figures in wanted.items():
        assert found[cell] == pytest.approx(figures, abs=0.003)
    assert "Overall: 50% of women and 50% of men" in told("loans")
    assert "men 20 points ahead" in told("loans")


def test_the_area_is_the_distance() -> None:
    distance = wasserstein_distance(WOMEN, MEN)
    assert f"W1, is {distance:.3f}" in told("transport")
    fill = next(
        path for path in parsed("transport").iter(f"{SVG}path") if path.get("class") == "c area"
    )
    x, y = np.array(
        [pair.split() for pair in fill.get("d", "").strip("Mz").split("L")], dtype=np.float64
    ).T
    area = 0.5 * abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1)))
    assert area / (352.0 * 256.0) == pytest.approx(distance, abs=1e-3)


def test_measures_are_those_of_their_definitions() -> None:
    frame = applicants()
    distances, shares, sizes = [], [], []
    for level in range(5):
        by_sex = [
            frame.filter(pl.col("income") == level, pl.col("sex") == sex)["score"].to_numpy()
            for sex in ("female", "male")
        ]
        distances.append(wasserstein_distance(*by_sex))
        sizes.append([part.size for part in by_sex])
    counts = np.array(sizes, dtype=np.float64)
    shares = counts / counts.sum(axis=0)
    raw = {
        "marginal": counts.sum(axis=1),
        "average": shares.mean(axis=1),
        "uniform": np.ones(5),
        "overlap": shares.min(axis=1),
    }
    said = told("measures")
    values = {name: float(w @ distances / w.sum()) for name, w in raw.items()}
    for name, weight in raw.items():
        weights = ", ".join(f"{share:.3f}" for share in weight / weight.sum())
        assert f"{name}: weights {weights}, disparity {values[name]:.3f}" in said
    # What the page says of this picture.
    assert 1.7 < max(values.values()) / min(values.values()) < 2.0
    assert np.argmax(distances) == 4
    assert counts[4, 1] == 20


def test_flows_add_up_and_so_do_the_parts() -> None:
    frame = load_loans().frame
    found = lfl.cdd_wass(frame["approved"], frame["sex"], frame["income"])
    said = told("nested")
    for part in (found.value, found.diagonal, found.off_diagonal, found.level_transport):
        assert f"{part:.3f}" in said
    # By hand: half of the mass stays, rates differ by .2 there, and by .2 from high to low.
    by_hand = (0.5 * 0.2, 0.5 * 0.2, 2.01 * 0.5)
    assert (found.diagonal, found.off_diagonal, found.level_transport) == pytest.approx(by_hand)
    blocks = [
        rect
        for rect in parsed("nested").iter(f"{SVG}rect")
        if (rect.get("class") or "") in ("a bubble", "b bubble")
    ]
    for color in "ab":
        heights = [
            float(b.get("height", "")) for b in blocks if b.get("class") == f"{color} bubble"
        ]
        assert len(heights) == 3
        assert sum(heights) == pytest.approx(270.0, abs=0.2)


def test_samples_of_equal_size_are_compared_in_their_order() -> None:
    found = simulate(0.05, 7, samples=3)
    for sample, square in enumerate(found.plug_in):
        scores = np.random.default_rng([7, sample]).uniform(0.0, 0.4, 140).reshape(10, 2, 7)
        scores[:, 1] += 0.05
        apart = np.diff(np.sort(scores, axis=2), axis=1)
        assert square == pytest.approx(float((np.abs(apart).mean(axis=2) ** 2).mean()), rel=1e-9)


def test_what_the_page_says_of_chance() -> None:
    said = told("chance")
    parity, apart = said.split("Truth 0.05")
    plug_in, estimated = (
        [float(figure) for figure in re.findall(rf"{word} (0\.\d+)", parity)]
        for word in ("plug-in", "estimate")
    )
    assert 0.08 < plug_in[0] < 0.1
    assert all(p > e for p, e in zip(plug_in, estimated, strict=True))
    assert plug_in == sorted(plug_in, reverse=True)
    for figure in re.findall(r"estimate (0\.\d+)", apart):
        assert float(figure) == pytest.approx(0.05, abs=0.012)


def coupled(own: FloatArray, other: FloatArray) -> FloatArray:
    """Slope 2 (f - t(f)) of every row of `own`: both cut into equally many pieces, in order."""
    pieces = math.lcm(own.size, other.size)
    theirs = np.repeat(np.sort(other), pieces // other.size)
    target = theirs.reshape(own.size, -1).mean(axis=1)
    slopes = 2.0 * (np.sort(own) - target)
    found: FloatArray = slopes[np.argsort(np.argsort(own))]
    return found


def test_slopes_of_batches_and_what_the_page_says_of_them() -> None:
    found = measured()
    loans = make_loans(20_000, gap=0.0)
    scores = loans.frame["score"].to_numpy()
    order = np.random.default_rng(0).permutation(20_000)
    for batch in range(5):
        rows = order[128 * batch : 128 * (batch + 1)]
        here = loans.levels[rows] == 2
        women = loans.groups[rows] == "female"
        wanted = coupled(scores[rows][here & women], scores[rows][here & ~women])
        np.testing.assert_allclose(found.batch[found.which == batch], wanted, atol=1e-12)
    low, high = found.scores < 0.45, found.scores > 0.55
    assert found.batch[low].mean() < -0.01
    assert found.batch[high].mean() > 0.01
    assert np.abs(found.field).max() < 0.02


def test_the_frontier_holds_what_nobody_beats() -> None:
    found = runs()
    for one, other in combinations(found, 2):
        # The same network twice: without a penalty both methods are one.
        if one.strength == other.strength == 0.0:
            assert (one.performance, one.squares) == (other.performance, other.squares)
    beaten = {
        (one.method, one.strength)
        for one in found
        for other in found
        if other.performance > one.performance and other.disparity() < one.disparity()
    }
    kept = told("frontier").rpartition("On the frontier: ")[2].rstrip(".").split("; ")
    names = {
        f"{run.method} {run.strength:g}"
        for run in found
        if (run.method, run.strength) not in beaten
    }
    assert names - {"FairBiT 0"} == set(kept)


def test_both_penalties_trace_one_curve() -> None:
    """Within two standard errors, as the page says."""
    by_method = {name: [r for r in runs() if r.method == name] for name in ("FairLeap", "FairBiT")}
    curve = sorted((run.disparity(), run.performance) for run in by_method["FairLeap"])
    for run in by_method["FairBiT"]:
        expected = float(np.interp(run.disparity(), *np.array(curve).T))
        assert abs(run.performance - expected) < 2.0 * run.performance_error


# Words that leave the picture, and words written over other words.
MISPLACED = """
() => {
  const frame = document.documentElement.getBoundingClientRect()
  const words = [...document.querySelectorAll('text')].map(
    text => [text.textContent, text.getBoundingClientRect()])
  const outside = words.filter(([, box]) => box.left < frame.left + 2 ||
    box.right > frame.right - 2 || box.top < frame.top || box.bottom > frame.bottom)
  const over = words.flatMap(([one, a], k) => words.slice(k + 1).filter(([, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5
  ).map(([other]) => `${one} / ${other}`))
  return [...outside.map(([text]) => text), ...over]
}
"""
PAPER = "getComputedStyle(document.querySelector('rect.paper')).fill"


@pytest.mark.parametrize(
    ("scheme", "paper"), [("light", "rgb(255, 255, 255)"), ("dark", "rgb(20, 24, 29)")]
)
@pytest.mark.parametrize("name", NAMES)
def test_words_have_room_in_light_and_dark(
    window: Window, name: str, scheme: Scheme, paper: str
) -> None:
    page = window.open(FOLDER / f"{name}.svg", width=920, height=600, scheme=scheme)
    assert page.evaluate(MISPLACED) == []
    assert page.evaluate(PAPER) == paper
    assert window.said == []
