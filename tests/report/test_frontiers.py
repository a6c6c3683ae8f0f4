"""Figures of trade-offs: positions, marks, bars and frontiers, and how a browser shows them."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from playwright.sync_api import Browser

from likeforlike.errors import InputError
from likeforlike.report.frontiers import Panel, Point, Series, frontier_figure
from likeforlike.report.markers import Look, looks_of
from tests.report.test_browser import SILENT, Visit
from tests.report.test_markers import drawn_alone, pairs, same
from tools.browser import opened_browser

SVG = "{http://www.w3.org/2000/svg}"
DOT = Look("circle", "full", "blue")


def panel(*points: Point, **settings: object) -> Panel:
    """One method, drawn as dots."""
    plain = Panel("Loans", "5 runs", "AUC", "more", "disparity", (Series("dots", points, DOT),))
    return replace(plain, **settings)  # type: ignore[arg-type]


def drawn(*panels: Panel, columns: int | None = None) -> ET.Element:
    return ET.fromstring(frontier_figure(panels, title="Figure", columns=columns))


def part(figure: ET.Element, name: str) -> list[ET.Element]:
    """Groups of the points in all panels: `marks`, `bars` or `arrows`, in the order of points."""
    groups = [group for group in figure.iter(f"{SVG}g") if group.get("class") == name]
    # The marks of the first points lie on top of others, so they are drawn last.
    return [own for group in groups for own in (reversed(group) if name == "marks" else group)]


def number(element: ET.Element, name: str) -> float:
    return float(element.get(name, "nan"))


def of_class(figure: ET.Element, name: str) -> list[ET.Element]:
    return [own for own in figure.iter() if name in own.get("class", "").split()]


def frame(figure: ET.Element) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of the only plot."""
    (left, top), _, (right, bottom) = pairs(of_class(figure, "base")[0])
    return left, top, right, bottom


def dots(figure: ET.Element) -> list[tuple[float, float]]:
    return [
        (number(dot, "cx"), number(dot, "cy"))
        for own in part(figure, "marks")
        for dot in own.iter(f"{SVG}circle")
        if dot.get("class") == "full"
    ]


def words(figure: ET.Element) -> list[str]:
    return [text.text or "" for text in figure.iter(f"{SVG}text")]


THREE = (Point(9.0, 0.04, 0.6), Point(3.0, 0.16, 0.7), Point(1.0, 0.36, 0.8))


def test_points_lie_where_their_figures_are() -> None:
    """The axis of disparity ends at .36, so roots are thirds; that of AUC goes from .59 to .81."""
    figure = drawn(panel(*THREE, most=0.36))
    left, top, right, bottom = frame(figure)
    expected = [
        (left + (right - left) * third, bottom - (bottom - top) * share)
        for third, share in ((1 / 3, 0.01 / 0.22), (2 / 3, 0.11 / 0.22), (1.0, 0.21 / 0.22))
    ]
    np.testing.assert_allclose(dots(figure), expected, atol=0.051)


@pytest.mark.parametrize(("power", "better"), [("AUC", "more"), ("mean squared error", "less")])
def test_better_is_up_and_to_the_left(power: str, better: str) -> None:
    figure = drawn(panel(*THREE, power=power, better=better))
    (x1, y1), (x2, y2), (x3, y3) = dots(figure)
    assert x1 < x2 < x3
    assert (y1 > y2 > y3) == (better == "more")
    assert (y1 < y2 < y3) == (better == "less")
    high = "higher" if better == "more" else "lower"
    assert f"↑ better: {high} {power}" in words(figure)
    assert "← better: lower disparity" in words(figure)
    _, top, _, bottom = frame(figure)
    labels = [t for t in of_class(figure, "end") if re.fullmatch(r"0\.\d+", t.text or "")]
    values = [float(label.text or "") for label in labels]
    rates = np.polyfit(values, [number(label, "y") for label in labels], 1)
    assert rates[0] * (1.0 if better == "less" else -1.0) == pytest.approx(
        (bottom - top) / 0.22, rel=1e-3
    )


def test_both_tasks_stand_side_by_side() -> None:
    less = panel(*THREE, power="mean squared error", better="less")
    figure = drawn(panel(*THREE), less)
    assert len(of_class(figure, "panel")) == 2
    places = dots(figure)
    assert places[0][1] > places[2][1]
    assert places[3][1] < places[5][1]


