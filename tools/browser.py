"""A browser to look at pages with: any Chromium or Chrome that Playwright can drive.

One on the PATH is taken first, then Chrome or Edge where its installer puts it, then what
`playwright install chromium` fetched. `LIKEFORLIKE_BROWSER` names another program.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from likeforlike.errors import InputError

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["HOW_TO_BRING", "find_browser", "opened_browser"]

HOW_TO_BRING = (
    "install Chromium or Chrome, or run `playwright install chromium`, or name the program in "
    "LIKEFORLIKE_BROWSER"
)
_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
# Where the installers of Chrome and Edge put them, off the PATH.
_PLACES = (
    "/opt/google/chrome/chrome",
    "/opt/microsoft/msedge/msedge",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    r"C:\Program Files\Google\Chrome\Application\chrome.exe",
    r"C:\Program Files (x86)\Microsoft\Edge\Application\msedge.exe",
)
# No sandbox, for those who run as root in a container; no graphics card, for pictures that agree.
_FLAGS = ("--no-sandbox", "--disable-gpu")


def find_browser(places: Sequence[str] = _PLACES) -> str | None:
    """The program that `opened_browser` starts, or `None`; nothing is started to find it.

    Parameters
    ----------
    places : where to look if none is on the PATH, before Playwright's own is looked for.
    """
    named = os.environ.get("LIKEFORLIKE_BROWSER")
    if named:
        return shutil.which(named)
    found = (shutil.which(name) for name in (*_NAMES, *places))
    return next((program for program in found if program), None) or _fetched()


@cache
def _fetched() -> str | None:
    """What `playwright install chromium` fetched; only Playwright's driver knows where it is."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        program = playwright.chromium.executable_path
    return program if Path(program).exists() else None


@contextmanager
def opened_browser(*flags: str) -> Iterator[Browser]:
    """Start the browser with a profile of its own, and close it in the end.

    Parameters
    ----------
    flags : of Chromium's command line, beside the usual ones.
    """
    from playwright.sync_api import sync_playwright

    program = find_browser()
    if program is None:
        raise InputError(f"there is no browser on this machine: {HOW_TO_BRING}.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*_FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()
