"""The page in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

import pytest
from playwright.sync_api import Browser, Page

from likeforlike.report import page as written
from likeforlike.report import summary
from tests.report.documents import DOCUMENTS, fresh
from tools.browser import opened_browser

# What asks nobody for anything, so that all requests are the page's own.
SILENT = (
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = list(DOCUMENTS)
WIDTHS = (360, 700, 1200)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser(*SILENT) as opened:
        yield opened


class Visit:
    """A page opened from a file, with all that was said and asked for on the way."""

    def __init__(self, browser: Browser, path: Path, **settings: Any) -> None:
        self.context = browser.new_context(**settings)
        self.page: Page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.context.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


def saved(folder: Path, text: str) -> Path:
    path = folder / "page.html"
    path.write_text(text, encoding="utf-8")
    return path


def viewport(width: int) -> dict[str, int]:
    return {"width": width, "height": 800}


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_silent_and_stays_at_home(browser: Browser, tmp_path: Path, name: str) -> None:
    document = fresh(name)
    path = saved(tmp_path, written(document))
    with Visit(browser, path) as visit:
        visit.page.wait_for_load_state("networkidle")
        headline = visit.page.get_by_role("heading", level=1)
        assert headline.is_visible()
        assert headline.inner_text().split() == document["finding"]["headline"].split()
        assert visit.said == []
        assert visit.asked == [path.as_uri()]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_sticks_out(browser: Browser, tmp_path: Path, name: str, width: int) -> None:
    """Neither of the page, with all tables open, nor words of a drawing."""
    path = saved(tmp_path, written(fresh(name)))
    with Visit(browser, path, viewport=viewport(width)) as visit:
        visit.page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        assert visit.page.evaluate(WORDS_OUTSIDE) == []
        assert visit.page.evaluate(WORDS_OVER_WORDS) == []


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
def test_every_chart_is_there_with_its_name(browser: Browser, tmp_path: Path, width: int) -> None:
    path = saved(tmp_path, written(fresh("scores")))
    with Visit(browser, path, viewport=viewport(width)) as visit:
        for name, number in (
            ("Gap by level with intervals", 1),
            ("Conditional against unconditional disparity", 1),
            ("Scores in level", 6),
            ("Coverage of each group", 1),
            ("Parts of the nested disparity", 1),
        ):
            charts = visit.page.get_by_role("img", name=name)
            assert charts.count() == number
            for chart in charts.all():
                box = chart.bounding_box()
                assert box is not None
                assert box["width"] > 200
                assert box["height"] > 60
                assert chart.locator("rect, path, circle, line").count() > 2


@pytest.mark.parametrize("width", WIDTHS)
def test_two_audits_stand_side_by_side_or_one_below_the_other(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    path = saved(tmp_path, written(fresh("demonstration")))
    with Visit(browser, path, viewport=viewport(width)) as visit:
        left, right = (
            chart.bounding_box()
            for chart in visit.page.get_by_role("img", name="Gap by level:").all()
        )
        assert left is not None
        assert right is not None
        assert left["width"] == pytest.approx(right["width"])
        assert left["width"] > 300
        if width > 760:
            assert right["y"] == pytest.approx(left["y"])
            assert right["x"] >= left["x"] + left["width"]
        else:
            assert right["x"] == pytest.approx(left["x"])
            assert right["y"] >= left["y"] + left["height"]


# Between the margins of A4, at the 96 dots to the inch of CSS.
PAPER = 688


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("media", "width"), [*(("screen", width) for width in WIDTHS), ("print", PAPER)]
)
def test_the_trade_off_is_there_once_and_can_be_seen(
    browser: Browser, tmp_path: Path, media: Literal["screen", "print"], width: int, scheme: str
) -> None:
    path = saved(tmp_path, written(fresh("demonstration")))
    with Visit(browser, path, viewport=viewport(width), color_scheme=scheme) as visit:
        visit.page.emulate_media(media=media)
        chart = visit.page.get_by_role("img", name="Disparity against AUC")
        assert chart.count() == 1
        box = chart.bounding_box()
        assert box is not None
        assert box["width"] > 300
        assert box["height"] > 200
        paper = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        for drawn in ("path.steps", "line.limit", "line.span", "line.base"):
            stroke = chart.locator(drawn).first.evaluate("e => getComputedStyle(e).stroke")
            assert stroke.startswith("rgb(")
            assert stroke != paper
        assert visit.page.evaluate(WORDS_OUTSIDE) == []
        assert visit.page.evaluate(WORDS_OVER_WORDS) == []


def test_the_table_of_many_levels_opens(browser: Browser, tmp_path: Path) -> None:
    path = saved(tmp_path, written(fresh("many_levels")))
    with Visit(browser, path, viewport=viewport(360)) as visit:
        table = visit.page.get_by_role("table", name="Levels, ranked")
        assert table.count() == 0
        visit.page.get_by_text("Show the table of levels").click()
        assert table.is_visible()
        assert table.get_by_role("row").count() == 1001


def test_print_shows_what_is_folded(browser: Browser, tmp_path: Path) -> None:
    path = saved(tmp_path, written(fresh("three_groups")))
    with Visit(browser, path, color_scheme="dark") as visit:
        last = visit.page.locator("details tbody tr").last
        assert not last.is_visible()
        visit.page.emulate_media(media="print")
        assert last.is_visible()
        paper = "getComputedStyle(document.body).backgroundColor"
        assert visit.page.evaluate(paper) == "rgb(255, 255, 255)"
        assert visit.page.pdf(prefer_css_page_size=True).startswith(b"%PDF")


def test_dark_mode_is_followed(browser: Browser, tmp_path: Path) -> None:
    path = saved(tmp_path, written(fresh("decisions")))
    shades = []
    for scheme in ("light", "dark"):
        with Visit(browser, path, color_scheme=scheme) as visit:
            shade = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
            shades.append(shade)
    assert shades == ["rgb(255, 255, 255)", "rgb(20, 24, 29)"]


def test_a_summary_changes_nothing_around_it(browser: Browser, tmp_path: Path) -> None:
    around = "<!doctype html><title>Notebook</title><h1>Mine</h1><p id=mine>text <svg></svg></p>"
    look = """JSON.stringify([...document.querySelectorAll('h1, #mine')].map(
        element => [...getComputedStyle(element)].map(
            name => getComputedStyle(element).getPropertyValue(name))))"""
    looks = []
    for text in (around, around + 2 * summary(fresh("hostile"))):
        with Visit(browser, saved(tmp_path, text)) as visit:
            looks.append(visit.page.evaluate(look))
            assert visit.said == []
    assert looks[0] == looks[1]
    with Visit(browser, saved(tmp_path, around + summary(fresh("scores")))) as visit:
        chart = visit.page.get_by_role("img", name="Gap by level with intervals")
        assert chart.is_visible()
