"""Where `make` looks for data that are not part of the project."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHOW = "show: ; @echo data=$${LIKEFORLIKE_DATA-unset}\n"
# The tests themselves may have been started by make, which hands its own settings on.
NOT_KEPT = {"LIKEFORLIKE_DATA", "MAKEFLAGS", "MAKEOVERRIDES", "MAKELEVEL", "MFLAGS"}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    place = tmp_path / "clone"
    place.mkdir()
    shutil.copy(ROOT / "Makefile", place)
    (place / "show.mk").write_text(SHOW)
    return place


def shown(clone: Path, **variables: str) -> str:
    """What programs that `make` starts find in LIKEFORLIKE_DATA."""
    kept = {name: value for name, value in os.environ.items() if name not in NOT_KEPT}
    done = subprocess.run(
        ["make", "-f", "Makefile", "-f", "show.mk", "show"],
        cwd=clone,
        env={**kept, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip().partition("data=")[2]


def test_a_folder_beside_the_clone_is_used_if_it_exists(clone: Path) -> None:
    assert shown(clone) == "unset"
    beside = clone.parent / "shared" / "data"
    beside.mkdir(parents=True)
    assert shown(clone) == str(beside)


def test_what_somebody_chose_stays(clone: Path) -> None:
    (clone.parent / "shared" / "data").mkdir(parents=True)
    assert shown(clone, LIKEFORLIKE_DATA="/elsewhere") == "/elsewhere"
    assert shown(clone, LIKEFORLIKE_DATA="") == ""
