"""The page in a real browser. Without Chromium these tests fail; they are never skipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from likeforlike.report import page as page_of
from tests.report import documents

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert Path(CHROMIUM).exists(), "Chromium is missing: apt-get install chromium"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield opened
        opened.close()


class Visit:
    """A page opened from a file, with what it said and asked for."""

    def __init__(self, browser: Browser, path: Path, width: int) -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900})
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())


@pytest.mark.parametrize("name", list(documents.ALL))
@pytest.mark.parametrize("width", [360, 1200])
def test_pages_open_quietly_and_fit_any_screen(
    name: str, width: int, browser: Browser, tmp_path: Path
) -> None:
    document = documents.ALL[name]()
    path = tmp_path / "page.html"
    path.write_text(page_of(document))
    visit = Visit(browser, path, width)
    assert visit.said == []
    assert visit.asked == [path.as_uri()]
    assert visit.page.locator("h1").is_visible()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    shown = [chart for chart in visit.page.get_by_role("img").all() if chart.is_visible()]
    assert len(shown) >= 3
    for chart in shown:
        box = chart.bounding_box()
        assert box is not None
        assert box["width"] > 50
        assert box["height"] > 10
        assert (
            chart.evaluate("chart => chart.querySelectorAll('rect, path, line, circle').length") > 0
        )
    visit.page.close()


def test_the_headline_is_what_a_reader_sees_first(browser: Browser, tmp_path: Path) -> None:
    document = documents.loans()
    path = tmp_path / "page.html"
    path.write_text(page_of(document))
    visit = Visit(browser, path, 1200)
    heading = visit.page.get_by_role("heading", level=1)
    assert " ".join(heading.inner_text().split()) == document["finding"]["headline"]
    box = heading.bounding_box()
    assert box is not None
    assert box["y"] < 300
    visit.page.close()


def test_a_long_table_opens_on_demand(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_of(documents.many_levels()))
    visit = Visit(browser, path, 1200)
    details = visit.page.locator("details").first
    rows = details.locator("tbody tr")
    assert not rows.first.is_visible()
    details.locator("summary").click()
    assert rows.first.is_visible()
    visit.page.close()


def test_dark_mode_and_print_change_the_page(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_of(documents.loans()))
    visit = Visit(browser, path, 1000)
    ground = "getComputedStyle(document.body).backgroundColor"
    visit.page.emulate_media(color_scheme="light")
    light = visit.page.evaluate(ground)
    visit.page.emulate_media(color_scheme="dark")
    assert visit.page.evaluate(ground) != light
    visit.page.emulate_media(media="print", color_scheme="light")
    assert len(visit.page.pdf()) > 10_000
    visit.page.close()
