"""The page in a real browser."""

from pathlib import Path
from typing import Literal

import pytest

import likeforlike as lfl
from likeforlike.datasets import load_loans
from likeforlike.report import page as report_page
from likeforlike.report import summary
from tests.report.documents import DOCUMENTS, fresh, of_record, page_of
from tests.support.window import Scheme, Window

NAMES = list(DOCUMENTS)
# Between the margins of A4, at the 96 dots to the inch of CSS.
PAPER = 688
SHEET = 1001
AXE = Path(__file__).parents[1] / "support" / "axe" / "axe.min.js"
WIDTHS = (390, 700, 1200)


def saved(folder: Path, text: str) -> Path:
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_silent_and_stays_at_home(window: Window, tmp_path: Path, name: str) -> None:
    path = saved(tmp_path, page_of(name))
    page = window.open(path)
    page.wait_for_load_state("networkidle")
    headline = fresh(name)["finding"]["headline"].removesuffix(".").partition("; ")[0]
    assert page.get_by_role("heading", level=1).is_visible()
    answer = page.locator(".answer")
    assert answer.is_visible()
    assert " ".join(answer.inner_text().split()).startswith(" ".join(headline.split()))
    assert window.said == []
    assert window.asked == [path.as_uri()]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_sticks_out(window: Window, tmp_path: Path, name: str, width: int) -> None:
    """Neither of the page, with all tables open, nor words of a drawing."""
    path = saved(tmp_path, page_of(name))
    page = window.open(path, width=width)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(WORDS_OUTSIDE) == []
    assert page.evaluate(WORDS_OVER_WORDS) == []


# Words of drawings that leave their drawing by more than a hair.
WORDS_OUTSIDE = """
() => [...document.querySelectorAll('svg.chart')].flatMap(chart => {
  const box = chart.getBoundingClientRect()
  return [...chart.querySelectorAll('text')].filter(text => {
    const own = text.getBoundingClientRect()
    return own.left < box.left - 3 || own.right > box.right + 3 ||
      own.top < box.top - 3 || own.bottom > box.bottom + 3
  }).map(text => text.textContent)
})
"""
# Words of a drawing that are written over other words; lines may touch by a few pixels.
WORDS_OVER_WORDS = """
() => [...document.querySelectorAll('svg.chart')].flatMap(chart => {
  const words = [...chart.querySelectorAll('text')].map(
    text => [text.textContent, text.getBoundingClientRect()]).filter(([, box]) => box.width > 0)
  return words.flatMap(([one, a], k) => words.slice(k + 1).filter(([, b]) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5
  ).map(([other]) => [one, other]))
})
"""


@pytest.mark.parametrize("width", WIDTHS)
def test_every_chart_is_there_with_its_name(window: Window, tmp_path: Path, width: int) -> None:
    path = saved(tmp_path, page_of("scores"))
    page = window.open(path, width=width)
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    for name, number in (
        ("Gap by level with intervals", 2),
        ("Conditional against unconditional disparity", 1),
        ("Scores in level", 6),
        ("Coverage of each group", 1),
        ("Parts of the nested disparity", 1),
    ):
        charts = page.get_by_role("img", name=name)
        assert charts.count() == number
        for chart in charts.all():
            box = chart.bounding_box()
            assert box is not None
            assert box["width"] > 200
            assert box["height"] > 60
            assert chart.locator("rect, path, circle, line").count() > 2


def test_the_table_of_many_levels_opens(window: Window, tmp_path: Path) -> None:
    path = saved(tmp_path, page_of("many_levels"))
    page = window.open(path, width=360)
    table = page.get_by_role("table", name="Levels, ranked")
    assert table.count() == 0
    page.get_by_role("heading", name="Table of levels").click()
    assert table.is_visible()
    assert table.get_by_role("row").count() == 1001


def test_print_shows_what_is_folded(window: Window, tmp_path: Path) -> None:
    path = saved(tmp_path, page_of("three_groups"))
    page = window.open(path, scheme="dark")
    last = page.locator("details tbody tr").last
    assert not last.is_visible()
    page.emulate_media(media="print")
    assert last.is_visible()
    paper = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


