"""An app for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.asking import Asked


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[Asked]:
    app = Asked(tmp_path)
    yield app
    app.close()
