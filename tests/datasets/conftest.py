"""An empty cache, a package without data, and servers that stop when a test ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from likeforlike.datasets import _public as bundle
from tests.datasets.server import Serve, serving


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and no folder of data; what comes with the package is still there."""
    place = tmp_path / "cache"
    monkeypatch.setenv("LIKEFORLIKE_CACHE", str(place))
    monkeypatch.delenv("LIKEFORLIKE_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return place


@pytest.fixture
def empty_bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that brings no data."""
    place = tmp_path / "bundled"
    monkeypatch.setattr(bundle, "bundle_folder", lambda: place)
    return place


@pytest.fixture
def serve(cache: Path) -> Iterator[Serve]:
    """Start servers that stop when the test ends."""
    with ExitStack() as stack:
        yield lambda answers: stack.enter_context(serving(answers))
