"""A window of a browser that opens one page after another, and notes what each of them does.

A new window for every page would take the browser three times as long as the page.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Dialog, Page

Scheme = Literal["light", "dark"]


class Window:
    """The window.

    Attributes
    ----------
    page : what is open.
    said : complaints, messages and dialogs of the page.
    asked : addresses that were asked for, that of the page first.
    """

    def __init__(self, browser: Browser) -> None:
        self.said: list[str] = []
        self.asked: list[str] = []
        self._context = browser.new_context()
        self._context.on("request", lambda request: self.asked.append(request.url))
        self.page: Page = self._context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", self._answer)

    def open(
        self, path: Path, *, width: int = 1280, height: int = 800, scheme: Scheme = "light"
    ) -> Page:
        """Open a file, on a screen; nothing is remembered of the page before."""
        self.said.clear()
        self.asked.clear()
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(media="screen", color_scheme=scheme)
        self.page.goto(path.as_uri())
        return self.page

    def close(self) -> None:
        """Close it."""
        self._context.close()

    def _answer(self, dialog: Dialog) -> None:
        self.said.append(dialog.message)
        dialog.dismiss()
