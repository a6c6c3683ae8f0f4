"""Take the picture of an audit's page that the README shows.

python -m tools.screenshot docs/pictures/page.png

The page is the one `likeforlike audit` writes for the loan data, opened in the browser of
`tools.browser`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import likeforlike as lfl
from likeforlike.datasets import load_loans
from tools.browser import opened_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["main", "screenshot"]


def screenshot(browser: Browser, path: Path, *, width: int = 1100, height: int = 900) -> None:
    """Audit the loans, open the page and take its picture, of so many pixels."""
    found = lfl.audit(
        load_loans(1000).frame, score="approved", sensitive="sex", legitimate="income"
    ).with_threshold(0.05)
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        found.to_html(page)
        view = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
        view.goto(page.as_uri())
        view.screenshot(path=path)
        view.close()


def main(arguments: list[str] | None = None) -> int:
    """Write the picture to the path that was given."""
    parser = argparse.ArgumentParser(prog="python -m tools.screenshot", description=__doc__)
    parser.add_argument("path", type=Path, help="a .png file")
    path = parser.parse_args(arguments).path
    with opened_browser() as browser:
        screenshot(browser, path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
