"""Settings shared by all tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.schema import checked_audits
from tools.browser import opened_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from tests.support.window import Window

# The first call of a kernel compiles it, so no example may be judged by its time.
settings.register_profile(
    "likeforlike", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=80
)
settings.load_profile("likeforlike")


@pytest.fixture(scope="session", autouse=True)
def documents_keep_to_the_schema() -> Iterator[None]:
    with checked_audits():
        yield


# The browser asks nobody for anything, so that all requests are those of a page; and what a page
# asks of another machine fails.
SILENT = (
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with opened_browser(*SILENT) as opened:
        yield opened


@pytest.fixture(scope="module")
def window(browser: Browser) -> Iterator[Window]:
    from tests.support.window import Window

    opened = Window(browser)
    yield opened
    opened.close()
