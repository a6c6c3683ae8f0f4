"""A pytest plugin: no search for garbage while tests are found.

What is imported and collected stays until the end, and Python would look through all of it again
and again while it grows.
"""

from __future__ import annotations

import gc
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without a search."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
