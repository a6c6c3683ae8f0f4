"""A pytest plugin: files with tests that take long come first, so that workers end together.

Workers take whole files one after the other. A long one among the last would keep one of them busy
while the others have nothing left to do.
"""

from __future__ import annotations

import pytest

LONG = ("types", "java", "simulation", "training", "wheel", "process", "browser")


def pytest_configure(config: pytest.Config) -> None:
    """Without this, pytest-xdist would sort files anew: those with the most tests first."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort files by the first kind of long tests they have; inside a file nothing moves."""
    places: dict[str, int] = {}
    for item in items:
        kinds = [LONG.index(mark.name) for mark in item.iter_markers() if mark.name in LONG]
        file = str(item.path)
        places[file] = min([places.get(file, len(LONG)), *kinds])
    items.sort(key=lambda item: places[str(item.path)])