def test_bars_are_standard_errors_long() -> None:
    one = Point(1.0, 0.16, 0.7, 0.07, 0.05)
    figure = drawn(panel(one, Point(2.0, 0.36, 0.8, 0.0, 0.0), most=0.36))
    left, top, right, bottom = frame(figure)
    across, up = (list(line.attrib.values()) for line in part(figure, "bars")[0])
    x1, y1, x2, y2 = (float(value) for value in across[:4])
    roots = [math.sqrt(value / 0.36) for value in (0.09, 0.23)]
    assert (x1, x2) == pytest.approx([left + (right - left) * root for root in roots], abs=0.051)
    assert y1 == y2 == pytest.approx(dots(figure)[0][1])
    # From .65 - .0075 to .8 + .0075.
    x1, y1, x2, y2 = (float(value) for value in up[:4])
    assert x1 == x2 == pytest.approx(dots(figure)[0][0])
    assert y1 - y2 == pytest.approx((bottom - top) * 0.1 / 0.165, abs=0.11)


def test_bars_end_at_no_disparity_and_at_the_limits() -> None:
    wide = Point(1.0, 0.04, 0.7, 0.5, 0.4)
    figure = drawn(panel(wide, Point(2.0, 0.09, 0.8), worst=0.6, most=0.16))
    left, _, right, bottom = frame(figure)
    across, up = part(figure, "bars")[0]
    assert (number(across, "x1"), number(across, "x2")) == pytest.approx((left, right))
    assert number(up, "y1") == pytest.approx(bottom)


def test_one_run_has_no_bars_and_says_so() -> None:
    figure = drawn(panel(*THREE))
    assert of_class(figure, "bar") == []
    assert "one run each, so there are no standard errors" in words(figure)
    figure = drawn(panel(*THREE, Point(1.0, 0.2, 0.7, 0.01, 0.01)))
    assert sum(len(own) for own in part(figure, "bars")) == 2
    assert "standard error of the mean over runs, to each side" in words(figure)


def test_the_frontier_is_steps_through_rings() -> None:
    """Up at each point of the frontier, to the right between them, and on to the border."""
    best = [replace(point, best=True) for point in THREE]
    figure = drawn(panel(*best, Point(0.0, 0.25, 0.65)))
    _, _, right, _ = frame(figure)
    a, b, c = dots(figure)[:3]
    expected = [a, (b[0], a[1]), b, (c[0], b[1]), c, (right, c[1])]
    strokes = pairs(of_class(figure, "steps")[0])
    assert strokes == [corner for k in range(5) for corner in expected[k : k + 2]]
    rings = [ring for own in part(figure, "marks") for ring in of_class(own, "ring")]
    assert [(number(ring, "cx"), number(ring, "cy")) for ring in rings] == [a, b, c]


def test_points_beyond_are_arrows_and_counted() -> None:
    far = (Point(5.0, 0.01, 0.3, best=True), Point(6.0, 0.02, 0.2), Point(0.0, 4.0, 0.9, best=True))
    shown = [replace(point, best=True) for point in THREE]
    figure = drawn(panel(*shown, *far, worst=0.5, most=0.5))
    assert len(dots(figure)) == 3
    assert "3 points beyond" in words(figure)
    assert "a point beyond the limits of the panel" in words(figure)
    left, top, right, bottom = frame(figure)
    down, deeper, aside = (pairs(own[1]) for own in part(figure, "arrows"))
    # The tip comes first, at the border; the rest is inside.
    assert down[0][1] == deeper[0][1] == bottom
    assert down[1][1] == down[2][1] < bottom
    assert aside[0] == (right, top)
    assert aside[1][0] == aside[2][0] < right
    strokes = pairs(of_class(figure, "steps")[0])
    assert all(left <= x <= right and top <= y <= bottom for x, y in strokes)
    # It comes up from the point below, and a point further right leaves it where it is.
    assert strokes[0] == (dots(figure)[0][0], bottom)
    assert strokes[-1] == (right, dots(figure)[-1][1])
    told = figure.findtext(f"{SVG}desc") or ""
    assert "3 points beyond the limits: 3 of dots." in told


def test_without_limits_nothing_is_beyond() -> None:
    figure = drawn(panel(*THREE, Point(1.0, 30.0, 0.01)))
    assert len(dots(figure)) == 4
    assert part(figure, "arrows") == []
    assert not any("beyond" in text for text in words(figure))


