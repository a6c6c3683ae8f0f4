"""Blocks of a page write files where they stand; under test they stand in a fresh folder."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def fresh_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run the page in a folder of its own, so that nothing is left in the repository."""
    monkeypatch.chdir(tmp_path)
