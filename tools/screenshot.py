"""Take the pictures of an audit's page and of the app.

python -m tools.screenshot docs/pictures/page.png
python -m tools.screenshot docs/pictures/app.png --app

The page is the one `likeforlike audit` writes for the loan data, opened in the browser of
`tools.browser`; the app has just read the same data.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import likeforlike as lfl
from likeforlike.datasets import load_loans, make_loans
from tools.browser import opened_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["app_screenshot", "main", "screenshot"]


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


def app_screenshot(browser: Browser, path: Path, *, width: int = 1100, height: int = 900) -> None:
    """Start the app with a file of loans, and take the picture of its columns."""
    with tempfile.TemporaryDirectory() as folder:
        loans = Path(folder) / "loans.csv"
        make_loans(1000, gap=0.15).frame.select("income", "sex", "tenure", "approved").write_csv(
            loans
        )
        command = [sys.executable, "-m", "likeforlike", "app", "--no-browser", str(loans)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as app:
            try:
                address = re.search(r"http://\S+", app.stdout.readline() if app.stdout else "")
                view = browser.new_page(
                    viewport={"width": width, "height": height}, color_scheme="light"
                )
                view.goto(address[0] if address else "")
                view.wait_for_selector("select")
                view.screenshot(path=path)
                view.close()
            finally:
                app.terminate()


def main(arguments: list[str] | None = None) -> int:
    """Write the picture to the path that was given."""
    parser = argparse.ArgumentParser(prog="python -m tools.screenshot", description=__doc__)
    parser.add_argument("path", type=Path, help="a .png file")
    parser.add_argument("--app", action="store_true", help="of the app, not of a page")
    given = parser.parse_args(arguments)
    with opened_browser() as browser:
        (app_screenshot if given.app else screenshot)(browser, given.path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