def crowd(methods: int = 15, seed: int = 0, **settings: object) -> Panel:
    """Many methods with ten strengths each; the point of most power is on the frontier."""
    rng = np.random.default_rng(seed)
    series = []
    for k in range(methods):
        disparity, power = 0.2 * rng.random(10) ** 2, 0.6 + 0.3 * rng.random(10)
        points = tuple(
            Point(float(s), float(x), float(y), 0.01 * rng.random(), 0.02 * rng.random(), s == 3)
            for s, (x, y) in enumerate(zip(disparity, power, strict=True))
        )
        series.append(Series(f"method number {k}", points))
    return replace(panel(THREE[0]), series=tuple(series), **settings)  # type: ignore[arg-type]


def test_panels_and_key_agree() -> None:
    figure = drawn(crowd(15), crowd(15, seed=1))
    (key,) = of_class(figure, "key")
    looks = list(looks_of(f"method number {k}" for k in range(15)).values())
    named = [text for text in words(key) if text.startswith("method")]
    assert named == [f"method number {k}" for k in range(15)]
    marks = [own for own in key if own.tag == f"{SVG}g"][:15]
    assert [own.get("class") for own in marks] == [look.colour for look in looks]
    assert all(same(own[0], drawn_alone(look)) for own, look in zip(marks, looks, strict=True))
    points = part(figure, "marks")
    assert len(points) == 300
    for k, own in enumerate(points):
        title, look = own.findtext(f"{SVG}title") or "", looks[k % 150 // 10]
        assert title.startswith(f"method number {k % 150 // 10}, strength {k % 10}: AUC 0.")
        assert own.get("class") == look.colour
        assert same(own[-1], drawn_alone(look))


def test_the_figure_is_told_in_words() -> None:
    best = replace(THREE[0], best=True, power_error=0.013, disparity_error=0.0021)
    figure = drawn(panel(best, *THREE[1:]), panel(*THREE, title="Jobs"))
    assert figure.get("role") == "img"
    assert figure.findtext(f"{SVG}title") == "Figure"
    told = figure.findtext(f"{SVG}desc") or ""
    assert "Loans, 5 runs: AUC against disparity, for dots (3 points)." in told
    assert (
        "On the frontier: dots, strength 9: AUC 0.600 ± 0.0130, disparity 0.0400 ± 0.00210." in told
    )
    assert "Jobs" in told


def test_the_figure_needs_nothing_from_outside() -> None:
    text = frontier_figure([crowd()], title="Figure")
    assert "prefers-color-scheme: dark" in text
    assert (
        re.findall(r'(?:href|src)=|@import|url\(|https?://(?!www\.w3\.org/2000/svg")', text) == []
    )


HOSTILE = "<script>alert(1)</script> & \"quoted'"


def test_names_cannot_break_the_drawing() -> None:
    name = Series(HOSTILE, THREE)
    figure = drawn(panel(*THREE, title=HOSTILE, note=HOSTILE, disparity=HOSTILE, series=(name,)))
    assert HOSTILE in words(figure)
    assert list(figure.iter(f"{SVG}script")) == []


@pytest.mark.parametrize("values", [(0.5, 0.0), (0.0, 0.5), (0.0, 0.0), (-1e-17, 0.5), (7e5, 9e6)])
def test_single_points_can_be_drawn(values: tuple[float, float]) -> None:
    for better in ("more", "less"):
        figure = drawn(panel(Point(0.0, *values, best=True), better=better))
        left, top, right, bottom = frame(figure)
        ((x, y),) = dots(figure)
        assert left <= x <= right
        assert top < y < bottom


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8])
def test_panels_stand_in_rows_of_up_to_four(count: int) -> None:
    figure = drawn(*[panel(*THREE)] * count)
    places = [pairs(base)[0] for base in of_class(figure, "base")]
    assert len({x for x, _ in places}) == min(count, 4)
    assert len({y for _, y in places}) == math.ceil(count / 4)


def test_columns_can_be_chosen() -> None:
    figure = drawn(*[panel(*THREE)] * 4, columns=2)
    places = [pairs(base)[0] for base in of_class(figure, "base")]
    assert len({x for x, _ in places}) == len({y for _, y in places}) == 2