@pytest.mark.parametrize(("media", "width"), [("screen", 360), ("print", PAPER)])
def test_an_audit_of_record_fits_on_a_phone_and_on_paper(
    window: Window, tmp_path: Path, media: Literal["screen", "print"], width: int
) -> None:
    document = of_record()
    assert len(document["contrasts"]) == 5
    assert len(document["contrasts"][0]["levels"]) == 40
    opened = window.open(saved(tmp_path, report_page(document)), width=width)
    opened.emulate_media(media=media)
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    [first] = opened.locator(".evidence table.contrasts").all()
    assert "Every two groups compared" in first.inner_text()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1200, "light")])
@pytest.mark.parametrize("name", ["scores", "three_groups", "untested", "of_record"])
def test_axe_finds_nothing_serious(
    window: Window, tmp_path: Path, name: str, width: int, scheme: Scheme
) -> None:
    text = report_page(of_record()) if name == "of_record" else page_of(name)
    opened = window.open(saved(tmp_path, text), width=width, scheme=scheme)
    opened.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    opened.evaluate(AXE.read_text("utf-8"))
    found = opened.evaluate("axe.run(document, {resultTypes: ['violations']})")
    assert found["passes"]
    assert [each["id"] for each in found["violations"]] == []


def test_the_first_screen_answers_at_once(window: Window, tmp_path: Path) -> None:
    """Question, verdict, answer and picture are seen without scrolling on a desk."""
    audit = lfl.audit(
        load_loans(1000).frame, score="approved", sensitive="sex", legitimate="income"
    )
    path = saved(tmp_path, audit.with_threshold(0.05).to_html())
    opened = window.open(path, width=1200, height=800)
    for part in (".question", ".verdict", ".answer", ".picture svg", ".next"):
        box = opened.locator(part).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 800
    phone = window.open(path, width=390, height=844)
    for part in (".question", ".verdict", ".answer", ".next"):
        box = phone.locator(part).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 844


def test_the_page_prints_to_two_sheets_and_an_appendix(window: Window, tmp_path: Path) -> None:
    opened = window.open(saved(tmp_path, page_of("decisions")), width=PAPER)
    opened.emulate_media(media="print")
    tops = [
        opened.locator(part).bounding_box()
        for part in ("#signoff", ".evidence", ".appendix", ".evidence table >> nth=0")
    ]
    signoff, evidence, appendix, table = (box["y"] for box in tops if box is not None)
    assert evidence <= signoff < SHEET
    assert tops[3] is not None
    assert appendix - (table + tops[3]["height"]) < SHEET


def test_dark_mode_is_followed(window: Window, tmp_path: Path) -> None:
    path = saved(tmp_path, page_of("decisions"))
    shades = []
    schemes: tuple[Scheme, ...] = ("light", "dark")
    for scheme in schemes:
        page = window.open(path, scheme=scheme)
        shade = page.evaluate("getComputedStyle(document.body).backgroundColor")
        shades.append(shade)
    assert shades == ["rgb(255, 255, 255)", "rgb(20, 24, 29)"]


def test_a_summary_changes_nothing_around_it(window: Window, tmp_path: Path) -> None:
    around = "<!doctype html><title>Notebook</title><h1>Mine</h1><p id=mine>text <svg></svg></p>"
    look = """JSON.stringify([...document.querySelectorAll('h1, #mine')].map(
        element => [...getComputedStyle(element)].map(
            name => getComputedStyle(element).getPropertyValue(name))))"""
    looks = []
    for text in (around, around + 2 * summary(fresh("hostile"))):
        page = window.open(saved(tmp_path, text))
        looks.append(page.evaluate(look))
        assert window.said == []
    assert looks[0] == looks[1]
    page = window.open(saved(tmp_path, around + summary(fresh("scores"))))
    chart = page.get_by_role("img", name="Gap by level with intervals")
    assert chart.is_visible()
