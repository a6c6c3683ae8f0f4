"""Take the pictures of the gallery: parts of the pages that audits write.

python -m tools.gallery docs/pictures/gallery

All are made of data that come with the package, so that everybody can make them again. Pages are
opened in the browser of `tools.browser` and shown at half their size.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import likeforlike as lfl
from likeforlike.datasets import load_adult, load_loans, make_loans
from tools.browser import opened_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["SHOTS", "Shot", "main", "take"]

_ADULTS = 12_000


def _loans(path: Path) -> None:
    table = load_loans(1000).frame
    found = lfl.audit(table, score="approved", sensitive="sex", legitimate="income")
    found.with_threshold(0.05).to_html(path)


def _scores(path: Path) -> None:
    table = make_loans(6000, gap=0.1).frame
    lfl.audit(table, score="score", sensitive="sex", legitimate="income").to_html(path)


def _number(path: Path) -> None:
    table = load_adult().frame.head(_ADULTS)
    lfl.audit(table, score="over_50k", sensitive="sex", smooth="age").to_html(path)


def _columns(path: Path) -> None:
    table = load_adult().frame.head(_ADULTS)
    found = lfl.audit(
        table, score="over_50k", sensitive=["sex", "race"], legitimate="education-num"
    )
    found.to_html(path)


class Shot(NamedTuple):
    """A part of a page.

    Attributes
    ----------
    write : writes the page to a path.
    heading : id of the heading that the picture begins with; empty means the top of the page.
    height : pixels of the page that are shown.
    """

    write: Callable[[Path], None]
    heading: str = ""
    height: int = 800


SHOTS: dict[str, Shot] = {
    "finding": Shot(_loans),
    "gaps": Shot(_scores, "gaps", 620),
    "scores": Shot(_scores, "scores", 620),
    "number": Shot(_number, "along", 620),
    "contrasts": Shot(_columns, "contrasts", 620),
    "conventions": Shot(_columns, "conventions", 620),
}
"""The pictures of the gallery, by name."""


def take(browser: Browser, shot: Shot, page: Path, picture: Path, *, width: int = 1000) -> None:
    """Open a page that was written and take a picture of a part of it.

    Parameters
    ----------
    browser : that is open.
    shot : which part.
    page : a file that `shot.write` wrote.
    picture : a .png file.
    width : of the window, in pixels.
    """
    view = browser.new_page(
        viewport={"width": width, "height": shot.height},
        device_scale_factor=0.5,
        color_scheme="light",
    )
    view.goto(page.as_uri())
    if shot.heading:
        # What is folded is opened. Fails where the page has no such heading.
        view.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        view.locator(f"#{shot.heading}").evaluate("heading => heading.scrollIntoView()")
    view.screenshot(path=picture)
    view.close()


def main(arguments: list[str] | None = None) -> int:
    """Write all pictures to the folder that was given."""
    parser = argparse.ArgumentParser(prog="python -m tools.gallery", description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as written, opened_browser() as browser:
        pages = {write: Path(written) / f"{write.__name__}.html" for write, *_ in SHOTS.values()}
        for write, page in pages.items():
            write(page)
        for name, shot in SHOTS.items():
            take(browser, shot, pages[shot.write], folder / f"{name}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