@pytest.mark.parametrize(
    ("panels", "columns", "complaint"),
    [
        ([], None, "panels must be at least one"),
        ([panel(*THREE)], 5, "in 1 to 4 columns, not 5"),
        ([panel()], None, "'Loans' without points, or with one not finite"),
        (
            [panel(Point(0.0, math.nan, 0.5))],
            None,
            "'Loans' without points, or with one not finite",
        ),
        ([panel(*THREE, worst=0.9)], None, "'Loans' without a point within its limits"),
    ],
)
def test_bad_input(panels: list[Panel], columns: int | None, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        frontier_figure(panels, title="Figure", columns=columns)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser(*SILENT) as opened:
        yield opened


LONG = "nested disparity, CDD-wass, excess over levels, and some more that needs another line"
ERROR: dict[str, Any] = {"power": "mean squared error", "better": "less"}
FIGURES = {
    "one": [panel(*THREE)],
    "nameless": [crowd(title="")],
    "row": [
        crowd(seed=k, title="Communities and Crime", disparity=LONG, **ERROR) for k in range(4)
    ],
    "grid": [
        crowd(23, k, worst=0.7, most=0.05, note="10 runs of 4,205 test rows") for k in range(8)
    ],
    "small": [panel(Point(1.0, 4.2e-9, 1e-7), Point(1.0, 1.1e-8, 3e-7), **ERROR)] * 4,
    "large": [panel(Point(1.0, 4.2e6, 1.2e7), Point(1.0, 9.9e6, 3e7), **ERROR)] * 3,
    "edges": [
        panel(
            Point(0.0, 0.0, 0.5, best=True), Point(1.0, 0.3, 0.7), Point(2.0, 0.1, 0.5), worst=0.5
        )
    ],
}
# Words that leave the drawing by more than a hair.
OUTSIDE = """
() => {
  const box = document.documentElement.getBoundingClientRect()
  return [...document.querySelectorAll('text')].filter(text => {
    const own = text.getBoundingClientRect()
    return own.width === 0 || own.left < box.left + 2 || own.right > box.right - 2 ||
      own.top < box.top || own.bottom > box.bottom
  }).map(text => text.textContent)
}
"""
# Words written over other words; lines may touch by a few pixels.
OVER_WORDS = """
() => {
  const words = [...document.querySelectorAll('text')].map(
    text => [text.textContent, text.getBoundingClientRect()])
  return words.flatMap(([one, a], k) => words.slice(k + 1).filter(([, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3
  ).map(([other]) => [one, other]))
}
"""
SMALLEST = """
() => Math.min(...[...document.querySelectorAll('text')].map(
  text => parseFloat(getComputedStyle(text).fontSize)))
"""
# Marks, rings, bars, arrows and steps that touch names and figures of the axes.
OVER_LABELS = """
() => {
  const labels = [...document.querySelectorAll('.panel text:not(.beyond)')].map(
    text => [text.textContent, text.getBoundingClientRect()])
  const drawn = [...document.querySelectorAll(
    '.marks > g, .arrows > g, .bars line, .panel .steps')].map(own => own.getBoundingClientRect())
  return labels.filter(([, a]) => drawn.some(b =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3)).map(([words]) => words)
}
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", FIGURES)
def test_a_browser_shows_all_of_it(
    browser: Browser, tmp_path: Path, name: str, scheme: str
) -> None:
    path = tmp_path / "figure.svg"
    path.write_text(frontier_figure(FIGURES[name], title="Figure"), encoding="utf-8")
    with Visit(
        browser, path, color_scheme=scheme, viewport={"width": 1000, "height": 800}
    ) as visit:
        assert visit.page.evaluate(OUTSIDE) == []
        assert visit.page.evaluate(OVER_WORDS) == []
        assert visit.page.evaluate(OVER_LABELS) == []
        paper, ink = visit.page.evaluate(
            "['.paper', 'text'].map(name => getComputedStyle(document.querySelector(name)).fill)"
        )
        assert (paper, ink) == (
            ("rgb(255, 255, 255)", "rgb(27, 36, 48)")
            if scheme == "light"
            else ("rgb(20, 24, 29)", "rgb(232, 236, 240)")
        )
        assert visit.page.evaluate(SMALLEST) >= 12.0
        assert visit.said == []
        assert visit.asked == [path.as_uri()]


def test_a_page_can_show_it_as_a_picture(browser: Browser, tmp_path: Path) -> None:
    text = frontier_figure(FIGURES["grid"], title="Figure")
    (tmp_path / "figure.svg").write_text(text, encoding="utf-8")
    page = tmp_path / "page.html"
    page.write_text("<!doctype html><title>Page</title><img src=figure.svg>", encoding="utf-8")
    with Visit(browser, page) as visit:
        visit.page.wait_for_load_state("load")
        size = visit.page.evaluate(
            "[document.images[0].naturalWidth, document.images[0].naturalHeight]"
        )
        assert size == [1000, float(ET.fromstring(text).get("height", "nan"))]
        assert visit.said == []
